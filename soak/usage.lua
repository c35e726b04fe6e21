-- SPDX-License-Identifier: MIT
--- usage: what a process has of the system, over a time.
local lfs = require "lfs"

local usage = {}

usage.KINDS = { rss = "memory, MB", fds = "descriptors", threads = "threads" }
--- By how much the end may be above the middle; the rest is noise, and the allocator's.
local SLACK = { rss = 4, fds = 6, threads = 6 }

local function count(directory)
  local n = 0
  for name in lfs.dir(directory) do n = n + (name:find("^%d") and 1 or 0) end
  return n
end

--- Looks at `one.pid`, and adds to its lists.
function usage.look(one)
  local file = io.open(("/proc/%d/status"):format(one.pid))
  if not file then return end
  local text = file:read("*a")
  file:close()
  for kind in pairs(usage.KINDS) do one[kind] = one[kind] or {} end
  local rss = tonumber(text:match("VmRSS:%s*(%d+)")) -- none when it has just ended
  if not rss then return end
  table.insert(one.rss, rss / 1024)
  table.insert(one.threads, tonumber(text:match("Threads:%s*(%d+)")))
  table.insert(one.fds, count(("/proc/%d/fd"):format(one.pid)))
end

function usage.now(one)
  return ("%s %.1f MB, %d descriptors"):format(one.name, one.rss[#one.rss], one.fds[#one.fds])
end

local function median(list, from, to)
  local part = {}
  for i = math.max(1, math.floor(from)), math.min(#list, math.floor(to)) do part[#part + 1] = list[i] end
  table.sort(part)
  return part[math.floor(#part / 2) + 1] or 0
end

--- Is the end, its last fifth, above what there was once it was warm?
---@param warm number part of the time
---@return boolean grown, string why
function usage.has_grown(list, kind, warm)
  local n = #list
  local first = median(list, n * warm, n * (warm + 0.2))
  local last = median(list, n * 0.8 + 1, n)
  return last > first + SLACK[kind], ("%s from %.1f to %.1f"):format(usage.KINDS[kind], first, last)
end

return usage
