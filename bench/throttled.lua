-- SPDX-License-Identifier: MIT
--- How long a client waits for many locks in one go at a server that throttles: at new paths, and again at the same
--- ones. Prints; asserts nothing.
--
--   throttled.lua [LOCKS [BURSTS]]

local measure = require "bench.measure"
local server = require "spec.support.server"
local core = require "zklock.core"
local zklock = require "zklock"

local LOCKS, BURSTS = tonumber(arg and arg[1]) or 100, tonumber(arg and arg[2]) or 3
local PATIENCE = 30

local zk = server.start { jvm = { "-Dzookeeper.throttled_op_wait_time=1", "-Dzookeeper.request_throttle_max_requests=2",
  "-Dzookeeper.request_throttle_stall_time=20" } }
local client = assert(zklock.connect(zk.hosts, { session_timeout = 30 }))

local function throttled()
  return tonumber(assert(zk:four_letter("mntr")):match("zk_throttled_ops%s+(%d+)"))
end

for burst = 1, BURSTS do
  local before, times, requests, left, late = throttled(), {}, {}, LOCKS, 0
  local begun = core.now()
  for i = 1, LOCKS do
    requests[i] = client:mutex("/throttled/" .. i):request(PATIENCE, function(token)
      left, late = left - 1, late + (token and 0 or 1)
      times[#times + 1] = core.now() - begun
    end)
  end
  while left > 0 do client:poll(1) end
  local middle = measure.median(times) -- sorts them
  print(("burst %d: median %.2f s, longest %.2f s, %d timeouts, %d requests throttled"):format(burst, middle,
    times[#times], late, throttled() - before))
  for _, request in ipairs(requests) do request:release() end
  assert(client:flush(PATIENCE))
end
client:close()
zk:kill()
