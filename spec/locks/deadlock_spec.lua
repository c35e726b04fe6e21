-- SPDX-License-Identifier: MIT
--- Owners of one client that wait for each other: the wait that closes the circle answers `deadlock`.

local cqueues = require "cqueues"
local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"

describe("a deadlock of one client's owners #once", function()
  local here = fixture.new("/deadlock")
  local client, controller, path

  before_each(function()
    path, controller = here.path, cqueues.new()
    client = here:connect { loop = "cqueues" }
  end)

  local function run_until(condition, what)
    wait.eventually(function()
      assert(controller:step(0.002))
      return condition()
    end, wait.PATIENCE, what)
  end

  --- Two coroutines: one takes `a`, then `b`; the other one the other way round, with that timeout for the second lock.
  --- The results of both for the second lock, in the order in which they came.
  local function cross(a, b, timeout)
    local got, holding = {}, 0
    local function run(first, second, seconds, behind)
      controller:wrap(function()
        assert(first:acquire())
        holding = holding + 1
        while holding < 2 or behind and client:stats().waiting == 0 do cqueues.sleep(0.001) end
        local token, err = second:acquire(seconds)
        got[#got + 1] = token and "token" or err
        if token then second:release() end
        first:release()
      end)
    end
    run(a, b)
    run(b, a, timeout, true)
    run_until(function() return #got == 2 end, "both answers")
    return got
  end

  --- The second one is answered while the first one waits, which then gets its lock.
  local DEADLOCK = { "deadlock", "token" }

  it("is answered at once, and the other one goes on", function()
    assert.same(DEADLOCK, cross(client:mutex(path .. "/a"), client:mutex(path .. "/b")))
  end)

  it("is found between a writer and a mutex, a multilock and a place", function()
    local other = client:mutex(path .. "/b")
    assert.same(DEADLOCK, cross(client:rwlock(path .. "/rw").write, other))
    assert.same(DEADLOCK, cross(client:multilock { path .. "/c", path .. "/d" }, other))
    assert.same(DEADLOCK, cross(client:mutex(path .. "/e", { fair = false }), other))
  end)

  it("is no error of a call with a timeout", function()
    assert.same({ "timeout", "token" }, cross(client:mutex(path .. "/a"), client:mutex(path .. "/b"), 0.05))
  end)

  it("is no matter of leases, which another coroutine may release", function()
    local semaphore, lock, taken, got = client:semaphore(path .. "/s", 1), client:mutex(path .. "/a"), nil, nil
    controller:wrap(function()
      taken = assert(semaphore:acquire())
      got = lock:acquire()
      lock:release()
    end)
    controller:wrap(function()
      assert(lock:acquire())
      while not taken or client:stats().waiting == 0 do cqueues.sleep(0.001) end
      assert(semaphore:acquire()):release()
      lock:release()
    end)
    run_until(function() return taken and client:stats().waiting == 2 end, "both waits")
    assert(taken:release())
    run_until(function() return got end, "the end of both waits")
  end)
end)
