-- SPDX-License-Identifier: MIT
--- A server, or an attacker on the connection, that answers a connect with a session timeout that no server grants.

local port = require "spec.support.port"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE

--- Grants sessions of `arg[1]` milliseconds. With "flood", it then sends 50,000 session events that nobody asked for,
--- and hangs up. It answers nothing. When it reads something it prints how often it was connected to.
local SERVER = [[
  local uv = require "luv"
  local timeout, mode = tonumber(arg[1]) % 2 ^ 32, arg[2]
  local function int(n)
    return string.char(n // 2 ^ 24 % 256 // 1, n // 2 ^ 16 % 256 // 1, n // 256 % 256 // 1, n % 256 // 1)
  end
  local function framed(text) return int(#text) .. text end
  local door, connects = uv.new_tcp(), 0
  local greeting = framed(int(0) .. int(timeout) .. int(0) .. int(7) .. int(16) .. ("p"):rep(16) .. "\0")
  local minus = ("\255"):rep(4)
  local event = framed(minus .. minus .. minus .. int(0) .. minus .. int(3) .. int(0))
  door:bind("127.0.0.1", tonumber(arg[3]))
  door:listen(128, function()
    local link, greeted = uv.new_tcp(), false
    door:accept(link)
    connects = connects + 1
    link:read_start(function(_, data)
      if not data then return link:is_closing() or link:close() end
      if greeted then return end
      greeted = true
      link:write(greeting)
      if mode == "flood" then link:write(event:rep(50000)) link:shutdown() end
    end)
  end)
  local input = uv.new_pipe(false)
  input:open(0)
  input:read_start(function(_, data)
    if not data then os.exit() end
    print(connects)
    io.flush()
  end)
  print(door:getsockname().port)
  io.flush()
  uv.run()
]]

describe("a server that grants a session timeout of #once", function()
  local zk, opened

  setup(function() zk = server.shared() end)
  before_each(function() opened = {} end)
  after_each(function()
    for i = #opened, 1, -1 do opened[i]() end
  end)

  local function connect(hosts, options)
    local client = assert(zklock.connect(hosts, options))
    table.insert(opened, function() client:close() end)
    return client
  end

  --- Its address, and the forger.
  local function forge(timeout, mode)
    local forger = wait.spawn_lua(SERVER, { tostring(timeout), mode or "silent", ("%d"):format(port.free()) })
    table.insert(opened, function() forger:kill() end)
    return "127.0.0.1:" .. assert(forger:read_line(PATIENCE)), forger
  end

  for _, timeout in ipairs { 2147483647, 1073741824, 0, -1, -2147483648 } do
    it(("%d ms is left for the next server"):format(timeout), function()
      local client = connect(forge(timeout) .. "," .. zk.hosts, { connect_timeout = PATIENCE })
      local lock = client:mutex("/greeting/next")
      assert(lock:acquire(PATIENCE))
      assert.is_true(lock:validity() > 0)
      assert.is_true(lock:validity() <= 10)
      assert.equal(10, client:session_timeout())
    end)
  end

  -- All at the same time: each needs its five seconds.
  it("0, 1 or 20 ms, or less or more than any, is asked less and less often when there is no other", function()
    local began, clients, ended = wait.now(), {}, 0
    for timeout, most in pairs { [2147483647] = 25, [0] = 25, [-1] = 25, [1] = 40, [20] = 40 } do
      local hosts, forger = forge(timeout)
      local one = { timeout = timeout, most = most, forger = forger }
      one.client = connect(hosts, { session_timeout = 4, connect_timeout = 0 })
      one.client:mutex("/greeting/alone"):request(5, function(got)
        assert(not got)
        ended = ended + 1
      end)
      table.insert(clients, one)
    end
    wait.eventually(function()
      for _, one in ipairs(clients) do one.client:poll(0.01) end
      return ended == #clients
    end, PATIENCE, "the end of the waits")
    for _, one in ipairs(clients) do
      one.forger:write("")
      local count = tonumber(one.forger:read_line(PATIENCE))
      local most = one.most * (wait.now() - began) / 5
      assert.is_true(count >= 2 and count <= most, ("%d ms: %d connections, at most %g expected"):format(one.timeout,
        count, most))
    end
  end)

  --- Processor time of all threads while a forger sends its events to a process that has so many files open.
  local function flooded(file_count)
    local files, states = {}, {}
    for i = 1, file_count do files[i] = assert(io.open("/dev/null")) end
    local before = os.clock()
    local client = connect(forge(4000, "flood"), { session_timeout = 4, connect_timeout = 0,
      on_state = function(state) states[state] = true end })
    wait.eventually(function()
      client:poll(0.05)
      return states.suspended
    end, PATIENCE)
    local spent = os.clock() - before
    for _, file in ipairs(files) do file:close() end
    for _ = 1, 2 do table.remove(opened)() end
    return spent
  end

  it("4000 ms does not make the client look at its descriptors for each session event", function()
    local few, many = flooded(0), flooded(900)
    assert.is_true(many < 1.5 * few + 0.2, ("%.2f s of processor time, and %.2f s with 900 files"):format(few, many))
  end)

  it("1200000 ms is believed for 60 s", function()
    local client = connect(forge(1200000), { session_timeout = 4, connect_timeout = PATIENCE })
    assert.equal(60, client:session_timeout())
  end)

  it("1200000 ms is believed for as much as the client asked for", function()
    local client = connect(forge(1200000), { session_timeout = 300, connect_timeout = PATIENCE })
    assert.equal(300, client:session_timeout())
  end)
end)
