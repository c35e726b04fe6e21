-- SPDX-License-Identifier: MIT
--- jobs: the jobs of one client that have not ended.
local Bag = require "zklock.base.bag"
local core = require "zklock.core"

---@class zklock.Jobs
---@field private all table
---@field private is_closed boolean no job begins any more
---@field private waiters table<zklock.Waiter, boolean> callers that wait for jobs to end; weak
local Jobs = {}
Jobs.__index = Jobs

---@param client zklock.Client
function Jobs.new(client)
  return setmetatable({ client = client, all = Bag.new("_place"), is_closed = false,
    waiters = setmetatable({}, { __mode = "k" }) }, Jobs)
end

function Jobs:refuses()
  return self.is_closed
end

--- Keeps a job alive until it has ended, also when the script drops it.
function Jobs:add(job)
  self.all:add(job)
  self.client.dispatcher:keep(job)
end

function Jobs:remove(job)
  self.all:remove(job)
  self.client.dispatcher:unkeep(job)
  self.client.waits:wake_all(self.waiters)
end

--- Ends all jobs: each as soon as its function has returned.
function Jobs:leave()
  self.is_closed = true
  local list = self.all.list
  for place = self.all.count, 1, -1 do
    if list[place] then list[place]:begin_to_stop() end
  end
end

--- Waits until `is_over()`, which the end of a job may change, or until the deadline.
---@param is_over fun(): any
function Jobs:await(is_over, deadline)
  local waits = self.client.waits
  while not is_over() and core.now() < deadline do
    local waiter = waits.new_waiter(deadline)
    self.waiters[waiter] = true
    waits:wait_alone(waiter)
    if self.waiters[waiter] then self.waiters[waiter] = nil end
  end
end

--- True if no function runs but that which calls this.
local function is_quiet(self)
  local all = self.all
  for place = 1, all.count do
    local job = all.list[place]
    if job:is_busy() and not job:is_inside() then return false end
  end
  return true
end

function Jobs:close(deadline)
  self:leave()
  if self.client.waits:cannot_wait() then return end
  self:await(function() return is_quiet(self) or self.client.native:unusable() end, deadline)
end

return Jobs
