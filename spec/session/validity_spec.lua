-- SPDX-License-Identifier: MIT
--- An answer proves less of the session than one thinks. No two are ever sure to hold.

local ensemble = require "spec.support.ensemble"
local loop = require "spec.support.loop"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local PATH, OTHER = "/validity/a", "/validity/b"

--- Waits until the next in line is granted, and demands that who held before is not sure by then.
---@param validity fun(): number of the former holder
---@param client table the next one's
---@param granted fun(): integer?
local function one_is_sure(validity, client, granted)
  local token = wait.eventually(function()
    client:poll(0.02)
    return granted() -- asked first: he was granted before we look at the other
  end, PATIENCE, "the next one's turn")
  assert.equal(0, validity(), "two sure holders")
  return token
end

-- A follower answers before the leader has heard from it that the session lives, which is up to half a tick later.
describe("a process that was stopped for half of its session #once", function()
  local TICK, TICKS = 500, 10 -- ms; ticks of a session
  local STOPPED = 4.8 * TICK / 1000 -- seconds
  local three, client, sleeper

  setup(function() three = ensemble.start { tick_time = TICK } end)

  after_each(function()
    sleeper:kill()
    client:close()
  end)

  teardown(function() three:close() end)

  it("is not sure for longer than its session lives if its server stops as it wakes", function()
    local follower, leader = three:follower(), three:leader()
    client = assert(zklock.connect(three.servers[leader].hosts, { session_timeout = 60, connect_timeout = PATIENCE }))
    sleeper = worker.start()
    assert.is_true(sleeper:connect(three.servers[follower].hosts,
      { session_timeout = TICKS * TICK / 1000, connect_timeout = PATIENCE }))
    assert.is_number(sleeper:acquire(PATH, PATIENCE))
    for _ = 1, 2 do -- all that is on the way to the other lock is there then
      assert.is_number(sleeper:acquire(OTHER, PATIENCE))
      assert.is_true(sleeper:release(OTHER))
    end
    local token
    client:mutex(PATH):request(2 * PATIENCE, function(granted) token = granted end)
    wait.eventually(function() return #sleeper:participants(PATH, PATIENCE) == 2 end)
    assert.is_true(sleeper:validity(PATH) > 0)

    sleeper:stop()
    loop.turn_until(function() return false end, STOPPED)
    sleeper:begin("acquire", OTHER, PATIENCE)
    sleeper:continue()
    assert.is_number(sleeper:finish())
    three:stop(follower)
    one_is_sure(function() return sleeper:validity(PATH) end, client, function() return token end)
    three:resume(follower)
  end)
end)

describe("a session that was shortened at a reconnect #once", function()
  local LONG, SHORT = 12, 1 -- seconds
  local zk, faulty, client, other

  after_each(function()
    other:close()
    faulty:heal()
    client:close()
    faulty:close()
    zk:stop()
  end)

  it("is trusted for as long as it lives now", function()
    zk = server.start()
    faulty = proxy.start(zk.hosts)
    client = assert(zklock.connect(faulty.hosts, { session_timeout = LONG, connect_timeout = PATIENCE }))
    other = assert(zklock.connect(zk.hosts, { session_timeout = LONG, connect_timeout = PATIENCE }))
    local lock, token = client:mutex(PATH), nil
    assert(lock:acquire(PATIENCE, "me"))
    other:mutex(PATH):request(2 * PATIENCE, function(granted) token = granted end)
    wait.eventually(function() return #lock:participants(PATIENCE) == 2 end)

    zk:kill()
    zk.options.max_session_timeout = 1000 * SHORT
    faulty:cut() -- nothing that is still on the old link counts
    faulty:hold_before("*")
    zk:start()
    wait.eventually(function()
      client:poll(0.01)
      return client:session_timeout() == SHORT
    end, PATIENCE, "the reconnect")
    one_is_sure(function() return lock:validity("me") end, other, function() return token end)
  end)
end)
