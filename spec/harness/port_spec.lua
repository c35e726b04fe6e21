-- SPDX-License-Identifier: MIT
--- The ports that servers of the specs get.

local port = require "spec.support.port"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE
local COUNT = 500

describe("free ports #once", function()
  it("are never given to two processes that run at the same time", function()
    local other = wait.spawn_lua(([[
      local port = require "spec.support.port"
      for _ = 1, %d do io.write(port.free(), " ") end
      print()
      io.stdout:flush()
      io.read()
    ]]):format(COUNT))
    local given, count = {}, 0
    for _ = 1, COUNT do given[port.free()] = true end
    for number in assert(other:read_line(PATIENCE)):gmatch("%d+") do
      assert.is_nil(given[tonumber(number)])
      given[tonumber(number)], count = true, count + 1
    end
    assert.equal(COUNT, count)
    other:close_input()
    assert.equal(0, (other:wait(PATIENCE)))
  end)

  it("are below those from which the kernel serves outgoing connections", function()
    local range = assert(io.open("/proc/sys/net/ipv4/ip_local_port_range"))
    assert.is_true(port.free() < range:read("*n"))
    range:close()
  end)
end)
