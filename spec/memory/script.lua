-- SPDX-License-Identifier: MIT
--- The script's memory runs out: in every call each allocation of the Lua state fails in turn, alone and with all that
--- come after it. The call raises or succeeds, and what it raised over is undone when it returns: nobody waits, nothing
--- is held that nobody knows of, and what was to be told is told by the next call.

local sweeps = require "spec.memory.sweeps"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local SESSION = sweeps.SESSION
local PATIENCE = sweeps.PATIENCE
local told = sweeps.told
local sweep, tell = sweeps.sweep, sweeps.tell

describe("a script without memory", function()
  local zk, tree, client, other, path, lock

  sweeps.prepare()

  before_each(function()
    zk, tree, client, other, path, lock = sweeps.zk, sweeps.tree, sweeps.client, sweeps.other, sweeps.path, sweeps.lock
  end)

  --- Held if it was acquired, and only then.
  local function check_hold(ok, token, err)
    assert.equal(nil, err)
    sweeps.holds(ok and 1 or 0)
    if ok then assert.is_number(token) end
    assert.same(ok and { true } or { nil, "not owner" }, { lock:release() })
  end

  describe("acquires", function()
    sweep("a free lock", {
      run = function() return lock:acquire(PATIENCE) end,
      after = check_hold,
    })

    sweep("in a single try, in the name of somebody", {
      before = sweeps.rest,
      run = function() return lock:acquire(0, "somebody") end,
      after = function(ok, token, err)
        assert.equal(nil, err)
        sweeps.holds(ok and 1 or 0)
        if ok then assert.is_number(token) end
        assert.same(ok and { true } or { nil, "not owner" }, { lock:release("somebody") })
      end,
    })

    sweep("in the name of somebody for whom another coroutine acquires it next", {
      before = sweeps.rest,
      run = function() return lock:acquire(PATIENCE, "somebody") end,
      after = function(ok)
        coroutine.wrap(function()
          assert.is_number((lock:acquire(PATIENCE / 2, "somebody")))
          assert.is_true(lock:release("somebody"))
          if ok then assert.is_true(lock:release("somebody")) end
        end)()
        sweeps.holds(0)
      end,
    })

    sweep("in vain", {
      before = sweeps.taken,
      run = function() return lock:acquire(0.001) end,
      after = function(ok, token, err)
        sweeps.holds(0)
        if not ok then return end
        assert.same({ nil, "timeout" }, { token, err })
        assert(other:mutex(path):release())
      end,
    })

    sweep("what somebody else gives back meanwhile", {
      before = sweeps.taken,
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
        sweeps.holds(1)
        if ok then assert(lock:release()) end
        assert(lock:release())
        sweeps.holds(0)
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
          sweeps.holds(ok and 1 or 0)
          if ok then assert.is_number(token) end
          assert.same(ok and { true } or { nil, "not owner" }, { kept:release(who or nil) })
          sweeps.holds(0)
        end,
      })
    end

    sweep("leases", {
      run = function() return client:semaphore(path .. "/pool", 2):acquire(PATIENCE, 2) end,
      after = function(ok, lease, err)
        assert.equal(nil, err)
        sweeps.holds(ok and 1 or 0)
        if not ok then return end
        assert.is_number(lease:token())
        assert.is_true(lease:release())
      end,
    })

    sweep("two paths together", {
      run = function() return client:multilock({ path .. "/a", path .. "/b" }):acquire(PATIENCE) end,
      after = function(ok, token, err)
        assert.equal(nil, err)
        sweeps.holds(ok and 1 or 0)
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
        sweeps.holds(ok and 2 or 1)
        assert.equal(ok and token, both.read:token() or false)
        assert.is_true(both.write:release())
        assert.same(ok and { true } or { nil, "not owner" }, { both.read:release() })
        sweeps.holds(0)
      end,
    })

    sweep("in a coroutine that ends with it", {
      run = function()
        return coroutine.wrap(function() return lock:acquire(PATIENCE) end)()
      end,
      after = function(ok, token)
        if ok then assert.is_number(token) end
        client:poll()
        sweeps.holds(0)
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
        sweeps.holds(0)
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
        sweeps.holds(1)
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
        sweeps.listen()
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
          sweeps.poll_until(function() return told.count > 0 or sweeps.errors > 0 end, "a call")
          watch:stop()
        end
        watch = nil
        sweeps.listen()
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
        sweeps.holds(0)
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
          sweeps.give_up_room()
          return {}
        end)
      end,
      after = function(ok, done)
        sweeps.holds(0)
        if ok then assert.is_true(done) end
      end,
    })

    sweep("for a guard's life", {
      run = function()
        local guard, err = lock:guard(PATIENCE)
        return guard and guard:release(), err
      end,
      after = function(ok, released, err)
        sweeps.holds(0)
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
        sweeps.holds(0)
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
        mine = sweeps.connect()
        mine:mutex(path):request(nil, tell)
        wait.eventually(function() return mine:stats().held == 1 end, PATIENCE, "a hold")
        mine:mutex(path):request(nil, tell)
      end,
      run = function() return mine:close() end,
      after = function()
        assert.is_true(mine:close())
        assert.same({ 2, nil, "closed" }, { told.count, told[2][1], told[2][2] })
        assert.is_number(told[1][1])
        assert.equal(0, sweeps.errors)
        sweeps.listen()
      end,
    })
  end)
end)
