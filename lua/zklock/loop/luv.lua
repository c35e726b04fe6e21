--- luv: waits in coroutines that luv's callbacks resume. It has no coroutines of its own, so any can wait.
local blocking = require "zklock.loop.blocking"
local is_yieldable = require "zklock.base.yieldable"
local errors = require "zklock.base.errors"
local uv = require "luv"

local luv = { name = "luv" }

--- A timer's longest time, in seconds.
local LONGEST = 1e6

--- Those that wait: nobody else need know their coroutine.
local waiting = {} -- luacheck: ignore 241

-- Timers are used again and never closed: luv 1.44 crashes when a close is still pending at the script's end.
local timers = {}

local function take_timer()
  return table.remove(timers) or assert(uv.new_timer())
end

local function ignore() end

local function put_back(timer)
  timer:start(0, 0, ignore) -- luv holds a timer's last function
  timer:stop()
  timers[#timers + 1] = timer
end

--- Not inside this call, but in the next turn of the loop.
local function later(fn)
  local timer = take_timer()
  timer:start(0, 0, function()
    put_back(timer)
    fn()
  end)
end

--- It is in no wait of ours any more.
local function leave(waiter)
  waiting[waiter] = nil
  put_back(waiter.timer)
  waiter.timer = nil
end

--- Looks at two of them, whether somebody closed their coroutine whom nobody else tells us of.
local at
local function sweep()
  for _ = 1, 2 do
    local waiter = next(waiting, waiting[at] and at or nil)
    if not waiter then
      at = nil
      return
    end
    if coroutine.status(waiter.thread) == "dead" then leave(waiter) else at = waiter end
  end
end

local function go_on(waiter)
  if coroutine.status(waiter.thread) ~= "suspended" then return leave(waiter) end -- somebody closed it
  local ok, err = coroutine.resume(waiter.thread)
  if not ok then error(errors.traceback(waiter.thread, err), 0) end
end

local function suspend(waiter)
  local left = waiter:left()
  sweep()
  waiter.thread = coroutine.running()
  waiter.timer = take_timer()
  waiter.go_on = function() go_on(waiter) end
  waiting[waiter] = true
  if left then waiter.timer:start(math.ceil(math.min(left, LONGEST) * 1000), 0, waiter.go_on) end
  coroutine.yield()
  leave(waiter)
end

function luv.wait(client, waiter)
  if not is_yieldable() then return blocking.wait(client, waiter) end
  while not waiter.done and waiter:left() ~= 0 do suspend(waiter) end
end

function luv.wake(waiter)
  if waiter.timer then waiter.timer:start(0, 0, waiter.go_on) end
end

--- The descriptor is open for as long as the handle is: it holds `ready`, and that what the descriptor belongs to.
function luv.watch(client, ready)
  local handle = assert(uv.new_poll(client:getfd()))
  assert(handle:start("r", ready))
  return function(hang_up)
    handle:stop()
    later(function()
      handle:close() -- libuv takes the descriptor from its list once more
      hang_up()
    end)
    return true
  end
end

function luv.spawn(_, fn)
  coroutine.wrap(fn)()
  return true
end

return luv
