--- fair = false on a real server: the callers of one client take turns on one node, their place. #once

local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"

local PATIENCE = 30
local SESSION = 6
local TIMEOUT = { nil, "timeout" }

describe("with fair = false #once", function()
  local here = fixture.new("/place", { session_timeout = SESSION, patience = PATIENCE })
  local client, other, path

  setup(function() client, other = here:connect(), here:connect() end)

  before_each(function() path = here.path end)

  --- A lock of this client, whose place is kept for long unless the options say otherwise.
  local function shared(options)
    local all = { fair = false, linger = 100 }
    for name, value in pairs(options or {}) do all[name] = value end
    return client:mutex(path, all)
  end

  --- A place that nobody uses.
  local function idle(options)
    local lock = shared(options)
    local token = assert(lock:acquire(PATIENCE))
    assert(lock:release())
    return lock, token
  end

  --- What fn sends to the servers, heartbeats left out: those of a long session are far apart.
  local function requests_of(fn)
    local before = client:stats().requests_sent
    fn()
    return client:stats().requests_sent - before
  end

  --- Until nothing has been sent for a while that somebody waits for: the watch on the place's own node is there.
  local function settles(lock)
    wait.eventually(function()
      local before = client:stats().handed
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
      return client:stats().handed > before
    end, PATIENCE)
  end

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
      local lock, token = idle()
      settles(lock)
      assert.is_true(requests_of(function()
        for _ = 1, 1000 do
          assert.equal(token, lock:acquire(PATIENCE))
          assert(lock:release())
        end
      end) < 5)
      assert.equal(1, #here:nodes())
      assert.is_true(client:stats().handed >= 1000)
    end)

    it("get the lock in order of arrival, each with a turn of its own", function()
      local lock, order = shared(), {}
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

    it("wait until their own deadlines", function()
      local lock = shared()
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
        local options = i < 3 and { fair = false, handoffs = 3 } or nil
        local lock = each:mutex(path, options)
        for _ = 1, 30 do
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
      here:eventually(function() return done == 90 end)
      assert.equal(1, most)
      for i = 2, #writes do
        local before, now = writes[i - 1], writes[i]
        assert.is_true(before[1] < now[1] or before[1] == now[1] and before[2] < now[2])
      end
    end)
  end)

  describe("turn()", function()
    it("is that of the first acquire in those that are reentrant", function()
      local lock = idle()
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
      local lock = shared()
      local guard = assert(lock:guard(PATIENCE))
      assert.equal(1, guard:turn())
      assert(guard:release())
      assert.is_nil(guard:turn())
    end)

    it("is 0 with a fair lock, and nil for one who does not hold", function()
      local lock = client:mutex(path)
      assert.is_nil(lock:turn())
      assert(lock:acquire(PATIENCE))
      assert.equal(0, lock:turn())
      assert.is_nil(lock:turn("another"))
      assert(lock:release())
    end)

    it("begins anew with a new place, whose token is larger", function()
      local lock, token = idle()
      assert(client:flush(PATIENCE))
      assert.is_true(lock:acquire(PATIENCE) > token)
      assert.equal(1, lock:turn())
      assert(lock:release())
    end)
  end)

  describe("a place", function()
    it("goes when nobody here has wanted it for as long as linger says", function()
      idle { linger = 0.2 }
      assert.equal(1, #here:nodes())
      here:becomes(0)
    end)

    it("with linger = 0 goes with the release", function()
      idle { linger = 0 }
      assert(client:flush(PATIENCE))
      assert.same({}, here:nodes())
    end)

    it("that is idle goes at once when somebody stands behind it", function()
      idle()
      local theirs = other:mutex(path)
      assert.is_number(theirs:acquire(PATIENCE))
      assert(theirs:release())
    end)

    it("that is idle makes others' acquire(0) fail: nobody waits for it to go", function()
      idle()
      assert.same(TIMEOUT, { other:mutex(path):acquire(0) })
    end)

    it("that is idle makes way for a multilock of its client", function()
      idle()
      local both = client:multilock { path, path .. "-b" }
      assert.is_number(both:acquire(0))
      assert(both:release())
    end)

    it("that is idle makes way for a handle with other options", function()
      idle()
      local fair = client:mutex(path)
      assert.is_number(client:mutex(path, { fair = true }):acquire(0))
      assert.equal(0, fair:turn())
      assert(fair:release())
    end)

    it("is waited for by a flush: others can get in when that has answered", function()
      idle()
      assert.is_true(client:flush(PATIENCE))
      assert.same({}, here:nodes())
      assert.is_number(other:mutex(path):acquire(0))
      assert(other:mutex(path):release())
    end)

    it("that is idle is a holder among the participants", function()
      local lock = idle()
      local list = assert(lock:participants(PATIENCE))
      assert.equal(1, #list)
      assert.is_true(list[1].holder and list[1].mine)
      assert.equal(0, client:stats().held)
    end)

    it("that is idle goes when it is revoked, which answers true", function()
      idle()
      assert.is_true(other:mutex(path):revoke(PATIENCE))
      here:becomes(0)
    end)

    it("is given up by close", function()
      local mine = here:connect()
      local lock = mine:mutex(path, { fair = false, linger = 100 })
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
      mine:close()
      assert.same({}, here:nodes())
    end)

    it("that is idle is given up when its link is cut", function()
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

  describe("those behind a place", function()
    it("wait for so many grants at most", function()
      local lock, order = shared { handoffs = 5, stint = math.huge }, {}
      assert(lock:acquire(PATIENCE))
      local before = client:stats().requests_sent
      local function ask(who, of)
        of:request(PATIENCE, function(token, err, request)
          order[#order + 1] = token and who or err
          request:release()
        end)
      end
      ask("theirs", other:mutex(path))
      wait.eventually(function() return client:stats().requests_sent > before end, PATIENCE) -- it was told, and lists
      for _ = 1, 20 do ask("ours", lock) end
      assert(lock:release())
      here:eventually(function() return #order == 21 end)
      for i, who in ipairs(order) do assert.equal(i == 6 and "theirs" or "ours", who, "the grant " .. i) end
    end)

    it("wait for a stint at most, however few the grants", function()
      local lock = shared { handoffs = 1000000, stint = 0.2 }
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

  describe("what does not end with release", function()
    --- Somebody here waits when `ends` ends a hold: what he gets.
    local _
    local function handed_after(lock, token, ends)
      local answers
      _, answers = here:ask(lock)
      ends()
      here:eventually(function() return answers[1] end)
      assert.is_true(assert(answers[1][1]) > token)
    end

    it("ends the place: max_hold", function()
      local lock = shared { max_hold = 0.3 }
      local token = assert(lock:acquire(PATIENCE))
      handed_after(lock, token, function() end)
      assert.same({ nil, "lost" }, { lock:release() })
    end)

    it("ends the place: a coroutine that returns", function()
      local lock, token = shared(), nil
      local co = coroutine.wrap(function() token = assert(lock:acquire(PATIENCE)) end)
      co()
      handed_after(lock, token, function() client:poll() end)
    end)

    it("ends the place: a guard that is collected", function()
      local lock = shared()
      local guard = assert(lock:guard(PATIENCE))
      local token = guard:token()
      handed_after(lock, token, function()
        guard = nil -- luacheck: ignore 311
        collectgarbage()
        collectgarbage()
      end)
    end)

    it("ends the place: a request that is dropped", function()
      local lock, token = shared(), nil
      lock:request(PATIENCE, function(got) token = got end)
      here:eventually(function() return token end)
      handed_after(lock, token, function()
        collectgarbage()
        collectgarbage()
      end)
    end)

    --- Raises below a call that holds, when somebody waits: what was held, and what he gets.
    local function after_error_in(hold)
      local lock = shared()
      local inside, answers
      assert.is_false(pcall(hold, lock, function(token)
        inside = token
        _, answers = here:ask(lock)
        error("no")
      end))
      here:eventually(function() return answers[1] end)
      return inside, answers[1][1]
    end

    it("ends the place: an error out of with", function()
      local inside, after = after_error_in(function(lock, fn) lock:with(PATIENCE, fn) end)
      assert.is_true(after > inside)
    end)

    it("ends the place: an error out of two of them, one in the other", function()
      local inside, after = after_error_in(function(lock, fn)
        lock:with(PATIENCE, function() lock:with(PATIENCE, fn) end)
      end)
      assert.is_true(after > inside)
    end)

    it("ends the place: an error out of the block of a guard", function()
      local released = assert(shared():guard(PATIENCE))
      local close = getmetatable(released).__close
      assert(released:release())
      local inside, after = after_error_in(function(lock, fn)
        local guard = assert(lock:guard(PATIENCE)) -- as `local guard <close>`, which not every Lua has
        local ok, err = pcall(fn, guard:token())
        close(guard, err)
        assert(ok, err)
      end)
      assert.is_true(after > inside)
    end)

    it("but not what went well: with hands on", function()
      local lock = shared()
      local inside, answers
      assert(lock:with(PATIENCE, function(token)
        inside = token
        _, answers = here:ask(lock)
      end))
      here:eventually(function() return answers[1] end)
      assert.equal(inside, answers[1][1])
    end)

    it("ends the place: a loss, which is told once", function()
      local lock, lost = shared(), {}
      lock:on_lost(function(err, who) lost[#lost + 1] = { err, who } end)
      local token = assert(lock:acquire(PATIENCE, "me"))
      handed_after(lock, token, function() here.tree:delete((here:only_node())) end)
      assert.same({ { "lost", "me" } }, lost)
    end)
  end)

  describe("taken again and again by one owner", function()
    it("costs no traffic, has a turn of its own each time, and counts", function()
      local lock = idle()
      settles(lock)
      local before = client:stats()
      local last = 0
      for _ = 1, 1000 do
        assert(lock:acquire(PATIENCE))
        assert.is_true(lock:is_held())
        local turn = lock:turn()
        assert.is_true(turn > last)
        last = turn
        assert(lock:release())
      end
      local after = client:stats()
      assert.equal(before.acquired + 1000, after.acquired)
      assert.equal(before.released + 1000, after.released)
      assert.equal(before.held, after.held)
      assert.is_true(after.requests_sent - before.requests_sent < 5)
    end)

    it("is not held in between, and not released twice", function()
      local lock = idle()
      settles(lock)
      for _ = 1, 3 do
        assert(lock:acquire(PATIENCE))
        assert(lock:release())
        assert.same({ nil, "not owner" }, { lock:release() })
        assert(lock:acquire(PATIENCE))
        assert(lock:release())
        assert.is_false(lock:is_held())
        assert.is_nil(lock:token())
        assert.is_nil(lock:turn())
        assert.equal(0, lock:validity())
      end
    end)

    it("is others' in between", function()
      local lock = idle()
      settles(lock)
      for _ = 1, 3 do
        assert(lock:acquire(PATIENCE))
        assert(lock:release())
        assert(lock:acquire(PATIENCE, "another"))
        assert.same(TIMEOUT, { lock:acquire(0) })
        assert.is_false(lock:is_held())
        assert(lock:release("another"))
        assert(lock:acquire(PATIENCE))
        assert.same(TIMEOUT, { lock:acquire(0, "another") })
        assert(lock:release())
      end
    end)

    it("is another hold each time: a guard of a former one gives nothing back", function()
      local lock = idle()
      settles(lock)
      local guard = assert(lock:guard(PATIENCE))
      assert(lock:release())
      assert(lock:acquire(PATIENCE))
      assert.same({ nil, "not owner" }, { guard:release() })
      assert.is_true(lock:is_held())
      assert(lock:release())
    end)

    it("is told of by the handle that it was taken through", function()
      local first = idle()
      settles(first)
      local second, lost = shared(), {}
      first:on_lost(function() lost[#lost + 1] = "first" end)
      second:on_lost(function() lost[#lost + 1] = "second" end)
      assert(first:acquire(PATIENCE))
      assert(first:release())
      assert(second:acquire(PATIENCE))
      here.tree:delete((here:only_node()))
      here:eventually(function() return lost[1] end)
      assert.same({ "second" }, lost)
      assert.same({ nil, "lost" }, { second:release() })
    end)

    it("is lost like any other, and told once", function()
      local lock, lost = idle(), {}
      settles(lock)
      lock:on_lost(function(err, _, token) lost[#lost + 1] = { err, token } end)
      for _ = 1, 3 do
        assert(lock:acquire(PATIENCE))
        assert(lock:release())
      end
      local token = assert(lock:acquire(PATIENCE))
      here.tree:delete((here:only_node()))
      here:eventually(function() return lost[1] end)
      assert.same({ nil, "lost" }, { lock:release() })
      assert.is_true(lock:acquire(PATIENCE) > token)
      assert.same({ { "lost", token } }, lost)
      assert(lock:release())
    end)

    it("does not bind options while nobody holds it", function()
      local lock = idle()
      settles(lock)
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
      local other_options = client:mutex(path, { fair = false, linger = 50 })
      assert(other_options:acquire(PATIENCE))
      assert.is_false(pcall(client.mutex, client, path, { fair = false, linger = 49 }))
      assert(other_options:release())
    end)

    it("leaves nothing in Lua when the place has gone", function()
      local lock = idle { linger = 0.05 }
      settles(lock)
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
      local holds = setmetatable({ lock.holds }, { __mode = "v" })
      here:becomes(0)
      lock = nil -- luacheck: ignore 311
      here:eventually(function()
        collectgarbage()
        return not holds[1]
      end)
    end)

    it("by a coroutine is given back with it", function()
      local lock = idle()
      settles(lock)
      local co = coroutine.wrap(function()
        for _ = 1, 3 do
          assert(lock:acquire(PATIENCE))
          assert(lock:release())
          coroutine.yield()
        end
        assert(lock:acquire(PATIENCE))
      end)
      for _ = 1, 4 do co() end
      client:poll()
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
    end)

    it("hears 'closed' after close", function()
      local mine = here:connect()
      local lock = mine:mutex(path, { fair = false, linger = 100 })
      for _ = 1, 20 do
        assert(lock:acquire(PATIENCE))
        assert(lock:release())
      end
      assert(lock:acquire(PATIENCE))
      mine:close()
      assert.same({ nil, "closed" }, { lock:release() })
      assert.same({ nil, "closed" }, { lock:acquire(PATIENCE) })
    end)
  end)

  describe("a read-write lock", function()
    --- Both sides at the spec's path.
    local function both(options)
      local all = { fair = false, linger = 100 }
      for name, value in pairs(options or {}) do all[name] = value end
      return client:rwlock(path, all)
    end

    it("has its readers together on one node, without traffic", function()
      local read = both().read
      local token = assert(read:acquire(PATIENCE, 1))
      wait.eventually(function() -- its own node is watched by then
        local handed = client:stats().handed
        assert.equal(token, read:acquire(PATIENCE, 2))
        assert(read:release(2))
        return client:stats().handed > handed
      end, PATIENCE)
      assert.is_true(requests_of(function()
        for who = 2, 500 do assert.equal(token, read:acquire(PATIENCE, who)) end
      end) < 5)
      assert.equal(1, #here:nodes())
      for who = 1, 500 do assert(read:release(who)) end
    end)

    it("has its writers take turns", function()
      local write = both().write
      local token = assert(write:acquire(PATIENCE, 1))
      local _, answers = here:ask(write)
      assert(write:release(1))
      here:eventually(function() return answers[1] end)
      assert.equal(token, answers[1][1])
    end)

    it("lets a writer of its client in when its readers are out, and them after it", function()
      local lock, order = both { handoffs = 1, stint = math.huge }, {}
      assert(lock.read:acquire(PATIENCE, "first"))
      local function ask(side, name)
        return side:request(PATIENCE, function(token, err, request)
          order[#order + 1] = token and name or err
          request:release()
        end)
      end
      ask(lock.write, "writer")
      here:becomes(2)
      assert(lock.read:participants(PATIENCE)) -- what the directory's watch tells comes before the answer,
      assert(lock.read:participants(PATIENCE)) -- and what is listed then before the next
      for i = 1, 3 do ask(lock.read, "reader " .. i) end
      here:eventually(function() return order[1] == "reader 1" end) -- one may pass him
      assert(lock.read:release("first"))
      here:eventually(function() return #order == 4 end)
      assert.same({ "reader 1", "writer", "reader 2", "reader 3" }, order)
    end)

    it("lets a writer of another client in, who is noticed within a stint", function()
      local lock = both { stint = 0.2, handoffs = 1000000 }
      local stop = false
      assert(lock.read:acquire(PATIENCE, 0))
      local function again(token, err, request)
        if not token then error(err) end
        if not stop then lock.read:request(PATIENCE, again) end
        request:release()
      end
      lock.read:request(PATIENCE, again)
      local _, answers = here:ask(other:rwlock(path).write)
      here:becomes(2)
      assert(lock.read:release(0))
      here:eventually(function() return answers[1] end)
      assert.is_number(answers[1][1])
      stop = true
    end)

    it("gives a read under a write its token and turn, and the writers' place goes with the write", function()
      local lock = both()
      local token = assert(lock.write:acquire(PATIENCE, "me"))
      assert.equal(token, lock.read:acquire(PATIENCE, "me"))
      assert.equal(lock.write:turn("me"), lock.read:turn("me"))
      local _, answers = here:ask(lock.write)
      assert(lock.write:release("me"))
      assert.is_true(client:flush(PATIENCE))
      client:poll(0.05)
      assert.same({}, answers)
      assert(lock.read:release("me"))
      here:eventually(function() return answers[1] end)
      assert.is_true(answers[1][1] > token)
    end)

    it("lets others here read beside a write that goes on as a read, on its node", function()
      local lock = both()
      local token = assert(lock.write:acquire(PATIENCE, "me"))
      assert.equal(token, lock.read:acquire(PATIENCE, "me"))
      local request, answers = here:ask(lock.read)
      here:becomes(3)
      assert.is_false(request:is_held())
      assert(lock.write:release("me"))
      here:eventually(function() return answers[1] end)
      assert.equal(token, answers[1][1])
      assert.equal(lock.read:turn("me") + 1, request:turn())
      here:becomes(1)
      assert(lock.read:release("me"))
      assert(request:release())
    end)

    it("tells all its readers of a loss, each once", function()
      local read, lost = both().read, {}
      read:on_lost(function(_, who) lost[#lost + 1] = who end)
      for who = 1, 3 do assert(read:acquire(PATIENCE, who)) end
      here.tree:delete((here:only_node()))
      here:eventually(function() return #lost == 3 end)
      table.sort(lost)
      assert.same({ 1, 2, 3 }, lost)
      for who = 1, 3 do assert.same({ nil, "lost" }, { read:release(who) }) end
      assert.is_number(read:acquire(PATIENCE, 1))
    end)

    it("that reads lets a reader who is dropped go alone", function()
      local read = both().read
      local token = assert(read:acquire(PATIENCE, 1))
      assert(read:guard(PATIENCE, 2))
      collectgarbage()
      collectgarbage()
      client:poll()
      assert.equal(token, read:acquire(PATIENCE, 3))
      assert(read:release(1))
      assert(read:release(3))
    end)
  end)

  it("acquire(0) gets an idle place, and fails at once behind one of ours", function()
    local lock = idle()
    settles(lock)
    assert.is_true(requests_of(function() assert.is_number(lock:acquire(0)) end) < 3)
    assert.is_true(requests_of(function() assert.same(TIMEOUT, { lock:acquire(0, "another") }) end) < 3)
    assert(lock:release())
  end)

  it("a revocation is told to who holds, and the place goes with his release", function()
    local lock, heard = shared(), {}
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

  it("an expiry loses the hold, once, and who waits queues anew", function()
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

  it("max_waiting counts those who wait for one of ours", function()
    local lock = idle { max_waiting = 0 }
    assert.is_number(lock:acquire(PATIENCE))
    assert.same({ nil, "busy" }, { lock:acquire(PATIENCE, "another") })
    assert.same({ nil, "busy" }, { lock:acquire(0, "another") })
    assert(lock:release())
    assert.is_number(lock:acquire(PATIENCE))
    assert(lock:release())
  end)

  it("the turns of one token grow, whoever takes them", function()
    local lock = idle()
    local turns = held_in_turn(lock, 20)
    for i = 2, #turns do assert.is_true(turns[i] > turns[i - 1]) end
  end)
end)
