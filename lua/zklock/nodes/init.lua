-- SPDX-License-Identifier: MIT
--- nodes: reading, writing and watching nodes that are no locks. These are methods of the client.
local check = require "zklock.base.check"
local core = require "zklock.core"
local each = require "zklock.base.each"
local node_requests = require "zklock.nodes.node_requests"
local ops = require "zklock.nodes.ops"
local query = require "zklock.run.query"
local Watch = require "zklock.nodes.watch"

--- The metadata of a node. Counts and transaction numbers are integers; LuaJIT, Lua 5.1 and 5.2
--- have only numbers.
---@class zklock.Stat
---@field version integer how many writes its data has seen
---@field czxid integer the transaction that created it
---@field mzxid integer the transaction that wrote its data last
---@field pzxid integer the transaction that created or deleted a child of it last
---@field created number seconds since 1970 by the servers' clock
---@field modified number likewise
---@field children integer how many
---@field length integer bytes of data
---@field owner string? of an ephemeral node: the session, spelled as in `client:session_id()`

---@class zklock.CreateOptions
---@field ephemeral boolean? the servers delete it with the session; the client does not create it
---  again
---@field sequential boolean? the servers append an increasing number of ten digits
---@field container boolean? the servers delete it after its last child; not with the two above
---@field parents boolean? creates missing parents, as containers
---@field acl "open"|"creator"|"read"|nil as of `connect`, also for the parents; default the
---  client's

local function read_data(answer) return answer:data(), answer:stat() end
local function read_names(answer) return answer:names(), answer:stat() end
local function read_stat(answer) return answer:stat() end
local function read_if_found(answer) return answer:found() and answer:stat() end

--- The client's class, which gets these methods.
local class

---@class zklock.Client
local Client = {}

--- Reads a node.
---@param path string absolute; "/" too
---@param timeout number? seconds; nil waits for ever; 0 tries once
---@return string? data bytes; null data is ""
---@return zklock.Stat|string|nil stat or the error: "no node", "timeout", "disconnected", "closed", "access denied",
---  "auth failed", "forked", "cannot wait in phase NAME", "zookeeper: NAME"
---@return string? why of "disconnected", as far as is known: "connection refused: 127.0.0.1:2181"
function Client:get(path, timeout)
  check.self(self, class, "client:get")
  local op = ops.read(self, "get", path, "path")
  return node_requests.one(self, op, read_data, check.deadline(timeout, "timeout"))
end

--- Says whether a node exists.
---@param path string
---@param timeout number? seconds
---@return zklock.Stat|false|nil stat false: the node does not exist
---@return string? err as of `get`, but not "no node"
---@return string? why
function Client:exists(path, timeout)
  check.self(self, class, "client:exists")
  local op = ops.read(self, "exists", path, "path")
  return node_requests.one(self, op, read_if_found, check.deadline(timeout, "timeout"))
end

--- The names of a node's children.
---@param path string
---@param timeout number? seconds
---@return string[]? names sorted as bytes
---@return zklock.Stat|string|nil stat the node's; or the error, as of `get`
---@return string? why
function Client:children(path, timeout)
  check.self(self, class, "client:children")
  local op = ops.read(self, "children", path, "path")
  return node_requests.one(self, op, read_names, check.deadline(timeout, "timeout"))
end

--- Creates a node.
---@param path string no component of it may be a possible name of a lock's node
---@param data string? bytes; default ""
---@param options zklock.CreateOptions?
---@param timeout number? seconds
---@return string? path of a sequential node: with its number
---@return zklock.Stat|string|nil stat or the error: "node exists", "no node" (above it), "too big",
---  "unknown" (sent but not answered: it may have been created), or as of `get`
---@return string? why
function Client:create(path, data, options, timeout)
  check.self(self, class, "client:create")
  local op = ops.create(self, path, data, options, nil)
  return node_requests.one(self, op, read_data, check.deadline(timeout, "timeout"))
end

--- Writes a node's data.
---@param path string
---@param data string bytes
---@param version integer? writes only if the node has this version; nil and -1: any version
---@param timeout number? seconds
---@return zklock.Stat? stat
---@return string? err "no node", "bad version", "too big", "unknown", or as of `get`
---@return string? why
function Client:set(path, data, version, timeout)
  check.self(self, class, "client:set")
  local op = ops.set(self, path, data, version, nil)
  return node_requests.one(self, op, read_stat, check.deadline(timeout, "timeout"))
end

--- Deletes a node that has no children.
---@param path string
---@param version integer? as of `set`
---@param timeout number? seconds
---@return true? ok
---@return string? err "no node", "bad version", "not empty", "unknown", or as of `get`
---@return string? why
function Client:delete(path, version, timeout)
  check.self(self, class, "client:delete")
  local op = ops.delete(self, path, version, nil)
  return node_requests.one(self, op, nil, check.deadline(timeout, "timeout"))
end

--- Performs all of several writes, or none.
---@param list table[] `{ "set", path, data, version }`, `{ "create", path, data, options }`,
---  `{ "delete", path, version }`, `{ "check", path, version }`
---@param timeout number? seconds
---@return (string|zklock.Stat|true)[]? results of `create` the path, of `set` the stat, otherwise
---  true
---@return string? err "no node", "node exists", "bad version", "not empty", "too big", "unknown", or as of `get`
---@return integer|string|nil index of the op that failed; or why, of "disconnected" and "too big"
function Client:multi(list, timeout)
  check.self(self, class, "client:multi")
  list = ops.list(self, list)
  return node_requests.all(self, list, check.deadline(timeout, "timeout"))
end

local function look(client, path, children, fn)
  check.path(path, "path", client.chroot, "read")
  check.func(fn, "fn")
  return core.hand_over(Watch.new, client, path, children, fn)
end

--- Calls fn with a node's latest data, now and after each change, through reconnects and new sessions.
---@param path string
---@param fn fun(data: string?, stat: zklock.Stat|string) nil with "no node" or "access denied"
---@return zklock.Watch? watch `watch:stop()` ends the calls
---@return string? err "too many watches", "closed", "forked"
function Client:watch(path, fn)
  check.self(self, class, "client:watch")
  return look(self, path, false, fn)
end

--- Watches the names of a node's children in the same way: `fn(names, stat)`.
---@param path string
---@param fn fun(names: string[]?, stat: zklock.Stat|string)
---@return zklock.Watch? watch
---@return string? err "too many watches", "closed", "forked"
function Client:watch_children(path, fn)
  check.self(self, class, "client:watch_children")
  return look(self, path, true, fn)
end

--- A read after it returns every write that any client had finished before it began.
---@param timeout number? seconds
---@return true? ok
---@return string? err as of `get`
---@return string? why
function Client:sync(timeout)
  check.self(self, class, "client:sync")
  local deadline, once = check.deadline(timeout, "timeout")
  return query(self, function(tag) return self.native:ask_sync(tag, deadline, once) end)
end

--- Adds these methods to the client's class.
---@param to zklock.Client the class
return function(to)
  class = to
  for name, method in each(Client) do to[name] = method end
end
