-- SPDX-License-Identifier: MIT
local file = require "spec.support.file"
local port = require "spec.support.port"
local server = require "spec.support.server"
local wait = require "spec.support.wait"

describe("the ten-line example", function()
  it("is the one at the top of the README", function()
    local shown = file.read("README.md"):match("```lua\n(.-)```")
    assert.equal(file.shown("examples/ten_lines.lua"), shown)
  end)

  it("runs, and leaves no node behind", function()
    local zk = server.shared()
    local child = wait.spawn_lua("examples/ten_lines.lua", {}, { env = { ZOOKEEPER = zk.hosts } })
    assert.equal(0, (child:wait()))
    assert.equal("", child:stderr())
    assert.matches("^mine alone, on every machine, with token %d+\n$", child:stdout())
    local inspector = require("spec.support.inspector").connect(zk.hosts)
    assert.same({}, inspector:children("/shop/item-42"))
    inspector:close()
  end)

  it("says which server has refused what when none is there", function()
    local hosts = "127.0.0.1:" .. port.free()
    local child = wait.spawn_lua([[
      local zklock = require "zklock"
      local connect = zklock.connect
      function zklock.connect(hosts) return connect(hosts, { connect_timeout = 2 }) end
      dofile "examples/ten_lines.lua"
    ]], {}, { env = { ZOOKEEPER = hosts } })
    assert.equal(1, (child:wait()))
    assert.equal("", child:stdout())
    assert.is_truthy(child:stderr():find("connection refused: " .. hosts, 1, true), child:stderr())
  end)
end)
