-- SPDX-License-Identifier: MIT
-- Changes one thing at a time in the C sources, and looks whether unit tests and simulation notice.
-- usage: tools/mutants/run.lua [-l SECONDS [-p PERCENT]] BUILD COVERAGE COUNT SEED FILE...     COUNT of 0: all of them
-- -l: so many seconds after the first mutant no other is begun, and the next run goes on with the rest.
-- -p: survivors are told, and fail it only if the sample shows that less than that share of all mutants is killed.
-- BUILD has what make has built, and in BUILD/commands how (make mutants); COVERAGE has the same with gcov's counters.
-- A mutant that was tried is in BUILD/tried, and is not tried again until what it rests on has changed. Fails if one
-- survives that spec/equivalent.txt has no reason for, and if an entry there is of nothing that is in FILE....

local ledger = require "tools.mutants.ledger"
local output_of = require "tools.mutants.output_of"
local program = require "tools.mutants.program"
local reach = require "tools.mutants.reach"
local syntax = require "tools.mutants.syntax"

--- The option's number, or nil.
local function take(option, what)
  if arg[1] ~= option then
    return nil
  end
  table.remove(arg, 1)
  local text = table.remove(arg, 1)
  local number = tonumber(text)
  assert(number and number > 0, ("%s: %s > 0 expected, got %s"):format(option, what, text))
  return number
end

local limit, least_killed = take("-l", "seconds"), take("-p", "percent")
local deadline -- in seconds of os.time(), or nil
local build, coverage, count, seed = arg[1], arg[2], tonumber(arg[3]), tonumber(arg[4])
local files = { table.unpack(arg, 5) }
local AT_A_TIME = 2
-- Under a deadline the survivors of so many mutants are tried with all tests before other mutants are begun.
local BATCH = 40
local TRY = arg[0]:gsub("run%.lua$", "try.lua")
local watched = os.execute("[ -t 1 ]") == true

local function stamp_of(what)
  return (output_of(("find %s -name '*.[ch]' | LC_ALL=C sort | xargs cat | cksum"):format(what)):match("%d+"))
end

-- ---- which ----

--- All that there are, in an order of which each beginning has its share of every file; and how many more are skipped,
--- since no test can notice their kind.
local function choose()
  math.randomseed(seed)
  local all, skipped = {}, 0
  for _, file in ipairs(files) do
    local changes, more = syntax.changes(file)
    assert(changes, more)
    skipped = skipped + more
    for i = #changes, 2, -1 do
      local j = math.random(i)
      changes[i], changes[j] = changes[j], changes[i]
    end
    for i, change in ipairs(changes) do
      change.rank = (i - math.random()) / #changes
      all[#all + 1] = change
    end
  end
  table.sort(all, function(a, b) return a.rank < b.rank end)
  return all, skipped
end

local function names(set)
  local list = {}
  for name in pairs(set) do
    list[#list + 1] = name
  end
  return table.concat(list, ",")
end

local function write_plan(changes, reached)
  local plan = assert(io.open(build .. "/plan", "w"))
  for _, change in ipairs(changes) do
    plan:write(table.concat({ change.file, change.first, change.behind, change.name, names(reached:by(change)),
      (change.text:gsub("\\", "\\\\"):gsub("\n", "\\n")) }, "\t"), "\n")
  end
  plan:close()
end

-- ---- without a change ----

local function names_of(tests)
  local list = {}
  for i, path in ipairs(tests) do
    list[i] = path:match("[^/]+$")
  end
  return list
end

--- Each test passes, and the simulation does as far as it runs with a mutant, or nothing that is said of mutants means
--- anything. How long each test takes is kept for try.lua; once for the same sources.
local function run_unchanged(make, stamp)
  local known = io.open(build .. "/seconds")
  if known and known:read("l") == "sources " .. stamp then
    return
  end
  local lines = { "sources " .. stamp }
  local function time_of(name, command)
    local run = ("time %s >/dev/null 2>&1 </dev/null || echo failed"):format(command)
    local text = output_of(("TIMEFORMAT=%%R bash -c '%s' 2>&1"):format(run))
    if text:find("failed", 1, true) then
      print(("%s fails although nothing is changed"):format(name))
      os.exit(false)
    end
    return text:match("%d+%.%d+") or "1"
  end
  for _, path in ipairs(make.tests) do
    local name = path:match("[^/]+$")
    lines[#lines + 1] = ("%s %s"):format(name, time_of(name, make:unchanged(path)))
  end
  time_of("the simulation", make.simulation .. program.SIMULATED)
  lines[#lines + 1] = "costs " .. time_of("what the simulation asks for", make.simulation .. program.COSTS)
  local times = assert(io.open(build .. "/seconds", "w"))
  times:write(table.concat(lines, "\n"), "\n")
  times:close()
end

-- ---- many ----

--- Without the file, which is told with the line.
local function short(change)
  return (change.name:gsub("^%S+ ", ""))
end

local function tell_survivor(head, change)
  print(("%sSURVIVED  %s:%d: %s  [%s]"):format(head, change.file, change.line, short(change), change.key))
end

local tally = {}
local function count_one(change, result)
  local file = tally[change.file] or { killed = 0, survived = 0, same = 0, broken = 0, judged = 0 }
  tally[change.file] = file
  file[result.verdict] = file[result.verdict] + 1
end

local function tell(change, result, done, all)
  local head = watched and "\r\27[K" or ""
  if result.verdict == "survived" then
    tell_survivor(head, change)
  elseif not watched then
    print(("%-8s  %s:%d: %s  (%s, %d s)"):format(result.verdict, change.file, change.line, short(change), result.by,
      result.seconds))
  end
  if watched then
    io.write(("\r\27[K%d of %d  %s: %s by %s"):format(done, all, change.file, result.verdict, result.by))
  end
  io.flush()
end

--- Those of the changes with these numbers: with the tests that take no time, or with the others. Calls `got` with what
--- becomes of each, unless the deadline came before it was begun. Returns how many could not be tried.
local function try_with(tests, numbers, got)
  local list = assert(io.open(build .. "/numbers", "w"))
  list:write(table.concat(numbers, "\n"), "\n")
  list:close()
  local pipe = assert(io.popen(("DEADLINE=%s xargs -r -a %s/numbers -P %d -n 1 --process-slot-var=SLOT lua5.4 %s %s %s")
    :format(deadline or "", build, AT_A_TIME, TRY, build, tests)))
  local done = 0
  for line in pipe:lines() do
    local number, verdict, by, seconds = line:match("^(%d+)\t(%a+)\t(%S+)\t(%d+)$")
    assert(number, line)
    if verdict ~= "late" then
      got(tonumber(number), { verdict = verdict, by = by, seconds = tonumber(seconds) })
    end
    done = done + 1
  end
  return pipe:close() and 0 or math.max(1, #numbers - done)
end

--- First all with the tests that take no time, and then those that have survived with the others. Returns false if one
--- could not be tried, unless it was the deadline that kept it from that.
local function try_all(changes, tried, source_stamp, stamp)
  local slow, done, failed = {}, 0, 0
  local function got(number, result)
    local change = changes[number]
    local lives = result.verdict == "open" or result.verdict == "survived"
    result.stamp = lives and stamp or source_stamp[change.file]
    tried:write(change.name, result)
    if result.verdict == "open" then
      slow[#slow + 1] = number
      return
    end
    done = done + 1
    count_one(change, result)
    tell(change, result, done, #changes)
  end
  local step = deadline and BATCH or math.max(#changes, 1)
  for first = 1, #changes, step do
    local quick = {}
    slow = {}
    for i = first, math.min(first + step - 1, #changes) do
      local list = tried:recall(changes[i].name, nil, stamp) and slow or quick
      list[#list + 1] = i
    end
    failed = failed + try_with("quick", quick, got)
    failed = failed + try_with("slow", slow, got)
    if deadline and os.time() >= deadline then break end
  end
  if watched then
    io.write("\r\27[K")
  end
  if failed > 0 then
    print(("%d could not be tried"):format(failed))
  end
  if done + failed < #changes then
    print(("the time is over: %d are left for the next run"):format(#changes - done - failed))
  end
  return failed == 0
end

--- Between which shares of all mutants the sample has told: Wilson's interval.
local function between(good, n)
  local z, share = 1.96, good / math.max(n, 1)
  local middle, reached = share + z * z / (2 * n), z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
  return 100 * (middle - reached) / (1 + z * z / n), 100 * (middle + reached) / (1 + z * z / n)
end

local function tell_summary()
  local sum = { killed = 0, survived = 0, same = 0, broken = 0, judged = 0 }
  print("                                killed  survived  equivalent  same object  does not compile")
  for _, file in ipairs(files) do
    local t = tally[file]
    if t then
      print(("%-32s%6d%10d%12d%13d%18d"):format(file, t.killed, t.survived, t.judged, t.same, t.broken))
      for what, n in pairs(t) do
        sum[what] = sum[what] + n
      end
    end
  end
  local tried = sum.killed + sum.survived
  local least, most = between(sum.killed, tried)
  print(("%d of %d killed, %.1f %% (of all such mutants %.1f to %.1f %%, with 95 %% certainty); "
    .. "%d more are judged equivalent or out of reach; %d are the same to the compiler"):format(
    sum.killed, tried, 100 * sum.killed / math.max(tried, 1), least, most, sum.judged, sum.same))
  if least_killed and most >= least_killed then
    sum.survived = 0
  end
  print(("%d passed, %d failed"):format(sum.killed, sum.survived))
  return sum.survived == 0 and tried + sum.judged + sum.same > 0
end

local make = program.read(build .. "/commands", build)
local tried = ledger.open(build .. "/tried")
local judged = ledger.judged("spec/equivalent.txt", "spec/uncovered.txt")
local stamp, source_stamp = stamp_of("csrc spec/unit spec/sim fuzz"), {}
for _, file in ipairs(files) do
  source_stamp[file] = stamp_of(file)
end

local function is_source(file)
  local handle = io.open("csrc/" .. file)
  return handle and handle:close() or false
end

local all, skipped = choose()
local strangers = judged:strangers(all, is_source)
for _, name in ipairs(strangers) do
  print("spec/equivalent.txt: is not there: " .. name)
end
local chosen, known = {}, 0
for i = 1, count > 0 and math.min(count, #all) or #all do
  local change = all[i]
  local result = tried:recall(change.name, source_stamp[change.file], stamp)
  if judged:reason(change) then
    count_one(change, { verdict = "judged" })
  elseif result and result.verdict ~= "open" then
    known = known + 1
    count_one(change, result)
    if result.verdict == "survived" then
      tell_survivor("", change)
    end
  else
    chosen[#chosen + 1] = change
  end
end
print(("%d mutants in %d files, of which %d are looked at; %d of those are known from before, %d are tried now; "
  .. "%d more are of a kind that no test can notice"):format(#all, #files,
  count > 0 and math.min(count, #all) or #all, known, #chosen, skipped))
io.flush()
local whole = true
if #chosen > 0 then
  make:share()
  run_unchanged(make, stamp)
  write_plan(chosen, reach.measure(coverage, build .. "/reach", names_of(make.tests)))
  deadline = limit and os.time() + math.ceil(limit)
  whole = try_all(chosen, tried, source_stamp, stamp)
end
local good = tell_summary()
os.exit(good and whole and #strangers == 0)
