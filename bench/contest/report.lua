-- SPDX-License-Identifier: MIT
--- The results, in tables: on the terminal, and in docs/internals/contest.md, with pictures.
--
--   lua5.4 bench/contest/report.lua build/contest/results      writes the page once more

local codec = require "spec.support.codec"
local cost = require "bench.contest.cost"
local peers = require "bench.contest.peers"
local plays = require "bench.contest.plays"
local plot = require "bench.contest.plot"
local text = require "bench.contest.text"

local report = {}

local OURS = "zklock"
local QUICK_CAUTION = "**These figures are of a quick run, and the load says how much else the machine had to do. "
  .. "You can rely on requests, round trips and items sold twice. Times, rates, hand-overs and cells like "
  .. "\"and then nobody\" may come from the load, until a full run on a quiet machine replaces them.**"

-- ---- cells ----------------------------------------------------------------------------------------------------------

local function number(value)
  if not value then return "" end
  return value >= 100 and ("%.0f"):format(value) or value >= 10 and ("%.1f"):format(value) or ("%.2f"):format(value)
end

--- The middle of what the rounds gave, and from where to where they went, if that is far.
local function with_range(values, format)
  local middle, least, most = cost.middle(values)
  if not middle then return "" end
  format = format or number
  if most - least <= 0.1 * middle then return format(middle) end
  return ("%s (%s to %s)"):format(format(middle), format(least), format(most))
end

--- A field of all rounds of a peer.
local function gather(rounds, pick)
  local list = {}
  for _, one in ipairs(rounds or {}) do
    local value = pick(one)
    if value then list[#list + 1] = value end
  end
  return list
end

local function least(list)
  local result
  for _, value in ipairs(list) do result = math.min(result or value, value) end
  return result
end

--- A row for each peer; absent ones say why.
local function rows_of(fn)
  local rows = {}
  for _, peer in ipairs(peers.list) do
    local cells = not peer.absent and fn(peer)
    if cells then
      table.insert(cells, 1, peer.title)
      rows[#rows + 1] = cells
    elseif peer.absent then
      rows[#rows + 1] = { peer.title, peer.absent }
    end
  end
  return rows
end

-- ---- tables ---------------------------------------------------------------------------------------------------------

local function ratio(rounds, ours, pick)
  local base = cost.middle(gather(ours, pick))
  if not base then return "" end
  return with_range(gather(rounds, function(one)
    local value = pick(one)
    return value and value / base
  end))
end

local function alone_table(results)
  local rows = rows_of(function(peer)
    local rounds = results.alone[peer.id]
    if not rounds then return nil end
    local trips = least(gather(rounds, function(one) return one.trips end))
    local cells = { trips and ("%.1f"):format(trips) or "0",
      number(cost.middle(gather(rounds, function(one) return one.requests end))),
      ratio(rounds, results.alone[OURS], function(one) return one.us end) }
    for _, count in ipairs(results.counts) do
      local list = gather(results.hand_over[peer.id], function(one) return one[count] end)
      cells[#cells + 1] = peer.family == "folder" and with_range(list, function(us) return number(us) .. " us" end)
        or with_range(list, function(trips_) return ("%.1f"):format(trips_) end)
    end
    cells[#cells + 1] = ratio(results.many[peer.id], results.many[OURS], function(rate) return rate end)
    return cells
  end)
  return { "", "round trips", "requests", "time, of zklock's", "hand-over, 2", "4", "8 processes",
    "64 locks, of zklock's rate" }, rows
end

--- Peers that have many locks of one client, in each case: what `pick` gives of what was measured.
local function lots_table(results, pick)
  local header = { "" }
  for i, case in ipairs(cost.LOTS) do header[i + 1] = case.name end
  return header, rows_of(function(peer)
    if not (peer.lots and results.lots[peer.id]) then return nil end
    local cells = {}
    for i, case in ipairs(cost.LOTS) do
      cells[i] = pick(function(id, name)
        return gather(results.lots[id], function(one) return one.case == case.name and one[name] or nil end)
      end, peer)
    end
    return cells
  end)
end

--- Curator is what the others are compared with: it asks as zklock did before it sent anything together.
local function lots_rate(of, peer)
  local base = cost.middle(of("curator", "rate"))
  return base and with_range(of(peer.id, "rate"), function(rate) return number(rate / base) end) or ""
end

local function lots_cost(of, peer)
  local parts = {}
  for i, name in ipairs { "requests", "transactions", "server" } do
    parts[i] = number(cost.middle(of(peer.id, name)))
  end
  return table.concat(parts, "; ")
end

local function crowd_of(results, peer, contenders, pick)
  return gather(results.crowd[peer.id], function(one)
    return one.contenders == contenders and pick(one) or nil
  end)
end

local function crowd_table(results, contenders)
  local function middle(peer, name)
    return number(cost.middle(crowd_of(results, peer, contenders, function(one) return one[name] end)))
  end
  local rows = rows_of(function(peer)
    local counts = crowd_of(results, peer, contenders, function(one) return one.count end)
    if #counts == 0 then return nil end
    local overlaps = 0
    for _, n in ipairs(crowd_of(results, peer, contenders, function(one) return one.overlaps end)) do
      overlaps = overlaps + n
    end
    return { ratio(crowd_of(results, peer, contenders, function(one) return one end),
        crowd_of(results, peers.get(OURS), contenders, function(one) return one end),
        function(one) return one.rate end),
      middle(peer, "requests"), peer.waits == "polls" and "polls" or middle(peer, "wakeups"), middle(peer, "unfair"),
      middle(peer, "starved"), middle(peer, "client"), middle(peer, "server"), tostring(overlaps) }
  end)
  return { ("%d contenders"):format(contenders), "rate, of zklock's", "requests", "wake-ups", "longest wait / mean",
    "got nothing", "client, us", "server, us", "two at once" }, rows
end

local function growth_table(results)
  local header = { "requests an acquisition" }
  for _, contenders in ipairs(results.plan.contenders) do header[#header + 1] = tostring(contenders) end
  return header, rows_of(function(peer)
    if not results.crowd[peer.id] then return nil end
    local cells = {}
    for _, contenders in ipairs(results.plan.contenders) do
      local list = crowd_of(results, peer, contenders, function(one) return one.requests end)
      cells[#cells + 1] = number(cost.middle(list))
    end
    return cells
  end)
end

local SALES = {
  { "calm", "nothing" }, { "killed", "holder killed" }, { "stopped", "holder stopped, goes on" },
  { "restarted", "server killed, restarted" }, { "leader", "leader killed" }, { "cut", "holder's link cut" },
  { "failover", "fails over, lock unheard of" },
}

local function truth_table(results)
  local header = { "" }
  for i, one in ipairs(SALES) do header[i + 1] = one[2] end
  local rows = rows_of(function(peer)
    local sales = results.truth[peer.id]
    if not sales then return nil end
    local cells = {}
    for i, one in ipairs(SALES) do cells[i] = plays.cell(one[1], sales[one[1]]) end
    return cells
  end)
  local blind = results.truth.broken
  if blind then
    local cells = { "*no lock at all*" }
    for i, one in ipairs(SALES) do
      local most = plays.oversold(blind[one[1]])
      cells[i + 1] = most and ("**sold %d too many**"):format(most) or ""
    end
    rows[#rows + 1] = cells
  end
  return header, rows
end

local function yes(value) return value and "yes" or "-" end

local function conditions_table(results)
  local rows = rows_of(function(peer)
    local sales = results.truth[peer.id]
    local seen = sales and sales.conditions
    if not seen then return nil end
    if seen.failed then return { "failed: " .. seen.failed:sub(1, 60) } end
    local expiry = plays.middle(sales.killed, "next")
    local function told(list)
      return plays.middle(list, "next") and yes(plays.always(list, function(one) return one.sure == "no" end)) or ""
    end
    local function goes_on(list) return yes(plays.always(list, function(one) return one.alive end)) end
    local calm = plays.oversold(sales.calm)
    return { calm and yes(calm == 0) or "", yes(seen.reentrant),
      expiry and ("%.1f s"):format(expiry) or "-", yes(seen.renewal),
      goes_on(peer.family == "redlock" and sales.restarted or sales.leader),
      seen.try and ("%.0f ms"):format(seen.try * 1000) or "-",
      seen.deadline and ("%.1f s"):format(seen.deadline) or "-",
      seen.cut_off and ("%.1f s"):format(seen.cut_off) or seen.cut_off == nil and "" or "more than 10 s",
      yes(seen.fair), yes(seen.fencing), yes(seen.several), told(sales.stopped), told(sales.cut) }
  end)
  return { "", "exclusion", "reentrant", "freed after a kill", "renewed", "survives a server", "one try",
    "deadline of 1 s", "the same, cut off", "in order", "token grows", "two at once, or none",
    "told of its loss after a stop", "told of a cut link" }, rows
end

-- ---- where others beat us -------------------------------------------------------------------------------------------

--- Ours with the defaults; one that has asked for `fair = false` is no other.
local function beats(results)
  local lines = {}
  local function compare(what, get, more_is_better)
    local ours, better = get(peers.get(OURS)), {}
    for _, peer in ipairs(peers.list) do
      local theirs = peer.program ~= OURS and not peer.absent and get(peer)
      if ours and theirs and theirs > 0 and ours > 0 then
        local factor = more_is_better and theirs / ours or ours / theirs
        if factor > 1.1 then better[#better + 1] = ("%s %s times"):format(peer.title, number(factor)) end
      end
    end
    if #better > 0 then lines[#lines + 1] = what .. ": " .. table.concat(better, "; ") end
  end
  local most = results.plan.contenders[#results.plan.contenders]
  local function of_crowd(field, more_is_better)
    return function(peer)
      return cost.middle(crowd_of(results, peer, most, function(one) return one[field] end))
    end, more_is_better
  end
  compare("acquire and release alone, time", function(peer)
    return cost.middle(gather(results.alone[peer.id], function(one) return one.us end))
  end)
  compare("64 locks over one client, rate", function(peer)
    return cost.middle(gather(results.many[peer.id], function(rate) return rate end))
  end, true)
  compare(("with %d contenders, rate"):format(most), of_crowd("rate", true))
  compare("requests", of_crowd "requests")
  compare("processor time of the clients", of_crowd "client")
  compare("processor time of the servers", of_crowd "server")
  return lines
end

-- ---------------------------------------------------------------------------------------------------------------------

--- All tables: { header, rows }.
local function tables(results)
  for id, why in pairs(results.absent) do peers.get(id).absent = why end
  local most = results.plan.contenders[#results.plan.contenders]
  return {
    alone = { alone_table(results) }, crowd = { crowd_table(results, most) }, growth = { growth_table(results) },
    lots = { lots_table(results, lots_rate) }, lotscost = { lots_table(results, lots_cost) },
    truth = { truth_table(results) }, conditions = { conditions_table(results) },
  }
end

--- On the terminal.
function report.print(results)
  local all = tables(results)
  for _, name in ipairs { "alone", "lots", "lotscost", "crowd", "growth", "truth", "conditions" } do
    print("\n" .. text.plain(all[name][1], all[name][2]))
  end
  for _, problem in ipairs(results.problems) do print("not measured: " .. problem) end
end

--- The page, and its pictures in the folder.
function report.write(results, path, folder)
  local all, filled = tables(results), {}
  for name, one in pairs(all) do filled[name] = text.markdown(one[1], one[2]) end
  local machine = results.machine
  filled.machine = table.concat {
    ("%d processors (%s), %s; load %s before and %s after; "):format(machine.cpus, machine.cpu, machine.kernel,
      machine.load, machine.load_after or "?"),
    ("%s, %s run of %d minutes."):format(machine.date, results.quick and "a **quick** (`QUICK=1`)" or "a full",
      math.floor(results.seconds / 60 + 0.5)),
  }
  local times = results.plan.plays
  filled.plays = times == 1 and "once"
    or ("%d times; a cell that differs between the plays says in how many it is so"):format(times)
  filled.caution = results.quick and QUICK_CAUTION or ""
  filled.versions = machine.versions:gsub("\n", ", ")
  filled.beats = text.list(beats(results))
  local again = results.again
  filled.again = again and ("They were measured again after the rest, %s; load %s before and %s after."):format(
    again.date, again.load, again.load_after) or ""
  filled.problems = #results.problems > 0 and "In this run:\n\n" .. text.list(results.problems) or ""
  filled.manuals = text.manuals(peers.list)
  local page = assert(io.open("bench/contest/page.md"))
  local body = page:read("a"):gsub("{{(%l+)}}", filled)
  page:close()
  local file = assert(io.open(path, "w"))
  file:write(text.wrap(body))
  file:close()
  plot.draw(results, folder)
end

if arg and arg[0]:find("report%.lua$") then
  local file = assert(io.open(arg[1]))
  local results = codec.decode(file:read("a"))
  file:close()
  report.print(results)
  report.write(results, "docs/internals/contest.md", "docs/internals/contest")
end

return report
