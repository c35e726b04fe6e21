-- SPDX-License-Identifier: MIT
local copas = require "copas"
local zklock = require "zklock"

local done
copas.addthread(function()
  copas.setErrorHandler(function(err) done = err end)
  local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181", { loop = "copas" }))
  local token = assert(client:mutex("/shop/stock"):acquire(5)) -- Copas' other coroutines go on
  print(("mine, with token %d"):format(token))
  client:close()
  done = true
end)
while not done do copas.step(1) end
assert(done == true, done)
