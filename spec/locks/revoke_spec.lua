-- SPDX-License-Identifier: MIT
--- Revocation on a real server: a client asks for a lock, and its holder hears of it.

local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE

describe("revocation", function()
  local here = fixture.new("/revoke")
  local client, other, path

  setup(function() client, other = here:connect(), here:connect() end)

  before_each(function() path = here.path end)

  local function listen(handle)
    local heard = {}
    handle:on_revoke(function(...) heard[#heard + 1] = { ... } end)
    return heard
  end

  it("asks the holder, which may release", function()
    local lock, theirs = client:mutex(path), other:mutex(path)
    local token = assert(lock:acquire(PATIENCE, "me"))
    local asked
    lock:on_revoke(function(who, t)
      asked = { who, t }
      assert(lock:release(who))
    end)
    local granted
    local request = theirs:request(PATIENCE, function(t) granted = t end)
    assert.is_true(theirs:revoke(PATIENCE))
    wait.eventually(function()
      client:poll(0.01)
      other:poll(0.01)
      return granted
    end, PATIENCE)
    assert.same({ "me", token }, asked)
    assert.equal(1, client:stats().revoked)
    request:release()
  end)

  it("may come, and the listener release, before the call that acquires returns: it has lost the lock", function()
    local lock, theirs = client:mutex(path), other:mutex(path)
    assert(theirs:acquire(PATIENCE, "they"))
    local before, said = client:stats().revoked, nil
    lock:on_revoke(function(who) said = { lock:release(who) } end)
    client:spawn(string.gsub, "one", "one", function() -- a C function: nobody takes the client's events meanwhile
      here:becomes(2)
      assert(theirs:release("they"))
      assert.is_true(theirs:revoke(PATIENCE))
      wait.eventually(function() return client:stats().revoked > before end, PATIENCE)
    end)
    assert.same({ nil, "lost" }, { lock:acquire(PATIENCE) })
    assert.same({ true }, said)
    assert.same({ nil, "not owner" }, { lock:release() })
    assert(theirs:acquire(PATIENCE, "they"))
    assert(theirs:release("they"))
  end)

  it("returns false if there is no holder", function()
    assert.is_false(client:mutex(path):revoke(PATIENCE))
    assert.is_false(client:rwlock(path .. "rw").read:revoke(PATIENCE))
    assert.is_false(client:semaphore(path .. "s", 2):revoke(PATIENCE))
    assert.is_false(client:multilock({ path .. "a", path .. "b" }):revoke(PATIENCE))
  end)

  it("takes nothing away: a holder without a listener keeps the lock", function()
    local lock = client:mutex(path)
    assert(lock:acquire(PATIENCE))
    assert.is_true(other:mutex(path):revoke(PATIENCE))
    wait.eventually(function()
      client:poll(0.01)
      return client:stats().revoked > 1
    end, PATIENCE)
    assert.is_true(lock:is_held())
    lock:release()
  end)

  it("reaches a listener that is set later once, and none of a holder that has released", function()
    local lock = client:mutex(path)
    local before = client:stats().revoked
    local token = assert(lock:acquire(PATIENCE, "me"))
    assert.is_true(other:mutex(path):revoke(PATIENCE))
    assert.is_true(other:mutex(path):revoke(PATIENCE))
    wait.eventually(function()
      client:poll(0.01)
      return client:stats().revoked > before
    end, PATIENCE)
    local heard = listen(lock)
    here:hear(heard)
    client:poll(0.1)
    assert.same({ { "me", token } }, heard)
    lock:release("me")
    assert(lock:acquire(PATIENCE, "me")) -- a new hold has not been asked for
    client:poll(0.2)
    assert.equal(1, #heard)
    lock:release("me")
  end)

  it("notices a revocation that came before the watch on the node", function()
    local lock = client:mutex(path)
    local heard = listen(lock)
    local token = assert(lock:acquire(PATIENCE, "me"))
    local node = here.tree:children(path)[1]
    here.tree:set(path .. "/" .. node, "__REVOKE__") -- at once: the watch is armed only later
    here:hear(heard)
    assert.same({ { "me", token } }, heard)
    lock:release("me")
  end)

  it("ignores other writes to the node", function()
    local lock = client:mutex(path)
    local heard = listen(lock)
    assert(lock:acquire(PATIENCE))
    local node = path .. "/" .. here.tree:children(path)[1]
    here.tree:set(node, "__REVOKE__ please")
    client:poll(0.3)
    assert.same({}, heard)
    here.tree:set(node, "__REVOKE__")
    here:hear(heard)
    assert.is_true(lock:is_held())
    lock:release()
  end)

  it("asks all readers, or the writer", function()
    local rw, theirs = client:rwlock(path), other:rwlock(path)
    local heard, heard_there = listen(rw.read), listen(theirs.read)
    assert(rw.read:acquire(PATIENCE, "a"))
    assert(theirs.read:acquire(PATIENCE, "b"))
    assert.is_true(rw.write:revoke(PATIENCE))
    here:hear(heard)
    here:hear(heard_there)
    assert.equal("a", heard[1][1])
    assert.equal("b", heard_there[1][1])
    rw.read:release("a")
    theirs.read:release("b")
    local writer = listen(rw.write)
    assert(rw.write:acquire(PATIENCE, "w"))
    assert.is_true(theirs.read:revoke(PATIENCE))
    here:hear(writer)
    assert.equal("w", writer[1][1])
    rw.write:release("w")
  end)

  it("asks each holder of a lease once", function()
    local semaphore, theirs = client:semaphore(path, 3), other:semaphore(path, 3)
    local two, one = assert(semaphore:acquire(PATIENCE, 2)), assert(theirs:acquire(PATIENCE))
    local heard, heard_there = listen(semaphore), listen(theirs)
    assert.is_true(semaphore:revoke(PATIENCE))
    here:hear(heard)
    here:hear(heard_there)
    client:poll(0.1)
    assert.equal(1, #heard)
    assert.equal(two, heard[1][1])
    assert.equal(two:token(), heard[1][2])
    assert.equal(one, heard_there[1][1])
    two:release()
    one:release()
  end)

  it("may arrive on any path of a multilock, and asks for all of it", function()
    local paths = { path .. "/a", path .. "/b" }
    for i = 1, 2 do
      local all = client:multilock(paths)
      local heard = listen(all)
      local token = assert(all:acquire(PATIENCE, "me"))
      assert.is_true(other:mutex(paths[i]):revoke(PATIENCE))
      here:hear(heard)
      assert.same({ { "me", token } }, heard)
      all:release("me")
      assert(all:acquire(PATIENCE, "me"))
      assert.is_true(other:multilock(paths):revoke(PATIENCE))
      here:hear(heard, 2)
      all:release("me")
    end
  end)

  it("answers like every other call when it cannot ask", function()
    local third = assert(zklock.connect(here.zk.hosts))
    local lock = third:mutex(path)
    third:close()
    assert.same({ nil, "closed" }, { lock:revoke() })
    for _, bad in ipairs { -1, 0 / 0, "1" } do assert.is_false(pcall(lock.revoke, lock, bad)) end
    for _, bad in ipairs { 1, "fn", {} } do assert.is_false(pcall(lock.on_revoke, lock, bad)) end
  end)
end)
