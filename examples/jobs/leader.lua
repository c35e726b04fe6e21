-- SPDX-License-Identifier: MIT
-- One leader of all processes that run this. Each write of a leader is guarded: the servers refuse
-- it if the leader was stopped for longer than its session, and another one leads.
local zklock = require "zklock"

local LEDGER = "/shop/ledger"

local hosts = os.getenv("ZOOKEEPER") or "127.0.0.1:2181"
local client = assert(zklock.connect(hosts, { session_timeout = 3 }))
io.stdout:setvbuf "no"

--- Takes a while, in which nobody looks at the lock.
local function work(data)
  os.execute("sleep " .. (arg[1] or "1"))
  return ("%d"):format(tonumber(data) + 1)
end

client:job("/shop/leader", function(token, hold)
  client:create(LEDGER, "0", { parents = true }, 5) -- or it is there
  print(("leader with token %d"):format(token))
  repeat
    local data = client:get(LEDGER, 5)
    if data then
      print("working from " .. data)
      local done, err = hold:multi({ { "set", LEDGER, work(data) } }, 5)
      print(done and "written" or "failed: " .. err)
    end
    local ok, err = hold:sleep(0.1)
    if not ok then print("no leader any more: " .. err) end
  until not ok
end)
client:sleep(math.huge)
