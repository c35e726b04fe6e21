-- SPDX-License-Identifier: MIT
--- The semaphore on a real server: so many leases, all of a count or none, none left behind.

local collect = require "spec.support.collect"
local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE

describe("a semaphore", function()
  local here = fixture.new("/semaphore")
  local client, other, path, ours, theirs

  setup(function() client, other = here:connect(), here:connect() end)

  before_each(function()
    path = here.path
    ours, theirs = client:semaphore(path, 3), other:semaphore(path, 3)
  end)

  local function leases() return here:nodes(path .. "/leases") end
  local function queue() return here:nodes(path .. "/locks") end

  local function empty()
    assert(client:flush(PATIENCE))
    assert(other:flush(PATIENCE))
    here:becomes(0, path .. "/leases")
    here:becomes(0, path .. "/locks")
  end

  it("grants as many leases as it has permits, and not one more", function()
    local a, b, c = ours:acquire(PATIENCE), theirs:acquire(PATIENCE), ours:acquire(PATIENCE)
    for _, lease in ipairs { a, b, c } do
      assert.is_true(lease:is_held())
      assert.is_true(lease:validity() > 0)
    end
    assert.is_true(a:token() < b:token() and b:token() < c:token())
    for _, name in ipairs(leases()) do assert.matches("^_c_[%x-]+%-lease%-%d+$", name) end
    assert(client:flush(PATIENCE))
    assert.same({ nil, "timeout" }, { ours:acquire(0) })
    assert.same({ nil, "timeout" }, { theirs:acquire(0.1) })
    wait.eventually(function() return #leases() == 3 end)
    assert.is_true(b:release())
    assert.is_true(b:release())
    assert.is_false(b:is_held())
    assert.is_nil(b:token())
    assert.equal(0, b:validity())
    local d = assert(theirs:acquire(PATIENCE))
    for _, lease in ipairs { a, c, d } do assert.is_true(lease:release()) end
    empty()
  end)

  it("grants a free lease to the waiters in order of arrival", function()
    local all = assert(ours:acquire(PATIENCE, 3))
    local first, one = here:ask(theirs)
    wait.eventually(function() return #queue() == 1 and #leases() == 4 end)
    local second, two = here:ask(ours, nil, 2)
    wait.eventually(function() return #queue() == 2 end)
    assert.is_true(all:release())
    local lease, more = here:hear(one)[1], here:hear(two)[1]
    assert.is_true(lease:token() < more:token())
    assert.equal("held", first:state())
    assert.equal("held", second:state())
    lease:release()
    more:release()
    empty()
  end)

  it("gives all of a count or none", function()
    local two = assert(ours:acquire(PATIENCE, 2))
    assert.equal(2, #leases())
    assert.same({ nil, "timeout" }, { theirs:acquire(0.2, 2) })
    assert(other:flush(PATIENCE))
    assert.equal(2, #leases())
    local one = assert(theirs:acquire(PATIENCE, 1))
    assert.is_true(two:release())
    one:release()
    empty()
  end)

  it("does not let callers with counts wait for each other", function()
    local done, rounds, held, failures = 0, 24, {}, {}
    local function fail(message) failures[#failures + 1] = message end
    client.handle_error, other.handle_error = fail, fail
    for i = 1, rounds do
      (i % 2 == 0 and ours or theirs):request(PATIENCE, function(lease)
        assert(lease)
        held[lease] = i % 3 + 1
        local total = 0
        for _, n in pairs(held) do total = total + n end
        assert(total <= 3, "more leases than permits")
      end, i % 3 + 1)
    end
    wait.eventually(function()
      client:poll(0.005)
      other:poll(0.005)
      local lease = next(held)
      if lease then
        held[lease] = nil
        lease:release()
        done = done + 1
      end
      return done == rounds or #failures > 0
    end, PATIENCE)
    client.handle_error, other.handle_error = nil, nil
    assert.same({}, failures)
    empty()
  end)

  it("leaves nothing of a caller that gave up", function()
    local all = assert(ours:acquire(PATIENCE, 3))
    local request, heard = here:ask(theirs)
    wait.eventually(function() return #leases() == 4 end)
    assert.is_true(request:cancel())
    assert.same({ nil, "cancelled" }, here:hear(heard))
    assert(other:flush(PATIENCE))
    assert.equal(3, #leases())
    assert.same({}, queue())
    all:release()
    empty()
  end)

  it("gets back a lease that the script has dropped", function()
    local lease = assert(ours:acquire(PATIENCE))
    assert.is_true(lease:is_held())
    lease = nil -- luacheck: ignore 311
    wait.eventually(function()
      collect()
      collectgarbage()
      client:poll()
      return #leases() == 0
    end, PATIENCE)
    assert.is_true(client:stats().abandoned > 0)
    empty()
  end)

  it("reports the loss of a lease to its listener", function()
    local lease = assert(ours:acquire(PATIENCE, 2))
    local losses = {}
    lease:on_lost(function(...) losses[#losses + 1] = { ... } end)
    local token = lease:token()
    here.tree:delete(path .. "/leases/" .. leases()[1])
    wait.eventually(function()
      client:poll(0.02)
      return #losses == 1
    end, PATIENCE)
    assert.equal("lost", losses[1][1])
    assert.equal(token, losses[1][3])
    assert.is_false(lease:is_held())
    assert.same({ nil, "lost" }, { lease:release() })
    empty()
  end)

  it("lets all waiters in when an operator has deleted the gate of one", function()
    local all, order, faulty = assert(ours:acquire(PATIENCE, 2)), {}, here:proxy()
    local third = here:connect_to(faulty.hosts)
    local watched = third:semaphore(path, 3)
    local function waiter(handle, name)
      local request
      request = handle:request(PATIENCE, function(lease, err)
        order[#order + 1] = lease and name or err
        request:release()
      end, 2)
    end
    waiter(watched, "first")
    wait.eventually(function() return #queue() == 1 and #leases() == 4 end)
    waiter(ours, "second")
    wait.eventually(function() return #queue() == 2 end)
    wait.eventually(function() return faulty:counts().getData == 3 end) -- it watches its nodes
    assert(watched:participants(PATIENCE)) -- and the servers have answered
    local gate = queue()[1]
    here.tree:delete(path .. "/locks/" .. gate)
    wait.eventually(function() -- the first waiter queues again, behind the second one
      local gates = queue()
      return #gates == 2 and gates[1] ~= gate and gates[2] ~= gate and #leases() >= 4
    end)
    assert(watched:participants(PATIENCE))
    assert.equal(4, #leases()) -- the holder's, and those of the one at the gate
    assert.is_true(all:release())
    here:eventually(function() return #order == 2 end, "both turns")
    assert.same({ "second", "first" }, order)
    empty()
  end)

  it("keeps no lease of a client that closed", function()
    local third = assert(zklock.connect(here.zk.hosts))
    assert(third:semaphore(path, 3):acquire(PATIENCE, 2))
    third:close()
    assert.same({}, leases())
    assert.same({ nil, "closed" }, { third:semaphore(path .. "x", 1):acquire() })
  end)

  it("lists the holders of leases and the waiters", function()
    local two = assert(ours:acquire(PATIENCE, 2))
    local more = here:ask(theirs, nil, 2)
    wait.eventually(function() return #leases() == 4 end)
    local last = here:ask(ours)
    wait.eventually(function() return #queue() == 2 end)
    local seen = {}
    for i, p in ipairs(assert(ours:participants(PATIENCE))) do
      seen[i] = ("%s %s %s"):format(p.kind, tostring(p.holder), tostring(p.mine))
    end
    assert.same({ "lease true true", "lease true true", "lease true false", "lease true false",
      "lock false false", "lock false true" }, seen)
    last:cancel()
    more:cancel()
    two:release()
    empty()
  end)

  it("returns its path, and checks its handles", function()
    assert.equal(path, ours:path())
    assert.equal("zklock.Semaphore (" .. path .. ")", tostring(ours))
    assert.equal(path, client:semaphore(path, 3):path())
    local lease = assert(ours:acquire(PATIENCE))
    assert.has_error(function() client:semaphore(path, 4) end,
      "bad argument 'options': other handles of '" .. path .. "' have different options")
    assert(lease:release())
    assert.has_error(function() client:mutex(path) end,
      "bad argument 'path': '" .. path .. "' is in use as a semaphore")
  end)

  it("raises for invalid numbers", function()
    for _, bad in ipairs { 0, -1, 1.5, 0 / 0, math.huge, "3", true } do
      local ok, err = pcall(client.semaphore, client, path .. "-bad", bad)
      assert.is_false(ok)
      assert.matches("bad argument 'permits'", err)
      ok, err = pcall(ours.acquire, ours, 0, bad)
      assert.is_false(ok)
      assert.matches("bad argument 'count'", err)
      ok, err = pcall(ours.request, ours, 0, print, bad)
      assert.is_false(ok)
      assert.matches("bad argument 'count'", err)
    end
    assert.has_error(function() ours:acquire(0, 4) end,
      "bad argument 'count': integer from 1 to 3 expected, got 4")
    assert.has_error(function() client:semaphore(path .. "-bad", 2 ^ 31) end,
      "bad argument 'permits': integer from 1 to 2147483647 expected, got 2147483648")
    assert.is_false(pcall(client.semaphore, client, path .. "-bad"))
  end)

  it("shares its lines, which are below its path, with no other lock of the client", function()
    local taken = "bad argument 'path': '%s' is in use as a %s, which uses '/locks' and '/leases' below its path"
    for _, ending in ipairs { "/locks", "/leases" } do
      local message = taken:format(path, "semaphore")
      assert.has_error(function() client:mutex(path .. ending) end, message)
      assert.has_error(function() client:rwlock(path .. ending) end, message)
      assert.has_error(function() client:semaphore(path .. ending, 1) end, message)
      assert.has_error(function() client:multilock { path .. "-other", path .. ending } end, message)
      assert(client:mutex(path .. ending .. "-not"))
      assert(client:mutex(path .. "/deeper" .. ending))
      local free = path .. "-free-" .. ending:sub(2)
      local lock = client:mutex(free .. ending)
      assert.has_error(function() client:semaphore(free, 1) end,
        ("bad argument 'path': '%s' is in use as a mutex, and the semaphore uses that path")
          :format(lock:path()))
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
    end
  end)

  it("takes no more than a thousand leases together", function()
    -- a slow machine takes seconds to answer so many creates, which a session of 10 s does not allow
    local patient = here:connect { session_timeout = 40 }
    local many, message = patient:semaphore(path .. "-many", 2 ^ 31 - 1),
      "bad argument 'count': integer from 1 to 1000 expected, got 1001"
    assert.has_error(function() many:acquire(0, 1001) end, message)
    assert.has_error(function() many:request(0, print, 1001) end, message)
    local lease = assert(many:acquire(PATIENCE, 1000))
    assert.equal(1000, #assert(many:participants(PATIENCE)))
    -- a slow machine takes longer for these reads than its last write is good for
    wait.eventually(function() return lease:validity() > 0 end)
    assert.is_true(lease:release())
    assert.is_true(patient:flush(PATIENCE))
  end)
end)
