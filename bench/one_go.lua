-- SPDX-License-Identifier: MIT
--- How many round trips it takes until all locks are granted that a script asks for in one go, with one and three
--- servers. Beside it, in turn over the same link: a C program that sends the same requests and does nothing else
--- (bench/floor.c). Prints; asserts nothing.
--
--   one_go.lua [ROUNDS]   of each count, in four parts that take turns

local measure = require "bench.measure"
local servers = require "bench.contest.servers"
local zklock = require "zklock"

local ROUNDS = tonumber(arg and arg[1]) or 40
local PARTS = 4
local COUNTS = { 1, 2, 16, 64, 1000 }
local PATIENCE = 60
local FLOOR = "build/bench/floor"

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

--- A client, with as many locks as the largest count.
local function connect(hosts)
  local client, locks = assert(zklock.connect(hosts, { session_timeout = 30 })), {}
  for i = 1, COUNTS[#COUNTS] do locks[i] = client:mutex(("/bench/go/%d"):format(i)) end
  return client, locks
end

--- The directories exist then, and Java has compiled what the servers run.
local function warm_up(hosts)
  local client, locks = connect(hosts)
  for _ = 1, 30 do all_granted(client, locks) end
  client:close()
end

local function floor(hosts, count, times)
  local program = assert(io.popen(("%s %s %d %d"):format(FLOOR, hosts, count, ROUNDS / PARTS)))
  for line in program:lines() do times[#times + 1] = assert(tonumber(line)) end
  assert(program:close(), "bench/floor.c has failed")
end

local function show(name, times, trip)
  local middle = measure.median(times) -- sorts them
  measure.row(name, middle / trip, "round trips")
  measure.row("  the quickest", times[1] / trip, "round trips")
end

local function in_one_go(three)
  local zk = servers.start("zookeeper", { three = three })
  local line = servers.behind_proxies(zk.hosts)
  warm_up(zk.hosts)
  line:delay(measure.DELAY)
  local client, all = connect(line.hosts)
  print(("\nAsked for in one go, %s, every byte held back for %d ms each way:\n"):format(
    three and "three servers" or "one server", measure.DELAY * 1000))
  all_granted(client, all) -- the client comes to know the link
  local trip = measure.round_trip(client)
  for _, count in ipairs(COUNTS) do
    local locks, ours, theirs = { table.unpack(all, 1, count) }, {}, {}
    for _ = 1, PARTS do
      for _ = 1, ROUNDS / PARTS do ours[#ours + 1] = all_granted(client, locks) end
      floor(line.hosts, count, theirs)
    end
    show(("%d locks, until all are granted"):format(count), ours, trip)
    show("  their requests alone, from C", theirs, trip)
  end
  client:close()
  line:close()
  zk:stop()
end

in_one_go(false)
in_one_go(true)
