-- SPDX-License-Identifier: MIT
-- Checks that no spec depends on how fast the machine is:
--   * no time that has passed is compared with an upper bound;
--   * no sleep of a fixed length waits for what can be seen: `wait.rest`, or the sleep of a program that a spec has
--     inside, says behind `--` which fault, holder or rate it times. The step of a loop on the same line is legal, and
--     so are a sleep of 0, which is a yield, and one of 20 seconds or more, which the spec ends;
--   * no port is drawn but by spec/support/port.lua, which gives none out twice.
-- spec/support does this for all others; spec/harness/timing_spec.lua plants cases of each. The check goes line by
-- line, and by the names of clocks.
--
-- usage: lua5.4 tools/timing.lua [FOLDER]     such as spec

local ROOT = arg[1] or "spec"

local CLOCKS = { "%f[%w]now%(%)", "%f[%w]hrtime%(%)", "%f[%w]clock%(%)", "%f[%w]time%(%)", "%f[%w]gettime%(%)" }
local SLEEPS = { "%f[%w]socket%.sleep%(([^)]*)", "%f[%w]uv%.sleep%(([^)]*)", "[^\"']%f[%w]ngx%.sleep%(([^)]*)",
  "%f[%w]execute[ (]*[\"']sleep ([%d.]+)", "%f[%w]wait%.rest%((.*)%)", "poll%(function%(%) end, ([^)]*)" }
local LONG = 20 -- seconds

local found, files = {}, 0

local function reads_clock(text)
  for _, clock in ipairs(CLOCKS) do
    if text:find(clock) then return true end
  end
  return false
end

--- A time that has passed: the difference of two readings of a clock, or a variable that was given one. With a division
--- it is a rate.
local function is_duration(text, durations)
  if reads_clock(text) and text:find(" %- %a") and not text:find("/ %(") then return true end
  for name in text:gmatch("%f[%w_.]([%a_][%w_]*)") do
    if durations[name] then return true end
  end
  return false
end

--- Whether a line says that a duration is less than something: in each part between `and`, `or` and commas.
local function bounds(code, durations)
  for part in code:gsub(" and ", "\0"):gsub(" or ", "\0"):gsub(", ", "\0"):gmatch("%Z+") do
    local left, operator, right = part:match("^(.-)%s([<>]=?)%s(.*)$")
    if left and is_duration(operator:find("<") and left or right, durations) then return true end
  end
  return false
end

--- Whether it lets a clock run for a while.
local function spins(code)
  return code:find("eventually%(function%(%) return [^()]*%f[%w]now%(%)[^<>]*[<>]") ~= nil
    or code:find("%f[%w]until [^()]*%f[%w]now%(%)[^<>]*> [%d.]+") ~= nil
end

local function rests(code)
  for _, pattern in ipairs(SLEEPS) do
    local length = code:match(pattern)
    local time, long = tonumber(length), pattern:find("uv", 1, true) and 1000 * LONG or LONG
    local steps = code:find("%f[%w]while ") or code:find("%f[%w]until ")
    if length and not steps and time ~= 0 and (time or 0) < long then return true end
  end
  return spins(code)
end

--- Notes which variables of an assignment get a duration.
local function note(code, durations)
  local names, values = code:match("([%w_, ]+) = (.+)$")
  local value = (values or ""):gmatch("[^,]+")
  for name in (names or ""):gmatch("([%w_]+),?%f[,%z]") do durations[name] = is_duration(value() or "", {}) or nil end
end

local function check(file)
  local durations, number = {}, 0
  files = files + 1
  for line in io.lines(file) do
    number = number + 1
    local code, comment = line:match("^(.-)%s%-%-%s?(.*)$")
    code, comment = code or line, comment or ""
    local function refuse(what) found[#found + 1] = ("%s:%d: %s"):format(file, number, what) end
    note(code, durations)
    if bounds(code, durations) then
      refuse "a time that has passed has an upper bound, and a busy machine needs longer: compare two events, or count"
    end
    if rests(code) and comment == "" then
      refuse "a sleep waits for what can be seen: wait for it, or say behind -- what is timed"
    end
    if code:find("bind%([\"'][%d.]+[\"'], 0%f[%D]") then
      refuse "a port is drawn: spec/support/port.lua gives them out"
    end
  end
end

local find = assert(io.popen(("find '%s' -name '*.lua' ! -path '*/support/*' ! -name timing_spec.lua"):format(ROOT)))
for file in find:lines() do check(file) end
find:close()

for _, line in ipairs(found) do print(line) end
if files == 0 then print(ROOT .. ": no specs") end
os.exit(#found == 0 and files > 0)
