-- SPDX-License-Identifier: MIT
--- zklock.connect on a real server: its options and their defaults, and what happens where nobody answers.

local fixture = require "spec.support.fixture"
local inspector = require "spec.support.inspector"
local port = require "spec.support.port"
local process = require "spec.support.process"
local proxy = require "spec.support.proxy"
local session = require "spec.support.session"
local socket = require "socket"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local NAME = "^_c_[%x%-]+%-lock%-%d+$"

describe("connect", function()
  local here = fixture.new("/connect", { super = true })
  local zk, tree, path

  setup(function() zk, tree = here.zk, here.tree end)

  before_each(function() path = here.path end)

  local function connect(...) return here:try_to_connect(...) end
  local function only_node(at) return here:only_data(at) end

  -- A request that is handed over wakes libzookeeper from its pause between two tries.
  it("does not storm a server that hangs up #once", function()
    local listener = assert(socket.bind("127.0.0.1", port.free(), 64))
    finally(function() listener:close() end)
    listener:settimeout(0.1)
    local _, number = listener:getsockname()
    connect(("127.0.0.1:%d"):format(number), { session_timeout = 10, connect_timeout = 0 })
    local tries, began = 0, wait.now()
    wait.eventually(function()
      local link = listener:accept()
      if link then
        tries = tries + 1
        link:close()
      end
      return tries == 12
    end)
    assert.is_true(wait.now() - began > 0.2, "it did not pause") -- a sixtieth of the timeout between two: some 2 s
  end)

  describe("the module", function()
    it("tells its version and what it can do", function()
      assert.equal("zklock " .. dofile "lua/zklock/version.lua", zklock._VERSION)
      assert.equal("boolean", type(zklock.features.tls))
    end)

    it("sets no globals", function()
      local result = wait.run_lua([[
        local before = {}
        for name in pairs(_G) do before[name] = true end
        local zklock = require "zklock"
        local client = assert(zklock.connect(arg[1]))
        assert(client:mutex(arg[2]):with(60, function() end))
        assert(client:close())
        for name in pairs(_G) do if not before[name] then print(name) end end
      ]], zk.hosts, path)
      assert.same({ 0, "", "" }, { result.code, result.stdout, result.stderr })
    end)
  end)

  describe("gives a client", function()
    it("that is connected", function()
      local client = assert(connect(zk.hosts))
      assert.equal("connected", client:state())
      assert(client:mutex(path):acquire(0))
    end)

    it("that is connected when some of the hosts do not answer", function()
      local nobody = "127.0.0.1:" .. port.free()
      for _, hosts in ipairs { nobody .. "," .. zk.hosts, zk.hosts .. "," .. nobody,
        nobody .. "," .. zk.hosts .. "," .. nobody, "nobody.invalid:2181," .. zk.hosts } do
        local client = assert(connect(hosts, { connect_timeout = PATIENCE }))
        assert.equal("connected", client:state())
      end
    end)

    it("by name as well as by address", function()
      assert(connect("localhost:" .. zk.port, { connect_timeout = PATIENCE }))
    end)

    it("and nothing is on stderr or stdout", function()
      local result = wait.run_lua([[
        local zklock = require "zklock"
        local hosts, nobody, path = arg[1], arg[2], arg[3]
        local client = assert(zklock.connect(hosts))
        assert(client:mutex(path):acquire(60))
        assert(not zklock.connect(nobody, { connect_timeout = 0.3 }))
        assert(not zklock.connect("nobody.invalid:2181", { connect_timeout = 0.3 }))
        assert(not zklock.connect(hosts, { auth = { scheme = "nonesuch", credential = "x" } }))
      ]], zk.hosts, "127.0.0.1:" .. port.free(), path)
      assert.same({ 0, "", "" }, { result.code, result.stdout, result.stderr })
    end)
  end)

  describe("with a chroot", function()
    it("makes it when it does not exist, and works below it", function()
      local client = assert(connect(zk.hosts .. path .. "/a/b"))
      local lock = client:mutex("/lock")
      assert.equal("/lock", lock:path())
      local token = assert(lock:acquire(PATIENCE))
      local node = only_node(path .. "/a/b/lock")
      assert.equal(tree:exists(node).czxid, token)
      assert.equal(node:match("[^/]*$"), lock:participants(PATIENCE)[1].node)
      assert.is_nil((tree:exists("/lock")))
      local direct = assert(connect(zk.hosts))
      assert.same({ nil, "timeout" }, { direct:mutex(path .. "/a/b/lock"):acquire(0) })
    end)

    it("does without making it when it exists", function()
      assert(tree:create(path .. "/a", "kept", { parents = true }))
      local client = assert(connect(zk.hosts .. path .. "/a"))
      assert(client:mutex("/lock"):acquire(PATIENCE))
      assert.equal("kept", (tree:get(path .. "/a")))
    end)

    it("makes it again when it was deleted meanwhile", function()
      local client = assert(connect(zk.hosts .. path .. "/a"))
      local lock = client:mutex("/lock")
      for _ = 1, 2 do
        assert(lock:acquire(PATIENCE))
        lock:release()
        assert.is_true(client:flush(PATIENCE))
        assert.is_true(tree:delete_tree(path))
      end
    end)

    it("of / is none", function()
      local client = assert(connect(zk.hosts .. "/"))
      assert(client:mutex(path):acquire(PATIENCE))
      assert.matches(NAME, only_node():match("[^/]*$"))
    end)

    it("that an ACL closes leads to 'access denied'", function()
      local creator = inspector.connect(zk.hosts)
      creator:add_auth("digest", "somebody:else")
      assert(tree:create(path, "", { parents = true }))
      assert(creator:create(path .. "/closed", "", { acl = "creator" }))
      creator:close()
      local client, err = connect(zk.hosts .. path .. "/closed/a", { connect_timeout = PATIENCE })
      if client then
        client, err = client:mutex("/lock"):acquire(PATIENCE)
      end
      assert.same({ nil, "access denied" }, { client, err })
    end)
  end)

  describe("session_timeout", function()
    it("is 10 s by default", function()
      local faulty = proxy.start(zk.hosts)
      local client = assert(connect(faulty.hosts))
      assert.equal(10, client:session_timeout())
      assert.equal(10, faulty:sessions()[1].timeout)
      assert.is_true(session.same(faulty:sessions()[1].id, client:session_id()))
      client:close()
      faulty:close()
    end)

    it("is what the servers grant of what was asked", function()
      -- This server grants 0.4 s to 600 s.
      for asked, granted in pairs { [3] = 3, [2.5] = 2.5, [0.3] = 0.4, [3600] = 600 } do
        local client = assert(connect(zk.hosts, { session_timeout = asked, connect_timeout = PATIENCE }))
        assert.equal(granted, client:session_timeout())
      end
    end)

    it("bounds for how long a killed process keeps its locks", function()
      local victim = worker.start()
      assert(victim:connect(zk.hosts, { session_timeout = 1 }))
      assert(victim:acquire(path, PATIENCE))
      victim:kill()
      assert(connect(zk.hosts):mutex(path):acquire(PATIENCE))
    end)
  end)

  describe("connect_timeout", function()
    local function refused() return "127.0.0.1:" .. port.free() end

    --- The answer of connect, and how many seconds it took.
    local function timed(hosts, options)
      local began = wait.now()
      local client, err = connect(hosts, options)
      return client, err, wait.now() - began
    end

    it("ends the attempt where nobody listens", function()
      local client, err, took = timed(refused(), { connect_timeout = 0.5 })
      assert.same({ nil, "disconnected" }, { client, err })
      assert.is_true(took >= 0.5, took)
    end)

    it("ends the attempt where the name is unknown", function()
      local client, err, took = timed("nobody.invalid:2181", { connect_timeout = 0.5 })
      assert.same({ nil, "disconnected" }, { client, err })
      assert.is_true(took >= 0.5, took)
    end)

    it("ends the attempt where nobody answers", function()
      local faulty = proxy.start(zk.hosts)
      faulty:black_hole()
      local client, err, took = timed(faulty.hosts, { connect_timeout = 0.5 })
      assert.same({ nil, "disconnected" }, { client, err })
      assert.is_true(took >= 0.5, took)
      faulty:close()
    end)

    it("is the session timeout by default", function()
      local client, err, took = timed(refused(), { session_timeout = 1 })
      assert.same({ nil, "disconnected" }, { client, err })
      assert.is_true(took >= 1, took)
    end)

    it("may be math.huge, or longer than the server needs to come", function()
      local late = "127.0.0.1:" .. port.free()
      for _, timeout in ipairs { math.huge, PATIENCE } do
        -- A proxy of its own process: it comes while connect waits.
        local front = worker.start()
        front:begin("eval", [[
          local hosts, timeout = ...
          local client = assert(require("zklock").connect(hosts, { connect_timeout = timeout }))
          local state = client:state()
          client:close()
          return state
        ]], late, timeout)
        assert.is_false(front:has_answered())
        local forwarder = process.spawn { "lua5.4", "-e", ([[
          local uv, target, own = require "luv", %d, %d
          local listener = uv.new_tcp()
          assert(listener:bind("127.0.0.1", own))
          assert(listener:listen(16, function()
            local a, b = uv.new_tcp(), uv.new_tcp()
            listener:accept(a)
            b:connect("127.0.0.1", target, function(err)
              assert(not err, err)
              a:read_start(function(_, chunk) if chunk then b:write(chunk) else b:close() end end)
              b:read_start(function(_, chunk) if chunk then a:write(chunk) else a:close() end end)
            end)
          end))
          uv.run()
        ]]):format(zk.port, late:match("%d+$")), env = process.PLAIN_LUA }
        assert.equal("connected", front:finish())
        forwarder:kill()
        front:kill()
      end
    end)

    it("of 0 gives a client that is still connecting, and gets there", function()
      local client = assert(connect(zk.hosts, { connect_timeout = 0 }))
      assert.is_true(client:state() == "connecting" or client:state() == "connected")
      assert(client:mutex(path):acquire(PATIENCE))
      assert.equal("connected", client:state())
    end)

    it("says why no server is in reach, as far as is known", function()
      local closed = "127.0.0.1:" .. require("spec.support.port").free()
      local nobody = "connection refused: " .. closed
      assert.same({ nil, "disconnected", nobody }, { zklock.connect(closed, { connect_timeout = 0.5 }) })
      local mine = assert(zklock.connect(closed, { connect_timeout = 0 }))
      local lock = mine:mutex("/nobody")
      assert.same({ nil, "disconnected", nobody }, { lock:acquire(0.5) })
      assert.same({ nil, "disconnected", nobody }, { lock:acquire(0) })
      assert.same({ nil, "disconnected", nobody }, { lock:with(0.05, print) })
      assert.same({ nil, "disconnected", nobody }, { lock:guard(0.05) })
      local pool = mine:semaphore("/leases", 1)
      for _, name in ipairs { "acquire", "participants", "revoke" } do
        for _, one in ipairs { lock, pool, mine:multilock { "/a", "/b" }, mine:rwlock("/rw").read } do
          assert.same({ nil, "disconnected", nobody }, { one[name](one, 0.05) }, name)
          assert.same({ nil, "disconnected", nobody }, { one[name](one, 0) }, name)
        end
      end
      mine:close()
      local _, err, why = zklock.connect("zk9.invalid", { connect_timeout = 0.5 })
      assert.equal("disconnected", err)
      assert.matches("^no such host: zk9%.invalid", why)
    end)

    it("of 0 gives a client also where nobody listens: its calls answer 'disconnected'", function()
      local client = assert(connect(refused(), { connect_timeout = 0, session_timeout = 2 }))
      assert.equal("connecting", client:state())
      assert.is_nil((client:session_id()))
      assert.equal(2, client:session_timeout())
      local lock = client:mutex(path)
      assert.equal("disconnected", (select(2, lock:acquire(0.2))))
      assert.equal("disconnected", (select(2, lock:acquire(0))))
      assert.equal("disconnected", (select(2, lock:participants(0.2))))
      assert.equal("disconnected", (select(2, lock:with(0.2, function() end))))
      assert.equal("disconnected", (select(2, lock:guard(0.2))))
      assert.is_false(lock:is_held())
      assert.same({ nil, "not owner" }, { lock:release() })
      local list = {}
      local request = lock:request(0.1, function(got, err) list[#list + 1] = { got, err } end)
      assert.equal("waiting", request:state())
      wait.eventually(function() return client:poll(0.05) > 0 end)
      assert.same({ { nil, "disconnected" } }, list)
      assert.equal("failed", request:state())
      assert.is_true(client:flush(0))
      assert.is_true(client:close())
    end)

    it("of 0 keeps what was asked for until a server comes", function()
      local faulty = proxy.start(zk.hosts)
      faulty:refuse()
      local states = {}
      local client = assert(connect(faulty.hosts, {
        connect_timeout = 0, on_state = function(state) states[#states + 1] = state end,
      }))
      local request = client:mutex(path):request(nil, function() end)
      client:poll(0.05)
      assert.equal("waiting", request:state())
      faulty:heal()
      wait.eventually(function()
        client:poll(0.05)
        return request:state() == "held"
      end)
      if states[1] == "connecting" then table.remove(states, 1) end
      assert.same({ "connected" }, states)
      assert.is_true(request:release())
      client:close()
      faulty:close()
    end)
  end)

  describe("log", function()
    --- Runs the client's callbacks until a line of its log matches.
    local function says(hosts, ...)
      local lines, wanted = {}, { ... }
      local client = assert(connect(hosts, {
        connect_timeout = 0,
        log = function(level, message) lines[#lines + 1] = { level, message } end,
      }))
      wait.eventually(function()
        client:poll(0.05)
        for _, line in ipairs(lines) do
          assert.is_true(line[1] == "warn" or line[1] == "error", line[1])
          assert.equal("string", type(line[2]))
          local all = true
          for _, word in ipairs(wanted) do all = all and line[2]:lower():find(word:lower(), 1, true) ~= nil end
          if all then return true end
        end
      end, PATIENCE, "a log line with " .. table.concat(wanted, " and "))
    end

    it("says that nobody listens", function()
      local nobody = "127.0.0.1:" .. port.free()
      says(nobody, nobody, "refused")
    end)

    it("says that a name is unknown", function() says("nobody.invalid:2181", "nobody.invalid") end)

    it("says so before connect gives up, at the next poll that waits or in connect itself", function()
      local heard = 0
      local client, err = connect("127.0.0.1:" .. port.free(), {
        connect_timeout = 1, log_level = "debug", log = function() heard = heard + 1 end,
      })
      assert.same({ nil, "disconnected" }, { client, err })
      assert.is_true(heard > 0)
    end)
  end)

  describe("identifier", function()
    it("is in the node of the lock", function()
      local client = assert(connect(zk.hosts, { identifier = "cashier 3, \195\164" }))
      assert(client:mutex(path):acquire(PATIENCE))
      local _, data = only_node()
      assert.equal("cashier 3, \195\164", data)
      assert.equal(data, client:mutex(path):participants(PATIENCE)[1].identifier)
    end)

    it("is the host's name and the process id by default", function()
      local other = worker.start()
      assert(other:connect(zk.hosts))
      assert(other:acquire(path, PATIENCE))
      local _, data = only_node()
      local host, pid = data:match("^(.+):(%d+)$")
      assert.equal(("%d"):format(other.pid), pid)
      local name = assert(io.open("/proc/sys/kernel/hostname"))
      assert.equal(name:read("*l"), host)
      name:close()
      other:close()
      other:kill()
    end)

    it("may be empty", function()
      assert(connect(zk.hosts, { identifier = "" }):mutex(path):acquire(PATIENCE))
      local _, data = only_node()
      assert.equal("", data)
    end)
  end)
end)
