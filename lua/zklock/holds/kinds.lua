--- kinds: how each kind of lock is entered. For each there is a function that makes what is known of a path.
local LockPath = require "zklock.holds.lock_path"

local function enter_line(hold, tag, deadline, once, at_once)
  local lock_path = hold.lock_path
  local native, settings = lock_path.client.native, lock_path.settings
  return native:join(hold.contender, lock_path.path, lock_path.node, tag, deadline, once, settings.max_hold,
    lock_path:under(hold.whose[1]), settings.max_waiting, settings.handoffs, settings.stint, settings.linger,
    at_once)
end

local function enter_lines(hold, tag, deadline, once)
  local lock_path = hold.lock_path
  local native, settings = lock_path.client.native, lock_path.settings
  return native:join_all(hold.contender, lock_path.paths, tag, deadline, once, settings.max_hold)
end

local function enter_leases(hold, tag, deadline, once)
  local lock_path = hold.lock_path
  local native, settings = lock_path.client.native, lock_path.settings
  return native:join_leases(hold.contender, lock_path.path, hold.leases, settings.permits, tag, deadline,
    once, settings.max_hold)
end

local Mutex = LockPath.class { kind = "mutex", node = "lock", enter = enter_line }
local Write = LockPath.class { kind = "rwlock", node = "write", enter = enter_line }
local Read = LockPath.class { kind = "rwlock", node = "read", enter = enter_line }
local Semaphore = LockPath.class { kind = "semaphore", enter = enter_leases }
local Multilock = LockPath.class { kind = "multilock", enter = enter_lines }

local kinds = {}

---@param settings table? nil: it is a part of a multilock so far
---@return zklock.LockPath
function kinds.mutex(client, path, settings)
  return LockPath.new(Mutex, { client = client, path = path, settings = settings or false })
end

---@return zklock.LockPath of the writers; `read` has the readers
function kinds.rwlock(client, path, settings)
  local write = LockPath.new(Write, { client = client, path = path, settings = settings or false, read = false })
  local read = LockPath.new(Read, { client = client, path = path, settings = settings or false, write = false })
  LockPath.pair(write, read)
  return write
end

---@return zklock.LockPath
function kinds.semaphore(client, path, settings)
  return LockPath.new(Semaphore, { client = client, path = path, settings = settings or false })
end

---@param paths string[] sorted
---@param parts zklock.LockPath[] the mutexes there
---@return zklock.LockPath
function kinds.multilock(client, path, settings, paths, parts)
  return LockPath.new(Multilock,
    { client = client, path = path, settings = settings or false, paths = paths, parts = parts })
end

return kinds
