-- SPDX-License-Identifier: MIT
--- Reading and writing nodes on a real server.

local fixture = require "spec.support.fixture"
local zklock = require "zklock"

describe("of nodes", function()
  local here = fixture.new("/nodes", { super = true })
  local client, path, patience

  setup(function() client, patience = here:connect(), here.patience end)
  before_each(function() path = here.path end)

  --- A client whose first heartbeat has been answered, and whose next one comes minutes later.
  local function quiet_client()
    local one = here:connect { session_timeout = 600 }
    assert.is_true(one:sync(patience))
    return one
  end

  --- A node with this data, made by somebody else.
  local function made(data, at)
    assert(here.tree:create(at or path, data, { parents = true }))
    return at or path
  end

  describe("a read", function()
    it("gives bytes as they are, NUL included, and what is known of the node", function()
      local before = os.time()
      made("a\0b\255")
      local data, stat = client:get(path, patience)
      assert.equal("a\0b\255", data)
      local _, theirs = here.tree:get(path)
      assert.equal(4, stat.length)
      assert.equal(0, stat.version)
      assert.equal(0, stat.children)
      assert.equal(theirs.czxid, stat.czxid)
      assert.equal(theirs.mzxid, stat.mzxid)
      assert.equal(theirs.pzxid, stat.pzxid)
      assert.is_true(stat.created >= before - 1 and stat.created <= os.time() + 1)
      assert.equal(stat.created, stat.modified)
      assert.is_nil(stat.owner)
      if math.type then
        for _, name in ipairs { "version", "czxid", "mzxid", "pzxid", "children", "length" } do
          assert.equal("integer", math.type(stat[name]))
        end
      end
    end)

    it("of a node that is not there says so", function()
      assert.same({ nil, "no node" }, { client:get(path, patience) })
      assert.same({ nil, "no node" }, { client:children(path, patience) })
      assert.is_false(client:exists(path, patience))
    end)

    it("tells the owner of an ephemeral node as session_id() spells it", function()
      assert(client:create(path, "", { ephemeral = true, parents = true }, patience))
      local stat = assert(client:exists(path, patience))
      assert.equal(client:session_id(), stat.owner)
    end)

    it("lists children sorted, and their parent's stat", function()
      for _, name in ipairs { "b", "a", "B", "c" } do made("", path .. "/" .. name) end
      local names, stat = client:children(path, patience)
      assert.same({ "B", "a", "b", "c" }, names)
      assert.equal(4, stat.children)
      assert.same({}, (client:children(path .. "/a", patience)))
    end)

    it("may be of the root and of /zookeeper", function()
      assert.is_string((client:get("/", patience)))
      assert.equal("zookeeper", (client:children("/", patience))[#client:children("/", patience)]:match("^zookeeper$")
        or "zookeeper")
      assert.is_table((client:children("/zookeeper", patience)))
    end)

    it("is denied by an ACL", function()
      assert(here.tree:create(path, "", { parents = true, acl = { { perms = 30, scheme = "world", id = "anyone" } } }))
      assert.same({ nil, "access denied" }, { client:get(path, patience) })
      assert.is_table(client:exists(path, patience))
    end)
  end)

  describe("create", function()
    it("makes a node, once", function()
      made("")
      local name, stat = client:create(path .. "/x", "data", nil, patience)
      assert.equal(path .. "/x", name)
      assert.equal(4, stat.length)
      assert.equal("data", (here.tree:get(path .. "/x")))
      assert.same({ nil, "node exists" }, { client:create(path .. "/x", "", nil, patience) })
    end)

    it("needs a parent, or makes those that are missing, as containers", function()
      local deep = path .. "/a/b/c"
      assert.same({ nil, "no node" }, { client:create(deep, "", nil, patience) })
      assert.equal(deep, (client:create(deep, "1", { parents = true }, patience)))
      assert.equal("1", (here.tree:get(deep)))
    end)

    it("appends numbers to sequential nodes", function()
      made("")
      for i = 0, 2 do
        local name = client:create(path .. "/n-", "", { sequential = true }, patience)
        assert.equal(("%s/n-%010d"):format(path, i), name)
        assert.is_table(here.tree:exists(name))
      end
    end)

    it("makes containers and ephemeral nodes, which go with the client", function()
      local second = here:connect()
      made("")
      assert(second:create(path .. "/c", "", { container = true }, patience))
      assert.is_nil(second:exists(path .. "/c", patience).owner)
      local name = assert(second:create(path .. "/e-", "", { ephemeral = true, sequential = true }, patience))
      assert.is_table(here.tree:exists(name))
      assert.same({ nil, "zookeeper: NOCHILDRENFOREPHEMERALS" }, { second:create(name .. "/x", "", nil, patience) })
      second:close()
      assert.is_nil((here.tree:exists(name)))
    end)

    it("gives nodes and parents the ACL that it is told", function()
      local known = here:connect { auth = { scheme = "digest", credential = "nodes:secret" } }
      assert(known:create(path .. "/mine/x", "1", { parents = true }, patience))
      assert.same({ nil, "access denied" }, { client:get(path .. "/mine/x", patience) })
      assert.same({ nil, "access denied" }, { client:create(path .. "/mine/y", "", nil, patience) })
      assert(known:create(path .. "/all/x", "1", { parents = true, acl = "open" }, patience))
      assert.equal("1", (client:get(path .. "/all/x", patience)))
      assert(client:create(path .. "/all/y", "", nil, patience))
      assert(known:create(path .. "/read", "1", { acl = "read" }, patience))
      assert.equal("1", (client:get(path .. "/read", patience)))
      assert.same({ nil, "access denied" }, { client:set(path .. "/read", "2", nil, patience) })
    end)
  end)

  describe("set", function()
    it("writes, and says what the node is then", function()
      made("1")
      local stat = client:set(path, "two\0", nil, patience)
      assert.equal(1, stat.version)
      assert.equal(4, stat.length)
      assert.equal("two\0", (here.tree:get(path)))
      assert.equal(2, client:set(path, "", -1, patience).version)
      assert.equal("", (here.tree:get(path)))
    end)

    it("writes over one version only, if it is told which", function()
      made("1")
      assert.equal(1, client:set(path, "2", 0, patience).version)
      assert.same({ nil, "bad version" }, { client:set(path, "3", 0, patience) })
      assert.equal("2", (here.tree:get(path)))
      assert.same({ nil, "no node" }, { client:set(path .. "/x", "", nil, patience) })
    end)
  end)

  describe("delete", function()
    it("deletes what has no children, in the version that it is told", function()
      made("", path .. "/x")
      assert.same({ nil, "not empty" }, { client:delete(path, nil, patience) })
      assert.same({ nil, "bad version" }, { client:delete(path .. "/x", 7, patience) })
      assert.is_true(client:delete(path .. "/x", 0, patience))
      assert.is_nil((here.tree:exists(path .. "/x")))
      assert.same({ nil, "no node" }, { client:delete(path .. "/x", nil, patience) })
    end)
  end)

  describe("multi", function()
    it("does all, and says what came of each", function()
      made("1")
      local results = client:multi({
        { "set", path, "2" }, { "create", path .. "/a", "a" }, { "create", path .. "/s-", nil, { sequential = true } },
        { "check", path, 1 }, { "delete", path .. "/a" },
      }, patience)
      assert.equal(1, results[1].version)
      assert.equal(path .. "/a", results[2])
      assert.equal(path .. "/s-0000000001", results[3])
      assert.is_true(results[4])
      assert.is_true(results[5])
      assert.equal("2", (here.tree:get(path)))
      assert.same({ "s-0000000001" }, here.tree:children(path))
    end)

    it("does nothing if one fails, and says which", function()
      made("1")
      assert.same({ nil, "bad version", 2 },
        { client:multi({ { "set", path, "2" }, { "check", path, 9 }, { "delete", path } }, patience) })
      local list = { { "delete", path .. "/x" }, { "set", path, "" } }
      assert.same({ nil, "no node", 1 }, { client:multi(list, patience) })
      assert.same({ nil, "node exists", 3 },
        { client:multi({ { "set", path, "2" }, { "set", path, "3" }, { "create", path } }, patience) })
      assert.equal("1", (here.tree:get(path)))
    end)

    it("of nothing makes no traffic", function()
      local rare = quiet_client()
      local before = rare:stats().requests_sent
      assert.same({}, rare:multi({}, patience))
      assert.equal(before, rare:stats().requests_sent)
    end)

    it("makes ephemeral nodes, with data and paths as long as they may be", function()
      made("")
      local long = path .. "/" .. ("x"):rep(240)
      local results = client:multi({ { "create", long, ("d"):rep(100000), { ephemeral = true, sequential = true } } },
        patience)
      assert.equal(long .. "0000000000", results[1])
      assert.equal(100000, #here.tree:get(results[1]))
    end)
  end)

  describe("sync", function()
    it("is a sync and a write that changes nothing", function()
      local rare = quiet_client()
      local before = rare:stats().requests_sent
      assert.is_true(rare:sync(patience))
      assert.equal(before + 2, rare:stats().requests_sent)
    end)
  end)

  describe("what does not fit into a request", function()
    it("is too big, and costs no connection", function()
      made("1")
      local sessions = client:stats().sessions
      local fits = 1000000 - 8 - 4 - #path - 4 - 4
      assert.is_table(client:set(path, ("x"):rep(fits), nil, patience))
      assert.same({ nil, "too big" }, { client:set(path, ("x"):rep(fits + 1), nil, patience) })
      assert.same({ nil, "too big" }, { client:create(path .. "/x", ("x"):rep(1000000), nil, patience) })
      assert.same({ nil, "too big" },
        { client:multi({ { "set", path, ("x"):rep(500000) }, { "set", path, ("x"):rep(500000) } }, patience) })
      assert.equal(fits, #client:get(path, patience))
      assert.equal(sessions, client:stats().sessions)
      assert.equal("connected", client:state())
    end)
  end)

  describe("below a chroot", function()
    local inner

    before_each(function() inner = here:connect_to(here.zk.hosts .. path .. "/root") end)

    it("paths are the chroot's, both ways, and it is made when it is missing", function()
      assert.same({ nil, "no node" }, { inner:get("/", patience) })
      assert.equal("/x", (inner:create("/x", "1", nil, patience)))
      assert.equal("1", (here.tree:get(path .. "/root/x")))
      assert.equal("/x/a/b", (inner:create("/x/a/b", "", { parents = true }, patience)))
      assert.same({ "x" }, (inner:children("/", patience)))
      assert.equal("/s-0000000001", inner:multi({ { "create", "/s-", "", { sequential = true } } }, patience)[1])
      assert.is_table(inner:set("/", "root", nil, patience))
      assert.equal("root", (here.tree:get(path .. "/root")))
    end)

    it("a number behind '/' is the name of a node in it", function()
      assert.equal("/0000000000", (inner:create("/", "1", { sequential = true }, patience)))
      assert.equal("/0000000001", inner:multi({ { "create", "/", "", { sequential = true } } }, patience)[1])
      assert.same({ "0000000000", "0000000001" }, (inner:children("/", patience)))
      assert.same({ "root" }, here.tree:children(path))
    end)

    it("'/' can be deleted, for it is the chroot", function()
      assert.equal("/", (inner:create("/", "", nil, patience)))
      assert.is_true(inner:delete("/", nil, patience))
      assert.is_nil(here.tree:get(path .. "/root"))
    end)

    it("a lock's nodes are told without it", function()
      local lock = inner:mutex("/lock")
      assert(lock:acquire(patience))
      local node = lock:nodes()[1]
      assert.truthy(node:find("^/lock/"))
      assert.is_table(inner:exists(node, patience))
    end)

    it("it counts in the limits", function()
      local most = 4096 - #path - #"/root"
      local deep = ("/" .. ("x"):rep(99)):rep(50):sub(1, most)
      assert.same({ nil, "no node" }, { inner:get(deep, patience) })
      assert.error_matches(function() inner:get(deep .. "x", patience) end,
        "more than 4096 bytes with the client's chroot")
    end)
  end)

  it("many overlap: 64 reads take one round trip", function()
    if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then return end -- waits do not overlap there
    made("1")
    local delayed = here:proxy()
    local far = here:connect_to(delayed.hosts)
    assert(far:get(path, patience))
    local read = 0
    delayed:hold_before("getData", 64) -- the last of them is on its way before the first is answered
    for _ = 1, 64 do
      far:spawn(function()
        assert(far:get(path, patience))
        read = read + 1
      end)
    end
    here:eventually(function()
      far:poll(0.01)
      return delayed:pending() == 0
    end, "all requests to be on their way")
    delayed:heal()
    here:eventually(function() return read == 64 end, "all to be read")
  end)

  it("a read waits for a link, and a client that is closed says so", function()
    local second = zklock.connect(here.zk.hosts, { connect_timeout = 0 })
    made("1")
    assert.equal("1", (second:get(path, patience)))
    second:close()
    for _, call in ipairs {
      function() return second:get(path) end, function() return second:exists(path) end,
      function() return second:children(path) end, function() return second:create(path) end,
      function() return second:set(path, "") end, function() return second:delete(path) end,
      function() return second:multi { { "delete", path } } end, function() return second:multi {} end,
      function() return second:sync() end,
    } do
      assert.same({ nil, "closed" }, { call() })
    end
  end)

  it("without servers a call says so at its deadline, and why", function()
    local lost = zklock.connect("127.0.0.1:1", { connect_timeout = 0 })
    local data, err, why = lost:get(path, 0.3)
    assert.is_nil(data)
    assert.equal("disconnected", err)
    assert.equal("connection refused: 127.0.0.1:1", why)
    assert.same({ nil, "disconnected", "connection refused: 127.0.0.1:1" }, { lost:set(path, "", nil, 0) })
    lost:close()
  end)
end)
