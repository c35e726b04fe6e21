--- A process that is killed: what it held is free within its session timeout and two ticks, what it was about is gone.

local inspector = require "spec.support.inspector"
local judge = require "spec.support.judge"
local resource = require "spec.support.resource"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"

local TICK = 0.2 -- seconds: the servers'
local PATIENCE = 30

describe("a process that is killed #slow", function()
  local zk, tree, store, path, count, crew

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
    tree:delete_tree("/killed")
    count = 0
  end)

  before_each(function()
    count = count + 1
    path = ("/killed/%d"):format(count)
    store, crew = resource.start(), {}
  end)

  after_each(function()
    for _, one in ipairs(crew) do one:kill() end
    store:close()
  end)

  teardown(function()
    tree:delete_tree("/killed")
    tree:close()
  end)

  local function nodes(at) return tree:children(at or path) or {} end

  local function becomes(n, at)
    return wait.eventually(function() return #nodes(at) == n end, PATIENCE, ("%d nodes"):format(n))
  end

  local function hire(session_timeout)
    local one = worker.start()
    crew[#crew + 1] = one
    assert(one:connect(zk.hosts, { session_timeout = session_timeout, connect_timeout = PATIENCE }))
    return one
  end

  --- Acquires, goes in, writes, and stays there.
  local function goes_in(one, owner)
    return one:eval([[
      local path, address, owner = ...
      writer = require "spec.support.resource".open(address)
      writer:ask(owner)
      local token = assert(worker.lock(path):acquire(20))
      return token, writer:enter(token, owner) and writer:write(token, owner)
    ]], path, store.address, owner)
  end

  -- The clock here is the servers' own: a session that says its last word a tick after the kill ends a timeout and up
  -- to a tick later. What is gone before that is gone in time, however busy this machine is.
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
    becomes(2)

    victim:kill()
    local killed = wait.now()
    wait.eventually(function() return wait.now() > killed + TICK end)
    assert(witness:get(path .. "-witness/node"))

    local heirs_token, heirs_turn = heir:finish()
    assert.is_true(heirs_token > token)
    assert.is_true(heirs_turn)
    becomes(0, path .. "-witness")
    assert.equal(1, #nodes())
    assert.is_true(tree:exists(path).pzxid < tree:exists(path .. "-witness").pzxid, "its node went too late")

    assert.is_true(heir:release(path))
    becomes(0)
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
    becomes(0)
    judge.demand(store:judge { grants = 3 * rounds, faults = true })
  end)
end)
