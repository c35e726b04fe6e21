-- SPDX-License-Identifier: MIT
--- The event loops that there are adapters for, in one way: each with
---   name       as `connect{ loop = name }` takes it
---   spawn(fn)  begins a coroutine of the loop; an error in it is for `run`, or is in `errors` (Copas catches them)
---   rest()     in such a coroutine: comes back in a later turn of the loop
---   run(fn)    turns the loop until fn() is true, for PATIENCE at most
---   idle(t)    turns it for so many seconds, and only when there is something to do
--- `of_cqueues` makes as many loops as one wants; of the others there is one in each Lua state.

local harness_loop = require "spec.support.loop"

local real_loops = {}

local PATIENCE = harness_loop.PATIENCE
local TURN = 0.02

-- Debian has Copas for 5.1 and 5.2 only; it runs under all.
package.path = package.path .. ";/usr/share/lua/5.1/?.lua"

local function until_true(condition, turn)
  local deadline = harness_loop.now() + PATIENCE
  while true do
    local value = condition()
    if value then return value end
    if harness_loop.now() > deadline then error("the loop did not come to its end", 0) end
    turn()
  end
end

function real_loops.of_cqueues()
  local cqueues = require "cqueues"
  local controller = cqueues.new()
  local self = { name = "cqueues", errors = {}, controller = controller }
  function self.spawn(fn) controller:wrap(fn) end
  function self.rest() cqueues.sleep(0.005) end
  function self.turn() assert(controller:step(TURN)) end
  function self.run(condition) return until_true(condition, self.turn) end
  function self.idle(seconds)
    local awake
    controller:wrap(function()
      cqueues.sleep(seconds)
      awake = true
    end)
    while not awake do assert(controller:step()) end
  end
  return self
end

function real_loops.of_luv()
  local uv = require "luv"
  local self = { name = "luv", errors = {} }
  local timers = {} -- used again: luv crashes when one is being closed at the end
  function self.spawn(fn) assert(coroutine.resume(coroutine.create(fn))) end
  function self.rest()
    local thread = coroutine.running()
    local timer = table.remove(timers) or uv.new_timer()
    timer:start(5, 0, function()
      timers[#timers + 1] = timer
      local ok, err = coroutine.resume(thread)
      if not ok then self.errors[#self.errors + 1] = err end
    end)
    coroutine.yield()
  end
  function self.run(condition)
    return assert(harness_loop.poll(condition, PATIENCE), "the loop did not come to its end")
  end
  function self.idle(seconds)
    local timer, awake = table.remove(timers) or uv.new_timer(), false
    uv.update_time() -- it stood still while the loop did, and the timer counts from it
    -- It repeats: uv.run("once") calls the timers that are due, and then waits for another event.
    timer:start(seconds * 1000, 1, function() awake = true end)
    while not awake do uv.run("once") end
    timer:stop()
    timers[#timers + 1] = timer
  end
  return self
end

--- Copas 1 has nothing that rests: each rests on a socket to which the next turn sends something.
function real_loops.of_copas()
  local copas = require "copas"
  local socket = require "socket"
  local self = { name = "copas", errors = {} }
  local resting, beds, turns = {}, {}, 0
  local function new_bed()
    local bed = { sleeper = socket.udp(), alarm = socket.udp() }
    assert(bed.sleeper:setsockname("127.0.0.1", 0))
    assert(bed.alarm:setpeername(bed.sleeper:getsockname()))
    bed.sleeper:settimeout(0)
    return bed
  end
  function self.spawn(fn)
    copas.addthread(function()
      copas.setErrorHandler(function(err) self.errors[#self.errors + 1] = err end)
      fn()
    end)
  end
  function self.rest()
    local bed = table.remove(beds)
    if not bed or bed.sleeper:getfd() < 0 then bed = new_bed() end -- Copas has closed that of who came to his end
    local since = turns
    resting[bed] = true
    assert(copas.receive(bed.sleeper, 1))
    assert(turns > since, "no turn of the loop was rested")
    beds[#beds + 1] = bed
  end
  function self.turn()
    turns = turns + 1
    for bed in pairs(resting) do bed.alarm:send("!") end
    resting = {}
    copas.step(TURN)
  end
  function self.run(condition) return until_true(condition, self.turn) end
  function self.idle(seconds)
    local deadline = harness_loop.now() + seconds
    while harness_loop.now() < deadline do copas.step(deadline - harness_loop.now()) end
  end
  return self
end

--- All of them.
function real_loops.all()
  return { real_loops.of_cqueues, real_loops.of_luv, real_loops.of_copas }
end

return real_loops
