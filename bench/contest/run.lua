-- SPDX-License-Identifier: MIT
--- `make contest`: every way that people lock today, side by side: what each costs, and what each breaks.
--
--   run.lua [PEER...]        QUICK=1 in the environment: ten minutes instead of forty-five
--                            AGAIN=lots: only the tables of many locks, in place of those of the run before
--
-- First what it costs, one peer after another, in an order that alternates; then the flash sales, several at a time,
-- since they mostly wait for expiries. The measurements go to build/contest/results, the tables to the terminal,
-- and, when all took part, into docs/internals/contest.md.

local codec = require "spec.support.codec"
local loop = require "spec.support.loop"
local process = require "spec.support.process"
local script = require "spec.support.script"
local cost = require "bench.contest.cost"
local peers = require "bench.contest.peers"
local plays = require "bench.contest.plays"
local progress = require "bench.contest.progress"
local report = require "bench.contest.report"
local servers = require "bench.contest.servers"
local truth = require "bench.contest.truth"

local RESULTS = "build/contest/results"

local quick = os.getenv "QUICK" == "1"
local PLAN = quick
  and { alone = 3, alone_rounds = 100, hand_over = 1, hand_over_ms = 1500, many = 1, many_ms = 700, lots = 1,
    crowd = 1, crowd_ms = 1200, contenders = { 2, 8, 32, 128 }, plays = 1, at_once = 4 }
  or { alone = 9, alone_rounds = 300, hand_over = 2, hand_over_ms = 3000, many = 3, many_ms = 1500, lots = 3,
    crowd = 2, crowd_ms = 2000, contenders = { 2, 4, 8, 16, 64, 256 }, plays = 3, at_once = 3 }

local COUNTS = { 2, 4, 8 }
local EACH_MS = 10 -- longer for each contender, so that a fair lock comes round to all

-- ---- who ------------------------------------------------------------------------------------------------------------

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

local function chosen()
  if #arg == 0 then return peers.present() end
  local list = {}
  for _, id in ipairs(arg) do list[#list + 1] = peers.get(id) end
  return list
end

local absent = {}

--- Those whose program was built; the others are absent, and say why.
local function contestants()
  local list = {}
  for _, peer in ipairs(chosen()) do
    if peer.program == "recipe" and not exists("build/contest/recipe") then
      absent[peer.id] = "its sources cannot be had here"
    else
      list[#list + 1] = peer
    end
  end
  return list
end

local all = contestants()
local again = os.getenv "AGAIN" == "lots"

local function former_results()
  local file = assert(io.open(RESULTS), "AGAIN: there is no run before, " .. RESULTS .. " is missing")
  local former = codec.decode(file:read("a"))
  file:close()
  former.lots = {}
  return former
end

local results = again and former_results()
  or { alone = {}, hand_over = {}, many = {}, lots = {}, crowd = {}, truth = {}, problems = {}, quick = quick,
    absent = absent, plan = PLAN, counts = COUNTS }

-- ---- what it costs --------------------------------------------------------------------------------------------------

local function in_turn(round)
  local list = {}
  for i, peer in ipairs(all) do list[round % 2 == 1 and i or #all + 1 - i] = peer end
  return list
end

local function keep(kind, peer, value)
  results[kind][peer.id] = results[kind][peer.id] or {}
  table.insert(results[kind][peer.id], value)
end

--- A peer that fails loses this figure, not the contest.
local function try(kind, peer, fn)
  progress.say(("%s: %s"):format(kind:gsub("_", "-"), peer.title:gsub("[`*]", "")))
  local ok, value = pcall(fn)
  if ok then
    keep(kind, peer, value)
  else
    table.insert(results.problems, ("%s, %s: %s"):format(peer.id, kind, tostring(value):gsub("\n.*", "")))
  end
  progress.step()
end

local backends = {}

local function measure_alone()
  local prepared = {}
  for _, peer in ipairs(all) do prepared[peer] = cost.prepare_alone(peer, backends[peer.family]) end
  for round = 1, PLAN.alone do
    for _, peer in ipairs(in_turn(round)) do
      try("alone", peer, function() return cost.alone(prepared[peer], PLAN.alone_rounds) end)
    end
  end
  for _, one in pairs(prepared) do cost.end_alone(one) end
end

local function measure_many_and_crowds()
  for round = 1, PLAN.hand_over do
    for _, peer in ipairs(in_turn(round)) do
      try("hand_over", peer, function()
        return cost.hand_over(peer, backends[peer.family], COUNTS, PLAN.hand_over_ms)
      end)
    end
  end
  for round = 1, PLAN.many do
    for _, peer in ipairs(in_turn(round)) do
      try("many", peer, function() return cost.many(peer, backends[peer.family], 64, PLAN.many_ms).rate end)
    end
  end
  for round = 1, PLAN.crowd do
    for _, contenders in ipairs(PLAN.contenders) do
      for _, peer in ipairs(in_turn(round)) do
        try("crowd", peer, function()
          local result = cost.crowd(peer, backends[peer.family], contenders, PLAN.crowd_ms + EACH_MS * contenders)
          result.contenders = contenders
          return result
        end)
      end
    end
  end
end

--- Many locks of one client, of which only peers take part whose library sends them over one connection.
local function measure_lots()
  for _, case in ipairs(cost.LOTS) do
    local others = {}
    for round = 1, PLAN.lots do
      for _, peer in ipairs(in_turn(round)) do
        if peer.lots then
          others[peer.family] = others[peer.family] or servers.start(peer.family, { three = case.three })
          try("lots", peer, function()
            local result = cost.many(peer, others[peer.family], case.locks, case.ms)
            result.case = case.name
            return result
          end)
        end
      end
    end
    for _, one in pairs(others) do one:stop() end
  end
end

local function measure_costs()
  for _, peer in ipairs(all) do
    backends[peer.family] = backends[peer.family] or servers.start(peer.family)
  end
  measure_alone()
  measure_many_and_crowds()
  for _, one in pairs(backends) do one:stop() end
  measure_lots()
end

-- ---- what it breaks -------------------------------------------------------------------------------------------------

local function take_lines(run, peer)
  local line = run:read_line(0)
  while line do
    local id, result = codec.decode(line)
    if id == "conditions" then
      results.truth[peer.id].conditions = result
    else
      local list = results.truth[peer.id][id] or {}
      list[#list + 1] = result
      results.truth[peer.id][id] = list
    end
    progress.step()
    progress.say(("flash sales: %s, %s"):format(peer.title:gsub("[`*]", ""), id))
    line = run:read_line(0)
  end
end

local function measure_truth()
  local waiting, running = { peers.broken, table.unpack(all) }, {}
  while #waiting > 0 or next(running) do
    local busy = 0
    for run, peer in pairs(running) do
      take_lines(run, peer)
      if run:is_running() then
        busy = busy + 1
      else
        run:wait(1)
        take_lines(run, peer)
        if run.code ~= 0 then
          table.insert(results.problems, ("%s, flash sales: %s"):format(peer.id, run:stderr():gsub("\n.*", "")))
        end
        running[run] = nil
      end
    end
    while busy < PLAN.at_once and #waiting > 0 do
      local peer = table.remove(waiting, 1)
      results.truth[peer.id] = {}
      running[script.spawn("bench/contest/truth_main.lua", { peer.id, tostring(PLAN.plays) })] = peer
      busy = busy + 1
    end
    loop.poll(function() return false end, 0.1)
  end
end

-- ---------------------------------------------------------------------------------------------------------------------

local function output_of(...)
  local tool = process.spawn { env = process.PLAIN, "sh", "-c", ... }
  tool:wait(20)
  return (tool:stdout():gsub("%s+$", ""))
end

local function load_average() return output_of "cut -d' ' -f1-3 /proc/loadavg" end

local function describe_machine()
  local load = load_average()
  return { cpu = output_of "sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1",
    cpus = tonumber(output_of "nproc"), load = load, kernel = output_of "uname -sr", date = os.date "!%Y-%m-%d",
    versions = output_of [[dpkg-query -W -f '${Package} ${Version}\n' mariadb-server-core redis-server etcd-server \
      libzookeeper-java libzookeeper-mt2 libcurator-recipes-java python3-kazoo golang-github-samuel-go-zookeeper-dev \
      golang-etcd-server-dev libhiredis-dev libmariadb-dev 2>/dev/null]] }
end

local lots = 0
for _, peer in ipairs(all) do lots = lots + (peer.lots and PLAN.lots * #cost.LOTS or 0) end
if again then
  progress.expect(lots)
  results.again = { date = os.date "!%Y-%m-%d", load = load_average() }
  measure_lots()
  results.again.load_after = load_average()
else
  progress.expect(lots + #all * (PLAN.alone + PLAN.hand_over + PLAN.many + PLAN.crowd * #PLAN.contenders)
    + (#all + 1) * ((#truth.scenarios + 1) * PLAN.plays + 1))
  results.machine = describe_machine()
  measure_costs()
  measure_truth()
  results.machine.load_after = load_average()
  results.seconds = math.floor(progress.seconds())
end
progress.clear()

local file = assert(io.open(RESULTS, "w"))
file:write(codec.encode(results), "\n")
file:close()

report.print(results)
if #arg == 0 then report.write(results, "docs/internals/contest.md", "docs/internals/contest") end
print(("%d:%02d. What was measured is in %s."):format(results.seconds // 60, results.seconds % 60, RESULTS))

local blind = plays.oversold(results.truth.broken.calm) == 0
if blind then print "The contest is blind: without a lock nothing was sold twice." end
os.exit(not blind, true)
