-- SPDX-License-Identifier: MIT
--- Requests that are cancelled after the engine has granted them, and before a poll says so.

local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE

describe("a request that is cancelled after its grant, and before a poll,", function()
  local here = fixture.new("/cancelled")
  local client, other, path

  before_each(function() client, other, path = here:connect(), here:connect(), here.path end)

  --- Waits, without a poll, until the client holds so much.
  local function holds(n)
    wait.eventually(function() return client:stats().held == n end, PATIENCE, n .. " held")
  end

  --- Asks for the lock while `theirs` holds it, then releases `theirs`.
  ---@return table request granted, and not polled for
  ---@return any[][] heard
  local function granted(lock, theirs)
    local holder, answers = here:ask(theirs)
    assert.is_truthy(here:hear(answers)[1])
    local request, heard = here:ask(lock)
    wait.eventually(function() return client:stats().waiting == 1 end, PATIENCE, "the wait")
    assert.is_true(holder:release())
    holds(1)
    assert.equal("waiting", request:state())
    return request, heard
  end

  --- The other client gets the lock although this one never polls.
  local function goes_on(theirs)
    local heard, callback = here.answers()
    local request = theirs:request(PATIENCE, callback)
    wait.eventually(function()
      other:poll(0.002)
      return heard[1]
    end, PATIENCE, "the next grant")
    assert.is_nil(heard[1][2])
    assert.is_true(request:release())
  end

  local function rw(one) return one:rwlock(path) end

  --- For each kind: makes the lock, and one that excludes it.
  local KINDS = {
    ["a mutex"] = { function(one) return one:mutex(path) end },
    ["a place that callers share"] = { function(one) return one:mutex(path, { fair = false, linger = 0 }) end },
    ["a read"] = { function(one) return rw(one).read end, function(one) return rw(one).write end },
    ["a write"] = { function(one) return rw(one).write end, function(one) return rw(one).read end },
    ["a multilock"] = { function(one) return one:multilock { path .. "/1", path .. "/2" } end },
    ["a lease"] = { function(one) return one:semaphore(path, 1) end },
  }

  for kind, make in pairs(KINDS) do
    it(("gives back %s without a poll"):format(kind), function()
      local ours, theirs = make[1](client), (make[2] or make[1])(other)
      local request, heard = granted(ours, theirs)
      assert.is_true(request:cancel())
      assert.equal(0, client:stats().held)
      goes_on(theirs)
      assert.is_true(request:cancel()) -- its callback has not been called
      assert.same({}, heard)
      assert.same({ nil, "cancelled" }, here:hear(heard))
      assert.equal("failed", request:state())
      assert.is_false(request:cancel())
      assert.same({ nil, "not owner" }, { request:release() })
      assert.is_true(client:flush(PATIENCE))
      client:poll()
      assert.equal(1, #heard)
      local stats = client:stats()
      assert.same({ 1, 1, 0, 0 }, { stats.acquired, stats.released, stats.abandoned, stats.lost })
    end)
  end

  it("hands a shared place to the next caller of its client, with its node", function()
    local ours, holder, taken = client:mutex(path, { fair = false, linger = 0 }), here:ask(other:mutex(path))
    here:hear(taken)
    local request, heard = here:ask(ours)
    local second, answers = here:ask(ours)
    here:becomes(2)
    assert.is_true(holder:release())
    holds(1)
    here:becomes(1)
    local node = here:only_node()
    assert.is_true(request:cancel())
    assert.equal(1, client:stats().held)
    assert.is_number(here:hear(answers)[1])
    assert.same({ { nil, "cancelled" } }, heard)
    assert.same({ node }, second:nodes())
    assert.equal(2, second:turn())
    assert.is_true(second:release())
  end)

  describe("with validity 0,", function()
    local faulty, requests, heard

    --- Two grants, of a lock and of a place that callers share, then no answers of a server, or no server in reach.
    ---@param direction string of `proxy:black_hole`
    local function become_unsure(direction)
      faulty = here:proxy()
      client = here:connect_to(faulty.hosts)
      local known = client:mutex(path .. "-known")
      assert(known:acquire(PATIENCE))
      requests, heard = {}, {}
      for i, fair in ipairs { true, false } do
        requests[i], heard[i] = here:ask(client:mutex(path .. "/" .. i, { fair = fair }))
      end
      holds(3)
      faulty:black_hole(direction)
      wait.eventually(function() return known:validity() == 0 end, PATIENCE, "the end of validity")
    end

    local function are_given_back()
      for i in ipairs(requests) do here:becomes(0, path .. "/" .. i) end
    end

    local function hear_once()
      assert.same({ {}, {} }, heard)
      here:eventually(function() return #heard[1] + #heard[2] > 1 end)
      client:poll()
      assert.same({ { { nil, "cancelled" } }, { { nil, "cancelled" } } }, heard)
      for _, request in ipairs(requests) do assert.equal("failed", request:state()) end
    end

    it("gives the lock back without a poll, once a server answers", function()
      become_unsure("to_client")
      for _, request in ipairs(requests) do assert.is_true(request:cancel()) end
      faulty:heal()
      are_given_back()
      hear_once()
    end)

    it("calls its callback once although the session ends", function()
      become_unsure("both")
      for _, request in ipairs(requests) do assert.is_true(request:cancel()) end
      are_given_back() -- the servers have ended the session
      faulty:cut()
      faulty:heal()
      wait.eventually(function() return client:stats().sessions == 2 end, PATIENCE, "another session")
      hear_once()
    end)
  end)
end)
