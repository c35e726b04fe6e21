-- SPDX-License-Identifier: MIT
--- The credentials that zklock.connect is given, and the ACLs that come of them.

local fixture = require "spec.support.fixture"
local port = require "spec.support.port"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local socket = require "socket"
local wait = require "spec.support.wait"
local wire = require "spec.support.wire"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE

describe("connect", function()
  local here = fixture.new("/credentials", { super = true })
  local zk, tree, path

  setup(function() zk, tree = here.zk, here.tree end)

  before_each(function() path = here.path end)

  local function connect(...) return here:try_to_connect(...) end
  local function only_node(at) return here:only_data(at) end

  describe("auth and acl", function()
    local ALL, READ = 31, 1
    local AUTH = { scheme = "digest", credential = "user:password" }

    --- The ACLs of the lock's node and of the parents that were made, which must be the same.
    local function acl_of(options)
      local client = assert(connect(zk.hosts, options))
      assert(client:mutex(path .. "/a/b"):acquire(PATIENCE))
      local node = only_node(path .. "/a/b")
      local acl = assert(tree:get_acl(node))
      for _, parent in ipairs { path, path .. "/a", path .. "/a/b" } do assert.same(acl, tree:get_acl(parent)) end
      local list = {}
      for i, entry in ipairs(acl) do
        list[i] = ("%s:%s:%d"):format(entry.scheme, entry.id:match("^[^:]*"), entry.perms)
      end
      table.sort(list)
      assert.is_true(client:mutex(path .. "/a/b"):release())
      assert.is_true(client:flush(PATIENCE))
      assert.same({}, tree:children(path .. "/a/b"))
      return list
    end

    it("that are not as they should be are refused, and no message repeats a secret", function()
      local SECRET = "tiger:scott"
      local OF_ONE = ": unknown option; expected: 'credential', 'scheme'"
      local NO_TABLE = ": table with scheme and credential expected, got %s"
      local OF_TLS = ": unknown option; expected: 'ca', 'cert', 'key', 'password'"
      for _, case in ipairs {
        { { auth = { [SECRET] = "digest" } }, "'options.auth'" .. OF_ONE },
        { { auth = { scheme = "digest", [SECRET] = true } }, "'options.auth'" .. OF_ONE },
        { { auth = { AUTH, { [SECRET] = "digest" } } }, "'options.auth[2]'" .. OF_ONE },
        { { auth = { AUTH, nil, AUTH } }, "'options.auth[2]'" .. NO_TABLE:format("nil") },
        { { auth = { AUTH, [SECRET] = AUTH } }, "'options.auth[2]'" .. NO_TABLE:format("nil") },
        { { auth = SECRET }, "'options.auth': table or nil expected, got string" },
        { { auth = { SECRET } }, "'options.auth'" .. NO_TABLE:format("string") },
        { { auth = { "digest", SECRET } }, "'options.auth[1]'" .. NO_TABLE:format("string") },
        { { auth = { scheme = "digest", credential = SECRET .. "\0" } },
          "'options.auth.credential': string without NUL expected, got a string with NUL" },
        { { auth = { scheme = "digest", credential = SECRET:rep(7000) } },
          "'options.auth': at most 65536 bytes expected, got 77006" },
        { { tls = { [SECRET] = "x" } }, OF_TLS },
        { { tls = { ca = "x", cert = "x", key = "x", password = SECRET .. "," } }, "" },
      } do
        local ok, err = pcall(connect, zk.hosts, case[1])
        assert.is_false(ok)
        local no_tls = not zklock.features.tls and case[1].tls
        assert.truthy(no_tls or err:find("bad argument " .. case[2], 1, true) or err:find(case[2], 1, true), err)
        assert.is_nil(err:find("tiger", 1, true), err)
      end
    end)

    local anybody, creator = "world:anyone:" .. ALL, "digest:user:" .. ALL

    it("by default, anybody may do everything", function() assert.same({ anybody }, acl_of()) end)

    it("'open' is just that, also with auth", function()
      assert.same({ anybody }, acl_of { acl = "open" })
      tree:delete_tree(path)
      assert.same({ anybody }, acl_of { acl = "open", auth = AUTH })
    end)

    it("'creator' is the default with auth", function()
      assert.same({ creator }, acl_of { auth = AUTH })
      tree:delete_tree(path)
      assert.same({ creator }, acl_of { auth = { AUTH }, acl = "creator" })
    end)

    it("'read' lets anybody read", function()
      assert.same({ creator, "world:anyone:" .. READ }, acl_of { auth = AUTH, acl = "read" })
    end)

    it("holds for the chroot, too", function()
      local client = assert(connect(zk.hosts .. path .. "/root", { auth = AUTH }))
      assert(client:mutex("/lock"):acquire(PATIENCE))
      for _, at in ipairs { path, path .. "/root", path .. "/root/lock" } do
        assert.equal("digest", assert(tree:get_acl(at))[1].scheme)
      end
    end)

    it("takes several credentials", function()
      assert.same({ "digest:second:" .. ALL, "digest:user:" .. ALL },
        acl_of { auth = { AUTH, { scheme = "digest", credential = "second:word" } } })
    end)

    it("shuts out who has other credentials, or none", function()
      local owner = assert(connect(zk.hosts, { auth = AUTH }))
      assert(owner:mutex(path):acquire(PATIENCE))
      owner:mutex(path):release()
      for _, auth in ipairs { false, { scheme = "digest", credential = "user:wrong" } } do
        local client = assert(connect(zk.hosts, { auth = auth or nil }))
        assert.same({ nil, "access denied" }, { client:mutex(path):acquire(PATIENCE) })
        assert.same({ nil, "access denied" }, { client:mutex(path):participants(PATIENCE) })
      end
      local same = assert(connect(zk.hosts, { auth = AUTH }))
      assert(same:mutex(path):acquire(PATIENCE))
    end)

    it("are shown again to the next link", function()
      local faulty = proxy.start(zk.hosts)
      local client = assert(connect(faulty.hosts, { auth = AUTH, session_timeout = 20 }))
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      lock:release()
      assert.is_true(client:flush(PATIENCE))
      faulty:cut()
      assert(lock:acquire(PATIENCE))
      client:close()
      faulty:close()
    end)

    it("are followed by a request, which wakes libzookeeper, before they are answered", function()
      local faulty = here:proxy()
      faulty:hold_reply("auth")
      local client = assert(connect(faulty.hosts, { auth = AUTH, connect_timeout = 0 }))
      faulty:await("exists")
      wait.eventually(function() return faulty:is_holding() end, PATIENCE, "the answer to the credentials")
      local ops = {}
      for i, request in ipairs(faulty:log()) do ops[i] = request.op end
      assert.same({ "connect", "auth", "exists" }, ops)
      faulty:heal()
      assert(client:mutex(path):acquire(PATIENCE))
      assert.equal(1, faulty:counts().exists)
    end)

    it("that are missing where the servers demand some are the reason of 'disconnected' #once", function()
      local strict = here:closes(server.start { jvm = { "-Dzookeeper.enforce.auth.enabled=true",
        "-Dzookeeper.enforce.auth.schemes=digest" } }, function(one) one:stop() end)
      local lines = {}
      local client = assert(connect(strict.hosts, { log = function(_, line) lines[#lines + 1] = line end }))
      local WHY = "the servers ask for credentials of another scheme (enforce.auth.schemes)"
      wait.eventually(function()
        local token, err, why = client:mutex("/strict"):acquire(0.1)
        return why == WHY, ("%s, %s, %s"):format(tostring(token), tostring(err), tostring(why))
      end, PATIENCE)
      client:poll()
      assert.truthy(table.concat(lines, "\n"):find("suspended: " .. WHY, 1, true))
      local other = assert(connect(strict.hosts, { auth = AUTH }))
      assert(other:mutex("/strict"):acquire(PATIENCE))
    end)

    it("of an unknown scheme give 'auth failed'", function()
      local unknown = { scheme = "nonesuch", credential = "x" }
      assert.same({ nil, "auth failed" }, { connect(zk.hosts, { auth = unknown, connect_timeout = PATIENCE }) })

      local states = {}
      local client = assert(connect(zk.hosts, {
        auth = unknown, connect_timeout = 0, on_state = function(state) states[#states + 1] = state end,
      }))
      assert.same({ nil, "auth failed" }, { client:mutex(path):acquire(PATIENCE) })
      assert.equal("auth failed", client:state())
      assert.same({ nil, "auth failed" }, { client:mutex(path):participants(5) })
      local list = {}
      client:mutex(path):request(PATIENCE, function(got, err) list[#list + 1] = { got, err } end)
      wait.eventually(function() return client:poll(0.05) > 0 and #list > 0 end)
      assert.same({ { nil, "auth failed" } }, list)
      assert.equal("auth failed", states[#states])
      assert.is_true(client:close())
      assert.equal("closed", client:state())
    end)

    it("that were refused are shown again, after a while: an answer may have been forged #once", function()
      local number = port.free()
      local listener = assert(socket.bind("127.0.0.1", number))
      listener:settimeout(PATIENCE)

      local function read_frame(link)
        return assert(link:receive(wire.reader(assert(link:receive(4))):int()))
      end

      --- Takes a connection as a server does, and answers to the credentials with this error.
      local function serve(code)
        local link = assert(listener:accept())
        link:settimeout(PATIENCE)
        read_frame(link)
        link:send(wire.frame(wire.int(0) .. wire.int(30000) .. wire.long(4711) .. wire.buffer(("p"):rep(16))
          .. wire.bool(false)))
        assert.equal(wire.xid.auth, wire.reader(read_frame(link)):int()) -- before everything else
        link:send(wire.frame(wire.int(wire.xid.auth) .. wire.long(0) .. wire.int(code)))
        return link
      end

      local auth = { scheme = "digest", credential = "user:password" }
      local client = assert(connect("127.0.0.1:" .. number, { auth = auth, connect_timeout = 0 }))
      local list = {}
      client:mutex(path):request(nil, function(got, err) list[#list + 1] = { got, err } end)
      local first = serve(-115)
      wait.eventually(function() return client:poll(0.05) > 0 and #list > 0 end)
      assert.same({ { nil, "auth failed" } }, list) -- waiters hear it at once
      assert.equal("auth failed", client:state())
      assert.same({ nil, "auth failed" }, { client:mutex(path):acquire(PATIENCE) })
      local second = serve(0)
      wait.eventually(function() return client:state() == "connected" end, PATIENCE)
      client:close()
      for _, one in ipairs { first, second, listener } do one:close() end
    end)

    it("of an unknown scheme are shown once, and not again and again", function()
      local between = proxy.start(zk.hosts)
      local unknown = { scheme = "nonesuch", credential = "x" }
      local client = assert(connect(between.hosts, { auth = unknown, connect_timeout = 0 }))
      wait.eventually(function() return client:state() == "auth failed" end)
      local first = between:counts().connect
      assert.is_true(first >= 1)
      wait.rest(1) -- a rate is measured
      assert.equal(first, between:counts().connect)
      client:close()
      between:close()
    end)
  end)
end)
