-- SPDX-License-Identifier: MIT
--- fair = false: the place goes from one owner of the client to the next without traffic, and nobody looks meanwhile.

local collect = require "spec.support.collect"
local core = require "zklock.core"
local fixture = require "spec.support.fixture"
local places = require "spec.support.place"
local snapshot = require "zklock.metrics.snapshot"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local MAIN = require("zklock.owners.owner").main
local PATIENCE = wait.PATIENCE
local TIMEOUT, NOT_OWNER = { nil, "timeout" }, { nil, "not owner" }

describe("with fair = false a lock that one owner after the other takes", function()
  local here = fixture.new("/relay", { session_timeout = 600 }) -- heartbeats are far apart
  local place = places.new(here)
  local client, other, path

  setup(function()
    client, other = here:connect(), here:connect()
    place.client = client
  end)

  before_each(function() path = here.path end)

  --- A place whose hold has gone from one coroutine to another, and rests.
  local function passed(options)
    local lock = place:idle(options)
    place:settles(lock)
    for _ = 1, 3 do
      coroutine.wrap(function()
        assert(lock:acquire(PATIENCE))
        assert(lock:release())
      end)()
    end
    return lock
  end

  --- A coroutine that has acquired it. Resumed again, it calls what it is given.
  local function holder(lock)
    local thread = coroutine.create(function(token)
      assert(lock:acquire(PATIENCE))
      local act = coroutine.yield(token)
      while true do act = coroutine.yield(act()) end
    end)
    assert(coroutine.resume(thread))
    return thread, function(act) return select(2, assert(coroutine.resume(thread, act))) end
  end

  it("takes it over with a new turn and the same token, and counts", function()
    local lock = passed()
    local before, turns, token = client:stats(), 0, nil
    for i = 1, 100 do
      coroutine.wrap(function()
        local mine = assert(lock:acquire(PATIENCE))
        assert.equal(token or mine, mine)
        assert.is_true(lock:is_held())
        assert.equal(mine, lock:token())
        assert.is_true(lock:turn() > turns)
        token, turns = mine, lock:turn()
        if i % 2 == 0 then -- now and then nobody has asked
          assert(lock:release())
          assert.same(NOT_OWNER, { lock:release() })
        else
          assert(lock:release())
        end
      end)()
    end
    local after = client:stats()
    assert.equal(before.acquired + 100, after.acquired)
    assert.equal(before.released + 100, after.released)
    assert.equal(before.abandoned, after.abandoned)
    assert.is_true(after.requests_sent - before.requests_sent < 5)
  end)

  it("stays with the one that has taken it over when another one's hold that rests has to go", function()
    local lock = passed()
    local thread = coroutine.create(function()
      assert(lock:acquire(PATIENCE, (coroutine.running()))) -- by name: not the hold that goes from one to the next
      assert(lock:release())
      coroutine.yield()
    end)
    assert(coroutine.resume(thread))
    local token = assert(lock:acquire(PATIENCE))
    assert(coroutine.resume(thread)) -- its owner ends
    client:poll(0)
    assert.equal(token, lock:token())
    assert.same(TIMEOUT, { coroutine.wrap(function() return lock:acquire(0) end)() })
    assert.same(TIMEOUT, { other:mutex(path):acquire(0) })
    assert.is_true(lock:release())
  end)

  --- A signal raises an error behind the call of core, before the caller has the token.
  for title, act in pairs {
    ["a poll"] = function() client:poll(0) end,
    ["its release"] = function(lock) assert.same(NOT_OWNER, { lock:release() }) end,
    ["its next acquire"] = function(lock)
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
    end,
    ["another's acquire"] = function(lock)
      coroutine.wrap(function()
        assert(lock:acquire(PATIENCE))
        assert(lock:release())
      end)()
    end,
  } do
    it("is given back, if the call that took it over was interrupted, by " .. title, function()
      local lock = passed()
      local relay, before = lock.lock_path.handed.relay, client:stats()
      assert(core.take_over(relay.contender, nil, relay.whose, MAIN))
      act(lock)
      assert.is_false(lock:is_held())
      assert.same(NOT_OWNER, { lock:release() })
      assert(client:flush(PATIENCE))
      assert(other:mutex(path):acquire(PATIENCE))
      assert.is_true(other:mutex(path):release())
      assert.equal(before.abandoned, client:stats().abandoned)
      assert.equal(0, client:stats().held)
    end)
  end

  it("belongs to the one that took it last, and to none before", function()
    local lock = passed()
    local former, ask_former = holder(lock)
    assert.is_true(ask_former(function() return lock:release() end))
    local _, ask = holder(lock)
    assert.is_false(ask_former(function() return lock:is_held() end))
    assert.is_false(lock:is_held(former))
    assert.same(NOT_OWNER, { lock:release(former) })
    assert.same(NOT_OWNER, { lock:release() })
    assert.same(TIMEOUT, { lock:acquire(0, former) })
    assert.is_true(ask(function() return lock:is_held() end))
    assert.is_true(ask(function() return lock:release() end))
  end)

  it("is known by its owner's name, and counts its acquires", function()
    local lock = passed()
    local thread, ask = holder(lock)
    local token = ask(function() return lock:token() end)
    assert.equal(token, lock:token(thread))
    assert.equal(token, lock:acquire(0, thread))
    assert.equal(token, ask(function() return lock:acquire(0) end))
    for _ = 1, 3 do assert.is_true(lock:release(thread)) end
    assert.same(NOT_OWNER, { lock:release(thread) })
  end)

  it("goes to the main program, too", function()
    local lock = passed()
    assert(lock:acquire(PATIENCE))
    assert.is_true(lock:is_held())
    assert.is_false(coroutine.wrap(function() return lock:is_held() end)())
    assert.same(NOT_OWNER, coroutine.wrap(function() return { lock:release() } end)())
    assert(lock:release())
  end)

  for title, finds in pairs {
    ["to the next caller"] = function() end,
    ["at a poll"] = function()
      client:poll()
      assert.equal(0, client:stats().held)
    end,
  } do
    it("is given back when its owner has ended, " .. title, function()
      local lock, abandoned = passed(), client:stats().abandoned
      local kept = coroutine.create(function() assert(lock:acquire(PATIENCE)) end)
      assert(coroutine.resume(kept))
      finds()
      assert(lock:acquire(0, "next"))
      assert.equal(abandoned + 1, client:stats().abandoned)
      assert(lock:release("next"))
      assert.equal("dead", coroutine.status(kept))
    end)
  end

  it("is given back when its owner has ended, also to a request that tries once", function()
    local lock, abandoned = passed(), client:stats().abandoned
    coroutine.wrap(function() assert(lock:acquire(PATIENCE)) end)()
    local request, heard = here:ask(lock, 0)
    local answer = here:hear(heard)
    assert.is_number(answer[1], answer[2])
    assert.equal(abandoned + 1, client:stats().abandoned)
    assert.is_true(request:release())
  end)

  it("is given back when its owner is collected", function()
    local lock, abandoned = passed(), client:stats().abandoned
    for _ = 1, 3 do
      local thread = holder(lock)
      collect() -- a cycle that takes nothing
      assert.equal(1, client:stats().held)
      assert.equal("suspended", coroutine.status(thread))
      thread = nil -- luacheck: ignore 311
      wait.eventually(function() -- without a poll
        collect()
        return client:stats().held == 0
      end, PATIENCE, "the end of the hold")
      abandoned = abandoned + 1
      assert.equal(abandoned, client:stats().abandoned)
      lock = passed()
    end
  end)

  it("is not given back while its owner lives", function()
    local lock = passed()
    local _, ask = holder(lock)
    for _ = 1, 3 do
      collect()
      client:poll()
    end
    assert.same(TIMEOUT, { lock:acquire(0) })
    collect()
    client:poll()
    assert.is_true(ask(function() return lock:release() end))
  end)

  it("is lost to the owner that took it last, through its handle", function()
    local first, second, lost = passed(), place:shared(), {}
    first:on_lost(function() lost[#lost + 1] = "first" end)
    second:on_lost(function(err, owner, token) lost[#lost + 1] = { err, owner, token } end)
    local thread, ask = holder(second)
    local token = ask(function() return second:token() end)
    here.tree:delete((here:only_node()))
    here:eventually(function() return lost[1] end)
    assert.same({ { "lost", thread, token } }, lost)
    assert.equal("lost", ask(function() return select(2, first:release()) end))
    local larger = assert(first:acquire(PATIENCE))
    assert.is_true(larger > token)
    assert(first:release())
  end)

  it("tells each owner of a revocation", function()
    local lock, told = passed(), {}
    lock:on_revoke(function(owner) told[#told + 1] = owner end)
    for i = 1, 2 do
      local thread, ask = holder(lock)
      assert(other:mutex(path):revoke(PATIENCE))
      here:eventually(function() return told[i] end)
      assert.equal(thread, told[i])
      assert.is_true(ask(function() return lock:release() end))
      passed()
    end
  end)

  it("hears of a revocation from before there was a listener", function()
    local lock, told = passed(), false
    local thread, ask = holder(lock)
    local revoked = client:stats().revoked
    assert(other:mutex(path):revoke(PATIENCE))
    here:eventually(function() return client:stats().revoked > revoked end)
    client:poll()
    lock:on_revoke(function(owner) told = owner end)
    here:eventually(function() return told end)
    assert.equal(thread, told)
    assert.is_true(ask(function() return lock:release() end))
  end)

  it("counts under the name of the handle that took it", function()
    local lock, named = passed(), place:shared { name = "relay" }
    local function acquired()
      return snapshot.of(client).counters.zklock_acquisitions_total['lock="relay",result="acquired"'] or 0
    end
    for i = 1, 3 do
      assert(named:acquire(PATIENCE))
      assert(named:release())
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
      assert.equal(i, acquired())
    end
  end)

  --- How many holds the client has in Lua for the lock.
  local function holds_of(lock)
    local list, count = client.holds:list()
    local found = 0
    for i = 1, count do
      if list[i].lock_path == lock.lock_path then found = found + 1 end
    end
    return found
  end

  it("may be held by guards in between", function()
    local lock = passed()
    for _ = 1, 20 do
      assert(assert(lock:guard(PATIENCE)):release())
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
    end
    client:poll()
    assert.equal(1, holds_of(lock))
  end)

  it("is given back to the next caller after a guard, too, however many owners there are", function()
    local lock, owners = passed(), {}
    for i = 1, 100 do
      owners[i] = coroutine.create(function()
        assert(client:mutex(("%s-%d"):format(path, i)):acquire(PATIENCE))
        coroutine.yield()
      end)
      assert(coroutine.resume(owners[i]))
    end
    for _ = 1, 10 do
      assert(assert(lock:guard(PATIENCE)):release())
      coroutine.wrap(function() assert(lock:acquire(PATIENCE)) end)()
      assert(lock:acquire(0))
      assert(lock:release())
    end
    for i = 1, 100 do assert.equal("suspended", coroutine.status(owners[i])) end
  end)

  it("leaves one hold in Lua, whatever the names of its handles", function()
    local lock, named = passed(), place:shared { name = "relay" }
    local ended = {}
    for _ = 1, 20 do
      for _, handle in ipairs { lock, named } do
        local thread = coroutine.create(function()
          assert(handle:acquire(PATIENCE))
          assert(handle:release())
        end)
        assert(coroutine.resume(thread))
        if _VERSION == "Lua 5.2" then collect() else ended[#ended + 1] = thread end -- 5.2 may only notice the collector
        client:poll()
      end
    end
    for _, thread in ipairs(ended) do assert.equal("dead", coroutine.status(thread)) end
    here:eventually(function() -- a poll looks at some of the owners
      client:poll()
      return holds_of(lock) <= 2, holds_of(lock)
    end)
  end)

  it("guards the writes of its owner, and forbids it to wait for itself", function()
    local lock = passed()
    local _, ask = holder(lock)
    assert.equal(1, #assert(ask(function() return lock:multi({ { "check", "/relay" } }, PATIENCE) end)))
    assert.is_true(ask(function() return lock:release() end))
    lock = passed()
    _, ask = holder(lock)
    assert.equal("deadlock", ask(function()
      return select(2, client:multilock({ path, path .. "-more" }):acquire(0))
    end))
    assert.is_true(ask(function() return lock:release() end))
  end)

  it("leaves its client to the collector", function()
    local function nodes() return #here:nodes() end
    local dropped = setmetatable({}, { __mode = "k" })
    do
      local mine = assert(zklock.connect(here.zk.hosts, { session_timeout = 600 }))
      local lock = mine:mutex(path, place.options())
      for _ = 1, 3 do
        assert(lock:acquire(PATIENCE))
        assert(lock:release())
      end
      assert.equal(1, nodes())
      dropped[mine] = true
    end
    wait.eventually(function() -- without a poll
      collect()
      return nodes() == 0 and next(dropped) == nil
    end, PATIENCE, "the end of the session")
  end)

  --- Calls fn, and act() in its first allocation of a table with weak values: there a finalizer may run.
  local function with_finalizer(act, fn)
    local real = setmetatable
    finally(function() _G.setmetatable = real end)
    function _G.setmetatable(object, class)
      if class and rawget(class, "__mode") == "v" then
        _G.setmetatable = real
        act()
      end
      return real(object, class)
    end
    fn()
    assert.equal(real, setmetatable, "it has allocated none")
  end

  it("stays with the coroutine that takes it over in a finalizer while another one is about to", function()
    local lock = place:shared()
    assert(lock:acquire(PATIENCE))
    for _ = 1, 5 do assert(client:exists(path, PATIENCE)) end -- the client has heard that nobody waits there
    assert(lock:release())
    assert.is_false(lock.lock_path.handed.relay) -- it rests, and nobody has taken it over so far
    local abandoned, thread, ask = client:stats().abandoned, nil, nil
    with_finalizer(function() thread, ask = holder(lock) end, function()
      assert.same(TIMEOUT, coroutine.wrap(function() return { lock:acquire(0) } end)())
    end)
    assert.is_true(lock:is_held(thread))
    assert.is_true(ask(function() return lock:release() end))
    assert.equal(abandoned, client:stats().abandoned)
    assert(lock:acquire(0))
    assert(lock:release())
  end)

  it("is left alone if a finalizer asks for other options while a coroutine is about to take it over", function()
    local lock = place:shared()
    assert(lock:acquire(PATIENCE))
    for _ = 1, 5 do assert(client:exists(path, PATIENCE)) end -- the client has heard that nobody waits there
    assert(lock:release())
    local kept
    with_finalizer(function() place:shared { linger = 99 } end, function()
      kept = coroutine.create(function() return lock:acquire(PATIENCE) end)
      assert.is_number(select(2, coroutine.resume(kept))) -- it ends without a release
    end)
    assert(lock:acquire(0))
    assert(lock:release())
    assert.equal("dead", coroutine.status(kept))
  end)

  it("is nobody's if a finalizer releases it while the client looks who has it", function()
    local lock = passed()
    local thread, ask = holder(lock)
    other:mutex(path):request(PATIENCE, function() end)
    wait.eventually(function() return #here.tree:children(path) == 2 end, PATIENCE, "the other one's node")
    for _ = 1, 5 do assert(client:exists(path, PATIENCE)) end -- the client has heard of it: the hold cannot rest
    with_finalizer(function()
      assert.is_true(ask(function() return lock:release() end))
    end, function() assert.is_nil(lock:why(thread)) end)
    assert.is_nil(lock.lock_path:handed_to(thread))
    assert.same(TIMEOUT, { lock:acquire(0, thread) })
  end)

  it("is seen by those who ask for several paths, and for other options", function()
    local lock = passed()
    local _, ask = holder(lock)
    assert.same(TIMEOUT, { client:multilock({ path, path .. "-more" }):acquire(0) })
    assert.is_false(pcall(client.mutex, client, path, { fair = false, linger = 7 }))
    assert.is_true(ask(function() return lock:release() end))
    assert(client:multilock({ path, path .. "-more" }):acquire(PATIENCE))
    assert(client:multilock({ path, path .. "-more" }):release())
  end)
end)
