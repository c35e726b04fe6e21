-- SPDX-License-Identifier: MIT
--- check: checks the arguments of public functions. Everything here raises at the level of the
--- public function's caller, with a message that names the argument.
local core = require "zklock.core"
local each = require "zklock.base.each"
local text = require "zklock.base.text"

local check = {}

--- The level of the public function's caller, seen from a function of this module that it calls.
local CALLER = 3

local LABEL_BYTES = 255

---@param level integer? of the public function's caller, seen from the function that refuses
local function refuse(name, expected, got, level)
  error(("bad argument '%s': %s expected, got %s"):format(name, expected, got), (level or CALLER) + 1)
end

check.refuse = refuse

local function show(value)
  return type(value) == "number" and ("%.14g"):format(value) or type(value)
end

--- Checks the object that a method was called on.
---@param name string the call, as the script writes it
function check.self(value, class, name)
  if rawequal(getmetatable(value), class) then return end
  error(("call it with a colon, %s(...), on a %s; got %s"):format(name, class.__name, show(value)), CALLER)
end

--- Turns a timeout into the moment at which it ends.
---@param seconds any nil or math.huge: never; otherwise a number >= 0, not NaN
---@return number moment, boolean once
function check.deadline(seconds, name, level)
  if seconds == nil then return math.huge, false end
  if type(seconds) ~= "number" or seconds ~= seconds or seconds < 0 then
    refuse(name, "seconds >= 0", show(seconds), level)
  end
  return core.now() + seconds, seconds == 0
end

function check.func(value, name, level)
  if type(value) ~= "function" then refuse(name, "function", type(value), level) end
  return value
end

--- A listener is a function, or nil for none.
function check.listener(value, name, level)
  if value ~= nil and type(value) ~= "function" then refuse(name, "function or nil", type(value), level) end
  return value
end

function check.text(value, name, level)
  if type(value) ~= "string" then refuse(name, "string", type(value), level) end
  if value:find("\0", 1, true) then refuse(name, "string without NUL", "a string with NUL", level) end
  return value
end

--- A text that people choose, and that becomes a label of metrics.
function check.label(value, name, level)
  level = level or CALLER
  check.text(value, name, level + 1)
  if #value == 0 or #value > LABEL_BYTES then
    refuse(name, ("string of 1 to %d bytes"):format(LABEL_BYTES), ("%d bytes"):format(#value), level)
  end
  if not text.is_utf8(value) then refuse(name, "UTF-8", "'" .. text.shown(value) .. "'", level) end
  return value
end

function check.bool(value, name, level)
  if type(value) ~= "boolean" then refuse(name, "boolean", type(value), level) end
  return value
end

--- Seconds, above 0.
---@param most number?
function check.seconds(value, name, level, most)
  most = most or 2e6
  if type(value) ~= "number" or not (value > 0 and value <= most) then
    refuse(name, ("seconds > 0 and <= %d"):format(most), show(value), level)
  end
  return value
end

--- Seconds, at least 0; without `most` math.huge is for ever.
---@param most number?
function check.span(value, name, level, most)
  if type(value) ~= "number" or not (value >= 0 and value <= (most or math.huge)) then
    refuse(name, most and ("seconds from 0 to %d"):format(most) or "seconds >= 0", show(value), level)
  end
  return value
end

--- Seconds, above 0; math.huge is for ever.
function check.period(value, name, level)
  if type(value) ~= "number" or value ~= value or value <= 0 then
    refuse(name, "seconds > 0", show(value), level)
  end
  return value
end

--- As `check.deadline`, for waits that are never hours long: a larger number was meant as
--- milliseconds.
function check.short_deadline(seconds, name, most, level)
  if type(seconds) == "number" and seconds > most and seconds < math.huge then
    refuse(name, ("seconds from 0 to %d, or math.huge"):format(most), show(seconds), level)
  end
  local moment, once = check.deadline(seconds, name, (level or CALLER) + 1)
  return moment, once
end

---@param most integer? default 2147483647
function check.integer(value, name, least, most, level)
  most = most or 2 ^ 31 - 1
  if type(value) ~= "number" or value ~= math.floor(value) or value < least or value > most then
    refuse(name, ("integer from %d to %d"):format(least, most), show(value), level)
  end
  return value
end

function check.token(value, name, level)
  if type(value) ~= "number" or value ~= math.floor(value) or value < 0 or value >= 2 ^ 63 then
    refuse(name, "integer >= 0", show(value), level)
  end
  return value
end

--- An owner is any value but NaN. The caller replaces nil.
function check.owner(who, level)
  if not rawequal(who, who) then refuse("owner", "any value but NaN", "NaN", level) end
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
function check.path(value, name, level, chroot, use)
  level = level or CALLER
  check.text(value, name, level + 1)
  local wrong = check.path_error(value, chroot or "", use)
  if not wrong then return value end
  error(("bad argument '%s': path '%s': %s"):format(name, text.shown(value), wrong), level)
end

--- Checks a list of paths. No path may be listed twice, or lie below another.
function check.paths(value, name, level, chroot)
  level = level or CALLER
  if type(value) ~= "table" then refuse(name, "list of paths", type(value), level) end
  local count = 0
  for _ in each(value) do count = count + 1 end
  if count == 0 or count ~= #value then
    refuse(name, "list of paths", count == 0 and "an empty table" or "a table that is not a list", level)
  end
  for i, path in ipairs(value) do check.path(path, ("%s[%d]"):format(name, i), level + 1, chroot) end
  local known = {}
  local function refuse_path(path, wrong)
    error(("bad argument '%s': path '%s' %s"):format(name, text.shown(path), wrong), level + 1)
  end
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
function check.options(options, name, known, level, is_secret)
  if options == nil then return {} end
  level = level or CALLER
  if type(options) ~= "table" then refuse(name, "table or nil", type(options), level) end
  for key in each(options) do
    if known[key] == nil and is_secret then
      local names = table.concat(words_of(known), ", ")
      error(("bad argument '%s': unknown option; expected: %s"):format(name, names), level)
    elseif known[key] == nil then
      error(("bad argument '%s': unknown option '%s'"):format(name, text.shown(key)), level)
    end
  end
  return options
end

--- Checks that the value is a key of `known`, and returns the entry.
function check.word(value, name, known, level)
  local found = type(value) == "string" and known[value]
  if not found then
    local words = words_of(known)
    local got = type(value) == "string" and "'" .. text.shown(value) .. "'" or type(value)
    refuse(name, table.concat(words, " or "), got, level)
  end
  return found
end

return check
