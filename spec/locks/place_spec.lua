-- SPDX-License-Identifier: MIT
--- fair = false on a real server: the callers of one client take turns on one node, their place. #once

local fixture = require "spec.support.fixture"
local places = require "spec.support.place"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE
local TIMEOUT = { nil, "timeout" }

describe("with fair = false #once", function()
  local here = fixture.new("/place", { session_timeout = 600 })
  local place = places.new(here)
  local client, other, path

  setup(function()
    client, other = here:connect(), here:connect()
    place.client = client
  end)

  before_each(function() path = here.path end)

  local function held_in_turn(lock, n)
    local turns = {}
    for i = 1, n do
      assert(lock:acquire(PATIENCE))
      turns[i] = lock:turn()
      assert(lock:release())
    end
    return turns
  end

  describe("callers of one client", function()
    it("take turns on one node, without traffic", function()
      local lock, token = place:idle()
      place:settles(lock)
      assert.is_true(place:requests_of(function()
        for _ = 1, 1000 do
          assert.equal(token, lock:acquire(PATIENCE))
          assert(lock:release())
        end
      end) < 5)
      assert.equal(1, #here:nodes())
      assert.is_true(client:stats().handed >= 1000)
    end)

    it("get the lock in order of arrival, each with a turn of its own", function()
      local lock, order = place:shared(), {}
      local token = assert(lock:acquire(PATIENCE))
      assert.equal(1, lock:turn())
      for i = 1, 5 do
        lock:request(PATIENCE, function(got, _, request)
          order[#order + 1] = ("%d %d %s"):format(i, request:turn(), tostring(got == token))
          request:release()
        end)
      end
      assert(lock:release())
      here:eventually(function() return #order == 5 end)
      assert.same({ "1 2 true", "2 3 true", "3 4 true", "4 5 true", "5 6 true" }, order)
      assert.equal(1, #here:nodes())
    end)

    it("have their turn when the release before it returns, without a poll", function()
      local lock = place:idle()
      place:settles(lock)
      assert(lock:acquire(PATIENCE))
      local request = lock:request(PATIENCE, function() end)
      assert(lock:release())
      assert.equal("held", request:state())
      assert.is_true(request:release())
    end)

    it("wait until their own deadlines", function()
      local lock = place:shared()
      assert(lock:acquire(PATIENCE))
      assert.same(TIMEOUT, { lock:acquire(0.05, "another") })
      local _, answers = here:ask(lock, 0.05)
      here:eventually(function() return answers[1] end)
      assert.same({ nil, "timeout" }, answers[1])
      assert(lock:release())
      assert.is_number(lock:acquire(0, "another"))
      assert(lock:release("another"))
    end)

    it("are inside one at a time, in all clients", function()
      local clients = { client, other, here:connect() }
      local inside, most, done, writes = 0, 0, 0, {}
      for i, each in ipairs(clients) do
        local options = i < 3 and { fair = false, stint = 0 } or nil
        local lock = each:mutex(path, options)
        for _ = 1, 20 do
          lock:request(PATIENCE, function(token, _, request)
            inside = inside + 1
            most = math.max(most, inside)
            writes[#writes + 1] = { assert(token), request:turn() }
            inside = inside - 1
            request:release()
            done = done + 1
          end)
        end
      end
      here:eventually(function() return done == 60 end)
      assert.equal(1, most)
      for i = 2, #writes do
        local before, now = writes[i - 1], writes[i]
        assert.is_true(before[1] < now[1] or before[1] == now[1] and before[2] < now[2])
      end
    end)
  end)

  describe("turn()", function()
    it("is that of the first acquire in those that are reentrant", function()
      local lock = place:idle()
      assert(lock:acquire(PATIENCE))
      local turn = lock:turn()
      assert(lock:acquire(PATIENCE))
      assert.equal(turn, lock:turn())
      assert(lock:release())
      assert.equal(turn, lock:turn())
      assert(lock:release())
      assert.is_nil(lock:turn())
    end)

    it("is that of a guard, until it is released", function()
      local lock = place:shared()
      local guard = assert(lock:guard(PATIENCE))
      assert.equal(1, guard:turn())
      assert(guard:release())
      assert.is_nil(guard:turn())
    end)

    it("is 0 with a fair lock, and nil for an owner that does not hold", function()
      local lock = client:mutex(path)
      assert.is_nil(lock:turn())
      assert(lock:acquire(PATIENCE))
      assert.equal(0, lock:turn())
      assert.is_nil(lock:turn("another"))
      assert(lock:release())
    end)

    it("begins anew with a new place, whose token is larger", function()
      local lock, token = place:idle()
      assert(client:flush(PATIENCE))
      assert.is_true(lock:acquire(PATIENCE) > token)
      assert.equal(1, lock:turn())
      assert(lock:release())
    end)
  end)

  describe("a place", function()
    it("goes when no caller has wanted it for the time of linger", function()
      local lock = place:shared { linger = 0.2 }
      assert(lock:acquire(PATIENCE))
      local released = wait.now()
      assert(lock:release())
      here:becomes(0)
      assert.is_true(wait.now() - released >= 0.2)
    end)

    it("with linger = 0 goes with the release", function()
      place:idle { linger = 0 }
      assert(client:flush(PATIENCE))
      assert.same({}, here:nodes())
    end)

    it("goes at once while idle if another client waits behind it", function()
      place:idle()
      local theirs = other:mutex(path)
      assert.is_number(theirs:acquire(PATIENCE))
      assert(theirs:release())
    end)

    it("makes other clients' acquire(0) fail while it is idle", function()
      local link = here:proxy()
      local silent = places.new(here)
      silent.client = here:connect_to(link.hosts)
      silent:idle()
      link:black_hole("to_client") -- otherwise it may make way before the list of the single try is answered
      assert.same(TIMEOUT, { other:mutex(path):acquire(0) })
    end)

    it("that is idle makes way for a multilock of its client", function()
      place:idle()
      local both = client:multilock { path, path .. "-b" }
      assert.is_number(both:acquire(0))
      assert(both:release())
    end)

    it("that is idle makes way for a handle with other options", function()
      place:idle()
      local fair = client:mutex(path)
      assert.is_number(client:mutex(path, { fair = true }):acquire(0))
      assert.equal(0, fair:turn())
      assert(fair:release())
    end)

    it("goes before a flush answers, so that other clients can get in", function()
      place:idle()
      assert.is_true(client:flush(PATIENCE))
      assert.same({}, here:nodes())
      assert.is_number(other:mutex(path):acquire(0))
      assert(other:mutex(path):release())
    end)

    it("that is idle is a holder among the participants", function()
      local lock = place:idle()
      local list = assert(lock:participants(PATIENCE))
      assert.equal(1, #list)
      assert.is_true(list[1].holder and list[1].mine)
      assert.equal(0, client:stats().held)
    end)

    it("that is idle goes when it is revoked, which answers true", function()
      place:idle()
      assert.is_true(other:mutex(path):revoke(PATIENCE))
      here:becomes(0)
    end)

    it("goes when the client closes", function()
      local mine = here:connect()
      local lock = mine:mutex(path, { fair = false, linger = 100 })
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
      mine:close()
      assert.same({}, here:nodes())
    end)

    it("that is idle is given up when its link is cut #carried", function()
      local faulty = here:proxy()
      local mine = here:connect_to(faulty.hosts)
      local lock = mine:mutex(path, { fair = false, linger = 100 })
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
      assert.equal(1, #here:nodes())
      faulty:cut()
      here:becomes(0)
    end)
  end)

  describe("the waiters behind a place", function()
    it("wait for one hold with stint = 0", function()
      local lock, order = place:shared { stint = 0 }, {}
      assert(lock:acquire(PATIENCE))
      local function ask(who, of)
        of:request(PATIENCE, function(token, err, request)
          order[#order + 1] = token and who or err
          request:release()
        end)
      end
      ask("theirs", other:mutex(path))
      here:becomes(2)
      assert(lock:participants(PATIENCE)) -- the directory's watch fires before the answer
      for _ = 1, 5 do ask("ours", lock) end
      assert(lock:release())
      here:eventually(function() return #order == 6 end)
      assert.same({ "theirs", "ours", "ours", "ours", "ours", "ours" }, order)
    end)

    it("wait for at most a stint, however many the grants", function()
      local lock = place:shared { stint = 0.2 }
      local theirs
      local request = other:mutex(path):request(PATIENCE, function(token) theirs = token end)
      here:eventually(function() return theirs end)
      request:release()
      local stop, taken = false, 0
      local function again(token, err, mine)
        if not token then error(err) end
        taken = taken + 1
        mine:release()
        if not stop then lock:request(PATIENCE, again) end
      end
      lock:request(PATIENCE, again)
      lock:request(PATIENCE, again)
      here:eventually(function() return taken > 10 end)
      local _, answers = here:ask(other:mutex(path))
      here:eventually(function() return answers[1] end)
      assert.is_number(answers[1][1])
      stop = true
    end)
  end)

  it("acquire(0) gets an idle place, and fails at once behind one of ours", function()
    local lock = place:idle()
    place:settles(lock)
    assert.is_true(place:requests_of(function() assert.is_number(lock:acquire(0)) end) < 3)
    assert.is_true(place:requests_of(function() assert.same(TIMEOUT, { lock:acquire(0, "another") }) end) < 3)
    assert(lock:release())
  end)

  it("a revocation reaches the holder, and the place goes with its release", function()
    local lock, heard = place:shared(), {}
    lock:on_revoke(function(who, token) heard[#heard + 1] = { who, token } end)
    local token = assert(lock:acquire(PATIENCE, "me"))
    local _, answers = here:ask(lock)
    assert.is_true(other:mutex(path):revoke(PATIENCE))
    here:eventually(function() return heard[1] end)
    assert.same({ { "me", token } }, heard)
    assert(lock:release("me"))
    here:eventually(function() return answers[1] end)
    assert.is_true(answers[1][1] > token)
    assert.equal(1, #heard)
  end)

  it("an expiry loses the hold once, and waiters queue again", function()
    local faulty = here:proxy()
    local mine = here:connect_to(faulty.hosts)
    local lock, lost = mine:mutex(path, { fair = false }), {}
    lock:on_lost(function(err) lost[#lost + 1] = err end)
    local token = assert(lock:acquire(PATIENCE, "me"))
    local _, answers = here:ask(lock)
    faulty:expire_session(mine:session_id())
    here:eventually(function() return answers[1] end)
    assert.is_true(answers[1][1] > token)
    assert.same({ "lost" }, lost)
  end)

  it("max_waiting counts the callers that wait for another caller of the client", function()
    local lock = place:idle { max_waiting = 0 }
    assert.is_number(lock:acquire(PATIENCE))
    assert.same({ nil, "busy" }, { lock:acquire(PATIENCE, "another") })
    assert.same({ nil, "busy" }, { lock:acquire(0, "another") })
    assert(lock:release())
    assert.is_number(lock:acquire(PATIENCE))
    assert(lock:release())
  end)

  it("the turns of one token grow from caller to caller", function()
    local lock = place:idle()
    local turns = held_in_turn(lock, 20)
    for i = 2, #turns do assert.is_true(turns[i] > turns[i - 1]) end
  end)
end)
