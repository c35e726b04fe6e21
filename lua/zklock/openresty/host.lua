-- SPDX-License-Identifier: MIT
--- host: the parts that one client has in a worker of nginx: the requests that use it, the
--- notifier, and the runner of its callbacks.
local Notifier = require "zklock.openresty.notifier"
local Runner = require "zklock.openresty.runner"
local Visits = require "zklock.openresty.visits"
local caretaker = require "zklock.openresty.caretaker"
local core = require "zklock.core"
local flat = require "zklock.base.flat"

--- While requests come, the host takes events after so many seconds, also if nothing announces any:
--- the ends of most requests announce nothing.
local LOOK = 1

---@class zklock.openresty.Host
local Host = {}
Host.__index = Host

--- A worker's Lua state lasts. But with `lua_code_cache off` each request has a Lua state of its
--- own, which ends only when nothing in it runs any more, so there the timers must end with the
--- request. nginx does not say which case it is. In the first case there is only one state, and it
--- sees more than one request.
local function may_last() return core.states() == 1 end

---@param ready fun() takes the events
function Host.new(client, ready)
  local self = flat(Host, { native = client.native, ready = ready, removed = false, looked = 0, observers = {} })
  self.visits = Visits.new(client, function()
    if may_last() then self:keep() end
  end, function()
    if not self.notifier:is_heard() or ngx.now() - self.looked > LOOK then self:help() end
  end)
  self.runner = Runner.new(self.visits, function() self:notice_exit() end)
  self.notifier = Notifier.new(client.native, self.visits, self)
  local phase = ngx.get_phase()
  if phase == "init_worker" or phase == "timer" and may_last() then self:keep() end
  return self
end

--- True while an owner that may hold or wait is left, or a callback.
function Host:is_needed()
  return not self.visits:is_empty() or self.runner:is_busy()
end

--- Checks for timers that nginx has dropped and light threads that have ended: nginx reports
--- neither.
---@return boolean again true: the next check should come soon
function Host:must_look()
  local more = self.visits:end_threads()
  return more or self.runner:is_pending()
end

--- Lets go of the worker if nginx has told it to exit. nginx then runs the timers early and drops
--- those that exceed `lua_max_running_timers`, perhaps also the caretaker's. So each part of the
--- host that wakes checks.
function Host:notice_exit()
  if self.notifier.kept and ngx.worker.exiting() then self:leave() end
end

--- Calls fn, too, whenever it takes events. fn must not raise.
---@param fn fun()
function Host:observe(fn)
  self.observers[#self.observers + 1] = fn
end

--- Takes the events. If that raises (no memory), the caller has to try again.
---@return boolean done false: it has raised
function Host:take()
  self.looked = ngx.now()
  self:notice_exit()
  local ok, err = xpcall(self.ready, debug.traceback)
  if not ok then ngx.log(ngx.ERR, "zklock: ", err) end
  self.runner:tend()
  for _, observer in ipairs(self.observers) do observer() end
  return ok
end

--- Does the work of the notifier's reader, for a caller that waits or checks while no reader runs.
function Host:help()
  self.notifier:listen()
  self:take()
end

--- Runs at each use of the client that does not wait: in a worker without free timers nothing else
--- notices that an earlier request has ended.
function Host:help_if_unheard()
  if not self.notifier:is_heard() then self:help() end
end

--- Keeps the timers running until nginx tells the worker to exit. nginx does not exit while one
--- runs.
function Host:keep()
  if self.removed then return end
  if ngx.worker.exiting() then self.native:hurry() end
  if not caretaker.add(self) then return end
  self.notifier:keep(true)
  self.runner:keep(true)
  self.visits:announce(false)
end

--- A job goes on from now on, so the timers run, unless the Lua state ends with its request.
function Host:last()
  if ngx.worker.exiting() then return self:end_jobs() end
  if may_last() then self:keep() end
end

--- Another worker takes over the jobs.
---@private
function Host:end_jobs()
  local client = self.visits.back[1]
  if client then client.jobs:leave() end
end

--- The caretaker calls this periodically.
function Host:tend()
  local is_needed = self:is_needed()
  if is_needed or self.notifier.kept then self.notifier:listen() end
  self.visits:desert()
  self.runner:tend()
end

--- nginx has told the worker to exit: from now on the timers run only while an owner needs them.
function Host:leave()
  caretaker.remove(self)
  self.visits:announce(true)
  self.native:hurry()
  self:end_jobs()
  self.runner:keep(false)
  self.notifier:keep(false)
  self.native:wake() -- nginx checks its semaphores only after a descriptor or a timer has woken it
end

function Host:remove()
  self.removed = true
  self:leave()
end

return Host
