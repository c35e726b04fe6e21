-- SPDX-License-Identifier: MIT
--- Foreign children in a lock's directory: garbage, others' nodes, thousands of them, and sequences at the end of their
--- counter.

local history = require "spec.support.history"
local inspector = require "spec.support.inspector"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local MOST = 2147483647 -- the last sequence number
local USED_UP = "zookeeper: DATAINCONSISTENCY"
local UUID = "01234567-89ab-4def-8123-456789abcdef"

describe("a lock's directory", function()
  local zk, tree, client, other, path

  setup(function()
    -- Its directories have counted almost to the end.
    zk = server.new(history.OPTIONS)
    local counters = { ["/order"] = MOST - 4, ["/strangers"] = MOST - 50, ["/end"] = MOST - 8, ["/over"] = MOST,
      ["/shared"] = MOST }
    history.write(zk, counters)
    zk:launch()
    zk:await()
    tree = inspector.connect(zk.hosts)
    for directory in pairs(counters) do assert(tree:delete(directory .. "/first")) end
    client = assert(zklock.connect(zk.hosts, { session_timeout = 30 }))
    other = assert(zklock.connect(zk.hosts, { session_timeout = 30 }))
  end)

  teardown(function()
    client:close()
    other:close()
    tree:close()
    zk:stop()
  end)

  local function nodes() return tree:children(path) or {} end

  local function becomes(n)
    wait.eventually(function() return tree:exists(path) and tree:exists(path).numChildren == n end, PATIENCE,
      ("%d nodes"):format(n))
  end

  local function poll_until(condition, what)
    wait.eventually(function()
      client:poll(0.005)
      other:poll(0.005)
      return condition()
    end, PATIENCE, what)
  end

  local function nothing_is_left()
    assert.is_true(client:flush(PATIENCE))
    assert.is_true(other:flush(PATIENCE))
    assert.same({}, nodes())
  end

  it("may contain ten thousand foreign children, which the client ignores and leaves alone #slow", function()
    path = "/crowded"
    assert(tree:create(path))
    local forms = { "garbage-%d", "lock-%d", "_c_" .. UUID .. "-lease-%010d", "_c_" .. UUID .. "-lock-%010dx",
      "%010d", "-lock_%010d", "__lock__%d", "LOCK-%010d", "lock-%011d", "lock--%010d", "\195\164-%d", "%d-lock-" }
    local crowd = {}
    for i = 1, 10000 do crowd[i] = path .. "/" .. forms[i % #forms + 1]:format(i) end
    tree:create_all(crowd)
    assert.equal(10000, #nodes())

    local lock, turns = client:mutex(path), {}
    local token = assert(lock:acquire(PATIENCE, "me"))
    assert.equal(1, #lock:participants(PATIENCE))
    for i, who in ipairs { other, client, other } do
      local request
      request = who:mutex(path):request(PATIENCE, function(granted)
        turns[#turns + 1] = granted and i
        request:release()
      end)
      becomes(10001 + i)
    end
    client:poll(0.05)
    assert.same({}, turns)
    assert.is_true(lock:release("me"))
    poll_until(function() return #turns == 3 end, "every turn")
    assert.same({ 1, 2, 3 }, turns)
    assert.is_true(assert(lock:acquire(PATIENCE, "me")) > token)
    assert.is_true(lock:release("me"))
    becomes(10000)
    local left = {}
    for _, name in ipairs(nodes()) do left[path .. "/" .. name] = true end
    for _, name in ipairs(crowd) do assert.is_true(left[name], name) end
    tree:delete_all(crowd)
  end)

  it("keeps the order of arrival up to the end of its counter", function()
    path = "/order"
    local order, requests = {}, {}
    for i = 1, 4 do
      requests[i] = (i % 2 == 0 and client or other):mutex(path):request(PATIENCE, function(token)
        order[#order + 1] = token and i
      end)
      becomes(i)
    end
    for i = 1, 4 do
      poll_until(function() return #order >= i end, "the next turn")
      client:poll(0.01)
      assert.equal(i, #order)
      assert.is_true(requests[i]:release())
    end
    assert.same({ 1, 2, 3, 4 }, order)
    nothing_is_left()
  end)

  it("keeps the order of its sequences, also of forged ones", function()
    path = "/strays"
    assert(tree:create(path, ""))
    local function stray(number)
      local name = ("%s/_c_%s-lock-%s"):format(path, UUID, number)
      assert(tree:create(name, ""))
      return name
    end
    local last = stray "2147483647"
    local lock = client:mutex(path)
    assert(lock:acquire(0)) -- that one comes behind us
    local first, second = stray "-2147483647", stray "-000000005"
    local list = {}
    for i, entry in ipairs(lock:participants(PATIENCE)) do list[i] = entry.sequence end
    assert.same({ -MOST, -5, 1, MOST }, list)
    assert.is_true(lock:release())
    assert.same({ nil, "timeout" }, { lock:acquire(0) }) -- these come before us, as any node does that is there
    for _, name in ipairs { first, second } do tree:delete(name) end
    assert(lock:acquire(0))
    assert.is_true(lock:release())
    tree:delete(last)
    nothing_is_left()
  end)

  it("grants no caller a sequence past the end of the counter", function()
    path = "/end"
    local MANY, GOOD = 20, 7 -- so many numbers are left before the last one
    local answers, requests, answered = {}, {}, 0
    assert(other:mutex(path):acquire(PATIENCE))
    -- All are on their way together: the server goes on counting below zero, and then gives the last number again.
    for i = 1, MANY do
      requests[i] = client:mutex(path):request(PATIENCE, function(token, err)
        if token then
          assert.same({ nil, USED_UP }, { other:mutex(path):acquire(PATIENCE) }) -- here a poll may return
          assert.equal("held", requests[i]:state())
          requests[i]:release()
        end
        answered = answered + 1
        answers[i] = token or err
      end)
    end
    poll_until(function() return answered == MANY - GOOD end, "those that came too late")
    assert.is_true(other:mutex(path):release())
    poll_until(function() return answered == MANY end, "every answer")
    for i = 1, MANY do
      if i > GOOD then
        assert.equal(USED_UP, answers[i])
      else
        assert.is_true(answers[i] > (answers[i - 1] or 0))
      end
    end
    assert.same({ nil, USED_UP }, { other:mutex(path):acquire(0) })
    nothing_is_left()
  end)

  it("refuses callers once its counter is used up, until it is created again", function()
    path = "/over"
    for _ = 1, 2 do
      for _, who in ipairs { client, other } do
        assert.same({ nil, USED_UP }, { who:mutex(path):acquire(PATIENCE) })
      end
    end
    nothing_is_left()
    assert.equal("connected", client:state())
    assert.is_true(tree:delete_tree(path))
    assert(client:mutex(path):acquire(PATIENCE))
    assert.same({ nil, "timeout" }, { other:mutex(path):acquire(0) })
    assert.is_true(client:mutex(path):release())
    nothing_is_left()
  end)

  it("also refuses readers and writers once its counter is used up", function()
    path = "/shared"
    for _ = 1, 2 do
      assert.same({ nil, USED_UP }, { client:rwlock(path).write:acquire(PATIENCE) })
      assert.same({ nil, USED_UP }, { other:rwlock(path).read:acquire(PATIENCE) })
    end
    nothing_is_left()
  end)
end)
