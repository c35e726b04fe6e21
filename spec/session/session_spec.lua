-- SPDX-License-Identifier: MIT
--- The news that holders, waiters and listeners get when the session is over, or a lock's node was deleted.

local fixture = require "spec.support.fixture"
local session = require "spec.support.session"
local wait = require "spec.support.wait"

local SESSION = 30 -- seconds: longer than anything here takes, if the spec does not end it
local PATIENCE = wait.PATIENCE

describe("a session that expires", function()
  local here = fixture.new("/session", { session_timeout = SESSION })
  local tree, faulty, client, direct, lock, path, states, losses

  setup(function() tree, direct, faulty = here.tree, here:connect(), here:proxy() end)

  local function note_loss(...) losses[#losses + 1] = { ... } end

  before_each(function()
    path, states = here.path, {}
    client = here:connect_to(faulty.hosts, { on_state = function(state) states[#states + 1] = state end })
    lock, losses = client:mutex(path), {}
    lock:on_lost(note_loss)
  end)

  --- Ends the session; returns when the client has a new one.
  local function expire()
    local sessions = client:stats().sessions
    faulty:expire_session(client:session_id())
    wait.eventually(function()
      return client:stats().sessions > sessions and client:state() == "connected"
    end, PATIENCE, "a new session")
  end

  local function delete_node()
    local names = here:nodes()
    assert.equal(1, #names)
    assert.is_true(tree:delete(path .. "/" .. names[1]))
  end

  it("is followed by a new one, and the listener hears of both", function()
    local old = client:session_id()
    expire()
    assert.is_false(session.same(old, client:session_id()))
    assert.equal(2, client:stats().sessions)
    client:close()
    local heard = {}
    for _, state in ipairs(states) do
      -- Whether the link went and came before that is the network's affair.
      local told = state ~= "suspended" and state ~= "connecting" and state ~= heard[#heard]
      if told then heard[#heard + 1] = state end
    end
    assert.same({ "connected", "expired", "connected", "closed" }, heard)
  end)

  for title, lose in pairs { ["the session expired"] = expire, ["its node was deleted"] = delete_node } do
    describe("and a holder, when " .. title .. ",", function()
      local function lost() return client:stats().lost > 0 end

      it("hears of it once, with its owner and its token", function()
        local token = assert(lock:acquire(PATIENCE, "an owner"))
        lose()
        here:eventually(function() return #losses > 0 end)
        client:poll(0.05)
        assert.same({ { "lost", "an owner", token } }, losses)
        assert.equal(1, client:stats().lost)
        assert.equal(0, client:stats().held)
      end)

      it("hears of it from poll alone, but does not hold any more at once", function()
        assert(lock:acquire(PATIENCE))
        assert.is_true(lock:is_held())
        lose()
        wait.eventually(lost)
        assert.is_false(lock:is_held())
        assert.equal(0, lock:validity())
        assert.is_nil(lock:token())
        assert.same({}, losses)
        here:eventually(function() return #losses > 0 end)
        assert.equal(1, #losses)
      end)

      it("gets 'lost' for its next release, then 'not owner'", function()
        assert(lock:acquire(PATIENCE))
        assert(lock:acquire(PATIENCE))
        assert(lock:acquire(PATIENCE))
        lose()
        wait.eventually(lost)
        assert.same({ nil, "lost" }, { lock:release() })
        assert.same({ nil, "not owner" }, { lock:release() })
        assert.same({ nil, "not owner" }, { lock:release() })
        here:eventually(function() return #losses > 0 end)
        assert.same({ nil, "not owner" }, { lock:release() })
        assert.equal(1, #losses)
      end)

      it("gets 'lost' also when it has heard of it", function()
        assert(lock:acquire(PATIENCE))
        lose()
        here:eventually(function() return #losses > 0 end)
        assert.same({ nil, "not owner" }, { lock:release("somebody else") })
        assert.same({ nil, "lost" }, { lock:release() })
        assert.same({ nil, "not owner" }, { lock:release() })
      end)

      it("queues anew for its next acquire, which is no reentrant one", function()
        local token = assert(lock:acquire(PATIENCE))
        lose()
        wait.eventually(lost)
        local again = assert(lock:acquire(PATIENCE))
        assert.is_true(again > token)
        assert.equal(1, #here:nodes())
        assert.is_true(lock:release())
        assert.same({ nil, "not owner" }, { lock:release() })
        here:eventually(function() return #losses > 0 end)
        assert.equal(1, #losses)
      end)

      it("as a request is 'lost'", function()
        local request = lock:request(PATIENCE, function() end)
        here:eventually(function() return request:state() == "held" end)
        local token = request:token()
        lose()
        wait.eventually(lost)
        assert.equal("lost", request:state())
        assert.is_nil(request:token())
        here:eventually(function() return #losses > 0 end)
        assert.same({ { "lost", request, token } }, losses)
        assert.equal("lost", request:state())
        assert.same({ nil, "lost" }, { request:release() })
        assert.same({ nil, "not owner" }, { request:release() })
      end)

      it("as a guard hears so from its release", function()
        local guard = assert(lock:guard(PATIENCE))
        lose()
        wait.eventually(lost)
        assert.is_false(guard:is_held())
        assert.is_nil(guard:token())
        assert.same({ nil, "lost" }, { guard:release() })
        assert.is_true(guard:release())
      end)

      it("in with() is told behind the function's results", function()
        local results = { lock:with(PATIENCE, function(token, word)
          lose()
          wait.eventually(lost)
          return word, lock:is_held(), token ~= nil
        end, "word") }
        assert.same({ nil, "lost", "word", false, true }, results)
        assert.same({ nil, "not owner" }, { lock:release() })
        local ok, err = pcall(lock.with, lock, PATIENCE, function()
          local before = client:stats().lost
          lose()
          wait.eventually(function() return client:stats().lost > before end)
          error("its own", 0)
        end)
        assert.is_false(ok)
        assert.matches("^its own\n", err)
      end)

      it("is told by the listener of the handle through which it acquired", function()
        local second, heard = client:mutex(path), 0
        second:on_lost(function() heard = heard + 1 end)
        assert(second:acquire(PATIENCE))
        assert(lock:acquire(PATIENCE)) -- reentrant: the hold was taken through `second`
        lose()
        here:eventually(function() return heard > 0 end)
        client:poll(0.05)
        assert.equal(1, heard)
        assert.same({}, losses)
      end)

      it("is not told when its listener was removed", function()
        assert(lock:acquire(PATIENCE))
        lock:on_lost(nil)
        lose()
        wait.eventually(lost)
        client:poll(0.05)
        assert.same({}, losses)
        assert.same({ nil, "lost" }, { lock:release() })
      end)

      it("is told although the handle was dropped", function()
        assert(lock:acquire(PATIENCE, "an owner"))
        lock = nil
        collectgarbage()
        collectgarbage()
        lose()
        here:eventually(function() return #losses > 0 end)
        assert.equal("an owner", losses[1][2])
      end)
    end)
  end

  it("loses every lock that was held, each told once", function()
    local locks, tokens, heard = {}, {}, {}
    for i = 1, 5 do
      locks[i] = client:mutex(path .. "/" .. i)
      locks[i]:on_lost(function(err, owner, token) heard[i] = { err, owner, token } end)
      tokens[i] = assert(locks[i]:acquire(PATIENCE, "me"))
    end
    expire()
    here:eventually(function() return #heard == 5 end)
    for i = 1, 5 do assert.same({ "lost", "me", tokens[i] }, heard[i]) end
    assert.equal(5, client:stats().lost)
    for i = 1, 5 do assert.is_number((locks[i]:acquire(PATIENCE, "me"))) end
  end)

  it("answers 'lost' to the release of each of 1,500 owners #once", function()
    local OWNERS = 1500
    local locks, answers = {}, {}
    for i = 1, OWNERS do
      locks[i] = client:mutex(("%s/many/%d"):format(here.path, i))
      assert(locks[i]:acquire(PATIENCE, "owner " .. i))
    end
    expire()
    here:eventually(function() return client:stats().lost == OWNERS end)
    client:poll()
    for i = 1, OWNERS do
      local _, err = locks[i]:release("owner " .. i)
      answers[err] = (answers[err] or 0) + 1
    end
    assert.same({ lost = OWNERS }, answers)
  end)

  it("lets waiters queue anew, in their order", function()
    assert(direct:mutex(path):acquire(PATIENCE))
    local order, requests = {}, {}
    for i = 1, 3 do
      requests[i] = lock:request(PATIENCE, function(token)
        order[#order + 1] = token and i or "failed"
        requests[i]:release()
      end)
    end
    here:becomes(4)
    expire()
    here:becomes(4)
    for _, name in ipairs(here:nodes()) do
      local owner = tree:exists(path .. "/" .. name).ephemeralOwner
      assert.is_true(session.same(owner, client:session_id()) or session.same(owner, direct:session_id()))
    end
    assert.same({}, order)
    assert.is_true(direct:mutex(path):release())
    here:eventually(function() return #order == 3 end)
    assert.same({ 1, 2, 3 }, order)
    assert.same({}, losses)
    assert.equal(0, client:stats().lost)
  end)

  it("does not give waiters more time", function()
    assert(direct:mutex(path):acquire(PATIENCE))
    local timeout, heard = 0.5
    repeat -- a busy machine needs more time until it stands in line
      timeout = 2 * timeout
      heard = select(2, here:ask(lock, timeout))
      here:eventually(function() return #here:nodes() == 2 or #heard > 0 end)
    until #heard == 0
    expire()
    here:eventually(function() return #heard > 0 end)
    assert.equal(1, #heard)
    assert.is_true(heard[1][2] == "timeout" or heard[1][2] == "disconnected", heard[1][2]) -- as the link is then
    here:becomes(1)
    direct:mutex(path):release()
  end)

  it("makes who waits in acquire wait on, and get the lock", function()
    assert(direct:mutex(path):acquire(PATIENCE, "a holder"))
    client:mutex(path .. "-free"):request(PATIENCE, function()
      here:becomes(2)
      expire()
      here:becomes(2)
      direct:mutex(path):release("a holder")
    end)
    local token = assert(lock:acquire(PATIENCE))
    assert.equal(tree:exists(path .. "/" .. here:nodes()[1]).czxid, token)
    assert.is_true(lock:release())
  end)

  it("while it was held gives the lock to the next, whose token is larger", function()
    local token = assert(lock:acquire(PATIENCE))
    local list = {}
    local request = direct:mutex(path):request(PATIENCE, function(got, err) list[#list + 1] = { got, err } end)
    here:becomes(2)
    expire()
    wait.eventually(function()
      direct:poll(0.02)
      return #list > 0
    end)
    assert.is_true(list[1][1] > token)
    assert.is_false(lock:is_held())
    assert.same({ nil, "timeout" }, { lock:acquire(0) })
    assert(request:release())
  end)

  it("again and again leaves nothing behind", function()
    for i = 1, 5 do
      assert(lock:acquire(PATIENCE))
      expire()
      assert.same({ nil, "lost" }, { lock:release() })
      assert.equal(i + 1, client:stats().sessions)
    end
    assert.is_true(client:flush(PATIENCE))
    assert.same({}, here:nodes())
    here:eventually(function() return #losses == 5 end)
  end)
end)
