-- SPDX-License-Identifier: MIT
--- A neighbour who may create and read, and not delete, and who knows the names of our nodes: he makes others that look
--- like ours, or like those that we are going to make.

local fixture = require "spec.support.fixture"
local inspector = require "spec.support.inspector"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local SESSION = 10
local NODE = "^(_c_%x+%-%x+%-%x+%-%x+%-)(%x+)%-lock%-(%d+)$"

describe("a neighbour who forges names #once", function()
  local here = fixture.new("/forged", { session_timeout = SESSION })
  local tree, client, path

  setup(function() tree, client = here.tree, here:connect() end)

  before_each(function() path = here.path end)

  local function take_and_give_back(lock)
    assert(lock:acquire(PATIENCE))
    local name = assert(tree:children(path)[1])
    assert.is_true(lock:release())
    assert.is_true(client:flush(PATIENCE))
    return name
  end

  it("cannot tell the name of the node that is made next", function()
    local lock = client:mutex(path)
    local seen = {}
    for i = 1, 50 do
      local _, number = take_and_give_back(lock):match(NODE)
      seen[i] = assert(tonumber(number, 16))
      assert.is_true(i == 1 or math.abs(seen[i] - seen[i - 1]) > 10000)
    end
    table.sort(seen)
    for i = 2, 50 do assert.not_equal(seen[i], seen[i - 1]) end
  end)

  it("does not make a waiter deaf", function()
    local lock = client:mutex(path)
    local _, before = take_and_give_back(lock):match(NODE)
    local head, number = take_and_give_back(lock):match(NODE)
    before, number = tonumber(before, 16), tonumber(number, 16)
    local next_number = (number + (number - before)) % 2 ^ 48 -- as long as numbers counted up
    local attacker = inspector.connect(here.zk.hosts)
    local forged = assert(attacker:create(("%s/%s%012x-lock-"):format(path, head, next_number), "",
      { ephemeral = true, sequence = true }))
    local token
    local request = lock:request(PATIENCE, function(got) token = got end)
    wait.eventually(function()
      for _, name in ipairs(tree:children(path)) do
        if not forged:find(name, 1, true) then return true end -- ours is there
      end
    end)
    tree:sync(path)
    attacker:close()
    wait.eventually(function()
      client:poll(0.01)
      return token
    end, PATIENCE)
    assert.is_true(request:release())
  end)

  it("with a node that looks like the holder's does not take the lock from it", function()
    local lock, other = client:mutex(path), assert(zklock.connect(here.zk.hosts, { session_timeout = SESSION }))
    assert(lock:acquire(PATIENCE))
    local name = tree:children(path)[1]
    local attacker = inspector.connect(here.zk.hosts)
    local twin = path .. "/" .. name:gsub("%d+$", "0000000099")
    assert(attacker:create(twin, "", { ephemeral = true }))
    local got
    other:mutex(path):request(PATIENCE, function(token) got = token end)
    wait.eventually(function() return #tree:children(path) == 3 end)
    assert.same({ nil, "timeout" }, { other:mutex(path):acquire(0) })
    assert.is_true(lock:is_held())
    assert.is_true(lock:release())
    wait.eventually(function()
      other:poll(0.01)
      return got
    end, PATIENCE)
    assert.is_truthy(tree:exists(twin)) -- it stood behind
    attacker:close()
    other:close()
  end)
end)
