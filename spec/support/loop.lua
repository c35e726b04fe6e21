-- SPDX-License-Identifier: MIT
--- Time, and turning luv's loop while a spec waits.
--
-- luv does nothing by itself: pipes fill and children stay zombies unless somebody runs the loop. Every wait of the
-- harness goes through here. The harness's handles are unreferenced, so that a spec which runs the loop itself
-- (`uv.run()`) still comes back.

local uv = require "luv"
local kept = require "spec.support.kept" "loop"

local loop = {}

--- Seconds after which a spec gives up, whatever it waits for: generous, because a busy machine must not fail it.
loop.PATIENCE = 60

--- Monotonic seconds.
---@return number
function loop.now() return tonumber(uv.hrtime()) / 1e9 end

local function ignore() end

--- Lets what was closed go through the loop once. A handle whose close is still pending when the Lua state ends
--- crashes luv 1.44; therefore also one timer for all waits, which is never closed.
function loop.settle() if not uv.loop_mode() then uv.run("nowait") end end

--- Runs the loop until the condition holds or the time is over. The condition is looked at after each event: it must
--- be one that luv's callbacks make true, and must not wait itself. For others there is `poll`.
---@param condition fun(): any
---@param timeout number? seconds; nil waits for ever
---@return any value the condition's last value
function loop.turn_until(condition, timeout)
  local value = condition()
  if value then return value end
  if uv.loop_mode() then error("the harness cannot wait inside a luv callback", 2) end
  local deadline = timeout and loop.now() + timeout or math.huge
  kept.timer = kept.timer or uv.new_timer()
  local timer = kept.timer
  uv.update_time() -- it stood still while the loop did, and the timer counts from it
  timer:start(math.ceil(math.min(timeout or 1e6, 1e6) * 1000), 2, ignore)
  repeat
    uv.run("once")
    value = condition()
  until value or loop.now() >= deadline
  timer:stop()
  return value
end

--- Looks at a condition every few milliseconds until it holds or the time is over; the loop turns in between.
---@param condition fun(): any may wait and turn the loop itself
---@param timeout number seconds
---@param step number? seconds, 0.005
---@return any value the condition's last value
function loop.poll(condition, timeout, step)
  local deadline = loop.now() + timeout
  while true do
    local value = condition()
    if value or loop.now() >= deadline then return value end
    loop.turn_until(function() return false end, step or 0.005)
  end
end

return loop
