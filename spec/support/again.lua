-- SPDX-License-Identifier: MIT
--- Runs a test once more that failed while the machine stood still.
--
--   busted --helper=spec/support/again.lua FILE_OR_FOLDER...
--
-- On a machine that gives nobody any time for seconds, servers end sessions for no fault of ours. Another process looks
-- at the clock every 20 ms. If a test fails during which that process could not do so for a sixth of a session timeout,
-- and for a second at least, a line says so and the test runs again: its before_each, itself, its after_each. It runs
-- twice at most. Without such a standstill a test that fails has failed. tools/suites.lua counts the lines, and allows
-- few of them in a run.
--
-- While all that a failed test has opened is still there, "failed" is published: the fixture shows what it sees.
--
-- With CLAIMS it shares the files with others: spec/support/share.lua.

local busted = require "busted"
local process = require "spec.support.process"
local uv = require "luv"

local SESSION = 10 -- seconds, of a test whose fixture has named no other

-- ---- the clock's watcher --------------------------------------------------------------------------------------------

--- Asked for the standstills since a moment, it answers with the longest one, both in nanoseconds.
local WATCHER = [[
  local uv = require "luv"
  local standstills, last = {}, uv.hrtime()
  local function look()
    local now = uv.hrtime()
    if now - last > 200e6 then standstills[#standstills + 1] = { from = last, to = now } end
    last = now
  end
  uv.new_timer():start(20, 20, look)
  local input = uv.new_pipe(false)
  input:open(0)
  input:read_start(function(_, line)
    if not line then os.exit() end
    look()
    local since, longest = tonumber(line), 0
    for _, one in ipairs(standstills) do longest = math.max(longest, one.to - math.max(one.from, since)) end
    print(("%d"):format(longest))
    io.flush()
  end)
  uv.run()
]]

local watcher = process.spawn { env = process.PLAIN_LUA, "lua5.4", "-e", WATCHER }

--- For how many seconds nobody had any time at most, since that moment of uv.hrtime.
local function standstill(since)
  watcher:write(("%d"):format(since))
  local longest, err = watcher:read_line()
  if not longest then error(("the watcher of the clock does not answer (%s): %s"):format(err, watcher:stderr())) end
  return tonumber(longest) / 1e9
end

standstill(uv.hrtime()) -- from now on it looks: one that is still starting cannot tell that nobody had any time

-- ---- what belongs to a test -----------------------------------------------------------------------------------------

local around = {} -- what is being described: the file and its describes, the outermost first
local before, after = setmetatable({}, { __mode = "k" }), setmetatable({}, { __mode = "k" }) -- their functions

local function enter(element)
  around[#around + 1] = element
  return nil, true
end

local function leave()
  around[#around] = nil
  return nil, true
end

for _, kind in ipairs { "file", "describe" } do
  busted.subscribe({ kind, "start" }, enter)
  busted.subscribe({ kind, "end" }, leave)
end

--- busted does not get these: they are part of each attempt.
for kind, functions in pairs { before_each = before, after_each = after } do
  busted.subscribe({ "register", kind }, function(_, fn)
    local element = around[#around]
    functions[element] = functions[element] or {}
    table.insert(functions[element], fn)
    return nil, false
  end, { priority = 1 })
end

local function is_pending(err)
  local meta = debug.getmetatable(err)
  return type(meta) == "table" and meta.__type == "pending"
end

--- The test with all that belongs to it, as busted calls it.
---@return boolean ok
---@return any err of what failed first; what fails after it is shown
local function attempt(element, run)
  local ok, err, cleanup = true, nil, nil
  local function try(fn)
    local good, problem = pcall(fn)
    if good then return end
    if ok or is_pending(err) then
      ok, err = false, problem
    else
      print(("after that: %s"):format(tostring(problem)))
    end
  end
  element.env.finally = function(fn) cleanup = fn end
  local levels, entered = {}, 0
  local level = busted.parent(element)
  while level do
    table.insert(levels, 1, level)
    level = busted.parent(level)
  end
  while ok and entered < #levels do
    entered = entered + 1
    for _, fn in ipairs(before[levels[entered]] or {}) do try(fn) end
  end
  if ok then try(run) end
  if not ok and not is_pending(err) then try(function() busted.publish { "failed" } end) end
  if cleanup then try(cleanup) end
  for i = entered, 1, -1 do
    for _, fn in ipairs(after[levels[i]] or {}) do try(fn) end
  end
  return ok, err
end

-- ---- once more ------------------------------------------------------------------------------------------------------

local session

busted.subscribe({ "session" }, function(seconds) session = seconds end)

local function run_again(element, run)
  local began = uv.hrtime()
  session = SESSION
  local ok, err = attempt(element, run)
  if not ok and not is_pending(err) then
    local seconds = standstill(began)
    if seconds >= math.max(1, session / 6) then
      print(("repeated: %s @ %d: %s: the machine stood still for %.1f s\n%s"):format(element.trace.short_src,
        element.trace.currentline, element.name, seconds, tostring(err)))
      io.flush()
      ok, err = attempt(element, run)
    end
  end
  if not ok then error(err, 0) end
end

busted.subscribe({ "test", "start" }, function(element)
  local run = element.run
  element.run = function() run_again(element, run) end
  return nil, true
end)

if os.getenv "CLAIMS" then require "spec.support.share" end
