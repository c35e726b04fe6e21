-- SPDX-License-Identifier: MIT
local socket = require "socket"
local zklock = require "zklock"

local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181"))
local token, err
local request = client:mutex("/shop/stock"):request(5, function(...) token, err = ... end)
repeat
  socket.select({ client }, nil, 1) -- and what else you listen to: it has a `getfd`
  client:poll()
until token or err
assert(token, err)
print(("mine, with token %d"):format(token))
request:release()
client:close()
