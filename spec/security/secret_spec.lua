-- SPDX-License-Identifier: MIT
--- Credentials are shown to the servers and to nobody else.

local fixture = require "spec.support.fixture"
local memory = require "spec.support.memory"
local port = require "spec.support.port"
local wait = require "spec.support.wait"

local SECRET = "tr0ub4dor&3"
local AUTH = { scheme = "digest", credential = "user:" .. SECRET }
local PATIENCE = wait.PATIENCE

describe("a credential", function()
  local here = fixture.new("/secret", { super = true })
  local zk, tree, faulty, other, heard

  setup(function() zk, tree, faulty = here.zk, here.tree, here:proxy() end)

  before_each(function() other, heard = here:worker(), {} end)

  local function read(name)
    local file = assert(io.open(("/proc/%d/%s"):format(other.pid, name), "rb"))
    local text = file:read("*a")
    file:close()
    return text
  end

  --- Notes all that the worker's client says of itself.
  local function listen()
    for _, event in ipairs(other:events()) do heard[#heard + 1] = table.concat(event, " ") end
  end

  --- Nothing of what anybody can see has the secret in it.
  local function is_kept()
    listen()
    for _, text in ipairs { table.concat(heard, "\n"), other:stderr(), read("cmdline"), read("environ") } do
      assert.is_nil(text:find(SECRET, 1, true), text)
    end
    for name, value in pairs(other:stats()) do
      assert.is_nil((name .. "=" .. tostring(value)):find(SECRET, 1, true))
    end
    assert.is_nil(other:eval("return tostring(worker.client) .. worker.client:state()"):find(SECRET, 1, true))
  end

  local function hears(word)
    wait.eventually(function()
      listen()
      return table.concat(heard, "\n"):lower():find(word:lower(), 1, true)
    end, PATIENCE, "a line with " .. word)
  end

  it("is not in what a client logs, counts and reports, whatever happens to it", function()
    local environ = read("environ")
    assert.is_true(other:connect(faulty.hosts, { auth = AUTH, log_level = "debug" }))
    assert(other:acquire("/secret/a", PATIENCE))
    assert.equal("digest", tree:get_acl("/secret/a")[1].scheme) -- it was shown to the server
    local line = other:participants("/secret/a", PATIENCE)[1]
    assert.is_nil((line.identifier .. line.node):find(SECRET, 1, true))
    other:eval [[
      worker.client:mutex("/secret/b"):request(5, function() error("raised in a callback") end)
    ]]
    hears("raised in a callback")
    faulty:cut()
    hears("suspended")
    faulty:refuse()
    faulty:cut()
    hears("refused")
    faulty:heal()
    wait.eventually(function() return other:state() == "connected" end, PATIENCE)
    faulty:expire_session(other:session_id())
    hears("lost")
    faulty:black_hole()
    hears("timed out")
    faulty:heal()
    wait.eventually(function() return other:state() == "connected" end, PATIENCE)
    is_kept()
    assert.equal(environ, read("environ"))
    other:close()
    is_kept()
  end)

  it("that is refused is not repeated to anybody", function()
    local ok, err = other:connect(zk.hosts, { auth = { scheme = "nonesuch", credential = SECRET } })
    assert.same({ false, "auth failed" }, { ok, err })
    listen()
    other:connect(zk.hosts, { connect_timeout = 0, log_level = "debug",
      auth = { AUTH, { scheme = "nonesuch", credential = SECRET } } })
    hears("auth failed")
    assert.same({ nil, "auth failed" }, { other:acquire("/secret/c", PATIENCE) })
    is_kept()
    other:connect("127.0.0.1:" .. port.free(), { connect_timeout = 0, log_level = "debug", auth = AUTH })
    hears("refused")
    is_kept()
  end)

  it("that is no good is not in the error that is raised, nor in its traceback", function()
    local message = other:eval([[
      local secret, hosts = ...
      local zklock, all = require "zklock", {}
      local function try(options)
        local ok, err = xpcall(function() return zklock.connect(hosts, options) end, debug.traceback)
        assert(not ok)
        all[#all + 1] = err
      end
      local entry = { scheme = "digest", credential = secret }
      try { auth = secret }
      try { auth = { secret } }
      try { auth = { entry, secret } }
      try { auth = { { "digest", secret } } }
      try { auth = { { scheme = "digest", password = secret } } }
      try { auth = { scheme = "digest", credential = { secret } } }
      try { auth = { scheme = "digest", credential = secret .. "\0" } }
      try { auth = { scheme = { "digest" }, credential = secret } }
      try { auth = entry, acl = "nonesuch" }
      try { auth = entry, session_timeout = -1 }
      try { auth = entry, nonesuch = true }
      try { auth = entry, tls = { password = { secret } } }
      try { auth = entry, tls = { password = secret .. "," } }
      return table.concat(all, "\n")
    ]], SECRET, zk.hosts)
    assert.matches("options.auth", message)
    assert.is_nil(message:find(SECRET, 1, true), message)
  end)

  it("does not stay in the engine's memory when its client was closed #once #bare", function()
    local copies, mark = 50, "a-mark-that-is-not-elsewhere-" .. other.pid
    local child = wait.spawn_lua([[
      local zklock, auth = require "zklock", {}
      local secret = ("a user with quite a long name:%s"):format(arg[1])
      for i = 1, tonumber(arg[2]) do auth[i] = { scheme = "digest", credential = secret } end
      print "ready"
      io.read()
      local client = assert(zklock.connect(arg[3], { auth = auth, connect_timeout = 0 }))
      print "connecting"
      io.read()
      client:close()
      print "closed"
      io.read()
    ]], { mark, tostring(copies), "127.0.0.1:" .. port.free() }) -- so libzookeeper has no copies

    local function counted(word)
      assert.equal(word, child:read_line(PATIENCE))
      local found = memory.count(child.pid, mark)
      child:write("")
      return found
    end

    local before, open, closed = counted "ready", counted "connecting", counted "closed"
    assert.is_true(open >= before + copies, ("%d, then %d"):format(before, open))
    assert.is_true(closed <= open - copies, ("%d, then %d"):format(open, closed))
    child:wait()
  end)
end)
