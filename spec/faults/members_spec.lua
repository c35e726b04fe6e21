-- SPDX-License-Identifier: MIT
--- An ensemble whose members come and go by reconfiguration, as docs/operations.md says. #once

local ensemble = require "spec.support.ensemble"
local fixture = require "spec.support.fixture"
local judge = require "spec.support.judge"
local resource = require "spec.support.resource"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local ROUNDS = 100

describe("servers with local sessions alone #once #flood", function()
  local three

  setup(function() three = ensemble.start { config = { localSessionsEnabled = "true" } } end)
  teardown(function() three:close() end)

  it("are named the setting that a lock needs", function()
    local client = assert(zklock.connect(three.hosts, { session_timeout = 30 }))
    assert(client:create("/local", "", nil, PATIENCE))
    assert.same({ nil, "zookeeper: EPHEMERALONLOCALSESSION (the servers need localSessionsUpgradingEnabled=true)" },
      { client:mutex("/local"):acquire(PATIENCE) })
    client:close()
  end)
end)

describe("an ensemble #once #flood", function()
  local all
  local here = fixture.new("/members", { session_timeout = 60, server = function()
    all = ensemble.start { spare = 3, config = { reconfigEnabled = true } }
    return all
  end })

  teardown(function() all:close() end)

  it("all of whose members are replaced, one after another, keeps the locks", function()
    local target = here:closes(resource.start())
    local holder, waiter = here:connect(), here:connect()
    local lock, lost = holder:mutex(here.path .. "/kept"), nil
    lock:on_lost(function(err) lost = err end)
    local token = assert(lock:acquire(PATIENCE))
    local request, heard = here:ask(waiter:mutex(here.path .. "/kept"), 60 * PATIENCE)
    here:becomes(2, here.path .. "/kept")
    local crew = { here:second_process(), here:second_process() }

    --- Does it while the crew contends for another lock.
    local function under_load(act)
      for i, one in ipairs(crew) do
        one:begin("contend", { path = here.path .. "/contended", rounds = ROUNDS, owner = "worker-" .. i,
          resource = target.address, timeout = 10 * PATIENCE })
      end
      act()
      for _, one in ipairs(crew) do
        local report = one:finish(4 * PATIENCE)
        assert.same({}, report.failed)
        assert.equal(ROUNDS, report.granted)
      end
      here:eventually(function() return holder:state() == "connected" and waiter:state() == "connected" end, "a server")
      assert.is_nil(lost)
      assert.is_true(lock:is_held())
      assert.same({}, heard)
    end

    local members = { 1, 2, 3 }
    for n = 4, 6 do
      under_load(function()
        all:join(n, members)
        all:leave(table.remove(members, 1))
        members[#members + 1] = n
      end)
    end
    judge.demand(target:judge())
    assert.equal(token, lock:acquire(PATIENCE)) -- the servers confirm it
    assert.is_true(lock:release())
    assert.is_true(lock:release())
    here:hear(heard)
    assert.is_true(heard[1][1] > token)
    assert.is_true(request:release())
    for _, client in ipairs { holder, waiter } do
      assert.same({ 1, 0 }, { client:stats().sessions, client:stats().lost })
    end
  end)
end)
