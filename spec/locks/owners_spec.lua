-- SPDX-License-Identifier: MIT
--- Owners that end, and owners that only seem to. Whatever Lua says about a coroutine, it keeps its locks as long as it
--- may run again, and loses them afterwards.

local Hold = require "zklock.holds.hold"
local cqueues = require "cqueues"
local collect = require "spec.support.collect"
local fixture = require "spec.support.fixture"
local host = require "spec.support.host"
local wait = require "spec.support.wait"

local SESSION = 600 -- seconds: nothing here waits for the servers to end a session
local PATIENCE = wait.PATIENCE

describe("owners", function()
  local here = fixture.new("/owners", { session_timeout = SESSION })
  local client, other, path

  setup(function() other = here:second_process() end)

  before_each(function() path, client = here.path, here:connect() end)

  --- Nobody holds or waits any more.
  local function rest(of)
    wait.eventually(function()
      client:poll()
      local stats = client:stats()
      return stats.held == 0 and stats.waiting == 0 and #here:nodes(of) == 0
    end, PATIENCE, "the end of every node")
  end

  describe("that are collected", function()
    --- Runs the collector until it has found the owner: a caller that waits for a lock makes no garbage.
    local function collect_just(box)
      for _ = 1, 1e5 do
        if box[1] == nil then return end
        collectgarbage "step"
      end
      collectgarbage() -- steps do not find what has become old in Lua 5.4's generations
      if box[1] == nil then return end
      if jit then -- a stale slot of the stack may keep it for long
        jit.flush()
        for _ = 1, 100 do collectgarbage() end
        if box[1] == nil then return end
        error "LuaJIT keeps it"
      end
      error "it was not collected"
    end

    -- LuaJIT and Lua 5.1 forget the owner one cycle before they collect its holds.
    it("leave the lock to the next caller", function()
      for round = 1, 12 do
        local lock, box = client:mutex(path), setmetatable({}, { __mode = "v" })
        coroutine.wrap(function()
          box[1] = coroutine.running()
          assert(lock:acquire(PATIENCE))
          coroutine.yield()
        end)()
        collect_just(box)
        assert.is_number((lock:acquire(PATIENCE, "round " .. round)))
        assert(lock:release("round " .. round))
      end
      assert.equal(12, client:stats().abandoned)
      rest()
    end)

    it("leave it also if they were a request, or had a guard", function()
      local lock, told = client:mutex(path), 0
      for round = 1, 6 do
        local box = setmetatable({}, { __mode = "v" })
        if round % 2 == 0 then
          coroutine.wrap(function() box[1] = lock:request(PATIENCE, function() told = told + 1 end) end)()
          wait.eventually(function() return client:poll(0.01) > 0 end, PATIENCE)
        else
          coroutine.wrap(function() box[1] = assert(lock:guard(PATIENCE)) end)()
        end
        collect_just(box)
        assert.is_number((lock:acquire(PATIENCE)))
        assert(lock:release())
      end
      assert.equal(3, told)
      rest()
    end)

    it("leave nothing to the guards and the requests that are still there", function()
      local lock, pool, guard = client:mutex(path), client:semaphore(path .. "-pool", 1), nil
      coroutine.wrap(function()
        guard = assert(lock:guard(PATIENCE))
        coroutine.yield()
      end)()
      local token
      local request = pool:request(PATIENCE, function(lease) token = lease:token() end)
      here:eventually(function() return token end)
      for _, of in ipairs { guard, request } do
        wait.eventually(function()
          collect()
          return not of:is_held()
        end, PATIENCE)
        assert.is_nil(of:token())
        assert.same({ nil, "not owner" }, { of:release() })
      end
      assert.same({ nil, "not owner" }, { request:multi({ { "delete", path .. "/none" } }, PATIENCE) })
      assert.equal("released", request:state())
      assert.equal(2, client:stats().abandoned)
      rest(path .. "-pool/leases")
      rest()
    end)

    it("leave it also after they got a revocation", function()
      local lock, box, told = client:mutex(path), setmetatable({}, { __mode = "v" }), 0
      lock:on_revoke(function() told = told + 1 end)
      local thread = coroutine.create(function()
        assert(lock:acquire(PATIENCE))
        coroutine.yield()
      end)
      box[1] = thread
      assert(coroutine.resume(thread))
      assert.is_true(lock:revoke(PATIENCE))
      wait.eventually(function()
        client:poll()
        return told == 1
      end, PATIENCE)
      assert.is_true(lock:is_held(thread))
      thread = nil -- luacheck: ignore 311
      collect_just(box)
      assert.is_number((lock:acquire(PATIENCE)))
      assert(lock:release())
    end)

    it("leave it as soon as the collector has found them, without a poll", function()
      local lock = client:mutex(path)
      local thread = coroutine.create(function()
        assert(lock:acquire(PATIENCE))
        coroutine.yield()
      end)
      assert(coroutine.resume(thread))
      assert.equal(1, #here:nodes())
      assert.is_true(lock:is_held(thread))
      thread = nil -- luacheck: ignore 311
      for _ = 1, 3 do collectgarbage() end
      here:becomes(0)
    end)

    it("end the wait that they began for another owner", function()
      client:close()
      client = here:connect { loop = "cqueues" }
      assert(other:acquire(path, PATIENCE))
      local lock = client:mutex(path)
      local controller = cqueues.new()
      controller:wrap(function() lock:acquire(nil, "somebody") end)
      wait.eventually(function()
        assert(controller:step(0))
        return #here:nodes() == 2
      end, PATIENCE)
      controller = nil -- luacheck: ignore 311
      wait.eventually(function()
        collect()
        client:poll()
        return #here:nodes() == 1
      end, PATIENCE, "the end of a wait that nobody is in")
      assert(other:release(path))
      assert.is_number((lock:acquire(PATIENCE, "another")))
      assert.is_false(lock:is_held("somebody"))
      assert(lock:release("another"))
      rest()
    end)
  end)

  describe("in a program that embeds Lua", function()
    local PROLOGUE = [[
      local hosts, path = arg[1], arg[2]
      local zklock = require "zklock"
      local client, lock
      local function connect()
        client = assert(zklock.connect(hosts, { session_timeout = 600 }))
        lock = client:mutex(path)
      end
      local function check(what)
        print(what, lock:is_held() and "held" or "not held", client:stats().abandoned)
      end
    ]]

    local function lines_of(script)
      local result = host.run({ PROLOGUE .. script }, { here.zk.hosts, path })
      assert.equal("", result.stderr)
      return result.stdout
    end

    it("keep their locks while the main program lies idle, and an event handler polls", function()
      assert.equal("main\theld\t0\nmain\theld\t0\n", lines_of [[
        handlers = {
          { "main", function()
            connect()
            assert(lock:acquire(60))
          end },
          { "handler", function() client:poll() end },
          { "main", function() check("main") end },
          { "another handler", function() client:mutex(path .. "/another"):acquire(60) end },
          { "main", function()
            check("main")
            assert(lock:release())
            client:close()
          end },
        }
      ]])
    end)

    it("keep their locks while their thread lies idle, which is used again", function()
      assert.equal("handler\theld\t0\n", lines_of [[
        handlers = {
          { "handler", function()
            connect()
            assert(lock:acquire(60))
          end },
          { "main", function() client:poll() end },
          { "another handler", function() client:mutex(path .. "/another"):acquire(60) end },
          { "handler", function()
            check("handler")
            assert(lock:release())
            client:close()
          end },
        }
      ]])
    end)

    it("release the locks of a coroutine that has ended", function()
      assert.equal("main\tnot held\t1\n", lines_of [[
        local thread
        handlers = {
          { "handler", function()
            connect()
            thread = coroutine.create(function()
              assert(lock:acquire(60))
              coroutine.yield()
            end)
            assert(coroutine.resume(thread))
            client:poll() -- only now 5.1 and 5.2 see what kind of thread it is
          end },
          { "another handler", function() assert(coroutine.resume(thread)) end },
          { "main", function()
            client:poll()
            check("main")
            client:close()
          end },
        }
      ]])
    end)
  end)

  -- The check of all owners is the last step before the sleep, and no event follows it.
  it("that have ended already wait for nothing", function()
    local thread = coroutine.create(function() coroutine.yield() end) -- 5.1 takes no C function
    local known = client:mutex(path .. "-before")
    assert(coroutine.resume(thread))
    assert(known:acquire(PATIENCE, thread))
    assert(known:release(thread))
    local theirs = here:connect {}:mutex(path)
    assert(theirs:acquire(PATIENCE))
    assert(client:flush(PATIENCE))
    client:poll()
    assert(coroutine.resume(thread))
    assert.same({ nil, "cancelled" }, { client:mutex(path):acquire(PATIENCE, thread) })
    assert(theirs:release())
  end)

  it("get the lock that they ask for although a finalizer calls the client meanwhile", function()
    local lock, dispatcher = client:mutex(path), client.dispatcher
    local enter = dispatcher.enter
    function dispatcher.enter(...) -- allocates, as much around it does
      dispatcher.enter = nil
      assert.is_false(lock:is_held())
      assert.same({ nil, "not owner" }, { lock:release("nobody") })
      return enter(...)
    end
    assert(lock:acquire(PATIENCE))
    assert.is_nil(rawget(dispatcher, "enter"))
    assert.is_true(lock:is_held())
    assert(lock:release())
    rest()
  end)

  -- In the same coroutine, between two steps of the wait: so do finalizers, and debug hooks.
  for _, shared in ipairs { false, true } do
    it("that wait have it as often as they have asked, although a finalizer takes it meanwhile and gives it back" ..
      (shared and ", on a place" or ""), function()
      local lock, dispatcher = client:mutex(path, { fair = not shared }), client.dispatcher
      local await, seen = dispatcher.await, {}
      function dispatcher.await(...)
        dispatcher.await = nil
        seen[1] = lock:acquire(PATIENCE)
        seen[2] = lock:release()
        return await(...)
      end
      local token, err = lock:acquire(PATIENCE)
      assert.is_nil(rawget(dispatcher, "await"))
      assert.same({ token or err or "nothing", true }, seen)
      assert.is_true(lock:is_held())
      assert.is_true(lock:release())
      assert.same({ nil, "not owner" }, { lock:release() })
      assert(client:flush(PATIENCE))
      rest()
    end)
  end

  -- As Ctrl-C does. The engine's event is gone then.
  it("that are interrupted just after the grant leave nothing behind", function()
    local lock, event, token = client:mutex(path), Hold.event, nil
    finally(function() Hold.event = event end)
    function Hold.event(_, kind, _, got)
      assert.equal("granted", kind)
      Hold.event, token = event, got
      error("interrupted", 0)
    end
    assert.same({ false, "interrupted" }, { pcall(lock.acquire, lock, PATIENCE) })
    assert.is_number(token)
    assert.is_false(lock:is_held())
    rest()
    assert.is_true(assert(lock:acquire(PATIENCE)) > token)
    assert.is_true(lock:release())
    rest()
  end)

  it("that have lost the lock before they see the grant do not get it", function()
    local lock, dispatcher = client:mutex(path), client.dispatcher
    local prepare = dispatcher.prepare_sleep
    function dispatcher.prepare_sleep(...)
      dispatcher.prepare_sleep = nil
      wait.eventually(function() return client.native:stats().held == 1 end, PATIENCE, "the grant")
      here.tree:delete(path .. "/" .. here:nodes()[1])
      wait.eventually(function() return client.native:stats().lost == 1 end, PATIENCE, "the loss")
      return prepare(...)
    end
    assert.same({ nil, "lost" }, { lock:acquire(PATIENCE) })
    assert.is_false(lock:is_held())
    rest()
  end)

  -- A stack that has no room for one more call does that, in plain Lua 5.1.
  for _, shared in ipairs { false, true } do
    it("into whose release an error is raised have given it back, and have lost nothing" ..
      (shared and ", on a place" or ""), function()
      local lock, dispatcher, lost = client:mutex(path, { fair = not shared }), client.dispatcher, nil
      lock:on_lost(function(err) lost = err end)
      assert(lock:acquire(PATIENCE, "somebody"))
      local holds = client.holds
      function holds.remove()
        holds.remove = nil
        error("no room", 0)
      end
      assert.same({ false, "no room" }, { pcall(lock.release, lock, "somebody") })
      assert.is_false(lock:is_held("somebody"))
      assert.same({ nil, "not owner" }, { lock:release("somebody") })
      assert(client:flush(PATIENCE))
      rest()
      assert.is_nil(lost)
      assert.equal(0, dispatcher.kept.count)
    end)
  end

  it("that are false reach the listener as false when they lose the lock", function()
    local lock, heard, callback = client:mutex(path), here.notes()
    lock:on_lost(callback)
    local token = assert(lock:acquire(PATIENCE, false))
    here.tree:delete(here:only_node())
    here:eventually(function() return #heard > 0 end)
    assert.same({ { "lost", false, token } }, heard)
    assert.same({ nil, "lost" }, { lock:release(false) })
  end)

  it("are the main program, also by the name that Lua has for it", function()
    local main, is_main = coroutine.running()
    if not is_main then return pending("this Lua has none") end
    local lock = client:mutex(path)
    assert(lock:acquire(PATIENCE))
    assert.is_true(lock:is_held(main))
    assert.is_true(lock:release(main))
    assert.is_false(lock:is_held())
  end)

  it("that end are found in a comparison of table.sort, too, at the latest when they are collected", function()
    local lock = client:mutex(path)
    local thread = coroutine.create(function()
      local tried
      table.sort({ 2, 1 }, function(a, b)
        if not tried then tried = lock:acquire(PATIENCE) end
        return a < b
      end)
      assert(tried)
    end)
    assert(coroutine.resume(thread))
    thread = nil -- luacheck: ignore 311
    collectgarbage()
    collectgarbage()
    rest()
  end)

  describe("in great numbers", function()
    local MANY = 300

    --- Returns so many suspended coroutines that hold a lock each.
    local function crowd(n)
      local threads = {}
      for i = 1, n do
        threads[i] = coroutine.create(function()
          assert(client:mutex(path .. "/" .. i):acquire(PATIENCE))
          coroutine.yield()
        end)
        assert(coroutine.resume(threads[i]))
      end
      return threads
    end

    --- How often a call checks a coroutine.
    local function looks_in(fn)
      local core, looks = require "zklock.core", 0
      local fate = core.fate
      function core.fate(...)
        looks = looks + 1
        return fate(...)
      end
      local ok, err = pcall(fn)
      core.fate = fate
      assert(ok, err)
      return looks
    end

    it("are not all checked in each call #once", function()
      local threads = crowd(MANY)
      local lock = client:mutex(path .. "/more")
      assert.is_true(looks_in(function()
        for _ = 1, 10 do client:poll() end
      end) <= 10 * 128)
      assert.is_true(looks_in(function()
        for _ = 1, 10 do
          lock:request(0, function() end)
        end
      end) <= 10 * 128)
      assert.equal(MANY, #threads)
    end)

    it("release the lock of one that has ended, also for the next caller that asks for it", function()
      local threads = crowd(MANY)
      for i = 1, MANY, 50 do
        assert(coroutine.resume(threads[i]))
        assert.equal("dead", coroutine.status(threads[i]))
        assert.is_number((client:mutex(path .. "/" .. i):acquire(PATIENCE)))
        assert(client:mutex(path .. "/" .. i):release())
      end
      for i = 2, MANY, 50 do assert(coroutine.resume(threads[i])) end
      wait.eventually(function()
        client:poll()
        return client:stats().abandoned == 12
      end, PATIENCE)
      assert.equal(MANY - 12, client:stats().held)
    end)
  end)
end)
