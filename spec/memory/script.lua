-- SPDX-License-Identifier: MIT
--- The script's memory runs out: in every call each allocation of the Lua state fails in turn, alone and with all that
--- come after it. The call raises or succeeds, and what it raised over is undone when it returns: nobody waits, nothing
--- is held that nobody knows of, and what was to be told is told by the next call.

local inspector = require "spec.support.inspector"
local places = require "spec.memory.places"
local scarce = require "scarce"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

-- LuaJIT's compiled code does not survive a failed allocation, whatever it was compiled from: LuaJIT/LuaJIT#1247.
local jit = rawget(_G, "jit")
if jit then jit.off() end

local SESSION = 20 -- seconds
local PATIENCE = 20
local NO_MEMORY = "not enough memory"

describe("a script without memory", function()
  local zk, tree, client, other, path, count, lock, told, errors

  --- Hears a few answers, without allocating anything for them.
  local function listen()
    told, errors = { count = 0 }, 0
    for i = 1, 4 do told[i] = { false, false, false } end
  end

  local function tell(a, b, c)
    told.count = told.count + 1
    local answer = told[told.count]
    answer[1], answer[2], answer[3] = a, b, c
  end

  local function connect(options)
    options = options or {}
    options.session_timeout = SESSION
    options.on_error = function() errors = errors + 1 end
    return assert(zklock.connect(zk.hosts, options))
  end

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
    tree:delete_tree("/memory")
    client, other = connect(), connect()
    count = 0
  end)

  before_each(function()
    count = count + 1
    path = ("/memory/%d"):format(count)
    lock = client:mutex(path)
    listen()
  end)

  teardown(function()
    client:close()
    other:close()
    tree:delete_tree("/memory")
    tree:close()
  end)

  --- Every node is gone.
  local function rest()
    assert(client:flush(PATIENCE))
    assert(other:flush(PATIENCE))
    wait.eventually(function() return places.count(tree, path) == 0 end, PATIENCE, "the end of every node")
  end

  --- So many hold, and nobody waits.
  local function holds(n)
    local stats = client:stats()
    assert.same({ held = n, waiting = 0 }, { held = stats.held, waiting = stats.waiting })
  end

  local function poll_until(condition, what)
    return wait.eventually(function()
      client:poll()
      return condition()
    end, PATIENCE, what)
  end

  --- Until the engine has so many to tell of; nobody is told.
  local function engine_has(name, n)
    wait.eventually(function() return client:stats()[name] == n end, PATIENCE, name)
  end

  --- The other client holds the lock.
  local function taken()
    local theirs = other:mutex(path)
    if not theirs:is_held() then assert(theirs:acquire(PATIENCE)) end
  end

  --- After an error Lua 5.4 frees half of its unused room for nested calls. After several errors no room is left: then
  --- each call of `run` has to allocate its own, and so has each call that undoes it.
  local function give_up_room()
    for _ = 1, 16 do pcall(error) end
  end

  --- `before()` prepares; `run()` is tried; `after(ok, ...)` looks, with run's results or what it raised.
  local function sweep(title, call)
    for name, times in pairs { ["but for one allocation"] = 1, ["but for all memory"] = not call.once and math.huge } do
      if times then it(("%s, %s"):format(title, name), function()
        local nth, through = 0, false
        local function look(asked, ok, ...)
          collectgarbage("restart")
          through = asked < nth
          local good, err = pcall(function(...)
            if not ok then assert.truthy(tostring((...)):find(NO_MEMORY, 1, true), (...)) end
            call.after(ok, ...)
          end, ...)
          if not good then error(("allocation %d: %s"):format(nth, tostring(err)), 0) end
        end
        while not through do
          nth = nth + 1
          if call.before then call.before() end
          if nth % 32 == 1 then collectgarbage() end
          collectgarbage("stop") -- a finalizer that cannot be called is not called again
          if not call.roomy then give_up_room() end
          look(scarce.try(nth, times, call.run))
        end
        rest()
      end) end
    end
  end

  --- Held if it was acquired, and only then.
  local function check_hold(ok, token, err)
    assert.equal(nil, err)
    holds(ok and 1 or 0)
    if ok then assert.is_number(token) end
    assert.same(ok and { true } or { nil, "not owner" }, { lock:release() })
  end

  describe("acquires", function()
    sweep("a free lock", {
      run = function() return lock:acquire(PATIENCE) end,
      after = check_hold,
    })

    sweep("in a single try, in the name of somebody", {
      before = rest,
      run = function() return lock:acquire(0, "somebody") end,
      after = function(ok, token, err)
        assert.equal(nil, err)
        holds(ok and 1 or 0)
        if ok then assert.is_number(token) end
        assert.same(ok and { true } or { nil, "not owner" }, { lock:release("somebody") })
      end,
    })

    sweep("in the name of somebody for whom another coroutine acquires it next", {
      before = rest,
      run = function() return lock:acquire(PATIENCE, "somebody") end,
      after = function(ok)
        coroutine.wrap(function()
          assert.is_number((lock:acquire(PATIENCE / 2, "somebody")))
          assert.is_true(lock:release("somebody"))
          if ok then assert.is_true(lock:release("somebody")) end
        end)()
        holds(0)
      end,
    })

    sweep("in vain", {
      before = taken,
      run = function() return lock:acquire(0.001) end,
      after = function(ok, token, err)
        holds(0)
        if not ok then return end
        assert.same({ nil, "timeout" }, { token, err })
        assert(other:mutex(path):release())
      end,
    })

    sweep("what somebody else gives back meanwhile", {
      before = taken,
      run = function()
        local theirs = other:mutex(path)
        if theirs:is_held() then theirs:release() end
        return lock:acquire(PATIENCE)
      end,
      after = check_hold,
    })

    sweep("what it holds already", {
      before = function() assert(lock:acquire(PATIENCE)) end,
      run = function() return lock:acquire(PATIENCE) end,
      after = function(ok)
        holds(1)
        if ok then assert(lock:release()) end
        assert(lock:release())
        holds(0)
      end,
    })

    --- A lock of which this client keeps the place, in use again and again.
    local function hot()
      local kept = client:mutex(path .. "/hot", { fair = false, linger = 1000 })
      for _ = 1, 5 do
        assert(kept:acquire(PATIENCE))
        assert(kept:release())
      end
      return kept
    end

    for who, title in pairs { [false] = "again what it has just given back", somebody = "a place that is idle" } do
      local kept
      sweep(title, {
        before = function() kept = hot() end,
        run = function() return kept:acquire(PATIENCE, who or nil) end,
        after = function(ok, token, err)
          assert.equal(nil, err)
          holds(ok and 1 or 0)
          if ok then assert.is_number(token) end
          assert.same(ok and { true } or { nil, "not owner" }, { kept:release(who or nil) })
          holds(0)
        end,
      })
    end

    sweep("leases", {
      run = function() return client:semaphore(path .. "/pool", 2):acquire(PATIENCE, 2) end,
      after = function(ok, lease, err)
        assert.equal(nil, err)
        holds(ok and 1 or 0)
        if not ok then return end
        assert.is_number(lease:token())
        assert.is_true(lease:release())
      end,
    })

    sweep("two paths together", {
      run = function() return client:multilock({ path .. "/a", path .. "/b" }):acquire(PATIENCE) end,
      after = function(ok, token, err)
        assert.equal(nil, err)
        holds(ok and 1 or 0)
        if ok then assert.is_number(token) end
        local both = client:multilock { path .. "/a", path .. "/b" }
        assert.same(ok and { true } or { nil, "not owner" }, { both:release() })
      end,
    })

    sweep("as a reader what it holds as a writer", {
      before = function() assert(client:rwlock(path .. "/book").write:acquire(PATIENCE)) end,
      run = function() return client:rwlock(path .. "/book").read:acquire(PATIENCE) end,
      after = function(ok, token, err)
        local both = client:rwlock(path .. "/book")
        assert.equal(nil, err)
        holds(ok and 2 or 1)
        assert.equal(ok and token, both.read:token() or false)
        assert.is_true(both.write:release())
        assert.same(ok and { true } or { nil, "not owner" }, { both.read:release() })
        holds(0)
      end,
    })

    sweep("in a coroutine that ends with it", {
      run = function()
        return coroutine.wrap(function() return lock:acquire(PATIENCE) end)()
      end,
      after = function(ok, token)
        if ok then assert.is_number(token) end
        client:poll()
        holds(0)
      end,
    })
  end)

  describe("of nodes", function()
    local data

    before_each(function()
      data = path .. "-data"
      assert(tree:create(data, "0", { parents = true }))
    end)

    sweep("reads", {
      run = function()
        local got, stat = client:get(data, PATIENCE)
        return got, stat, client:children("/memory", PATIENCE), client:exists(data, PATIENCE)
      end,
      after = function(ok, got, stat, names, there)
        holds(0)
        if not ok then return end
        assert.equal("0", got)
        assert.equal(1, stat.length)
        assert.is_true(#names > 0)
        assert.same(stat, there)
      end,
    })

    sweep("writes", {
      run = function()
        return client:set(data, "1", nil, PATIENCE), client:create(data .. "/x", "1", nil, PATIENCE),
          client:delete(data .. "/x", nil, PATIENCE)
      end,
      after = function(ok)
        if ok then assert.equal("1", (tree:get(data))) end
        client:delete(data .. "/x", nil, PATIENCE)
      end,
    })

    sweep("writes with a guard", {
      before = function() if not lock:is_held() then assert(lock:acquire(PATIENCE)) end end,
      run = function() return lock:multi({ { "set", data, "1" }, { "check", data } }, PATIENCE), lock:nodes() end,
      after = function(ok, results, nodes)
        holds(1)
        if ok then
          assert.equal(2, #results)
          assert.equal(1, #nodes)
        end
        assert.is_true(lock:release())
      end,
    })

    sweep("spawns", {
      run = function()
        client:spawn(tell, "spawned")
        return client:poll()
      end,
      after = function()
        while client:poll() > 0 do end
        assert.is_true(told.count <= 1)
        listen()
      end,
    })

    local watch

    sweep("follows one", {
      run = function()
        watch = assert(client:watch(data, tell))
        return client:poll(PATIENCE)
      end,
      after = function()
        if watch then
          poll_until(function() return told.count > 0 or errors > 0 end, "a call")
          watch:stop()
        end
        watch = nil
        listen()
      end,
    })
  end)

  describe("holds", function()
    sweep("for a function", {
      run = function()
        return lock:with(PATIENCE, function(token, ...)
          assert(lock:is_held())
          return token, { ... }, ("and %d"):format(select("#", ...))
        end, 1, 2, 3)
      end,
      after = function(ok, done, token, list, text)
        holds(0)
        if not ok then return end
        assert.is_true(done)
        assert.is_number(token)
        assert.same({ 1, 2, 3 }, list)
        assert.equal("and 3", text)
      end,
    })

    sweep("for a function that leaves no room", {
      run = function()
        return lock:with(PATIENCE, function()
          give_up_room()
          return {}
        end)
      end,
      after = function(ok, done)
        holds(0)
        if ok then assert.is_true(done) end
      end,
    })

    sweep("for a guard's life", {
      run = function()
        local guard, err = lock:guard(PATIENCE)
        return guard and guard:release(), err
      end,
      after = function(ok, released, err)
        holds(0)
        if ok then assert.same({ true }, { released, err }) end
      end,
    })

    sweep("and gives back", {
      roomy = true,
      before = function() assert(lock:acquire(PATIENCE)) end,
      run = function()
        local held, validity, token = lock:is_held(), lock:validity(), lock:token()
        return held, validity, token, lock:release()
      end,
      after = function(ok, held, validity, token, released)
        assert(ok) -- where there is room for nested calls, nothing is allocated for that
        assert.is_true(held)
        assert.is_true(validity > 0)
        assert.is_number(token)
        assert.is_true(released)
        holds(0)
      end,
    })
  end)

  describe("requests", function()
    local request

    local function is_told(...)
      client:poll()
      assert.same({ ... }, { told.count, told[1][1], told[1][2] })
    end

    --- Nothing has gone wrong in a callback; ready for the next round.
    local function done()
      assert.equal(0, errors)
      holds(0)
      listen()
    end

    sweep("a free lock", {
      run = function() return lock:request(PATIENCE, tell) end,
      after = function(ok, made)
        if ok then
          poll_until(function() return told.count > 0 end, "an answer")
          is_told(1, made:token())
          assert.is_true(made:release())
        end
        assert.equal(ok and 1 or 0, told.count)
        done()
      end,
    })

    sweep("and hears of a grant", {
      before = function()
        request = lock:request(PATIENCE, tell)
        engine_has("held", 1)
      end,
      run = function() return client:poll() end,
      after = function()
        client:poll()
        is_told(1, request:token())
        assert.is_true(request:release())
        done()
      end,
    })

    sweep("and hears of a failure", {
      before = function()
        taken()
        request = lock:request(0.001, tell)
        engine_has("waiting", 0)
      end,
      run = function() return client:poll() end,
      after = function(ok)
        is_told(1, nil, "timeout")
        assert.equal("failed", request:state())
        if ok then assert(other:mutex(path):release()) end
        done()
      end,
    })

    sweep("and cancels too late", {
      before = function()
        request = lock:request(PATIENCE, tell)
        engine_has("held", 1)
      end,
      run = function()
        request:cancel()
        return client:poll()
      end,
      after = function()
        request:cancel() -- if that raised
        is_told(1, nil, "cancelled")
        done()
      end,
    })

    sweep("and cancels", {
      before = function()
        taken()
        request = lock:request(PATIENCE, tell)
      end,
      run = function()
        request:cancel()
        return client:poll()
      end,
      after = function(ok)
        request:cancel()
        is_told(1, nil, "cancelled")
        if ok then assert(other:mutex(path):release()) end
        done()
      end,
    })

    sweep("leases, and hears of the grant", {
      before = function()
        request = client:semaphore(path .. "/pool", 2):request(PATIENCE, tell, 2)
        engine_has("held", 1)
      end,
      run = function() return client:poll() end,
      after = function()
        client:poll()
        local lease, err = told[1][1], told[1][2]
        assert.same({ 1, nil }, { told.count, err })
        assert.equal(request:token(), lease:token())
        assert.is_true(lease:release())
        done()
      end,
    })

    sweep("and acquires something else in the callback", {
      once = true, -- who cannot call on_error either writes to stderr
      before = function()
        request = lock:request(PATIENCE, function(token)
          client:mutex(path .. "-more"):with(PATIENCE, tell)
          assert(token)
        end)
        engine_has("held", 1)
      end,
      run = function()
        for _ = 1, 1000 * PATIENCE do
          client:poll(0.001)
          if told.count + errors > 0 then break end
        end
      end,
      after = function()
        poll_until(function() return told.count + errors > 0 end, "the callback's end")
        client:poll()
        assert.is_true(told.count <= 1 and errors <= 1)
        assert.is_true(request:release())
        errors = 0
        done()
      end,
    })
  end)

  describe("runs jobs", function()
    local job, runs

    local function begin(fn)
      runs = 0
      job = client:job(path, function(_, hold)
        runs = runs + 1
        if fn then fn(hold) end
      end, { pause = 0, pause_most = 0.1 })
    end

    local function ended()
      assert.is_true(job:stop(PATIENCE))
      assert.equal("stopped", job:state())
      errors = 0
      rest()
    end

    local marked, fresh = 0, nil
    sweep("once in a while", {
      before = function() -- two marks of one path may be of the same millisecond
        marked = marked + 1
        fresh = ("%s-%d"):format(path, marked)
      end,
      run = function() return client:once(fresh, 1e-9, function(_, hold) return hold:sleep(0) end) end,
      after = function(ok, done, slept)
        if ok then assert.same({ true, true }, { done, slept }) end
        holds(0)
      end,
    })

    sweep("and begins one", {
      run = function() return client:job(path, function() runs = runs + 1 end, { pause = 0 }) end,
      before = function() runs = 0 end,
      after = function(ok, begun)
        job = begun
        if not ok then return end
        poll_until(function() return runs > 0 end, "a run")
        ended()
      end,
    })

    sweep("whose runs begin and end", {
      once = true, -- without memory for on_error the client writes to stderr
      before = function()
        begin()
        engine_has("held", 1)
      end,
      run = function()
        client:poll()
        return client:poll(0.002)
      end,
      after = function()
        local before = runs
        poll_until(function() return runs > before end, "another run")
        ended()
      end,
    })

    sweep("that sleep, and stops them", {
      once = true,
      before = function()
        begin(function(hold) hold:sleep(3600) end)
        poll_until(function() return job:state() == "running" end, "a run")
      end,
      run = function() return job:stop(PATIENCE) end,
      after = ended,
    })

    sweep("that are lost in their sleep", {
      once = true,
      before = function()
        local node
        begin(function(hold)
          node = hold:nodes()[1]
          hold:sleep(3600)
        end)
        poll_until(function() return job:state() == "running" end, "a run")
        local lost = client:stats().lost
        tree:delete(node)
        wait.eventually(function() return client:stats().lost > lost end, PATIENCE, "a loss")
      end,
      run = function() return client:poll() end,
      after = function()
        poll_until(function() return runs > 1 end, "another run")
        ended()
      end,
    })
  end)

  describe("is told", function()
    local mine

    sweep("once that a hold was lost", {
      before = function()
        lock:on_lost(tell)
        assert(lock:acquire(PATIENCE))
        local lost = client:stats().lost
        wait.eventually(function() -- the engine watches a node that is not released at once
          for _, name in ipairs(tree:children(path) or {}) do tree:delete(path .. "/" .. name) end
          return client:stats().lost > lost
        end, PATIENCE, "a loss")
      end,
      run = function() return client:poll() end,
      after = function()
        client:poll()
        assert.same({ 1, "lost" }, { told.count, told[1][1] })
        assert.is_number(told[1][3])
        assert.same({ nil, "lost" }, { lock:release() })
        assert.same({ nil, "not owner" }, { lock:release() })
        assert.equal(0, errors)
        listen()
      end,
    })

    sweep("once that somebody asks for it back", {
      before = function()
        lock:on_revoke(tell)
        assert(lock:acquire(PATIENCE))
        local revoked = client:stats().revoked
        assert(other:mutex(path):revoke(PATIENCE))
        engine_has("revoked", revoked + 1)
      end,
      run = function() return client:poll() end,
      after = function()
        client:poll()
        assert.same({ 1, lock:token() }, { told.count, told[1][2] })
        assert.is_true(lock:release())
        assert.equal(0, errors)
        listen()
      end,
    })

    sweep("whether somebody was asked", {
      before = taken,
      run = function() return lock:revoke(PATIENCE) end,
      after = function(ok, asked, err)
        assert.equal(nil, err)
        if not ok then return end
        assert.is_true(asked)
        assert(other:mutex(path):release())
      end,
    })

    sweep("of states, in their order", {
      before = function() mine = connect { on_state = tell } end,
      run = function()
        mine:poll()
        mine:close()
      end,
      after = function()
        mine:close()
        assert.same({ 2, "connected", "closed" }, { told.count, told[1][1], told[2][1] })
        assert.equal(0, errors)
        listen()
      end,
    })

    sweep("who is in the line", {
      before = taken,
      run = function() return lock:participants(PATIENCE) end,
      after = function(ok, list, err)
        assert.equal(nil, err)
        if not ok then return end
        assert.equal(1, #list)
        assert.equal(other:session_id(), list[1].session)
        assert(other:mutex(path):release())
      end,
    })

    sweep("what the client knows", {
      run = function()
        assert(client:flush(PATIENCE))
        return client:stats(), client:session_id(), client:state(), tostring(client), client:session_timeout()
      end,
      after = function(ok, stats, id, state)
        if not ok then return end
        assert.equal(0, stats.held)
        assert.equal(client:session_id(), id)
        assert.equal("connected", state)
      end,
    })
  end)

  describe("comes and goes", function()
    local mine, before

    local function sessions() return zk:mntr().num_alive_connections end

    sweep("with connect", {
      before = function() before = before or sessions() end,
      run = function()
        return zklock.connect(zk.hosts, { session_timeout = SESSION, identifier = "me", log = tell, on_state = tell,
          auth = { scheme = "digest", credential = "me:secret" } })
      end,
      after = function(ok, made, err)
        assert.equal(nil, err)
        if ok then assert.is_true(made:close()) end
        collectgarbage()
        if ok then wait.eventually(function() return sessions() == before end, PATIENCE, "the end of every session") end
      end,
    })

    sweep("with close", {
      before = function()
        mine = connect()
        mine:mutex(path):request(nil, tell)
        wait.eventually(function() return mine:stats().held == 1 end, PATIENCE, "a hold")
        mine:mutex(path):request(nil, tell)
      end,
      run = function() return mine:close() end,
      after = function()
        assert.is_true(mine:close())
        assert.same({ 2, nil, "closed" }, { told.count, told[2][1], told[2][2] })
        assert.is_number(told[1][1])
        assert.equal(0, errors)
        listen()
      end,
    })
  end)
end)
