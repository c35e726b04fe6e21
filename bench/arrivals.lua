-- SPDX-License-Identifier: MIT
--- For how long batching delays an acquire: callers arrive at random, each at a path of its own, hold for a
--- millisecond, and the time until each is granted is measured. Builds take turns. Prints; asserts nothing.
--
--   arrivals.lua ROUNDS FOLDER...   FOLDER has a build of zklock, as build/5.4 has this one
--
-- To compare with a client that never gathers, give it a build whose `zkl_pace_gap` returns 0.

local core = require "zklock.core"
local measure = require "bench.measure"

local PATHS = 400
local SECONDS = 4
local RATES = { 100, 400, 1000 } -- arrivals a second
local HOLD = 0.001

-- ---- one build ------------------------------------------------------------------------------------------------------

--- Poisson arrivals, from the seed; returns the mean and the 99th percentile of the waits, in seconds.
local function waits_of(client, locks, rate, seed)
  math.randomseed(seed)
  local waits, due, left, free = {}, {}, 0, { table.unpack(locks) }
  local now = core.now()
  local stop, arrival = now + SECONDS, now
  local function arrive()
    local lock = table.remove(free, math.random(#free))
    local begun, request = core.now(), nil
    left = left + 1
    request = lock:request(60, function(token, err)
      assert(token, err)
      local granted = core.now()
      waits[#waits + 1] = granted - begun
      due[#due + 1] = { at = granted + HOLD, request = request, lock = lock }
    end)
  end
  while now < stop or left > 0 do
    now = core.now()
    while arrival < stop and arrival <= now and #free > 0 do
      arrive()
      arrival = arrival - math.log(1 - math.random()) / rate
    end
    while due[1] and due[1].at <= now do
      local one = table.remove(due, 1)
      assert(one.request:release())
      free[#free + 1], left = one.lock, left - 1
    end
    local next_at = math.min(arrival < stop and arrival or math.huge, due[1] and due[1].at or math.huge, now + 1)
    client:poll(math.max(0, next_at - now))
  end
  assert(client:flush(60))
  table.sort(waits)
  local sum = 0
  for _, wait in ipairs(waits) do sum = sum + wait end
  return sum / #waits, waits[math.ceil(#waits * 0.99)]
end

local function one_build(hosts, seed)
  local client = assert(require("zklock").connect(hosts, { session_timeout = 30 }))
  local locks, requests = {}, {}
  for i = 1, PATHS do locks[i] = client:mutex(("/bench/arrivals/%d"):format(i)) end
  for i, lock in ipairs(locks) do requests[i] = lock:request(60, function(token, err) assert(token, err) end) end
  for _, request in ipairs(requests) do
    while request:state() ~= "held" do client:poll(1) end
    assert(request:release())
  end
  assert(client:flush(60))
  for _, rate in ipairs(RATES) do print(rate, waits_of(client, locks, rate, seed)) end
  client:close()
end

if arg[1] == "--one" then
  one_build(arg[2], tonumber(arg[3]))
  return
end

-- ---- all of them, in turn -------------------------------------------------------------------------------------------

local servers = require "bench.contest.servers"

local ROUNDS = tonumber(arg[1]) or 3
local folders = { table.unpack(arg, 2) }
if not folders[1] then folders[1] = "build/5.4" end

local function run(folder, hosts, seed)
  local command = ("LUA_CPATH='%s/?.so;;' lua5.4 bench/arrivals.lua --one %s %d"):format(folder, hosts, seed)
  local pipe = assert(io.popen(command))
  local results = {}
  for line in pipe:lines() do
    local rate, mean, late = line:match "^(%d+)%s+(%S+)%s+(%S+)$"
    results[tonumber(rate)] = { mean = tonumber(mean), late = tonumber(late) }
  end
  assert(pipe:close(), folder)
  return results
end

local function compare(delay)
  local zk = servers.start("zookeeper", {})
  local line = servers.behind_proxies(zk.hosts)
  line:delay(delay)
  print(("\nBehind a delay of %d ms each way; mean and 99th percentile in ms:\n"):format(delay * 1000))
  local all = {}
  for round = 1, ROUNDS do
    for i = 1, #folders do
      local folder = folders[round % 2 == 1 and i or #folders + 1 - i]
      all[folder] = all[folder] or {}
      table.insert(all[folder], run(folder, line.hosts, round))
    end
  end
  for _, rate in ipairs(RATES) do
    for _, folder in ipairs(folders) do
      local means, lates = {}, {}
      for i, one in ipairs(all[folder]) do
        means[i], lates[i] = one[rate].mean, one[rate].late
      end
      local name = ("%d a second, %s"):format(rate, folder)
      measure.row(name, measure.median(means) * 1000, "ms")
      measure.row("  99th percentile", measure.median(lates) * 1000, "ms")
    end
  end
  line:close()
  zk:stop()
end

compare(0)
compare(measure.DELAY)
