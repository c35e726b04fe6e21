-- SPDX-License-Identifier: MIT
--- Breaks everything there is to break, for minutes, and looks whether the lock keeps its promises.
--
--   lua5.4 chaos/run.lua [MINUTES] [SEED] [armfuls|jobs]
--
-- With "armfuls" there are 50 paths, and each worker takes up to as many at once. With "jobs" each worker has a job at
-- each path; there are fewer faults, and after each of them somebody must be at work again before long.
--
-- The seed gives the schedule of faults: what, whom, when. A run with the same seed and length injects the same faults
-- at the same moments; what they hit is another matter. It goes in rounds: some seconds of faults, then everything is
-- healed, and what was waited for must come, what was left must go; if not, that round is the last. Ends with the
-- figures, a count of what was checked, and status 1 if anything was found.
--
-- With HISTORY=FILE in the environment the file has what all processes did and were sure of (chaos.history).

local crew = require "chaos.crew"
local faults = require "chaos.faults"
local fence = require "chaos.fence"
local folder = require "spec.support.folder"
local history = require "chaos.history"
local jobs = require "chaos.jobs"
local loop = require "spec.support.loop"
local record = require "chaos.record"
local report = require "chaos.report"
local schedule = require "chaos.schedule"
local testbed = require "chaos.testbed"
local uv = require "luv"

local TURN = 0.01 -- seconds between two looks at the workers
local PROGRESS = 5
local ROUND, ITS_FAULTS = 20, 17 -- seconds; the rest is about what the recess takes
local GHOSTS = 5 -- seconds
local ORPHANS = 30 -- seconds: a session that ends without a word takes its timeout, the rest is the machine's

local Run = {}
Run.__index = Run

local say = report.say

--- Counts faults that were injected.
---@param whom string whom they struck
---@param outage number? seconds for which nobody may be served
function Run:count(kind, n, whom, outage)
  self.injected[kind] = (self.injected[kind] or 0) + n
  if n > 0 then self.record:fault("%s, %s", kind, whom) end
  if n > 0 and self.jobs then self.jobs:struck(kind, outage) end
end

--- Calls a function so many seconds from now; what heals is called at the end, if not before. In a recess that is at
--- once: an order to the operator may have been carried out only then.
---@param idle any? not at the end
function Run:later(seconds, fn, idle)
  if not self.resting then
    table.insert(self.agenda, { at = loop.now() + seconds, fn = fn, idle = idle })
  elseif not idle then
    fn()
  end
end

--- For how long there will be faults in this round.
function Run:left() return self.over - self.clock end

local function do_due(run, now)
  local due, rest = {}, {}
  for _, one in ipairs(run.agenda) do table.insert(one.at <= now and due or rest, one) end
  run.agenda = rest
  for _, one in ipairs(due) do one.fn() end
end

local function total(run)
  local sum, all = 0, faults.strikes(run)
  for kind, n in pairs(run.injected) do all[kind] = n end
  for _, n in pairs(all) do sum = sum + n end
  return sum, all
end

local function progress(run)
  local crew_ = run.crew
  say("%5.0f s   %5d faults   %7d acquisitions   longest wait %4.1f s   %d lost waiters   %d complaints",
    loop.now() - run.began, total(run), crew_.granted, crew_.longest, #crew_.lost_waiters, #crew_.complaints)
end

--- Injects what is due until the clock of faults, which stands still in a recess, says `over`.
local function inject(run, over)
  local list, offset = run.schedule, loop.now() - run.clock
  run.over = over
  if run.jobs then run.jobs:open() end
  while run.clock < over do
    run.clock = loop.now() - offset
    while list[run.next] and list[run.next].at <= run.clock do
      faults.inject(run, list[run.next])
      run.next = run.next + 1
    end
    do_due(run, loop.now())
    run.crew:step()
    run.testbed:step()
    if loop.now() >= run.shown + PROGRESS then
      run.shown = loop.now()
      progress(run)
    end
    loop.turn_until(function() return false end, TURN)
  end
  if run.jobs then run.jobs:shut() end
end

--- No more faults: everybody comes to the end of what they do, and gets in once more everywhere. Orphans are looked for
--- after each step: a client that comes back to a path clears up behind itself there, and its end does so everywhere.
local function recess(run, steps)
  local agenda = run.agenda
  run.agenda, run.resting = {}, true
  for _, one in ipairs(agenda) do
    if not one.idle then one.fn() end
  end
  run.testbed:heal()
  for _, ghost in ipairs(run.testbed:lay_ghosts(GHOSTS)) do
    table.insert(run.ghosts, ghost)
    run.record:fault("brought back by the servers: %s", ghost)
  end
  run.crew:rest()
  for _, step in ipairs(steps) do
    run.crew:all(step)
    for _, orphan in ipairs(run.testbed:orphans(ORPHANS)) do
      table.insert(run.orphans, ("after %s: %s"):format(step, orphan))
    end
  end
  run.crew:resume()
  run.resting = false
end

--- Takes the complaints that the servers explain from the others.
local function sort_out(run)
  run.crew.complaints, run.splits = run.testbed:sort_out(run.crew.complaints)
  for _, split in ipairs(run.splits) do run.record:fault("the servers disagree: %s", split) end
end

--- Servers that disagree go on to do so: nothing behind it could be judged.
local function is_over(run)
  return run.rounds == run.most or #run.crew.lost_waiters + #run.crew.complaints + #run.orphans + #run.splits > 0
end

local function judge_all(run)
  local sum = { lines = 0, grants = 0, refusals = 0, stale = 0, overlaps = 0, count = 0, violations = {} }
  local began = loop.now()
  for _, place in ipairs(run.testbed.places) do
    local permits = place.kind == "semaphore" and run.cast.permits or nil
    -- A short run may have no duel at the post.
    local least = place ~= run.testbed.post and 1 or 0
    local found = place.store:judge { faults = true, grants = least, permits = permits, turns = fence.TURNS }
    for name in pairs(sum) do
      if name ~= "violations" then sum[name] = sum[name] + found[name] end
    end
    for _, text in ipairs(found.violations) do table.insert(sum.violations, place.path .. ", " .. text) end
  end
  sum.jobs = run.jobs and run.jobs:judge(run.testbed.places, run.crew)
  sum.took = loop.now() - began
  return sum
end

---------------------------------------------------------------------------------------------------------------

local function refuse(text, what)
  io.stderr:write(("usage: chaos/run.lua [MINUTES] [SEED] [armfuls|jobs]: %s is no %s\n"):format(tostring(text), what))
  os.exit(2)
end

local function number(text, what)
  local n = tonumber(text)
  return n and n > 0 and n or refuse(text, what)
end

local minutes = number(arg[1] or 10, "number of minutes")
local seed = math.floor(number(arg[2] or os.time(), "seed"))
local CASTS = { armfuls = schedule.ARMFULS, jobs = schedule.JOBS }
local cast = not arg[3] and schedule.CAST or CASTS[arg[3]] or refuse(arg[3], "kind of run")

--- On Ctrl-C. Whatever was started goes with this process, the temporary folder too. SIGHUP stays as it is, for nohup.
local function stop_on_signals()
  for _, name in ipairs { "sigint", "sigterm" } do
    local signal = uv.new_signal()
    signal:start(name, function()
      say("interrupted; the seed was %d", seed)
      os.exit(1)
    end)
    signal:unref()
  end
end

local rounds = math.ceil(minutes * 60 / ROUND)
local run = setmetatable({
  seed = seed, minutes = minutes, kind = arg[3], cast = cast, least = cast.least,
  schedule = schedule.make(seed, rounds * ITS_FAULTS, cast),
  next = 1, clock = 0, rounds = 0, most = rounds, agenda = {}, injected = {}, orphans = {}, ghosts = {}, splits = {},
  jobs = arg[3] == "jobs" and jobs.new(cast) or nil,
  record = record.new(), folder = ("build/chaos/%d"):format(seed),
}, Run)

say("chaos: seed %d, %g minutes in %d rounds, %d faults to come", seed, minutes, rounds, #run.schedule)
say("3 servers, %d workers, %d of them through fault proxies", cast.workers, cast.proxies)
stop_on_signals()
local wanted = os.getenv("HISTORY")
local written = wanted and wanted ~= "" and folder.new("history") or nil
run.testbed = testbed.start(cast, written)
run.crew = crew.new(run.testbed, cast, seed)
run.began = loop.now()
run.shown = run.began
repeat
  run.rounds = run.rounds + 1
  inject(run, run.rounds * ITS_FAULTS)
  recess(run, { "flush", "calm" })
  sort_out(run)
until is_over(run) -- what went before is still in reach, and a failed run may take long
run.share = run.rounds / run.most
recess(run, { "leave" })
run.sum, run.kinds = total(run)
run.took = loop.now() - run.began
local verdict = judge_all(run)
if written then say("history: %s, %d lines", wanted, history.gather(written, wanted, seed)) end
report.figures(run, verdict)
local good = report.check(run, verdict)
run.crew:close()
run.testbed:close()
os.exit(good and 0 or 1, true)
