-- SPDX-License-Identifier: MIT
-- One client for each worker of nginx; its numbers go into the shared dictionary.
local metrics = require "zklock.metrics"
local zklock = require "zklock"

local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181", { session_timeout = 6 }))
metrics.share(client, ngx.shared.zklock)

local locks = {
  client = client,
  stock = client:mutex("/monitoring-example/stock", { name = "stock", slow = 2 }),
}

-- One worker of all machines leads. The others stand by, and one of them takes over.
locks.leading = assert(client:job("/monitoring-example/leader", function(_, hold)
  while hold:sleep(1) do end
end, { name = "leader" }))

-- The other workers of this machine learn from it that one of them leads. The word expires with the
-- validity, and two seconds after the worker's last one.
ngx.timer.every(1, function()
  local left = locks.leading:validity()
  if left > 0 then ngx.shared.health:set("leads", true, math.min(left, 2)) end
end)

return locks
