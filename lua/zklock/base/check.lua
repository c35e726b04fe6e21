-- SPDX-License-Identifier: MIT
--- check: checks the arguments of public functions. Everything here raises where the script has
--- called the public function, with a message that names the argument.
local core = require "zklock.core"
local each = require "zklock.base.each"
local text = require "zklock.base.text"

local check = {}

local FOLDER = debug.getinfo(1, "S").source:match("^(.*)zklock/base/check%.lua$")
local ZKLOCK, RESTY = FOLDER and FOLDER .. "zklock/", FOLDER and FOLDER .. "resty/zklock.lua"

--- Lua 5.1 has a level for each tail call.
local function is_ours(frame)
  return frame.what == "tail" or frame.source:sub(1, #ZKLOCK) == ZKLOCK or frame.source == RESTY
end

local LABEL_BYTES = 255

--- Raises where the script has called a public function.
function check.fail(message)
  local level = 2
  local frame = FOLDER and debug.getinfo(level, "S") -- nil: without the names of the sources
  while frame and is_ours(frame) do
    level = level + 1
    frame = debug.getinfo(level, "S")
  end
  error(message, level)
end

---@param name string of the argument
local function wrong(name, why)
  check.fail(("bad argument '%s': %s"):format(name, why))
end

local function refuse(name, expected, got)
  wrong(name, ("%s expected, got %s"):format(expected, got))
end

check.wrong, check.refuse = wrong, refuse

local function show(value)
  return type(value) == "number" and ("%.14g"):format(value) or type(value)
end

--- Checks the object that a method was called on.
---@param name string the call, as the script writes it
function check.self(value, class, name)
  if rawequal(getmetatable(value), class) then return end
  check.fail(("call it with a colon, %s(...), on a %s; got %s"):format(name, class.__name, show(value)))
end

--- Turns a timeout into the moment at which it ends.
---@param seconds any nil or math.huge: never; otherwise a number >= 0, not NaN
---@return number moment, boolean once
function check.deadline(seconds, name)
  if seconds == nil then return math.huge, false end
  if type(seconds) ~= "number" or seconds ~= seconds or seconds < 0 then
    refuse(name, "seconds >= 0", show(seconds))
  end
  return core.now() + seconds, seconds == 0
end

function check.func(value, name)
  if type(value) ~= "function" then refuse(name, "function", type(value)) end
  return value
end

--- A listener is a function, or nil for none.
function check.listener(value, name)
  if value ~= nil and type(value) ~= "function" then refuse(name, "function or nil", type(value)) end
  return value
end

function check.text(value, name)
  if type(value) ~= "string" then refuse(name, "string", type(value)) end
  if value:find("\0", 1, true) then refuse(name, "string without NUL", "a string with NUL") end
  return value
end

--- A text that people choose, and that becomes a label of metrics.
function check.label(value, name)
  check.text(value, name)
  if #value == 0 or #value > LABEL_BYTES then
    refuse(name, ("string of 1 to %d bytes"):format(LABEL_BYTES), ("%d bytes"):format(#value))
  end
  if not text.is_utf8(value) then refuse(name, "UTF-8", "'" .. text.shown(value) .. "'") end
  return value
end

function check.bool(value, name)
  if type(value) ~= "boolean" then refuse(name, "boolean", type(value)) end
  return value
end

--- Seconds, above 0.
---@param most number?
function check.seconds(value, name, most)
  most = most or 2e6
  if type(value) ~= "number" or not (value > 0 and value <= most) then
    refuse(name, ("seconds > 0 and <= %d"):format(most), show(value))
  end
  return value
end

--- Seconds, at least 0; without `most` math.huge is for ever.
---@param most number?
function check.span(value, name, most)
  if type(value) ~= "number" or not (value >= 0 and value <= (most or math.huge)) then
    refuse(name, most and ("seconds from 0 to %d"):format(most) or "seconds >= 0", show(value))
  end
  return value
end

--- Seconds, above 0; math.huge is for ever.
function check.period(value, name)
  if type(value) ~= "number" or value ~= value or value <= 0 then
    refuse(name, "seconds > 0", show(value))
  end
  return value
end

--- As `check.deadline`, for waits that are never hours long: a larger number was meant as
--- milliseconds.
function check.short_deadline(seconds, name, most)
  if type(seconds) == "number" and seconds > most and seconds < math.huge then
    refuse(name, ("seconds from 0 to %d, or math.huge"):format(most), show(seconds))
  end
  return check.deadline(seconds, name)
end

---@param most integer? default 2147483647
function check.integer(value, name, least, most)
  most = most or 2 ^ 31 - 1
  if type(value) ~= "number" or value ~= math.floor(value) or value < least or value > most then
    refuse(name, ("integer from %d to %d"):format(least, most), show(value))
  end
  return value
end

function check.token(value, name)
  if type(value) ~= "number" or value ~= math.floor(value) or value < 0 or value >= 2 ^ 63 then
    refuse(name, "integer >= 0", show(value))
  end
  return value
end

--- An owner is any value but NaN. The caller replaces nil.
function check.owner(who)
  if not rawequal(who, who) then refuse("owner", "any value but NaN", "NaN") end
  return who
end

local PATH_BYTES, PATH_COMPONENTS, COMPONENT_BYTES = 4096, 128, 255

--- The limits apply to the path as the servers see it, with the client's chroot.
local function too_long(path, chroot)
  local with = chroot == "" and "" or " with the client's chroot"
  if #chroot + #path > PATH_BYTES then return ("it has more than %d bytes%s"):format(PATH_BYTES, with) end
  local _, components = (chroot .. path):gsub("/", "")
  if components > PATH_COMPONENTS then return ("it has more than %d components%s"):format(PATH_COMPONENTS, with) end
  return nil
end

---@param use "read"|"write"|"create"|"delete"|nil the operation on a node; nil: a lock's path
---@return string? why nil: the path is valid
function check.path_error(path, chroot, use)
  if path:find("/", 1, true) ~= 1 then return "it must begin with '/'" end
  if path == "/" then
    local stays = not use or (use == "delete" and chroot == "")
    return stays and "it must name a node below '/'" or nil
  end
  if path:find("/", -1, true) then return "it must not end with '/'" end
  if path:find("[%z\1-\31\127]") then return "it must not contain control characters" end
  for component in path:gmatch("/([^/]*)") do
    if component == "" then return "it has an empty component" end
    if component == "." or component == ".." then return "it has the component '" .. component .. "'" end
    if #component > COMPONENT_BYTES then
      return ("it has a component of more than %d bytes"):format(COMPONENT_BYTES)
    end
    if (not use or use == "create") and core.is_node(component) then
      return "'" .. text.shown(component) .. "' could be the name of a lock's node"
    end
  end
  if use ~= "read" and core.is_reserved(path) then
    return "/zookeeper is reserved for the servers"
  end
  if not core.is_spelled(path) then return "it contains a character that ZooKeeper rejects" end
  return too_long(path, chroot)
end

---@param chroot string? the client's, "" if it has none
---@param use "read"|"write"|"create"|"delete"|nil the operation on the node; nil: a lock's path
function check.path(value, name, chroot, use)
  check.text(value, name)
  local why = check.path_error(value, chroot or "", use)
  if why then wrong(name, ("path '%s': %s"):format(text.shown(value), why)) end
  return value
end

--- Checks a list of paths. No path may be listed twice, or lie below another.
function check.paths(value, name, chroot)
  if type(value) ~= "table" then refuse(name, "list of paths", type(value)) end
  local count = 0
  for _ in each(value) do count = count + 1 end
  if count == 0 or count ~= #value then
    refuse(name, "list of paths", count == 0 and "an empty table" or "a table that is not a list")
  end
  for i, path in ipairs(value) do check.path(path, ("%s[%d]"):format(name, i), chroot) end
  local known = {}
  local function refuse_path(path, why) wrong(name, ("path '%s' %s"):format(text.shown(path), why)) end
  for _, path in ipairs(value) do
    if known[path] then refuse_path(path, "is listed twice") end
    known[path] = true
  end
  for _, path in ipairs(value) do
    for above in path:gmatch("()/") do
      local parent = path:sub(1, above - 1)
      if known[parent] then refuse_path(path, "is below '" .. text.shown(parent) .. "'") end
    end
  end
  return value
end

local function words_of(known)
  local words = {}
  for word in each(known) do words[#words + 1] = "'" .. word .. "'" end
  table.sort(words)
  return words
end

--- Checks a table of options for unknown names.
---@param known table<string, any>
---@param is_secret boolean? true: its values are secrets. A secret may stand where a name should,
---  so no message repeats a name
function check.options(options, name, known, is_secret)
  if options == nil then return {} end
  if type(options) ~= "table" then refuse(name, "table or nil", type(options)) end
  for key in each(options) do
    if known[key] == nil and is_secret then
      wrong(name, "unknown option; expected: " .. table.concat(words_of(known), ", "))
    elseif known[key] == nil then
      wrong(name, ("unknown option '%s'"):format(text.shown(key)))
    end
  end
  return options
end

--- Checks that the value is a key of `known`, and returns the entry.
function check.word(value, name, known)
  local found = type(value) == "string" and known[value]
  if not found then
    local words = words_of(known)
    local got = type(value) == "string" and "'" .. text.shown(value) .. "'" or type(value)
    refuse(name, table.concat(words, " or "), got)
  end
  return found
end

local ACLS = { open = 0, creator = 1, read = 2 } -- the engine's numbers

--- Checks an ACL's name, and returns the engine's number; nil stands for the usual ACL.
---@param is_known boolean whether the client has an identity; without one there is no creator
---@return integer
function check.acl(value, name, is_known)
  if value == nil then return is_known and ACLS.creator or ACLS.open end
  local number = check.word(value, name, ACLS)
  if number ~= ACLS.open and not is_known then
    wrong(name, ("'%s' needs options.auth or options.tls: without them there is no creator"):format(value))
  end
  return number
end

return check
