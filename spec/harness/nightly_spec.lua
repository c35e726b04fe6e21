-- SPDX-License-Identifier: MIT
--- `make nightly`, as `make -n` prints it: which parts there are, and what their limits add up to.

local process = require "spec.support.process"

local BUILDS = 900 -- seconds of the four hours for what is compiled
local PARTS = { "chaos", "chaos-armfuls", "chaos-jobs", "keeper", "history", "mutants", "fuzz", "reloads", "soak",
  "soak-lua", "recorder", "random-line", "random-compound", "sim", "flood", "long", "hostile-asan", "hostile-tsan",
  "hostile-valgrind", "hooks-5.1", "hooks-5.4", "hooks-luajit" }

local function make(...)
  local one = process.spawn { env = { MAKEFLAGS = false, MAKELEVEL = false }, "make", "DEPS=", "SEED=1", ... }
  local code = one:wait()
  return one:stdout() .. one:stderr(), code
end

--- The commands of the parts, by their names, and the limits.
local function parts(...)
  local said, code = make("-n", "nightly", ...)
  assert.equal(0, code, said)
  local commands, limits = {}, {}
  for name, limit, command in said:gmatch("'([%w.-]+)@(%d+)=([^']*)'") do
    commands[name], limits[name] = command, tonumber(limit)
  end
  return commands, limits
end

describe("make nightly #once", function()
  it("has every part that is too long for each change, each with a limit", function()
    local _, limits = parts()
    for _, name in ipairs(PARTS) do assert.is_truthy(limits[name], name) end
  end)

  it("ends within four hours", function()
    local said = make("-n", "nightly")
    assert.matches(" -j 1 -o build/nightly '", said, 1, true)
    local _, limits = parts()
    local sum = 0
    for _, limit in pairs(limits) do sum = sum + limit end
    assert.is_true(sum > 3 * 3600 and sum <= 4 * 3600 - BUILDS, sum .. " s")
  end)

  it("gives each part its share of HOURS", function()
    local commands, limits = parts("JOBS=2")
    local brief, brief_limits = parts("JOBS=2", "HOURS=0.4")
    for name in pairs(commands) do assert.is_true(brief_limits[name] < limits[name], name) end
    for name, pair in pairs {
      chaos = { " 11 1$", " 1%.1 1$" }, ["chaos-armfuls"] = { " 10 1 armfuls$", " 1 1 armfuls$" },
      keeper = { " keeper DEPS= CHAOS=4 SEED=1$", " CHAOS=0%.4 " },
      ["chaos-jobs"] = { " 5 1 jobs$", " 0%.5 1 jobs$" },
      mutants = { " %-l 960 %-p 94 ", " %-l 96 %-p 94 " }, fuzz = { " 7$", " 0%.7$" },
      reloads = { " 4$", " 0%.5$" }, soak = { " 11$", " 1%.1$" }, recorder = { " 1500$", " 150$" },
      ["soak-lua"] = { " 480 1 ", " 48 1 " }, ["random-line"] = { " 400$", " 40$" }, sim = { " 300 ", " 30 " },
    } do
      assert.matches(pair[1], commands[name])
      assert.matches(pair[2], brief[name])
    end
  end)

  it("gives what has a fixed length all its time from two hours on", function()
    local _, limits = parts()
    local _, shorter = parts("HOURS=2")
    for _, name in ipairs { "flood", "long", "hostile-valgrind", "hooks-5.4" } do
      assert.equal(limits[name], shorter[name], name)
    end
    assert.is_true(shorter.chaos < limits.chaos)
  end)

  it("has the histories of all its chaos judged", function()
    local commands = parts()
    for _, name in ipairs { "chaos", "chaos-armfuls", "chaos-jobs" } do
      local path = commands[name]:match("^HISTORY=(%S+) ")
      assert.matches(" " .. path, commands.history, 1, true)
    end
  end)

  it("refuses HOURS that are not a positive number", function()
    for _, hours in ipairs { "soon", "0", "-1", "1.2.3", ".", "0.0" } do
      local said, code = make("nightly", "HOURS=" .. hours)
      assert.equal(2, code, said)
      assert.matches("make nightly: HOURS > 0 expected, got '" .. hours .. "'", said, 1, true)
    end
  end)
end)
