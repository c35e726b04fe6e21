local server = require "spec.support.server"
local wait = require "spec.support.wait"

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

describe("the ten-line example", function()
  it("is the one at the top of the README", function()
    local shown = read("README.md"):match("```lua\n(.-)```")
    assert.equal(read("examples/ten_lines.lua"), shown)
  end)

  it("runs, and leaves no node behind", function()
    local zk = server.shared()
    local child = wait.spawn_lua("examples/ten_lines.lua", {}, { env = { ZOOKEEPER = zk.hosts } })
    assert.equal(0, (child:wait(60)))
    assert.equal("", child:stderr())
    assert.matches("^mine alone, on every machine, with token %d+\n$", child:stdout())
    local inspector = require("spec.support.inspector").connect(zk.hosts)
    assert.same({}, inspector:children("/shop/item-42"))
    inspector:close()
  end)

  it("says what is wrong when no server is there", function()
    local result = wait.run_lua([[
      local zklock = require "zklock"
      assert(zklock.connect("127.0.0.1:1", { connect_timeout = 0.2 }))
    ]])
    assert.equal(1, result.code)
    assert.matches("disconnected", result.stderr)
  end)
end)
