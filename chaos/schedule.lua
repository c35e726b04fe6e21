-- SPDX-License-Identifier: MIT
--- Which faults strike when and whom: a pure function of the seed, the length of the run and who there is.
--
-- An entry says `at` (seconds from the start), `kind`, and what the kind wants: `worker`, `proxy` or `path` (a number),
-- `server` ("leader", "follower" or "both"), `lasts` (seconds until it is healed), `name` (a node's), and so on. `aim`
-- is a path: whoever holds there is to be struck, and the `worker` or `proxy` if nobody does. In order of time.

local random = require "chaos.random"
local strangers = require "chaos.strangers"

local schedule = {}

--- The cast of a run, unless its caller names another.
schedule.CAST = {
  workers = 8, proxies = 6, sentries = 3, session_timeout = 2, permits = 2,
  paths = { "mutex", "mutex", "mutex", "mutex", "mutex", "rwlock", "semaphore" },
}

--- Workers that take many different locks at once.
schedule.ARMFULS = { workers = 5, proxies = 4, sentries = 3, session_timeout = 2, permits = 2, armful = 50, paths = {} }
for i = 1, 50 do schedule.ARMFULS.paths[i] = i == 49 and "rwlock" or i == 50 and "semaphore" or "mutex" end

--- Workers that have a job at each path: few faults besides the small ones, one after another, so that it shows when
--- nobody runs a job. `small` faults are over before anybody else could run it. No server is struck before all serve.
schedule.JOBS = {
  workers = 5, proxies = 4, sentries = 0, session_timeout = 2, permits = 1, whole = true, shift = "chaos.job_shift",
  paths = { "mutex", "mutex", "every" }, small = { cut = true, stop = true, delay = true },
  least = { faults = 100, grants = 100 },
}

-- The requests that libzookeeper sends for locks.
local OPS = { "create2", "create2", "multi", "multi", "getChildren2", "getData", "getData", "delete", "delete", "sync",
  "*" }
local DIRECTIONS = { "both", "both", "to_server", "to_client" }

local function rule(draw, fault)
  fault.op, fault.n = draw:pick(OPS), draw:integer(1, 3)
end

local function past_timeout(draw, fault, cast) fault.lasts = cast.session_timeout * draw:number(1.3, 2.2) end

local function pick(draw, fault) fault.pick = draw:number() end

local function nap(draw, fault) fault.lasts = draw:number(0.002, 0.15) end

local function refusal(draw, fault) fault.lasts = draw:number(0.05, 1) end

local function delay(draw, fault) fault.by, fault.lasts = draw:number(0.001, 0.03), draw:number(0.1, 1) end

local function hole(draw, fault) fault.direction, fault.lasts = draw:pick(DIRECTIONS), draw:number(0.05, 1) end

local function long_hole(draw, fault, cast)
  fault.direction = draw:pick(DIRECTIONS)
  past_timeout(draw, fault, cast)
end

local function stranger(draw, fault, cast)
  fault.what, fault.name = strangers.name(draw, cast.paths[fault.path])
  fault.pick, fault.lasts = draw:number(), draw:number(0.05, 1.2)
end

-- kind, how many a minute, whom it strikes, how many of them are aimed at a holder, and what else it has to know
local KINDS = {
  { "cut", 380, "proxy", 0.5 },
  { "cut_before", 220, "proxy", 0, rule },
  { "cut_after", 220, "proxy", 0, rule },
  { "lose_reply", 220, "proxy", 0, rule },
  { "refuse", 10, "proxy", 0.5, refusal },
  { "delay", 25, "proxy", 0, delay },
  { "black_hole", 25, "proxy", 0.5, hole },
  { "long_black_hole", 6, "proxy", 0.9, long_hole },
  { "stop", 320, "worker", 0.5, nap },
  { "long_stop", 8, "worker", 0.9, past_timeout },
  { "kill", 16, "worker", 0.5 },
  { "expire", 25, "proxy", 0.5 },
  { "delete", 80, "path", 0, pick },
  { "delete_tree", 8, "path", 0 },
  { "stranger", 60, "path", 0, stranger },
}

-- The faults of the servers, one after another, beginning with the first: kind, server, weight, longest; and how long
-- at least. In a duel (chaos.duel) a sentry holds there.
local SERVER_KINDS = {
  { "server_kill", "leader", 5, 2 },
  { "server_kill", "follower", 5, 2 },
  { "server_kill", "both", 1, 2 },
  { "server_stop", "leader", 3, 0.8 },
  { "server_stop", "follower", 3, 0.8 },
  { "server_stop", "leader", 1, 6 },
  { "server_stop", "follower", 1, 6 },
  { "duel_depose", "leader", 7, 8, 7 },
  { "duel_half_stop", "follower", 6, 9, 8 },
  { "duel_shorten", "follower", 4, 12, 11 },
}
local SERVER_FIRST, SERVER_PAUSE = 3, { 2, 5 }

-- Of a run with jobs: as in KINDS, many a minute.
local SMALL_KINDS = {
  { "cut", 60, "proxy", 0.5 },
  { "cut_before", 40, "proxy", 0, rule },
  { "cut_after", 40, "proxy", 0, rule },
  { "lose_reply", 40, "proxy", 0, rule },
  { "delay", 10, "proxy", 0, delay },
  { "stop", 60, "worker", 0.5, nap },
}
-- One after another: kind, whom it strikes, weight, longest, shortest. Those without a length last as KINDS has it.
local TURN_KINDS = {
  { "kill", "worker", 6 },
  { "long_stop", "worker", 4 },
  { "long_black_hole", "proxy", 4 },
  { "expire", "proxy", 3 },
  { "delete", "path", 3 },
  { "server_kill", "leader", 3, 1.5, 0.1 },
  { "server_kill", "follower", 1, 1.5, 0.1 },
  { "server_stop", "leader", 1, 0.8, 0.1 },
  { "server_stop", "leader", 1, 6, 5 },
  { "server_stop", "follower", 1, 6, 3 },
}
local TURN_FIRST, TURN_PAUSE = 3, { 1, 6 }

local MANY = { worker = "workers", proxy = "proxies" }

local function one_fault(draw, kind, seconds, cast)
  local fault = { kind = kind[1], at = draw:number(0.2, seconds) }
  local target, more = kind[3], kind[5]
  fault[target] = draw:integer(1, target == "path" and #cast.paths or cast[MANY[target]])
  if draw:chance(kind[4]) then fault.aim = draw:integer(1, #cast.paths) end
  if more then more(draw, fault, cast) end
  return fault
end

local function weighed(draw, kinds)
  local sum = 0
  for _, kind in ipairs(kinds) do sum = sum + kind[3] end
  local left = draw:number(0, sum)
  for _, kind in ipairs(kinds) do
    left = left - kind[3]
    if left < 0 then return kind end
  end
  return kinds[#kinds]
end

local function server_faults(draw, list, seconds)
  local at = SERVER_FIRST
  while at < seconds do
    local kind = at == SERVER_FIRST and SERVER_KINDS[1] or weighed(draw, SERVER_KINDS)
    local lasts = draw:number(kind[5] or 0.1, kind[4])
    list[#list + 1] = { at = at, kind = kind[1], server = kind[2], lasts = lasts, by = draw:number(0.005, 0.05) }
    at = at + lasts + draw:number(SERVER_PAUSE[1], SERVER_PAUSE[2])
  end
end

local SERVER = { leader = true, follower = true }

local function turn_faults(draw, list, seconds, cast)
  local at, more = TURN_FIRST, {}
  for _, kind in ipairs(KINDS) do more[kind[1]] = kind[5] end
  while at < seconds do
    local kind = weighed(draw, TURN_KINDS)
    local name, target = kind[1], kind[2]
    local fault = { kind = name, at = at }
    if SERVER[target] then
      fault.server, fault.lasts = target, draw:number(kind[5], kind[4])
    else
      fault[target] = draw:integer(1, target == "path" and #cast.paths or cast[MANY[target]])
      if target ~= "path" then fault.aim = draw:integer(1, #cast.paths) end
      if more[name] then more[name](draw, fault, cast) end
    end
    list[#list + 1] = fault
    at = at + (fault.lasts or 0) + draw:number(TURN_PAUSE[1], TURN_PAUSE[2])
  end
end

---@param seed integer
---@param seconds number how long faults are injected
---@param cast table? as `schedule.CAST`
---@return table[] faults
function schedule.make(seed, seconds, cast)
  cast = cast or schedule.CAST
  local draw, list = random.new(seed), {}
  for _, kind in ipairs(cast.small and SMALL_KINDS or KINDS) do
    for _ = 1, math.ceil(kind[2] * seconds / 60) do list[#list + 1] = one_fault(draw, kind, seconds, cast) end
  end
  local others = cast.small and turn_faults or server_faults
  others(draw, list, seconds, cast)
  table.sort(list, function(a, b) return a.at < b.at end)
  return list
end

return schedule
