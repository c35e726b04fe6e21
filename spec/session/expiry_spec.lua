-- SPDX-License-Identifier: MIT
--- A session that ends while something is under way: a release, a create, a wait with a deadline.

local fixture = require "spec.support.fixture"
local proxy = require "spec.support.proxy"
local queue = require "spec.support.queue"
local session = require "spec.support.session"
local wait = require "spec.support.wait"

local SESSION = 12 -- seconds: only the spec ends sessions
local PATIENCE = wait.PATIENCE

describe("a session that expires", function()
  local here = fixture.new("/expiry", { session_timeout = SESSION })
  local direct, faulty, client, lock, line, losses

  setup(function() direct, faulty = here:connect(), here:proxy { doors = 5 } end)

  before_each(function()
    line = queue.at(here.tree, here.path)
    client = here:connect_to(faulty.hosts, { connect_timeout = PATIENCE })
    lock = client:mutex(line.path)
    local note
    losses, note = here.notes()
    lock:on_lost(note)
    assert(lock:acquire(PATIENCE)) -- makes the path
    assert.is_true(lock:release())
    assert.is_true(client:flush(PATIENCE))
    faulty:reset()
  end)

  --- Ends the session; returns when the client has a new one.
  local function expire()
    local sessions = client:stats().sessions
    faulty:expire_session(client:session_id())
    faulty:heal()
    wait.eventually(function()
      return client:stats().sessions > sessions and client:state() == "connected"
    end, PATIENCE, "a new session")
  end

  --- From when the rule strikes the client finds no server, until `expire`.
  local function then_refuse(verb, op)
    faulty[verb](faulty, op)
    faulty:refuse()
  end

  local function is_granted(request) here:eventually(function() return request:state() == "held" end, "a grant") end

  --- The first in line is this client's, and the token comes from its node.
  local function stands_first(token)
    local _, stat = line:first()
    assert.is_true(session.same(stat.ephemeralOwner, client:session_id()))
    assert.equal(stat.czxid, token)
  end

  -- ---- a release --------------------------------------------------------------------------------------------------

  for title, lose in pairs {
    ["that never arrived"] = function() then_refuse("cut_before", "delete") end,
    ["that arrived, unanswered"] = function() then_refuse("lose_reply", "delete") end,
    ["that could not even be sent"] = function()
      faulty:refuse()
      faulty:cut()
      wait.eventually(function() return client:state() == "suspended" end)
    end,
  } do
    it(("with a release %s: it is released, no loss, and nothing is left"):format(title), function()
      assert(lock:acquire(PATIENCE))
      local last = here:ask(direct:mutex(line.path), PATIENCE)
      line:becomes(2)
      lose()
      assert.is_true(lock:release())
      wait.eventually(function() return client:state() == "suspended" end)
      assert.equal("disconnected", (select(2, client:flush(0.05))))
      expire()
      assert.is_true(client:flush(PATIENCE))
      is_granted(last)
      assert.equal(1, #line:names())
      assert.is_true(last:release())
      line:becomes(0)
      assert.same({ nil, "not owner" }, { lock:release() })
      client:poll()
      assert.same({}, losses)
      local stats = client:stats()
      assert.same({ 2, 0, 0, 0 }, { stats.released, stats.lost, stats.held, stats.waiting })
    end)

    it(("with a release %s: the next of ours has lost what it was handed"):format(title), function()
      assert(lock:acquire(PATIENCE))
      local second = here:ask(lock, PATIENCE)
      line:becomes(2)
      local last = here:ask(direct:mutex(line.path), PATIENCE)
      line:becomes(3)
      lose()
      assert.is_true(lock:release())
      wait.eventually(function() return client:state() == "suspended" end)
      client:poll()
      local handed = second:state() == "held" -- it may have heard of it before the link went
      local token = second:token()
      expire()
      is_granted(last)
      if handed then
        here:eventually(function() return #losses > 0 end, "news of the loss")
        assert.same({ { "lost", second, token } }, losses)
        assert.equal("lost", second:state())
        assert.is_true(last:token() > token)
      else
        assert.equal("waiting", second:state())
      end
      assert.is_true(last:release())
      if not handed then
        is_granted(second)
        stands_first(second:token())
        assert.is_true(second:release())
      end
      line:becomes(0)
      assert.equal(handed and 1 or 0, #losses)
    end)
  end

  -- ---- a create ---------------------------------------------------------------------------------------------------

  for title, verb in pairs { ["that never arrived"] = "cut_before", ["that arrived, unanswered"] = "lose_reply" } do
    it(("with a create %s: it is made in the new session, once"):format(title), function()
      then_refuse(verb, proxy.TAKE)
      local request = here:ask(lock, PATIENCE)
      wait.eventually(function() return client:state() == "suspended" end)
      expire()
      is_granted(request)
      assert.equal(1, #line:names())
      stands_first(request:token())
      assert.is_true(request:release())
      line:becomes(0)
    end)

    it(("with a create %s, and given up: nothing is left"):format(title), function()
      then_refuse(verb, proxy.TAKE)
      local request, heard = here:ask(lock, nil)
      wait.eventually(function() return client:state() == "suspended" end)
      request:cancel()
      here:eventually(function() return #heard > 0 end)
      assert.same({ { nil, "cancelled" } }, heard)
      expire()
      assert.is_true(client:flush(PATIENCE))
      line:becomes(0)
      local stats = client:stats()
      assert.same({ 0, 0, 0 }, { stats.held, stats.waiting, stats.lost })
    end)
  end

  -- ---- a wait -----------------------------------------------------------------------------------------------------

  it("again and again does not put off the deadline of a wait", function()
    assert(direct:mutex(line.path):acquire(PATIENCE))
    local timeout, sessions = 0.5
    repeat -- a busy machine needs more time for more than one session
      timeout, sessions = 2 * timeout, client:stats().sessions
      local began = wait.now()
      local _, heard = here:ask(lock, timeout)
      -- Were the time to begin anew with each session, it would never be over.
      wait.eventually(function()
        expire()
        client:poll()
        return #heard > 0
      end, PATIENCE, "an answer at the deadline")
      assert.is_true(wait.now() - began > 0.99 * timeout, "it was answered too early")
      assert.is_true(heard[1][2] == "timeout" or heard[1][2] == "disconnected", heard[1][2])
      assert.equal(1, #heard)
    until client:stats().sessions > sessions + 1
    line:becomes(1)
    assert.is_true(direct:mutex(line.path):release())
  end)

  it("out of reach is missed by those who wait, and they stand in line again", function()
    assert(direct:mutex(line.path):acquire(PATIENCE))
    local first, second = here:ask(lock, PATIENCE), here:ask(lock, PATIENCE)
    line:becomes(3)
    local last = here:ask(direct:mutex(line.path), PATIENCE)
    line:becomes(4)
    faulty:refuse()
    faulty:cut()
    wait.eventually(function() return client:state() == "suspended" end)
    faulty:expire_session(client:session_id())
    assert.is_true(direct:mutex(line.path):release())
    is_granted(last) -- who was behind them is before them now
    expire()
    line:becomes(3)
    assert.same({ "waiting", "waiting" }, { first:state(), second:state() })
    assert.is_true(last:release())
    is_granted(first)
    stands_first(first:token())
    assert.is_true(first:release())
    is_granted(second)
    assert.is_true(second:release())
    line:becomes(0)
  end)
end)
