-- SPDX-License-Identifier: MIT
local uv = require "luv"
local zklock = require "zklock"

coroutine.wrap(function()
  local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181", { loop = "luv" }))
  local token = assert(client:mutex("/shop/stock"):acquire(5)) -- luv's other callbacks go on
  print(("mine, with token %d"):format(token))
  client:close()
end)()
uv.run()
