--- timer: a function that runs in a timer of nginx's, for as long as it likes. nginx may say yes to a timer and drop it
--- all the same ("lua_max_running_timers are not enough"), and what runs in one may end it with ngx.exit. So whoever
--- needs it looks after it: `ensure`.
local core = require "zklock.core"

local Timer = {}
Timer.__index = Timer

--- Seconds after which one that was asked for and has not begun counts as dropped; twice as long each time.
local GRACE_LEAST, GRACE_MOST = 0.1, 1

---@param visits zklock.Visits
---@param body fun(timer: table)
---@param on_end fun()? it was ended from outside: called with the engine's news of that
function Timer.new(visits, body, on_end)
  return setmetatable({ visits = visits, body = body, on_end = on_end or false, visit = false, asked = false,
    grace = GRACE_LEAST }, Timer)
end

function Timer:is_running()
  return self.visit and not self.visit:ended()
end

--- Not running, and not because it has only just been asked for?
function Timer:is_late()
  return not self:is_running() and not (self.asked and core.now() - self.asked < self.grace)
end

--- A timer's function, `premature` or not.
local function run(_, self)
  if self:is_running() then return end -- one that was thought to be dropped
  self.visit = self.visits:attend(self)
  self.asked, self.grace = false, GRACE_LEAST
  local ok, err = xpcall(function() return self.body(self) end, debug.traceback)
  self.visit = false
  if not ok then ngx.log(ngx.ERR, "zklock: ", err) end
end

--- Begins it, unless it runs or has just been asked for.
function Timer:ensure()
  if not self:is_late() then return end
  local ok, err = ngx.timer.at(0, run, self)
  if self.asked then self.grace = math.min(2 * self.grace, GRACE_MOST) end
  self.asked = core.now()
  if not ok then ngx.log(ngx.WARN, "zklock: no timer, trying again: ", err) end
end

--- The engine: the request that the timer was for nginx has ended.
function Timer:event()
  if self.on_end and not self:is_running() then self.on_end() end
end

return Timer
