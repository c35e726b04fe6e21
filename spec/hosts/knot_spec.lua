-- SPDX-License-Identifier: MIT
--- loop = "cqueues" in a real Knot Resolver, with examples/hosts/knot.

local daemon = require "spec.support.daemon"
local file = require "spec.support.file"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local lfs = require "lfs"
local port = require "spec.support.port"
local socket = require "socket"
local uv = require "luv"
local wait = require "spec.support.wait"

local TREE, LOCK = uv.cwd(), "/shop/knot/refresh"
local QUERY = "\1\2\1\0\0\1\0\0\0\0\0\0\5stock\7example\0\0\1\0\1"

daemon.describe("kresd", "knot-resolver", "in Knot Resolver #once #bare #flood", function(program)
  if not lfs.attributes("build/luajit/zklock/core.so") then
    return it("needs the module for LuaJIT", function() pending("skipped: make build LUAS=luajit makes it") end)
  end
  local here = fixture.new("/shop/knot")

  --- The address that it answers for stock.example.
  local function resolve(number)
    local link = assert(socket.udp())
    assert(link:setpeername("127.0.0.1", number))
    link:settimeout(0.5)
    local answer = link:send(QUERY) and link:receive()
    link:close()
    return answer and table.concat({ answer:byte(-4, -1) }, ".")
  end

  local function resolves(number, address)
    wait.eventually(function()
      local got = resolve(number)
      return got == address, got
    end, here.patience, address)
  end

  it("answers queries while it waits for a lock, then does its work", function()
    local other = here:second_process()
    assert(other:acquire(LOCK, here.patience))
    local at, number = folder.new("knot"), port.free()
    file.write(at .. "/kresd.conf", (file.read("examples/hosts/knot/refresh.lua"):gsub("5353", number)))
    local resolver = daemon.start { folder = at, command = { program, "-n", "-c", at .. "/kresd.conf", at }, env = {
      ZOOKEEPER = here.zk.hosts, LUA_PATH = ("@/lua/?.lua;@/lua/?/init.lua;;"):gsub("@", TREE),
      LUA_CPATH = TREE .. "/build/luajit/?.so;;" } }
    here:closes(resolver, resolver.stop)
    here:becomes(2, LOCK)
    resolves(number, "192.0.2.1")
    assert(other:release(LOCK))
    resolves(number, "192.0.2.2")
    here:becomes(0, LOCK)
    assert.matches("refreshed with token %d+", resolver:log())
  end)
end)
