-- SPDX-License-Identifier: MIT
--- The harness itself: what other specs rest on must not be able to lie.

local codec = require "spec.support.codec"
local ensemble = require "spec.support.ensemble"
local inspector = require "spec.support.inspector"
local process = require "spec.support.process"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local session = require "spec.support.session"
local wait = require "spec.support.wait"
local wire = require "spec.support.wire"

describe("the harness's wire", function()
  it("keeps 64 bits of a session id", function()
    assert.equal("0xffeeddccbbaa9988", wire.to_hex(wire.from_hex("0xFFEEDDCCBBAA9988")))
    assert.equal("0x1000abc", wire.normal_hex("0x0000000001000ABC"))
    assert.is_true(session.same("0x00ff", "FF"))
  end)

  it("writes and reads numbers exactly", function()
    for _, n in ipairs { 0, 1, -1, 255, 2 ^ 31, -2 ^ 31, 2 ^ 32 + 5, 2 ^ 53 - 1, -2 ^ 52 } do
      assert.equal(n, wire.reader(wire.long(n)):long())
    end
    for _, n in ipairs { 0, -1, 2147483647, -2147483648 } do assert.equal(n, wire.reader(wire.int(n)):int()) end
  end)

  it("puts messages together that the network cut anywhere", function()
    local stream, whole = wire.frame("one") .. wire.frame("") .. wire.frame("three"), {}
    local splitter = wire.splitter()
    for byte in stream:gmatch(".") do
      for _, message in ipairs(splitter:feed(byte)) do whole[#whole + 1] = message end
    end
    assert.same({ "one", "", "three" }, whole)
    assert.same(whole, wire.splitter():feed(stream))
  end)

  it("passes Lua values through a line", function()
    local value = { 1, "a\n\0\"\\\255", { x = true, [7] = 1.5 }, big = 4294967299, inf = math.huge }
    local a, b, c, d = codec.decode(codec.encode(nil, value, false, nil))
    assert.same({ nil, value, false }, { a, b, c, d })
    assert.is_nil(codec.encode(value):find("\n"))
  end)
end)

describe("a child process", function()
  it("is talked to by lines and reports its end", function()
    local script = "read x; echo got $x $Y; echo oops >&2; exit 3"
    local child = process.spawn { "sh", "-c", script, env = { Y = "y", LD_PRELOAD = false } }
    child:write("it")
    assert.equal("got it y", child:read_line())
    assert.same({ 3, 0 }, { child:wait() })
    assert.equal("oops\n", child:stderr())
    assert.same({ nil, "eof" }, { child:read_line() })
  end)

  it("is stopped, continued and killed", function()
    local child = process.spawn { "cat" }
    child:stop()
    child:write("still there")
    assert.same({ nil, "timeout" }, { child:read_line(0.05) })
    child:continue()
    assert.equal("still there", child:read_line())
    child:kill()
    assert.same({ 0, 9 }, { child:wait() })
  end)

  it("dies with the process that started it, however that ends", function()
    local parent = wait.spawn_lua([[
      local process = require "spec.support.process"
      local folder = require "spec.support.folder"
      print(("%d"):format(process.spawn({ "sleep", "600" }).pid))
      print(folder.root())
      io.stdout:flush()
      io.read()
    ]])
    local pid, root = parent:read_line(), parent:read_line()
    assert(pid and root, parent:stderr())
    parent:kill()
    local function there(path)
      local file = io.open(path, "r")
      local state = file and (file:read("*a") or ""):match("^%d+ .*%) (%a)") or file and "open"
      if file then file:close() end
      return state and state ~= "Z"
    end
    wait.eventually(function() return not there(("/proc/%s/stat"):format(pid)) end, nil, "the grandchild's end")
    wait.eventually(function() return not there(root) end, nil, "the removal of the folder")
  end)

  it("runs scripts under the interpreter of the spec", function()
    local result = wait.run_lua("print(_VERSION, jit and jit.version, ...)", "a b", "c")
    local jit = rawget(_G, "jit")
    assert.equal(table.concat({ _VERSION, tostring(jit and jit.version), "a b", "c" }, "\t") .. "\n", result.stdout)
    assert.equal(0, result.code)
  end)
end)

describe("on a real server", function()
  local zk, direct, faulty, through

  setup(function()
    zk = server.shared()
    direct = inspector.connect(zk.hosts)
  end)

  before_each(function()
    direct:delete_tree("/harness")
    assert(direct:create("/harness"))
    faulty = proxy.start(zk.hosts)
    through = inspector.connect(faulty.hosts, { reconnect = false, timeout = 5 })
    faulty:reset()
  end)

  after_each(function()
    faulty:close()
    through:close()
  end)

  teardown(function()
    direct:delete_tree("/harness")
    direct:close()
  end)

  it("the inspector makes, reads, changes and deletes nodes", function()
    assert.equal("/harness/a/b", direct:create("/harness/a/b", "one", { parents = true }))
    assert.same({ nil, "NODEEXISTS" }, { direct:create("/harness/a/b") })
    assert.equal("one", (direct:get("/harness/a/b")))
    assert.equal(1, direct:set("/harness/a/b", "two").version)
    local data, stat = direct:get("/harness/a/b")
    assert.equal("two", data)
    assert.is_true(stat.mzxid > stat.czxid)
    assert.same({ "b" }, direct:children("/harness/a"))
    assert.same({ nil, "NONODE" }, { direct:children("/harness/x") })
    assert.same({ nil, "NOTEMPTY" }, { direct:delete("/harness/a") })
    assert.is_true(direct:delete_tree("/harness/a"))
    assert.same({ nil, "NONODE" }, { direct:exists("/harness/a") })
  end)

  it("the inspector makes every kind of node", function()
    local name = direct:create("/harness/s-", "", { ephemeral = true, sequence = true })
    assert.equal("/harness/s-0000000000", name)
    assert.equal(direct:session_id(), direct:exists(name).ephemeralOwner)
    assert.equal("0x0", direct:exists("/harness").ephemeralOwner)
  end)

  it("a container node goes when it was used and is empty", function()
    local other = server.start { container_check_interval = 50 }
    local there = inspector.connect(other.hosts)
    assert.equal("/box", there:create("/box", "", { container = true }))
    there:create("/box/child")
    there:delete("/box/child")
    wait.eventually(function() return not there:exists("/box") end)
    there:close()
    other:stop()
  end)

  it("the inspector proves who it is", function()
    local creator = inspector.connect(zk.hosts)
    assert.is_true(creator:add_auth("digest", "u:p"))
    assert(creator:create("/harness/secret", "x", { acl = "creator" }))
    assert.equal("digest", creator:get_acl("/harness/secret")[1].scheme)
    assert.same({ nil, "NOAUTH" }, { direct:get("/harness/secret") })
    assert(creator:set_acl("/harness/secret", "open"))
    assert.equal("x", (direct:get("/harness/secret")))
    creator:close()
  end)

  it("a server keeps its data when it is killed and started again", function()
    direct:create("/harness/kept")
    zk:kill()
    zk:start()
    assert(direct:exists("/harness/kept"))
    assert.is_true(zk:mntr().znode_count > 1)
  end)

  it("the proxy counts requests and names their paths", function()
    through:create("/harness/n")
    through:get("/harness/n")
    through:get("/harness/n")
    local counts = faulty:counts()
    assert.same({ 1, 2, 3, 0 }, { counts.create, counts.getData, counts.total, counts.delete })
    local log = faulty:log()
    assert.same({ "create", "/harness/n", 1 }, { log[1].op, log[1].path, log[1].round })
    assert.same({ "getData", "/harness/n", 3 }, { log[3].op, log[3].path, log[3].round })
    assert.equal(3, faulty:rounds())
    faulty:reset()
    assert.equal(0, faulty:counts().total)
  end)

  it("the proxy counts requests that are sent together as one round", function()
    through.link:send(wire.request(901, "getData", wire.buffer("/harness") .. "\0")
      .. wire.request(902, "getData", wire.buffer("/harness") .. "\0"))
    faulty:await("getData", 2)
    assert.equal(1, faulty:rounds())
  end)

  it("the proxy delays each way and still carries several requests at a time", function()
    faulty:delay(0.1)
    local from = wait.now()
    for xid = 1, 20 do through.link:send(wire.request(xid, "exists", wire.buffer("/harness") .. "\0")) end
    faulty:await("exists", 20)
    local rounds = faulty:rounds()
    through.last_xid = 20
    assert(through:exists("/harness"))
    assert.is_true(wait.now() - from >= 0.2)
    assert.equal(1, rounds)
  end)

  it("a request that is cut off before it was forwarded is not done", function()
    faulty:cut_before("create", 2)
    assert(through:create("/harness/one"))
    assert.same({ nil, "CONNECTIONLOSS" }, { through:create("/harness/two") })
    assert.same({ "one" }, direct:children("/harness"))
  end)

  it("a request that is cut off after it was forwarded is done", function()
    faulty:cut_after("*", 1)
    assert.same({ nil, "CONNECTIONLOSS" }, { through:create("/harness/one") })
    wait.eventually(function() return direct:exists("/harness/one") end)
  end)

  it("a request whose reply is lost is done before the link is cut", function()
    faulty:lose_reply("create")
    assert.same({ nil, "CONNECTIONLOSS" }, { through:create("/harness/one") })
    assert(direct:exists("/harness/one"))
  end)

  it("what a black hole swallowed arrives when it is over", function()
    through.timeout = 0.3
    faulty:black_hole("to_client")
    assert.same({ nil, "OPERATIONTIMEOUT" }, { through:create("/harness/one") })
    wait.eventually(function() return direct:exists("/harness/one") end)
    local patient = inspector.connect(zk.hosts)
    patient:close()
    assert.is_false(pcall(inspector.connect, faulty.hosts, { timeout = 0.3 }))
    faulty:heal()
    inspector.connect(faulty.hosts):close()
  end)

  it("a black hole to the server keeps requests from it", function()
    through.timeout = 0.3
    faulty:black_hole("to_server")
    assert.same({ nil, "OPERATIONTIMEOUT" }, { through:create("/harness/late") })
    assert.is_nil((direct:exists("/harness/late")))
    faulty:heal()
    wait.eventually(function() return direct:exists("/harness/late") end)
  end)

  it("a link that is made in a black hole is none, whichever way that is", function()
    for _, direction in ipairs { "both", "to_server", "to_client" } do
      faulty:reset()
      faulty:black_hole(direction)
      local sessions = zk:mntr().global_sessions
      assert.is_false(pcall(inspector.connect, faulty.hosts, { timeout = 0.2 }))
      assert.is_true(zk:mntr().global_sessions <= sessions)
      faulty:heal()
    end
  end)

  it("a held reply comes after heal, and others wait for it", function()
    faulty:hold_reply("create")
    through.link:send(wire.request(55, "create", wire.buffer("/harness/held") .. wire.buffer("")
      .. wire.acl(inspector.acls.open) .. wire.int(0)))
    wait.eventually(function() return direct:exists("/harness/held") end)
    through.link:settimeout(0.1)
    assert.is_nil((through.link:receive(4)))
    faulty:heal()
    through.link:settimeout(10)
    assert.is_string(through.link:receive(4))
  end)

  it("a reply that was to be held, and comes only after heal, is not", function()
    faulty:black_hole("to_server")
    faulty:hold_reply("getData")
    through.link:send(wire.request(56, "getData", wire.buffer("/") .. "\0"))
    wait.eventually(function() return faulty:pending() == 0 end)
    faulty:heal()
    through.link:settimeout(wait.PATIENCE)
    assert.is_string(through.link:receive(4))
  end)

  --- Watches a node over a raw link and changes it.
  local function watch_and_change()
    assert(direct:create("/harness/watched"))
    through.link:send(wire.request(77, "getData", wire.buffer("/harness/watched") .. "\1"))
    through.link:settimeout(10)
    local function frame()
      local head = through.link:receive(4)
      return head and through.link:receive(wire.reader(head):int())
    end
    assert.equal(77, (wire.reply(frame())))
    assert(direct:set("/harness/watched", "changed"))
    return frame
  end

  it("an event that is cut off before it was forwarded is not heard of", function()
    faulty:cut_before("event")
    local frame = watch_and_change()
    assert.is_nil(frame())
    assert.equal(1, faulty:counts().event)
    assert.equal(1, faulty:counts().total, "an event is no request")
  end)

  it("an event that is cut off after it was forwarded is the last that is heard", function()
    faulty:cut_after("event")
    local frame = watch_and_change()
    assert.equal(wire.xid.notification, (wire.reply(frame())))
    assert.is_nil(frame())
  end)

  it("an event that is held comes after heal", function()
    faulty:hold_before("event")
    local frame = watch_and_change()
    faulty:await("event")
    through.link:settimeout(0.1)
    assert.is_nil((through.link:receive(4)))
    faulty:heal()
    through.link:settimeout(10)
    assert.equal(wire.xid.notification, (wire.reply(frame())))
  end)

  it("a black hole can be healed one way", function()
    faulty:black_hole()
    local function ask(xid) through.link:send(wire.request(xid, "getData", wire.buffer("/harness") .. "\0")) end
    local function is_answered(seconds)
      through.link:settimeout(seconds)
      local head = through.link:receive(4)
      return head ~= nil and through.link:receive(wire.reader(head):int()) ~= nil
    end
    ask(1)
    faulty:heal("to_client")
    assert.is_false(is_answered(0.1), "the request is still held")
    faulty:heal("to_server")
    assert.is_true(is_answered(10))
    faulty:black_hole()
    ask(2)
    faulty:heal("to_server")
    faulty:await("getData", 2)
    assert.is_false(is_answered(0.1), "the reply is held")
    faulty:heal("to_client")
    assert.is_true(is_answered(10))
    faulty:black_hole("to_server")
    faulty:heal("both")
    ask(3)
    assert.is_true(is_answered(10))
  end)

  it("rules wait side by side, and each counts every request", function()
    faulty:lose_reply("*", 3)
    faulty:cut_before("create", 2)
    faulty:cut_after("delete")
    assert.equal(3, faulty:pending())
    assert(through:create("/harness/a"))
    assert.same({ nil, "CONNECTIONLOSS" }, { through:create("/harness/b") })
    assert.equal(2, faulty:pending())
    local second = inspector.connect(faulty.hosts, { reconnect = false })
    assert.same({ nil, "CONNECTIONLOSS" }, { second:create("/harness/c") })
    assert.same({ "a", "c" }, direct:children("/harness"))
    assert.equal(1, faulty:pending())
    faulty:heal()
    assert.equal(0, faulty:pending())
    second:close()
  end)

  it("a proxy that refuses takes no new links until it is healed", function()
    faulty:refuse()
    assert(through:exists("/harness"))
    assert.is_false(pcall(inspector.connect, faulty.hosts, { timeout = 0.1 }))
    faulty:heal()
    inspector.connect(faulty.hosts):close()
  end)

  it("cut closes every link at once", function()
    assert.equal(1, faulty:links())
    faulty:cut()
    assert.same({ nil, "CONNECTIONLOSS" }, { through:exists("/harness") })
    wait.eventually(function() return faulty:links() == 0 end)
  end)

  it("garbage is no answer to any request", function()
    faulty:garbage()
    through.link:settimeout(10)
    local frame = through.link:receive(52)
    assert.not_equal(0, (wire.reply(frame:sub(5))))
  end)

  it("a link that is deserted is gone for the client, and open for the server until heal", function()
    local id = through:session_id()
    assert.equal(1, faulty:desert())
    through.link:settimeout(10)
    assert.equal("closed", (select(2, through.link:receive(1))))
    assert.equal(0, faulty:links())
    assert.is_true(zk:serves(id))
    faulty:heal()
    wait.eventually(function() return not zk:serves(id) end)
  end)

  it("a session that is expired is gone for its owner", function()
    assert(through:create("/harness/e", "", { ephemeral = true }))
    assert.equal(through:session_id(), faulty:sessions()[1].id)
    faulty:expire_session(through:session_id())
    assert.is_nil((direct:exists("/harness/e")))
    assert.is_nil((through:exists("/harness")))
    assert.is_true(faulty:expire_session(through:session_id()), "it is over already")
  end)
end)

describe("an ensemble", function()
  it("survives its leader and a server that is cut off from it", function()
    local three = ensemble.start { links = true }
    local direct = inspector.connect(three.hosts)
    assert(direct:create("/kept"))
    local killed = three:kill_leader()
    assert.not_equal(killed, three:leader())
    assert(direct:exists("/kept"))
    three:start(killed)

    local follower, leader = three:follower(), three:leader()
    local there = inspector.connect(three.servers[follower].hosts, { reconnect = false })
    three:isolate(follower)
    local other = 6 - follower - leader
    local elsewhere = inspector.connect(three.servers[other].hosts)
    assert(elsewhere:create("/unseen"))
    assert.same({ nil, "NONODE" }, { there:exists("/unseen") })
    three:rejoin(follower)
    wait.eventually(function() return three:role(follower) == "follower" end)

    three:stop(leader)
    assert.not_equal(leader, three:leader())
    three:resume(leader)
    for _, one in ipairs { direct, there, elsewhere } do one:close() end
    three:close()
  end)
end)
