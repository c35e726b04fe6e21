-- SPDX-License-Identifier: MIT
--- The cost of an operation when there is much of something: steps are counted, not seconds.

local check = require "zklock.base.check"
local interpreted = require "spec.support.interpreted"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE

describe("how much work there is", function()
  --- How many instructions fn takes, in hundreds.
  local function steps(fn, ...)
    local n = 0
    local compile = interpreted()
    debug.sethook(function() n = n + 1 end, "", 100)
    fn(...)
    debug.sethook()
    compile()
    return n
  end

  local function paths(n)
    local list = {}
    for i = 1, n do list[i] = ("/much/%d/%d"):format(i % 7, i) end
    return list
  end

  it("for the paths of a multilock is in proportion to them", function()
    local few, many = steps(check.paths, paths(250), "paths"), steps(check.paths, paths(1000), "paths")
    assert.is_true(many < 8 * few, ("%d for 250, %d for 1000"):format(few, many))
  end)

  describe("to keep handles of locks that nobody asks for", function()
    local client

    setup(function() client = assert(zklock.connect(server.shared().hosts, { session_timeout = 30 })) end)
    teardown(function() client:close() end)

    local function kib()
      collectgarbage()
      collectgarbage()
      return collectgarbage("count")
    end

    it("is less than 600 bytes for each", function()
      local COUNT = 10000
      local names, handles = {}, {}
      for i = 1, COUNT do names[i], handles[i] = "/idle/" .. i, false end
      local before = kib()
      for i = 1, COUNT do handles[i] = client:mutex(names[i]) end
      local each = (kib() - before) * 1024 / COUNT
      assert.is_true(each < 600, each)
      assert.equal("/idle/1", handles[1]:path())
    end)

    it("keeps nothing of a hold that was given back #once", function()
      local lock = client:mutex("/given/back")
      assert(lock:acquire(PATIENCE))
      local contender = setmetatable({ lock.lock_path.holder.contender }, { __mode = "v" })
      assert.truthy(contender[1])
      assert(lock:release())
      wait.eventually(function()
        client:poll(0.01) -- takes the event that says whether the hold was lost
        kib()
        return not contender[1]
      end)
      assert.equal("/given/back", lock:path())
    end)

    it("is nothing when they were dropped", function()
      local function make(first)
        for i = first, first + 99999 do
          client:mutex("/dropped/" .. i)
          -- Or how far the table of known paths grows would hang on when a collection comes.
          if i % 5000 == 0 then collectgarbage() end
        end
        return kib()
      end
      local before = make(1)
      local after = make(100001)
      -- A table with room for twice 5000 is at most 640 KiB; the names alone of 100,000 that stay are 3000.
      assert.is_true(after - before < 1000, after - before)
    end)
  end)

  describe("with hundreds of coroutines that hold #once", function()
    local OWNERS = 600
    local client, threads
    local looks = 0

    setup(function()
      client = assert(zklock.connect(server.shared().hosts, { session_timeout = 30 }))
      threads = {}
      for i = 1, OWNERS do
        threads[i] = coroutine.create(function()
          assert(client:mutex("/growth/" .. i):acquire(PATIENCE))
          coroutine.yield()
        end)
        assert(coroutine.resume(threads[i]))
      end
      local whos = client.lifetimes.whos
      client.lifetimes.whos = setmetatable({}, {
        __index = function(_, number)
          looks = looks + 1
          return whos[number]
        end,
        __newindex = whos,
      })
    end)

    before_each(function() looks = 0 end)

    teardown(function() client:close() end)

    it("looks at few of them for a poll", function()
      client:poll()
      assert.is_true(looks > 0 and looks < OWNERS / 2, looks)
    end)

    it("looks at few of them for an acquire, when the servers answer soon", function()
      local lock, fewest = client:mutex("/growth/mine"), math.huge
      for _ = 1, 20 do -- on a busy machine some answers are late
        looks = 0
        assert(lock:acquire(PATIENCE))
        assert(lock:release())
        fewest = math.min(fewest, looks)
      end
      assert.is_true(fewest < OWNERS, fewest)
    end)

    it("looks at all of them before it sleeps for long", function()
      local dead = OWNERS / 2
      local lock = client:mutex("/growth/" .. dead)
      assert(coroutine.resume(threads[dead])) -- it ends, holding
      threads[dead] = nil
      assert(lock:acquire(PATIENCE, "somebody"))
      assert(lock:release("somebody"))
    end)
  end)
end)
