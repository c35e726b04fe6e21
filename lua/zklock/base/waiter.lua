--- waiter: what an adapter is given to wait for.
local core = require "zklock.core"

---@class zklock.Waiter
---@field done boolean set when the wait is over
---@field deadline number? moment at which it is over all the same; nil: the engine ends it in time
---@field due number|false moment at which the engine ends it, at the latest: only to look then whether it has
---@field private _parked thread|false the callback that waits
---@field private _woken boolean the loop has heard of it
---@field private _next zklock.Waiter|false it has a place in the queue from its birth: to wake it allocates nothing
---@field private _number integer
local Waiter = {}
Waiter.__index = Waiter

local waiter = {}

---@param deadline number? moment as core.now() counts them
---@param due number? likewise
function waiter.new(deadline, due)
  return setmetatable({ deadline = deadline ~= math.huge and deadline or nil, due = due or false, done = false,
    _parked = false, _woken = false, _next = false, _number = 0 }, Waiter)
end

--- How long it may still wait.
---@return number? seconds 0 when its time is over, nil when only `done` ends it
function Waiter:left()
  local deadline = self.deadline
  if not deadline then return nil end
  local left = deadline - core.now()
  return left > 0 and left or 0
end

return waiter
