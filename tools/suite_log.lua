-- SPDX-License-Identifier: MIT
--- suite_log: reads what a suite has written, for tools/suites.lua. Tests are busted's (`-o gtest`), or those of
--- spec/unit/check.c and the simulation.

local suite_log = {}

local MOST_WIDTH = 300 -- characters of a line of a failure

--- passed, failed, skipped; nil if the log does not end in a count
function suite_log.count(log)
  local tests, summary = log:match("\n%[==========%] (%d+) tests? from [^\n]* ran%.[^\n]*\n(%[  PASSED  %].*)$")
  if summary then
    local passed = tonumber(summary:match("^%[  PASSED  %] (%d+) "))
    local skipped = tonumber(summary:match("\n%[ SKIPPED  %] (%d+) tests?, listed") or 0)
    local failed = tonumber(summary:match("\n%[  FAILED  %] (%d+) tests?, listed") or 0)
    local errors = tonumber(summary:match("\n%[  ERROR   %] (%d+) errors?, listed") or 0)
    return passed, math.max(failed + errors, tests - passed - skipped), skipped
  end
  local passed, failed = log:match("(%d+) passed, (%d+) failed\n$")
  return tonumber(passed), tonumber(failed), 0
end

--- The lines about tests that were skipped or repeated, which spec/support/share.lua and again.lua write; how many.
function suite_log.lines_about(what, log)
  local list = {}
  for line in log:gmatch("%f[^\n\0]" .. what .. ": [^\n]*\n") do
    list[#list + 1] = line
  end
  return table.concat(list), #list
end

--- The log without the tests that passed in silence.
function suite_log.interesting(log)
  local kept, held = {}, nil
  for line in log:gmatch("[^\n]*") do
    if line:find("^%[ RUN      %]") then
      kept[#kept + 1] = held
      held = line
    elseif held and line:find("^%[       OK %]") then
      held = nil
    else
      kept[#kept + 1] = held
      kept[#kept + 1] = line
      held = nil
    end
  end
  kept[#kept + 1] = held
  return table.concat(kept, "\n", math.max(1, #kept - 999))
end

--- The fate of the lines since the last test: "failed", "passed", or "begins" if the line begins something else.
local function verdict(line)
  if line:find("^%[  FAILED  %] .* %([%d.]+ ms%)$") or line:find("^%[  ERROR   %] .* %([%d.]+ ms%)$")
    or line:find("^FAILED  ") or line:find("^%S+_test ended with status ") then
    return "failed"
  elseif line:find("^%[       OK %]") or line:find("^%[ SKIPPED  %]") or line:find("^ok      ") then
    return "passed"
  elseif line:find("^%[ RUN      %]") or line:find("^%[[-=]+%]") or line:find("^== ") then
    return "begins"
  end
end

--- The lines of each failed test, its name last; and those that belong to no test: what a setup raised, or the test
--- that ran when the suite was ended.
---@return string[][] failures, string[] rest
local function split(log)
  local failures, rest, held = {}, {}, {}
  local function shelve()
    table.move(held, 1, #held, #rest + 1, rest)
    held = {}
  end
  for line in log:gmatch("[^\n]+") do
    local what = verdict(line)
    if what == "failed" then
      if held[1] and held[1]:find("^%[ RUN") then table.remove(held, 1) end
      held[#held + 1] = line
      failures[#failures + 1] = held
      held = {}
    elseif what == "passed" then
      held = {}
    elseif what == "begins" then
      shelve()
      if line:find("^%[ RUN") then held = { line } end
    else
      held[#held + 1] = line
    end
  end
  shelve()
  return failures, rest
end

--- The lines of each failure of the suite, and as the last one those that belong to no test, if that may have failed.
---@param failed integer how many failures the suite has
---@param complaint string? what it did wrong as a whole
---@return string[][]
function suite_log.failures(log, failed, complaint)
  local failures, rest = split(log)
  if #failures < failed then
    rest[#rest + 1] = complaint
    failures[#failures + 1] = rest
  end
  return failures
end

--- At most so many lines of it: the first and the last ones, none of them long.
---@param lines string[]
---@param most integer
---@return string
function suite_log.short(lines, most)
  local kept, left_out = {}, #lines > most and #lines - most + 1 or 0
  local head = left_out > 0 and most // 2 or #lines
  for i, line in ipairs(lines) do
    if i <= head or i > head + left_out then
      kept[#kept + 1] = "  " .. line:sub(1, MOST_WIDTH) .. "\n"
    elseif i == head + 1 then
      kept[#kept + 1] = "  ...\n"
    end
  end
  return table.concat(kept)
end

return suite_log
