-- SPDX-License-Identifier: MIT
--- Nodes that kazoo has written, read here, and the reverse.

local fixture = require "spec.support.fixture"
local neighbour = require "spec.support.neighbour"

local DATA = "a\0b\255\n"

local function hex(data) return (data:gsub(".", function(c) return ("%02x"):format(c:byte()) end)) end

describe("beside kazoo's nodes #neighbours", function()
  local here = fixture.new("/kazoo-nodes")
  local client, kazoo, path

  setup(function() client, kazoo = here:connect(), neighbour.crew(here.zk.hosts, 10, "kazoo") end)
  teardown(function() kazoo:kill() end)
  before_each(function() path = here.path end)

  it("we read what it writes, and see it change", function()
    assert.equal(0, kazoo:call("write", path .. "/x", hex(DATA)))
    local data, stat = client:get(path .. "/x", here.patience)
    assert.equal(DATA, data)
    assert.equal(0, stat.version)
    assert.same({ "x" }, (client:children(path, here.patience)))
    local seen
    assert(client:watch(path .. "/x", function(now) seen = now end))
    here:eventually(function() return seen == DATA end, "the first state")
    assert.equal(1, kazoo:call("write", path .. "/x", hex("2")))
    here:eventually(function() return seen == "2" end, "the next")
  end)

  it("it reads what we write", function()
    assert(client:create(path .. "/x", DATA, { parents = true, ephemeral = true }, here.patience))
    local data, version, owner = kazoo:call("read", path .. "/x")
    assert.equal(hex(DATA), data)
    assert.equal(0, version)
    assert.equal(client:session_id(), ("0x%x"):format(owner))
    assert(client:multi({ { "set", path .. "/x", "" }, { "create", path .. "/y" } }, here.patience))
    data, version = kazoo:call("read", path .. "/x")
    assert.same({ "-", 1 }, { data, version })
    assert.equal("x y", kazoo:call("children", path))
  end)
end)
