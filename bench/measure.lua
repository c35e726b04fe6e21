-- SPDX-License-Identifier: MIT
--- The part that the measurements share.
local core = require "zklock.core"

local measure = {}

--- How long the proxy of a bench holds every byte back, each way; seconds.
measure.DELAY = 0.010

--- The middle of a list, which is sorted then.
function measure.median(list)
  table.sort(list)
  return list[math.floor((#list + 1) / 2)]
end

--- How long a call takes, in seconds.
function measure.timed(fn)
  local start = core.now()
  fn()
  return core.now() - start
end

--- The middle of the times that so many calls take.
function measure.each(count, fn)
  local times = {}
  for i = 1, count do
    times[i] = measure.timed(function() fn(i) end)
  end
  return measure.median(times)
end

--- One question and its answer over a client's link, in seconds.
function measure.round_trip(client)
  local lock = client:mutex("/bench/nobody")
  return measure.each(50, function() assert(lock:participants(5)) end)
end

local TICKS = 100 -- the kernel's, a second

--- The processor time that these processes have used so far, in seconds.
---@param pids integer[]
function measure.processor_time(pids)
  local sum = 0
  for _, pid in ipairs(pids) do
    local file = io.open(("/proc/%d/stat"):format(pid))
    local user, system = (file and file:read("*a") or ""):match("%) %a" .. (" %-?%d+"):rep(10) .. " (%d+) (%d+)")
    if file then file:close() end
    sum = sum + (tonumber(user) or 0) + (tonumber(system) or 0)
  end
  return sum / TICKS
end

--- Prints a line of the table.
function measure.row(name, value, unit) print(("%-58s %8.2f  %s"):format(name, value, unit)) end

return measure
