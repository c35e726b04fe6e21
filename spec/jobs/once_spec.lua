-- SPDX-License-Identifier: MIT
--- client:once(): a function that runs once in some seconds, whichever client calls it.

local fixture = require "spec.support.fixture"
local jobs = require "spec.support.jobs"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local HOUR = 3600
local can_park = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

local function pack(...) return { n = select("#", ...), ... } end

describe("client:once()", function()
  local here = fixture.new("/once", { super = true })
  local work = jobs.new(here)
  local client, path

  before_each(function() client, path = work.client, here.path end)

  local function nothing() end

  it("calls fn with the token and a hold, and returns true and its results", function()
    local token, hold
    local got = pack(client:once(path, HOUR, function(...)
      token, hold = ...
      assert.equal(2, select("#", ...))
      return 1, nil, "three", nil
    end))
    assert.same({ true, 1, nil, "three", nil, n = 5 }, got)
    assert.equal(("%d"):format(token), (here.tree:get(work:mark())))
    assert.is_true(tostring(hold):find("zklock.Held", 1, true) == 1)
    work:is_free()
  end)

  it("returns false and the seconds that are left when anybody did it less than so long ago", function()
    assert.is_true(client:once(path, HOUR, nothing))
    for _, one in ipairs { client, here:connect() } do
      local done, left = one:once(path, HOUR, function() error("not due") end)
      assert.is_false(done)
      assert.is_true(left > HOUR - PATIENCE and left <= HOUR, tostring(left))
    end
    local done, left = client:once(path, 2 * HOUR, nothing)
    assert.is_true(done == false and left > HOUR and left <= 2 * HOUR)
    work:is_free()
  end)

  it("with math.huge is for ever", function()
    assert.is_true(client:once(path, math.huge, nothing))
    assert.same({ false, math.huge }, { client:once(path, math.huge, nothing) })
    assert.is_true(client:once(path, 1e-9, nothing))
  end)

  it("is due again when the seconds have passed", function()
    assert.is_true(client:once(path, 0.3, nothing))
    here:eventually(function() return client:once(path, 0.3, nothing) end)
  end)

  it("writes the mark before fn by default, and leaves it if fn raises", function()
    local seen
    local ok, err = pcall(client.once, client, path, HOUR, function(token)
      seen = here.tree:get(work:mark()) == ("%d"):format(token)
      error("boom")
    end)
    assert.is_true(seen)
    assert.is_false(ok)
    assert.truthy(err:find("boom", 1, true), err)
    assert.is_false((client:once(path, HOUR, nothing)))
    work:is_free()
  end)

  it("with 'after' writes the mark after fn, and none if fn raises", function()
    local object = {}
    local ok, err = pcall(client.once, client, path, HOUR, function() error(object) end, { mark = "after" })
    assert.is_false(ok)
    assert.equal(object, err)
    assert.falsy(here.tree:exists(work:mark()))
    local seen
    assert.same({ true, 7 }, { client:once(path, HOUR, function()
      seen = here.tree:exists(work:mark())
      return 7
    end, { mark = "after" }) })
    assert.is_nil(seen)
    assert.truthy(here.tree:exists(work:mark()))
    assert.is_false((client:once(path, HOUR, nothing, { mark = "after" })))
    work:is_free()
  end)

  it("runs fn once when many ask at the same time", function()
    local ran, answers, others = 0, {}, {}
    for i = 1, 4 do others[i] = here:second_process() end
    for _, one in ipairs(others) do
      one:begin("eval", [[
        return worker.client:once(..., 3600, function() return "ran" end)
      ]], path)
    end
    for _, one in ipairs(others) do
      local done, result = one:finish(PATIENCE)
      answers[#answers + 1] = tostring(done)
      if done then
        ran = ran + 1
        assert.equal("ran", result)
      end
    end
    assert.equal(1, ran, table.concat(answers, " "))
  end)

  it("has a scratch child for the servers' time, and leaves only the mark", function()
    client:once(path, HOUR, nothing)
    work:is_free()
    assert.same({ "once-2147483647" }, here.tree:children(path))
  end)

  it("keeps its path from being reaped: the mark is persistent", function()
    client:once(path, HOUR, nothing)
    local stat = here.tree:exists(work:mark())
    assert.is_true(stat.owner == nil or stat.owner == 0 or stat.owner == "0x0" or stat.ephemeralOwner == 0,
      "the mark is not persistent")
    client:close()
    assert.truthy(here.tree:exists(work:mark()))
  end)

  describe("hold", function()
    it("answers as a held request does, and no longer once fn has returned", function()
      local kept
      assert.is_true(client:once(path, HOUR, function(token, hold)
        kept = hold
        assert.is_true(hold:is_held())
        assert.is_true(hold:validity() > 0)
        assert.equal(token, hold:token())
        assert.equal(0, hold:turn())
        assert.equal(1, #hold:nodes())
        assert.truthy(here.tree:exists(hold:nodes()[1]))
        local results = assert(hold:multi({ { "create", path .. "-made", "x" } }, PATIENCE))
        assert.equal(path .. "-made", results[1])
        assert.is_nil(hold.release)
        assert.is_nil(hold.cancel)
      end))
      assert.equal("x", (here.tree:get(path .. "-made")))
      assert.is_false(kept:is_held())
      assert.equal(0, kept:validity())
      assert.is_nil(kept:token())
      assert.is_nil(kept:turn())
      assert.is_nil(kept:nodes())
      assert.same({ nil, "not owner" }, { kept:multi({ { "delete", path .. "-made" } }, PATIENCE) })
      assert.same({ false, "stopped" }, { kept:sleep(0) })
      here.tree:delete(path .. "-made")
    end)

    it("answers so also once fn has raised, when the owner goes on holding the lock", function()
      local kept
      client:mutex(path):with(PATIENCE, function()
        local ok, err = pcall(client.once, client, path, HOUR, function(_, hold)
          kept = hold
          error "boom"
        end)
        assert.is_false(ok)
        assert.truthy(err:find("once_spec.lua", err:find("stack traceback:", 1, true), true), err)
        assert.is_true(client:mutex(path):is_held())
        assert.is_false(kept:is_held())
        assert.is_nil(kept:token())
        assert.same({ nil, "not owner" }, { kept:multi({ { "create", path .. "-no", "" } }, PATIENCE) })
        assert.same({ false, "stopped" }, { kept:sleep(HOUR) })
      end)
      assert.falsy(here.tree:exists(path .. "-no"))
    end)

    it("wakes coroutines that fn has left behind", function()
      if not can_park then return end
      local woken = {}
      local function leave(hold, as)
        client:spawn(function() woken[as] = pack(hold:sleep(HOUR)) end)
        assert(client:sleep(0.05))
      end
      assert.is_true(client:once(path, HOUR, function(_, hold) leave(hold, "returned") end))
      pcall(client.once, client, path .. "-2", HOUR, function(_, hold)
        leave(hold, "raised")
        error "boom"
      end)
      here:hear(woken, "returned")
      here:hear(woken, "raised")
      local stopped = { false, "stopped", n = 2 }
      assert.same({ returned = stopped, raised = stopped }, woken)
    end)

    it("of an outer call sleeps on when an inner one at the same path ends", function()
      if not can_park then return end
      local slept, began
      assert.is_true(client:once(path, HOUR, function(_, hold)
        began = wait.now()
        client:spawn(function()
          assert.is_true(hold:sleep(0.5))
          slept = wait.now() - began
        end)
        assert(client:sleep(0.05))
        assert.is_true(client:once(path, 1e-9, nothing, { mark = "after" }))
        here:eventually(function() return slept end)
      end))
      assert.is_true(slept >= 0.5, slept)
    end)

    it("sleeps while others run", function()
      local ran = 0
      client:spawn(function() ran = ran + 1 end)
      local began = wait.now()
      assert.is_true(client:once(path, HOUR, function(_, hold)
        assert.is_true(hold:sleep(0.1))
        assert.is_true(hold:sleep(0))
      end))
      assert.is_true(wait.now() - began >= 0.1)
      assert.equal(1, ran)
    end)

    it("wakes when its node is deleted, and then never sleeps again", function()
      local turns = 0
      local function count()
        turns = turns + 1
        if turns < 1000 then client:spawn(count) end
      end
      assert.is_true(client:once(path, HOUR, function(_, hold)
        here.tree:delete(hold:nodes()[1])
        assert.same({ false, "lost" }, { hold:sleep(HOUR) })
        client:spawn(count)
        for turn = 1, 5 do
          assert.same({ false, "lost" }, { hold:sleep(HOUR) })
          assert.is_true(turns >= turn, "no turn for the others")
        end
        assert.is_false(hold:is_held())
        assert.is_nil(hold:token())
        assert.same({ nil, "lost" }, { hold:multi({ { "create", path .. "-no", "" } }, PATIENCE) })
        turns = 1000
      end))
      assert.falsy(here.tree:exists(path .. "-no"))
    end)

    it("wakes when somebody revokes the lock", function()
      local other = here:connect()
      assert.is_true(client:once(path, HOUR, function(_, hold)
        assert.is_true(other:mutex(path):revoke(PATIENCE))
        assert.same({ false, "revoked" }, { hold:sleep(HOUR) })
        assert.is_true(hold:is_held())
        assert.same({ false, "revoked" }, { hold:sleep(0) })
        here.tree:delete(hold:nodes()[1])
        here:eventually(function() return not hold:is_held() end)
        assert.same({ false, "revoked" }, { hold:sleep(0) })
      end))
    end)

    it("wakes when a callback closes the client", function()
      local got = pack(client:once(path, HOUR, function(_, hold)
        client:spawn(function() client:close() end)
        local slept = pack(hold:sleep(HOUR))
        assert.same({ false, "stopped", n = 2 }, pack(hold:sleep(HOUR)))
        assert.is_false(hold:is_held())
        return slept[1], slept[2]
      end))
      assert.same({ true, false, "stopped", n = 3 }, got)
    end)

    it("does not sleep through the loss of its session #once", function()
      local faulty = here:proxy()
      local cut = here:connect_to(faulty.hosts, { session_timeout = 2, connect_timeout = PATIENCE })
      assert.is_true(cut:once(path, HOUR, function(_, hold)
        faulty:black_hole()
        wait.eventually(function() return not hold:is_held() end, PATIENCE)
        assert.is_true(hold:sleep(0)) -- nobody knows yet
        faulty:refuse()
        faulty:cut()
        wait.eventually(function() return #here:nodes() == 1 end, PATIENCE) -- the mark
        faulty:heal()
        assert.same({ false, "lost" }, { hold:sleep(HOUR) })
      end))
    end)
  end)

  it("counts 'before' also when the lock is lost while fn runs, or is released without certainty #once", function()
    assert.same({ true, "result" }, { client:once(path, HOUR, function(_, hold)
      here.tree:delete(hold:nodes()[1])
      here:eventually(function() return not hold:is_held() end)
      return "result"
    end) })
    assert.is_false((client:once(path, HOUR, nothing)))
    local faulty = here:proxy()
    local cut = here:connect_to(faulty.hosts, { session_timeout = 2, connect_timeout = PATIENCE })
    assert.same({ true, "result" }, { cut:once(path, 1e-9, function(_, hold)
      faulty:black_hole()
      wait.eventually(function() return hold:validity() == 0 end, PATIENCE)
      return "result"
    end) })
  end)

  it("with 'after' answers 'lost' and fn's results when the lock is lost before the mark", function()
    local got = pack(client:once(path, HOUR, function(_, hold)
      here.tree:delete(hold:nodes()[1])
      here:eventually(function() return not hold:is_held() end)
      return "result", nil
    end, { mark = "after" }))
    assert.same({ nil, "lost", "result", nil, n = 4 }, got)
    assert.falsy(here.tree:exists(work:mark()))
  end)

  it("with 'after' answers 'closed' and fn's results when fn closes the client", function()
    assert.same({ nil, "closed", "result" }, { client:once(path, HOUR, function()
      client:close()
      return "result"
    end, { mark = "after" }) })
    assert.falsy(here.tree:exists(work:mark()))
  end)

  describe("when the link breaks while the mark is written #once", function()
    it("goes on, whether the servers have written it or not", function()
      for _, when in ipairs { "before", "after" } do
        for _, verb in ipairs { "lose_reply", "cut_before" } do
          for n = 1, 2 do -- the first transaction asks for the time
            local faulty = here:proxy()
            local cut, ran = here:connect_to(faulty.hosts, { connect_timeout = PATIENCE }), 0
            faulty[verb](faulty, "multi", n)
            assert.is_true((cut:once(path, HOUR, function() ran = ran + 1 end, { mark = when })))
            assert.equal(1, ran)
            assert(cut:flush(PATIENCE))
            assert.same({ "once-2147483647" }, here.tree:children(path))
            here.tree:delete(work:mark())
          end
        end
      end
    end)

    --- With a timeout in which the servers have answered all that comes before.
    local function forsaken(when)
      for attempt, timeout in ipairs { 1, 5, 25 } do
        local faulty = here:proxy()
        local cut = here:connect_to(faulty.hosts, { session_timeout = 600, connect_timeout = PATIENCE })
        local ran = 0
        faulty:hold_reply("multi", 2)
        local got = pack(cut:once(path .. "/" .. attempt, HOUR, function()
          ran = ran + 1
          return "result"
        end, { mark = when, timeout = timeout }))
        local is_forsaken = faulty:is_holding()
        faulty:refuse()
        if is_forsaken then return ran, got end
      end
      error("the servers answer too slowly")
    end

    it("answers 'unknown' without fn when nobody can say whether the mark is there", function()
      local ran, got = forsaken "before"
      assert.equal(0, ran)
      assert.same({ nil, "unknown" }, { got[1], got[2] })
    end)

    it("answers 'unknown' and fn's results with 'after'", function()
      local ran, got = forsaken "after"
      assert.equal(1, ran)
      assert.same({ nil, "unknown", "result", n = 3 }, got)
    end)
  end)

  it("leaves the mark as it is when it is not due", function()
    assert(client:once(path, HOUR, nothing))
    local before = here.tree:exists(work:mark())
    assert.is_false((client:once(path, HOUR, nothing)))
    assert.same(before, here.tree:exists(work:mark()))
  end)

  it("does not take data that is no token for a mark, and writes nothing", function()
    assert(here.tree:create(work:mark(), "yesterday", { parents = true }))
    assert.same({ nil, "wrong kind" }, { client:once(path, HOUR, nothing) })
    assert.same({ nil, "wrong kind" }, { client:once(path, 1e-9, nothing, { mark = "after" }) })
    assert.equal("yesterday", (here.tree:get(work:mark())))
    work:is_free()
  end)

  it("does not take the path of a semaphore or of a read-write lock", function()
    for _, child in ipairs { "locks", "leases" } do
      assert(here.tree:create(path .. "/" .. child, "", { parents = true }))
      assert.same({ nil, "wrong kind" }, { client:once(path, HOUR, nothing) })
      here.tree:delete(path .. "/" .. child)
    end
    assert.falsy(here.tree:exists(work:mark()))
    local other = here:connect()
    assert(other:rwlock(path).write:acquire(PATIENCE))
    assert.same({ nil, "wrong kind" }, { client:once(path, HOUR, nothing, { timeout = 0 }) })
  end)

  it("gives the mark the client's ACL, and is denied that of another identity", function()
    local one = here:connect { auth = { scheme = "digest", credential = "one:x" } }
    assert.is_true(one:once(path, HOUR, nothing))
    assert.equal("digest", here.tree:get_acl(work:mark())[1].scheme)
    local at = path .. "-open"
    assert.is_true(client:once(at, HOUR, nothing))
    here.tree:set_acl(at .. "/once-2147483647", { { perms = 1, scheme = "world", id = "anyone" } })
    assert.is_false((client:once(at, HOUR, nothing))) -- it may read
    assert.same({ nil, "access denied" }, { client:once(at, 1e-9, nothing) })
    assert.same({ nil, "access denied", "result" },
      { client:once(at, 1e-9, function() return "result" end, { mark = "after" }) })
    here.tree:set_acl(at .. "/once-2147483647", { { perms = 31, scheme = "digest", id = "one:x" } })
    assert.same({ nil, "access denied" }, { client:once(at, HOUR, nothing) })
    client:close()
    here.tree:delete_tree(at)
  end)

  it("waits for the holder, and its timeout bounds the wait", function()
    local other = here:connect()
    assert(other:mutex(path):acquire(PATIENCE))
    local function once(timeout) return pack(client:once(path, HOUR, nothing, { timeout = timeout })) end
    assert.same({ nil, "timeout" }, { once(0)[1], once(0)[2] })
    assert.same({ nil, "timeout" }, { once(0.1)[1], once(0.1)[2] })
    assert.is_true(other:mutex(path):release())
    assert.is_true(once(PATIENCE)[1])
  end)

  it("does not count the time of fn into its timeout", function()
    wait.eventually(function()
      local ran, err = client:once(path, 1e-9, function(_, hold) assert.is_true(hold:sleep(0.4)) end,
        { mark = "after", timeout = 0.3 })
      -- before fn and after it, a slow server may use it up
      assert.is_true(ran ~= nil or err == "timeout" or err == "unknown", err)
      return ran
    end)
    assert.is_true(client:once(path, 1e-9, nothing, { mark = "after", timeout = 0 }))
  end)

  it("in itself is its own owner's: the inner one sees the mark of the outer one", function()
    local inner
    assert.is_true(client:once(path, HOUR, function(_, hold)
      inner = pack(client:once(path, HOUR, nothing, { timeout = PATIENCE }))
      assert.is_true(hold:is_held())
    end))
    assert.is_false(inner[1])
    local order = {}
    assert.is_true(client:once(path, 1e-9, function()
      assert.is_true(client:once(path, 1e-9, function() order[#order + 1] = "inner" end, { mark = "after" }))
      order[#order + 1] = "outer"
    end, { mark = "after" }))
    assert.same({ "inner", "outer" }, order)
    work:is_free()
  end)

  it("is a mutex: it excludes other callers, with the options of its other handles", function()
    local lock = client:mutex(path, { max_hold = HOUR })
    assert(lock:acquire(PATIENCE, "other"))
    assert.same({ nil, "timeout" }, { client:once(path, HOUR, nothing, { timeout = 0 }) })
    lock:release("other")
    assert.is_true(client:once(path, HOUR, function()
      assert.same({ nil, "timeout" }, { lock:acquire(0, "other") })
    end))
    local place = client:mutex(path .. "-place", { fair = false })
    assert(place:acquire(PATIENCE))
    place:release()
    assert.is_true(client:once(path .. "-place", HOUR, function(_, hold) assert.is_true(hold:turn() >= 1) end))
    assert.is_false((client:once(path .. "-place", HOUR, nothing)))
    client:close()
    here.tree:delete_tree(path .. "-place")
  end)

  it("works in callbacks and in coroutines", function()
    local got = {}
    client:spawn(function()
      got[1] = pack(client:once(path .. "/1", HOUR, function(_, hold) return hold:sleep(0) end))
    end)
    here:hear(got)
    assert.same({ { true, true, n = 2 } }, got)
    local thread = coroutine.create(function() return client:once(path .. "/2", HOUR, nothing) end)
    assert.same({ true, true }, { coroutine.resume(thread) })
  end)

  it("lets a callback close the client under a callback that sleeps in it", function()
    if not can_park then return pending("not in plain Lua 5.1") end
    local got, sleeps = {}, false
    client:spawn(function()
      got[1] = pack(client:once(path, HOUR, function(_, hold)
        sleeps = true
        return hold:sleep(HOUR)
      end))
    end)
    here:eventually(function() return sleeps end)
    client:spawn(function() client:close() end)
    here:eventually(function() return got[1] end)
    assert.same({ true, false, "stopped", n = 3 }, got[1])
  end)

  it("answers 'closed' and 'disconnected' as an acquire does", function()
    local alone = assert(zklock.connect("127.0.0.1:1", { connect_timeout = 0 }))
    here:closes(alone)
    local ok, err, why = alone:once(path, HOUR, nothing, { timeout = 0 })
    assert.same({ nil, "disconnected" }, { ok, err })
    assert.is_true(why == nil or why:find("127.0.0.1:1", 1, true) ~= nil)
    client:close()
    assert.same({ nil, "closed" }, { client:once(path, HOUR, nothing) })
  end)

  it("raises errors that name a bad argument", function()
    local function call(...) client:once(...) end
    local ok, err = pcall(call, path, 0, nothing)
    assert.is_false(ok)
    assert.matches("^spec/jobs/once_spec.lua:%d+: bad argument 'seconds': seconds > 0 expected, got 0$", err)
    for _, bad in ipairs { { "x", HOUR, nothing, "'path'" }, { path, -1, nothing, "'seconds'" },
      { path, 0 / 0, nothing, "'seconds'" }, { path, "1", nothing, "'seconds'" }, { path, HOUR, {}, "'fn'" } } do
      ok, err = pcall(call, bad[1], bad[2], bad[3])
      assert.is_false(ok)
      assert.truthy(err:find("bad argument " .. bad[4], 1, true), err)
    end
    for _, bad in ipairs { { { mark = "never" }, "'options.mark': 'after' or 'before' expected, got 'never'" },
      { { timeout = -1 }, "'options.timeout': seconds >= 0 expected, got -1" },
      { { pause = 1 }, "'options': unknown option 'pause'" }, { 5, "'options': table or nil expected" } } do
      ok, err = pcall(call, path, HOUR, nothing, bad[1])
      assert.is_false(ok)
      assert.matches("^spec/jobs/once_spec.lua:%d+: ", err)
      assert.truthy(err:find("bad argument " .. bad[2], 1, true), err)
    end
    local rw = client:rwlock(path)
    ok, err = pcall(call, path, HOUR, nothing)
    assert.is_false(ok)
    assert.truthy(err:find("is in use as a rwlock", 1, true), err)
    assert.truthy(rw)
    ok, err = pcall(client.once, path)
    assert.is_false(ok)
    assert.truthy(err:find("client:once(...), on a zklock.Client; got string", 1, true), err)
  end)
end)
