-- SPDX-License-Identifier: MIT
--- The blocks of docs/nodes.md, run as somebody would who pastes them.

local file = require "spec.support.file"
local fixture = require "spec.support.fixture"

describe("docs/nodes.md", function()
  local here = fixture.new("/shop")
  local blocks = {}

  setup(function()
    for block in file.read("docs/nodes.md"):gmatch("\n```lua\n(.-)\n```") do blocks[#blocks + 1] = block end
  end)

  --- Runs a block with the spec's server in the place of the page's.
  local function run(n)
    local block, changed = assert(blocks[n], "no such block"):gsub("127%.0%.0%.1:2181", here.zk.hosts)
    assert.equal(1, changed)
    return assert((loadstring or load)(block, "=docs/nodes.md"))() -- luacheck: ignore 113
  end

  it("reads and writes", function()
    run(1)
    assert.equal("open=0", (here.tree:get("/shop/config")))
  end)

  it("follows a node", function() run(2) end)

  it("counts with guarded writes", function()
    run(3)
    assert.equal("1", (here.tree:get("/shop/sold")))
    assert.same({}, here.tree:children("/shop/lock"))
  end)
end)
