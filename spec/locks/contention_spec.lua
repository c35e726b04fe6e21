-- SPDX-License-Identifier: MIT
--- Many processes at one lock, judged at the resource that it protects.

local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local judge = require "spec.support.judge"
local resource = require "spec.support.resource"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"

local WORKERS, ROUNDS = 8, 20
local PATIENCE = wait.PATIENCE

describe("contention", function()
  local here = fixture.new("/contention")
  local store, crew, path

  setup(function()
    crew = {}
    for i = 1, WORKERS do crew[i] = here:second_process { connect_timeout = PATIENCE } end
  end)

  before_each(function() path, store = here.path, here:closes(resource.start()) end)

  local function nothing_left()
    for i = 1, WORKERS do assert.is_true(crew[i]:flush(PATIENCE)) end
    assert.same({}, here.tree:children(path))
    for i = 1, WORKERS do
      local stats = crew[i]:stats()
      assert.same({ 0, 0, 0 }, { stats.held, stats.waiting, stats.lost })
    end
  end

  it("lets one holder in at a time, loses no turn, and its tokens grow", function()
    for i = 1, WORKERS do
      crew[i]:begin("contend", {
        path = path, rounds = ROUNDS, owner = "worker-" .. i, resource = store.address, writes = 2,
      })
    end
    for i = 1, WORKERS do
      assert.same({ granted = ROUNDS, failed = {} }, crew[i]:finish(PATIENCE))
    end
    local report = judge.demand(store:judge { grants = WORKERS * ROUNDS })
    assert.equal(WORKERS * ROUNDS, report.grants)
    assert.equal(0, report.refusals)
    nothing_left()
  end)

  it("grants or answers each impatient contender, and leaves nothing behind", function()
    for i = 1, WORKERS do
      crew[i]:begin("contend", {
        path = path, rounds = ROUNDS, owner = "worker-" .. i, resource = store.address,
        timeout = i % 2 == 0 and 0.002 * i or i == 1 and 0 or nil,
      })
    end
    local granted = 0
    for i = 1, WORKERS do
      local report = crew[i]:finish(PATIENCE)
      granted = granted + report.granted
      for err in pairs(report.failed) do assert.equal("timeout", err) end
      assert.equal(ROUNDS, report.granted + (report.failed.timeout or 0))
      if i % 2 == 1 and i > 1 then assert.equal(ROUNDS, report.granted) end
    end
    assert.equal(granted, judge.demand(store:judge()).grants)
    nothing_left()
  end)

  it("loses no update of a file that is read, then written", function()
    local file = folder.file("counter", "0")
    for i = 1, WORKERS do
      crew[i]:begin("eval", [[
        local path, name, rounds = ...
        local lock = worker.lock(path)
        for _ = 1, rounds do
          assert(lock:with(function()
            local input = assert(io.open(name))
            local value = tonumber(input:read("*a"))
            input:close()
            local output = assert(io.open(name, "w"))
            output:write(("%d"):format(value + 1))
            output:close()
          end))
        end
      ]], path, file, ROUNDS)
    end
    for i = 1, WORKERS do crew[i]:finish(PATIENCE) end
    local counter = assert(io.open(file))
    assert.equal(("%d"):format(WORKERS * ROUNDS), counter:read("*a"))
    counter:close()
    nothing_left()
  end)

  it("goes on when a holder is killed #slow", function()
    local victim = worker.start()
    assert(victim:connect(here:hosts(), { session_timeout = 2, connect_timeout = PATIENCE }))
    victim:begin("eval", [[
      local path, address = ...
      local resource = require "spec.support.resource"
      local writer = resource.open(address)
      writer:ask("victim")
      local token = assert(worker.lock(path):acquire())
      assert(writer:enter(token, "victim"))
      assert(writer:write(token, "victim"))
      while true do worker.client:poll(60) end
    ]], path, store.address)
    wait.eventually(function() return #(here.tree:children(path) or {}) == 1 end)
    for i = 1, WORKERS do
      crew[i]:begin("contend", { path = path, rounds = 3, owner = "worker-" .. i, resource = store.address })
    end
    wait.eventually(function() return #here.tree:children(path) == 1 + WORKERS end)
    victim:kill()
    for i = 1, WORKERS do
      assert.same({ granted = 3, failed = {} }, crew[i]:finish(PATIENCE))
    end
    local report = judge.demand(store:judge { grants = 1 + WORKERS * 3 })
    assert.equal(0, report.refusals)
    nothing_left()
  end)

  it("goes on when a waiter is killed", function()
    local victim = worker.start()
    assert(victim:connect(here:hosts(), { session_timeout = 2, connect_timeout = PATIENCE }))
    assert.is_number((crew[1]:acquire(path, PATIENCE)))
    victim:begin("acquire", path)
    wait.eventually(function() return #here.tree:children(path) == 2 end)
    crew[2]:begin("acquire", path, PATIENCE)
    wait.eventually(function() return #here.tree:children(path) == 3 end)
    victim:kill()
    assert.is_true(crew[1]:release(path))
    assert.is_number((crew[2]:finish(PATIENCE)))
    assert.is_true(crew[2]:release(path))
    nothing_left()
  end)
end)
