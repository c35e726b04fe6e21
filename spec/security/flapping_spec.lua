-- SPDX-License-Identifier: MIT
--- A server, or whoever sits on the connection, that takes sessions and hangs up on each: and does not know it when the
--- client comes back, or gives it another one.

local port = require "spec.support.port"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE

local SERVER = [[
  local uv = require "luv"
  local is_other = arg[1] == "other"
  local function int(n) return ("\0\0%c%c"):format(n // 256 % 256, n % 256) end
  local door, connects = uv.new_tcp(), 0
  local function granted()
    return int(0) .. int(4000) .. int(0) .. int(is_other and connects or 1) .. int(16) .. ("p"):rep(16) .. "\0"
  end
  door:bind("127.0.0.1", tonumber(arg[2]))
  door:listen(128, function()
    local link = uv.new_tcp()
    door:accept(link)
    connects = connects + 1
    link:read_start(function(_, data)
      if data then link:write(int(#granted()) .. granted()) end
      link:close()
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

describe("a server that hangs up on each session #once", function()
  --- Waits until it was connected to so many times, which takes a hundredth of a second each at least.
  local function is_paced(mode, least)
    local child = wait.spawn_lua(SERVER, { mode, ("%d"):format(port.free()) })
    local hosts = "127.0.0.1:" .. assert(child:read_line(PATIENCE))
    local turns = 0
    local client = assert(zklock.connect(hosts, { session_timeout = 4, connect_timeout = 0,
      on_state = function() turns = turns + 1 end }))
    local began, connects = wait.now(), 0
    wait.eventually(function()
      client:poll(0.05)
      child:write("")
      connects = tonumber(child:read_line(PATIENCE))
      return connects >= least
    end)
    local passed = wait.now() - began
    client:close()
    child:kill()
    assert.is_true(passed > connects / 100, ("%d connections in %.2f s"):format(connects, passed))
    assert.is_true(turns <= 3 * connects, ("%d changes of state, %d connections"):format(turns, connects))
  end

  it("is asked some times a second, not thousands of times", function() is_paced("same", 30) end)

  it("and gives another one each time, likewise", function() is_paced("other", 10) end)
end)
