-- SPDX-License-Identifier: MIT
--- How each kind of fault of the schedule is done. A deed counts one for each thing that it broke.
--
-- A fault that finds nothing to break (a rule whose request never came, an empty path, a session that was over) does
-- not count. A fault that lasts is healed through `run:later`.

local duel = require "chaos.duel"

local faults = {}

local AIM_TRIES, AIM_PAUSE = 50, 0.01 -- seconds; somebody will be inside before long
local LEADER_TRIES, LEADER_PAUSE = 20, 0.25 -- an election may be under way

local deeds = {}

--- The number of the worker inside at the path that is aimed at, or at the next one with anybody inside.
local function holder(run, aim)
  local places = run.testbed.places
  for i = 0, #places - 1 do
    local place = places[(aim + i - 1) % #places + 1]
    local owner = place ~= run.testbed.post and place.store:inside()
    local number = owner and run.crew:number_of(owner)
    if number then return number end
  end
end

--- Calls `strike` with the number of whom to strike: one that holds, if the fault is aimed and somebody does before
--- long, else the one that it names.
local function aim(run, fault, strike)
  local tries = 0
  local function try()
    local number = holder(run, fault.aim)
    tries = tries + 1
    if not number and tries < AIM_TRIES then return run:later(AIM_PAUSE, try, "idle") end
    strike(number or fault.worker or fault.proxy)
  end
  if fault.aim then try() else strike(fault.worker or fault.proxy) end
end

--- The same, with a proxy; those who go without cannot be struck by it.
local function aim_proxy(run, fault, strike)
  aim(run, fault, function(number)
    if not run.testbed.proxies[number] then number = fault.proxy end
    strike(run.testbed.proxies[number], number)
  end)
end

--- Counted by the proxy, when it strikes.
local function rule(run, fault)
  local one = run.testbed.proxies[fault.proxy]
  one[fault.kind](one, fault.op, fault.n)
  run.record:fault("%s to come at %s number %d, proxy %d", fault.kind, fault.op, fault.n, fault.proxy)
end

deeds.cut_before, deeds.cut_after, deeds.lose_reply = rule, rule, rule

function deeds.cut(run, fault)
  aim_proxy(run, fault, function(one, number) run:count("cut", one:cut(), "proxy " .. number) end)
end

--- A proxy heals everything at once: what overlaps ends with the last of it.
local function last(run, fault, begin)
  aim_proxy(run, fault, function(one, number)
    begin(one)
    one.broken = (one.broken or 0) + 1
    run:count(fault.kind, 1, ("proxy %d, %s%.3f s"):format(number, fault.direction and fault.direction .. ", " or "",
      fault.lasts))
    run:later(fault.lasts, function()
      one.broken = one.broken - 1
      if one.broken == 0 then one:heal() end
    end)
  end)
end

function deeds.refuse(run, fault)
  last(run, fault, function(one)
    one:refuse()
    one:cut()
  end)
end

function deeds.delay(run, fault)
  last(run, fault, function(one) one:delay(fault.by) end)
end

local function black_hole(run, fault)
  last(run, fault, function(one) one:black_hole(fault.direction) end)
end

deeds.black_hole, deeds.long_black_hole = black_hole, black_hole

---------------------------------------------------------------------------------------------------------------
-- Workers and their sessions

local function stop(run, fault)
  aim(run, fault, function(number)
    local stopped = run.crew:stop(number)
    if not stopped then return end
    run:count(fault.kind, 1, ("worker %s, %.3f s"):format(run.crew:name(number), fault.lasts))
    run:later(fault.lasts, function() run.crew:continue(stopped) end)
  end)
end

deeds.stop, deeds.long_stop = stop, stop

function deeds.kill(run, fault)
  aim(run, fault, function(number)
    local name = run.crew:name(number)
    if run.crew:kill(number) then run:count("kill", 1, "worker " .. name) end
  end)
end

--- Counts when the operator has done it.
local function order(run, kind, whom, ...)
  run.testbed:order(function(count) run:count(kind, count > 0 and 1 or 0, whom) end, kind, ...)
end

function deeds.expire(run, fault)
  aim_proxy(run, fault, function(one, number)
    local sessions, name = one:sessions(), run.crew:name(number)
    if #sessions > 0 and name then order(run, "expire", "worker " .. name, name, sessions[#sessions]) end
  end)
end

local function path_of(run, fault) return run.testbed.places[fault.path].path end

function deeds.delete(run, fault) order(run, "delete", path_of(run, fault), path_of(run, fault), fault.pick) end

function deeds.delete_tree(run, fault) order(run, "delete_tree", path_of(run, fault), path_of(run, fault)) end

--- A semaphore has its nodes in two directories.
local function directory_of(run, fault)
  local place = run.testbed.places[fault.path]
  if place.kind ~= "semaphore" then return place.path end
  return place.path .. (fault.pick < 0.5 and "/locks" or "/leases")
end

--- It goes again: some names block who comes later, as they should.
function deeds.stranger(run, fault)
  local directory = directory_of(run, fault)
  local function done(count, path)
    run:count("stranger_" .. fault.what, count, path:sub(1, 100))
    if count > 0 then run:later(fault.lasts, function() run.testbed:order(function() end, "vanish", path) end) end
  end
  if fault.what == "mimic" then return run.testbed:order(done, "mimic", directory, fault.name) end
  run.testbed:order(done, "appear", ("%s/%s"):format(directory, fault.name), fault.what == "unreadable")
end

---------------------------------------------------------------------------------------------------------------
-- Servers

deeds.duel_depose, deeds.duel_half_stop, deeds.duel_shorten = duel.fight, duel.fight, duel.fight

--- The servers to strike, if that can be told now.
---@param whole boolean? not before all of them serve
local function choose(cluster, which, whole)
  local leader, follower
  for n in ipairs(cluster.servers) do
    local role = cluster:role(n)
    if whole and not role then return nil end
    if role == "leader" then leader = n elseif role == "follower" then follower = n end
  end
  if which == "leader" then return leader and { leader } end
  if which == "follower" then return follower and { follower } end
  return leader and follower and { leader, follower }
end

-- A leader that stands still is missed after `syncLimit` (chaos.testbed), then the others elect.
local MISSED, ELECTION = 4, 2

--- For how many seconds a fault of a server may keep everybody from being served.
local function outage(fault)
  if fault.kind == "server_kill" then return ELECTION end
  return fault.lasts < MISSED and fault.lasts or MISSED + ELECTION
end

local function on_servers(run, fault, strike, heal)
  local tries = 0
  local function try()
    local cluster = run.testbed.cluster
    local chosen = choose(cluster, fault.server, run.cast.whole)
    tries = tries + 1
    if not chosen then return tries < LEADER_TRIES and run:later(LEADER_PAUSE, try, "idle") end
    for _, n in ipairs(chosen) do strike(cluster, n) end
    run:count(("%s_%s"):format(fault.server, fault.kind:match("_(%l+)$")), #chosen,
      ("server %s, %.1f s"):format(table.concat(chosen, " and "), fault.lasts), outage(fault))
    run:later(fault.lasts, function()
      for _, n in ipairs(chosen) do heal(cluster, n) end
    end)
  end
  try()
end

function deeds.server_kill(run, fault)
  on_servers(run, fault, function(cluster, n) cluster:kill(n) end, function(cluster, n) cluster:start(n, false) end)
end

function deeds.server_stop(run, fault)
  on_servers(run, fault, function(cluster, n) cluster:stop(n) end, function(cluster, n) cluster:resume(n) end)
end

--- Does it.
---@param run table of `chaos.run`: testbed, crew, `count(kind, n)`, `later(seconds, fn, idle)`
function faults.inject(run, fault) deeds[fault.kind](run, fault) end

--- How often the proxies' rules have struck so far, by kind.
---@return table<string, integer>
function faults.strikes(run)
  local sum = {}
  for _, one in ipairs(run.testbed.proxies) do
    for kind, n in pairs(one:strikes()) do sum[kind] = (sum[kind] or 0) + n end
  end
  return sum
end

return faults
