-- SPDX-License-Identifier: MIT
--- The costs of a peer's lock: alone, handed over, many at a time, and when many want it.

local crew = require "bench.contest.crew"
local measure = require "bench.measure"
local servers = require "bench.contest.servers"

local cost = {}

cost.DELAY = 0.010 -- seconds that every byte is held back, each way
local TTL = 10000
local TRIP = 2 * cost.DELAY * 1e6
local FOR_EVER = 1 << 30 -- rounds
local WARM_UP = 2000 -- milliseconds at most: paths are made, scripts loaded, and Java has compiled what it runs

--- The middle of a list, its smallest and its largest.
function cost.middle(list)
  if #list == 0 then return nil end
  table.sort(list)
  return list[math.floor((#list + 1) / 2)], list[1], list[#list]
end

--- Microseconds from asking to having given back: the middle, the quickest, and of how many.
local function times_of(rounds)
  local times = {}
  for i, one in ipairs(rounds) do times[i] = one.released - one.asked end
  local middle, quickest = cost.middle(times)
  return middle, quickest, #times
end

-- ---- alone ----------------------------------------------------------------------------------------------------------

--- One program, near the server, and one behind the delay.
function cost.prepare_alone(peer, server)
  local line = servers.behind_proxies(server.hosts)
  local self = { peer = peer, server = server, line = line }
  self.near = crew.open(peer, 1, server.hosts, TTL)[1]
  self.far = crew.open(peer, 1, line.hosts, TTL)[1]
  line:delay(cost.DELAY)
  crew.run({ self.near }, 0, peer.id .. "-alone", 10000, 3, 0) -- its path, its scripts
  crew.run({ self.far }, 0, peer.id .. "-alone", 10000, 1, 0)
  return self
end

--- { us =, requests =, trips = } of one acquire and release. Round trips are those of the quickest: a busy machine
--- only adds.
function cost.alone(self, rounds)
  local name, before = self.peer.id .. "-alone", self.server:counts().requests
  local near = crew.run({ self.near }, 0, name, 20000, rounds, 0)
  local us, quickest, count = times_of(near)
  local requests = (self.server:counts().requests - before) / math.max(1, count)
  local _, far = times_of(crew.run({ self.far }, 0, name, 20000, math.max(5, rounds // 20), 0))
  return { us = us, requests = requests, trips = not self.server.is_folder and (far - quickest) / TRIP or nil }
end

function cost.end_alone(self)
  crew.close { self.near, self.far }
  self.line:close()
end

-- ---- handed over ----------------------------------------------------------------------------------------------------

local HOLD = 120000 -- microseconds: long enough for those who wait to be in line again, behind the delay

--- From a release to the next grant, of those who asked before the release: microseconds, and so many.
local function gaps(rounds)
  local times = {}
  for i = 2, #rounds do
    local before, one = rounds[i - 1], rounds[i]
    if one.asked < before.releasing and one.contender ~= before.contender then
      times[#times + 1] = one.granted - before.releasing
    end
  end
  return times
end

--- In round trips between so many processes; in microseconds where there is no server.
function cost.hand_over(peer, server, counts, ms)
  local line = servers.behind_proxies(server.hosts)
  local workers, result = crew.open(peer, counts[#counts], line.hosts, TTL), {}
  crew.run(workers, 0, peer.id .. "-hand-over", WARM_UP, 1, 0)
  line:delay(cost.DELAY)
  for _, count in ipairs(counts) do
    local rounds = crew.run({ table.unpack(workers, 1, count) }, 0, peer.id .. "-hand-over", ms, FOR_EVER, HOLD)
    local us = cost.middle(gaps(rounds))
    result[count] = us and (server.is_folder and us or us / TRIP)
  end
  crew.close(workers)
  line:close()
  return result
end

-- ---- many at a time -------------------------------------------------------------------------------------------------

--- The cases of many locks of one client.
cost.LOTS = {
  { name = "64 locks, one server", locks = 64, ms = 1500 },
  { name = "1,000 locks, one server", locks = 1000, ms = 3000 },
  { name = "64 locks, three servers", locks = 64, ms = 1500, three = true },
  { name = "1,000 locks, three servers", locks = 1000, ms = 3000, three = true },
}

--- Measures the cost of so many different locks of one client, which asks for each again and again.
---@return { rate: number, requests: number, transactions: number?, server: number, client: number, p50: number,
---  p99: number } a second; of an acquisition: counts, microseconds of processor time, microseconds until it is granted
function cost.many(peer, server, locks, ms)
  local workers = crew.open(peer, 1, server.hosts, TTL)
  local name = ("%s-many-%d"):format(peer.id, locks)
  crew.run(workers, locks, name, WARM_UP, 10, 0)
  local function look()
    return { requests = server:counts().requests, server = measure.processor_time(server:pids()) * 1e6,
      client = measure.processor_time { workers[1].pid } * 1e6,
      transactions = server.transactions and server:transactions() }
  end
  local before = look()
  local rounds = crew.run(workers, locks, name, ms, FOR_EVER, 0)
  local result = look()
  crew.close(workers)
  assert(#rounds > 0, "nothing was granted")
  local waits, first, last = {}, math.huge, 0
  for i, one in ipairs(rounds) do
    waits[i] = one.granted - one.asked
    first, last = math.min(first, one.asked), math.max(last, one.released)
  end
  for what, value in pairs(before) do result[what] = value and (result[what] - value) / #rounds end
  result.rate, result.p50 = #rounds / (last - first) * 1e6, cost.middle(waits)
  result.p99 = waits[math.ceil(#waits * 0.99)]
  return result
end

-- ---- a crowd --------------------------------------------------------------------------------------------------------

local PROCESSES, WORK = 4, 1000 -- WORK: microseconds inside

--- How long each had to wait, those who got nothing included; microseconds.
local function fairness(rounds, contenders)
  local longest, sum, served = 0, 0, {}
  for _, one in ipairs(rounds) do
    local waited = one.granted - one.asked
    longest, sum, served[one.contender] = math.max(longest, waited), sum + waited, true
  end
  local count = 0
  for _ in pairs(served) do count = count + 1 end
  return longest / math.max(1, sum / #rounds), contenders - count
end

--- So many contenders, each with a client of its own, in a few processes, for one lock.
function cost.crowd(peer, server, contenders, ms)
  local processes = math.min(PROCESSES, contenders)
  local workers = crew.open(peer, processes, server.hosts, TTL, contenders // processes)
  local pids = {}
  for i, one in ipairs(workers) do pids[i] = one.pid end
  local name = ("%s-crowd-%d"):format(peer.id, contenders)
  crew.run(workers, 0, name, WARM_UP // 3, 2, 0)
  local counts, client, backend = server:counts(), measure.processor_time(pids), measure.processor_time(server:pids())
  local rounds, sums = crew.run(workers, 0, name, ms, FOR_EVER, WORK)
  local after = server:counts()
  local result = { count = #rounds, failures = sums.failures, overlaps = crew.overlaps(rounds) }
  if #rounds > 1 then
    local seconds = (rounds[#rounds].released - rounds[1].asked) / 1e6
    result.rate = #rounds / seconds
    result.requests = (after.requests - counts.requests) / #rounds
    result.wakeups = sums.wakeups / #rounds
    if after.wakeups then result.wakeups = math.max(0, after.wakeups - counts.wakeups) / #rounds end
    result.client = (measure.processor_time(pids) - client) / #rounds * 1e6
    result.server = (measure.processor_time(server:pids()) - backend) / #rounds * 1e6
    result.unfair, result.starved = fairness(rounds, contenders)
  end
  crew.close(workers)
  return result
end

return cost
