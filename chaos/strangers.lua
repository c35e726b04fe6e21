-- SPDX-License-Identifier: MIT
--- The names of nodes that strangers leave in the directories of locks: everybody who reaches the servers may, and
--- there is nothing that they could not be called.
--
-- docs/internals/protocol.md has the results: most names are nobody's and are not looked at; a node of this kind
-- of lock stands in the line and is waited for, if it is before one's own; one of another kind makes it a directory of
-- the wrong kind; one that may not be read fails those who would have to wait for it.

local strangers = {}

local UUID = "%08x-%04x-4%03x-8%03x-%06x%06x"

-- A marker for each kind of path, and those that it would be wrong for.
local OWN = {
  mutex = { "-lock-", "__lock__" }, rwlock = { "-__READ__", "-__WRIT__" }, semaphore = { "-lock-", "-lease-" },
}
local OTHERS = {
  mutex = { "-__READ__", "-__WRIT__", "-lease-" }, rwlock = { "-lock-", "__lock__", "-lease-" },
  semaphore = { "-__READ__", "-__WRIT__" },
}
local SEQUENCES = { 0, 1, 2147483646, 2147483647, 2147483648, 9999999999, -1, -2147483646, -2147483647, -2147483648 }

local function some_sequence(draw)
  return ("%010d"):format(draw:chance(0.5) and draw:pick(SEQUENCES) or draw:integer(0, 2000))
end

local function some_uuid(draw)
  local parts = {}
  for i, most in ipairs { 0x7fffffff, 0xffff, 0xfff, 0xfff, 0xffffff, 0xffffff } do parts[i] = draw:integer(0, most) end
  return UUID:format((table.unpack or unpack)(parts)) -- luacheck: ignore 113 143
end

local GARBAGE = {
  "x", "lock", "lock-", "-lock-", "-lock-12", "_c_", "_c_-lock-", "0000000000", "-0000000001", "x-lock-000000000x",
  "x-lock-00000000001", "x-lock- 000000001", "%s%n%d", "schl\195\188ssel", "lease--", "__READ__",
  "_c_g0000000-0000-4000-8000-000000000000-lock-", "_c_00000000-0000-4000-8000-000000000000-mark",
  "x-lock-+000000001", "x-lock-0x00000001",
}

local forms = {}

function forms.garbage(draw)
  if draw:chance(0.6) then return draw:pick(GARBAGE) end
  local letters = {}
  for i = 1, draw:integer(1, 40) do letters[i] = string.char(draw:integer(33, 126)):gsub("/", "-") end
  return "x" .. table.concat(letters) -- neither "." nor ".."
end

function forms.long(draw) return ("x"):rep(draw:integer(200, 2000)) end

function forms.in_line(draw, kind) return "stranger" .. draw:pick(OWN[kind]) .. some_sequence(draw) end

function forms.long_in_line(draw, kind) return forms.long(draw) .. draw:pick(OWN[kind]) .. some_sequence(draw) end

function forms.forged(draw, kind) return "_c_" .. some_uuid(draw) .. draw:pick(OWN[kind]) .. some_sequence(draw) end

function forms.other_kind(draw, kind) return "stranger" .. draw:pick(OTHERS[kind]) .. some_sequence(draw) end

--- The end of a name whose beginning is another's: see `mimic` of chaos.operator.
function forms.mimic(draw) return some_sequence(draw) end

function forms.unreadable(draw, kind) return forms.in_line(draw, kind) end

local NAMES = { "garbage", "garbage", "long", "in_line", "in_line", "long_in_line", "forged", "forged", "other_kind",
  "mimic", "mimic", "unreadable" }

---@param draw table of `chaos.random`
---@param kind string of the path
---@return string what "garbage", "in_line", ...
---@return string name or, for a mimic, the end of one
function strangers.name(draw, kind)
  local what = draw:pick(NAMES)
  return what, forms[what](draw, kind)
end

return strangers
