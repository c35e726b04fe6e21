-- SPDX-License-Identifier: MIT
--- checks: prints progress, counts checks, and ends the program with the line that all test programs
--- end with.
local checks = {}

local passed, failed = 0, 0

--- Prints a formatted line at once.
function checks.say(...)
  print(string.format(...))
  io.stdout:flush()
end

--- Counts one check.
---@param good any false or nil: it failed, and the formatted line after it is printed
function checks.check(good, ...)
  if good then
    passed = passed + 1
  else
    failed = failed + 1
    checks.say(...)
  end
end

--- Prints `N passed, N failed`, and exits: with status 1 if a check failed or none was made.
function checks.finish()
  checks.say("%d passed, %d failed", passed, failed)
  os.exit(failed == 0 and passed > 0, true)
end

return checks
