-- SPDX-License-Identifier: MIT
--- Many different locks of one client, each asked for again and again: acquisitions a second, what they cost the
--- servers, and how long they wait, beside other libraries, with one and three servers. Then: how many round trips it
--- takes until all are granted that a script asks for in one go. Prints; asserts nothing.
--
--   many.lua [ROUNDS [FOLDER...]]   FOLDER has another build of zklock, as build/5.4 has this one: it takes part
--
-- The contest's programs and servers do it (bench/contest); peers take turns, forth and back.

local cost = require "bench.contest.cost"
local measure = require "bench.measure"
local peers = require "bench.contest.peers"
local servers = require "bench.contest.servers"
local text = require "bench.contest.text"
local zklock = require "zklock"

local ROUNDS = tonumber(arg and arg[1]) or 2
local COUNTS = { 1, 2, 16, 64, 1000 }
local PATIENCE = 60

-- ---- again and again ------------------------------------------------------------------------------------------------

local function contestants()
  local list = {}
  for _, peer in ipairs(peers.list) do
    if peer.lots then list[#list + 1] = peer end
  end
  for i, folder in ipairs { table.unpack(arg or {}, 2) } do
    local other = setmetatable({ id = "zklock-" .. i, cpath = folder .. "/?.so;;" }, { __index = peers.get "zklock" })
    other.title = "zklock of " .. folder
    list[#list + 1] = other
  end
  return list
end

local function middle_of(rounds, name)
  local list = {}
  for _, one in ipairs(rounds) do list[#list + 1] = one[name] end
  return (cost.middle(list))
end

local function row_of(peer, rounds, ours)
  local function number(name, scale)
    local value = middle_of(rounds, name)
    return value and ("%.4g"):format(value / (scale or 1)) or ""
  end
  return { peer.title, number "rate", number("rate", ours), number "requests", number "transactions", number "server",
    number "client", number("p50", 1000), number("p99", 1000) }
end

local HEADER = { "", "a second", "of Curator's", "requests", "transactions", "servers, us", "client, us", "p50, ms",
  "p99, ms" }

local function measure_all(list, case)
  local backends, results = {}, {}
  for round = 1, ROUNDS do
    for i = 1, #list do
      local peer = list[round % 2 == 1 and i or #list + 1 - i]
      backends[peer.family] = backends[peer.family] or servers.start(peer.family, { three = case.three })
      results[peer] = results[peer] or {}
      local ok, result = pcall(cost.many, peer, backends[peer.family], case.locks, case.ms)
      if ok then table.insert(results[peer], result) else print(("%s: %s"):format(peer.title, result)) end
    end
  end
  for _, one in pairs(backends) do one:stop() end
  local rows, base = {}, middle_of(results[list[1]], "rate")
  for i, peer in ipairs(list) do rows[i] = row_of(peer, results[peer], base) end
  print(("\n%s:\n"):format(case.name))
  print(text.plain(HEADER, rows))
end

-- ---- in one go ------------------------------------------------------------------------------------------------------

--- Until all are granted; they are given back then.
local function all_granted(client, locks)
  local requests, left = {}, #locks
  local time = measure.timed(function()
    for i, lock in ipairs(locks) do
      requests[i] = lock:request(PATIENCE, function(token, err)
        assert(token, err)
        left = left - 1
      end)
    end
    while left > 0 do client:poll(1) end
  end)
  for _, one in ipairs(requests) do assert(one:release()) end
  assert(client:flush(PATIENCE))
  return time
end

--- Locks whose directories are there. The client comes to know the link meanwhile.
local function warm_up(client, count)
  local locks = {}
  for i = 1, count do locks[i] = client:mutex(("/bench/go/%d"):format(i)) end
  for _ = 1, 2 do all_granted(client, locks) end
  return locks
end

local function in_one_go(three)
  local zk = servers.start("zookeeper", { three = three })
  local line = servers.behind_proxies(zk.hosts)
  line:delay(measure.DELAY)
  local client = assert(zklock.connect(line.hosts, { session_timeout = 30 }))
  print(("\nAsked for in one go, %s, every byte held back for %d ms each way:\n"):format(
    three and "three servers" or "one server", measure.DELAY * 1000))
  local many = warm_up(client, COUNTS[#COUNTS])
  local trip = measure.round_trip(client)
  for _, count in ipairs(COUNTS) do
    local locks, times = { table.unpack(many, 1, count) }, {}
    for i = 1, 15 do times[i] = all_granted(client, locks) end
    local middle, least = cost.middle(times)
    measure.row(("%d locks, until all are granted"):format(count), middle / trip, "round trips")
    measure.row("  the quickest of 15", least / trip, "round trips")
  end
  client:close()
  line:close()
  zk:stop()
end

local list = contestants()
for _, case in ipairs(cost.LOTS) do measure_all(list, case) end
in_one_go(false)
in_one_go(true)
