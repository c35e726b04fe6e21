-- SPDX-License-Identifier: MIT
--- luv: callers wait in coroutines that luv's callbacks resume. luv has no coroutines of its own,
--- so any coroutine can wait.
local blocking = require "zklock.loop.blocking"
local core = require "zklock.core"
local Bag = require "zklock.base.bag"
local errors = require "zklock.base.errors"
local uv = require "luv"
local yields = require "zklock.base.yields"

local quietly = core.quietly

local luv = { name = "luv" }

--- A timer's longest time, in seconds.
local LONGEST = 1e6

--- The waiters: nothing else need refer to their coroutines.
local waiting = Bag.new("_place")

--- True if other code has closed a handle of ours: `uv.walk` finds all handles, and programs close
--- them when they end the loop. Libuv aborts the process if a closed handle is stopped.
local function is_closed(handle)
  return not handle or handle:is_closing()
end

-- Timers and idle handles are used again and never closed: luv 1.44 crashes if a close is pending
-- when the script ends.
local timers, idlers = {}, {}

local function take_timer()
  local timer = table.remove(timers)
  while timer and is_closed(timer) do timer = table.remove(timers) end
  return timer or assert(uv.new_timer())
end

local function ignore() end

local function put_back(timer)
  if is_closed(timer) then return end
  timer:start(0, 0, ignore) -- luv refers to the function that a timer had last
  timer:stop()
  timers[#timers + 1] = timer
end

--- Calls fn in the next turn of the loop, which then ends the closes that fn has begun. A timer that
--- is due may run after that, at the end of a turn.
local function later(fn)
  local idler = table.remove(idlers)
  if is_closed(idler) then idler = assert(uv.new_idle()) end
  idler:start(function()
    idler:start(ignore) -- luv refers to the function that it had last
    idler:stop()
    idlers[#idlers + 1] = idler
    fn()
  end)
end

local function forget(waiter)
  waiting:remove(waiter)
  local timer = waiter.timer
  waiter.thread = false -- first: after an error this is called again
  if not timer then return end
  waiter.timer = false
  put_back(timer)
end

local function leave(waiter)
  quietly(forget, waiter)
end

--- Checks two waiters: nothing reports that a script has closed a waiter's coroutine.
local at = 0
local function sweep()
  for _ = 1, math.min(2, waiting.count) do
    at = at > 1 and at <= waiting.count and at - 1 or waiting.count
    local waiter = waiting.list[at]
    if coroutine.status(waiter.thread) == "dead" then leave(waiter) end
  end
end

local function ended(thread, ok, err)
  if not ok then error(errors.traceback(thread, err), 0) end
end

local function go_on(waiter)
  local thread = waiter.thread
  if not thread then return end
  if coroutine.status(thread) ~= "suspended" then return leave(waiter) end -- a script has closed it
  ended(thread, coroutine.resume(thread))
end

--- The waiters whose wait is over, in order: the next turn of the loop resumes them.
local woken = core.fifo()
local turn

--- After an error in one coroutine another turn resumes the others.
local function resume_all()
  local last = woken.count
  local waiter = woken:first()
  while waiter and waiter._number <= last do
    local thread = waiter.thread
    if thread and coroutine.status(thread) == "suspended" then
      ended(thread, core.resume(thread, woken.remove, false, woken, waiter))
    else
      woken:remove(waiter)
      leave(waiter)
    end
    waiter = woken:first()
  end
  if is_closed(turn) then return end
  if waiter then turn:start(0, 1, resume_all) else turn:stop() end
end

local function begin_turn()
  if is_closed(turn) then turn = assert(uv.new_timer()) end
  turn:start(0, 1, resume_all)
end

-- ---- watching the descriptor

--- Watches the descriptor again if other code has closed the handle.
local function listen(host)
  if host.stopped or not is_closed(host.handle) then return end
  host.handle = assert(uv.new_poll(host.fd))
  assert(host.handle:start("r", host.ready))
end

-- ---- the adapter

local function suspend(waiter)
  local left = waiter:left()
  sweep()
  waiter.thread = coroutine.running()
  quietly(waiting.add, waiting, waiter)
  if left then
    waiter.timer = take_timer()
    waiter.timer:start(math.ceil(math.min(left, LONGEST) * 1000), 0, function() go_on(waiter) end)
  end
  coroutine.yield()
  leave(waiter)
end

local function await(waiter)
  while not waiter.done and waiter:left() ~= 0 do suspend(waiter) end
end

--- After an error nothing here may resume the coroutine, which may then be suspended elsewhere.
function luv.wait(client, waiter)
  if not yields.is_yieldable() then return blocking.wait(client, waiter) end
  listen(client.host)
  local ok, err = yields.protected(await, waiter)
  if ok then return end
  leave(waiter)
  error(err, 0)
end

function luv.wake(waiter)
  if not waiter.thread then return end
  if not woken:first() or is_closed(turn) then begin_turn() end
  woken:append(waiter)
end

--- The descriptor stays open as long as the handle: the handle refers to `ready`, and `ready` to
--- the engine's client, which owns the descriptor.
function luv.watch(client, ready)
  local host = { fd = client:getfd(), ready = ready, handle = false, stopped = false }
  client.host = host
  listen(host)
  return function(hang_up)
    local handle = host.handle
    host.stopped = true
    if is_closed(handle) then return false end
    handle:stop()
    later(function()
      if not is_closed(handle) then handle:close() end -- libuv removes the descriptor again
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
