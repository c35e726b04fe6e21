-- SPDX-License-Identifier: MIT
--- Every wire operation of `client:once`, cut off in every way: "before" never does it twice, "after" never not at all.

local fixture = require "spec.support.fixture"
local stage = require "spec.support.stage"

local FOR_EVER = 3600 -- seconds: no play takes as long
local MARKS = { "before", "after" }
local TRIES = 20
local PATIENCE = stage.PATIENCE

describe("a fault at every wire operation #once: client:once,", function()
  local here = fixture.new("/jobs-sweep", { session_timeout = 12 })
  local faulty, played

  setup(function()
    faulty, played = here:proxy { doors = 5 }, 0
  end)

  --- Asks until the answer is certain.
  ---@param path string
  ---@param mark string
  ---@param client zklock.Client
  ---@return integer ran how often
  ---@return table answers
  local function insist(client, path, mark)
    local ran, answers = 0, {}
    repeat
      local done, err = client:once(path, FOR_EVER, function(token, hold)
        ran = ran + 1
        assert(hold:token() == token or hold:token() == nil)
        client:sleep(0) -- the others get a turn
      end, { mark = mark, timeout = PATIENCE })
      answers[#answers + 1] = done == nil and err or done
    until done ~= nil or #answers == TRIES
    return ran, answers
  end

  --- Nobody does it again, and nothing but the mark is left.
  local function is_done(path)
    local other = here.other
    assert.is_false((other:once(path, FOR_EVER, error, { timeout = PATIENCE })))
    assert(other:flush(PATIENCE))
    assert.same({ "once-2147483647" }, here.tree:children(path))
  end

  --- Its session ends while the proxy holds something up.
  local function end_session(client)
    faulty:expire_session(client:session_id())
    faulty:cut()
    faulty:heal()
  end

  --- Once with a fault, in a session of its own. Gives how many requests went by, and whether the fault struck.
  local function play(mark, arm, look)
    played = played + 1
    local path = ("%s/%d"):format(here.path, played)
    local client = here:connect_to(faulty.hosts, { connect_timeout = PATIENCE })
    faulty:reset()
    arm()
    local armed, ran, answers = faulty:pending(), nil, nil
    client:spawn(function() ran, answers = insist(client, path, mark) end)
    here:eventually(function()
      if faulty:is_holding() then end_session(client) end
      return answers and client:flush(0.05)
    end, "a certain answer, and the release")
    look(ran, answers)
    local struck, total = faulty:pending() < armed, faulty:counts().total
    faulty:heal()
    client:close()
    is_done(path)
    return total, struck
  end

  --- Faults at the first operation, the second, ... until there is none any more.
  local function sweep(mark, arm, look)
    local total = play(mark, function() end, look)
    local n, strikes, struck = 0, 0, nil
    repeat
      n = n + 1
      local ok, err = pcall(function()
        struck = select(2, play(mark, function() arm(n) end, look))
      end)
      if not ok then error(("at operation %d: %s"):format(n, type(err) == "table" and err.message or err), 0) end
      if struck then strikes = strikes + 1 end
    until n > total and not struck
    assert(strikes >= 8, ("the faults struck %d times only"):format(strikes)) -- join, time, mark, kinds, write, release
  end

  before_each(function() here.other = here:connect() end)

  for _, mark in ipairs(MARKS) do
    for verb, fault in pairs(stage.FAULTS) do
      it(("mark %s: %s"):format(mark, fault), function()
        sweep(mark, function(n) faulty[verb](faulty, "*", n) end, function(ran, answers)
          assert.same({ true }, answers) -- the session has survived: whatever was lost is found out
          assert.equal(1, ran)
        end)
      end)
    end

    for verb, fault in pairs { hold_before = "before it is done", hold_reply = "before its reply comes" } do
      local tag = (verb == "hold_before" or mark == "after") and " #flood" or ""
      it(("mark %s: the session ends %s%s"):format(mark, fault, tag), function()
        sweep(mark, function(n) faulty[verb](faulty, "*", n) end, function(ran, answers)
          local last = answers[#answers]
          if mark == "before" then
            assert.is_true(ran == 1 or ran == 0 and last == false, ran)
          else
            assert.is_true(ran >= 1, ran)
          end
        end)
      end)
    end
  end
end)
