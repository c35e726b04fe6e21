-- SPDX-License-Identifier: MIT
--- tools/steady.sh with a script of ours in place of `make test`, in a repository of its own.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"
local wait = require "spec.support.wait"
local uv = require "luv"

local PATIENCE = 60
-- Fails at the run that is named, and writes what tools/suites.lua writes then.
local PLANTED = [[
echo run >>"$RUNS_DONE"
if [ "$(wc -l <"$RUNS_DONE")" -eq "$FAILS_AT" ]; then
  printf '[  FAILED  ] a_spec.lua @ 7: a lock (3.00 ms)\n[  FAILED  ] a_spec.lua @ 7: a lock\n'
  printf '[  ERROR   ] b_spec.lua @ 9: a setup\nFAILED  counts to three\n[  FAILED  ] 1 test, listed below:\n'
  printf -- '---- sim: it took longer than 9 s\n8 passed, 4 failed\n'
  exit 1
fi
echo 12 passed, 0 failed
]]

describe("tools/steady.sh #once", function()
  local here, ledger, done

  local function sh(script)
    local one = process.spawn { env = process.PLAIN, cwd = here, "sh", "-ec", script }
    assert.equal(0, (one:wait(PATIENCE)), one:stderr())
    return one:stdout()
  end

  before_each(function()
    here = folder.new "steady"
    ledger, done = folder.new "ledger" .. "/runs", folder.new "done" .. "/done"
    file.write(done, "")
    sh "git init -q; git config user.name a; git config user.email a@b; git commit -q --allow-empty -m one"
  end)

  local function start(runs, load, script, fails_at)
    return process.spawn { cwd = here, uv.cwd() .. "/tools/steady.sh", runs, load, ledger, "sh", "-c", script,
      env = { LD_PRELOAD = false, RUNS_DONE = done, FAILS_AT = fails_at or 0 } }
  end

  --- Its exit status, what it said, and the lines of the ledger without their seconds.
  local function run(runs, load, fails_at)
    local one = start(runs, load, PLANTED, fails_at)
    local code = one:wait(PATIENCE)
    return code, one:stdout() .. one:stderr(), (file.read(ledger):gsub("(%x+%+? %d+) %d+ ", "%1 "))
  end

  local function commit() return sh "git rev-parse --short=12 HEAD":match("%x+") end
  local function runs_done() return select(2, file.read(done):gsub("run\n", "")) end

  --- The busy loops of that process.
  local function loops_of(pid)
    local one, pids = process.spawn { env = process.PLAIN, "ps", "-o", "pid=,args=", "--ppid", pid }, {}
    one:wait(PATIENCE)
    for loop in one:stdout():gmatch(" *(%d+)[^\n]* while :; do :; done") do pids[#pids + 1] = loop end
    return pids
  end

  local function is_loop(pid)
    local found, words = pcall(file.read, "/proc/" .. pid .. "/cmdline")
    return found and words:find("while :; do :; done", 1, true)
  end

  it("runs the command so many times, and notes each", function()
    local code, said, noted = run(3, 0)
    assert.equal(0, code, said)
    assert.equal((commit() .. " 0 passed 12 passed, 0 failed\n"):rep(3), noted)
    assert.matches("\n3 passed, 0 failed\n$", said)
    assert.equal(3, runs_done())
  end)

  it("goes on where the last call ended, for the same commit and load", function()
    run(2, 0)
    run(1, 1)
    assert.equal(3, runs_done())
    local code, said = run(5, 0)
    assert.equal(0, code, said)
    assert.equal(6, runs_done())
    assert.matches("^2 of 5 runs", said)
    sh "git commit -q --allow-empty -m two"
    run(2, 0)
    assert.equal(8, runs_done())
  end)

  it("ends with the names of the tests that failed, and begins a new row", function()
    local code, said, noted = run(5, 0, 2)
    assert.equal(2, code)
    assert.matches("8 passed, 4 failed\n%[  FAILED  %] a_spec.lua @ 7: a lock\n%[  ERROR   %] b_spec.lua @ 9: a setup\n"
      .. "FAILED  counts to three\n%-%-%-%- sim: it took longer than 9 s\ntools/steady.sh: run 2 failed", said)
    assert.equal(commit() .. " 0 passed 12 passed, 0 failed\n" .. commit() .. " 0 failed 8 passed, 4 failed\n", noted)
    code = run(2, 0)
    assert.equal(0, code)
    assert.equal(4, runs_done())
  end)

  it("counts no former run of a tree with uncommitted changes", function()
    sh "touch new"
    run(2, 0)
    local _, _, noted = run(2, 0)
    assert.equal((commit() .. "+ 0 passed 12 passed, 0 failed\n"):rep(4), noted)
  end)

  it("fails when the tree changes under it", function()
    local one = start(3, 0, "touch new")
    assert.equal(2, (one:wait(PATIENCE)))
    assert.matches("the tree has changed", one:stderr())
    assert.equal("", file.read(ledger))
  end)

  for title, how in pairs { ["its run fails"] = { ends = "exit 1" }, ["it is told to end"] = { signal = "sigterm" },
      ["it is killed"] = { signal = "sigkill" } } do
    it("runs beside busy loops, which end when " .. title, function()
      local gate = folder.new "gate" .. "/gate"
      local one = start(1, 3, ("while [ ! -e %s ]; do sleep 0.1; done; %s"):format(gate, how.ends or ""))
      local loops = wait.eventually(function()
        local found = loops_of(one.pid)
        return #found == 3 and found
      end)
      if how.signal then one:signal(how.signal) else file.write(gate, "") end
      local code, signal = one:wait(PATIENCE)
      file.write(gate, "")
      assert.is_true(code > 0 or signal > 0)
      wait.eventually(function()
        for _, pid in ipairs(loops) do
          if is_loop(pid) then return nil, pid end
        end
        return true
      end, nil, "the end of the loops")
    end)
  end

  it("refuses numbers that are none", function()
    for _, words in ipairs { { "0", "0" }, { "x", "0" }, { "", "0" }, { "1", "-1" }, { "1", "x" } } do
      local one = start(words[1], words[2], "true")
      assert.equal(2, (one:wait(PATIENCE)))
      assert.matches(" expected, got '", one:stderr())
    end
  end)
end)
