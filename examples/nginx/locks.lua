-- SPDX-License-Identifier: MIT
-- The locks of this worker: loaded once, in init_worker_by_lua.
local zklock = require "zklock"

local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181"))

return {
  client = client,
  stock = client:mutex("/nginx-example/stock"),
  job = client:mutex("/nginx-example/job"),
}
