-- SPDX-License-Identifier: MIT
--- ACLs that forbid what a lock needs, and what they protect from strangers.

local fixture = require "spec.support.fixture"
local inspector = require "spec.support.inspector"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local SESSION = 600 -- seconds: longer than anything here takes, and no heartbeat comes meanwhile
local PATIENCE = wait.PATIENCE
local READ, WRITE, CREATE, DELETE, ADMIN = 1, 2, 4, 8, 16
local AUTH = { scheme = "digest", credential = "user:password" }
local DENIED = { nil, "access denied" }

local function anybody(...)
  local perms = 0
  for _, perm in ipairs { ... } do perms = perms + perm end
  return { { perms = perms, scheme = "world", id = "anyone" } }
end

describe("an ACL", function()
  local here = fixture.new("/access", { session_timeout = SESSION, super = true })
  local zk, tree, stranger, client, path

  setup(function()
    zk, tree = here.zk, here.tree
    stranger = here:closes(inspector.connect(zk.hosts))
  end)

  before_each(function() path, client = here.path, here:connect() end)

  --- It has nothing under way or left over, and works elsewhere.
  local function is_usable()
    assert.is_true(client:flush(PATIENCE))
    assert.same({}, here:nodes())
    local elsewhere = client:mutex(path .. "-open")
    assert(elsewhere:acquire(PATIENCE))
    assert.is_true(elsewhere:release())
    assert.is_true(client:flush(PATIENCE))
    local stats = client:stats()
    assert.same({ 1, 0, 0, 0 }, { stats.sessions, stats.waiting, stats.held, stats.lost })
    client:poll(0.3) -- nothing is tried behind the scenes
    assert.equal(stats.requests_sent, client:stats().requests_sent)
    assert.equal("connected", client:state())
  end

  for what, acl in pairs {
    creating = anybody(READ, WRITE, DELETE, ADMIN), reading = anybody(WRITE, CREATE, DELETE, ADMIN),
    ["creating and reading"] = anybody(WRITE, DELETE, ADMIN), everything = anybody(ADMIN),
  } do
    it("that forbids " .. what .. " answers 'access denied', and leaves nothing behind", function()
      assert(tree:create(path, "", { parents = true, acl = acl }))
      local lock, list = client:mutex(path), {}
      assert.same(DENIED, { lock:acquire(PATIENCE) })
      assert.same(DENIED, { lock:acquire(0) })
      assert.same(DENIED, { lock:with(nil, function() end) })
      for i = 1, 3 do lock:request(nil, function(got, err) list[i] = { got, err } end) end
      here:eventually(function() return #list == 3 end, "every answer")
      for i = 1, 3 do assert.same(DENIED, list[i]) end
      is_usable()
    end)
  end

  it("that forbids reading hides who is in the line", function()
    assert(tree:create(path, "", { parents = true, acl = anybody(WRITE, CREATE, DELETE) }))
    assert.same(DENIED, { client:mutex(path):participants(PATIENCE) })
    is_usable()
  end)

  it("that forbids reading the node of the one before us answers 'access denied'", function()
    local other = inspector.connect(zk.hosts)
    other:add_auth("digest", AUTH.credential)
    assert(tree:create(path, "", { parents = true }))
    assert(other:create(path .. "/_c_x-lock-", "", { acl = "creator", ephemeral = true, sequence = true }))
    assert.same(DENIED, { client:mutex(path):acquire(PATIENCE) })
    here:becomes(1)
    other:close()
    is_usable()
  end)

  it("that forbids reading somebody's node fails those whom it blocks, and nobody else", function()
    local other = inspector.connect(zk.hosts)
    other:add_auth("digest", AUTH.credential)
    local before = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
    assert(tree:create(path, "", { parents = true }))
    assert(before:mutex(path):acquire(PATIENCE))
    local heard
    local waiting = client:mutex(path):request(nil, function(got, err) heard = { got, err } end)
    here:becomes(2)
    assert(other:create(path .. "/_c_x-lock-", "", { acl = "creator", ephemeral = true, sequence = true }))
    here:becomes(3)
    assert.same(DENIED, { client:mutex(path):acquire(PATIENCE) })
    assert.equal("waiting", waiting:state())
    assert.is_true(before:mutex(path):release())
    wait.eventually(function()
      client:poll(0.01)
      return heard
    end, PATIENCE)
    assert.is_number(heard[1])
    assert.is_true(waiting:release())
    other:close()
    before:close()
    is_usable()
  end)

  describe("that forbids deleting", function()
    local acl = anybody(READ, WRITE, CREATE, ADMIN)

    before_each(function() assert(tree:create(path, "", { parents = true, acl = acl })) end)

    it("is told by flush, and the release is carried out when it is lifted", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      assert.is_true(lock:release())
      assert.same(DENIED, { client:flush(PATIENCE) })
      assert.same(DENIED, { client:flush(PATIENCE) }) -- asked again
      assert.is_false(lock:is_held())
      assert.equal(1, #here:nodes())
      assert(client:mutex(path .. "-open"):acquire(PATIENCE))
      assert.is_true(client:mutex(path .. "-open"):release())
      assert.same(DENIED, { client:flush(PATIENCE) })
      assert(tree:set_acl(path, "open"))
      wait.eventually(function() return client:flush(PATIENCE) end) -- a try on its way may still be denied
      is_usable()
    end)

    it("keeps the node of one who gave up, until the session ends", function()
      local other = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
      assert(other:mutex(path):acquire(PATIENCE))
      assert.same({ nil, "timeout" }, { client:mutex(path):acquire(0) })
      assert.same(DENIED, { client:flush(PATIENCE) })
      assert.equal(2, #here:nodes())
      client:close()
      assert.equal(1, #here:nodes())
      other:close()
      assert.same({}, here:nodes())
    end)
  end)

  it("that is closed while the link is down ends a wait, and leaves nothing behind when it is opened", function()
    local faulty = proxy.start(zk.hosts)
    local waiter = assert(zklock.connect(faulty.hosts, { session_timeout = SESSION }))
    local list = {}
    assert(client:mutex(path):acquire(PATIENCE))
    waiter:mutex(path):request(nil, function(got, err) list[#list + 1] = { got, err } end)
    here:becomes(2)
    assert(waiter:mutex(path):participants(PATIENCE)) -- its answer comes behind that to the create
    faulty:refuse()
    faulty:cut()
    wait.eventually(function() return waiter:state() == "suspended" end)
    assert(tree:set_acl(path, anybody(ADMIN)))
    faulty:heal()
    wait.eventually(function()
      waiter:poll(0.01)
      return #list > 0
    end, PATIENCE, "the answer")
    assert.same({ DENIED }, list)
    assert.same(DENIED, { waiter:flush(PATIENCE) })
    assert.is_true(client:mutex(path):is_held()) -- what is held is held
    assert(tree:set_acl(path, "open"))
    wait.eventually(function() return waiter:flush(PATIENCE) end)
    assert.is_true(client:mutex(path):release())
    is_usable()
    waiter:close()
    faulty:close()
  end)

  it("of somebody else shuts out who has a wrong password, and leaves nothing behind", function()
    local wrong = { scheme = "digest", credential = "user:wrong" }
    local owner = assert(zklock.connect(zk.hosts, { session_timeout = SESSION, auth = AUTH }))
    assert(owner:mutex(path):acquire(PATIENCE))
    client:close()
    client = assert(zklock.connect(zk.hosts, { session_timeout = SESSION, auth = wrong, acl = "open" }))
    assert.same(DENIED, { client:mutex(path):acquire(PATIENCE) })
    assert.same(DENIED, { client:mutex(path):acquire(0) })
    assert.equal(1, #here:nodes())
    owner:close()
    is_usable()
  end)

  describe("'creator'", function()
    local owner, lock, token, losses

    before_each(function()
      owner = assert(zklock.connect(zk.hosts, { session_timeout = SESSION, auth = AUTH }))
      losses = {}
    end)

    after_each(function() owner:close() end)

    local function hold(at)
      lock = owner:mutex(at)
      lock:on_lost(function(...) losses[#losses + 1] = { ... } end)
      token = assert(lock:acquire(PATIENCE))
      return at .. "/" .. assert(tree:children(at))[1]
    end

    it("lets no stranger delete a lock's node, or write to it, or make one of its own", function()
      local node = hold(path .. "/a/lock")
      for _, at in ipairs { node, path .. "/a/lock", path .. "/a" } do
        local ok, err = stranger:delete(at)
        assert.is_nil(ok)
        assert.is_true(err == "NOAUTH" or err == "NOTEMPTY", err)
        assert.same({ nil, "NOAUTH" }, { stranger:set(at, "") })
        assert.same({ nil, "NOAUTH" }, { stranger:get(at) })
        assert.same({ nil, "NOAUTH" }, { stranger:set_acl(at, "open") })
        assert.same({ nil, "NOAUTH" }, { stranger:create(at .. "/_c_x-lock-", "", { sequence = true }) })
      end
      assert.same({ nil, "NOAUTH" }, { stranger:delete(node) })
      owner:poll(0.1)
      assert.same({}, losses)
      assert.equal(token, lock:token())
      assert.is_true(lock:is_held())
    end)

    it("protects the lock also below a directory that is everybody's", function()
      assert(tree:create(path, "", { parents = true }))
      local node = hold(path .. "/lock")
      assert.same({ nil, "NOAUTH" }, { stranger:delete(node) })
      assert.same({ nil, "NOTEMPTY" }, { stranger:delete(path .. "/lock") })
      assert.is_true(lock:is_held())
      -- An empty directory is removed by whoever may, and made again.
      assert.is_true(lock:release())
      assert.is_true(owner:flush(PATIENCE))
      assert.is_true(stranger:delete(path .. "/lock"))
      assert.is_true(assert(lock:acquire(PATIENCE)) > token)
    end)

    --- The session whose locks are of another kind ends before: what it leaves may not be deleted otherwise.
    local function is_denied(at)
      local second = assert(zklock.connect(zk.hosts, { session_timeout = SESSION, auth = AUTH }))
      assert.same(DENIED, { second:rwlock(at).read:acquire(PATIENCE) })
      assert.same(DENIED, { second:rwlock(at).write:acquire(PATIENCE) })
      second:close()
      assert.same(DENIED, { owner:mutex(at):acquire(PATIENCE) })
      assert.same(DENIED, { owner:mutex(at):acquire(0) })
      assert.same(DENIED, { owner:multilock { at .. "-other", at }:acquire(PATIENCE) })
      tree:set_acl(at, "open") -- the nodes may be deleted now, if they could not
      assert.is_true(owner:flush(PATIENCE))
      assert.same({}, tree:children(at))
    end

    --- Our entry in an ACL, as the servers spell it.
    local function ourselves()
      hold(path .. "/probe")
      return tree:get_acl(path .. "/probe")[1]
    end

    for _, perm in ipairs { CREATE, DELETE, ADMIN } do
      it("takes no lock in a directory where anybody has permission " .. perm, function()
        assert(tree:create(path, "", { parents = true }))
        local ours = ourselves()
        assert(tree:create(path .. "/lock", "", { acl = { ours, anybody(READ, perm)[1] } }))
        is_denied(path .. "/lock")
        assert(tree:set_acl(path .. "/lock", { ours, anybody(READ, WRITE)[1] }))
        hold(path .. "/lock")
      end)
    end

    it("takes no lock in a directory where every address has a permission", function()
      assert(tree:create(path, "", { parents = true }))
      local ours = ourselves()
      for i, network in ipairs { "0.0.0.0/0", "0.0.0.0/1" } do
        local at = ("%s/lock%d"):format(path, i)
        assert(tree:create(at, "", { acl = { ours, { perms = DELETE, scheme = "ip", id = network } } }))
        is_denied(at)
        assert(tree:set_acl(at, { ours, { perms = 31, scheme = "ip", id = "127.0.0.0/8" } }))
        hold(at)
        assert.is_true(lock:release())
      end
    end)

    it("takes no lease where anybody may create or delete", function()
      assert(tree:create(path .. "/locks", "", { parents = true }))
      assert.same(DENIED, { owner:semaphore(path, 2):acquire(PATIENCE) })
      assert.is_true(owner:flush(PATIENCE))
      assert(tree:delete(path .. "/locks"))
      assert(tree:create(path .. "/leases", "", { parents = true }))
      assert.same(DENIED, { owner:semaphore(path, 2):acquire(PATIENCE) })
    end)

    it("takes no lock in a directory whose ACL may not be read", function()
      assert(tree:create(path, "", { parents = true }))
      local ours = ourselves()
      ours.perms = CREATE + DELETE
      assert(tree:create(path .. "/lock", "", { acl = { ours } }))
      is_denied(path .. "/lock")
    end)

    it("takes a lock anywhere that it may, if the client's ACL is 'open'", function()
      owner:close()
      owner = assert(zklock.connect(zk.hosts, { session_timeout = SESSION, auth = AUTH, acl = "open" }))
      assert(tree:create(path, "", { parents = true }))
      local node = hold(path)
      assert.is_true(stranger:delete(node))
      wait.eventually(function()
        owner:poll(0.01)
        return #losses > 0
      end, PATIENCE, "the loss")
      assert.same({ "lost", token }, { losses[1][1], losses[1][3] })
    end)

    it("notices a directory that a stranger has made anew, in the same session", function()
      assert(tree:create(path, "", { parents = true }))
      hold(path .. "/lock")
      assert.is_true(lock:release())
      assert.is_true(owner:flush(PATIENCE))
      assert.is_true(stranger:delete(path .. "/lock"))
      assert(stranger:create(path .. "/lock", ""))
      is_denied(path .. "/lock")
    end)

    it("notices that a directory was opened to anybody", function()
      hold(path .. "/lock")
      assert.is_true(lock:release())
      assert(tree:set_acl(path .. "/lock", "open"))
      is_denied(path .. "/lock")
    end)

    it("asks for a directory's ACL once", function()
      local faulty = proxy.start(zk.hosts)
      local counted = assert(zklock.connect(faulty.hosts, { session_timeout = SESSION, auth = AUTH }))
      hold(path .. "/lock")
      assert.is_true(lock:release())
      for _ = 1, 5 do
        assert(counted:mutex(path .. "/lock"):acquire(PATIENCE))
        assert.is_true(counted:mutex(path .. "/lock"):release())
        assert.is_true(counted:flush(PATIENCE))
      end
      assert.equal(1, faulty:counts().getACL)
      counted:close()
      faulty:close()
    end)

    it("lets two identities share a lock, whoever made it, if its ACL names both", function()
      local other = assert(zklock.connect(zk.hosts, { session_timeout = SESSION,
        auth = { scheme = "digest", credential = "second:word" } }))
      assert(tree:create(path, "", { parents = true }))
      assert(other:mutex(path .. "/second"):acquire(PATIENCE))
      local both = { ourselves(), tree:get_acl(path .. "/second")[1] }
      assert(tree:create(path .. "/both", "", { acl = both }))
      for _, client_of in ipairs { owner, other } do
        assert(client_of:mutex(path .. "/both"):acquire(PATIENCE))
        assert.is_true(client_of:mutex(path .. "/both"):release())
        assert.is_true(client_of:flush(PATIENCE))
      end
      other:close()
    end)

    it("does not stop a stranger who makes the path first, where he may", function()
      local thief = inspector.connect(zk.hosts)
      thief:add_auth("digest", "thief:word")
      assert(tree:create(path, "", { parents = true }))
      assert(thief:create(path .. "/lock", "", { acl = "creator" }))
      assert.same(DENIED, { owner:mutex(path .. "/lock"):acquire(PATIENCE) })
      thief:close()
    end)
  end)
end)

describe("a path that was idle for long", function()
  it("cannot be made anew by a stranger: the topmost directory that 'creator' makes stays #once", function()
    local zk = server.start { container_check_interval = 50 }
    local stranger = inspector.connect(zk.hosts)
    local owner = assert(zklock.connect(zk.hosts, { session_timeout = SESSION, auth = AUTH }))
    local lock = owner:mutex("/squat/shop/stock")
    for _ = 1, 2 do
      assert(lock:acquire(PATIENCE))
      assert.is_true(lock:release())
      local function is_gone(path)
        -- NOAUTH: it is there, and the server tells that to those alone that may read it
        wait.eventually(function() return select(2, stranger:exists(path)) == "NONODE" end, PATIENCE,
          "the end of " .. path)
      end
      is_gone("/squat/shop") -- the servers clear the containers away
      assert(stranger:create("/canary", "", { container = true }))
      assert(stranger:create("/canary/a", ""))
      assert(stranger:delete("/canary/a"))
      is_gone("/canary") -- by now they would have cleared away the one above, too
    end
    assert.same({ nil, "NOAUTH" }, { stranger:create("/squat/shop", "") })
    owner:close()
    stranger:close()
    zk:stop()
  end)
end)
