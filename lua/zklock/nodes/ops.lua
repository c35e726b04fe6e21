-- SPDX-License-Identifier: MIT
--- ops: checks the requests about nodes, and turns each into a list that the engine reads: kind,
--- path, data, version, flags, acl. Everything here raises at `level`, as `check`'s functions do,
--- with a message that names the argument.
local acl = require "zklock.base.acl"
local check = require "zklock.base.check"
local core = require "zklock.core"
local each = require "zklock.base.each"
local text = require "zklock.base.text"

local ops = {}

--- The engine's numbers.
local KINDS = { get = 0, exists = 1, children = 2, create = 3, set = 4, delete = 5, check = 6 }

--- A number that the servers append to the name of a sequential node, and the longest one.
local A_SEQUENCE, LONGEST_SEQUENCE = "0000000000", "-2147483648"

local CREATE_OPTIONS = { ephemeral = true, sequential = true, container = true, parents = true, acl = true }
local FLAGS = { ephemeral = "e", sequential = "s", container = "c", parents = "p" }

--- `level` counts from the function that calls this.
local function refuse(name, why, level)
  error(("bad argument '%s': %s"):format(name, why), level + 1)
end

--- The ops that read a node: "get", "exists" or "children".
---@param client zklock.Client
---@return table op
function ops.read(client, kind, path, name, level)
  return { KINDS[kind], check.path(path, name, level + 1, client.chroot, "read") }
end

local function bytes(value, name, level)
  if type(value) ~= "string" then check.refuse(name, "string", type(value), level) end
  return value
end

local function version_of(value, name, level)
  if value == nil then return -1 end
  check.integer(value, name, -2147483648, 2147483647, level + 1)
  return value
end

--- An argument's name in messages: "data", or in a list of several ops "ops[1][3]".
local function named(name, index, word)
  return index and ("%s[%d]"):format(name, index) or word
end

--- Raises if the path of a sequential node could become an invalid one with its number.
local function check_numbered(client, path, name, level)
  local wrong = check.path_error(path .. LONGEST_SEQUENCE, client.chroot, "read")
  if not wrong and core.is_node(path:match("[^/]*$") .. A_SEQUENCE) then
    wrong = "it could be the name of a lock's node"
  end
  if not wrong then return end
  refuse(name, ("path '%s': with the sequence number appended, %s"):format(text.shown(path), wrong), level)
end

---@param list string? the op's own name, if it is one of a list
function ops.set(client, path, data, version, list, level)
  return { KINDS.set, check.path(path, named(list, list and 2, "path"), level + 1, client.chroot, "write"),
    bytes(data, named(list, list and 3, "data"), level + 1),
    version_of(version, named(list, list and 4, "version"), level + 1) }
end

function ops.delete(client, path, version, list, level)
  return { KINDS.delete, check.path(path, named(list, list and 2, "path"), level + 1, client.chroot, "delete"), nil,
    version_of(version, named(list, list and 3, "version"), level + 1) }
end

local function check_op(client, path, version, list, level)
  return { KINDS.check, check.path(path, named(list, 2), level + 1, client.chroot, "read"), nil,
    version_of(version, named(list, 3), level + 1) }
end

--- The flags as the engine reads them, and the ACL, or nil for the client's ACL.
local function create_options(client, options, name, among, level)
  options = check.options(options, name, CREATE_OPTIONS, level + 1)
  local flags = ""
  for option, flag in each(FLAGS) do
    local value = options[option]
    if value ~= nil and check.bool(value, name .. "." .. option, level + 1) then flags = flags .. flag end
  end
  if options.container and (options.ephemeral or options.sequential) then
    refuse(name .. ".container", "a container cannot be ephemeral or sequential", level)
  end
  for _, option in ipairs(among and { "container", "parents" } or {}) do
    if options[option] then
      refuse(name .. "." .. option, "not valid in a transaction", level)
    end
  end
  if options.acl == nil then return flags, nil end
  return flags, acl.check(options.acl, name .. ".acl", client.is_known, level + 1)
end

function ops.create(client, path, data, options, list, level)
  local name = named(list, list and 2, "path")
  local flags, number = create_options(client, options, named(list, list and 4, "options"), list ~= nil, level + 1)
  check.path(path, name, level + 1, client.chroot, "create")
  if flags:find("s", 1, true) then check_numbered(client, path, name, level + 1) end
  if data ~= nil then bytes(data, named(list, list and 3, "data"), level + 1) end
  return { KINDS.create, path, data or "", nil, flags, number }
end

local WORDS = { set = "set", create = "create", delete = "delete", check = "check" }

--- The entries that may follow the word in an op of a list.
local ENTRIES = { set = { "path", "data", "version" }, create = { "path", "data", "options" },
  delete = { "path", "version" }, check = { "path", "version" } }

--- Raises if an op has an entry that nothing would read: `version = 3` instead of a version in its place.
local function check_entries(op, kind, name, level)
  local words = ENTRIES[kind]
  for key in each(op) do
    local is_known = type(key) == "number" and key >= 1 and key <= #words + 1 and key % 1 == 0
    if not is_known then
      refuse(name, ("unknown entry '%s'; '%s' takes %s, in this order"):format(text.shown(key), kind,
        table.concat(words, ", ")), level)
    end
  end
end

local function one_of_list(client, op, name, level)
  local kind = check.word(op[1], name .. "[1]", WORDS, level + 1)
  check_entries(op, kind, name, level + 1)
  local made
  if kind == "set" then
    made = ops.set(client, op[2], op[3], op[4], name, level + 1)
  elseif kind == "create" then
    made = ops.create(client, op[2], op[3], op[4], name, level + 1)
  elseif kind == "delete" then
    made = ops.delete(client, op[2], op[3], name, level + 1)
  else
    made = check_op(client, op[2], op[3], name, level + 1)
  end
  return made
end

---@return table[]
function ops.list(client, value, level)
  if type(value) ~= "table" then check.refuse("ops", "list", type(value), level) end
  local count, list = 0, {}
  for _ in each(value) do count = count + 1 end
  if count ~= #value then check.refuse("ops", "list", "a table that is not a list", level) end
  for i = 1, count do
    local op, name = value[i], ("ops[%d]"):format(i)
    if type(op) ~= "table" then check.refuse(name, "table", type(op), level) end
    list[i] = one_of_list(client, op, name, level + 1)
  end
  return list
end

--- Raises if one of the ops is on one of these nodes.
function ops.spare(list, paths, level)
  local own = {}
  for _, path in ipairs(paths) do own[path] = true end
  for i, op in ipairs(list) do
    if own[op[2]] then
      refuse(("ops[%d]"):format(i), ("path '%s' is the lock's own node"):format(text.shown(op[2])),
        level)
    end
  end
end

---@param answer userdata
function ops.result(op, answer, index)
  if op[1] == KINDS.create then return answer:data(index) end
  if op[1] == KINDS.set then return answer:stat(index) end
  return true
end

return ops
