-- SPDX-License-Identifier: MIT
-- Tries one mutant: changes the source in a copy, compiles that, and runs the unit tests that come by it and some
-- seconds of simulation until one of them fails.
-- usage: SLOT=1 tools/mutants/try.lua BUILD quick|slow NUMBER     the line of BUILD/plan
-- quick: only with the tests that take no time; slow: with the others, and the simulation.
-- Says one line: verdict, by which test, seconds. "same": the compiler makes the same of it; "open": the quick ones
-- have noticed nothing; "late": it is past the moment DEADLINE (seconds since 1970), and nothing was tried.

local ledger = require "tools.mutants.ledger"
local program = require "tools.mutants.program"
local syntax = require "tools.mutants.syntax"

-- After how long the simulation mostly has noticed what it notices.
local SIMULATION_NOTICES = 1

-- Tests that take less than so many seconds take no time.
local QUICK = 2

local build, quick, number = arg[1], arg[2] == "quick", tonumber(arg[3])
local folder = ("%s/try/%s"):format(build, os.getenv("SLOT") or "0")

local function plan_line()
  local count = 0
  for line in io.lines(build .. "/plan") do
    count = count + 1
    if count == number then
      local file, first, behind, name, tests, text = line:match("^(%S+)\t(%d+)\t(%d+)\t([^\t]*)\t([^\t]*)\t(.*)$")
      return { file = file, first = tonumber(first), behind = tonumber(behind), name = name, tests = tests,
        text = text:gsub("\\(.)", function(c) return c == "n" and "\n" or c end) }
    end
  end
  error("no such line in the plan")
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

local began = os.time()
local function say(verdict, by)
  print(table.concat({ number, verdict, by or "-", os.time() - began }, "\t"))
  os.exit(true)
end

--- How long the tests take when nothing is wrong.
local function usual()
  local seconds = {}
  for line in io.lines(build .. "/seconds") do
    local test, time = line:match("^(%S+) (%S+)$")
    seconds[test] = tonumber(time)
  end
  return seconds
end

--- One that hangs, or eats memory, has failed. The processor's seconds count, for there may be others that take most of
--- it: the limit for one that sleeps for ever is long.
local function passes(command, seconds)
  local limit = math.ceil(2 + 4 * seconds)
  local limits = ("ulimit -v 4000000; ulimit -c 0; ulimit -t %d; exec env CHECK_STOP=1 timeout -k 1 %d"):format(limit,
    60 * (1 + limit))
  return os.execute(("%s %s >/dev/null 2>&1 </dev/null"):format(limits, command)) == true
end

local deadline = tonumber(os.getenv("DEADLINE") or "")
if deadline and os.time() >= deadline then
  say("late")
end

local change = plan_line()
os.execute(("rm -rf %s && mkdir -p %s"):format(folder, folder))
local source = folder .. "/" .. change.file:match("[^/]+$")
write(source, syntax.apply(read(change.file), change))

local make = program.read(build .. "/commands", build)
local compiled, original = make:compile("engine", change.file, source, folder .. "/engine.o")
if not compiled then
  say("broken")
elseif read(folder .. "/engine.o") == read(original) then
  say("same")
end

--- Does it take no time? The simulation does not.
local function is_quick(seconds)
  return seconds < QUICK
end

local SIMULATION, COSTS = make.simulation:match("[^/]+$"), "costs"
local ARGUMENTS = { [SIMULATION] = program.SIMULATED, [COSTS] = program.COSTS }
local tests, paths, seconds = {}, { [SIMULATION] = make.simulation, [COSTS] = make.simulation }, usual()
for _, path in ipairs(make.tests) do
  local test = path:match("[^/]+$")
  if ("," .. change.tests .. ","):find("," .. test .. ",", 1, true) and is_quick(seconds[test]) == quick then
    tests[#tests + 1] = test
    paths[test] = path
  end
end
if not quick then
  tests[#tests + 1] = SIMULATION
  seconds[SIMULATION] = SIMULATION_NOTICES
  tests[#tests + 1] = COSTS
end
for _, test in ipairs(ledger.open(build .. "/tried"):order(tests, change.name, seconds)) do
  local command = make:start(paths[test], change.file, folder, original) .. (ARGUMENTS[test] or "")
  if not passes(command, test == SIMULATION and program.SIMULATION_SECONDS or seconds[test]) then
    say("killed", test)
  end
end
say(quick and "open" or "survived")
