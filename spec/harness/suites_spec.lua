-- SPDX-License-Identifier: MIT
--- tools/suites.lua with suites of one shell command: what it counts, and when it ends a suite.

local folder = require "spec.support.folder"
local process = require "spec.support.process"

local PATIENCE = require("spec.support.wait").PATIENCE
local unpack = unpack or table.unpack -- luacheck: ignore 143

local WELL, HANGS = "echo 3 passed, 0 failed", "exec sleep 1000"

describe("tools/suites.lua #once", function()
  local logs

  before_each(function() logs = folder.new("suites") end)

  --- Its output and its exit status. It takes the first words as its options.
  local function run(...)
    local one = process.spawn { env = process.PLAIN_LUA, "lua5.4", "tools/suites.lua", "-o", logs, ... }
    local code = one:wait(PATIENCE)
    return one:stdout() .. one:stderr(), code
  end

  it("adds up the counts of all suites", function()
    local said, code = run("a=" .. WELL, "b=echo 1 passed, 2 failed; exit 1")
    assert.equal(1, code)
    assert.matches("\n4 passed, 2 failed\n$", said)
  end)

  it("ends a suite at the limit of its name, and counts one failure", function()
    local said, code = run("-l", "1000", "a=" .. WELL, "hangs@0.2=" .. HANGS, "b@1000=" .. WELL)
    assert.equal(1, code)
    assert.matches("hangs: it took longer than 0.2 s\n", said, 1, true)
    assert.matches("\n6 passed, 1 failed\n$", said)
  end)

  it("ends a suite without a limit of its own at that of -l", function()
    local said, code = run("-l", "0.2", "hangs=" .. HANGS, "a@1000=" .. WELL)
    assert.equal(1, code)
    assert.matches("hangs: it took longer than 0.2 s\n", said, 1, true)
    assert.matches("\n3 passed, 1 failed\n$", said)
  end)

  it("kills a suite that ignores the signal at its limit", function()
    local said, code = run("deaf@0.2=trap '' TERM; sleep 1000; echo late; sleep 1000")
    assert.equal(1, code)
    assert.matches("deaf: it took longer than 0.2 s\n", said, 1, true)
    assert.is_nil(said:find("late", 1, true))
    assert.matches("\n0 passed, 1 failed\n$", said)
  end)

  it("counts a failure when a suite reports success after its limit", function()
    local limit, said, code = 0.1
    repeat -- a shell on a busy machine needs more time until its trap is set
      limit = 2 * limit
      said, code = run(("late@%g=trap 'echo 5 passed, 0 failed; exit 0' TERM; sleep 1000"):format(limit))
    until limit > PATIENCE or said:find("5 passed", 1, true)
    assert.equal(1, code)
    assert.matches("\n5 passed, 1 failed\n$", said)
  end)

  it("shows at the end which tests were skipped, and why", function()
    local log = "skipped: a_spec.lua @ 1: eats: no food\\n"
      .. "\\n[==========] 2 tests from 1 test file ran. (1.00 ms total)\\n[  PASSED  ] 1 test.\\n"
      .. "[ SKIPPED  ] 1 test, listed below:\\n[ SKIPPED  ] a_spec.lua @ 1: eats\\n\\n 1 SKIPPED TEST\\n"
    local said, code = run("a=printf '" .. log .. "'")
    assert.equal(0, code, said)
    assert.matches("s\nskipped: a_spec.lua @ 1: eats: no food\n0 repeated, 3 at most\nsuites took %d+ s\n"
      .. "1 passed, 0 failed\n$", said)
  end)

  --- Suites with so many tests each that were repeated.
  local function with_repeats(...)
    local suites = {}
    for i, n in ipairs { ... } do
      local line = ("repeated: %d_spec.lua @ 1: waits: the machine stood still for 2.3 s\\nlost\\n"):format(i)
      suites[i] = ("%d=printf '%s2 passed, 0 failed\\n'"):format(i, line:rep(n))
    end
    return run(unpack(suites))
  end

  it("shows which tests were repeated, and allows three in a run", function()
    local said, code = with_repeats(2, 1)
    assert.equal(0, code, said)
    for i = 1, 2 do
      local line = ("\nrepeated: %d_spec.lua @ 1: waits: the machine stood still for 2.3 s\n"):format(i)
      assert.truthy(said:find(line, 1, true), said)
    end
    assert.matches("\n3 repeated, 3 at most\nsuites took %d+ s\n4 passed, 0 failed\n$", said)
  end)

  it("counts one failure when four were repeated", function()
    local said, code = with_repeats(3, 1)
    assert.equal(1, code)
    assert.matches("\n4 repeated, 3 at most\nsuites took %d+ s\n4 passed, 1 failed\n$", said)
  end)

  --- A suite that prints this text.
  local function printing(name, text)
    local path = folder.file(name .. ".log", text)
    return ("%s=cat %s; exit 1"):format(name, path)
  end

  it("shows at the end what each failed test wrote, and its name", function()
    local said, code = run("a=" .. WELL, printing("b", "[ RUN      ] a_spec.lua @ 1: eats\nnoise\n"
      .. "[       OK ] a_spec.lua @ 1: eats (1.00 ms)\n[ RUN      ] a_spec.lua @ 5: drinks\n"
      .. "a_spec.lua:7: Expected objects to be equal.\nPassed in:\n(number) 1\n"
      .. "[  FAILED  ] a_spec.lua @ 5: drinks (1.00 ms)\n"
      .. "\n[==========] 2 tests from 1 test file ran. (1.00 ms total)\n[  PASSED  ] 1 test.\n"
      .. "[  FAILED  ] 1 test, listed below:\n[  FAILED  ] a_spec.lua @ 5: drinks\n\n 1 FAILED TEST\n"),
      printing("c", "== one_test\nok      first\none.c:3: 1 is not 2\nFAILED  second\n1 passed, 1 failed\n"))
    assert.equal(1, code)
    local shown = assert(said:match("\n0 repeated, 3 at most\n(.*)suites took %d+ s\n5 passed, 2 failed\n$"), said)
    local b, c = shown:match("^(failed: b: [^\n]+%.log\n.-\n)(failed: c: .*)$")
    if not b then c, b = shown:match("^(failed: c: [^\n]+%.log\n.-\n)(failed: b: .*)$") end
    assert.equal("  a_spec.lua:7: Expected objects to be equal.\n  Passed in:\n  (number) 1\n"
      .. "  [  FAILED  ] a_spec.lua @ 5: drinks (1.00 ms)\n", b:gsub("^[^\n]+\n", ""), shown)
    assert.equal("  one.c:3: 1 is not 2\n  FAILED  second\n", c:gsub("^[^\n]+\n", ""), shown)
  end)

  it("shows at the end what a setup raised, and the test that ran when a suite was ended", function()
    local said = run(printing("setup", "[==========] Running tests from scanned files.\na_spec.lua:3: no server\n"
      .. "\n[==========] 0 tests from 1 test file ran. (1.00 ms total)\n[  PASSED  ] 0 tests.\n"
      .. "[  ERROR   ] 1 error, listed below:\n[  ERROR   ] a_spec.lua @ 1: \n\n 1 ERROR\n"))
    local shown = assert(said:match("\n0 repeated, 3 at most\n(.*)suites took "), said)
    assert.truthy(shown:find("  a_spec.lua:3: no server\n", 1, true), shown)
    local limit = 0.1
    repeat -- a shell on a busy machine needs more time until it has said it
      limit = 2 * limit
      said = run(("hangs@%g=echo '[ RUN      ] a_spec.lua @ 5: sleeps'; "):format(limit) .. HANGS)
    until limit > PATIENCE or said:find("sleeps", 1, true)
    assert.matches("log\n  %[ RUN      %] a_spec.lua @ 5: sleeps\n  it took longer than [%d.]+ s\nsuites took ", said)
  end)

  it("shows no more than 41 lines of failures, of long ones the beginning and the end", function()
    local function failing(name, tests, lines)
      local one = ("%sfirst\n%s[  FAILED  ] a @ 1: b (1.00 ms)\n"):format("[ RUN      ] a @ 1: b\n", ("x\n"):rep(lines))
      return printing(name, one:rep(tests) .. ("0 passed, %d failed\n"):format(tests))
    end
    local said = run(failing("many", 30, 20))
    local shown, more = said:match("\n0 repeated, 3 at most\n(.*)(failed: %d+ more\n)suites took ")
    assert.equal("failed: 22 more\n", more, said)
    assert.equal(40, select(2, shown:gsub("\n", "")))
    said = run(failing("long", 1, 100))
    shown = said:match("\n0 repeated, 3 at most\n(.*)suites took ")
    assert.equal(40, select(2, shown:gsub("\n", "")))
    assert.matches("log\n  first\n  x\n.*\n  %.%.%.\n.*  x\n  %[  FAILED  %] a @ 1: b %(1.00 ms%)\n$", shown)
  end)

  it("takes an @ or an = of the command as part of the command", function()
    local said, code = run("a=echo b@c=d; " .. WELL)
    assert.equal(0, code, said)
    assert.matches("\n3 passed, 0 failed\n$", said)
  end)

  it("refuses a limit that is not a positive number", function()
    for _, limit in ipairs { "soon", "0", "-1", "", "nan" } do
      local said, code = run("a@" .. limit .. "=" .. WELL)
      assert.equal(1, code)
      assert.matches("NAME@SECONDS=COMMAND with seconds > 0 expected, got a@" .. limit .. "=", said, 1, true)
    end
  end)
end)
