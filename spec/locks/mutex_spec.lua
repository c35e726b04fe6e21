-- SPDX-License-Identifier: MIT
--- The mutex on a real server: its holders, and its timeouts.

local fixture = require "spec.support.fixture"
local proxy = require "spec.support.proxy"
local session = require "spec.support.session"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local NAME = "^_c_%x+%-%x+%-4%x+%-8%x+%-%x+%-lock%-%d+$"

describe("a mutex", function()
  local here = fixture.new("/mutex", { super = true })
  local zk, tree, client, other, path

  setup(function() zk, tree, client, other = here.zk, here.tree, here:connect(), here:second_process() end)

  before_each(function() path = here.path end)

  --- The other process holds the lock.
  local function taken(at) return assert(other:acquire(at or path, PATIENCE)) end

  --- The number of the owner in the name of a node.
  local function owner_in(name)
    local high, low = name:match("^_c_%x+%-%x+%-4%x+%-8(%x+)%-(%x%x)%x+%-")
    return tonumber(high .. low, 16)
  end

  it("shows in its node's name which owner of the client it is", function()
    local locks, seen = { client:mutex(path .. "/a"), client:mutex(path .. "/b") }, {}
    for _, who in ipairs { "one", "two", "one" } do
      local numbers = {}
      for i, lock in ipairs(locks) do
        assert(lock:acquire(PATIENCE, who))
        numbers[i] = owner_in(here:nodes(lock:path())[1])
        assert(lock:release(who))
      end
      assert(client:flush(PATIENCE))
      assert.equal(numbers[1], numbers[2])
      seen[#seen + 1] = numbers[1]
    end
    assert.equal(seen[1], seen[3])
    assert.not_equal(seen[1], seen[2])
    assert.is_true(seen[1] > 0 and seen[2] > 0)
    local lease = assert(client:semaphore(path .. "/s", 1):acquire(PATIENCE))
    assert.equal(0, owner_in(here:nodes(path .. "/s/leases")[1]))
    assert(lease:release())
  end)

  describe("acquired and released", function()
    it("is held by one process at a time", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      assert.same({ nil, "timeout" }, { other:acquire(path, 0) })
      assert.is_true(lock:release())
      assert.is_number(taken())
      assert.same({ nil, "timeout" }, { lock:acquire(0) })
      assert.is_true(other:release(path))
    end)

    it("is held by one client at a time, also within a process", function()
      local second = assert(zklock.connect(zk.hosts))
      assert(client:mutex(path):acquire(PATIENCE))
      assert.same({ nil, "timeout" }, { second:mutex(path):acquire(0) })
      assert.is_false(second:mutex(path):is_held())
      client:mutex(path):release()
      assert(second:mutex(path):acquire(PATIENCE))
      assert.is_true(second:close())
    end)

    it("sends nothing before the first acquire", function()
      local mine = here:connect { session_timeout = 600 }
      assert(mine:sync(PATIENCE)) -- the first heartbeat has been answered, and the next one comes minutes later
      local before = mine:stats().requests_sent
      local lock = mine:mutex(path)
      assert.equal(path, lock:path())
      assert.is_false(lock:is_held())
      assert.is_nil(lock:token())
      assert.equal(0, lock:validity())
      assert.same({ nil, "not owner" }, { lock:release() })
      assert.equal(before, mine:stats().requests_sent)
      assert.is_nil((tree:exists(path)))
    end)

    it("leaves no node behind", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      assert.equal(1, #here:nodes())
      lock:release()
      assert.is_true(client:flush(PATIENCE))
      assert.same({}, here:nodes())
    end)

    it("creates its parents as containers, which the servers delete #zookeeper", function()
      local faulty = proxy.start(zk.hosts)
      local mine = assert(zklock.connect(faulty.hosts))
      local lock = mine:mutex(path .. "/a/b")
      assert(lock:acquire(PATIENCE))
      local made = {}
      for _, request in ipairs(faulty:log()) do
        if request.op == "createContainer" then made[request.path] = true end
        assert.is_true(request.op ~= "create" and (request.op ~= "create2" or request.path:find("/_c_") ~= nil))
      end
      for _, parent in ipairs { path, path .. "/a", path .. "/a/b" } do
        assert.is_true(made[parent])
        assert(tree:exists(parent))
      end
      mine:close()
      faulty:close()
    end)

    it("creates its path again after somebody has deleted it", function()
      local lock = client:mutex(path .. "/a/b")
      for _ = 1, 3 do
        assert(lock:acquire(PATIENCE))
        lock:release()
        assert.is_true(client:flush(PATIENCE))
        assert.is_true(tree:delete_tree(path))
      end
    end)

    it("names its node as Curator does, for its own session", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      local name = here:nodes()[1]
      assert.matches(NAME, name)
      assert.equal(36, #name:match("^_c_(.*)%-lock%-%d+$"))
      assert.equal(10, #name:match("%d+$"))
      assert.is_true(session.same(client:session_id(), tree:exists(path .. "/" .. name).ephemeralOwner))
      lock:release()
    end)

    it("uses a new name each time", function()
      local lock, seen = client:mutex(path), {}
      for _ = 1, 5 do
        assert(lock:acquire(PATIENCE))
        local guid = here:nodes()[1]:match("^_c_(.*)%-lock%-")
        assert.is_nil(seen[guid])
        seen[guid] = true
        lock:release()
        assert.is_true(client:flush(PATIENCE))
      end
    end)

    it("answers 'not owner' to the release of an owner that does not hold it", function()
      local lock = client:mutex(path)
      assert.same({ nil, "not owner" }, { lock:release() })
      taken()
      assert.same({ nil, "not owner" }, { lock:release() })
      assert.is_true(other:is_held(path))
      other:release(path)
      assert(lock:acquire(PATIENCE))
      assert.is_true(lock:release())
      assert.same({ nil, "not owner" }, { lock:release() })
    end)
  end)

  describe("its token", function()
    it("is an integer, the creation zxid of the lock's node", function()
      local lock = client:mutex(path)
      local token = assert(lock:acquire(PATIENCE))
      assert.equal(0, token % 1)
      if math.type then assert.equal("integer", math.type(token)) end
      assert.equal(tree:exists(path .. "/" .. here:nodes()[1]).czxid, token)
      assert.equal(token, lock:token())
      assert.equal(("%d"):format(token), ("%d"):format(lock:token()))
      lock:release()
      assert.is_nil(lock:token())
    end)

    it("grows with every holder, in whatever process", function()
      local lock, last = client:mutex(path), 0
      for _ = 1, 5 do
        for _, acquire in ipairs { function() return lock:acquire(PATIENCE) end, taken } do
          local token = assert(acquire())
          assert.is_true(token > last)
          last = token
          if lock:is_held() then lock:release() else other:release(path) end
        end
      end
    end)

    it("grows also after the path was created again and its sequence began again", function()
      local lock = client:mutex(path)
      local first = assert(lock:acquire(PATIENCE))
      lock:release()
      client:flush(PATIENCE)
      tree:delete_tree(path)
      assert.is_true(assert(lock:acquire(PATIENCE)) > first)
      assert.matches("0000000000$", here:nodes()[1])
      lock:release()
    end)
  end)

  describe("its validity", function()
    it("is above 0 and less than the session timeout while it is held", function()
      local lock = client:mutex(path)
      assert.equal(0, lock:validity())
      assert(lock:acquire(PATIENCE))
      local validity = lock:validity()
      assert.is_true(validity > 0 and validity < client:session_timeout())
      assert.equal(0, lock:validity("somebody else"))
      lock:release()
      assert.equal(0, lock:validity())
    end)

    it("runs down, and is renewed while the lock is held", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      for _ = 1, 2 do
        local before = lock:validity()
        wait.eventually(function() return lock:validity() < before end, PATIENCE, "that validity falls")
        local low = lock:validity()
        wait.eventually(function()
          local now = lock:validity()
          if now > low then return true end
          low = now
        end, PATIENCE, "that validity is renewed")
      end
      lock:release()
    end)
  end)

  describe("timeouts", function()
    it("of 0 get a free lock", function()
      local lock = client:mutex(path)
      assert.is_number((lock:acquire(0)))
      assert.is_true(lock:release())
      assert.is_number((lock:acquire(0)))
      assert.is_true(lock:release())
    end)

    it("of 0 do not wait for a holder and leave no node", function()
      local lock, before = client:mutex(path), client:stats().timeouts
      taken()
      for _ = 1, 5 do assert.same({ nil, "timeout" }, { lock:acquire(0) }) end
      assert.equal(before + 5, client:stats().timeouts)
      here:becomes(1)
      other:release(path)
    end)

    it("end a wait, not too early, and leave no node", function()
      local lock, began = client:mutex(path), wait.now()
      taken()
      assert.same({ nil, "timeout" }, { lock:acquire(0.15) })
      assert.is_true(wait.now() - began >= 0.15)
      here:becomes(1)
      assert.is_true(other:release(path))
      assert(lock:acquire(PATIENCE))
      lock:release()
    end)

    it("may be math.huge or nil", function()
      local lock = client:mutex(path)
      for _, timeout in ipairs { math.huge, false } do
        taken()
        other:begin("eval", [[
          local path, inspector = ..., require "spec.support.inspector"
          local tree = inspector.connect((select(2, ...)))
          require("spec.support.wait").eventually(function() return #tree:children(path) == 2 end)
          tree:close()
          worker.lock(path):release()
        ]], path, zk.hosts)
        assert(lock:acquire(timeout or nil))
        other:finish()
        lock:release()
      end
    end)

    it("may be very large", function()
      local lock = client:mutex(path)
      for _, timeout in ipairs { 1e9, 1e18, 1e300 } do
        assert(lock:acquire(timeout))
        lock:release()
      end
    end)
  end)

  describe("its options", function()
    it("belong to the path: the same ones are fine", function()
      local lock = client:mutex(path, { fair = true })
      assert.equal(path, client:mutex(path):path())
      assert.equal(path, client:mutex(path, {}):path())
      assert.equal(path, lock:path())
    end)
  end)
end)
