-- SPDX-License-Identifier: MIT
--- The loops of zklock in finalizers, under LuaJIT, which is nginx's Lua. lua/zklock/base/each.lua says what is special
--- about them.

local nginx = require "spec.support.nginx"
local script = require "spec.support.script"

if not nginx.is_testable() then
  describe("compiled loops", function()
    it("are tested under LuaJIT, which compiles them", function() pending("not this one") end)
  end)
  return
end

local bit = require "bit"
local util = require "jit.util"

--- Calls visit(instruction, function, at) for each instruction of a function and of those inside it.
local function each_instruction(fn, visit)
  local at = 1
  while util.funcbc(fn, at) do
    visit(bit.band(util.funcbc(fn, at), 0xff), fn, at)
    at = at + 1
  end
  local number = -1
  while util.funck(fn, number) ~= nil do
    local constant = util.funck(fn, number)
    if type(constant) == "proto" then each_instruction(constant, visit) end
    number = number - 1
  end
end

--- The instructions that only a loop over a function named `pairs` has.
local function instructions_of_pairs()
  local special = {}
  each_instruction(loadstring("local pairs = ...; for _ in pairs(...) do end"), function(instruction)
    special[instruction] = true
  end)
  each_instruction(loadstring("local each = ...; for _ in each(...) do end"), function(instruction)
    special[instruction] = nil
  end)
  return special
end

--- A worker that writes what it counts `calls` times, and then once more, with other shapes, in a finalizer. Each turn
--- loads the code anew, so that LuaJIT compiles it anew, at another moment.
local WORKER = [[
  local finalizer = require "zklock.base.finalizer"
  local store = { add = function() return true end, raise = function() end,
    label_of = function(_, label) return label end }
  local function snapshot(list)
    return { counters = { a = list, b = list, c = list }, gauges = { zklock_last_run_timestamp_seconds = {} },
      histograms = {} }
  end
  local before, at_end = snapshot {}, snapshot { [""] = 1 }
  for turn = 1, 30 do
    for calls = 1, 30 do
      package.loaded["zklock.metrics.tally"] = nil
      local tally, finished = require "zklock.metrics.tally", false
      for _ = 1, calls do tally.add(store, {}, before) end
      finalizer(calls, function()
        tally.add(store, {}, at_end)
        finished = true
      end)
      collectgarbage()
      assert(finished, "turn " .. turn)
    end
  end
]]

describe("compiled loops", function()
  it("end in a finalizer, too, whose checks LuaJIT repeats", function()
    local worker = script.spawn(WORKER)
    local code = worker:wait()
    if not code then worker:kill() end
    assert.equal(0, code, worker:stderr())
  end)

  it("are loops over each, not over pairs or next, anywhere in zklock", function()
    local special, found, files = instructions_of_pairs(), {}, 0
    for path in io.popen("find " .. nginx.tree() .. "/lua/zklock -name '*.lua'"):lines() do
      files = files + 1
      each_instruction(assert(loadfile(path)), function(instruction, fn, at)
        if special[instruction] then found[#found + 1] = util.funcinfo(fn, at).loc end
      end)
    end
    assert.is_true(files > 50 and next(special) ~= nil)
    assert.same({}, found)
  end)
end)
