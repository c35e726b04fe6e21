-- SPDX-License-Identifier: MIT
--- A process that becomes another program, or starts one, while it holds: what that program gets of it.

local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local host = require "spec.support.host"
local proxy = require "spec.support.proxy"
local zklock = require "zklock"

local PATIENCE = require("spec.support.wait").PATIENCE

--- The other program: says which descriptors it was given, and which signals are blocked, and waits to be told to end.
local OTHER_PROGRAM = [[
  local open = {}
  for fd = 0, 255 do
    local file, _, code = io.open("/proc/self/fd/" .. fd)
    if file then file:close() end
    if file or code ~= 2 then open[#open + 1] = fd end -- 2: there is none
  end
  local status = io.open("/proc/self/status")
  local blocked = status:read("*a"):match("SigBlk:%s*(%x+)")
  status:close()
  print(table.concat(open, " ") .. ", blocked " .. blocked)
  io.stdout:flush()
  if arg[1] == "stay" then io.read() end
]]

describe("an exec", function()
  local here = fixture.new("/exec")
  local zk, path, program, children

  setup(function() zk, program = here.zk, folder.file("program.lua", OTHER_PROGRAM) end)

  before_each(function() path, children = here.path, {} end)

  after_each(function()
    for _, child in ipairs(children) do child:kill() end
  end)

  local PROLOGUE = [[
    local hosts, path, program, session_timeout = arg[1], arg[2], arg[3], tonumber(arg[4])
    local zklock = require "zklock"
    local function become_it(...) assert(host.exec("/proc/self/exe", program, "--", ...)) end
    local function start_it()
      local child = host.fork()
      if child == 0 then become_it("end") end
      assert(host.wait(child) == 0)
    end
    local connections = 0
    local client, lock
    local function connect()
      client = assert(zklock.connect(hosts, {
        session_timeout = session_timeout, connect_timeout = 30, on_state = function(state)
          if state == "connected" then connections = connections + 1 end
        end,
      }))
      lock = client:mutex(path)
      return assert(lock:acquire(60))
    end
  ]]

  local function start(code, hosts, session_timeout)
    local child = host.spawn({ PROLOGUE .. code }, { hosts, path, program, session_timeout })
    children[#children + 1] = child
    return child, function() return child:read_line(PATIENCE) or child:stderr() end
  end

  it("by a child takes along none of the client's descriptors, and holds no signals up", function()
    local faulty = proxy.start(zk.hosts)
    local child, says = start([[
      start_it()
      connect()
      start_it()
      for line in io.lines() do
        if line == "end" then break end
        while connections < tonumber(line) or client:state() ~= "connected" do client:poll(1) end
        start_it()
      end
      print(lock:acquire(60) ~= nil, lock:release(), client:close())
      start_it()
    ]], faulty.hosts, 60)
    local before = says()
    assert.matches("^0 1 2.*, blocked 0+$", before)
    assert.equal(before, says(), "while it holds")
    for i = 2, 3 do
      faulty:cut()
      child:write(i)
      assert.equal(before, says(), "after a new link")
    end
    faulty:expire_session(faulty:sessions()[1].id)
    child:write(4)
    assert.equal(before, says(), "after a new session")
    child:write("end")
    assert.equal("true\ttrue\ttrue", says())
    assert.equal(before, says(), "after its end")
    assert.equal(0, (child:wait(PATIENCE)))
    faulty:close()
  end)

  it("that fails changes nothing", function()
    local _, says = start([[
      local token = connect()
      print(host.exec("/no/such/program") == nil, lock:is_held(), lock:token() == token, lock:release(), client:close())
    ]], zk.hosts, 60)
    assert.equal("true\ttrue\ttrue\ttrue\ttrue", says())
    here:becomes(0)
  end)

  it("in the holder's own process ends its session, and the next is served #slow", function()
    local child, says = start([[
      local token = connect()
      print(("%d"):format(token))
      io.stdout:flush()
      become_it("stay")
    ]], zk.hosts, 2)
    local token = tonumber(says())
    assert.matches("^0 1 2.*, blocked 0+$", says())
    local client = assert(zklock.connect(zk.hosts))
    assert.is_true(assert(client:mutex(path):acquire(PATIENCE)) > token)
    assert.is_true(child:is_running())
    assert.is_true(client:mutex(path):release())
    client:close()
    here:becomes(0)
    child:write("")
    assert.equal(0, (child:wait(PATIENCE)))
  end)

  it("leaves the holder no descriptor of clients that ended", function()
    local _, says = start([[
      local function open()
        local n = 0
        for fd = 0, 255 do
          local file, _, code = io.open("/proc/self/fd/" .. fd)
          if file then file:close() end
          if file or code ~= 2 then n = n + 1 end
        end
        return n
      end
      local before = open()
      for _ = 1, 10 do
        connect()
        client:close()
      end
      client, lock = nil
      collectgarbage()
      collectgarbage()
      local patience = os.time() + 30
      repeat until open() == before or os.time() > patience -- a client's last thread may be about to end
      print(open() - before)
    ]], zk.hosts, 60)
    assert.equal("0", says())
  end)
end)
