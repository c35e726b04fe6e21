-- SPDX-License-Identifier: MIT
--- `make mutants` on a program of a few lines: what it changes, and that it sees what a test notices and what not.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local SOURCE = [[
#include <stdbool.h>
typedef enum side { LEFT, RIGHT } side;
/* tried */
int larger(int a, int b) {
    if (a > b)
        return a;
    return b;
}
/* not tried */
int forgotten(int a) {
    return a + 1;
}
static int calls;
/* its answer is looked at, the count is not */
bool is_right(side s) {
    calls = 2;
    return s == RIGHT;
}
/* one that hangs when it is changed */
int down(int n) {
    while (n > 0)
        n--;
    return n;
}
/* to look again only takes time */
int looked_at(int a) {
    static int known;
    if (known == a)
        return known;
    known = a;
    return known;
}
/* nothing is wrong with it when it is changed, but it costs more */
int price(int n) {
    return n + 3;
}
]]
local TEST = [[
#include <stdbool.h>
int larger(int, int); bool is_right(int); int down(int); int price(int); int looked_at(int);
int main(void) {
    return looked_at(2) != 2 || looked_at(3) != 3 ||
        larger(1, 2) != 2 || larger(2, 1) != 2 || larger(3, 3) != 3 || !is_right(1) || is_right(0) || down(3) != 0 ||
        price(1) == 70;
}
]]

-- The simulation looks at the price only when it is told to.
local SIMULATION = [[
#include <string.h>
int price(int);
int main(int argc, char **argv) {
    return argc > 1 && strcmp(argv[1], "costs") == 0 ? price(2) != 5 : 0;
}
]]

-- As `make -n -B` would say them.
local COMMANDS = [[
cc -O1 -fPIC -c -o build/engine/toy.o csrc/toy.c
cc -O1 -c -o build/toy.o spec/unit/toy.c
cc -O1 -c -o build/sim/main.o spec/sim/main.c
ar rcs build/libengine.a build/engine/toy.o
ar rcs build/libcounted.a build/engine/toy.o
cc -O1 -o build/unit/toy_test build/toy.o build/libengine.a -pthread
cc -O1 -o build/sim/simulation build/sim/main.o build/libcounted.a -pthread
]]

-- The same with gcov's counters.
local COUNTERS = [[
cc -O0 --coverage -c -o build/coverage/engine/toy.o csrc/toy.c
cc -O0 --coverage -o build/coverage/unit/toy_test spec/unit/toy.c build/coverage/engine/toy.o
]]

describe("make mutants #once", function()
  local toy, tree

  local function run(...)
    local env = { LD_PRELOAD = false, LUA_PATH_5_4 = tree .. "/?.lua;;", LUA_CPATH_5_4 = ";;" }
    local one = process.spawn { cwd = toy, env = env, ... }
    local code = one:wait(120)
    return one:stdout() .. one:stderr(), code
  end

  local function mutants(count)
    local tool = tree .. "/tools/mutants/run.lua"
    return run("lua5.4", tool, "build", "build/coverage", tostring(count or 0), "1", "csrc/toy.c")
  end

  local function build()
    for _, commands in ipairs { "build/commands", "build/counters" } do
      local said, code = run("sh", "-e", commands)
      assert.equal(0, code, said)
    end
  end

  --- One change by hand: what it said.
  local function try(first, behind, text)
    file.write(toy .. "/build/plan", ("csrc/toy.c\t%d\t%d\tby hand\ttoy_test\t%s\n"):format(first, behind, text))
    for _, tests in ipairs { "quick", "slow" } do
      local verdict = run("lua5.4", tree .. "/tools/mutants/try.lua", "build", tests, "1"):match("^1\t(%a+)")
      if verdict ~= "open" then return verdict end
    end
  end

  setup(function()
    toy, tree = folder.new("mutants"), process.spawn({ "pwd" }):read_line()
    run("mkdir", "-p", "csrc", "spec/unit", "spec/sim", "fuzz", "build/engine", "build/unit", "build/sim",
      "build/coverage/engine", "build/coverage/counted", "build/coverage/unit")
    file.write(toy .. "/csrc/toy.c", SOURCE)
    file.write(toy .. "/spec/unit/toy.c", TEST)
    file.write(toy .. "/spec/sim/main.c", SIMULATION)
    file.write(toy .. "/spec/equivalent.txt",
      "toy.c forgotten: + to - -- nobody asks\ntoy.c looked_at: saves work -- it is the same\n")
    file.write(toy .. "/spec/uncovered.txt", "")
    file.write(toy .. "/build/commands", COMMANDS)
    file.write(toy .. "/build/counters", COUNTERS)
    build()
  end)

  teardown(function() folder.remove(toy) end)

  it("says what is killed, what survives, what hangs, and what is judged; then it knows it", function()
    local said, code = mutants()
    assert.not_equal(0, code)
    local function told(verdict, of) return said:find(("%s +csrc/toy%%.c:%%d+: %s"):format(verdict, of)) end
    assert.is_truthy(told("killed", "larger: a > b => a <= b"), said)
    assert.is_truthy(told("killed", "is_right: RIGHT => LEFT"), said)
    assert.is_truthy(told("killed", "is_right: s == RIGHT => s != RIGHT"), said)
    assert.is_truthy(told("killed", "down: n%-%- => n%+%+"), said)
    assert.is_truthy(told("SURVIVED", "forgotten: 1 => 2  %[toy%.c forgotten: number %+ 1%]"), said)
    assert.is_falsy(said:find("looked_at: known == a => false", 1, true), said)
    assert.is_truthy(said:find("killed +csrc/toy%.c:%d+: price: 3 => 4 +%(costs, "), said)
    assert.is_truthy(told("same", "larger: a > b => a >= b"), said)
    assert.is_falsy(said:find("forgotten: a + 1 => a - 1", 1, true), said)
    local sum = said:match("\n(%d+ of %d+ killed[^\n]*)")
    local again = mutants()
    assert.is_truthy(again:find(" 0 are tried now", 1, true), again)
    assert.equal(sum, again:match("\n(%d+ of %d+ killed[^\n]*)"))
  end)

  it("tells the survivors of a sample, which fails it if its share of all mutants is too small", function()
    local function sample(percent)
      return run("lua5.4", tree .. "/tools/mutants/run.lua", "-l", "60", "-p", percent, "build", "build/coverage", "0",
        "1", "csrc/toy.c")
    end
    local said, code = sample("50")
    assert.matches("SURVIVED +csrc/toy%.c:%d+: forgotten: 1 => 2", said)
    assert.matches("\n%d+ passed, 0 failed\n$", said)
    assert.equal(0, code, said)
    local least, most = said:match("of all such mutants ([%d.]+) to ([%d.]+) %%")
    assert.is_true(tonumber(least) < tonumber(most), said)
    said, code = sample(("%.1f"):format(most + 0.1))
    assert.matches("\n%d+ passed, [1-9]%d* failed\n$", said)
    assert.not_equal(0, code, said)
    said, code = sample("none")
    assert.matches("-p: percent > 0 expected, got none", said, 1, true)
    assert.not_equal(0, code, said)
  end)

  it("tries survivors again when a test has changed, and then says that it is good", function()
    mutants()
    local declared = file.replace(TEST, "int larger", "int forgotten(int); int larger")
    file.write(toy .. "/spec/unit/toy.c", file.replace(declared, "return looked", "return forgotten(1) != 2 || looked"))
    build()
    local said, code = mutants()
    assert.is_truthy(said:find("killed +csrc/toy%.c:%d+: forgotten: 1 => 2"), said)
    assert.equal(0, code, said)
  end)

  it("begins no mutant after its time, and goes on with the rest in the next run", function()
    run("rm", "-f", "build/tried")
    local said = run("lua5.4", tree .. "/tools/mutants/run.lua", "-l", "1", "build", "build/coverage", "0", "1",
      "csrc/toy.c")
    local left = tonumber(said:match("\nthe time is over: (%d+) are left for the next run\n"))
    assert.is_truthy(left, said)
    assert.matches("\n%d+ passed, %d+ failed\n", said)
    said = mutants()
    assert.matches((" %d are tried now"):format(left), said, 1, true)
    assert.is_nil(said:find("the time is over", 1, true), said)
  end)

  it("fails while spec/equivalent.txt has an entry of nothing that is there", function()
    local entries = file.read(toy .. "/spec/equivalent.txt")
    file.write(toy .. "/spec/equivalent.txt", entries .. "toy.c larger: number + 1, condition true -- why\n")
    local said, code = mutants()
    assert.is_truthy(said:find("is not there: toy.c larger: number + 1\n", 1, true), said)
    assert.is_falsy(said:find("is not there: toy.c larger: condition true", 1, true), said)
    assert.not_equal(0, code)
    file.write(toy .. "/spec/equivalent.txt", entries)
  end)

  it("fails when one cannot be tried, also in the batch in which its time is over", function()
    mutants() -- builds what the trials need
    local commands = file.replace(COMMANDS, "cc -O1 -fPIC -c", "./slow -O1 -fPIC -c")
    file.write(toy .. "/slow", "#!/bin/sh\nsleep 1\n") -- and makes no object, with which a trial goes on
    run("chmod", "+x", "slow")
    run("rm", "-f", "build/tried")
    file.write(toy .. "/build/commands", commands)
    local tool = tree .. "/tools/mutants/run.lua"
    local said, code = run("lua5.4", tool, "-l", "4", "build", "build/coverage", "0", "1", "csrc/toy.c")
    file.write(toy .. "/build/commands", COMMANDS)
    assert.matches("\n%d+ could not be tried\n", said)
    assert.matches("\nthe time is over: %d+ are left for the next run\n", said)
    assert.not_equal(0, code)
  end)

  it("is not fooled by a comment, nor by a change that does nothing", function()
    local at = SOURCE:find("/* tried */", 1, true)
    assert.equal("same", try(at, at, "/* more */"))
    local body = SOURCE:find("    if (a > b)", 1, true)
    assert.equal("survived", try(body, body, "volatile int nothing = a; (void)nothing;"))
    assert.equal("killed", try(body, body, "return 0;"))
    assert.equal("broken", try(body, body, "no C"))
  end)

  it("refuses to judge anything when a test fails without a change", function()
    run("rm", "-f", "build/tried")
    file.write(toy .. "/spec/unit/toy.c", "int main(void) { return 1; }\n")
    build()
    local said, code = mutants()
    assert.not_equal(0, code)
    assert.is_truthy(said:find("toy_test fails although nothing is changed", 1, true), said)
    file.write(toy .. "/spec/unit/toy.c", TEST)
    file.write(toy .. "/spec/sim/main.c", "int main(void) { return 1; }\n")
    build()
    said, code = mutants()
    assert.not_equal(0, code)
    assert.is_truthy(said:find("the simulation fails although nothing is changed", 1, true), said)
  end)
end)

describe("the changes of make mutants #once", function()
  local syntax, source

  setup(function() syntax, source = require "tools.mutants.syntax", folder.new("changes") .. "/one.c" end)
  teardown(function() folder.remove(source:match("^(.*)/")) end)

  --- The keys of all changes in a source, each true; and how many more there are that no test can notice.
  local function changes(text)
    file.write(source, text)
    local list, skipped = assert(syntax.changes(source))
    local keys = {}
    for _, change in ipairs(list) do keys[change.key:match("/one%.c (.*)")] = change.look or true end
    return keys, skipped
  end

  it("keep their keys when a variable gets another name", function()
    local text = "int sum(int a) { if (a > 3 && a < 9) return a + 1; return a - 1; }\n"
    local keys = changes(text)
    assert.is_truthy(keys["sum: > to >="] and keys["sum: right of &&"] and keys["sum: number + 1 #3"])
    assert.same(keys, (changes((text:gsub("%f[%w]a%f[%W]", "amount")))))
  end)

  it("leave out whole classes that no test can notice", function()
    local keys, skipped = changes [[
      #include <stdio.h>
      #include <stdlib.h>
      typedef struct { int id, what, number; } zkl_return;
      zkl_return answer(void) { return (zkl_return){7, 0, 0}; }
      char *room(size_t n) { return malloc(n + 1); }
      char *text(int n) { char *s; return asprintf(&s, "%d", n) < 0 ? NULL : s; }
      int other(int n) { return n < 0; }
    ]]
    assert.equal(5, skipped)
    for _, key in ipairs { "answer: number + 1 #2", "answer: number + 1 #3", "room: number + 1", "text: < to <=",
      "text: number + 1" } do
      assert.is_nil(keys[key], key)
    end
    for _, key in ipairs { "answer: number + 1", "answer: number - 1", "room: number - 1", "room: + to -",
      "text: < to >=", "text: condition true", "other: < to <=", "other: number + 1" } do
      assert.is_truthy(keys[key], key)
    end
  end)

  it("say which of them only let a condition save less work", function()
    local keys = changes [[
      #include <stdbool.h>
      void work(void);
      void one(bool a, bool b) { if (a || b) return; work(); }
      void two(bool a, bool b) { if (!a) { work(); } if (a && b) work(); }
      void both(bool a) { if (a) work(); else a = false; }
    ]]
    local saves = {}
    for key, look in pairs(keys) do
      if look ~= true then saves[#saves + 1] = key .. ": " .. look:match("/one%.c %w+: (.*)") end
    end
    table.sort(saves)
    assert.same({
      "one: condition false: saves work", "one: left of ||: saves work", "one: right of ||: saves work",
      "one: || to &&: saves work", "two: && to ||: saves work #2", "two: condition true #2: saves work #2",
      "two: condition true: saves work", "two: left of &&: saves work #2", "two: right of &&: saves work #2",
    }, saves)
  end)
end)

describe("the check of the entries about mutants #once", function()
  local root

  setup(function() root = folder.new("stale") end)
  teardown(function() folder.remove(root) end)

  local function check(equivalent, uncovered)
    process.spawn({ "mkdir", "-p", root .. "/csrc/line", root .. "/spec" }):wait()
    file.write(root .. "/csrc/line/one.c", "static int larger(int a) {\n    return a + 1; /* no smaller */\n}\n")
    file.write(root .. "/spec/equivalent.txt", equivalent)
    file.write(root .. "/spec/uncovered.txt", uncovered)
    local tree = process.spawn({ "pwd" }):read_line()
    local env = { LD_PRELOAD = false, LUA_PATH_5_4 = tree .. "/?.lua;;", LUA_CPATH_5_4 = ";;" }
    local one = process.spawn { "lua5.4", tree .. "/tools/mutants/stale.lua", cwd = root, env = env }
    local code = one:wait()
    return one:stdout() .. one:stderr(), code
  end

  it("passes while their files, changes and lines are there", function()
    local said, code = check("line/one.c larger: + to -, number + 1 -- why\n",
      "line/one.c: return a + 1; -- why\nline/one.c: * -- why\n")
    assert.equal("", said)
    assert.equal(0, code)
  end)

  it("names those of which something is gone", function()
    local said, code = check("line/one.c larger: + to -, number + 1 #2 -- why\nline/two.c larger: * -- why\n",
      "line/one.c: return b; -- why\n")
    assert.equal("is not there: line/one.c larger: number + 1 #2\nis not there: line/two.c larger: *\n"
      .. "is not there: line/one.c: return b;\n", said)
    assert.equal(1, code)
  end)
end)
