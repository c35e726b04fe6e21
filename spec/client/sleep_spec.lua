-- SPDX-License-Identifier: MIT
--- client:sleep(): waits, and lets others run meanwhile.

local Waits = require "zklock.run.waits"
local core = require "zklock.core"
local fixture = require "spec.support.fixture"
local interpreted = require "spec.support.interpreted"
local real_loops = require "spec.support.real_loops"
local select_loop = require "spec.support.select_loop"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local can_park = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

describe("client:sleep()", function()
  local here = fixture.new("/sleep")
  local client, path, errors

  before_each(function()
    path, errors = here.path, {}
    client = here:connect { on_error = function(message) errors[#errors + 1] = message end }
    while client:poll() > 0 do end -- of the states so far
  end)

  after_each(function() assert.same({}, errors) end)

  it("waits as long as it is told to", function()
    local began = wait.now()
    assert.same({ true }, { client:sleep(0.1) })
    assert.is_true(wait.now() - began >= 0.1)
  end)

  it("runs callbacks meanwhile, and is not ended by them", function()
    local ran, began = 0, wait.now()
    for _ = 1, 3 do client:spawn(function() ran = ran + 1 end) end
    client:mutex(path):request(PATIENCE, function() ran = ran + 1 end)
    wait.eventually(function() return client:stats().acquired == 1 end)
    assert.is_true(client:sleep(0.1))
    assert.equal(4, ran)
    assert.is_true(wait.now() - began >= 0.1)
  end)

  it("with 0 gives the others one turn", function()
    local ran = 0
    local function again()
      ran = ran + 1
      if ran < 3 then client:spawn(again) end
    end
    client:spawn(again)
    for turn = 1, 3 do
      assert.is_true(client:sleep(0))
      assert.equal(turn, ran)
    end
  end)

  it("with 0 in callbacks has them take turns", function()
    if not can_park then return pending("not in plain Lua 5.1") end
    local order, ended = {}, 0
    for name = 1, 2 do
      client:spawn(function()
        for _ = 1, 3 do
          order[#order + 1] = name
          assert(client:sleep(0))
        end
        ended = ended + 1
      end)
    end
    here:eventually(function() return ended == 2 end)
    assert.same({ 1, 2, 1, 2, 1, 2 }, order)
  end)

  it("in callbacks lets the others go on, and ends in the order of the deadlines", function()
    if not can_park then return pending("not in plain Lua 5.1") end
    local order = {}
    for _, tenths in ipairs { 3, 1, 2, 0 } do
      client:spawn(function()
        assert(client:sleep(tenths / 10))
        order[#order + 1] = tenths
      end)
    end
    local now, moment = core.now, core.now()
    core.now = function() return moment end -- all of them begin to sleep at once, also on a busy machine
    local ok, err = pcall(client.poll, client)
    core.now = now
    assert.is_true(ok, err)
    here:eventually(function() return #order == 4 end)
    assert.same({ 0, 1, 2, 3 }, order)
  end)

  it("in a coroutine that no loop resumes turns the client's loop", function()
    local ran, slept = false, nil
    client:spawn(function() ran = true end)
    coroutine.wrap(function() slept = client:sleep(0.05) end)()
    assert.is_true(slept)
    assert.is_true(ran)
  end)

  it("keeps a thousand callbacks asleep, and wakes each", function()
    if not can_park then return pending("not in plain Lua 5.1") end
    local woken = 0
    for _ = 1, 1000 do
      client:spawn(function()
        client:sleep(math.random() * 0.2)
        woken = woken + 1
      end)
    end
    here:eventually(function() return woken == 1000 end)
  end)

  it("for ever ends with the client, and so does any other", function()
    if not can_park then return pending("not in plain Lua 5.1") end
    local heard = {}
    for i, seconds in ipairs { math.huge, 1000 } do
      client:spawn(function() heard[i] = { client:sleep(seconds) } end)
    end
    client:poll()
    client:spawn(function()
      client:sleep(0.05)
      client:close()
    end)
    assert.same({ nil, "closed" }, { client:sleep(math.huge) })
    wait.eventually(function()
      client:poll()
      return heard[1] and heard[2]
    end, PATIENCE)
    assert.same({ { nil, "closed" }, { nil, "closed" } }, heard)
  end)

  it("answers what the client is, when it is closed", function()
    client:close()
    assert.same({ nil, "closed" }, { client:sleep(1000) })
    assert.same({ nil, "closed" }, { client:sleep(0) })
  end)

  it("refuses what are no seconds, by the argument's name", function()
    for _, bad in ipairs { -1, -math.huge, 0 / 0, "1", {}, true } do
      local ok, message = pcall(client.sleep, client, bad)
      assert.is_false(ok)
      assert.matches("bad argument 'seconds': seconds >= 0 expected, got ", message)
    end
    assert.matches("bad argument 'seconds': .* got nil", select(2, pcall(client.sleep, client)))
    assert.matches("^spec/client/sleep_spec.lua:%d+:", select(2, pcall(function() client:sleep(-1) end)))
    assert.matches("client:sleep", select(2, pcall(client.sleep)))
  end)

  it("into which a hook raises leaves nothing behind", function()
    local compile = interpreted()
    local n, through = 0, false
    local function sleep_with_hook()
      local left = n
      debug.sethook(function()
        left = left - 1
        if left > 0 then return end
        debug.sethook()
        error("the hook", 0)
      end, "", 1)
      through = client:sleep(0.002)
      debug.sethook()
    end
    while not through do
      n = n + 1
      local ok, err = pcall(sleep_with_hook)
      assert(ok or err == "the hook", err)
      assert.equal(0, client.waits.deadlines.count)
      assert.is_nil(next(client.waits.parked))
    end
    compile()
    assert.is_true(n > 20)
    assert.is_true(client:sleep(0.01))
  end)

  for _, make in ipairs(real_loops.all()) do
    local loop = make()

    it("suspends the coroutine in " .. loop.name .. ", and others go on", function()
      local mine, order, slept, ended = nil, {}, nil, 0
      loop.errors = {}
      loop.spawn(function()
        mine = assert(zklock.connect(here.zk.hosts, { loop = loop.name }))
        for place = 3, 1, -1 do -- each of them sleeps until the later ones have slept
          loop.spawn(function()
            repeat assert(mine:sleep(0.01)) until #order == place - 1
            order[#order + 1] = place
          end)
        end
        loop.spawn(function()
          local began = wait.now()
          assert(mine:sleep(0.1))
          slept = wait.now() - began
        end)
        mine:spawn(function()
          assert(mine:sleep(0.05))
          ended = ended + 1
        end)
      end)
      loop.run(function() return #order == 3 and slept and ended == 1 or loop.errors[1] end)
      assert.same({}, loop.errors)
      assert.same({ 1, 2, 3 }, order)
      assert.is_true(slept >= 0.09, slept) -- a loop counts whole milliseconds, from the beginning of a turn
      local heard
      loop.spawn(function() heard = { mine:sleep(math.huge) } end)
      loop.spawn(function() mine:close() end)
      loop.run(function() return heard or loop.errors[1] end)
      assert.same({ nil, "closed" }, heard)
      assert.same({ nil, "closed" }, { mine:sleep(1) })
    end)

    it("outside of the coroutines of " .. loop.name .. " waits as without a loop", function()
      local mine = here:connect { loop = loop.name }
      assert.is_true(mine:sleep(0.02))
      assert.is_true(mine:sleep(0))
      loop.spawn(function() mine:close() end)
      loop.run(function() return mine:state() == "closed" end)
    end)
  end

  it("of an adapter of one's own, is a wait of that; with 0 it gives a turn, too", function()
    for _, watches in ipairs { true, false } do
      local loop = select_loop.new()
      if not watches then loop.adapter.watch, loop.adapter.spawn = nil, nil end
      local mine, order = here:connect { loop = loop.adapter }, {}
      local went_on = false
      loop.spawn(function()
        repeat assert(mine:sleep(0.01)) until went_on
        order[#order + 1] = "first"
      end)
      loop.spawn(function()
        assert(mine:sleep(0))
        order[#order + 1] = "second"
        went_on = true
      end)
      loop.spawn(function() order[#order + 1] = "others" end)
      loop.run(function() return #order == 3 end)
      assert.same({ "others", "second", "first" }, order)
      assert.same({}, loop.errors)
    end
  end)

  it("answers what an adapter says that cannot wait", function()
    local loop, can = select_loop.new(), true
    function loop.adapter.can_wait()
      if can then return true end
      return nil, "cannot wait in phase dinner"
    end
    local mine = here:connect { loop = loop.adapter }
    can = false
    assert.same({ nil, "cannot wait in phase dinner" }, { mine:sleep(1) })
    assert.same({ nil, "cannot wait in phase dinner" }, { mine:sleep(0) })
    can = true
  end)

  --- Calls `act()` in the last check of the owners before a sleep, where a finalizer may run.
  local function before_sleep(act)
    local lifetimes = client.lifetimes
    local reap = lifetimes.reap
    function lifetimes.reap(self, most)
      if most == math.huge then
        lifetimes.reap = nil
        act()
      end
      return reap(self, most)
    end
    return function() return rawget(lifetimes, "reap") == nil end
  end

  it("does not begin once a finalizer has ended the wait", function()
    local waiter = Waits.new_waiter(core.now() + PATIENCE)
    local has_come = before_sleep(function() client.waits:wake(waiter) end)
    client.waits:wait_alone(waiter)
    assert.is_true(has_come() and waiter:left() > 0)
  end)

  it("in poll does not begin once a finalizer has run a callback", function()
    local ran, late = 0, false
    client.waits:ring_at(core.now() + PATIENCE, Waits.new_alarm(function() late = true end))
    local has_come = before_sleep(function()
      client:spawn(function() ran = ran + 1 end)
      client:poll()
    end)
    assert.equal(1, client:poll(math.huge))
    assert.equal(1, ran)
    assert.is_true(has_come() and not late)
  end)

  it("of many callers ends in one pass over them", function()
    local set, all, begun, searched = Waits.new_set(), {}, 0, next
    for i = 1, 1000 do
      all[i] = Waits.new_waiter() -- the set is weak
      set[all[i]] = true
    end
    rawset(_G, "next", function(table, ...)
      if rawequal(table, set) and select("#", ...) == 0 then begun = begun + 1 end
      return searched(table, ...)
    end)
    local ok, err = pcall(Waits.wake_all, { wake = function(_, waiter) waiter.done = true end }, set)
    rawset(_G, "next", searched)
    assert.is_true(ok, err)
    for _, waiter in ipairs(all) do assert.is_true(waiter.done) end
    assert.same({ 2, nil }, { begun, next(set) })
  end)
end)
