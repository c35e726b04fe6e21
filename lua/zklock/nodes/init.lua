--- nodes: what a client reads and writes besides locks. These are methods of the client, in a file of their own.
local check = require "zklock.base.check"
local core = require "zklock.core"
local errands = require "zklock.nodes.errands"
local ops = require "zklock.nodes.ops"
local Watch = require "zklock.nodes.watch"

--- The level of the public function's caller, seen from a function that it calls.
local CALLER = 3

--- The metadata of a node. Numbers that the servers count are integers, on LuaJIT and Lua 5.1 and 5.2 numbers.
---@class zklock.Stat
---@field version integer how often it was written to; its data's
---@field czxid integer the transaction that made it
---@field mzxid integer the one that wrote to it last
---@field pzxid integer the one that made or deleted a child of it last
---@field created number seconds since 1970 by the servers' clock
---@field modified number likewise
---@field children integer how many
---@field length integer bytes of data
---@field owner string? of an ephemeral node: the session, as `client:session_id()` spells it

---@class zklock.CreateOptions
---@field ephemeral boolean? it goes with the session, or at `close`, and is not made again
---@field sequential boolean? the servers append a number of ten digits that grows
---@field container boolean? the servers clear it away when its last child is gone; alone
---@field parents boolean? makes what is missing above, as containers
---@field acl "open"|"creator"|"read"|nil as of `connect`, for the parents, too; default the client's

--- The client's class, whose methods these become.
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
  local op = ops.read(self, "get", path, "path", CALLER)
  local answer, err, why = errands.one(self, op, check.deadline(timeout, "timeout"))
  if not answer then return nil, err, why end
  local data, stat = answer:data(), answer:stat()
  answer:drop()
  return data, stat
end

--- Is there a node? Needs no permission to read it.
---@param path string
---@param timeout number? seconds
---@return zklock.Stat|false|nil stat false: there is none
---@return string? err as of `get`, but not "no node"
---@return string? why
function Client:exists(path, timeout)
  check.self(self, class, "client:exists")
  local op = ops.read(self, "exists", path, "path", CALLER)
  local answer, err, why = errands.one(self, op, check.deadline(timeout, "timeout"))
  if not answer then return nil, err, why end
  local stat = answer:found() and answer:stat()
  answer:drop()
  return stat
end

--- The names of a node's children.
---@param path string
---@param timeout number? seconds
---@return string[]? names sorted as bytes
---@return zklock.Stat|string|nil stat the node's; or the error, as of `get`
---@return string? why
function Client:children(path, timeout)
  check.self(self, class, "client:children")
  local op = ops.read(self, "children", path, "path", CALLER)
  local answer, err, why = errands.one(self, op, check.deadline(timeout, "timeout"))
  if not answer then return nil, err, why end
  local names, stat = answer:names(), answer:stat()
  answer:drop()
  return names, stat
end

--- Makes a node.
---@param path string no component of it may be one that a lock's node could be called
---@param data string? bytes; default ""
---@param options zklock.CreateOptions?
---@param timeout number? seconds
---@return string? path with the number of a sequential one
---@return zklock.Stat|string|nil stat or the error: "node exists", "no node" (above it), "too big", "unknown" (it was
---  handed over and not answered: it may have been made), or as of `get`
---@return string? why
function Client:create(path, data, options, timeout)
  check.self(self, class, "client:create")
  local op = ops.create(self, path, data, options, nil, CALLER)
  local answer, err, why = errands.one(self, op, check.deadline(timeout, "timeout"))
  if not answer then return nil, err, why end
  local made, stat = answer:data(), answer:stat()
  answer:drop()
  return made, stat
end

--- Writes a node's data.
---@param path string
---@param data string bytes
---@param version integer? only if it has this one; nil and -1: any
---@param timeout number? seconds
---@return zklock.Stat? stat
---@return string? err "no node", "bad version", "too big", "unknown", or as of `get`
---@return string? why
function Client:set(path, data, version, timeout)
  check.self(self, class, "client:set")
  local op = ops.set(self, path, data, version, nil, CALLER)
  local answer, err, why = errands.one(self, op, check.deadline(timeout, "timeout"))
  if not answer then return nil, err, why end
  local stat = answer:stat()
  answer:drop()
  return stat
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
  local op = ops.delete(self, path, version, nil, CALLER)
  local answer, err, why = errands.one(self, op, check.deadline(timeout, "timeout"))
  if not answer then return nil, err, why end
  answer:drop()
  return true
end

--- Does all of several writes, or none.
---@param list table[] `{ "set", path, data, version }`, `{ "create", path, data, options }`,
---  `{ "delete", path, version }`, `{ "check", path, version }`
---@param timeout number? seconds
---@return (string|zklock.Stat|true)[]? results of `create` the path, of `set` the stat, of the others true
---@return string? err "no node", "node exists", "bad version", "not empty", "too big", "unknown", or as of `get`
---@return integer|string|nil index of the op that failed; or why, of "disconnected"
function Client:multi(list, timeout)
  check.self(self, class, "client:multi")
  list = ops.list(self, list, CALLER)
  return errands.all(self, list, check.deadline(timeout, "timeout"))
end

local function look(client, path, children, fn)
  check.path(path, "path", CALLER + 1, client.chroot, "read")
  check.func(fn, "fn", CALLER + 1)
  return core.hand_over(Watch.new, client, path, children, fn)
end

--- Follows a node's data, through reconnects and new sessions: `fn(data, stat)` now and after each change,
--- `fn(nil, "no node")` while there is none, `fn(nil, "access denied")` while it may not be read. It is called from
--- `poll`, as callbacks are, one call at a time, always with the latest state: states in between may merge, and it
--- never goes back. Dropped, it goes on.
---@param path string
---@param fn fun(data: string?, stat: zklock.Stat|string)
---@return zklock.Watch? watch `watch:stop()`: no call after it
---@return string? err "too many watches", "closed", "forked"
function Client:watch(path, fn)
  check.self(self, class, "client:watch")
  local watch, err = look(self, path, false, fn)
  return watch, err
end

--- Likewise the names of its children: `fn(names, stat)`.
---@param path string
---@param fn fun(names: string[]?, stat: zklock.Stat|string)
---@return zklock.Watch? watch
---@return string? err "too many watches", "closed", "forked"
function Client:watch_children(path, fn)
  check.self(self, class, "client:watch_children")
  local watch, err = look(self, path, true, fn)
  return watch, err
end

--- A read after it shows all that anybody had written before it.
---@param timeout number? seconds
---@return true? ok
---@return string? err as of `get`
---@return string? why
function Client:sync(timeout)
  check.self(self, class, "client:sync")
  return errands.sync(self, check.deadline(timeout, "timeout"))
end

--- Adds them to the client's.
---@param to zklock.Client the class
return function(to)
  class = to
  for name, method in pairs(Client) do to[name] = method end
end
