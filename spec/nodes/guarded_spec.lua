-- SPDX-License-Identifier: MIT
--- Writes that are done only while the lock is held: never one by who holds it no more.

local fixture = require "spec.support.fixture"
local session = require "spec.support.session"

describe("a guarded write", function()
  local here = fixture.new("/guarded")
  local client, path, data, patience, write

  setup(function() client, patience = here:connect(), here.patience end)
  before_each(function()
    path, data = here.path, here.path .. "/data"
    assert(here.tree:create(data, "0", { parents = true }))
    write = { { "set", data, "1" } }
  end)

  local function is_written() return here.tree:get(data) == "1" end

  --- Everything that can hold, each with what it holds with: `open(client)` gives what has the methods, and a release.
  local HOLDS = {
    mutex = function()
      local lock = client:mutex(path)
      assert(lock:acquire(patience))
      return lock, lock
    end,
    ["mutex that takes turns"] = function()
      local lock = client:mutex(path, { fair = false })
      assert(lock:acquire(patience))
      return lock, lock
    end,
    ["read lock"] = function()
      local lock = client:rwlock(path .. "/rw").read
      assert(lock:acquire(patience))
      return lock, lock
    end,
    ["write lock"] = function()
      local lock = client:rwlock(path .. "/rw").write
      assert(lock:acquire(patience))
      return lock, lock
    end,
    ["read lock under a write"] = function()
      local lock = client:rwlock(path .. "/rw")
      assert(lock.write:acquire(patience))
      assert(lock.read:acquire(patience))
      lock.write:release()
      return lock.read, lock.read
    end,
    multilock = function()
      local lock = client:multilock { path .. "/a", path .. "/b", path .. "/c" }
      assert(lock:acquire(patience))
      return lock, lock
    end,
    lease = function()
      local lease = assert(client:semaphore(path .. "/pool", 3):acquire(patience, 2))
      return lease, lease
    end,
    request = function()
      local request, heard = here:ask(client:mutex(path))
      here:hear(heard)
      return request, request
    end,
  }

  for kind, open in pairs(HOLDS) do
    describe("of a " .. kind, function()
      it("is done while it is held", function()
        local hold = open()
        local results = assert(hold:multi(write, patience))
        assert.equal(1, #results)
        assert.equal(1, results[1].version)
        assert.is_true(is_written())
        hold:release()
      end)

      it("is not done when any of its nodes is gone; that ends the hold, and is told", function()
        local nodes = #open():nodes()
        for i = 1, nodes do
          local deaf = here:proxy()
          local former = client
          client = here:connect_to(deaf.hosts)
          path = ("%s/%d"):format(here.path, i)
          local hold = open()
          local heard, note = here.notes()
          if hold.on_lost then hold:on_lost(note) end
          deaf:hold_reply("setWatches") -- never comes: only that the proxy looks
          assert.is_true(here.tree:delete(hold:nodes()[i]))
          assert.same({ nil, "lost" }, { hold:multi(write, patience) })
          assert.is_false(is_written())
          assert.same({ nil, "lost" }, { hold:multi(write, patience) })
          assert.is_nil(hold:nodes())
          if hold.on_lost then here:hear(heard) end
          assert.same({ nil, "lost" }, { hold:release() })
          deaf:heal()
          client = former
        end
      end)
    end)
  end

  it("ends the place on which callers take turns, with the hold; so does telling its node", function()
    local lock = client:mutex(path, { fair = false, linger = 100 })
    for _, use in ipairs {
      function() assert(lock:multi(write, patience)) end,
      function() assert.equal(1, #lock:nodes()) end,
    } do
      assert(lock:acquire(patience))
      assert.equal(1, lock:turn())
      lock:release()
      assert(lock:acquire(patience))
      assert.equal(2, lock:turn())
      use()
      lock:release()
      here:becomes(1) -- the data
    end
  end)

  it("says what is wrong with an op, and which", function()
    local lock = client:mutex(path)
    assert(lock:acquire(patience))
    assert.same({ nil, "bad version", 2 }, { lock:multi({ write[1], { "check", data, 7 } }, patience) })
    assert.is_false(is_written())
    assert.is_true(lock:is_held())
    assert.same({}, lock:multi({}, patience))
    lock:release()
  end)

  it("of who never held is refused", function()
    local lock = client:mutex(path)
    assert.same({ nil, "not owner" }, { lock:multi(write, patience) })
    assert.is_nil(lock:nodes())
    assert(lock:acquire(patience))
    assert.same({ nil, "not owner" }, { lock:multi(write, patience, "somebody else") })
    assert.is_nil(lock:nodes("somebody else"))
    lock:release()
    assert.same({ nil, "not owner" }, { lock:multi(write, patience) })
    assert.is_false(is_written())
  end)

  it("of a named owner is his", function()
    local lock = client:mutex(path)
    assert(lock:acquire(patience, "me"))
    assert.is_table(lock:multi(write, patience, "me"))
    assert.equal(1, #lock:nodes("me"))
    lock:release("me")
  end)

  it("is not for the lock's own node", function()
    local lock = client:mutex(path)
    assert(lock:acquire(patience))
    local ok, err = pcall(function() lock:multi { write[1], { "delete", lock:nodes()[1] } } end)
    assert.is_false(ok)
    assert.truthy(err:find("guarded_spec.lua:%d+: bad argument 'ops%[2%]'"), err)
    assert.is_true(lock:is_held())
    lock:release()
  end)

  it("passes after somebody has asked for the lock back", function()
    local lock = client:mutex(path)
    assert(lock:acquire(patience))
    assert.is_true(client:mutex(path):revoke(patience))
    assert.is_table(lock:multi(write, patience))
    lock:release()
  end)

  it("may be made by another client with the nodes that it is told", function()
    local other = here:connect()
    local lock = client:mutex(path)
    assert(lock:acquire(patience))
    local node = lock:nodes()[1]
    assert.is_table(other:multi({ { "check", node }, { "set", data, "2" } }, patience))
    lock:release()
    assert.is_true(client:flush(patience))
    assert.same({ nil, "no node", 1 }, { other:multi({ { "check", node }, { "set", data, "3" } }, patience) })
    assert.equal("2", (here.tree:get(data)))
  end)

  it("is denied without a number where the lock's node cannot be read", function()
    local lock = client:mutex(path)
    assert(lock:acquire(patience))
    assert(here.tree:set_acl(lock:nodes()[1], { { perms = 30, scheme = "world", id = "anyone" } }))
    assert.same({ nil, "access denied" }, { lock:multi(write, patience) })
    assert.is_false(is_written())
    lock:release()
  end)

  it("that waits when the session expires is lost and never sent", function()
    local way = here:proxy()
    local mine = here:connect_to(way.hosts)
    local lock = mine:mutex(path)
    assert(lock:acquire(patience, "me"))
    local victim = way:sessions()[1]
    way:refuse()
    way:cut()
    here:eventually(function() return mine:state() == "suspended" end, "the cut to be noticed")
    local answer
    mine:spawn(function() answer = { lock:multi(write, patience, "me") } end)
    session.expire(here.zk.hosts, victim)
    way:heal()
    here:eventually(function() return answer end, "an answer")
    assert.same({ nil, "lost" }, answer)
    assert.is_false(is_written())
    assert.same({ nil, "lost" }, { lock:release("me") })
    assert.same({ nil, "not owner" }, { lock:release("me") })
  end)
end)
