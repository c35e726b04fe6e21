-- SPDX-License-Identifier: MIT
--- tools/recorder.lua with two scripts for its programs, and without servers.

local folder = require "spec.support.folder"
local process = require "spec.support.process"
local uv = require "luv"

local PATIENCE = require("spec.support.wait").PATIENCE

-- Three servers agree with the model. One server differs in two seeds: in the first once, and after a pause.
local REAL = [[
for seed in $(seq $2 $3); do
  echo seed $seed
  case $seed@$1 in
    1@*,*) ;;
    1@*) test -e "$0.paused" || { : >"$0.paused"; sleep 3.1; echo late; } ;;
    2@*) echo never ;;
  esac
  echo same
done]]
local MODEL = "for seed in $(seq $2 $3); do echo seed $seed; echo same; done"

local WITHOUT_SERVERS = [[
  local function nothing() end
  local one = { port = 1, hosts = "one", exists_needs_read = nothing, stop = nothing }
  local cluster = { servers = { one, one, one }, links = { {}, {}, {} }, close = nothing }
  function cluster.leader() return 1 end
  package.loaded["spec.support.server"] = { start = function() return one end }
  package.loaded["spec.support.ensemble"] = { start = function() return cluster end }
]]

describe("tools/recorder.lua #once", function()
  local build

  local function script(name, text)
    local path = build .. "/recorder/" .. name
    local file = assert(io.open(path, "wb"))
    file:write("#!/bin/sh\n", text, "\n")
    file:close()
    assert(uv.fs_chmod(path, 448))
  end

  it("repeats a seed that differs after a pause; one that always differs has failed", function()
    build = folder.new("recorder")
    assert(uv.fs_mkdir(build .. "/recorder", 448))
    script("recorder_real", REAL)
    script("recorder_model", MODEL)
    local one = process.spawn { env = process.PLAIN_LUA, "lua5.4", "-e", WITHOUT_SERVERS, "tools/recorder.lua", build,
      "2" }
    local code = one:wait(PATIENCE)
    local said = one:stdout() .. one:stderr()
    assert.equal(1, code, said)
    assert.matches("repeated: one server, seed 1: the machine stood still for %d+%.%d s\n", said)
    assert.matches("FAILED  one server, seed 2: the model is wrong\n", said, 1, true)
    assert.matches("\n2 passed, 1 failed\n$", said)
  end)
end)
