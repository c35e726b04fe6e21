-- SPDX-License-Identifier: MIT
--- A follower that is cut off from its leader goes on answering reads for a while: what a holder and a waiter who are
--- its clients may believe meanwhile.

local ensemble = require "spec.support.ensemble"
local inspector = require "spec.support.inspector"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local SESSION = 6 -- seconds
local PATIENCE = wait.PATIENCE

-- The follower notices after so many ticks of 200 ms that its leader is silent: long after the sessions are over.
local NOTICES = 3000

describe("on a server that is cut off from its leader #slow", function()
  local three, follower, there, elsewhere, client, direct, lock, path, count

  setup(function()
    three = ensemble.start { links = true, config = { syncLimit = NOTICES } }
    count = 0
  end)

  before_each(function()
    count = count + 1
    path = ("/cut-off/%d"):format(count)
    follower = three:follower()
    local leader = three.servers[three:leader()].hosts
    there = inspector.connect(three.servers[follower].hosts)
    elsewhere = inspector.connect(leader)
    client = assert(zklock.connect(three.servers[follower].hosts, { session_timeout = SESSION }))
    direct = assert(zklock.connect(leader, { session_timeout = 60 }))
    lock = client:mutex(path)
  end)

  after_each(function()
    three:rejoin(follower)
    direct:close()
    client:close()
    there:close()
    elsewhere:close()
  end)

  teardown(function() three:close() end)

  --- The path of the one node below ours; on every server by now.
  local function only_node()
    assert(there:sync())
    local names = assert(there:children(path))
    assert.equal(1, #names)
    return path .. "/" .. names[1]
  end

  local function nodes() return elsewhere:children(path) or {} end

  it("a holder knows that it may have lost before the leader frees its node", function()
    local losses = {}
    lock:on_lost(function(...) losses[#losses + 1] = { ... } end)
    local token = assert(lock:acquire(PATIENCE, "me"))
    local node = only_node()
    local next_token
    local successor = direct:mutex(path):request(PATIENCE, function(granted) next_token = granted end)
    wait.eventually(function() return #nodes() == 2 end)
    three:isolate(follower)
    wait.eventually(function()
      local gone = not elsewhere:exists(node) -- asked first: it was gone before the answer to what follows
      assert.is_true(not gone or lock:validity("me") == 0, "believed in after the leader freed it")
      assert.is_true(not gone or not lock:is_held("me"))
      direct:poll()
      assert.is_true(not next_token or lock:validity("me") == 0, "two holders")
      lock:participants(0.05) -- reads of our own, for as long as they are answered
      return next_token
    end, PATIENCE, "the next one's turn")
    assert.is_true(next_token > token)
    assert.is_not_nil(there:exists(node), "the server that is cut off must answer with what it knew")
    assert.same({}, losses)

    three:rejoin(follower)
    wait.eventually(function()
      client:poll(0.02)
      return #losses > 0
    end, PATIENCE, "the bad news")
    assert.same({ { "lost", "me", token } }, losses)
    assert.is_true(successor:release())
    assert.is_true(assert(lock:acquire(PATIENCE, "me")) > next_token)
    assert.equal(1, #nodes())
  end)

  it("a waiter is granted nothing, and waits on when the server is back", function()
    assert(direct:mutex(path):acquire(PATIENCE))
    local list = {}
    local request = lock:request(4 * PATIENCE, function(got, err) list[#list + 1] = { got, err } end)
    wait.eventually(function() return #nodes() == 2 end)
    three:isolate(follower)
    assert.is_true(direct:mutex(path):release())
    assert.is_true(direct:flush(PATIENCE))
    -- Its turn came unseen, and its session goes.
    wait.eventually(function()
      client:poll()
      return #nodes() == 0
    end, PATIENCE, "the end of its session")
    assert.same({}, list)
    local between = assert(direct:mutex(path):acquire(PATIENCE))
    client:poll(0.05)
    assert.same({}, list)

    three:rejoin(follower)
    wait.eventually(function()
      client:poll(0.02)
      return #nodes() == 2
    end, PATIENCE, "its place in the line")
    assert.same({}, list)
    assert.is_true(direct:mutex(path):release())
    wait.eventually(function()
      client:poll(0.02)
      return #list > 0
    end, PATIENCE, "its turn")
    assert.is_true(list[1][1] > between)
    assert.is_true(request:release())
    assert.is_true(client:flush(PATIENCE))
    assert.same({}, nodes())
  end)

  it("what was asked for meanwhile ends at its deadline and leaves nothing behind", function()
    assert(lock:acquire(PATIENCE))
    assert.is_true(lock:release())
    assert.is_true(client:flush(PATIENCE))
    three:isolate(follower)
    local token, err = lock:acquire(0.5)
    assert.is_nil(token)
    assert.is_true(err == "timeout" or err == "disconnected", err)
    three:rejoin(follower)
    token = assert(lock:acquire(PATIENCE))
    wait.eventually(function() return #nodes() == 1 end, PATIENCE, "the end of the other node")
    assert.equal(elsewhere:exists(path .. "/" .. nodes()[1]).czxid, token)
  end)
end)
