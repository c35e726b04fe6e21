-- SPDX-License-Identifier: MIT
--- Data of one version of `zklock run` for another (docs/stability.md), byte by byte. The bytes are those of 1.0.0:
--- every later 1.x reads them, and writes what these specs accept.

local command = require "spec.support.command"
local file = require "spec.support.file"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local uv = require "luv"
local wait = require "spec.support.wait"

local TOKEN = "4294967338" -- of an earlier run
local LOST = 75

describe("a run of another version #once", function()
  local here = fixture.new("/formats")

  local at = command.at(here)
  local run = at.run

  --- A `run` whose command waits. Its first line is the token and ZKLOCK_RUN.
  local function start(...)
    local one, line = at.holder("echo $ZKLOCK_TOKEN $ZKLOCK_RUN; cat", ...)
    return one, line:match "^(%d+) (.*)$"
  end

  it("has left the mark of --every: a node whose data is a token in decimal", function()
    local mark = here.path .. "/once-2147483647"
    assert(here.tree:create(mark, TOKEN, { parents = true }))
    assert.same({ code = 0, out = "", err = "" }, run("--every", "3600", here.path, "echo", "ran"))
    local ended = run("--every", "0.001", here.path, "sh", "-c", "printf $ZKLOCK_TOKEN")
    local data, stat = here.tree:get(mark)
    assert.same({ 0, data }, { ended.code, ended.out })
    assert.not_equal(TOKEN, data)
    assert.equal("0x0", stat.ephemeralOwner)
  end)

  it("has left the report, whose latest success lasts", function()
    local path = folder.file("job.prom", ([[
# HELP zklock_run_outcome 1: the latest run ended so.
# TYPE zklock_run_outcome gauge
zklock_run_outcome{path="@",outcome="ok"} 1
# HELP zklock_run_last_success_timestamp_seconds When the command ended with 0 for the last time on this machine.
# TYPE zklock_run_last_success_timestamp_seconds gauge
zklock_run_last_success_timestamp_seconds{path="@"} 1234567890.125
]]):gsub("@", here.path))
    assert.equal(7, run("--report", path, here.path, "sh", "-c", "exit 7").code)
    local series = {}
    for line in file.read(path):gmatch "[^\n]+" do
      if not line:find "^#" then series[#series + 1] = line:gsub(here.path, "@"):gsub(" [%d.]+$", "") end
    end
    local expected = {}
    for _, outcome in ipairs { "ok", "failed", "lost", "revoked", "busy", "skipped", "signal", "error" } do
      expected[#expected + 1] = ('zklock_run_outcome{path="@",outcome="%s"}'):format(outcome)
    end
    for _, name in ipairs { "exit_code", "wait_seconds", "hold_seconds", "end_timestamp_seconds",
      "last_success_timestamp_seconds" } do
      expected[#expected + 1] = ('zklock_run_%s{path="@"}'):format(name)
    end
    assert.same(expected, series)
    assert.is_truthy(file.read(path):find('_seconds{path="' .. here.path .. '"} 1234567890.125\n', 1, true))
  end)

  describe("and `zklock held` of this one", function()
    --- In a run's directory: a run that answers every question with these bytes.
    local function answering(bytes)
      local directory = folder.new("run")
      local listener = here:closes(uv.new_pipe(false), function(it) it:close() end)
      assert(listener:bind(directory .. "/held"))
      assert(listener:listen(8, function()
        local link = uv.new_pipe(false)
        listener:accept(link)
        link:write(bytes, function() link:close() end)
      end))
      return directory
    end

    local function held(directory) return command.run { "held", env = { ZKLOCK_RUN = directory } } end

    local function message(version, left) return string.pack("=I4I4I4I4i8", version, 0, 0, 0, left) end

    it("is answered with a version and nanoseconds", function()
      local ended = held(answering(message(1, 3600 * 1000000000)))
      assert.same({ 0, "" }, { ended.code, ended.err })
      assert.matches("^3[56]%d%d%.%d%d%d\n$", ended.out)
      assert.equal(LOST, held(answering(message(1, 0))).code)
    end)

    it("takes an answer of a version that it does not know for none", function()
      local ended = held(answering(message(2, 3600 * 1000000000)))
      assert.same({ LOST, "" }, { ended.code, ended.out })
    end)

    it("has such an answer from a run of this version", function()
      local _, _, directory = start()
      local link, said, ended = here:closes(uv.new_pipe(false), function(it) it:close() end), "", false
      link:connect(directory .. "/held", function(err)
        assert(not err, err)
        link:read_start(function(_, data) said, ended = said .. (data or ""), data == nil end)
      end)
      wait.eventually(function() return ended end)
      local version, first, second, third, left, rest = string.unpack("=I4I4I4I4i8", said)
      assert.same({ 1, 0, 0, 0, #said + 1 }, { version, first, second, third, rest })
      assert.is_true(left > 0)
    end)
  end)
end)
