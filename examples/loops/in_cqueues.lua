-- SPDX-License-Identifier: MIT
local cqueues = require "cqueues"
local zklock = require "zklock"

local loop = cqueues.new()
loop:wrap(function()
  local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181", { loop = "cqueues" }))
  local token = assert(client:mutex("/shop/stock"):acquire(5)) -- the loop's other coroutines go on
  print(("mine, with token %d"):format(token))
  client:close()
end)
assert(loop:loop())
