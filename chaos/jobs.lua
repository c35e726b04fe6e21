-- SPDX-License-Identifier: MIT
--- In a run with jobs: notes when somebody must be at work again, and judges it at the end.

local successions = require "chaos.successions"
local uv = require "luv"

local jobs = {}
jobs.__index = jobs

local SECOND = 1e6 -- all moments are microseconds
--- The time that a busy machine may add, but for the time in which we came to nothing ourselves.
local SLACK = 3
--- Seconds that the workers need before their first job.
local START = 3

local function micros() return math.floor(tonumber(uv.hrtime()) / 1000) end

---@param cast table as `chaos.schedule.JOBS`
function jobs.new(cast)
  -- The session of one that says nothing ends one tick late at most, and the next one has a pause.
  local bound = (1.1 * cast.session_timeout + 0.2 + SLACK) * SECOND
  return setmetatable({ cast = cast, events = {}, windows = {}, bound = math.floor(bound) }, jobs)
end

local function allow(self, at, more)
  table.insert(self.events, { at = at, bound = math.floor(self.bound + more * SECOND) })
end

--- A fault has struck.
---@param outage number? seconds for which it may keep everybody from being served
function jobs:struck(kind, outage)
  if not self.cast.small[kind] then allow(self, micros(), outage or 0) end
end

--- From now on somebody must be at work; not at once: the workers have stopped.
function jobs:open()
  local now = micros()
  allow(self, now, START)
  table.insert(self.windows, { from = now })
end

--- Nobody must any more.
function jobs:shut() self.windows[#self.windows].to = micros() end

local function read(place)
  local file = assert(io.open(place.store.path, "rb"))
  local moments = successions.moments(file:lines())
  file:close()
  return moments
end

local function lags_of(crew)
  local list = {}
  for i, lag in ipairs(crew.lags) do list[i] = { from = lag.from * SECOND, to = lag.to * SECOND } end
  return list
end

--- After the judge has read the logs: all of them are written.
---@param places table[] of `chaos.testbed`
---@param crew table
---@return { silences: string[], epochs: string[], longest: number, written: integer }
function jobs:judge(places, crew)
  local verdict = { silences = {}, longest = 0, written = #crew.epochs, epochs = successions.epochs(crew.epochs) }
  local options = { bound = self.bound, lags = lags_of(crew) }
  for _, place in ipairs(places) do
    if place.kind ~= "post" then
      local moments = read(place)
      for _, window in ipairs(self.windows) do
        local list, longest = successions.silences(moments, window, self.events, options)
        verdict.longest = math.max(verdict.longest, longest / SECOND)
        for _, one in ipairs(list) do
          table.insert(verdict.silences, ("%s: nobody at work from %.6f for %.1f s, %.1f s too long"):format(place.path,
            one.from / SECOND, (one.to - one.from) / SECOND, one.late / SECOND))
        end
      end
    end
  end
  return verdict
end

return jobs
