-- SPDX-License-Identifier: MIT
--- Two rules for jobs besides exclusion: somebody is always at work, and no epoch ever falls.

local successions = {}

--- The moments at which somebody was at work, from a resource's log: accepted steps, in microseconds.
---@param lines fun(): string?
---@return integer[]
function successions.moments(lines)
  local list = {}
  for text in lines do
    local verb, at = text:match("^%d+ %S+ (%l+) accepted (%d+) %d+$")
    if verb == "enter" or verb == "write" or verb == "leave" then list[#list + 1] = tonumber(at) end
  end
  return list
end

--- Until when the next step must come: it is due `bound` after the former one, or after the latest fault that allows
--- more. Time that the machine has kept us waiting does not count.
local function due(from, to, events, lags, bound)
  local last = from + bound
  for _, event in ipairs(events) do
    if event.at <= to then last = math.max(last, event.at + event.bound) end
  end
  for _, lag in ipairs(lags) do last = last + math.max(0, math.min(to, lag.to) - math.max(from, lag.from)) end
  return last
end

--- The longest silences are what a job that nobody runs looks like.
---@param moments integer[] at which somebody was at work, in order
---@param window { from: integer, to: integer } in which somebody must be
---@param events { at: integer, bound: integer }[] faults, and for how long each may keep everybody out
---@param options { bound: integer, lags: { from: integer, to: integer }[] } `bound`: without a fault
---@return { from: integer, to: integer, late: integer }[] silences that were too long
---@return integer longest
function successions.silences(moments, window, events, options)
  local list, before, longest = {}, window.from, 0
  local function look(to)
    longest = math.max(longest, to - before)
    local late = to - due(before, to, events, options.lags, options.bound)
    if late > 0 then list[#list + 1] = { from = before, to = to, late = late } end
    before = to
  end
  for _, at in ipairs(moments) do
    if at > window.from and at < window.to then look(at) end
  end
  look(window.to)
  return list, longest
end

--- An epoch that has fallen, or two writes that were the same one. The versions say in which order they were done.
---@param writes { path: string, version: integer, token: integer }[] in any order
---@return string[] violations
function successions.epochs(writes)
  local by_path, list = {}, {}
  for _, write in ipairs(writes) do
    by_path[write.path] = by_path[write.path] or {}
    table.insert(by_path[write.path], write)
  end
  for path, of in pairs(by_path) do
    table.sort(of, function(a, b) return a.version < b.version end)
    for i = 2, #of do
      local former, later = of[i - 1], of[i]
      if former.version == later.version then
        list[#list + 1] = ("%s: version %d was written twice"):format(path, later.version)
      elseif later.token < former.token then
        list[#list + 1] = ("%s: epoch %d in version %d, after %d in version %d"):format(path, later.token,
          later.version, former.token, former.version)
      end
    end
  end
  table.sort(list)
  return list
end

return successions
