-- SPDX-License-Identifier: MIT
--- The cost of an uncontended lock, counted: how many owners the client checks, and how much it allocates.

local fixture = require "spec.support.fixture"
local Waits = require "zklock.run.waits"
local owner = require "zklock.owners.owner"

local PATIENCE = require("spec.support.wait").PATIENCE
local CYCLES, WARM = 200, 100

--- Did it, or is the spec over, whose client is closed then?
local function worked(value, err)
  if not value and err ~= "closed" then error(err) end
  return value
end

describe("a lock that is taken again and again", function()
  local here = fixture.new("/cost")
  local is_dead = owner.is_dead
  local looked

  before_each(function()
    looked = 0
    owner.is_dead = function(...) -- luacheck: ignore 122
      looked = looked + 1
      return is_dead(...)
    end
  end)

  after_each(function()
    owner.is_dead = is_dead -- luacheck: ignore 122
    collectgarbage("restart")
  end)

  --- So many requests, each of which gives back what it gets and is made anew, until all together were granted as often
  --- as is asked for.
  local function requests(client, path, count)
    local cycles, until_cycles = 0, 0
    local function ask(lock)
      lock:request(PATIENCE, function(token, err, request)
        if not (worked(token, err) and worked(request:release())) then return end
        cycles = cycles + 1
        ask(lock)
      end)
    end
    for i = 1, count do ask(client:mutex(path .. "/" .. i)) end
    return function(more)
      until_cycles = until_cycles + more
      while cycles < until_cycles do client:poll(PATIENCE) end
    end
  end

  --- The same by coroutines, in luv.
  local function coroutines(client, path, count)
    local uv = require "luv"
    local cycles, until_cycles = 0, 0
    for i = 1, count do
      local lock = client:mutex(path .. "/" .. i)
      assert(coroutine.resume(coroutine.create(function()
        while true do
          if not (worked(lock:acquire(PATIENCE)) and worked(lock:release())) then return end
          cycles = cycles + 1
        end
      end)))
    end
    return function(more)
      until_cycles = until_cycles + more
      while cycles < until_cycles do uv.run("once") end
    end
  end

  it("checks no owner that goes on, however many there are #once", function()
    for _, run in ipairs { requests(here:connect {}, here.path, 64),
      coroutines(here:connect { loop = "luv" }, here.path .. "-luv", 64) } do
      run(10 * WARM)
      looked = 0
      run(CYCLES)
      assert.is_true(looked < CYCLES / 10, looked .. " looks")
    end
  end)

  local function count(set)
    local n = 0
    for _ in pairs(set) do n = n + 1 end
    return n
  end

  local function bytes_of(run)
    run(WARM)
    collectgarbage()
    collectgarbage("stop")
    local before = collectgarbage("count")
    run(CYCLES)
    local bytes = (collectgarbage("count") - before) * 1024 / CYCLES
    collectgarbage("restart")
    return bytes
  end

  it("costs a coroutine a few tables, because the client knows it from the last time #once", function()
    local bytes = bytes_of(coroutines(here:connect { loop = "luv" }, here.path, 1))
    assert.is_true(bytes < 1200, bytes .. " bytes")
  end)

  it("costs a program without a loop one table, and no turn of the dispatcher #once", function()
    local client, turns = here:connect {}, 0
    local lock, dispatcher = client:mutex(here.path), client.dispatcher
    local dispatch = dispatcher.dispatch
    function dispatcher.dispatch(...)
      turns = turns + 1
      return dispatch(...)
    end
    local bytes = bytes_of(function(cycles)
      for _ = 1, cycles do
        assert(lock:acquire(PATIENCE))
        assert(lock:release())
      end
    end)
    assert.is_true(bytes < 800, bytes .. " bytes")
    assert.equal(0, turns)
    assert.is_true(count(dispatcher.ending) < 4, "each acquire takes the end of the release before")
  end)

  it("costs a request less than a page, with the coroutine of its callback #once", function()
    local client = here:connect {}
    local bytes = bytes_of(requests(client, here.path, 1))
    assert.is_true(bytes < 6100, bytes .. " bytes")
    assert.is_true(count(client.dispatcher.ending) < 4, "each grant comes behind the end of the release before")
  end)
end)

describe("a waiter", function()
  after_each(function() collectgarbage("restart") end)

  --- The kilobytes that a waiter allocates for a field that an adapter adds.
  local function size_of_field(field)
    local waiter = Waits.new_waiter(1, 2)
    collectgarbage()
    collectgarbage("stop")
    local before = collectgarbage("count")
    waiter[field] = true
    return collectgarbage("count") - before
  end

  it("has room for what nginx or luv adds #once", function()
    assert.equal(0, size_of_field "semaphore")
    assert.equal(0, size_of_field "timer")
  end)
end)
