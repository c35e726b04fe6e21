-- SPDX-License-Identifier: MIT
--- Every wire operation of `client:job`, from the first wait to the end of its stop, cut off in every way.

local fixture = require "spec.support.fixture"
local stage = require "spec.support.stage"

local FOR_EVER = 3600 -- seconds: no play takes as long
local PATIENCE = stage.PATIENCE

local KINDS = {
  { name = "of a job", options = { pause = FOR_EVER } },
  { name = "of a job with every, mark before", options = { every = FOR_EVER, mark = "before" } },
  { name = "of a job with every, mark after", tag = " #flood", options = { every = FOR_EVER, mark = "after" } },
}

describe("a fault at every wire operation #once:", function()
  local here = fixture.new("/job-sweep", { session_timeout = 12 })
  local faulty, played, trouble

  setup(function()
    faulty, played = here:proxy { doors = 5 }, 0
  end)

  before_each(function() trouble = {} end)

  --- Two instances, the first behind the proxy. Gives how many requests went by, and whether the fault struck.
  local function play(options, arm)
    played = played + 1
    local path = ("%s/%d"):format(here.path, played)
    local function connect(hosts)
      return here:connect_to(hosts, { connect_timeout = PATIENCE,
        on_error = function(message) trouble[#trouble + 1] = tostring(message) end })
    end
    local ours, others = connect(faulty.hosts), connect(here.zk.hosts)
    local inside, ran = 0, { ours = 0, others = 0 }
    local function job(client, who)
      return client:job(path, function(token, hold)
        inside = inside + 1
        assert(inside == 1 and hold:token() == token, "two inside, or without the lock")
        ran[who] = ran[who] + 1
        local ok, err = hold:sleep(0.01)
        assert(ok, err)
        inside = inside - 1
      end, options)
    end
    faulty:reset()
    arm()
    local armed = faulty:pending()
    local first = job(ours, "ours")
    here:eventually(function() return ran.ours == 1 and inside == 0 end, "a run")
    local second = job(others, "others")
    here:eventually(function() return second:state() == "pausing" end, "the other")
    assert.is_true(first:stop(PATIENCE))
    assert(ours:flush(PATIENCE))
    assert.is_true(second:stop(PATIENCE))
    assert(others:flush(PATIENCE))
    assert.same({ ours = 1, others = options.every and 0 or 1 }, ran)
    assert.same(options.every and { "once-2147483647" } or {}, here.tree:children(path) or {})
    local struck, total = faulty:pending() < armed, faulty:counts().total
    assert.equal(1, ours:stats().sessions)
    faulty:heal()
    ours:close()
    others:close()
    return total, struck
  end

  for _, kind in ipairs(KINDS) do
    for verb, fault in pairs(stage.FAULTS) do
      it(("%s: %s%s"):format(kind.name, fault, kind.tag or ""), function()
        local total = play(kind.options, function() end)
        local n, strikes, struck = 0, 0, nil
        repeat
          n = n + 1
          local ok, err = pcall(function()
            struck = select(2, play(kind.options, function() faulty[verb](faulty, "*", n) end))
          end)
          if not ok then error(("at operation %d: %s"):format(n, type(err) == "table" and err.message or err), 0) end
          if struck then strikes = strikes + 1 end
        until n > total and not struck
        assert.is_true(strikes >= 2, strikes)
        assert.same({}, trouble)
      end)
    end
  end
end)
