--- kinds: how each kind of lock is entered. For each there is a function that makes what is known of a path.
local Holds = require "zklock.holds.holds"

local function enter_line(hold, tag, deadline, once, at_once)
  local holds = hold.holds
  local settings = holds.settings
  return holds.client.native:join(hold.contender, holds.path, holds.node, tag, deadline, once, settings.max_hold,
    holds:under(hold.whose[1]), settings.max_waiting, settings.handoffs, settings.stint, settings.linger,
    at_once)
end

local function enter_lines(hold, tag, deadline, once)
  local holds = hold.holds
  return holds.client.native:join_all(hold.contender, holds.paths, tag, deadline, once, holds.settings.max_hold)
end

local function enter_leases(hold, tag, deadline, once)
  local holds = hold.holds
  local settings = holds.settings
  return holds.client.native:join_leases(hold.contender, holds.path, hold.leases, settings.permits, tag, deadline,
    once, settings.max_hold)
end

local Mutex = Holds.class { kind = "mutex", node = "lock", enter = enter_line }
local Write = Holds.class { kind = "rwlock", node = "write", enter = enter_line }
local Read = Holds.class { kind = "rwlock", node = "read", enter = enter_line }
local Semaphore = Holds.class { kind = "semaphore", enter = enter_leases }
local Multilock = Holds.class { kind = "multilock", enter = enter_lines }

local kinds = {}

---@param settings table? nil: it is a part of a multilock so far
---@return zklock.Holds
function kinds.mutex(client, path, settings)
  return Holds.new(Mutex, { client = client, path = path, settings = settings or false })
end

---@return zklock.Holds of the writers; `read` has the readers
function kinds.rwlock(client, path, settings)
  local write = Holds.new(Write, { client = client, path = path, settings = settings or false, read = false })
  local read = Holds.new(Read, { client = client, path = path, settings = settings or false, write = false })
  Holds.pair(write, read)
  return write
end

---@return zklock.Holds
function kinds.semaphore(client, path, settings)
  return Holds.new(Semaphore, { client = client, path = path, settings = settings or false })
end

---@param paths string[] sorted
---@param parts zklock.Holds[] the mutexes there
---@return zklock.Holds
function kinds.multilock(client, path, settings, paths, parts)
  return Holds.new(Multilock,
    { client = client, path = path, settings = settings or false, paths = paths, parts = parts })
end

return kinds
