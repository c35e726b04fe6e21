-- SPDX-License-Identifier: MIT
-- A counter in ZooKeeper that requests change one at a time, on all machines. Each thread of httpd
-- has a Lua state (LuaScope thread), and a client, of its own. A wait blocks that thread.
local zklock = require "zklock"

local COUNTER = "/shop/apache/sold"

-- httpd forks after it has read its configuration: connect on first use. The global lasts as long
-- as the thread, also when httpd loads this file again.
local function connected()
  shop_client = rawget(_G, "shop_client") or assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181"))
  return shop_client
end

local function sell(_, client)
  local sold = tonumber((assert(client:get(COUNTER, 5)))) + 1
  assert(client:set(COUNTER, ("%d"):format(sold), nil, 5))
  return sold
end

function handle(r)
  local client = connected()
  local ok, sold = client:mutex("/shop/apache/lock"):with(5, sell, client) -- releases also when it raises
  r.content_type = "text/plain"
  if not ok then r.status = 503 end
  r:puts(ok and ("sold %d\n"):format(sold) or ("busy: %s\n"):format(sold))
  return apache2.OK
end
