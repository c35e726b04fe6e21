-- SPDX-License-Identifier: MIT
--- Reentrant acquires of a mutex, and the values that can be owners.

local collect = require "spec.support.collect"
local fixture = require "spec.support.fixture"
local proxy = require "spec.support.proxy"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE

describe("a mutex", function()
  local here = fixture.new("/reentrancy")
  local zk, client, other, path

  setup(function() zk, client, other = here.zk, here:connect(), here:second_process() end)

  before_each(function() path = here.path end)

  --- The other process holds the lock.
  local function taken(at) return assert(other:acquire(at or path, PATIENCE)) end

  --- Runs fn in a coroutine of its own, and returns its results.
  local function in_coroutine(fn)
    local results
    local thread = coroutine.create(function() results = { fn() } end)
    assert(coroutine.resume(thread))
    return (table.unpack or unpack)(results, 1, 4) -- luacheck: ignore 113 143
  end

  --- Runs fn in a coroutine that lives on; `resume()` ends it.
  local function start(fn)
    local thread = coroutine.create(function()
      coroutine.yield(fn())
    end)
    local ok, a, b = coroutine.resume(thread)
    assert(ok, a)
    return thread, a, b
  end

  describe("reentrancy", function()
    it("gives an owner that holds it the same token, and counts", function()
      local lock = client:mutex(path)
      local token = assert(lock:acquire(PATIENCE))
      assert.equal(token, lock:acquire())
      assert.equal(token, lock:acquire(0))
      assert.is_true(lock:release())
      assert.is_true(lock:release())
      assert.is_true(lock:is_held())
      assert.same({ nil, "timeout" }, { other:acquire(path, 0) })
      assert.is_true(lock:release())
      assert.is_false(lock:is_held())
      assert.same({ nil, "not owner" }, { lock:release() })
      here:becomes(0)
    end)

    it("creates no node and sends no request", function()
      local faulty = proxy.start(zk.hosts)
      local mine = assert(zklock.connect(faulty.hosts, { session_timeout = 40 }))
      local lock = mine:mutex(path)
      assert(lock:acquire(PATIENCE))
      wait.eventually(function() return mine:flush(PATIENCE) and #here:nodes() == 1 end)
      faulty:black_hole() -- a request would now wait
      for _ = 1, 5 do assert(lock:acquire(PATIENCE)) end
      for _ = 1, 5 do assert.is_true(lock:release()) end
      faulty:heal()
      assert.is_true(lock:is_held())
      assert.equal(1, #here:nodes())
      assert.equal(1, mine:stats().acquired)
      mine:close()
      faulty:close()
      here:becomes(0)
    end)

    -- Loads the library again, and counts each call into C.
    it("asks the engine once for each call, and allocates nothing #once", function()
      local result = wait.run_lua([[
        local core, calls = require "zklock.core", 0
        local function counted(fn)
          return function(...)
            calls = calls + 1
            return fn(...)
          end
        end
        local function count_all(functions)
          for name, fn in pairs(functions) do
            if type(fn) == "function" then functions[name] = counted(fn) end
          end
        end
        count_all(core)
        count_all(debug.getregistry()["zklock.client"])
        count_all(debug.getregistry()["zklock.contender"])
        local client = assert(require "zklock".connect(arg[1]))

        local function look(what, fn)
          fn()
          collectgarbage()
          collectgarbage("stop")
          fn() -- the collector takes room for calls away, too
          calls = 0
          local before = collectgarbage("count")
          for _ = 1, 100 do fn() end
          local grown = collectgarbage("count") - before
          collectgarbage("restart")
          if calls ~= 100 or grown > 0 then print(what, calls / 100 .. " calls", grown .. " KiB") end
        end
        local function look_at(lock, owner)
          local kind = tostring(owner or coroutine.running())
          assert(lock:acquire(60, owner))
          calls = 0
          look(kind .. ": acquire", function() assert(lock:acquire(60, owner)) end)
          look(kind .. ": acquire without a timeout", function() assert(lock:acquire(nil, owner)) end)
          for _ = 1, 10 do assert(lock:acquire(60, owner)) end
          look(kind .. ": release", function() assert(lock:release(owner)) end)
          look(kind .. ": is_held", function() assert(lock:is_held(owner)) end)
          look(kind .. ": validity", function() assert(lock:validity(owner) > 0) end)
          look(kind .. ": token", function() assert(lock:token(owner)) end)
          while lock:release(owner) do end
        end
        look_at(client:mutex(arg[2]))
        look_at(client:mutex(arg[2]), "somebody")
        coroutine.wrap(look_at)(client:mutex(arg[2]))
        local readers = client:rwlock(arg[2] .. "/readers").read
        assert(readers:acquire(60, "another"))
        coroutine.wrap(look_at)(readers)
        assert(readers:acquire(60))
        assert(readers:acquire(60, "the last to come"))
        look_at(readers)
        local guard = assert(client:mutex(arg[2] .. "/guarded"):guard(20))
        look("guard: is_held", function() assert(guard:is_held()) end)
        client:close()
      ]], here.zk.hosts, path)
      assert.same({ 0, "", "" }, { result.code, result.stdout, result.stderr })
    end)

    it("is visible to each owner for itself only", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      assert(lock:acquire(PATIENCE))
      assert.is_false(in_coroutine(function() return lock:is_held() end))
      assert.same({ 0, nil }, { in_coroutine(function() return lock:validity(), lock:token() end) })
      assert.same({ nil, "not owner" }, { in_coroutine(function() return lock:release() end) })
      assert.same({ nil, "timeout" }, { in_coroutine(function() return lock:acquire(0) end) })
      assert.is_true(lock:release())
      assert.is_true(lock:release())
      in_coroutine(function()
        assert(lock:acquire(PATIENCE))
        assert(lock:acquire(PATIENCE))
        assert.is_false(in_coroutine(function() return lock:is_held() end))
        assert.is_true(lock:release())
        assert.is_true(lock:release())
        assert.same({ nil, "not owner" }, { lock:release() })
      end)
    end)

    it("does not apply to a table that a caller names as the owner", function()
      local lock, somebody = client:mutex(path), {}
      assert(lock:acquire(PATIENCE, somebody))
      assert(lock:acquire(PATIENCE, somebody))
      assert.is_false(lock:is_held())
      assert.same({ nil, "not owner" }, { lock:release() })
      assert.is_true(lock:release(somebody))
      assert.is_true(lock:release(somebody))
    end)

    it("refuses a bad timeout also if the owner already holds the lock", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      for _, bad in ipairs { "5", -1, 0 / 0, false } do
        local ok, err = pcall(lock.acquire, lock, bad)
        assert.is_false(ok)
        assert.truthy(err:find("'timeout'", 1, true), err)
      end
      assert.is_true(lock:release())
      assert.same({ nil, "not owner" }, { lock:release() })
    end)

    it("spans all handles with one path", function()
      local a, b = client:mutex(path), client:mutex(path)
      local token = assert(a:acquire(PATIENCE))
      assert.is_true(b:is_held())
      assert.equal(token, b:token())
      assert.equal(token, b:acquire(0))
      assert.is_true(a:release())
      assert.is_true(a:is_held())
      assert.is_true(b:release())
      assert.is_false(a:is_held())
    end)

    it("does not span paths", function()
      local a, b = client:mutex(path .. "/a"), client:mutex(path .. "/b")
      assert(a:acquire(PATIENCE))
      assert.is_false(b:is_held())
      assert(b:acquire(PATIENCE))
      assert.not_equal(a:token(), b:token())
      assert.is_true(a:release())
      assert.is_true(b:is_held())
      assert.is_true(b:release())
    end)

    it("lets one owner wait twice, and both waits get the same token", function()
      local lock = client:mutex(path)
      taken()
      local inner
      local signal = client:mutex(path .. "-signal"):request(PATIENCE, function()
        other:begin("release", path)
        inner = { lock:acquire(PATIENCE, "x") }
      end)
      local token = assert(lock:acquire(PATIENCE, "x"))
      other:finish()
      assert.same({ token }, inner)
      assert.is_true(signal:release())
      assert.is_true(lock:release("x"))
      assert.is_true(lock:is_held("x"))
      assert.is_true(lock:release("x"))
      assert.same({ nil, "not owner" }, { lock:release("x") })
      here:becomes(0)
    end)
  end)

  describe("owners", function()
    it("that wait twice wait with two deadlines", function()
      if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then return pending("a callback holds up who polls there") end
      local lock, first = client:mutex(path), nil
      taken()
      local signal = client:mutex(path .. "-signal"):request(PATIENCE, function()
        first = { lock:acquire(PATIENCE, "x") }
      end)
      here:eventually(function() return signal:state() == "held" and #here:nodes() == 2 end)
      assert.same({ nil, "timeout" }, { lock:acquire(0.1, "x") })
      assert.equal(1, client:stats().waiting, "the first waits on")
      other:release(path)
      here:eventually(function() return first end)
      assert.is_number(first[1])
      assert.is_true(lock:release("x"))
      assert.is_true(signal:release())

      taken()
      signal = client:mutex(path .. "-signal"):request(PATIENCE, function()
        first = { lock:acquire(0.1, "x") }
        other:release(path)
      end)
      assert.is_number((lock:acquire(PATIENCE, "x")), "the second waits on")
      assert.same({ nil, "timeout" }, first)
      assert.is_true(lock:release("x"))
      assert.is_true(signal:release())
    end)

    it("are coroutines: one does not release or enter what another holds", function()
      local lock = client:mutex(path)
      local thread, token = start(function() return lock:acquire(PATIENCE) end)
      assert.is_number(token)
      assert.is_false(lock:is_held())
      assert.is_true(lock:is_held(thread))
      assert.equal(token, lock:token(thread))
      assert.same({ nil, "not owner" }, { lock:release() })
      assert.same({ nil, "timeout" }, { lock:acquire(0) })
      local foreign = { in_coroutine(function() return lock:release() end) }
      assert.same({ nil, "not owner" }, foreign)
      assert.is_true(lock:release(thread))
      assert.is_false(lock:is_held(thread))
    end)

    it("the main program is one", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      assert.same({ nil, "timeout" }, { in_coroutine(function() return lock:acquire(0) end) })
      assert.is_false((in_coroutine(function() return lock:is_held() end)))
      assert.is_true(lock:release())
    end)

    local values = { "a string", "", 7, 0.5, math.huge, true, false, {}, print, function() end,
      coroutine.create(function() end) }
    for i, owner in ipairs(values) do
      it(("can be any value: %d, a %s"):format(i, type(owner)), function()
        local lock, again = client:mutex(path), client:mutex(path)
        local token = assert(lock:acquire(PATIENCE, owner))
        assert.is_true(lock:is_held(owner))
        assert.is_false(lock:is_held())
        assert.is_false(lock:is_held("somebody else"))
        assert.equal(token, again:acquire(0, owner))
        assert.equal(token, again:token(owner))
        assert.is_true(again:validity(owner) > 0)
        assert.same({ nil, "timeout" }, { lock:acquire(0, "somebody else") })
        assert.same({ nil, "not owner" }, { lock:release() })
        assert.same({ nil, "not owner" }, { lock:release("somebody else") })
        assert.is_true(again:release(owner))
        assert.is_true(in_coroutine(function() return lock:release(owner) end))
        assert.same({ nil, "not owner" }, { lock:release(owner) })
      end)
    end

    it("that are numbers are the same when they are equal", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE, 1))
      assert.is_true(lock:is_held(1.0))
      assert.is_false(lock:is_held("1"))
      assert.is_true(lock:release(1.0))
    end)

    it("release their locks when they have ended", function()
      local lock, before = client:mutex(path), client:stats().abandoned
      in_coroutine(function() return assert(lock:acquire(PATIENCE)) end)
      client:poll()
      here:becomes(0)
      assert.equal(before + 1, client:stats().abandoned)
      assert(lock:acquire(PATIENCE))
      assert.is_true(lock:release())
    end)

    it("do not hold up the next acquire of their process when they have ended", function()
      local lock = client:mutex(path)
      in_coroutine(function() return assert(lock:acquire(PATIENCE)) end)
      assert(lock:acquire(PATIENCE))
      assert.is_true(lock:release())
    end)

    it("release their locks when they have been collected", function()
      local lock, before = client:mutex(path), client:stats().abandoned
      local owner = start(function() return assert(lock:acquire(PATIENCE)) end)
      assert.equal(1, #here:nodes())
      assert.is_true(lock:is_held(owner))
      owner = nil -- luacheck: ignore 311
      wait.eventually(function()
        collect()
        client:poll()
        return #here:nodes() == 0
      end, PATIENCE, "the end of a collected coroutine's node")
      assert.equal(before + 1, client:stats().abandoned)
    end)

    it("keep the lock also when no handle is left", function()
      assert(client:mutex(path):acquire(PATIENCE, "keeper"))
      assert(client:mutex(path):acquire(0, "keeper"))
      collectgarbage()
      collectgarbage()
      client:poll()
      assert.is_true(client:mutex(path):is_held("keeper"))
      assert.equal(1, #here:nodes())
      assert.is_true(client:mutex(path):release("keeper"))
      assert.is_true(client:mutex(path):release("keeper"))
    end)
  end)
end)
