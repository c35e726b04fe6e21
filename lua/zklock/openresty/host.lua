--- host: what one client has in a worker of nginx: the requests it is used in, the notifier, the runner of its
--- callbacks.
local Notifier = require "zklock.openresty.notifier"
local Runner = require "zklock.openresty.runner"
local Visits = require "zklock.openresty.visits"
local caretaker = require "zklock.openresty.caretaker"
local core = require "zklock.core"

---@class zklock.openresty.Host
local Host = {}
Host.__index = Host

--- A worker's Lua state lasts. But with `lua_code_cache off` each request has one of its own, which ends only when
--- nothing of it is left: there the timers must end with the request. Nobody says which of the two this is; in the
--- former there is only one state, and it sees more than one request.
local function may_last() return core.states() == 1 end

---@param ready fun() takes what has arrived
function Host.new(client, ready)
  local self = setmetatable({ native = client.native, ready = ready, removed = false }, Host)
  self.visits = Visits.new(client, function()
    if may_last() then self:keep() end
  end, function() self:help_if_unheard() end)
  self.runner = Runner.new(self.visits, function() self:notice_exit() end)
  self.notifier = Notifier.new(client.native, self.visits, self)
  local phase = ngx.get_phase()
  if phase == "init_worker" or phase == "timer" and may_last() then self:keep() end
  return self
end

--- Is somebody here who may hold or wait, or something to be done?
function Host:is_needed()
  return not self.visits:is_empty() or self.runner:is_busy()
end

--- Of a timer that nginx dropped nobody tells, nor of a light thread's end. Looks at those.
---@return boolean again soon
function Host:must_look()
  local more = self.visits:end_threads()
  return more or self.runner:is_pending()
end

--- Leaves if the worker is told to leave. nginx tells a worker so by running its timers early, and drops the timers
--- that exceed `lua_max_running_timers`, the caretaker's too. So each part of the host that wakes looks.
function Host:notice_exit()
  if self.notifier.kept and ngx.worker.exiting() then self:leave() end
end

--- Takes what has arrived. It is not over if that raised (no memory): then it is to be tried again.
---@return boolean done
function Host:take()
  self:notice_exit()
  local ok, err = xpcall(self.ready, debug.traceback)
  if not ok then ngx.log(ngx.ERR, "zklock: ", err) end
  self.runner:tend()
  return ok
end

--- Does what the notifier's reader does: for a caller that waits or looks while nobody listens to the notifier.
function Host:help()
  self.notifier:listen()
  self:take()
end

--- For each use of the client that does not wait: in a worker whose timers are used up nothing else learns that a
--- former request has ended.
function Host:help_if_unheard()
  if not self.notifier:is_heard() then self:help() end
end

--- Its timers are there from now on, until the worker is told to leave: nginx stays for as long as something runs.
function Host:keep()
  if self.removed then return end
  if ngx.worker.exiting() then self.native:hurry() end
  if not caretaker.add(self) then return end
  self.notifier:keep(true)
  self.runner:keep(true)
end

--- The caretaker: time to look.
function Host:tend()
  if self.notifier.kept or self:is_needed() then self.notifier:listen() end
  self.visits:desert()
  self.runner:tend()
end

--- The worker is told to leave: timers only for those who are here still.
function Host:leave()
  caretaker.remove(self)
  self.native:hurry()
  self.runner:keep(false)
  self.notifier:keep(false)
  self.native:wake() -- nginx looks after its semaphores only when a descriptor or a timer has woken it
end

--- The client is at its end.
function Host:remove()
  self.removed = true
  self:leave()
end

return Host
