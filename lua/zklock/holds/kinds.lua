-- SPDX-License-Identifier: MIT
--- kinds: for each kind of lock, a function that creates its LockPath, which knows how to enter the
--- lock.
local LockPath = require "zklock.holds.lock_path"
local owner = require "zklock.owners.owner"

--- Anybody in the program may release a lease, also while its taker waits.
local NO_OWNER = 0

local function enter_line(hold, deadline, once, at_once)
  local lock_path, listener, who = hold.lock_path, hold.listener, hold.whose[1]
  local under, settings = lock_path.write and lock_path:under(who) or nil, lock_path.settings
  return lock_path.client.native:join(hold.contender, lock_path.path, hold.tag, deadline, once,
    not settings.usual and settings, listener.label, owner.number(who), lock_path.node, at_once, under,
    listener.is_job)
end

local function enter_lines(hold, deadline, once)
  local lock_path = hold.lock_path
  return lock_path.client.native:join_all(hold.contender, lock_path.paths, hold.tag, deadline, once, lock_path.settings,
    hold.listener.label, owner.number(hold.whose[1]))
end

local function enter_leases(hold, deadline, once)
  local lock_path = hold.lock_path
  return lock_path.client.native:join_leases(hold.contender, lock_path.path, hold.tag, deadline, once,
    lock_path.settings, hold.listener.semaphore.label, NO_OWNER, hold.leases)
end

local Mutex = LockPath.class { kind = "mutex", node = "lock", enter = enter_line }
local Write = LockPath.class { kind = "rwlock", node = "write", enter = enter_line, has_relatives = true }
local Read = LockPath.class { kind = "rwlock", node = "read", enter = enter_line, has_relatives = true }
local Semaphore = LockPath.class { kind = "semaphore", enter = enter_leases }
local Multilock = LockPath.class { kind = "multilock", enter = enter_lines, has_relatives = true }

local kinds = {}

---@param settings table? nil: so far only multilocks use this path
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
