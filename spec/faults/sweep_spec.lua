-- SPDX-License-Identifier: MIT
--- Every wire operation of a mutex's acquire, wait, release, cancel and close, cut off in every way.

local scenarios = require "spec.support.scenarios"
local stage = require "spec.support.stage"

local MUTEX = { "acquire and release", "acquire again what was just released", "wait",
  "wait, with another one of ours behind", "release, with another one of ours behind", "cancel a wait",
  "cancel a request that was just made", "try", "close while holding", "close while waiting",
  "close with a create on its way", "close with a release on its way" }

local SAMPLE = { wait = true, ["close while holding"] = true }

describe("a fault at every wire operation #carried of", function()
  local house

  setup(function() house = stage.house("/sweep") end)
  before_each(function() house:open() end)
  after_each(function() house:shut() end)
  teardown(function() house:close() end)

  local function sweep(title, op, arm) house:sweep("mutex", scenarios[title], op, arm) end

  -- The engine is the same under every Lua: two scenarios run under all of them, each with every fault. The others run
  -- with the fault that leaves most in doubt, and in `make slow` with all.
  for _, title in ipairs(MUTEX) do
    for verb, fault in pairs(stage.FAULTS) do
      local tag = SAMPLE[title] and "" or verb == "lose_reply" and " #slow" or " #flood"
      it(("%s: %s%s"):format(title, fault, tag), function()
        sweep(title, "*", function(faulty, n) faulty[verb](faulty, "*", n) end)
      end)
    end
  end

  for _, title in ipairs { "wait", "wait, with another one of ours behind" } do
    for verb, fault in pairs { cut_before = "never heard", cut_after = "the last that is heard" } do
      it(("%s: an event %s #slow"):format(title, fault), function()
        sweep(title, "event", function(faulty, n) faulty[verb](faulty, "event", n) end)
      end)
    end
  end

  -- A second fault, while the first is being made good: many of those are in the simulation's histories.
  for _, title in ipairs { "wait", "release, with another one of ours behind", "cancel a request that was just made",
    "close while holding", "close with a create on its way" } do
    for m = 1, 5 do
      it(("%s: its reply lost, and so is that of the %d. request from there #flood"):format(title, m), function()
        sweep(title, "*", function(faulty, n)
          faulty:lose_reply("*", n)
          faulty:lose_reply("*", n + m)
        end)
      end)
    end
    for verb, fault in pairs { cut_before = "never arrives", lose_reply = "is not answered" } do
      it(("%s: its reply lost, and the first try to connect again %s #flood"):format(title, fault), function()
        sweep(title, "*", function(faulty, n)
          faulty:lose_reply("*", n)
          faulty[verb](faulty, "connect")
        end)
      end)
    end
  end
end)
