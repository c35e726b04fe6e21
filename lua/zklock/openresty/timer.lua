-- SPDX-License-Identifier: MIT
--- timer: runs a function in a timer of nginx for as long as the function likes. nginx may accept a
--- timer and then drop it ("lua_max_running_timers are not enough"), and code that runs in it may
--- end it with ngx.exit. So its user calls `ensure` again and again.
local core = require "zklock.core"
local flat = require "zklock.base.flat"

local Timer = {}
Timer.__index = Timer

--- A timer that has not begun after so many seconds counts as dropped. The time doubles each time.
local GRACE_LEAST, GRACE_MOST = 0.1, 1

---@param visits zklock.Visits
---@param body fun(timer: table)
---@param on_end fun()? called when the timer was ended from outside
function Timer.new(visits, body, on_end)
  return flat(Timer, { visits = visits, body = body, on_end = on_end or false, visit = false, asked = false,
    grace = GRACE_LEAST })
end

--- True if this light thread of the timer that runs has not ended. An error may end one without notice.
---@param thread thread|false false: it has not begun
function Timer.has_thread(thread)
  local status = thread and coroutine.status(thread)
  return status and status ~= "dead" and status ~= "zombie"
end

function Timer:is_running()
  return self.visit and not self.visit:ended()
end

--- True if it does not run, and has had the time to begin.
function Timer:is_late()
  return not self:is_running() and not (self.asked and core.now() - self.asked < self.grace)
end

--- The function that nginx runs, `premature` or not. After an error it runs once more.
local function run(_, self)
  if self:is_running() then return end -- nginx had not dropped this one
  self.visit = self.visits:attend(self)
  self.asked, self.grace = false, GRACE_LEAST
  local ok, err = xpcall(function() return self.body(self) end, debug.traceback)
  self.visit = false
  if ok then return end
  ngx.log(ngx.ERR, "zklock: ", err)
  ngx.timer.at(GRACE_LEAST, run, self)
end

--- Starts it, unless it runs or may still be about to begin.
function Timer:ensure()
  if not self:is_late() then return end
  local ok, err = ngx.timer.at(0, run, self)
  if self.asked then self.grace = math.min(2 * self.grace, GRACE_MOST) end
  self.asked = core.now()
  if not ok then ngx.log(ngx.WARN, "zklock: no timer, trying again: ", err) end
end

--- The engine calls this when nginx has ended the timer: to nginx a timer is a request.
function Timer:event()
  if self.on_end and not self:is_running() then self.on_end() end
end

return Timer
