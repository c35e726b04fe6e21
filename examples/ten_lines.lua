-- SPDX-License-Identifier: MIT
local zklock = require "zklock"

local client, err, why = zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181")
assert(client, why or err) -- after 10 seconds: "connection refused: 127.0.0.1:2181"
local lock = client:mutex("/shop/item-42")

local token = assert(lock:acquire(5)) -- waits 5 seconds at most
print(("mine alone, on every machine, with token %d"):format(token))
assert(lock:release())

client:close()
