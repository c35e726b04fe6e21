-- SPDX-License-Identifier: MIT
--- caretaker: checks periodically whether each client's timers still exist, because nginx drops
--- some silently. It also tells the clients when nginx tells the worker to exit. All clients of a
--- worker share one timer.
local each = require "zklock.base.each"

local caretaker = {}

--- Seconds between two checks. If nginx drops one run of this timer, it still schedules the next
--- one.
local PERIOD = 10

local hosts = setmetatable({}, { __mode = "k" })
local begun = false

--- When a worker exits, nginx runs all its timers early.
local function round(premature)
  for host in each(hosts) do
    if premature then host:leave() else host:tend() end
  end
end

--- Checks a client's host periodically from now on, unless the worker is exiting.
---@return boolean added
function caretaker.add(host)
  if ngx.worker.exiting() then return false end
  if not begun then
    local ok, err = ngx.timer.every(PERIOD, round)
    if not ok then
      ngx.log(ngx.WARN, "zklock: no timer: ", err)
      return false
    end
    begun = true
  end
  hosts[host] = true
  return true
end

function caretaker.remove(host)
  if hosts[host] then hosts[host] = nil end
end

return caretaker
