-- SPDX-License-Identifier: MIT
--- The outcome of a run: its figures, what was demanded of it, and what one needs to find out why it failed.

local report = {}

--- Less than these a minute, and a run has shown nothing.
local LEAST = { faults = 250, grants = 250 }
local MOST = 20 -- of a kind that are shown
local TOLD = 3 -- of a kind whose history is shown

local function say(text, ...)
  io.write(select("#", ...) > 0 and text:format(...) or text, "\n")
  io.flush()
end

report.say = say

local function sorted(t)
  local keys = {}
  for key in pairs(t) do keys[#keys + 1] = key end
  table.sort(keys, function(a, b) return t[a] > t[b] or t[a] == t[b] and a < b end)
  return keys
end

local function row(name, value, ...)
  say("%-40s %10s", name, select("#", ...) > 0 and value:format(...) or tostring(value))
end

---@param run table of `chaos.run`
---@param verdict table what the judge found at all resources together
function report.figures(run, verdict)
  local team = run.crew
  say ""
  row("time", "%.0f s", run.took)
  row("faults injected", run.sum)
  for _, kind in ipairs(sorted(run.kinds)) do row("  " .. kind:gsub("_", " "), run.kinds[kind]) end
  row("workers started", team.hired)
  row("acquisitions", verdict.grants)
  row("holders told of a loss", team.losses)
  row("releases without certainty", team.unknown)
  row("writers who went on as readers", team.read_on)
  row("states of nodes told by watches", team.told)
  row("guarded writes, each the next of its counter", team.guarded)
  row("waits that ended without the lock", "")
  for _, err in ipairs(sorted(team.failed)) do row("  " .. err, team.failed[err]) end
  if verdict.jobs then
    row("runs that raised", team.raised)
    row("writes of an epoch", verdict.jobs.written)
    row("longest time without anybody at work", "%.1f s", verdict.jobs.longest)
  end
  row("longest wait", "%.1f s", team.longest)
  row("longest close", "%.1f s", team.longest_close)
  row("stale writes refused", verdict.refusals)
  row("stale writes accepted", verdict.stale)
  row("two sure to hold at one moment", verdict.overlaps)
  row("lost waiters", #team.lost_waiters)
  row("orphans", #run.orphans)
  row("deleted nodes that servers brought back", #run.ghosts)
  row("states on which servers disagreed", #run.splits)
  local found = verdict.count == 0 and "passes" or verdict.count .. " violations"
  row("judge", "%s: %d lines in %.1f s", found, verdict.lines, verdict.took)
  say ""
end

local function show(list, what)
  for i = 1, math.min(#list, MOST) do say("%s: %s", what, list[i]) end
  if #list > MOST then say("%s: and %d more", what, #list - MOST) end
end

local function show_history(lines, of)
  say("---- before %s", of)
  for _, line in ipairs(lines) do say("  " .. line) end
end

local function tell_violations(run, verdict)
  for i = 1, math.min(#verdict.violations, TOLD) do
    local text = verdict.violations[i]
    local path, number = text:match("^(%S+), line (%d+): ")
    for _, place in ipairs(run.testbed.places) do
      if place.path == path then show_history(run.record:around(place, tonumber(number)), text) end
    end
  end
end

local function tell_workers(run, list)
  for i = 1, math.min(#list, TOLD) do
    local worker = list[i]:match("%f[%w]w%d+%.%d+")
    if worker then show_history(run.record:about(run.testbed.places, worker), list[i]) end
  end
end

local function keep(run)
  run.record:keep(run.testbed.places, run.folder)
  run.testbed:keep(run.folder)
  say("all faults, what the resources saw, and the servers' logs and data: %s", run.folder)
end

--- How it came to that.
local function tell(run, verdict)
  tell_violations(run, verdict)
  for _, list in ipairs { run.crew.lost_waiters, run.orphans, run.crew.complaints } do tell_workers(run, list) end
  keep(run)
  say("the same faults again: make chaos SEED=%d MINUTES=%g%s", run.seed, run.minutes,
    run.kind and " KIND=" .. run.kind or "")
end

local function demand_of_jobs(found, demand)
  show(found.silences, "silence")
  show(found.epochs, "epoch")
  demand("somebody always at work within the bound", #found.silences == 0)
  demand("an epoch was written, and none fell", found.written > 0 and #found.epochs == 0)
end

--- The demands on every run. Prints them, and if one is not met, the history.
---@return boolean good
function report.check(run, verdict)
  local team, minutes, passed, failed = run.crew, run.minutes * run.share, 0, 0
  local least = run.least or LEAST
  local function demand(what, good)
    passed, failed = passed + (good and 1 or 0), failed + (good and 0 or 1)
    say("%s  %s", good and "ok    " or "FAILED", what)
  end
  show(verdict.violations, "judge")
  show(team.lost_waiters, "lost waiter")
  show(run.orphans, "orphan")
  show(run.ghosts, "brought back by the servers")
  show(run.splits, "the servers disagree")
  show(team.complaints, "complaint")
  if verdict.jobs then demand_of_jobs(verdict.jobs, demand) end
  demand(("at least %.0f faults injected"):format(least.faults * minutes), run.sum >= least.faults * minutes)
  demand(("at least %.0f acquisitions"):format(least.grants * minutes), verdict.grants >= least.grants * minutes)
  demand("no stale write accepted", verdict.stale == 0)
  demand("never two sure to hold", verdict.overlaps == 0)
  demand("the judge finds nothing", verdict.count == 0)
  demand("no lost waiter", #team.lost_waiters == 0)
  demand("no orphan", #run.orphans == 0)
  demand("the workers have nothing to complain of", #team.complaints == 0)
  if failed > 0 then tell(run, verdict) elseif #run.splits > 0 then keep(run) end
  say("%d passed, %d failed", passed, failed)
  return failed == 0
end

return report
