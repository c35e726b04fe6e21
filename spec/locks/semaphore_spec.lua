--- The semaphore on a real server: so many leases, all of a count or none, none left behind.

local inspector = require "spec.support.inspector"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = 20 -- seconds
local SESSION = 6

describe("a semaphore", function()
  local zk, tree, client, other, path, here, there
  local count = 0

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
    client = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
    other = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
  end)

  before_each(function()
    count = count + 1
    path = ("/semaphore/%d"):format(count)
    here, there = client:semaphore(path, 3), other:semaphore(path, 3)
  end)

  teardown(function()
    client:close()
    other:close()
    tree:close()
  end)

  local function leases() return tree:children(path .. "/leases") or {} end
  local function queue() return tree:children(path .. "/locks") or {} end

  local function ask(semaphore, n, timeout)
    local heard = {}
    local request = semaphore:request(timeout or PATIENCE, function(got, err) heard[#heard + 1] = { got, err } end, n)
    return request, heard
  end

  local function hear(heard)
    return wait.eventually(function()
      client:poll()
      other:poll(0.01)
      return heard[1]
    end, PATIENCE)
  end

  local function empty()
    assert(client:flush(PATIENCE))
    assert(other:flush(PATIENCE))
    wait.eventually(function() return #leases() == 0 and #queue() == 0 end, PATIENCE)
  end

  it("gives as many leases as it has permits, and not one more", function()
    local a, b, c = here:acquire(PATIENCE), there:acquire(PATIENCE), here:acquire(PATIENCE)
    for _, lease in ipairs { a, b, c } do
      assert.is_true(lease:is_held())
      assert.is_true(lease:validity() > 0)
    end
    assert.is_true(a:token() < b:token() and b:token() < c:token())
    for _, name in ipairs(leases()) do assert.matches("^_c_[%x-]+%-lease%-%d+$", name) end
    assert(client:flush(PATIENCE))
    assert.same({ nil, "timeout" }, { here:acquire(0) })
    assert.same({ nil, "timeout" }, { there:acquire(0.1) })
    wait.eventually(function() return #leases() == 3 end)
    assert.is_true(b:release())
    assert.is_true(b:release())
    assert.is_false(b:is_held())
    assert.is_nil(b:token())
    assert.equal(0, b:validity())
    local d = assert(there:acquire(PATIENCE))
    for _, lease in ipairs { a, c, d } do assert.is_true(lease:release()) end
    empty()
  end)

  it("wakes who waits when a lease goes, in order of arrival", function()
    local all = assert(here:acquire(PATIENCE, 3))
    local first, one = ask(there)
    wait.eventually(function() return #queue() == 1 and #leases() == 4 end)
    local second, two = ask(here, 2)
    wait.eventually(function() return #queue() == 2 end)
    assert.is_true(all:release())
    local lease, more = hear(one)[1], hear(two)[1]
    assert.is_true(lease:token() < more:token())
    assert.equal("held", first:state())
    assert.equal("held", second:state())
    lease:release()
    more:release()
    empty()
  end)

  it("gives all of a count or none", function()
    local two = assert(here:acquire(PATIENCE, 2))
    assert.equal(2, #leases())
    assert.same({ nil, "timeout" }, { there:acquire(0.2, 2) })
    assert(other:flush(PATIENCE))
    assert.equal(2, #leases())
    local one = assert(there:acquire(PATIENCE, 1))
    assert.is_true(two:release())
    one:release()
    empty()
  end)

  it("does not let counts wait for each other", function()
    local done, rounds, held, failures = 0, 24, {}, {}
    local function fail(message) failures[#failures + 1] = message end
    client.handle_error, other.handle_error = fail, fail
    for i = 1, rounds do
      (i % 2 == 0 and here or there):request(PATIENCE, function(lease)
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

  it("leaves nothing of one who gave up", function()
    local all = assert(here:acquire(PATIENCE, 3))
    local request, heard = ask(there)
    wait.eventually(function() return #leases() == 4 end)
    assert.is_true(request:cancel())
    assert.same({ nil, "cancelled" }, hear(heard))
    assert(other:flush(PATIENCE))
    assert.equal(3, #leases())
    assert.same({}, queue())
    all:release()
    empty()
  end)

  it("gets back a lease that nobody has any more", function()
    local lease = assert(here:acquire(PATIENCE))
    assert.is_true(lease:is_held())
    lease = nil -- luacheck: ignore 311
    wait.eventually(function()
      collectgarbage()
      collectgarbage()
      client:poll()
      return #leases() == 0
    end, PATIENCE)
    assert.is_true(client:stats().abandoned > 0)
    empty()
  end)

  it("tells a lease of its loss", function()
    local lease = assert(here:acquire(PATIENCE, 2))
    local losses = {}
    lease:on_lost(function(...) losses[#losses + 1] = { ... } end)
    local token = lease:token()
    tree:delete(path .. "/leases/" .. leases()[1])
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

  it("keeps no lease of a client that closed", function()
    local third = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
    assert(third:semaphore(path, 3):acquire(PATIENCE, 2))
    third:close()
    assert.same({}, leases())
    assert.same({ nil, "closed" }, { third:semaphore(path .. "x", 1):acquire() })
  end)

  it("shows who has leases and who waits", function()
    local two = assert(here:acquire(PATIENCE, 2))
    local more = ask(there, 2)
    wait.eventually(function() return #leases() == 4 end)
    local last = ask(here)
    wait.eventually(function() return #queue() == 2 end)
    local seen = {}
    for i, p in ipairs(assert(here:participants(PATIENCE))) do
      seen[i] = ("%s %s %s"):format(p.kind, tostring(p.holder), tostring(p.mine))
    end
    assert.same({ "lease true true", "lease true true", "lease true false", "lease true false",
      "lock false false", "lock false true" }, seen)
    last:cancel()
    more:cancel()
    two:release()
    empty()
  end)

  it("says where it is, and knows its handles", function()
    assert.equal(path, here:path())
    assert.equal("zklock.Semaphore (" .. path .. ")", tostring(here))
    assert.equal(path, client:semaphore(path, 3):path())
    local lease = assert(here:acquire(PATIENCE))
    assert.has_error(function() client:semaphore(path, 4) end,
      "bad argument 'options' (other handles of '" .. path .. "' have other ones)")
    assert(lease:release())
    assert.has_error(function() client:mutex(path) end,
      "bad argument 'path' ('" .. path .. "' is in use as a semaphore)")
  end)

  it("raises for numbers that are none", function()
    for _, bad in ipairs { 0, -1, 1.5, 0 / 0, math.huge, "3", true } do
      local ok, err = pcall(client.semaphore, client, path .. "-bad", bad)
      assert.is_false(ok)
      assert.matches("bad argument 'permits'", err)
      ok, err = pcall(here.acquire, here, 0, bad)
      assert.is_false(ok)
      assert.matches("bad argument 'count'", err)
      ok, err = pcall(here.request, here, 0, print, bad)
      assert.is_false(ok)
      assert.matches("bad argument 'count'", err)
    end
    assert.has_error(function() here:acquire(0, 4) end,
      "bad argument 'count' (a whole number from 1 to 3 expected, got 4)")
    assert.is_false(pcall(client.semaphore, client, path .. "-bad"))
  end)
end)
