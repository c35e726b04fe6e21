-- SPDX-License-Identifier: MIT
-- The Lua side of haproxy.cfg. Each thread of HAProxy loads this file and has a client of its own.
local zklock = require "zklock"

local COUNTER = "/shop/haproxy/sold"

-- HAProxy forks after it has read its configuration: connect on first use. That returns at once.
local client
local function connected()
  client = client or assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181"))
  return client
end

-- A service that changes a counter in ZooKeeper, one request at a time on all machines.
local function sell()
  local sold = tonumber((assert(client:get(COUNTER, 5)))) + 1
  assert(client:set(COUNTER, ("%d"):format(sold), nil, 5))
  return sold
end

core.register_service("sell", "http", function(applet)
  local ok, sold = connected():mutex("/shop/haproxy/counter"):with(5, sell) -- other requests go on
  local body = ok and ("sold %d\n"):format(sold) or ("busy: %s\n"):format(sold)
  applet:set_status(ok and 200 or 503)
  applet:add_header("content-length", tostring(#body))
  applet:start_response()
  applet:send(body)
end)

-- A lock that lasts while the backend works. The owner is a table, because the action's coroutine
-- ends here. HAProxy keeps the guard with the request.
core.register_action("take", { "http-req" }, function(txn)
  local guard, err = connected():mutex("/shop/haproxy/backend", { max_hold = 60 }):guard(5, {})
  txn:set_priv(guard)
  txn:set_var("txn.lock", guard and "held" or err)
end)

core.register_action("give", { "http-res" }, function(txn)
  local guard = txn:get_priv()
  if guard then guard:release() end
  txn:set_priv(nil)
end)
