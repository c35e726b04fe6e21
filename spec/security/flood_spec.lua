-- SPDX-License-Identifier: MIT
--- Directories that somebody who may create nodes has filled: what that costs us has bounds, and what else the client
--- does goes on. `make slow`.

local inspector = require "spec.support.inspector"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local MANY = 100000
local SESSION, PATIENCE = 10, wait.PATIENCE

local function resident()
  for line in io.lines("/proc/self/status") do
    local kilobytes = line:match("^VmRSS:%s*(%d+)")
    if kilobytes then return kilobytes / 1024 end
  end
end

describe("a directory that is flooded #flood", function()
  local zk, tree, client, unrelated

  setup(function()
    zk = server.start { jvm = { "-Xmx640m" } }
    tree = inspector.connect(zk.hosts, { timeout = PATIENCE })
    client = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
    unrelated = client:mutex("/unrelated")
    assert(unrelated:acquire(PATIENCE))
  end)

  after_each(function()
    assert.is_true(unrelated:is_held())
    assert.equal(1, client:stats().sessions)
  end)

  teardown(function()
    client:close()
    tree:close()
    zk:stop()
  end)

  local function fill(path, form)
    assert(tree:create(path))
    for first = 1, MANY, 10000 do
      local paths = {}
      for i = first, first + 9999 do paths[#paths + 1] = path .. "/" .. form:format(i) end
      tree:create_all(paths)
    end
    return path
  end

  it("is too many for participants and revoke, which say so at once", function()
    local lock = client:mutex(fill("/before", "x-lock--%09d"))
    assert.same({ nil, "too many" }, { lock:participants(PATIENCE) })
    assert.same({ nil, "too many" }, { lock:revoke(PATIENCE) })
  end)

  it("keeps whom it blocks until its deadline, and nobody else", function()
    local lock, answers, lowest = client:mutex("/before"), 0, math.huge
    for i = 1, 200 do
      lock:request(3, function(token, err)
        assert.same({ nil, "timeout" }, { token, err })
        answers = answers + 1
      end, i)
    end
    wait.eventually(function()
      client:poll(0.02)
      lowest = math.min(lowest, unrelated:validity())
      return answers == 200
    end, PATIENCE)
    assert.is_true(lowest > 0)
    assert.is_true(client:flush(PATIENCE))
  end)

  it("does not stop who stands before it", function()
    local lock = client:mutex(fill("/behind", "x-lock-2%09d"))
    for _ = 1, 5 do
      assert.is_number((lock:acquire(PATIENCE)))
      assert.is_true(lock:release())
    end
    assert.is_true(client:flush(PATIENCE))
  end)

  it("with names like ours is waited for like any other", function()
    local lock = client:mutex("/forged")
    assert(lock:acquire(PATIENCE))
    local head = tree:children("/forged")[1]:match("^_c_%x+%-%x+%-%x+%-")
    assert.is_true(lock:release())
    assert.is_true(client:flush(PATIENCE))
    assert.is_true(tree:delete_tree("/forged"))
    fill("/forged", head .. "8000-%012x-lock--000000001")
    local before = client:stats().requests_sent
    assert.same({ nil, "timeout" }, { lock:acquire(2) })
    assert.is_true(client:stats().requests_sent - before < 1000) -- they are not all deleted at once
    assert.is_true(client:flush(PATIENCE))
  end)

end)

describe("a directory with large nodes #flood", function()
  it("does not fill our memory", function()
    local zk = server.start { jvm = { "-Xmx640m" } }
    local tree = inspector.connect(zk.hosts, { timeout = PATIENCE })
    local client = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
    assert(tree:create("/large"))
    for _ = 1, 120 do assert(tree:create("/large/x-lock-", ("x"):rep(1000000), { sequence = true })) end
    collectgarbage()
    local before = resident()
    local all = assert(client:mutex("/large"):participants(PATIENCE))
    assert.equal(120, #all)
    for _, one in ipairs(all) do assert.equal(1024, #one.identifier) end
    assert.is_true(resident() - before < 60)
    client:close()
    tree:close()
    zk:stop()
  end)
end)
