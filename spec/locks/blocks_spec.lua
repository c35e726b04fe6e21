-- SPDX-License-Identifier: MIT
--- A mutex that is held for a block: with() and guard().

local collect = require "spec.support.collect"
local fixture = require "spec.support.fixture"
local script = require "spec.support.script"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE

describe("a mutex", function()
  local here = fixture.new("/blocks")
  local client, other, path

  setup(function() client, other = here:connect(), here:second_process() end)

  before_each(function() path = here.path end)

  --- The other process holds the lock.
  local function taken(at) return assert(other:acquire(at or path, PATIENCE)) end

  describe("with()", function()
    it("returns true and the function's results, and passes it the token and the arguments", function()
      local lock, held = client:mutex(path), nil
      local function inside(token, ...)
        held = lock:is_held() and token == lock:token()
        return select("#", ...), nil, ...
      end
      local results = { n = select("#", lock:with(PATIENCE, inside, "a", nil)) }
      assert.equal(5, results.n)
      assert.same({ true, 2, nil, "a", nil }, { lock:with(PATIENCE, inside, "a", nil) })
      assert.is_true(held)
      assert.is_false(lock:is_held())
      here:becomes(0)
    end)

    it("needs no timeout", function()
      local lock = client:mutex(path)
      assert.same({ true, "x" }, { lock:with(function(token, x) return token and x end, "x") })
      assert.same({ true }, { lock:with(nil, function() end) })
    end)

    it("returns the error if it cannot acquire, and does not call the function", function()
      local lock, called = client:mutex(path), false
      taken()
      assert.same({ nil, "timeout" }, { lock:with(0, function() called = true end) })
      other:release(path)
      assert.is_false(called)
    end)

    it("gives the function the token, and as many arguments as it was called with", function()
      local lock = client:mutex(path)
      local function count(...) return select("#", ...) end
      assert.same({ true, 1 }, { lock:with(count) })
      assert.same({ true, 2 }, { lock:with(count, nil) })
      assert.same({ true, 4 }, { lock:with(count, nil, 1, nil) })
      assert.same({ true, 1 }, { lock:with(PATIENCE, count) })
      assert.same({ true, 3 }, { lock:with(PATIENCE, count, nil, nil) })
    end)

    it("releases when the function raises, and raises the same error, a text with its traceback", function()
      local lock, problem = client:mutex(path), {}
      local ok, err = pcall(lock.with, lock, PATIENCE, function() error(problem) end)
      assert.is_false(ok)
      assert.equal(problem, err)
      assert.is_false(lock:is_held())
      here:becomes(0)
      local function deep_inside() error("a text", 0) end
      ok, err = pcall(lock.with, lock, function() lock:with(function() deep_inside() return 1 end) end)
      assert.is_false(ok)
      assert.matches("^a text\nstack traceback:\n", err)
      assert.matches("in .-'deep_inside'", err)
      assert.equal(1, select(2, err:gsub("stack traceback", "")))
      assert.is_false(lock:is_held())
    end)

    it("is reentrant", function()
      local lock = client:mutex(path)
      assert.same({ true, true, "deep" }, { lock:with(function()
        return lock:with(0, function() return "deep" end)
      end) })
      assert.is_false(lock:is_held())
      assert(lock:acquire(PATIENCE))
      lock:with(0, function() end)
      assert.is_true(lock:is_held())
      lock:release()
    end)
  end)

  describe("guard()", function()
    it("holds until it is released; twice is fine", function()
      local lock = client:mutex(path)
      local guard = assert(lock:guard(PATIENCE))
      assert.is_true(guard:is_held())
      assert.is_true(lock:is_held())
      assert.equal(lock:token(), guard:token())
      assert.is_true(guard:release())
      assert.is_true(guard:release())
      assert.is_false(guard:is_held())
      assert.is_nil(guard:token())
      assert.is_false(lock:is_held())
      here:becomes(0)
    end)

    it("returns the error if it cannot acquire", function()
      taken()
      assert.same({ nil, "timeout" }, { client:mutex(path):guard(0) })
      other:release(path)
    end)

    it("counts with the other holds of its owner", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      local guard, second = assert(lock:guard(0)), assert(lock:guard(0))
      guard:release()
      guard:release()
      second:release()
      assert.is_true(lock:is_held())
      assert.is_true(lock:release())
      assert.is_false(lock:is_held())
    end)

    it("releases when it is collected", function()
      local lock, before = client:mutex(path), client:stats().abandoned
      assert(lock:guard(PATIENCE)) -- and dropped
      wait.eventually(function()
        collect()
        client:poll()
        return #here:nodes() == 0
      end, PATIENCE, "the end of a collected guard's node")
      assert.is_false(lock:is_held())
      assert.equal(before + 1, client:stats().abandoned)
      assert(lock:acquire(PATIENCE))
      assert.is_true(lock:release())
    end)

    it("that was released does not release again when it is collected", function()
      local lock = client:mutex(path)
      local guard = assert(lock:guard(PATIENCE))
      guard:release()
      assert(lock:acquire(PATIENCE))
      guard = nil -- luacheck: ignore 311
      collectgarbage()
      collectgarbage()
      client:poll()
      assert.is_true(lock:is_held())
      assert.is_true(lock:release())
    end)

    it("is closed at the end of its block, also by an error", function()
      if not script.has_close() then return pending("this Lua has no to-be-closed variables") end
      local run = assert(load([[
        local lock, patience, problem = ...
        local held
        do
          local guard <close> = assert(lock:guard(patience))
          held = lock:is_held()
        end
        local after = lock:is_held()
        local ok, err = pcall(function()
          local guard <close> = assert(lock:guard(patience))
          error(problem)
        end)
        do local guard <close> = lock:guard(patience) guard:release() end
        return held, after, ok, err
      ]]))
      local lock, problem = client:mutex(path), {}
      assert.same({ true, false, false, problem }, { run(lock, PATIENCE, problem) })
      assert.is_false(lock:is_held())
      here:becomes(0)
    end)
  end)
end)
