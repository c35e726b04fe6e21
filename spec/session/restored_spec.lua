-- SPDX-License-Identifier: MIT
--- Servers that come back with older data than their clients have seen, or with none: they refuse those clients, for
--- ever.

local inspector = require "spec.support.inspector"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local SESSION = 4 -- seconds
local PATIENCE = wait.PATIENCE
local PATH = "/restored/lock"

describe("servers that come back #once", function()
  local zk, copy, holder, waiter, lock, token, losses, answers, request

  before_each(function() zk = server.start() end)

  after_each(function()
    holder:close()
    waiter:close()
    zk:stop()
  end)

  local function connect()
    return assert(zklock.connect(zk.hosts, { session_timeout = SESSION, connect_timeout = PATIENCE }))
  end

  --- As somebody else than our clients.
  local function write(path)
    local tree = inspector.connect(zk.hosts)
    assert(tree:create(path))
    tree:close()
  end

  local function back_up()
    zk:kill()
    copy = zk:back_up()
    zk:start()
  end

  local function hold_and_wait()
    losses, answers = {}, {}
    lock = holder:mutex(PATH)
    lock:on_lost(function(...) losses[#losses + 1] = { ... } end)
    token = assert(lock:acquire(PATIENCE, "me"))
    request = waiter:mutex(PATH):request(2 * PATIENCE, function(got, err) answers[#answers + 1] = { got, err } end)
    wait.eventually(function() return #lock:participants(PATIENCE) == 2 end)
  end

  local function come_back(with)
    zk:kill()
    zk:restore(with)
    zk:start()
  end

  local function everybody_hears()
    wait.eventually(function()
      holder:poll(0.01)
      waiter:poll(0.01)
      return #losses > 0 and #answers > 0
    end, PATIENCE, "the bad news for the holder and the waiter's turn")
    assert.same({ { "lost", "me", token } }, losses)
    assert.is_number(answers[1][1], answers[1][2])
    assert.same({ nil, "lost" }, { lock:release("me") })
    assert.equal(1, #lock:participants(PATIENCE)) -- the holder has a session again
    assert.same({ nil, "timeout" }, { lock:acquire(0, "me") })
    assert.is_true(holder:flush(PATIENCE))
    assert.equal(1, #waiter:mutex(PATH):participants(PATIENCE))
    assert.is_true(request:release())
    assert.is_number(lock:acquire(PATIENCE, "me"))
    assert.is_true(lock:release("me"))
    assert.is_true(holder:flush(PATIENCE))
    assert.is_true(waiter:flush(PATIENCE))
    assert.same({ 1, 1 }, { #losses, #answers })
    assert.same({}, waiter:mutex(PATH):participants(PATIENCE))
  end

  it("without their data: holders are told, waiters queue anew", function()
    holder, waiter = connect(), connect()
    hold_and_wait()
    come_back()
    everybody_hears()
  end)

  it("without the sessions of today: holders are told, waiters queue anew", function()
    write("/before")
    back_up()
    holder, waiter = connect(), connect()
    hold_and_wait()
    come_back(copy)
    everybody_hears()
  end)

  it("with the sessions, but not with what they made: holders are told, waiters queue anew", function()
    holder, waiter = connect(), connect()
    back_up()
    hold_and_wait()
    come_back(copy)
    everybody_hears()
  end)
end)
