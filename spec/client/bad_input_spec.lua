-- SPDX-License-Identifier: MIT
--- Misuse raises, with a message that names the argument, at the line of the caller.

local server = require "spec.support.server"
local zklock = require "zklock"

local PATIENCE = require("spec.support.wait").PATIENCE
local NAN = 0 / 0
local unpack = table.unpack or unpack -- luacheck: ignore 113

local function pack(...) return { n = select("#", ...), ... } end

local caller = assert((loadstring or load)( -- luacheck: ignore 113
  "local f, unpack, args = ...\nlocal result = f(unpack(args, 1, args.n))\nreturn result", "@caller.lua"))

--- The call raises, its message begins with the caller's file and line, and names what was wrong.
local function raises(name, f, ...)
  local ok, message = pcall(caller, f, unpack, pack(...))
  assert.is_false(ok, "it does not raise")
  assert.equal("string", type(message))
  assert.equal("caller.lua:2: ", message:sub(1, 14), message)
  assert.is_truthy(message:find("'" .. name .. "'", 1, true), ("does not name %s: %s"):format(name, message))
  return message
end

local function show(value)
  if type(value) ~= "string" then return tostring(value) end
  return #value < 40 and ("%q"):format(value):gsub("%z", "\\0") or ("%d bytes"):format(#value)
end

local BAD_TIMEOUTS = { -1, -0.001, -math.huge, NAN, "5", "", true, false, {}, print }
local function levels(n) return ("/a"):rep(n) end
local function bytes(n)
  local parts = {}
  for at = 1, n, 100 do parts[#parts + 1] = "/" .. ("b"):rep(math.min(100, n - at + 1) - 1) end
  return table.concat(parts)
end

local BAD_PATHS = {
  7, true, {}, print, "", "a", "a/b", ".", "/", "//", "/a/", "//a", "/a//b", "/.", "/..", "/./a", "/a/.", "/a/..",
  "/a/./b", "/a/../b", "/zookeeper", "/zookeeper/quota", "/zookeeper/a/b", "/a\0", "/\0", "/a\0/b", "\0",
  "/" .. ("x"):rep(256), "/a/" .. ("x"):rep(256) .. "/b", "/a/" .. ("x"):rep(70000), levels(129), levels(15000),
  bytes(4097), bytes(30002),
  -- what a lock's node could be called, of any client: it would stand in the line of the lock above
  "/x-lock-0000000000", "/a/x-lock-0000000007/b", "/a/x-lock--000000001", "/lock-2147483647", "/a/x__lock__0000000001",
  "/a/x__READ__0000000001", "/a/x__WRIT__0000000001/b", "/a/leases/x-lease-0000000000", "/_c_lock-0000000001",
}
local GOOD_PATHS = {
  "/a", "/a/b/c", "/...", "/a/..b", "/a/.b", "/a.", "/zookeeperx", "/a/zookeeper", "/ spaces in it ", "/d\195\164mmern",
  "/" .. ("x"):rep(255), "/a/" .. ("y"):rep(255) .. "/b", "/%d", "/x-lock-", "/x-lock-1", "/a/0000000001",
  "/a/x-lock-0000000001-/b", "/a/x-lock-00000000001", "/a/x-lease-000000000x", "/a:b@c?d#e&f=g+h",
  "/a /b", "/,/ ,", "/all /a", "/~`!$^*(){}[]|\\;'\"<>/ ", "/\194\160", "/%s%n", levels(127),
  bytes(4096 - #"/misuse"),
}
local BAD_FUNCTIONS = { 7, "print", true, {} }

describe("misuse", function()
  local hosts, client, lock

  setup(function()
    hosts = server.shared().hosts
    client = assert(zklock.connect(hosts))
    lock = client:mutex("/misuse/lock")
  end)

  teardown(function() client:close() end)

  it("of a dot for a colon is told", function()
    local semaphore = client:semaphore("/misuse/semaphore", 1)
    for name, call in pairs {
      ["lock:acquire"] = function() lock.acquire(5) end,
      ["lock:with"] = function() lock.with(5, print) end,
      ["lock:release"] = function() lock.release() end,
      ["client:mutex"] = function() client.mutex("/misuse/lock") end,
      ["semaphore:acquire"] = function() semaphore.acquire(client) end,
    } do
      local ok, message = pcall(call)
      assert.is_false(ok)
      assert.matches("^spec/client/bad_input_spec.lua:%d+: call it with a colon, " .. name
        .. "%(%.%.%.%), on a zklock%.%a+; ", message)
    end
  end)

  describe("of zklock.connect", function()
    for _, value in ipairs { 7, true, {}, print } do
      it("raises for hosts " .. type(value), function() raises("hosts", zklock.connect, value) end)
    end

    it("raises for a URL and for servers without commas, and says what it expected", function()
      assert.matches("got the URL 'http://zk1:2181'", raises("hosts", zklock.connect, "http://zk1:2181"))
      assert.matches("commas expected between servers, got 'zk1:2181;zk2:2181'",
        raises("hosts", zklock.connect, "zk1:2181;zk2:2181"))
    end)

    it("raises for hosts nil, and for none", function()
      raises("hosts", zklock.connect, nil, {})
      raises("hosts", zklock.connect)
    end)

    for _, text in ipairs {
      "", ",", ":", "/", "/chroot", ":2181", "localhost:", "localhost:0", "localhost:65536", "localhost:99999999999",
      "localhost:-1", "localhost:port", "localhost:2181:2182", "localhost:2181,,localhost:2182", "localhost:2181,",
      ",localhost:2181", "localhost:2181/a/", "localhost:2181//a", "localhost:2181/a/../b", "localhost:2181/.",
      "local host:2181", "localhost:2181\0", "[::1:2181", "[]:2181",
      "localhost:2181/" .. ("x"):rep(256), "localhost:2181/zookeeper", "localhost:2181" .. levels(129),
      "localhost:2181" .. bytes(4097), "localhost:2181/a/x-lock-0000000000", "localhost:2181/x__READ__0000000001/a",
    } do
      it("raises for a connect string that cannot be parsed: " .. show(text), function()
        raises("hosts", zklock.connect, text, { connect_timeout = 0 })
      end)
    end

    for _, text in ipairs { "127.0.0.1:1", "127.0.0.1:1,localhost:2", "[::1]:2181", "some.host-name:65535",
      "127.0.0.1:1/", "127.0.0.1:1/a/b", "h1:2181,h2:2181,h3:2181/chroot",
      "127.0.0.1:1" .. levels(128), "127.0.0.1:1" .. bytes(4096) } do
      it("does not raise for " .. text, function()
        assert(zklock.connect(text, { connect_timeout = 0 })):close()
      end)
    end

    for _, value in ipairs { 7, "session_timeout", true, print } do
      it("raises for options that are a " .. type(value), function()
        raises("options", zklock.connect, hosts, value)
      end)
    end

    for _, name in ipairs { "timeout", "sessionTimeout", "Auth", "on_lost", "fair", "", 1 } do
      it(("raises for the unknown option %s"):format(show(name)), function()
        raises("options", zklock.connect, hosts, { [name] = 1 })
        local message = raises(tostring(name), zklock.connect, hosts, { [name] = 1 })
        assert.matches("unknown", message)
      end)
    end

    local AUTH = { scheme = "digest", credential = "u:p" }
    local bad = {
      session_timeout = { 0, -1, NAN, math.huge, "10", true, {}, 3600.001, 10000, 2e6 },
      connect_timeout = { -1, NAN, "10", true, {}, print, 3600.001, 5000, 1e300 },
      auth = { 7, "digest", true, {}, { "digest", "u:p" }, { scheme = "digest" }, { credential = "u:p" },
        { scheme = 1, credential = "u:p" }, { scheme = "digest", credential = {} }, { AUTH, {} }, { AUTH, 7 },
        { scheme = "digest", credential = "u:p", user = "u" }, { scheme = "dig\0est", credential = "u:p" },
        { scheme = "digest", credential = "u:\0p" }, { scheme = "digest", credential = ("x"):rep(65531) } },
      acl = { 7, true, {}, "", "closed", "OPEN", "creator", "read" },
      identifier = { 7, true, {}, "a\0b", ("x"):rep(1025) },
      node_bytes = { 0, 999, 1000.5, 100000001, -1, NAN, math.huge, "5000", true, {} },
      loop = { 7, true, {}, "", "nonesuch", "openresty" },
      on_state = BAD_FUNCTIONS,
      on_error = BAD_FUNCTIONS,
      log = BAD_FUNCTIONS,
      log_level = { 7, true, {}, print, "", "info", "DEBUG", "warn\0" },
      tls = { 7, "ca", true },
    }
    for name, values in pairs(bad) do
      it("raises for each bad value of the option " .. name, function()
        for _, value in ipairs(values) do
          local ok, problem = pcall(function()
            local message = select(2, pcall(zklock.connect, hosts, { [name] = value }))
            assert.is_truthy(tostring(message):find("'options." .. name, 1, true), tostring(message))
            local _, at = pcall(caller, zklock.connect, unpack, pack(hosts, { [name] = value }))
            assert.equal("caller.lua:2: ", at:sub(1, 14), at)
          end)
          if not ok then error(("%s: %s"):format(show(value), tostring(problem)), 0) end
        end
      end)
    end

    it("says that a timeout that is too long is one in seconds", function()
      for _, name in ipairs { "session_timeout", "connect_timeout" } do
        assert.matches("seconds .*3600", raises("options." .. name, zklock.connect, hosts, { [name] = 10000 }))
      end
    end)

    it("raises for tls, if the linked libzookeeper was built without it", function()
      if zklock.features.tls then return pending("this libzookeeper has TLS") end
      for _, tls in ipairs { {}, { ca = "/nowhere" }, { ca = "/a", cert = "/b", key = "/c", password = "secret" } } do
        assert.matches("was built without TLS", raises("options.tls", zklock.connect, hosts, { tls = tls }))
      end
    end)

    it("starts no client", function()
      local function threads()
        local file = assert(io.open("/proc/self/status"))
        local status = file:read("*a")
        file:close()
        return tonumber(status:match("Threads:%s*(%d+)"))
      end
      local before = threads()
      for _ = 1, 5 do
        raises("options", zklock.connect, hosts, { nonsense = 1 })
        raises("hosts", zklock.connect, "nonsense:")
      end
      assert.equal(before, threads())
    end)
  end)

  describe("of a client", function()
    it("raises for bad timeouts of poll and flush", function()
      for _, timeout in ipairs(BAD_TIMEOUTS) do
        raises("timeout", client.poll, client, timeout)
        raises("timeout", client.flush, client, timeout)
      end
    end)

    it("raises for a listener that is no function", function()
      for _, value in ipairs(BAD_FUNCTIONS) do raises("fn", client.on_state, client, value) end
    end)

    for _, path in ipairs(BAD_PATHS) do
      it("raises for the path " .. show(path), function()
        raises("path", client.mutex, client, path)
        raises("path", client.mutex, client, path, { fair = true })
      end)
    end

    it("counts the chroot as a part of the path", function()
      local inner = assert(zklock.connect(hosts .. levels(100), { connect_timeout = 0 }))
      local deep = assert(zklock.connect(hosts .. bytes(4000), { connect_timeout = 0 }))
      for _, open in ipairs { inner.mutex, inner.rwlock, inner.semaphore } do
        assert.matches("128 components with the client's chroot", raises("path", open, inner, levels(29), 1))
      end
      assert.matches("4096 bytes with the client's chroot", raises("path", deep.mutex, deep, bytes(97)))
      raises("paths[2]", deep.multilock, deep, { "/a", bytes(97) })
      assert.equal(levels(28), inner:mutex(levels(28)):path())
      assert.equal(bytes(96), deep:mutex(bytes(96)):path())
      inner:close()
      deep:close()
    end)

    it("does not repeat the whole of a path that is too long", function()
      local message = raises("path", client.mutex, client, levels(15000))
      assert.is_true(#message < 300)
      assert.matches("more than 4096 bytes", message)
      assert.matches("more than 128 components", raises("path", client.mutex, client, levels(129)))
    end)

    it("raises for no path", function() raises("path", client.mutex, client) end)

    it("raises for options that are no table", function()
      for _, value in ipairs { 7, "fair", true, print } do
        raises("options", client.mutex, client, "/misuse", value)
      end
    end)

    it("raises for unknown options, also those that are to come", function()
      for _, name in ipairs { "Fair", "timeout", "session_timeout", "turn", "place", 1, "" } do
        raises("options", client.mutex, client, "/misuse", { [name] = 1 })
        raises(tostring(name), client.mutex, client, "/misuse", { [name] = 1 })
      end
    end)

    it("raises for bad values of options", function()
      for _, value in ipairs { 1, "true", {} } do
        raises("options.fair", client.mutex, client, "/misuse", { fair = value })
      end
      for _, value in ipairs { 0, -1, 0 / 0, "1", true, {} } do
        raises("options.max_hold", client.mutex, client, "/misuse", { max_hold = value })
      end
    end)

    it("raises for options of a place without one, or with bad values", function()
      for _, name in ipairs { "linger", "stint" } do
        for _, value in ipairs { -1, -0.001, 0 / 0, "1", true, {} } do
          raises("options." .. name, client.mutex, client, "/misuse", { fair = false, [name] = value })
        end
        raises("options." .. name, client.mutex, client, "/misuse", { [name] = 1 })
        raises("options." .. name, client.rwlock, client, "/misuse", { fair = true, [name] = 1 })
      end
      for _, kind in ipairs { "mutex", "rwlock" } do
        assert.matches("unknown option 'handoffs'",
          raises("handoffs", client[kind], client, "/misuse", { fair = false, handoffs = 64 }))
        for _, value in ipairs { 3600.001, math.huge } do
          assert.matches("seconds from 0 to 3600 expected, got",
            raises("options.stint", client[kind], client, "/misuse", { fair = false, stint = value }))
        end
      end
      for _, name in ipairs { "fair", "linger", "stint" } do
        raises(name, client.multilock, client, { "/misuse/a", "/misuse/b" }, { [name] = name == "fair" or 1 })
        raises(name, client.semaphore, client, "/misuse/none", 1, { [name] = name == "fair" or 1 })
      end
      assert(client:mutex("/misuse/place", { fair = false, linger = 0, stint = 0 }))
      assert(client:mutex("/misuse/place", { fair = false, linger = math.huge, stint = 3600 }))
    end)

    it("raises for options.owner that is not 'thread', and with a semaphore, which has no owner", function()
      for _, value in ipairs { 7, true, {}, print, "", "request", "Thread" } do
        raises("options.owner", client.mutex, client, "/misuse", { owner = value })
      end
      raises("options", client.semaphore, client, "/misuse/none", 1, { owner = "thread" })
      local threads = client:mutex("/misuse/lock", { owner = "thread" }) -- it belongs to the handle
      assert.is_number(threads:acquire(PATIENCE))
      assert.is_true(lock:is_held())
      assert.is_true(lock:release())
      local guard = assert(threads:guard(PATIENCE, "me"))
      assert.is_true(lock:is_held("me"))
      assert.is_true(guard:release())
      raises("owner", lock.guard, lock, PATIENCE, NAN)
    end)

    for _, path in ipairs(GOOD_PATHS) do
      it("is not the path " .. show(path), function()
        local good = client:mutex("/misuse" .. path)
        assert.equal("/misuse" .. path, good:path())
        assert(good:acquire(PATIENCE))
        assert.is_true(good:release())
        if path:find("^/zookeeperx") then assert(client:mutex(path)) end
      end)
    end

    it("is not a path that the servers refuse: that is answered", function()
      for _, path in ipairs { "/misuse/\194\133", "/misuse/\238\128\128", "/misuse/\239\191\176" } do
        local ok, token, err = pcall(function()
          local refused = client:mutex(path)
          return refused:acquire(PATIENCE)
        end)
        if ok then assert.is_true(token ~= nil or err:find("^zookeeper: ") ~= nil, err) end
      end
      assert.is_true(client:state() == "connected" or client:state() == "suspended")
    end)
  end)

  describe("of a lock", function()
    local function nothing_waits()
      local stats = client:stats()
      assert.same({ 0, 0 }, { stats.waiting, stats.held })
    end

    it("raises for bad timeouts of every call that takes one", function()
      for _, timeout in ipairs(BAD_TIMEOUTS) do
        raises("timeout", lock.acquire, lock, timeout)
        raises("timeout", lock.acquire, lock, timeout, "somebody")
        raises("timeout", lock.guard, lock, timeout)
        raises("timeout", lock.participants, lock, timeout)
        raises("timeout", lock.request, lock, timeout, print)
        if type(timeout) ~= "function" then raises("timeout", lock.with, lock, timeout, print) end
      end
      nothing_waits()
    end)

    it("raises for an owner that is NaN", function()
      raises("owner", lock.acquire, lock, 1, NAN)
      raises("owner", lock.acquire, lock, nil, NAN)
      for _, name in ipairs { "release", "is_held", "token", "validity" } do
        raises("owner", lock[name], lock, NAN)
      end
      nothing_waits()
    end)

    it("raises for functions that are none", function()
      for _, value in ipairs(BAD_FUNCTIONS) do
        raises("fn", lock.with, lock, 1, value)
        raises("callback", lock.request, lock, 1, value)
        raises("fn", lock.on_lost, lock, value)
      end
      raises("fn", lock.with, lock, 1)
      raises("fn", lock.with, lock, nil)
      raises("fn", lock.with, lock)
      raises("callback", lock.request, lock, 1)
      raises("callback", lock.request, lock)
      nothing_waits()
    end)

    it("raises also when it is held, and leaves it held", function()
      assert(lock:acquire(PATIENCE))
      raises("timeout", lock.acquire, lock, -1)
      raises("timeout", lock.guard, lock, "1")
      raises("fn", lock.with, lock, 1, 7)
      raises("owner", lock.release, lock, NAN)
      assert.is_true(lock:is_held())
      assert.is_true(lock:release())
      assert.is_false(lock:is_held())
    end)

    it("raises also when the client is closed", function()
      local closed = assert(zklock.connect(hosts))
      local handle = closed:mutex("/misuse")
      closed:close()
      raises("timeout", handle.acquire, handle, -1)
      raises("timeout", handle.participants, handle, "1")
      raises("owner", handle.is_held, handle, NAN)
      raises("callback", handle.request, handle, 1)
      raises("timeout", closed.flush, closed, NAN)
      raises("timeout", closed.poll, closed, NAN)
      raises("path", closed.mutex, closed, "/a/")
      raises("options", closed.mutex, closed, "/a", { b = 1 })
    end)
  end)
end)
