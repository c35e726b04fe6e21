-- SPDX-License-Identifier: MIT
--- A server, or whoever sits on the connection, that takes sessions and hangs up on each: and does not know it when the
--- client comes back, or gives it another one.

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
  door:bind("127.0.0.1", 0)
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
  --- How often it is connected to, and how many changes of state that makes, in three seconds.
  local function watch(mode)
    local child = wait.spawn_lua(SERVER, { mode })
    local hosts = "127.0.0.1:" .. assert(child:read_line(PATIENCE))
    local turns = 0
    local client = assert(zklock.connect(hosts, { session_timeout = 4, connect_timeout = 0,
      on_state = function() turns = turns + 1 end }))
    assert.is_nil((client:mutex("/flapping"):acquire(3)))
    client:close()
    child:write("")
    local connects = tonumber(child:read_line(PATIENCE))
    child:kill()
    return connects, turns
  end

  it("is asked some times a second, not thousands of times", function()
    local connects, turns = watch("same")
    assert.is_true(connects > 5 and connects < 60, ("%d connections"):format(connects))
    assert.is_true(turns < 120, ("%d changes of state"):format(turns))
  end)

  it("and gives another one each time, likewise", function()
    local connects, turns = watch("other")
    assert.is_true(connects > 3 and connects < 60, ("%d connections"):format(connects))
    assert.is_true(turns < 120, ("%d changes of state"):format(turns))
  end)
end)
