-- SPDX-License-Identifier: MIT
--- A Lua state that is closed with clients in it, in a program that lives on.

local fixture = require "spec.support.fixture"
local host = require "spec.support.host"
local proxy = require "spec.support.proxy"
local wait = require "spec.support.wait"

local SESSION = 600 -- seconds: what goes at once goes long before the servers would let it go
local PATIENCE = wait.PATIENCE

describe("a Lua state that is closed", function()
  local here = fixture.new("/state", { session_timeout = SESSION })
  local zk, tree, client, path, program

  setup(function() zk, tree, client = here.zk, here.tree, here:connect() end)

  before_each(function() path = here.path end)

  after_each(function()
    if program then program:kill() end
    program = nil
    tree:delete_tree(path)
  end)

  local PROLOGUE = [[
    local hosts, path = arg[1], arg[2]
    local zklock = require "zklock"
    local client = assert(zklock.connect(hosts, { session_timeout = 600 }))
  ]]

  -- Holds and waits in every way there is; somebody else holds PATH/taken.
  local BUSY = PROLOGUE .. [[
    assert(client:mutex(path .. "/acquired"):acquire(60))
    guard = assert(client:mutex(path .. "/guarded"):guard(60))
    request = client:mutex(path .. "/requested"):request(60, print)
    owner = coroutine.create(function()
      assert(client:mutex(path .. "/owned"):acquire(60))
      coroutine.yield()
    end)
    coroutine.resume(owner)
    second = assert(zklock.connect(hosts, { session_timeout = 600 }))
    assert(second:mutex(path .. "/second"):acquire(60))
    local taken = client:mutex(path .. "/taken")
    taken:request(60, print)
    local began, sleeps = false, _VERSION ~= "Lua 5.1" or jit -- plain 5.1 does not yield across pcall
    client:mutex(path .. "/callback"):request(60, function()
      began = true
      if sleeps then taken:acquire(60) end -- the state is closed while it sleeps in here
    end)
    while not began or #taken:participants(60) < (sleeps and 3 or 2) do client:poll(0.01) end
    assert(request:state() == "held" or client:poll(60))
  ]]
  local NAMES = { "acquired", "guarded", "requested", "owned", "second", "callback" }

  local BETWEEN = [[
    print(io.open("/proc/self/maps"):read("*a"):find("/zklock/core.so", 1, true) ~= nil)
    io.stdout:flush()
    io.read()
  ]]

  local function run(scripts, hosts)
    return host.run(scripts, { hosts or zk.hosts, path })
  end

  it("gives back at once what its clients held and waited for, while the program lives on", function()
    assert(client:mutex(path .. "/taken"):acquire(PATIENCE))
    program = host.spawn({ BUSY, BETWEEN }, { zk.hosts, path })
    local line
    repeat line = assert(program:read_line(PATIENCE), program:stderr()) until not line:find("^%d") -- tokens
    assert.equal("true", line, "the module is still there: its threads run in it")
    for _, name in ipairs(NAMES) do here:becomes(0, path .. "/" .. name) end
    here:becomes(1, path .. "/taken")
    assert.is_true(program:is_running())
    program:write("")
    assert.equal(0, (program:wait(PATIENCE)))
    assert.equal("", program:stderr())
    assert.is_true(client:mutex(path .. "/taken"):release())
  end)

  it("ends the sessions of its clients", function()
    program = host.spawn({ PROLOGUE .. [[
      second = assert(zklock.connect(hosts, { session_timeout = 600 }))
      print(client:session_id())
      print(second:session_id())
    ]], BETWEEN }, { zk.hosts, path })
    local first, second = program:read_line(PATIENCE), program:read_line(PATIENCE)
    assert.equal("true", program:read_line(PATIENCE))
    wait.eventually(function()
      local dump = assert(zk:four_letter("dump"))
      return not (dump:find(first .. "%f[%X]") or dump:find(second .. "%f[%X]"))
    end, PATIENCE, "the end of the sessions")
    assert.is_true(program:is_running())
  end)

  it("is followed by others that use zklock again", function()
    local again = PROLOGUE .. [[
      for _, name in ipairs { "acquired", "guarded", "requested", "owned", "second", "callback" } do
        assert(client:mutex(path .. "/" .. name):acquire(60))
      end
      io.stderr:write("served\n")
    ]]
    assert(client:mutex(path .. "/taken"):acquire(PATIENCE))
    local result = run { BUSY, again, BUSY, again .. "client:close()", again }
    assert.same({ 0, "served\nserved\nserved\n" }, { result.code, result.stderr })
    assert.is_true(client:mutex(path .. "/taken"):release())
    for _, name in ipairs(NAMES) do here:becomes(0, path .. "/" .. name) end
  end)

  it("again and again leaves nothing behind", function()
    local scripts = {}
    for i = 1, 10 do
      scripts[3 * i - 2] = PROLOGUE .. "assert(client:mutex(path):acquire(60))"
      scripts[3 * i - 1] = PROLOGUE .. "client:mutex(path):request(60, print)" -- perhaps not even sent
      scripts[3 * i] = [[
        local client = assert(require "zklock".connect(arg[1], { connect_timeout = 0 })) -- perhaps not even open
        client:mutex(arg[2]):request(60, print)
      ]]
    end
    local result = run(scripts)
    assert.same({ 0, "", "" }, { result.code, result.stdout, result.stderr })
    here:becomes(0, path)
  end)

  it("by an error is no different", function()
    local result = run { PROLOGUE .. "assert(client:mutex(path):acquire(60)) error('uncaught')",
      PROLOGUE .. "assert(client:mutex(path):acquire(60)) client:close() print('served')" }
    assert.equal(1, result.code)
    assert.equal("served\n", result.stdout)
    assert.matches("uncaught", result.stderr)
    here:becomes(0, path)
  end)

  it("while no server answers does not hold the program up, or crash it", function()
    local faulty = proxy.start(zk.hosts)
    program = host.spawn({ PROLOGUE .. [[
      assert(client:mutex(path):acquire(60))
      client:mutex(path):request(60, print)
      print("holds")
      io.stdout:flush()
      io.read()
      connecting = zklock.connect(hosts, { connect_timeout = 0 })
      connecting:mutex(path):request(60, print)
    ]], BETWEEN, "require 'zklock'" }, { faulty.hosts, path })
    assert.equal("holds", program:read_line(PATIENCE))
    faulty:black_hole()
    program:write("")
    assert.equal("true", program:read_line(PATIENCE))
    program:write("")
    assert.equal(0, (program:wait(PATIENCE)))
    assert.equal("", program:stderr())
    faulty:close()
  end)

  it("leaves the signals that another one asked for to that", function()
    local result = run { [[
      local zklock = require "zklock"
      local uv = require "luv"
      local ASK = 'require "zklock".interrupt_on("TERM", "HUP")'
      local function interrupt()
        uv.kill(uv.os_getpid(), "sigterm")
        for _ = 1, 1000 do uv.os_getpid() end
      end
      local function ask_here() zklock.interrupt_on("TERM") end
      for _, first in ipairs { ask_here, function() end } do
        for _, afterwards in ipairs { ask_here, function() end } do
          first()
          assert(host.other_state(ASK))
          afterwards()
          print((select(2, pcall(interrupt)):match("interrupted: TERM$")))
        end
      end
      print(host.other_state("error('loudly', 0)"))
    ]] }
    assert.same({ 0, ("interrupted: TERM\n"):rep(4) .. "nil\tloudly\n", "" },
      { result.code, result.stdout, result.stderr })
  end)

  it("is interrupted by a signal only behind code that must run whole", function()
    local result = run { [[
      local core = require "zklock.core"
      local uv = require "luv"
      require("zklock").interrupt_on("TERM")
      local reached
      local function section()
        uv.kill(uv.os_getpid(), "sigterm")
        for _ = 1, 1000 do uv.os_getpid() end
        reached = "its end"
      end
      local ok, err = pcall(function()
        core.quietly(section)
        for _ = 1, 1000 do uv.os_getpid() end
        reached = "more"
      end)
      print(ok, err:match("interrupted: TERM$"), reached)
    ]] }
    assert.same({ 0, "false\tinterrupted: TERM\tits end\n", "" }, { result.code, result.stdout, result.stderr })
  end)

  describe("in another thread than the main one", function()
    local WAITING = PROLOGUE .. [[
      zklock.interrupt_on("TERM", "HUP")
      local lock = client:mutex(path)
      for _, wait in ipairs {
        function() lock:acquire() end,
        function() client:sleep(math.huge) end,
        function() client:poll(math.huge) end,
      } do
        local _, err = pcall(function()
          print("waits")
          io.stdout:flush()
          wait()
        end)
        print(err:match("interrupted: %u+$"))
        io.stdout:flush()
      end
      client:close()
    ]]
    for how, title in pairs { yes = "the state", blocked = "the state, also where the host blocks signals," } do
      it(title .. " is interrupted out of a wait by a signal that the main thread gets", function()
        assert(client:mutex(path):acquire(PATIENCE))
        program = host.spawn({ WAITING }, { zk.hosts, path }, { env = { HOST_THREAD = how } })
        for turn = 1, 3 do
          assert.equal("waits", program:read_line(PATIENCE))
          program:signal(turn % 2 == 0 and "sigterm" or "sighup")
          assert.equal("interrupted: " .. (turn % 2 == 0 and "TERM" or "HUP"), program:read_line(PATIENCE))
        end
        assert.equal(0, (program:wait(PATIENCE)))
        assert.equal("", program:stderr())
      end)
    end

    it("the state is interrupted while it counts #bare", function()
      if rawget(_G, "jit") then return pending("compiled code does not look for the hook") end
      program = host.spawn({ PROLOGUE .. [[
        zklock.interrupt_on("TERM")
        client:close()
        local _, err = pcall(function()
          print("counts")
          io.stdout:flush()
          while true do end
        end)
        print(err:match("interrupted: %u+$"))
      ]] }, { zk.hosts, path }, { env = { HOST_THREAD = "yes" } })
      assert.equal("counts", program:read_line(PATIENCE))
      program:signal("sigterm")
      assert.equal("interrupted: TERM", program:read_line(PATIENCE))
      assert.equal(0, (program:wait(PATIENCE)))
    end)
  end)
end)
