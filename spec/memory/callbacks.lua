-- SPDX-License-Identifier: MIT
--- The script's memory runs out where the client calls it: the callbacks of requests, jobs and listeners, and what it
--- asks about others.

local sweeps = require "spec.memory.sweeps"
local wait = require "spec.support.wait"

local PATIENCE = sweeps.PATIENCE
local told = sweeps.told
local sweep, tell = sweeps.sweep, sweeps.tell

describe("a script without memory", function()
  local tree, client, other, path, lock

  sweeps.prepare()

  before_each(function()
    tree, client, other, path, lock = sweeps.tree, sweeps.client, sweeps.other, sweeps.path, sweeps.lock
  end)

  describe("requests", function()
    local request

    local function is_told(...)
      client:poll()
      assert.same({ ... }, { told.count, told[1][1], told[1][2] })
    end

    --- Nothing has gone wrong in a callback; ready for the next round.
    local function done()
      assert.equal(0, sweeps.errors)
      sweeps.holds(0)
      sweeps.listen()
    end

    sweep("a free lock", {
      run = function() return lock:request(PATIENCE, tell) end,
      after = function(ok, made)
        if ok then
          sweeps.poll_until(function() return told.count > 0 end, "an answer")
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
        sweeps.engine_has("held", 1)
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
        sweeps.taken()
        request = lock:request(0.001, tell)
        sweeps.engine_has("waiting", 0)
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
        sweeps.engine_has("held", 1)
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
        sweeps.taken()
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
        sweeps.engine_has("held", 1)
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
        sweeps.engine_has("held", 1)
      end,
      run = function()
        for _ = 1, 1000 * PATIENCE do
          client:poll(0.001)
          if told.count + sweeps.errors > 0 then break end
        end
      end,
      after = function()
        sweeps.poll_until(function() return told.count + sweeps.errors > 0 end, "the callback's end")
        client:poll()
        assert.is_true(told.count <= 1 and sweeps.errors <= 1)
        assert.is_true(request:release())
        sweeps.errors = 0
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
      sweeps.errors = 0
      sweeps.rest()
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
        sweeps.holds(0)
      end,
    })

    sweep("and begins one", {
      run = function() return client:job(path, function() runs = runs + 1 end, { pause = 0 }) end,
      before = function() runs = 0 end,
      after = function(ok, begun)
        job = begun
        if not ok then return end
        sweeps.poll_until(function() return runs > 0 end, "a run")
        ended()
      end,
    })

    sweep("whose runs begin and end", {
      once = true, -- without memory for on_error the client writes to stderr
      before = function()
        begin()
        sweeps.engine_has("held", 1)
      end,
      run = function()
        client:poll()
        return client:poll(0.002)
      end,
      after = function()
        local before = runs
        sweeps.poll_until(function() return runs > before end, "another run")
        ended()
      end,
    })

    sweep("that sleep, and stops them", {
      once = true,
      before = function()
        begin(function(hold) hold:sleep(3600) end)
        sweeps.poll_until(function() return job:state() == "running" end, "a run")
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
        sweeps.poll_until(function() return job:state() == "running" end, "a run")
        local lost = client:stats().lost
        tree:delete(node)
        wait.eventually(function() return client:stats().lost > lost end, PATIENCE, "a loss")
      end,
      run = function() return client:poll() end,
      after = function()
        sweeps.poll_until(function() return runs > 1 end, "another run")
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
        assert.equal(0, sweeps.errors)
        sweeps.listen()
      end,
    })

    sweep("once that somebody asks for it back", {
      before = function()
        lock:on_revoke(tell)
        assert(lock:acquire(PATIENCE))
        local revoked = client:stats().revoked
        assert(other:mutex(path):revoke(PATIENCE))
        sweeps.engine_has("revoked", revoked + 1)
      end,
      run = function() return client:poll() end,
      after = function()
        client:poll()
        assert.same({ 1, lock:token() }, { told.count, told[1][2] })
        assert.is_true(lock:release())
        assert.equal(0, sweeps.errors)
        sweeps.listen()
      end,
    })

    sweep("whether somebody was asked", {
      before = sweeps.taken,
      run = function() return lock:revoke(PATIENCE) end,
      after = function(ok, asked, err)
        assert.equal(nil, err)
        if not ok then return end
        assert.is_true(asked)
        assert(other:mutex(path):release())
      end,
    })

    sweep("of states, in their order", {
      before = function() mine = sweeps.connect { on_state = tell } end,
      run = function()
        mine:poll()
        mine:close()
      end,
      after = function()
        mine:close()
        assert.same({ 2, "connected", "closed" }, { told.count, told[1][1], told[2][1] })
        assert.equal(0, sweeps.errors)
        sweeps.listen()
      end,
    })

    sweep("who is in the line", {
      before = sweeps.taken,
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
end)
