-- SPDX-License-Identifier: MIT
--- max_waiting: one waiter too many gets "busy" at once. #once

local fixture = require "spec.support.fixture"
local proxy = require "spec.support.proxy"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local BUSY = { nil, "busy" }

describe("max_waiting #once", function()
  local here = fixture.new("/max-waiting", { session_timeout = 20 })
  local client, other, path

  setup(function() client, other = here:connect(), here:connect() end)

  before_each(function() path = here.path end)

  --- Asks with a request; `answers` gets the error, or "granted", under its name.
  local function ask(lock, answers, name, timeout)
    return lock:request(timeout or PATIENCE, function(token, err) answers[name] = token and "granted" or err end)
  end

  it("lets so many callers wait for a holder of this client; one more gets 'busy', also with a timeout of 0", function()
    local lock, answers = client:mutex(path, { max_waiting = 2 }), {}
    assert(lock:acquire(PATIENCE))
    local first, second = ask(lock, answers, 1), ask(lock, answers, 2)
    local third = ask(lock, answers, 3)
    here:eventually(function() return answers[3] end)
    assert.same({ [3] = "busy" }, answers)
    assert.equal("failed", third:state())
    assert.same(BUSY, { lock:acquire(PATIENCE, "another") })
    assert.same(BUSY, { lock:acquire(0, "another") })
    assert.same(BUSY, { lock:guard(nil, "another") })
    assert.is_number(lock:acquire(0)) -- reentrant
    assert(lock:release())
    here:becomes(3)
    assert(lock:release())
    here:eventually(function() return answers[1] == "granted" end)
    ask(lock, answers, 4) -- there is room again
    assert.same(BUSY, { lock:acquire(PATIENCE, "another") })
    assert(first:release())
    here:eventually(function() return answers[2] == "granted" end)
    assert(second:release())
    here:eventually(function() return answers[4] == "granted" end)
  end)

  it("of 0 lets no caller wait, but grants a free lock", function()
    local lock = client:mutex(path, { max_waiting = 0 })
    assert.is_number(lock:acquire(PATIENCE))
    assert.same(BUSY, { lock:acquire(PATIENCE, "another") })
    assert.same(BUSY, { lock:acquire(0, "another") })
    assert(lock:release())
    local foreign = other:mutex(path)
    assert(foreign:acquire(PATIENCE))
    assert.same(BUSY, { lock:acquire(PATIENCE) })
    assert.same({ nil, "timeout" }, { lock:acquire(0) })
    here:becomes(1)
    assert(foreign:release())
    assert(other:flush(PATIENCE)) -- or the servers may hear of us before
    assert.is_number(lock:acquire(PATIENCE))
    assert(lock:release())
  end)

  it("counts callers that wait for another client's holder, and lets the first one wait", function()
    local lock, foreign, answers = client:mutex(path, { max_waiting = 2 }), other:mutex(path), {}
    assert(foreign:acquire(PATIENCE))
    local requests = {}
    for i = 1, 5 do requests[i] = ask(lock, answers, i) end -- of the first nothing is known yet
    here:eventually(function() return answers[3] and answers[4] and answers[5] end)
    assert.same({ [3] = "busy", [4] = "busy", [5] = "busy" }, answers)
    here:becomes(3)
    assert.same(BUSY, { lock:acquire(PATIENCE) })
    assert(foreign:release())
    here:eventually(function() return answers[1] end)
    assert(requests[1]:release())
    here:eventually(function() return answers[2] end)
    assert(requests[2]:release())
    assert.equal("granted", answers[1] and answers[2])
  end)

  it("does not count readers that hold, nor a read under the owner's own write", function()
    local rw = client:rwlock(path, { max_waiting = 1 })
    for i = 1, 5 do assert.is_number(rw.read:acquire(PATIENCE, i)) end
    local answers = {}
    local writer = ask(rw.write, answers, "writer")
    assert.same(BUSY, { rw.read:acquire(PATIENCE, "late") })
    assert.same(BUSY, { rw.write:acquire(PATIENCE, "late") })
    assert.same({ nil, "deadlock" }, { rw.write:acquire(PATIENCE, 1) })
    assert.is_number(rw.read:acquire(PATIENCE, 1))
    assert(rw.read:release(1))
    for i = 1, 5 do assert(rw.read:release(i)) end
    here:eventually(function() return answers.writer end)
    assert.is_true(writer:release())
    assert.is_number(rw.write:acquire(PATIENCE))
    local second = ask(rw.write, answers, "second")
    assert.is_number(rw.read:acquire(0))
    assert(rw.read:release())
    assert(rw.write:release())
    here:eventually(function() return answers.second end)
    assert.is_true(second:release())
  end)

  it("refuses no waiter that queues again after an expiry", function()
    local relay = proxy.start(here.zk.hosts)
    local cut = assert(zklock.connect(relay.hosts, { session_timeout = 20 }))
    local foreign, answers = other:mutex(path), {}
    assert(foreign:acquire(PATIENCE))
    local lock, requests = cut:mutex(path, { max_waiting = 2 }), {}
    for i = 1, 2 do
      requests[i] = lock:request(60, function(token, err) answers[i] = token and "granted" or err end)
    end
    here:becomes(3)
    local before = cut:stats().sessions
    relay:expire_session(cut:session_id())
    wait.eventually(function()
      cut:poll(0.02)
      return cut:stats().sessions > before and #here:nodes() == 3
    end, PATIENCE, "a new session")
    assert.same({}, answers)
    assert(foreign:release())
    for i = 1, 2 do
      wait.eventually(function()
        cut:poll(0.02)
        return answers[i]
      end, PATIENCE)
      assert(requests[i]:release())
    end
    assert.same({ "granted", "granted" }, answers)
    cut:close()
    relay:close()
  end)

  it("belongs to the path, is a whole number from 0, and is no option of multilocks and semaphores", function()
    local lock = client:mutex(path, { max_waiting = 2 })
    assert(lock:acquire(PATIENCE))
    assert.is_false((pcall(client.mutex, client, path, { max_waiting = 1 })))
    assert.is_true(lock:release())
    for _, value in ipairs { -1, 0.5, 0 / 0, math.huge, "1", true } do
      local ok, message = pcall(client.mutex, client, path .. "-bad", { max_waiting = value })
      assert.is_false(ok)
      assert.matches("'options.max_waiting'", message)
    end
    assert.is_false((pcall(client.semaphore, client, path .. "-s", 1, { max_waiting = 1 })))
    assert.is_false((pcall(client.multilock, client, { path .. "-m" }, { max_waiting = 1 })))
  end)

  it("answers 'closed' rather than 'busy' on a closed client", function()
    local mine = assert(zklock.connect(here.zk.hosts))
    local lock = mine:mutex(path, { max_waiting = 0 })
    assert(lock:acquire(PATIENCE))
    mine:close()
    assert.same({ nil, "closed" }, { lock:acquire(PATIENCE, "another") })
  end)
end)
