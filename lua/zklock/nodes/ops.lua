-- SPDX-License-Identifier: MIT
--- ops: checks the requests about nodes, and turns each into a list that the engine reads: kind,
--- path, data, version, flags, acl. Everything here raises as `check`'s functions do.
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

--- The ops that read a node: "get", "exists" or "children".
---@param client zklock.Client
---@return table op
function ops.read(client, kind, path, name)
  return { KINDS[kind], check.path(path, name, client.chroot, "read") }
end

local function bytes(value, name)
  if type(value) ~= "string" then check.refuse(name, "string", type(value)) end
  return value
end

local function version_of(value, name)
  if value == nil then return -1 end
  check.integer(value, name, -2147483648, 2147483647)
  return value
end

--- An argument's name in messages: "data", or in a list of several ops "ops[1][3]".
local function named(name, index, word)
  return index and ("%s[%d]"):format(name, index) or word
end

--- Raises if the path of a sequential node could become an invalid one with its number.
local function check_numbered(client, path, name)
  local wrong = check.path_error(path .. LONGEST_SEQUENCE, client.chroot, "read")
  if not wrong and core.is_node(path:match("[^/]*$") .. A_SEQUENCE) then
    wrong = "it could be the name of a lock's node"
  end
  if not wrong then return end
  check.wrong(name, ("path '%s': with the sequence number appended, %s"):format(text.shown(path), wrong))
end

---@param list string? the op's own name, if it is one of a list
function ops.set(client, path, data, version, list)
  return { KINDS.set, check.path(path, named(list, list and 2, "path"), client.chroot, "write"),
    bytes(data, named(list, list and 3, "data")),
    version_of(version, named(list, list and 4, "version")) }
end

function ops.delete(client, path, version, list)
  return { KINDS.delete, check.path(path, named(list, list and 2, "path"), client.chroot, "delete"), nil,
    version_of(version, named(list, list and 3, "version")) }
end

local function check_op(client, path, version, list)
  return { KINDS.check, check.path(path, named(list, 2), client.chroot, "read"), nil,
    version_of(version, named(list, 3)) }
end

--- The flags as the engine reads them, and the ACL, or nil for the client's ACL.
local function create_options(client, options, name, among)
  options = check.options(options, name, CREATE_OPTIONS)
  local flags = ""
  for option, flag in each(FLAGS) do
    local value = options[option]
    if value ~= nil and check.bool(value, name .. "." .. option) then flags = flags .. flag end
  end
  if options.container and (options.ephemeral or options.sequential) then
    check.wrong(name .. ".container", "a container cannot be ephemeral or sequential")
  end
  for _, option in ipairs(among and { "container", "parents" } or {}) do
    if options[option] then check.wrong(name .. "." .. option, "not valid in a transaction") end
  end
  if options.acl == nil then return flags, nil end
  return flags, check.acl(options.acl, name .. ".acl", client.is_known)
end

function ops.create(client, path, data, options, list)
  local name = named(list, list and 2, "path")
  local flags, number = create_options(client, options, named(list, list and 4, "options"), list ~= nil)
  check.path(path, name, client.chroot, "create")
  if flags:find("s", 1, true) then check_numbered(client, path, name) end
  if data ~= nil then bytes(data, named(list, list and 3, "data")) end
  return { KINDS.create, path, data or "", nil, flags, number }
end

--- The entries that may follow the word in an op of a list.
local ENTRIES = { set = { "path", "data", "version" }, create = { "path", "data", "options" },
  delete = { "path", "version" }, check = { "path", "version" } }

--- Raises if an op has an entry that nothing would read: `version = 3` instead of a version in its place.
local function check_entries(op, kind, words, name)
  for key in each(op) do
    local is_known = type(key) == "number" and key >= 1 and key <= #words + 1 and key % 1 == 0
    if not is_known then
      check.wrong(name, ("unknown entry '%s'; '%s' takes %s, in this order"):format(text.shown(key), kind,
        table.concat(words, ", ")))
    end
  end
end

local function one_of_list(client, op, name)
  local kind, words = op[1], check.word(op[1], name .. "[1]", ENTRIES)
  check_entries(op, kind, words, name)
  if kind == "set" then return ops.set(client, op[2], op[3], op[4], name) end
  if kind == "create" then return ops.create(client, op[2], op[3], op[4], name) end
  if kind == "delete" then return ops.delete(client, op[2], op[3], name) end
  return check_op(client, op[2], op[3], name)
end

---@return table[]
function ops.list(client, value)
  if type(value) ~= "table" then check.refuse("ops", "list", type(value)) end
  local count, list = 0, {}
  for _ in each(value) do count = count + 1 end
  if count ~= #value then check.refuse("ops", "list", "a table that is not a list") end
  for i = 1, count do
    local op, name = value[i], ("ops[%d]"):format(i)
    if type(op) ~= "table" then check.refuse(name, "table", type(op)) end
    list[i] = one_of_list(client, op, name)
  end
  return list
end

--- Raises if one of the ops is on one of these nodes.
function ops.spare(list, paths)
  local own = {}
  for _, path in ipairs(paths) do own[path] = true end
  for i, op in ipairs(list) do
    if own[op[2]] then
      check.wrong(("ops[%d]"):format(i), ("path '%s' is the lock's own node"):format(text.shown(op[2])))
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
