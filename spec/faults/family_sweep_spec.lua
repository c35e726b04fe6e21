-- SPDX-License-Identifier: MIT
--- Every wire operation of the other kinds of lock, and of revocation, cut off in every way.

local scenarios = require "spec.support.scenarios"
local stage = require "spec.support.stage"

local COMMON = { "acquire and release", "wait", "cancel a wait", "cancel a request that was just made", "try",
  "close while holding", "close while waiting", "close with a create on its way" }

local PLANS = {
  { "read lock", COMMON },
  { "write lock", COMMON },
  { "write lock among writers", { "downgrade" } },
  { "mutex with fair = false", COMMON },
  { "read lock with fair = false", COMMON },
  { "multilock", COMMON },
  { "semaphore", COMMON },
  { "mutex", { "ask the holder for it", "be asked for it" } },
}

-- The unit tests with random schedules cut, end and refuse everything for all kinds. On a real server `make test` plays
-- these with the fault that leaves most in doubt, and `make slow` all.
local QUICK = { wait = true, downgrade = true, ["ask the holder for it"] = true, ["be asked for it"] = true }

describe("a fault at every wire operation #once #carried:", function()
  local house

  setup(function() house = stage.house("/family-sweep") end)
  before_each(function() house:open() end)
  after_each(function() house:shut() end)
  teardown(function() house:close() end)

  for _, plan in ipairs(PLANS) do
    local kind, titles = plan[1], plan[2]
    for _, title in ipairs(titles) do
      for verb, fault in pairs(stage.FAULTS) do
        local tag = QUICK[title] and verb == "lose_reply" and "" or " #flood"
        it(("%s: %s: %s%s"):format(kind, title, fault, tag), function()
          house:sweep(kind, scenarios[title], "*", function(faulty, n) faulty[verb](faulty, "*", n) end)
        end)
      end
    end
  end
end)
