-- SPDX-License-Identifier: MIT
-- GET /shop/sell changes a counter in ZooKeeper, one request at a time on all machines.
local zklock = require "zklock"
local adapter = module:require "zklock_loop"

local COUNTER = "/shop/prosody/sold"
local client

local function sell()
  local sold = tonumber((assert(client:get(COUNTER, 5)))) + 1
  assert(client:set(COUNTER, ("%d"):format(sold), nil, 5))
  return sold
end

module:depends "http"
module:provides("http", {
  route = {
    ["GET /sell"] = function(event)
      client = client or assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181",
        { loop = adapter, connect_timeout = 0 }))
      local ok, sold = client:mutex("/shop/prosody/lock"):with(5, sell) -- Prosody goes on meanwhile
      event.response.status_code = ok and 200 or 503
      return ok and ("sold %d\n"):format(sold) or ("busy: %s\n"):format(sold)
    end,
  },
})

function module.unload()
  if client then client:close() end
end
