-- SPDX-License-Identifier: MIT
-- Makes docs/images/locks.png: the page of metrics.page in examples/monitoring, with a loss and a wait.
--
-- usage: tools/screenshot.lua      below the LUA_PATH and LUA_CPATH of the specs; `make screenshot` sets them

local lfs = require "lfs"
local monitoring = require "spec.support.monitoring"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PICTURE = "docs/images/locks.png"
local WIDTH, HEIGHT = 1280, 690
local PATIENCE = 30

--- The work of the workers besides leading: each has a report, and one waits for another machine.
local LUA = [[
  function locks.show()
    locks.report = client:mutex("/shop/reports/2026-11", { name = "report" })
    locks.report:acquire(5, "report of November")
    locks.prices = client:rwlock("/shop/prices").read
    locks.prices:acquire(5, "import 71")
    locks.import = client:mutex("/shop/import", { slow = 1 }):request(60, function() end)
    locks.lost = client:mutex("/shop/cart-17"):request(5, function() end)
  end
]]
local LOCATIONS = 'location = /show { content_by_lua_block { ngx.timer.at(0, require("locks").show) } }'

local zk = server.shared()
local web = monitoring.example { hosts = zk.hosts, lua = LUA, locations = LOCATIONS }
local other = assert(zklock.connect(zk.hosts, { identifier = "db7:4242" }))
assert(other:mutex("/shop/import"):acquire(PATIENCE))
web:get("/show")
wait.eventually(function() return select(2, web:get("/locks")):find("/shop/cart-17", 1, true) end, PATIENCE)
for _, name in ipairs(assert(other:children("/shop/cart-17"))) do other:delete("/shop/cart-17/" .. name) end
wait.eventually(function()
  local _, page = web:get("/locks")
  return page:find("<td>lost</td>", 1, true) and page:find("<td>slow</td>", 1, true)
end, PATIENCE, "a loss and a slow wait")
lfs.mkdir("docs/images")
monitoring.screenshot(web.url .. "/locks", PICTURE, WIDTH, HEIGHT)
other:close()
web:stop()
print(("%s: %d bytes"):format(PICTURE, lfs.attributes(PICTURE, "size")))
