-- SPDX-License-Identifier: MIT
--- A session that ends at every wire operation of every kind of lock: who waited stands in line again, in its old
--- time, who held is told, and nothing that was half made is left.

local judge = require "spec.support.judge"
local stage = require "spec.support.stage"

local PATIENCE = stage.PATIENCE

local FAULTS = { cut_before = "that never arrives", lose_reply = "that is done, unanswered" }
local BOTH = { "cut_before", "lose_reply" }

-- All kinds do in their exits what a mutex does in its own; expiry_spec sees to it.
local PLANS = {
  { "read lock", { "lose_reply" } }, { "write lock", { "lose_reply" } }, { "multilock", BOTH }, { "semaphore", BOTH },
}

-- The unit tests end sessions of all kinds at random; the others are in `make slow`.
local QUICK = { semaphore = "lose_reply" }

describe("a session that ends at every wire operation #once:", function()
  local house

  setup(function() house = stage.house("/family-expiry") end)
  before_each(function() house:open() end)
  after_each(function() house:shut() end)
  teardown(function() house:close() end)

  --- Plays a wait, a hold and a release; from the fault on no server is there, until the session is over.
  local function play(kind, verb, n)
    local here, faulty = house:stage(kind), house.faulty
    local ours, former, struck = here.ours, here.client:session_id(), false

    --- Ends the session as soon as the fault has struck.
    local function await(condition, what)
      here:await(function()
        if not struck and here.client:state() == "suspended" then
          struck = true
          faulty:expire_session(former)
          faulty:heal()
        end
        return condition()
      end, what)
    end

    local function holds()
      if ours.lease then return ours.lease:is_held() end
      return ours.request:state() == "held"
    end

    local function has_session()
      return here.client:state() == "connected" and here.client:stats().sessions == (struck and 2 or 1)
    end

    here:another("maker"):visit(PATIENCE) -- the path is there
    here.first:acquire(PATIENCE)
    faulty:reset()
    faulty[verb](faulty, "*", n)
    faulty:refuse()
    ours:ask(PATIENCE)
    await(function() return #here:nodes() == here.counts.first + here.counts.waiting end, "ours to stand in line")
    here.first:leave()
    await(function() return ours.inside end, "ours to be granted the lock")
    if not struck then here.client:flush(0.02) end -- its last watches are on their way
    await(has_session, "a session")
    local lost = not holds()
    if not lost then
      here:ours_holds()
      ours:leave()
    else
      ours:lose()
      assert(here.client:stats().lost == 1, "the loss was not counted")
    end
    await(function() return here.client:flush(0.02) end, "the release")
    await(has_session, "the session that counts")
    here:becomes(0)
    here.last:ask(PATIENCE)
    here:await_inside(here.last)
    here.last:leave()
    here:becomes(0)
    local stats = here.client:stats()
    assert(stats.held == 0 and stats.waiting == 0 and #ours.answers == 1)
    faulty:heal()
    here.client:close()
    return struck
  end

  for _, plan in ipairs(PLANS) do
    local kind = plan[1]
    for _, verb in ipairs(plan[2]) do
      local fault = FAULTS[verb]
      it(("%s, %s%s"):format(kind, fault, QUICK[kind] == verb and "" or " #flood"), function()
        local n, struck = 0, nil
        repeat
          n = n + 1
          local ok, err = pcall(function() struck = play(kind, verb, n) end)
          if not ok then error(("at request %d: %s"):format(n, tostring(err)), 0) end
        until not struck
        assert.is_true(n > 4, "the faults hardly struck")
        judge.demand(house.store:judge { faults = true })
      end)
    end
  end
end)
