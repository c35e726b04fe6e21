-- SPDX-License-Identifier: MIT
-- Runs test suites side by side and adds up what they counted.
--
--   lua5.4 tools/suites.lua [-j JOBS] [-l SECONDS] [-o DIR] NAME[@SECONDS]=COMMAND...
--
-- SECONDS after a name is the limit of that suite; -l is the limit of every other suite.
-- Each suite's output goes to DIR/NAME.log and is shown if it fails. A suite's count is busted's (`-o gtest`), or else
-- its last line, `N passed, N failed`. One that dies without a count, takes longer than its limit, or leaves
-- processes behind has one more failure. At the end come the tests that were skipped, each with its reason; those that
-- were repeated because the machine stood still (spec/support/again.lua), and how many: if that is above MOST_REPEATS,
-- it is a failure; what the failed tests wrote, in short; how long it all took, and as the last line the sum.

local suite_log = dofile "tools/suite_log.lua"
local uv = require "luv"

local TERM_GRACE = 5 -- seconds from SIGTERM at the limit of a suite to SIGKILL
local MOST_REPEATS = 3
local MOST_SHOWN, MOST_LINES = 8, 40 -- failures at the end, and their lines in all: CI shows the last 50 lines

local jobs, limit, dir = 2, 900, "build/test"
local waiting, running, done, failures = {}, {}, {}, {}
local terminal = uv.guess_handle(1) == "tty"
local began = uv.hrtime()
local interrupted

local function seconds(since)
  return (uv.hrtime() - since) / 1e9
end

local function say(text)
  io.write(terminal and "\r\27[K" or "", text, "\n")
  io.flush()
end

-- The living processes of a suite's process group. Zombies are the business of whoever is to reap them.
local function group(pgid)
  local found = {}
  local scan = uv.fs_scandir("/proc")
  for name in uv.fs_scandir_next, scan do
    local file = name:find("^%d+$") and io.open("/proc/" .. name .. "/stat")
    if file then
      local command, state, pgrp = (file:read("a") or ""):match("%((.*)%) (%a) %d+ (%d+)")
      file:close()
      if tonumber(pgrp) == pgid and state ~= "Z" then
        found[#found + 1] = command .. " " .. name
      end
    end
  end
  return found
end

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read("a")
end

local start

local function finish(suite)
  local log = read(suite.log)
  local passed, failed, skipped = suite_log.count(log)
  local complaint = suite.complaint
  if not passed then
    local _, oks = log:gsub("%f[^\n\0]%[       OK %]", "")
    passed, failed, skipped = oks, 0, 0
    complaint = complaint or "it ended without a count"
  end
  if not complaint and failed == 0 and suite.status ~= 0 then
    complaint = "all passed, but it ended with status " .. suite.status
  end
  if not complaint and passed + failed == 0 then
    complaint = "it ran no test"
  end
  if complaint then
    failed = failed + 1
  end
  suite.passed, suite.failed, suite.skips = passed, failed, suite_log.lines_about("skipped", log)
  suite.repeats, suite.repeated = suite_log.lines_about("repeated", log)
  running[suite] = nil
  done[#done + 1] = suite

  if failed > 0 then
    for _, lines in ipairs(suite_log.failures(log, failed, complaint)) do
      failures[#failures + 1] = { suite = suite, lines = lines }
    end
    say(("---- %s: %s"):format(suite.name, suite.log))
    say(suite_log.interesting(log))
    say(("---- %s: %s"):format(suite.name, complaint or "see above"))
  end
  say(("%-12s %4d passed, %d failed%s   %.0f s"):format(
    suite.name, passed, failed, skipped > 0 and (", %d skipped"):format(skipped) or "", seconds(suite.began)))
  start()
end

local function kill(suite, signal)
  pcall(uv.kill, -suite.pid, signal)
end

-- The suite has ended: its helpers get a minute to do so too. Few take a second, but a busy machine may.
local function ended(suite)
  local tries = 0
  local timer = uv.new_timer()
  timer:start(0, 100, function()
    local left = group(suite.pid)
    tries = tries + 1
    if #left > 0 and tries < 600 then
      return
    end
    timer:close()
    if #left > 0 then
      kill(suite, "sigkill")
      suite.complaint = suite.complaint or "it left processes behind: " .. table.concat(left, ", ")
    end
    finish(suite)
  end)
end

-- Ends the suite at its limit: it gets SIGTERM, and SIGKILL if it is still there after TERM_GRACE.
local function watch(suite)
  local most = suite.limit or limit
  local signal = "sigterm"
  suite.watch = uv.new_timer()
  suite.watch:start(math.ceil(most * 1000), TERM_GRACE * 1000, function()
    suite.complaint = ("it took longer than %g s"):format(most)
    kill(suite, signal)
    signal = "sigkill"
  end)
end

function start()
  while not interrupted and #waiting > 0 do
    local busy = 0
    for _ in pairs(running) do
      busy = busy + 1
    end
    if busy >= jobs then
      return
    end
    local suite = table.remove(waiting, 1)
    local out = assert(uv.fs_open(suite.log, "w", tonumber("644", 8)))
    local handle
    handle, suite.pid = uv.spawn("/bin/sh", {
      args = { "-c", suite.command },
      stdio = { nil, out, out },
      detached = true, -- a process group of its own, so that it can be ended whole
    }, function(status, signal)
      handle:close()
      suite.watch:close()
      suite.status = signal > 0 and 128 + signal or status
      ended(suite)
    end)
    assert(handle, suite.pid)
    uv.fs_close(out)
    suite.began = uv.hrtime()
    running[suite] = true
    watch(suite)
    if not terminal then
      say(suite.name .. " ...")
    end
  end
end

local function stop(signal)
  interrupted = interrupted or signal
  waiting = {}
  for suite in pairs(running) do
    kill(suite, "sigterm")
    suite.complaint = "interrupted"
  end
end

-- How far each suite is: on a terminal one line that is kept up to date, elsewhere a line now and then.
local function progress()
  local parts = {}
  for suite in pairs(running) do
    local _, ran = read(suite.log):gsub("%f[^\n\0]%[[ A-Z]+%] [^\n]+ %([%d.]+ ms%)\n", "")
    parts[#parts + 1] = ("%s: %d"):format(suite.name, ran)
    if interrupted and seconds(interrupted) > 5 then
      kill(suite, "sigkill")
    end
  end
  table.sort(parts)
  if #parts > 0 then
    io.write(terminal and "\r\27[K" or "", ("%4.0f s  "):format(seconds(began)), table.concat(parts, "   "),
      terminal and "" or "\n")
    io.flush()
  end
end

-- A suite from an argument NAME[@SECONDS]=COMMAND.
local function suite_of(word)
  local name, command = word:match("^([^=]+)=(.+)$")
  assert(name, "NAME=COMMAND expected: " .. word)
  local plain, own = name:match("^(.-)@(.*)$")
  if plain then
    own = own:match("^[%d.]+$") and tonumber(own)
    assert(plain ~= "" and own and own > 0, "NAME@SECONDS=COMMAND with seconds > 0 expected, got " .. word)
  end
  name = plain or name
  return { name = name, command = command, limit = own, log = dir .. "/" .. name .. ".log" }
end

local index = 1
while arg[index] do
  local word = arg[index]
  if word == "-j" or word == "-l" or word == "-o" then
    index = index + 1
    if word == "-j" then
      jobs = tonumber(arg[index])
    elseif word == "-l" then
      limit = tonumber(arg[index])
    else
      dir = arg[index]
    end
  else
    waiting[#waiting + 1] = suite_of(word)
  end
  index = index + 1
end

local signals = {}
for index_, name in ipairs { "sigint", "sigterm", "sighup" } do
  signals[index_] = uv.new_signal()
  signals[index_]:start(name, function()
    stop(uv.hrtime())
  end)
  signals[index_]:unref()
end
local ticker = uv.new_timer()
local interval = terminal and 500 or 20000
ticker:start(interval, interval, progress)
ticker:unref()

start()
uv.run()

-- The failures once more, so that the last lines of a log show why it failed.
local function show_failures()
  local shown = math.min(#failures, MOST_SHOWN)
  for i = 1, shown do
    say(("failed: %s: %s"):format(failures[i].suite.name, failures[i].suite.log))
    io.write(suite_log.short(failures[i].lines, MOST_LINES // shown - 1))
  end
  if #failures > shown then
    say(("failed: %d more"):format(#failures - shown))
  end
end

local passed, failed, repeated = 0, 0, 0
for _, suite in ipairs(done) do
  passed, failed, repeated = passed + suite.passed, failed + suite.failed, repeated + suite.repeated
  io.write(suite.skips, suite.repeats)
end
if repeated > MOST_REPEATS then
  failed = failed + 1
end
say(("%d repeated, %d at most"):format(repeated, MOST_REPEATS))
show_failures()
say(("suites took %.0f s"):format(seconds(began)))
say(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0 and not interrupted and #done > 0)
