-- SPDX-License-Identifier: MIT
-- An adapter for Prosody: util.async suspends a caller, and net.server watches the descriptor.
local async = require "util.async"
local blocking = require "zklock.loop.blocking"
local server = require "net.server"
local timer = require "util.timer"

local adapter = { name = "prosody" }

function adapter.wait(client, waiter)
  if not async.ready() then return blocking.wait(client, waiter) end
  local wait, done = async.waiter()
  local left = waiter:left()
  waiter.done_waiting = done
  waiter.timer = left and timer.add_task(left, function() adapter.wake(waiter) end)
  wait()
  if waiter.timer then timer.stop(waiter.timer) end
end

function adapter.wake(waiter)
  local done = waiter.done_waiting
  waiter.done_waiting = nil -- it may be called once
  if done then timer.add_task(0, function() done() end) end -- in a later turn of the loop
end

function adapter.watch(client, ready)
  local watch = server.watchfd(client:getfd(), function() ready() end)
  return function() watch:close() end
end

function adapter.spawn(_, fn)
  async.runner(function() fn() end):run(true)
  return true
end

return adapter
