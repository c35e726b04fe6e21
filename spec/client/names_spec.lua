-- SPDX-License-Identifier: MIT
--- Servers that are known by name, when the names stop being known or come to mean other addresses.

local fixture = require "spec.support.fixture"
local port = require "spec.support.port"
local resolver = require "spec.support.resolver"
local session = require "spec.support.session"
local wait = require "spec.support.wait"

local NAME = "zk.test"
local HOSTS = NAME .. ":2181"
local SESSION = 10 -- seconds
local PATIENCE = wait.PATIENCE

describe("names of servers", function()
  local here = fixture.new("/names")
  local names, former, latter, other, path

  setup(function() names = resolver.new() end)

  before_each(function()
    path, former, latter = here.path, here:proxy(), here:proxy()
    names:set(NAME, former.hosts)
    other = here:worker { env = names.env }
  end)

  --- A lock is held in a session over the first addresses.
  local function hold(seconds)
    assert.is_true(other:connect(HOSTS, { session_timeout = seconds, connect_timeout = PATIENCE }))
    assert.equal(seconds, other:session_timeout())
    return assert(other:acquire(path, PATIENCE)), other:session_id()
  end

  local function becomes(state)
    wait.eventually(function() return other:state() == state end, PATIENCE, state)
  end

  --- The lock was never lost.
  local function still_holds(token, id)
    becomes("connected")
    assert.is_true(session.same(id, other:session_id()))
    assert.equal(token, other:acquire(path, PATIENCE))
    assert.is_true(other:is_held(path))
    local stats = other:stats()
    assert.same({ 1, 0 }, { stats.sessions, stats.lost })
    assert.is_true(other:release(path))
    assert.is_true(other:release(path))
    assert.is_true(other:flush(PATIENCE))
    assert.same({}, here.tree:children(path))
  end

  it("that stop being known do not end the session #slow", function()
    local token, id = hold(SESSION)
    names:set(NAME, nil)
    former:reset()
    former:await("sync", 2) -- heartbeats
    assert.is_true(other:is_held(path))
    former:cut()
    still_holds(token, id)
  end)

  it("that come to mean other addresses lead to those when the servers are gone, in the same session #slow", function()
    local token, id = hold(SESSION)
    assert.equal(1, former:links())
    names:set(NAME, latter.hosts)
    former:refuse()
    former:cut()
    becomes("suspended")
    still_holds(token, id)
    assert.equal(1, latter:links())
    assert.equal(0, former:links())
  end)

  -- The handle that is given up may have found a server after all: to close it ends the session then.
  it("that come to mean other addresses: nothing is believed from when the old ones are given up #slow", function()
    local token, id = hold(5 * SESSION)
    names:set(NAME, latter.hosts)
    latter:black_hole()
    former:refuse()
    former:cut()
    assert.is_true(other:validity(path) > 0)
    wait.eventually(function() return latter:links() == 1 end, PATIENCE, "another link")
    assert.equal(0, other:validity(path))
    latter:heal()
    latter:cut()
    still_holds(token, id)
  end)

  it("that come to mean other addresses while a server falls silent lead to those #slow", function()
    local token, id = hold(SESSION)
    names:set(NAME, latter.hosts)
    former:black_hole()
    becomes("suspended")
    becomes("connected")
    assert.equal(1, latter:links())
    local again, err = other:acquire(path, PATIENCE)
    if again then
      assert.equal(token, again)
      assert.is_true(session.same(id, other:session_id()))
    else -- a slow machine: two thirds of the session's time had gone when the silence was noticed
      assert.equal("lost", err)
    end
  end)

  it("that are unknown for a while, and then mean other addresses, lead to those #slow", function()
    local token, id = hold(SESSION)
    names:set(NAME, nil)
    former:refuse()
    former:cut()
    becomes("suspended")
    local asked = names:lookups(NAME)
    wait.eventually(function() return names:lookups(NAME) > asked end, PATIENCE, "another look-up")
    names:set(NAME, latter.hosts)
    still_holds(token, id)
  end)

  it("of which one stops being known for a while still lead to the server that it meant #slow", function()
    names:set("a.test", "127.0.0.1:" .. port.free()) -- nobody's
    assert.is_true(other:connect("a.test:2181," .. HOSTS, { session_timeout = SESSION, connect_timeout = PATIENCE }))
    local token, id = assert(other:acquire(path, PATIENCE)), other:session_id()
    names:set(NAME, nil)
    former:refuse()
    former:cut()
    becomes("suspended")
    local asked = names:lookups(NAME)
    wait.eventually(function() return names:lookups(NAME) > asked end, PATIENCE, "another look-up")
    former:heal()
    still_holds(token, id)
  end)

  it("that stop being known do not keep the next session from coming", function()
    local token = hold(SESSION)
    names:set(NAME, nil)
    former:expire_session(other:session_id())
    wait.eventually(function() return other:stats().sessions == 2 end, PATIENCE, "a new session")
    assert.is_true(assert(other:acquire(path, PATIENCE)) > token)
  end)

  it("that mean other addresses are of no interest while the server answers", function()
    local token, id = hold(SESSION)
    names:set(NAME, latter.hosts)
    former:reset()
    former:await("sync") -- a heartbeat
    assert.equal(0, latter:links())
    still_holds(token, id)
    -- The next link, too, may be to a server that is known to be good.
    former:cut()
    becomes("connected")
    assert.is_true(session.same(id, other:session_id()))
  end)

  it("that mean several addresses, of which some are nobody's, lead to the one that answers", function()
    names:set(NAME, ("127.0.0.1:%d,%s,127.0.0.1:%d"):format(port.free(), former.hosts, port.free()))
    local token, id = hold(SESSION)
    former:cut()
    still_holds(token, id)
  end)

  it("that are unknown at first are looked up until they are known", function()
    names:set(NAME, nil)
    assert.is_true(other:connect(HOSTS, { session_timeout = SESSION, connect_timeout = 0 }))
    assert.equal("disconnected", (select(2, other:acquire(path, 0))))
    wait.eventually(function() return names:lookups(NAME) >= 2 end, PATIENCE, "another look-up")
    assert.equal("connecting", other:state())
    names:set(NAME, former.hosts)
    assert(other:acquire(path, PATIENCE))
    assert.equal("connected", other:state())
  end)

  it("are not looked up without need", function()
    hold(SESSION)
    local asked = names:lookups(NAME)
    former:reset()
    former:await("sync", 3)
    assert.equal(asked, names:lookups(NAME))
  end)
end)
