-- SPDX-License-Identifier: MIT
-- A leader's epoch and a counter, without comparing tokens: the servers do every write only while the lock is held.
local zklock = require "zklock"

local EPOCH, COUNT = "/shop/epoch", "/shop/count"

local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181", { session_timeout = 6 }))
local lock = client:mutex("/shop/leader")

--- A number in a node, which is made with 0.
local function number(path)
  local data, err = client:get(path, 5)
  if data then return tonumber(data) end
  assert(err == "no node", err)
  local ok, why = client:create(path, "0", { parents = true }, 5)
  assert(ok or why == "node exists", why) -- somebody else was faster
  return number(path)
end

assert(lock:acquire())

-- The first thing a new leader does: who reads the epoch does not take the former one for the leader any more.
local epoch = number(EPOCH) + 1
assert(lock:multi({ { "set", EPOCH, ("%d"):format(epoch) } }, 5))
print("leader in epoch " .. epoch)

for _ = 1, tonumber(arg[1]) or 10 do
  -- The number here was written by former leaders or by us: only leaders write. If we are none any more by the time
  -- the servers get the next line, they write nothing, and say "lost".
  local count = number(COUNT) + 1
  local done, err = lock:multi({ { "set", COUNT, ("%d"):format(count) } }, 5)
  if not done and err == "lost" then break end
  if not done and err == "unknown" then -- it was done, or not: the next round reads it
    print "an answer was lost"
  else
    assert(done, err)
  end
end

print("count " .. number(COUNT))
lock:release()
client:close()
