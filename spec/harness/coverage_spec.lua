-- SPDX-License-Identifier: MIT
--- `make coverage` on programs of a few lines: what it fails for, and what it only names.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

-- In each room: 40 lines that are run, and one that is not unless somebody asks for it.
local BODY = ("    a += 1;\n"):rep(40)
local SOURCE = "int %s(int a) {\n" .. BODY .. "    if (a < 0)\n        a = 7;\n    return a;\n}\n"
local ROOMS = {
  locks = "line/toy", query = "query/toy", recipe = "recipe/toy",
  session = "zookeeper/session", heart = "zookeeper/heart", once = "once/toy",
}
local TRANSITIONS = "legal\tstate: ON -> OFF\nlegal\tstate: OFF -> ON\nmade\tstate: ON -> OFF\n"

local REASONS = [[
What is missed, and why.
line/toy.c: a = 7; -- nobody is below zero
query/toy.c: a = 7; -- as above
recipe/toy.c: a = 7; -- as above
once/toy.c: a = 7; -- as above
zookeeper/session.c: a = 7; -- as above
zookeeper/heart.c: a = 7; -- elsewhere: a spec
state: OFF -> ON -- it stays off
]]

describe("make coverage #once", function()
  local toy, tree

  local function run(...)
    local env = { LD_PRELOAD = false, LUA_PATH_5_4 = ";;", LUA_CPATH_5_4 = ";;" }
    local one = process.spawn { cwd = toy, env = env, ... }
    local code = one:wait()
    return one:stdout() .. one:stderr(), code
  end

  --- Its output for that list, after the program has run with that number.
  local function coverage(reasons, number, transitions)
    file.write(toy .. "/spec/uncovered.txt", reasons)
    file.write(toy .. "/build/transitions", transitions or TRANSITIONS)
    run("sh", "-c", "find build -name '*.gcda' -delete")
    local _, code = run("build/program", tostring(number))
    assert.equal(0, code)
    return run("lua5.4", tree .. "/tools/coverage.lua", "build")
  end

  setup(function()
    toy, tree = folder.new("coverage"), process.spawn({ "pwd" }):read_line()
    local names, commands = {}, {}
    run("mkdir", "-p", "spec", "csrc/line", "csrc/once", "csrc/query", "csrc/recipe", "csrc/zookeeper",
      "build/engine/line", "build/engine/once", "build/engine/query", "build/engine/recipe", "build/engine/zookeeper")
    for name, path in pairs(ROOMS) do
      file.write(("%s/csrc/%s.c"):format(toy, path), SOURCE:format(name))
      names[#names + 1] = name
      commands[#commands + 1] = ("cc -O0 --coverage -c -o build/engine/%s.o csrc/%s.c"):format(path, path)
    end
    local calls = table.concat(names, "(a) + "):gsub("$", "(a)")
    local declared = table.concat(names, "(int), "):gsub("$", "(int)")
    file.write(toy .. "/main.c", ("#include <stdlib.h>\nint %s;\nint main(int n, char **v) {\n"
      .. "    int a = n > 1 ? atoi(v[1]) : 0;\n    return %s == 1;\n}\n"):format(declared, calls))
    commands[#commands + 1] = "cc --coverage -o build/program main.c build/engine/*/*.o"
    local said, code = run("sh", "-ec", table.concat(commands, "\n"))
    assert.equal(0, code, said)
  end)

  teardown(function() folder.remove(toy) end)

  it("is good when each line that is missed has its reason", function()
    local said, code = coverage(REASONS, 1)
    assert.equal(0, code, said)
    assert.is_truthy(said:find("csrc/line/toy.c:43: a = 7;  -- nobody is below zero", 1, true), said)
    assert.is_truthy(said:find("locks: 43 of 44 lines, 97.7 %, 0 without a reason", 1, true), said)
    assert.is_truthy(said:find("session: 86 of 87 lines", 1, true), said) -- but that of the heart
    assert.is_truthy(said:find("1 of 2 legal ones made, 0 without a reason", 1, true), said)
    assert.is_truthy(said:find("7 passed, 0 failed", 1, true), said)
  end)

  it("names what has a reason and was come by, and does not fail for it", function()
    local said, code = coverage(REASONS, -100, TRANSITIONS .. "made\tstate: OFF -> ON\n")
    assert.equal(0, code, said)
    assert.is_truthy(said:find("come by this time: line/toy.c: a = 7;", 1, true), said)
    assert.is_truthy(said:find("come by this time: state: OFF -> ON", 1, true), said)
    assert.is_falsy(said:find("come by this time: zookeeper/heart.c", 1, true), said)
  end)

  it("fails for a line or a change that is missed and has no reason", function()
    for _, line in ipairs { "query/toy.c: a = 7; -- as above\n", "state: OFF -> ON -- it stays off\n" } do
      local said, code = coverage(file.replace(REASONS, line, ""), 1)
      assert.not_equal(0, code, said)
      assert.is_truthy(said:find("1 without a reason", 1, true), said)
      assert.is_truthy(said:find("6 passed, 1 failed", 1, true), said)
    end
  end)

  it("fails for a reason whose line does not exist, and for an illegal transition", function()
    local said, code = coverage(REASONS .. "line/toy.c: a = 8; -- it was there\n", 1)
    assert.not_equal(0, code, said)
    assert.is_truthy(said:find("is not there: line/toy.c: a = 8;", 1, true), said)
    said, code = coverage(REASONS, 1, TRANSITIONS .. "illegal\tstate: ON -> ON\n")
    assert.not_equal(0, code, said)
    assert.is_truthy(said:find("illegal transition: state: ON -> ON", 1, true), said)
  end)
end)
