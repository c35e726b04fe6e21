-- SPDX-License-Identifier: MIT
--- A leader that was deposed and does not know: it goes on answering reads and syncs, its clients' sessions seem to
--- live, while a new leader has ended them. These specs show what a holder who is its client may believe meanwhile.

local ensemble = require "spec.support.ensemble"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local SESSION = 15 -- seconds: the old leader stands still during an election, which the link must survive
local PATIENCE = wait.PATIENCE

-- The old leader misses the others after so many ticks of 200 ms: long after the election, also of a busy machine, and
-- the end of the sessions.
local NOTICES = 3000

describe("on a leader that was deposed and does not know #once", function()
  local three, old, client, others, count, path

  setup(function()
    three = ensemble.start { links = true, config = { syncLimit = NOTICES } }
    count = 0
  end)

  before_each(function()
    count = count + 1
    path = ("/deposed/%d"):format(count)
    old = three:leader()
    local hosts = {}
    for n, one in ipairs(three.servers) do
      if n ~= old then hosts[#hosts + 1] = one.hosts end
    end
    client = assert(zklock.connect(three.servers[old].hosts, { session_timeout = SESSION, connect_timeout = PATIENCE }))
    others = assert(zklock.connect(table.concat(hosts, ","), { session_timeout = 60, connect_timeout = PATIENCE }))
  end)

  after_each(function()
    three:rejoin(old)
    others:close()
    client:close()
  end)

  teardown(function() three:close() end)

  it("no two are sure to hold", function()
    local lock, losses = client:mutex(path), {}
    lock:on_lost(function(...) losses[#losses + 1] = { ... } end)
    local token = assert(lock:acquire(PATIENCE, "me"))
    local next_token
    local successor = others:mutex(path):request(2 * PATIENCE, function(granted) next_token = granted end)
    wait.eventually(function() return #lock:participants(PATIENCE) == 2 end, PATIENCE, "a line of two")
    assert.is_true(lock:validity("me") > 0)

    three:depose(old)
    assert.equal("leader", three:role(old))
    assert(lock:participants(PATIENCE), "the old leader must answer")
    wait.eventually(function()
      client:poll()
      others:poll(0.02)
      local both = next_token ~= nil -- asked first: he was granted before we looked at what follows
      assert.is_true(not both or lock:validity("me") == 0, "two sure holders")
      return both
    end, PATIENCE, "the next one's turn")
    assert.is_true(next_token > token)
    assert.equal("leader", three:role(old))
    assert.same({}, losses)
    assert.is_false(lock:is_held("me"))

    three:rejoin(old)
    wait.eventually(function()
      client:poll(0.02)
      return #losses > 0
    end, PATIENCE, "the bad news")
    assert.same({ { "lost", "me", token } }, losses)
    assert.is_true(successor:release())
    assert.is_true(assert(lock:acquire(PATIENCE, "me")) > next_token)
  end)
end)
