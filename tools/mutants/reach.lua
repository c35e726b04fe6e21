-- SPDX-License-Identifier: MIT
-- Which lines each test runs through, by gcov's count: a test that does not come by a change cannot notice it.
-- Of each test it is measured once: BUILD/reach/TEST has the sum of the program, and then the lines. Of those with
-- random courses, which take long and come by almost everything, it is not.

local output_of = require "tools.mutants.output_of"

local reach = {}
reach.__index = reach

local EVERY_LINE = setmetatable({}, { __index = function() return true end })
local EVERYTHING = setmetatable({}, { __index = function() return EVERY_LINE end })

--- gcov's report on the objects that the latest test has run through: file, its lines that can be counted, and whether
--- they were.
local function each_counted(build, visit)
  local listed = output_of(("find %s/engine %s/counted -name '*.gcda'"):format(build, build))
  for object in listed:gmatch("%S+") do
    local file
    for line in output_of(("gcov -t %s 2>/dev/null"):format(object)):gmatch("[^\n]+") do
      local count, number, text = line:match("^%s*([^:]+):%s*(%d+):(.*)$")
      if number == "0" then
        file = text:match("^Source:(csrc/.*%.c)$") or (not text:find("^Source:") and file) or nil
      elseif file and count and count ~= "-" then
        visit(file, tonumber(number), count:find("^%d") ~= nil)
      end
    end
  end
end

local function measure(build, program, path, sum)
  os.execute(("find %s -name '*.gcda' -delete; %s >/dev/null 2>&1 </dev/null"):format(build, program))
  local lines = assert(io.open(path, "w"))
  lines:write(sum)
  each_counted(build, function(file, number, was_run)
    lines:write(("%s %d %s\n"):format(file, number, was_run and "run" or "not"))
  end)
  lines:close()
end

--- Of those tests (their names), and of those that have changed since the last time anew. `build`: what was compiled
--- with --coverage.
function reach.measure(build, folder, tests)
  os.execute("mkdir -p " .. folder)
  local self = setmetatable({ tests = tests, run = {}, counted = {} }, reach)
  for _, test in ipairs(tests) do
    local program, path = ("%s/unit/%s"):format(build, test), folder .. "/" .. test
    local is_random = test:find("_random_test$") ~= nil
    local sum = output_of(("cksum <%s"):format(program))
    local known = io.open(path)
    if not is_random and (not known or known:read("L") ~= sum) then
      measure(build, program, path, sum)
    end
    if known then
      known:close()
    end
    self.run[test] = is_random and EVERYTHING or self:load(path)
  end
  return self
end

function reach:load(path)
  local run = {}
  local known = assert(io.open(path))
  for file, number, how in known:read("a"):gmatch("(%S+) (%d+) (%a+)\n") do
    number = tonumber(number)
    self.counted[file] = self.counted[file] or {}
    self.counted[file][number] = true
    if how == "run" then
      run[file] = run[file] or {}
      run[file][number] = true
    end
  end
  known:close()
  return run
end

--- The tests that come by a change, as a set of their names. A line that has no count belongs to the one before that
--- has. Code outside of functions (`everywhere`) may concern everybody.
function reach:by(change)
  local line, counted, near = change.line, self.counted[change.file] or {}, {}
  while line > 0 and not counted[line] do
    line = line - 1
  end
  for _, test in ipairs(self.tests) do
    if change.everywhere or (self.run[test][change.file] or {})[line] then
      near[test] = true
    end
  end
  return near
end

return reach
