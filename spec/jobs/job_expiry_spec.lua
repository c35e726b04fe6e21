-- SPDX-License-Identifier: MIT
--- Jobs of a client that is cut off until its session ends.

local fixture = require "spec.support.fixture"
local jobs = require "spec.support.jobs"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE
local HOUR = 3600

local function pack(...) return { n = select("#", ...), ... } end

describe("client:job()", function()
  local here = fixture.new("/job-expiry", { super = true })
  local work = jobs.new(here)
  local path

  before_each(function() path = here.path end)

  it("goes on after its session has expired, whatever the job does #once", function()
    local faulty = here:proxy()
    local cut = here:connect_to(faulty.hosts, { session_timeout = 2, connect_timeout = PATIENCE })
    local other, runs, waiting, quicks = here:connect(), {}, {}, {}
    assert(other:mutex(path .. "/waiting"):acquire(PATIENCE))
    cut:job(path .. "/running", jobs.sleeper(runs), { pause = 0.01 })
    cut:job(path .. "/waiting", jobs.sleeper(waiting), { pause = 0.01 })
    cut:job(path .. "/pausing", jobs.quick(quicks), { pause = 0.01 })
    work:hear(runs)
    work:hear(quicks)
    local sessions = cut:stats().sessions
    faulty:black_hole()
    here:eventually(function() return not runs[1].hold:is_held() end)
    assert.is_nil(runs[1].ended) -- nobody knows yet
    here:eventually(function() return #here:nodes(path .. "/running") == 0 end)
    faulty:refuse()
    faulty:cut()
    faulty:heal()
    work:hear(runs, 2)
    assert.same({ false, "lost", n = 2 }, runs[1].ended)
    assert.is_true(cut:stats().sessions > sessions)
    local before = #quicks
    work:hear(quicks, before + 2)
    other:mutex(path .. "/waiting"):release()
    work:hear(waiting)
  end)

  it("does not begin a run on a grant that is no longer valid #once", function()
    local faulty = here:proxy()
    local cut = here:connect_to(faulty.hosts, { session_timeout = 2, connect_timeout = PATIENCE })
    local valid = {}
    cut:job(path, function(_, hold) valid[#valid + 1] = hold:validity() > 0 end, { pause = HOUR })
    wait.eventually(function() return cut:stats().acquired == 1 end)
    faulty:black_hole()
    wait.eventually(function() return #here:nodes() == 0 end, PATIENCE) -- nobody has polled
    cut:poll(0.2)
    assert.same({}, valid)
    faulty:refuse()
    faulty:cut()
    faulty:heal()
    here:eventually(function() return valid[1] ~= nil end)
    assert.is_true(valid[1])
  end)

  it("does not begin a run on a mark whose answer is found after the hold is over #once", function()
    for _, when in ipairs { "before", "after" } do
      for _, how in ipairs { "job", "once" } do
        local at = ("%s/%s-%s"):format(path, when, how)
        local faulty = here:proxy()
        local cut = here:connect_to(faulty.hosts, { session_timeout = 2, connect_timeout = PATIENCE })
        local valid, got = {}, nil
        local function fn(_, hold) valid[#valid + 1] = hold:validity() > 0 end
        faulty:hold_reply("multi", when == "before" and 2 or 1)
        if how == "job" then
          cut:job(at, fn, { every = HOUR, mark = when, pause = HOUR, pause_most = HOUR })
        else
          cut:spawn(function() got = pack(cut:once(at, HOUR, fn, { mark = when })) end)
        end
        wait.eventually(function()
          cut:poll(0)
          return faulty:is_holding()
        end, PATIENCE)
        local beats = cut:stats().heartbeat.count
        faulty:heal()
        -- Answers come in order: with those of two heartbeats the engine has that one, and nobody polls.
        wait.eventually(function() return cut:stats().heartbeat.count >= beats + 2 end, PATIENCE)
        faulty:black_hole()
        local left = when == "before" and 1 or 0
        wait.eventually(function() return #here.tree:children(at) == left end, PATIENCE)
        cut:poll(0.2)
        assert.same({}, valid)
        faulty:refuse()
        faulty:cut()
        faulty:heal()
        if how == "once" then
          here:eventually(function() return got end)
          assert.same({ nil, "lost" }, { got[1], got[2] })
        end
        cut:close()
      end
    end
  end)
end)
