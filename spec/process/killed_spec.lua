-- SPDX-License-Identifier: MIT
--- A process that is killed: what it held is free within its session timeout and two ticks, what it was about is gone.

local fixture = require "spec.support.fixture"
local inspector = require "spec.support.inspector"
local judge = require "spec.support.judge"
local resource = require "spec.support.resource"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local TICK = 0.2 -- seconds: the servers'
local PATIENCE = wait.PATIENCE

describe("a process that is killed #slow", function()
  local here = fixture.new("/killed")
  local zk, tree, store, path

  setup(function() zk, tree = here.zk, here.tree end)

  before_each(function() path, store = here.path, here:closes(resource.start()) end)

  local function hire(session_timeout)
    local one = here:worker()
    assert(one:connect(zk.hosts, { session_timeout = session_timeout, connect_timeout = PATIENCE }))
    return one
  end

  --- Acquires, goes in, writes, and stays there.
  local function goes_in(one, owner)
    return one:eval([[
      local path, address, owner = ...
      writer = require "spec.support.resource".open(address)
      writer:ask(owner)
      local token = assert(worker.lock(path):acquire(60))
      return token, writer:enter(token, owner) and writer:write(token, owner)
    ]], path, store.address, owner)
  end

  -- The clock here is the servers' own: a session that says its last word a tick after the kill ends a timeout and up
  -- to a tick later. A node that is gone before that is gone in time, however busy this machine is.
  it("is gone, by the servers' clock, within its session timeout and two ticks, and the next is served", function()
    local victim, heir = hire(2), hire(20)
    local token, inside = goes_in(victim, "victim")
    assert.is_true(inside)
    local witness = inspector.connect(zk.hosts, { session_timeout = 2 })
    assert(tree:create(path .. "-witness", "", { parents = true }))
    assert(witness:create(path .. "-witness/node", "", { ephemeral = true }))
    heir:begin("eval", [[
      local path, address = ...
      local writer = require "spec.support.resource".open(address)
      writer:ask("heir")
      local token = assert(worker.lock(path):acquire(60))
      return token, writer:enter(token, "heir") and writer:write(token, "heir") and writer:leave(token, "heir")
    ]], path, store.address)
    here:becomes(2)

    victim:kill()
    wait.rest(TICK) -- the servers have looked at their sessions
    assert(witness:get(path .. "-witness/node"))

    local heirs_token, heirs_turn = heir:finish()
    assert.is_true(heirs_token > token)
    assert.is_true(heirs_turn)
    here:becomes(0, path .. "-witness")
    assert.equal(1, #here:nodes())
    assert.is_true(tree:exists(path).pzxid < tree:exists(path .. "-witness").pzxid, "its node went too late")

    assert.is_true(heir:release(path))
    here:becomes(0)
    assert.equal(0, judge.demand(store:judge { grants = 2 }).refusals)
    witness:close()
  end)

  it("wherever it was in its turns leaves nothing behind, and who shared its lock is served", function()
    local victims, survivors, rounds = {}, {}, 15
    for i = 1, 5 do victims[i] = hire(1) end
    for i = 1, 3 do survivors[i] = hire(20) end
    for i, one in ipairs(victims) do
      one:begin("contend", { path = path, rounds = 1e9, owner = "victim-" .. i, resource = store.address })
    end
    for i, one in ipairs(survivors) do
      one:begin("contend", { path = path, rounds = rounds, owner = "survivor-" .. i, resource = store.address })
    end
    wait.eventually(function() return store:judge({ open_end = true, faults = true }).grants > 5 end, PATIENCE)
    for _, one in ipairs(victims) do one:kill() end -- one after the other: each somewhere else
    for _, one in ipairs(survivors) do
      assert.same({ granted = rounds, failed = {} }, one:finish(PATIENCE))
      assert.equal(0, one:stats().lost)
    end
    here:becomes(0)
    judge.demand(store:judge { grants = 3 * rounds, faults = true })
  end)

  -- The same for the other kinds: who holds or waits, who is here already, and who is served after the kill.
  local victims = {
    ["the holder of write"] = { takes = "client:rwlock(path).write:acquire(60)", nodes = 1,
      heirs = function(client) return { client:rwlock(path).read, client:rwlock(path).read } end },
    ["a reader"] = { takes = "client:rwlock(path).read:acquire(60)", nodes = 1,
      heirs = function(client) return { client:rwlock(path).write } end },
    ["a writer who waits"] = { takes = "client:rwlock(path).write:request(nil, print)", nodes = 2,
      before = function(client) return client:rwlock(path).read:acquire(PATIENCE, "before") end,
      heirs = function(client) return { client:rwlock(path).read } end },
    ["the holder of a multilock"] = { takes = "client:multilock { path .. '/a', path .. '/b' }:acquire(60)", nodes = 2,
      at = { "/a", "/b" },
      heirs = function(client) return { client:mutex(path .. "/a"), client:mutex(path .. "/b") } end },
    ["one who waits for a multilock"] = { nodes = 3, at = { "/a", "/b" },
      takes = "client:multilock { path .. '/a', path .. '/b' }:request(nil, print)",
      before = function(client) return client:mutex(path .. "/b"):acquire(PATIENCE, "before") end,
      heirs = function(client) return { client:mutex(path .. "/a") } end },
    ["the holder of all leases"] = { takes = "client:semaphore(path, 2):acquire(60, 2)", nodes = 2,
      at = { "/leases", "/locks" },
      heirs = function(client) return { client:semaphore(path, 2), client:semaphore(path, 2) } end },
    ["one who waits for leases"] = { nodes = 4, at = { "/leases", "/locks" },
      takes = "client:semaphore(path, 2):request(nil, print, 2)",
      before = function(client) return client:semaphore(path, 2):acquire(PATIENCE) end,
      heirs = function(client) return { client:semaphore(path, 2) } end },
  }

  for title, case in pairs(victims) do
    it(("as %s makes way, and leaves no node"):format(title), function()
      local function left()
        local sum = 0
        for _, at in ipairs(case.at or { "" }) do sum = sum + #here:nodes(path .. at) end
        return sum
      end
      local client = assert(zklock.connect(zk.hosts, { session_timeout = 20 }))
      local before = case.before and assert(case.before(client)) -- kept: a lease that nobody has is given back
      local victim = hire(2)
      victim:eval("local path = ...; local client = worker.client; worker.kept = " .. case.takes, path)
      wait.eventually(function() return left() == case.nodes end, PATIENCE)
      local requests, others, granted = {}, case.heirs(client), {} -- what was granted is kept, leases too
      for i, lock in ipairs(others) do
        requests[i] = lock:request(PATIENCE, function(got) granted[#granted + 1] = got end)
      end
      client:poll(0.2)
      assert.equal(0, #granted)
      victim:kill()
      wait.eventually(function()
        client:poll(0.02)
        return #granted == #requests
      end, PATIENCE)
      if before then assert.equal(1, client:stats().held - #granted) end
      for _, request in ipairs(requests) do assert.is_true(request:release()) end
      assert.is_true(client:close())
      wait.eventually(function() return left() == 0 end, PATIENCE)
    end)
  end
end)
