-- SPDX-License-Identifier: MIT
--- doctor: each thing that could be wrong, one by one.

local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local port = require "spec.support.port"
local server = require "spec.support.server"

local FINE, WARNING, FAILURE, USAGE = 0, 1, 2, 64

local function config(text, mode)
  local path = folder.file("zklock.conf", text)
  assert(require("luv").fs_chmod(path, tonumber(mode or "600", 8)))
  return path
end

describe("zklock doctor #once", function()
  local here = fixture.new("/cli-doctor", { super = true })
  local path

  before_each(function() path = here.path end)

  --- Its exit code, and its lines.
  local function doctor(...)
    local ended = command.run { "doctor", "--connect", "20", env = { ZKLOCK_SERVERS = here.zk.hosts }, ... }
    for line in ended.out:gmatch("[^\n]+") do
      assert.truthy(line:match("^ok       [^:]") or line:match("^warning  [^:]") or line:match("^failure  [^:]"), line)
    end
    return ended.code, ended.out, ended.err
  end

  local function finds(code, text, ...)
    local got, out = doctor(...)
    assert.truthy(("\n" .. out):find("\n" .. text, 1, true), text .. " expected in:\n" .. out)
    assert.equal(code, got, out)
  end

  it("finds nothing wrong where nothing is", function()
    finds(FINE, "ok       " .. here.zk.hosts .. ": a session after ")
    finds(FINE, "ok       ACL of " .. path .. ": no such node yet", path)
    for _, text in ipairs {
      "ok       configuration: /dev/null; servers from $ZKLOCK_SERVERS\n", "ok       TLS: not in use\n",
      "ok       session timeout: 40 s, as asked\n",
      "ok       ACL of " .. path .. ": world:anyone:rwcda: anybody may delete",
      "ok       ACL of /: world:anyone:rwcda: anybody may create",
      "ok       kind: none: nobody is in the line\n", "ok       children: no foreign ones\n",
      "ok       acquire: ", "ok       release: ", "ok       latency: answers take ",
    } do finds(FINE, text, path) end
    assert.same({}, here:nodes())
  end)

  it("says where the servers' names come from if nobody names them", function()
    local ended = command.run { "doctor", "--connect", "1", env = { ZKLOCK_SERVERS = "", ZOOKEEPER = "" } }
    assert.truthy(ended.out:find("ok       configuration: /dev/null; servers from the default\n", 1, true), ended.out)
  end)

  describe("of the servers", function()
    local nobody

    before_each(function() nobody = "127.0.0.1:" .. port.free() end)

    it("says that one of several is away", function()
      finds(WARNING, "warning  " .. nobody .. ": no session within 5 s: connection refused: " .. nobody
        .. ". Start that server", "--connect", "5", "-z", nobody .. "," .. here.zk.hosts)
    end)

    it("says that all are away", function()
      finds(FAILURE, "failure  " .. nobody .. ": no session within 2 s: connection refused", "--connect", "2",
        "-z", nobody)
    end)

    it("says that a name is unknown", function()
      finds(WARNING, "warning  no-such-host.invalid:2181: no session within 5 s: no such host: no-such-host.invalid. ",
        "--connect", "5", "-z", "no-such-host.invalid:2181," .. here.zk.hosts)
    end)

    it("says that they refuse a credential, not that they should be started", function()
      finds(FAILURE, "failure  " .. here.zk.hosts .. ": auth failed: it refuses a credential. Correct `auth` in the "
        .. "configuration, or give the server that scheme\n", "--config", config("auth no-such-scheme me\n"))
    end)

    it("says that they are not of one ensemble", function()
      local other = server.start()
      here:closes(other, other.stop)
      assert(here.tree:create(path, "", { parents = true })) -- the other has no nodes
      finds(FAILURE, "failure  servers: they do not show the same nodes: two callers could hold one lock",
        "-z", other.hosts .. "," .. here.zk.hosts)
    end)

    it("says that they are one ensemble", function()
      local way = here:proxy()
      finds(FINE, "ok       servers: 2 of 2 answer, and show the same nodes\n", "-z", way.hosts .. "," .. here.zk.hosts)
    end)

    it("says that they grant less than was asked, or more", function()
      finds(WARNING, "warning  session timeout: 600 s granted of 900 s. Ask for less", "--config",
        config("session 900\n"))
      finds(WARNING, "warning  session timeout: 0.4 s granted for 0.2 s: a dead process keeps", "--config",
        config("session 0.2\n"))
    end)

    it("says that answers are slow", function()
      local way = here:proxy()
      way:delay(0.5)
      finds(WARNING, "warning  latency: answers take ", "-z", way.hosts, "--config", config("session 6\n"))
    end)
  end)

  describe("of the configuration", function()
    it("says that others can read the credentials", function()
      finds(WARNING, "warning  configuration: ", "--config", config("auth digest me:secret\n", "644"))
    end)

    it("says that credentials cross the network as plain text", function()
      local file = config("auth digest me:secret\n")
      finds(FAILURE, "warning  TLS: not in use: credentials cross the network", "-z", "192.0.2.1:2181", "--connect",
        "0.2", "--config", file)
      finds(FINE, "ok       TLS: not in use\n", "--config", file)
    end)

    it("ends with 64 if it cannot be used", function()
      assert.equal(USAGE, (doctor("--config", config("host x\n"))))
      assert.equal(USAGE, (doctor("x")))
      assert.equal(USAGE, (doctor("/a", "/b")))
      assert.equal(USAGE, (doctor("--grace", "1")))
    end)
  end)

  describe("of a path", function()
    local MINE = "auth digest me:secret\n"

    it("says that strangers may delete the nodes of a lock that is to be safe", function()
      assert(here.tree:create(path, "", { parents = true }))
      local file = config(MINE)
      finds(FAILURE, "failure  ACL of " .. path .. ": world:anyone:rwcda: anybody may delete nodes of the lock, so it "
        .. "is never granted. Give the directory an ACL of your own", path, "--config", file)
      finds(FAILURE, "failure  acquire: access denied. ", path, "--config", file)
      finds(FAILURE, "warning  ACL of /cli-doctor: world:anyone:rwcda: anybody may delete what is empty below it", path,
        "--config", file)
      finds(FAILURE, "ok       ACL of /: world:anyone:rwcda, as usual for the root\n", path, "--config", file)
    end)

    it("shows an ACL that is safe", function()
      local file = config(MINE)
      local client = here:connect { auth = { scheme = "digest", credential = "me:secret" } }
      assert(client:create(path, "", { parents = true, acl = "creator" }, here.patience))
      finds(WARNING, "ok       ACL of " .. path .. ": digest:me:", path, "--config", file)
    end)

    it("says that an ACL may not be read", function()
      local closed = { { perms = 31, scheme = "digest", id = "nobody:x" } }
      assert(here.tree:create(path, "", { parents = true, acl = closed }))
      finds(FAILURE, "failure  children: access denied: " .. path, path)
    end)

    it("says that kinds are mixed", function()
      for _, name in ipairs { "lock-0000000001", "__READ__0000000002" } do
        assert(here.tree:create(path .. "/" .. name, "me", { parents = true, ephemeral = true }))
      end
      finds(FAILURE, "failure  kind: 1 nodes of a mutex, 1 of a read-write lock, none of a semaphore at one path", path)
      finds(FAILURE, "failure  kind: 1 nodes of a mutex, 1 of a read-write lock", path)
    end)

    for kind, names in pairs { ["a mutex"] = { "lock-0000000001" }, ["a read-write lock"] = { "__WRIT__0000000001" },
      ["a semaphore"] = { "locks" } } do
      it("knows the nodes of " .. kind, function()
        for _, name in ipairs(names) do
          assert(here.tree:create(path .. "/" .. name, "", { parents = true }))
        end
        local _, out = doctor(path)
        assert.truthy(out:find("\nok       kind: " .. kind .. "\n", 1, true), out)
      end)
    end

    it("says that there are foreign children", function()
      assert(here.tree:create(path .. "/\226\128\174data", "", { parents = true }))
      finds(WARNING, "warning  children: 1 that are no nodes of this lock, such as \\xe2\\x80\\xaedata. Move",
        path)
    end)

    describe("that is free", function()
      local DEARER = "ok       free lock: three requests to acquire and release: "

      it("says that it costs two requests", function()
        assert(here.tree:create(path, "", { parents = true }))
        local before = here.tree:exists(path).version
        finds(FINE, "ok       free lock: two requests to acquire and release, in the 60 s after the first\n", path)
        assert.equal(before, here.tree:exists(path).version)
      end)

      it("says that its directory has data", function()
        assert(here.tree:create(path, "data", { parents = true }))
        finds(FINE, DEARER .. "the directory has 4 bytes of data. Keep its data in another node\n", path)
        assert.equal("data", (here.tree:get(path)))
      end)

      it("says that the mark of --every is in it", function()
        assert(here.tree:create(path .. "/once-2147483647", "123", { parents = true }))
        finds(FINE, DEARER .. "the mark of --every is in it\n", path)
      end)

      it("says that other nodes are in it", function()
        assert(here.tree:create(path .. "/\226\128\174item", "", { parents = true }))
        finds(WARNING, DEARER .. "other nodes are in it, such as \\xe2\\x80\\xaeitem. Give the lock a path of "
          .. "its own\n", path)
      end)

      it("says that its callers may not write to the directory", function()
        local acl = { { perms = 1 + 4 + 8, scheme = "world", id = "anyone" } }
        assert(here.tree:create(path, "", { parents = true, acl = acl }))
        finds(FINE, DEARER .. "we may not write to the directory. Give its callers the permission WRITE (w), too\n",
          path)
        local _, out = doctor(path)
        assert.not_matches("free lock: two", out)
      end)

      it("says nothing of a semaphore", function()
        assert(here.tree:create(path .. "/locks", "", { parents = true }))
        local _, out = doctor(path)
        assert.not_matches("free lock", out)
      end)
    end)

    it("says that a node of no session stands in the line", function()
      assert(here.tree:create(path .. "/lock-0000000000", "me", { parents = true }))
      finds(FAILURE, "failure  lock-0000000000: a node of no session stands in the line of " .. path, path)
    end)

    it("says that the lock was held, and leaves it to its holder", function()
      local lock = here:connect():mutex(path)
      assert(lock:acquire(here.patience))
      finds(FINE, "ok       acquire, which found the lock held: ", path)
      here:becomes(1)
      assert.is_true(lock:is_held())
    end)

    it("acquires a read-write lock, and leaves a semaphore alone", function()
      local client = here:connect()
      assert(client:rwlock(path).read:acquire(here.patience))
      finds(FINE, "ok       acquire, which found the lock held: ", path)
      local lease = assert(client:semaphore(path .. "/pool", 2):acquire(here.patience))
      finds(FINE, "ok       acquire: not tried: the permits of this semaphore are not known\n", path .. "/pool")
      lease:release()
    end)

    it("knows the mark of --every", function()
      assert(here.tree:create(path .. "/once-2147483647", "123", { parents = true }))
      finds(FINE, "ok       mark of --every: done at 2", path)
      assert(here.tree:set(path .. "/once-2147483647", "__REVOKE__"))
      finds(FINE, "ok       mark of --every: counts from 2", path)
      for _, data in ipairs { "yesterday", "0", "-1", "007", "12\0", "9223372036854775808" } do
        assert(here.tree:set(path .. "/once-2147483647", data))
        finds(FAILURE, "failure  mark of --every: its data is no token: run --every ends with `wrong kind`", path)
      end
    end)
  end)
end)

