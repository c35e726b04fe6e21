-- SPDX-License-Identifier: MIT
--- A real Prosody, with examples/hosts/prosody.

local daemon = require "spec.support.daemon"
local file = require "spec.support.file"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local port = require "spec.support.port"
local sales = require "spec.support.sales"
local uv = require "luv"

local TREE, ROOT = uv.cwd(), "/shop/prosody"

local BEFORE = [[
run_as_root = true
log = { info = "*console" }
]]

daemon.describe("prosody", "prosody", "in Prosody #once #bare #flood", function(program)
  local here = fixture.new(ROOT)
  local web

  before_each(function()
    sales.open(here, ROOT)
    local at, number = folder.new("prosody"), port.free()
    local conf = file.read("examples/hosts/prosody/prosody.cfg.lua"):gsub("5280", number)
    file.write(at .. "/conf.lua", BEFORE .. conf)
    for _, name in ipairs { "mod_shop.lua", "zklock_loop.lib.lua" } do
      file.write(at .. "/" .. name, file.read("examples/hosts/prosody/" .. name))
    end
    web = daemon.start { folder = at, port = number, command = { program, "-F", "--config", at .. "/conf.lua" }, env = {
      ZOOKEEPER = here.zk.hosts, LUA_PATH = ("@/lua/?.lua;@/lua/?/init.lua;;"):gsub("@", TREE),
      LUA_CPATH = TREE .. "/build/5.4/?.so;;" } }
    here:closes(web, web.stop)
  end)

  it("sells exactly once per request, under its strict globals", function()
    sales.are(here, ROOT, sales.sell(web, "/shop/sell", 20, 5))
    assert.is_nil(web:log():find("global", 1, true), web:log())
  end)

  it("serves others while a request waits, and ends a wait at its deadline", function()
    local other = here:second_process()
    assert(other:acquire(ROOT .. "/lock", here.patience))
    local call = web:begin("/shop/sell")
    here:becomes(2, ROOT .. "/lock")
    assert.equal(404, (web:get("/nothing")))
    assert.same({ 503, "busy: timeout\n" }, { call:finish() })
    assert(other:release(ROOT .. "/lock"))
    sales.are(here, ROOT, sales.sell(web, "/shop/sell", 1))
  end)
end)
