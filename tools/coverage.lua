-- SPDX-License-Identifier: MIT
-- How much of the C sources the unit tests and the simulation execute, by gcov's count; and which of the legal
-- transitions they make.
-- usage: tools/coverage.lua BUILD  (a build with --coverage whose programs have run and written BUILD/transitions)
-- Fails if a room is below the required percentage; if a line that nothing executes, or a legal transition that
-- nothing makes, has no reason in spec/uncovered.txt; if a program has made an illegal transition; or if that file
-- names a line that does not exist. The file may name lines that the simulation reaches only after some minutes; this
-- tool reports them when it has reached them.

local build = arg[1]
local LEAST = 97 -- per cent of the lines of each room

local ROOMS = {
  { name = "locks", files = "csrc/line/*.c csrc/paths/*.c csrc/shared/*.c csrc/compound/*.c" },
  { name = "query", files = "csrc/ask/*.c csrc/query/*.c" },
  { name = "session", files = "csrc/zookeeper/session*.c csrc/zookeeper/config.c csrc/zookeeper/heart.c" },
  { name = "recipe", files = "csrc/recipe/*.c" },
  { name = "once", files = "csrc/once/*.c" },
}

--- Lines that a command prints.
local function lines_of(command)
  local pipe = assert(io.popen(command))
  local lines = {}
  for line in pipe:lines() do
    lines[#lines + 1] = line
  end
  pipe:close()
  return lines
end

-- Lines that only specs with real servers can execute are not counted.
local ELSEWHERE = "^elsewhere: "

-- "FILE: text of the line -- reason", where FILE is relative to csrc/;
-- or "OBJECT: from -> to -- reason" for a transition
local reasons = {}
-- of those: the ones in the sources, and the ones that nothing has executed
local there, missed = {}, {}
for line in io.lines("spec/uncovered.txt") do
  local key, reason = line:match("^(%S+: .-) %-%- (.+)$")
  if not key then
    key, reason = line:match("^([%w ]+: [%u ]+ %-> [%u ]+) %-%- (.+)$")
  end
  if key then
    reasons[key] = reason
  end
end

--- How often each line of a source was executed, summed over all objects compiled from it.
local function counts_of(file)
  local counts, texts = {}, {}
  local stem = file:gsub("^csrc/", ""):gsub("%.c$", "")
  local objects = { ("%s/engine/%s.gcda"):format(build, stem) }
  local name = stem:match("[^/]+$")
  objects[2] = ("%s/sim/legal/%s.gcda"):format(build, name)
  for _, object in ipairs(objects) do
    for _, line in ipairs(lines_of(("[ -e %s ] && gcov -t %s 2>/dev/null"):format(object, object))) do
      local count, number, text = line:match("^%s*([^:]+):%s*(%d+):(.*)$")
      number = tonumber(number)
      if line:find(":Source:", 1, true) and not line:find(file, 1, true) then
        break
      elseif number and number > 0 and count ~= "-" then
        local times = count:find("^%d") and 1 or 0
        counts[number] = math.max(counts[number] or 0, times)
        texts[number] = text:match("^%s*(.-)%s*$")
      end
    end
  end
  return counts, texts
end

local failed, passed = 0, 0
local function judge(good)
  if good then
    passed = passed + 1
  else
    failed = failed + 1
  end
  return good and "ok    " or "FAILED"
end

for _, room in ipairs(ROOMS) do
  local all, run, unexplained = 0, 0, {}
  for _, file in ipairs(lines_of("ls " .. room.files)) do
    local counts, texts = counts_of(file)
    local numbers = {}
    for number in pairs(counts) do
      numbers[#numbers + 1] = number
    end
    table.sort(numbers)
    local short = file:gsub("^csrc/", "")
    for _, number in ipairs(numbers) do
      local key = short .. ": " .. texts[number]
      local reason = reasons[key]
      there[key] = true
      missed[key] = missed[key] or counts[number] == 0
      if not (reason and reason:find(ELSEWHERE)) then
        all = all + 1
        run = run + counts[number]
        if counts[number] == 0 then
          print(("%s:%d: %s%s"):format(file, number, texts[number], reason and "  -- " .. reason or ""))
          if not reason then
            unexplained[#unexplained + 1] = number
          end
        end
      end
    end
  end
  local percent = 100 * run / all
  local good = percent >= LEAST and #unexplained == 0
  print(("%s  %s: %d of %d lines, %.1f %%, %d without a reason"):format(
    judge(good), room.name, run, all, percent, #unexplained))
end

-- ---- transitions (csrc/base/transitions.h) ----

local function transitions_told()
  local transitions = { legal = {}, made = {}, illegal = {} }
  for line in io.lines(build .. "/transitions") do
    local what, move = line:match("^(.-)\t(.+)$")
    transitions[what][move] = true
  end
  return transitions
end

local function sorted(set)
  local list = {}
  for key in pairs(set) do
    list[#list + 1] = key
  end
  table.sort(list)
  return list
end

local transitions = transitions_told()
local unexplained, all, made = 0, 0, 0
for _, move in ipairs(sorted(transitions.illegal)) do
  print("illegal transition: " .. move)
  unexplained = unexplained + 1
end
for _, move in ipairs(sorted(transitions.legal)) do
  all = all + 1
  there[move], missed[move] = true, not transitions.made[move]
  if transitions.made[move] then
    made = made + 1
  else
    local reason = reasons[move]
    print(("not made: %s%s"):format(move, reason and "  -- " .. reason or ""))
    unexplained = unexplained + (reason and 0 or 1)
  end
end
print(("%s  changes of states: %d of %d legal ones made, %d without a reason"):format(
  judge(unexplained == 0 and all > 0), made, all, unexplained))

-- ---- the list itself ----

local strangers = 0
for _, key in ipairs(sorted(reasons)) do
  if not there[key] then
    strangers = strangers + 1
    print("is not there: " .. key)
  elseif not missed[key] and not reasons[key]:find(ELSEWHERE) then
    print("come by this time: " .. key)
  end
end
print(("%s  spec/uncovered.txt: %d reasons of what is not there"):format(judge(strangers == 0), strangers))
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0)
