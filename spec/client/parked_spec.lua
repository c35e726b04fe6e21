-- SPDX-License-Identifier: MIT
--- Callbacks that wait in plain Lua: each is parked in the loop of the client that has begun it, whatever it waits for,
--- and nobody's deadline depends on it.

local core = require "zklock.core"
local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE
--- Plain Lua 5.1 cannot yield across pcall: there a callback that waits holds up the caller that polls.
local can_park = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

describe("a callback in plain Lua", function()
  local here = fixture.new("/parked")
  local a, b, path, errors, other

  local function note(message) errors[#errors + 1] = message end

  setup(function() other = here:second_process() end)

  before_each(function()
    path, errors = here.path, {}
    a, b = here:connect { on_error = note }, here:connect { on_error = note }
    for _, client in ipairs { a, b } do
      while client:poll() > 0 do end -- of the states so far
    end
  end)

  after_each(function() assert.same({}, errors) end)

  local function it_parks(title, fn)
    it(title, function()
      if not can_park then return pending("not in plain Lua 5.1") end
      fn()
    end)
  end

  local function polls_until(client, condition)
    return wait.eventually(function()
      client:poll(0.05)
      return condition()
    end, PATIENCE)
  end

  it_parks("that waits for another client's lock leaves the caller's deadline alone", function()
    assert(other:acquire(path, PATIENCE))
    assert(other:acquire(path .. "-2", PATIENCE))
    local got
    a:spawn(function() got = { b:mutex(path):acquire(PATIENCE) } end)
    assert.same({ nil, "timeout" }, { a:mutex(path .. "-2"):acquire(0.2) })
    assert.is_nil(got)
    assert(other:release(path))
    polls_until(a, function() return got end)
    assert.is_number(got[1])
    assert(other:release(path .. "-2"))
  end)

  it_parks("that sleeps goes on in time although the end of a release comes meanwhile", function()
    local lock, dispatcher, moment = a:mutex(path), a.dispatcher, nil
    assert(other:acquire(path .. "-2", PATIENCE))
    assert(lock:acquire(PATIENCE))
    a:spawn(function()
      moment = core.now() + 0.1
      a:sleep(0.1)
      other:release(path .. "-2")
    end)
    polls_until(a, function() return moment end)
    local prepare = dispatcher.prepare_sleep
    function dispatcher.prepare_sleep(...)
      dispatcher.prepare_sleep = nil
      assert(lock:release())
      wait.eventually(function() return a.native:peek() == "failed" and core.now() > moment end, PATIENCE, "the end")
      return prepare(...)
    end
    assert.is_number((a:mutex(path .. "-2"):acquire(PATIENCE)))
    assert.is_nil(rawget(dispatcher, "prepare_sleep"))
  end)

  it("that the last look at the owners queues runs although the end of a release comes meanwhile", function()
    local lock, held, holder = a:mutex(path), a:mutex(path .. "-held"), nil
    held:request(PATIENCE, function(_, _, request) holder = request end)
    polls_until(a, function() return holder end)
    repeat -- a release that is slow enough takes its own end
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
      local is_queued = wait.eventually(function()
        return a.native:peek() == "failed" and "yes" or not next(a.dispatcher.ending) and "no"
      end, PATIENCE, "the end") == "yes"
    until is_queued
    local reap = a.lifetimes.reap
    function a.lifetimes.reap(...) -- a finalizer
      a.lifetimes.reap = reap
      a:spawn(function() holder:release() end)
      return reap(...)
    end
    assert.is_number((held:acquire(PATIENCE)))
  end)

  it_parks("may wait for another client's lock that the main program holds", function()
    local lock, got = b:mutex(path), nil
    assert(lock:acquire(PATIENCE))
    a:spawn(function() got = lock:acquire(PATIENCE) end)
    assert.equal(1, a:poll(PATIENCE))
    assert.is_nil(got)
    assert(lock:release())
    polls_until(a, function() return got end)
  end)

  it_parks("hears a deadline at another client, and an answer from it, while the caller waits here", function()
    assert(other:acquire(path, PATIENCE))
    local heard = {}
    a:spawn(function() heard[1] = { b:mutex(path):acquire(0.05) } end)
    a:spawn(function() heard[2] = { b:exists("/", PATIENCE) } end)
    a:spawn(function() heard[3] = b:sleep(0.05) end)
    a:spawn(function()
      repeat a:sleep(0.01) until heard[1] and heard[2] and heard[3]
      other:release(path)
    end)
    assert.is_number(a:mutex(path):acquire(PATIENCE)) -- there is nothing to have until they have heard
    assert.same({ nil, "timeout" }, heard[1])
    assert.is_not_nil(heard[2] and heard[2][1])
    assert.is_true(heard[3])
  end)

  it_parks("goes on with another client, as that one's own do, if its wait ends as its client closes", function()
    local got, called = nil, 0
    a:spawn(function() got = { b:poll(PATIENCE) } end)
    a:poll()
    local tell_pollers = a.callbacks.tell_pollers
    function a.callbacks.tell_pollers(...) -- a finalizer that polls
      a.callbacks.tell_pollers = tell_pollers
      b:spawn(function() end)
      b:poll()
      return tell_pollers(...)
    end
    a:close()
    assert.is_nil(got)
    for _ = 1, 3 do b:spawn(function() called = called + 1 end) end
    a:poll()
    polls_until(b, function() return got and called == 3 end)
    assert.same({ 1 }, got)
  end)

  it_parks("of a client for which another one's callback waits, goes on as well", function()
    local c, order = here:connect(), {}
    assert(other:acquire(path, PATIENCE))
    a:spawn(function()
      b:spawn(function()
        assert(c:mutex(path):acquire(PATIENCE))
        table.insert(order, "behind b")
        assert(c:mutex(path):release())
        assert(b:mutex(path .. "-2"):release("somebody"))
      end)
      assert(b:mutex(path .. "-2"):acquire(PATIENCE))
      table.insert(order, "behind a")
    end)
    assert(b:mutex(path .. "-2"):acquire(PATIENCE, "somebody"))
    polls_until(a, function() return c:stats().waiting == 1 end)
    assert(other:release(path))
    polls_until(a, function() return #order == 2 end)
    assert.same({ "behind b", "behind a" }, order)
  end)

  it_parks("is parked when it waits in the name of an owner for whom another one waits", function()
    assert(other:acquire(path, PATIENCE))
    local lock, heard = a:mutex(path), {}
    for i, timeout in ipairs { PATIENCE, PATIENCE, 0.05 } do
      a:spawn(function() heard[i] = { lock:acquire(timeout, "one owner") } end)
    end
    polls_until(a, function() return heard[3] end)
    assert.same({ nil, "timeout" }, heard[3])
    assert.is_nil(heard[1] or heard[2])
    assert(other:release(path))
    polls_until(a, function() return heard[1] and heard[2] end)
    assert.equal(heard[1][1], heard[2][1])
    for _ = 1, 2 do assert(lock:release("one owner")) end
  end)

  it_parks("that polls does not make another caller's poll longer", function()
    local polls, is_over, ended = 0, false, 0
    for _ = 1, 5 do
      a:spawn(function()
        repeat
          a:poll(PATIENCE)
          polls = polls + 1
        until is_over
        ended = ended + 1
      end)
    end
    assert.equal(5, a:poll())
    while a:poll() + a:poll() > 0 do end -- now all of them poll anew
    local before = polls
    a:poll(0.1)
    assert.equal(before, polls) -- none of theirs is over
    is_over = true
    a:spawn(function() end)
    polls_until(a, function() return ended == 5 end)
  end)

  it_parks("that polls hears of the callbacks that run meanwhile, and of its deadline", function()
    local heard = {}
    a:spawn(function() heard[1] = a:poll(PATIENCE) end)
    a:spawn(function() heard[2] = b:poll(0.05) end)
    a:poll()
    polls_until(a, function() return heard[2] end)
    assert.equal(0, heard[2])
    a:spawn(function() end)
    polls_until(a, function() return heard[1] end)
    assert.equal(1, heard[1])
  end)

  for title, wait_in in pairs {
    ["poll()"] = function(client) client:poll() end,
    ["poll(t)"] = function(client) client:poll(0.01) end,
    ["sleep(0)"] = function(client) client:sleep(0) end,
  } do
    it("calls " .. title .. ": three hundred of them do not overflow the C stack", function()
      local ended = 0
      for _ = 1, 300 do
        a:spawn(function()
          wait_in(a)
          ended = ended + 1
        end)
      end
      polls_until(a, function() return ended == 300 end)
    end)
  end

  it("that polls where it cannot be suspended runs others inside of it, up to a bound", function()
    local inside, most, ended = 0, 0, 0
    for _ = 1, 300 do
      a:spawn(function()
        inside = inside + 1
        most = math.max(most, inside)
        table.sort({ 1, 2 }, function(x, y)
          a:poll()
          return x < y
        end)
        inside = inside - 1
        ended = ended + 1
      end)
    end
    polls_until(a, function() return ended == 300 end)
    assert.is_true(most > 1 and most <= 150, tostring(most))
  end)

  it_parks("whose client is closed goes on in the loop of the client for which it waits", function()
    local lock, got = b:mutex(path), nil
    assert(lock:acquire(PATIENCE))
    a:spawn(function() got = lock:acquire(PATIENCE) end)
    a:poll()
    assert.is_true(a:close())
    assert.is_nil(got)
    assert(lock:release())
    polls_until(b, function() return got end)
  end)

  it_parks("that has closed its own client goes on there, too, and does not hold up the caller", function()
    local lock, got = b:mutex(path), nil
    assert(lock:acquire(PATIENCE))
    a:spawn(function()
      a:close()
      got = { lock:acquire(PATIENCE) }
    end)
    a:poll()
    assert.is_nil(got)
    assert(lock:release())
    polls_until(b, function() return got end)
    assert.is_number(got[1])
  end)

  it_parks("that polls is woken once by a callback, and not by others that poll", function()
    local woken = { 0, 0 }
    for i = 1, 2 do
      a:spawn(function()
        repeat
          a:poll(PATIENCE)
          woken[i] = woken[i] + 1
        until woken[i] > 2
      end)
    end
    assert.equal(2, a:poll())
    while a:poll() + a:poll() > 0 do end
    woken = { 0, 0 }
    a:spawn(function() end)
    for _ = 1, 10 do a:poll() end
    assert.same({ 1, 1 }, woken)
  end)

  it_parks("may close another client, and its own", function()
    local closed = {}
    a:spawn(function()
      closed[1] = b:close()
      closed[2] = a:close()
    end)
    polls_until(a, function() return closed[2] end)
    assert.same({ true, true }, closed)
    assert.same({ "closed", "closed" }, { a:state(), b:state() })
  end)

  it_parks("may close its own client, which another one's callback has closed just before", function()
    local closed = {}
    a:spawn(function() closed.b = b:close() end)
    b:spawn(function() closed.a = a:close() end)
    a:poll()
    assert.same({ a = true, b = true }, closed)
  end)

  it_parks("makes the descriptor readable at its deadline, for a select of the program's own", function()
    local ended
    a:spawn(function() ended = a:sleep(0.05) end)
    a:poll()
    local socket = require "socket"
    wait.eventually(function()
      if socket.select({ a }, nil, PATIENCE)[1] then a:poll() end
      return ended
    end, PATIENCE)
  end)

  it_parks("counts for no other client if there is no memory to count it", function()
    local ok
    setmetatable(a.waits.abroad, { __newindex = function() error("not enough memory", 0) end })
    a:spawn(function() ok = pcall(b.sleep, b, 0) end)
    a:poll()
    assert.is_false(ok)
    assert.same({}, a.waits.parked)
    assert.equal(0, a.waits.away)
  end)

  it_parks("closed while it is parked leaves nothing behind", function()
    if not coroutine.close then return pending("this Lua cannot close coroutines") end
    local thread
    a:spawn(function()
      thread = coroutine.running()
      b:sleep(0.02)
    end)
    a:poll()
    assert.is_true(coroutine.close(thread))
    a:sleep(0.1)
    assert.same({}, a.waits.parked)
    assert.same({}, a.waits.abroad)
    assert.equal(0, a.waits.deadlines.count)
  end)
end)

-- Random callbacks of two clients, each of which waits for either of them in every way that there is.
describe("callbacks of two clients that wait for each other's", function()
  local here = fixture.new("/parked-random")
  local CALLBACKS, LOCKS = 60, 4

  local function act(clients, path, left)
    local client = clients[math.random(2)]
    local lock = client:mutex(path .. "/" .. math.random(LOCKS))
    local what = math.random(6)
    if what == 1 then
      client:sleep(math.random() * 0.01)
    elseif what == 2 then
      client:poll(math.random(2) == 1 and 0 or math.random() * 0.01)
    elseif what == 3 then
      assert(client:exists("/", PATIENCE) ~= nil)
    elseif what == 4 then
      client:spawn(function()
        client:sleep(0)
        left.spawned = left.spawned - 1
      end)
      left.spawned = left.spawned + 1
    elseif lock:acquire(math.random() * 0.05, what == 5 and "one owner" or nil) then
      if math.random(2) == 1 then clients[math.random(2)]:sleep(0.001) end
      lock:release(what == 5 and "one owner" or nil)
    end
  end

  it("all come to their end, and so does each poll of the main program", function()
    local seed = os.time()
    math.randomseed(seed)
    local errors = {}
    local function note(message) errors[#errors + 1] = message end
    local clients = { here:connect { on_error = note }, here:connect { on_error = note } }
    local left = { callbacks = CALLBACKS, spawned = 0 }
    for i = 1, CALLBACKS do
      clients[i % 2 + 1]:spawn(function()
        for _ = 1, 8 do act(clients, here.path, left) end
        left.callbacks = left.callbacks - 1
      end)
    end
    wait.eventually(function()
      for _, client in ipairs(clients) do client:poll(0.005) end
      assert(#errors == 0, errors[1])
      return left.callbacks == 0 and left.spawned == 0,
        ("%d, %d left, seed %d"):format(left.callbacks, left.spawned, seed)
    end, PATIENCE)
    for _, client in ipairs(clients) do
      assert.same({ 0, 0 }, { client:stats().waiting, client:stats().held })
      assert.is_nil(next(client.waits.parked))
      assert.is_nil(next(client.waits.abroad))
      assert.equal(0, client.waits.deadlines.count)
    end
  end)
end)
