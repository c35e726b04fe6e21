-- SPDX-License-Identifier: MIT
--- rwlock: two locks at one path, one for readers and one for writers.
local Lock = require "zklock.lock"
local check = require "zklock.base.check"
local text = require "zklock.base.text"

---@class zklock.RwLock
---@field read zklock.Lock many owners may hold it together
---@field write zklock.Lock one owner holds it alone
local RwLock = {}
RwLock.__index = RwLock
RwLock.__name = "zklock.RwLock"

---@param lock_path zklock.LockPath of the writers
---@param label integer? the number of its name, for metrics
---@return zklock.RwLock
function RwLock.new(client, lock_path, by_thread, label)
  local read = Lock.new(client, lock_path.read, by_thread, label)
  local write = Lock.new(client, lock_path, by_thread, label)
  return setmetatable({ read = read, write = write }, RwLock)
end

--- The path it was made with, without the chroot.
---@return string
function RwLock:path()
  check.self(self, RwLock, "rwlock:path")
  return self.write:path()
end

function RwLock:__tostring()
  return ("zklock.RwLock (%s)"):format(text.shown(self:path()))
end

return RwLock
