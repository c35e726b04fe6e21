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
/* nothing is wrong with it when it is changed, but it costs more */
int price(int n) {
    return n + 3;
}
]]
local TEST = [[
#include <stdbool.h>
int larger(int, int); bool is_right(int); int down(int); int price(int);
int main(void) {
    return larger(1, 2) != 2 || larger(2, 1) != 2 || larger(3, 3) != 3 || !is_right(1) || is_right(0) || down(3) != 0 ||
        price(1) == 70;
}
]]

-- What is asked for is only looked at when it is told to.
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

describe("make mutants #once #bare", function()
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
    toy, tree = folder.new("mutants"), process.spawn({ "pwd" }):read_line(10)
    run("mkdir", "-p", "csrc", "spec/unit", "spec/sim", "fuzz", "build/engine", "build/unit", "build/sim",
      "build/coverage/engine", "build/coverage/counted", "build/coverage/unit")
    file.write(toy .. "/csrc/toy.c", SOURCE)
    file.write(toy .. "/spec/unit/toy.c", TEST)
    file.write(toy .. "/spec/sim/main.c", SIMULATION)
    file.write(toy .. "/spec/equivalent.txt",
      "toy.c forgotten: a + 1 => a - 1 -- nobody asks\ntoy.c gone: a => b -- it was there\n")
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
    assert.is_truthy(told("SURVIVED", "forgotten: 1 => 2"), said)
    assert.is_truthy(said:find("killed +csrc/toy%.c:%d+: price: 3 => 4 +%(costs, "), said)
    assert.is_truthy(told("same", "larger: a > b => a >= b"), said)
    assert.is_falsy(said:find("forgotten: a + 1 => a - 1", 1, true), said)
    assert.is_truthy(said:find("is not there: toy.c gone: a => b", 1, true), said)
    local sum = said:match("\n(%d+ of %d+ killed[^\n]*)")
    local again = mutants()
    assert.is_truthy(again:find(" 0 are tried now", 1, true), again)
    assert.equal(sum, again:match("\n(%d+ of %d+ killed[^\n]*)"))
  end)

  it("tries survivors again when a test has changed, and then says that it is good", function()
    mutants()
    local declared = file.replace(TEST, "int larger", "int forgotten(int); int larger")
    file.write(toy .. "/spec/unit/toy.c", file.replace(declared, "return larger", "return forgotten(1) != 2 || larger"))
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
