-- SPDX-License-Identifier: MIT
-- A cron without a crond. Run it with the same table on every machine: each command starts on one
-- of them.
--
--   ZOOKEEPER=127.0.0.1:2181 lua cron.lua TABLE
--
-- A line of the table has the seconds between two starts, a name, and a command:
-- `3600 report ./report --all`.
local zklock = require "zklock"

local hosts = os.getenv("ZOOKEEPER") or "127.0.0.1:2181"
local client = assert(zklock.connect(hosts, { session_timeout = 6 }))

local function start(seconds, name, command)
  client:job("/cron/" .. name, function(token)
    local ok = os.execute(("ZKLOCK_TOKEN=%d; export ZKLOCK_TOKEN; %s"):format(token, command))
    if ok ~= true and ok ~= 0 then error(name .. ": the command failed", 0) end -- to `on_error`
  end, { every = tonumber(seconds) })
end

for line in io.lines((assert(arg[1], "usage: lua cron.lua TABLE"))) do
  local seconds, name, command = line:match "^%s*([%d.]+)%s+(%S+)%s+(.+)$"
  if seconds and tonumber(seconds) then
    start(seconds, name, command)
  elseif line:find "^%s*[^#%s]" then
    error("not understood: " .. line, 0)
  end
end
client:sleep(math.huge)
