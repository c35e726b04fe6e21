-- SPDX-License-Identifier: MIT
--- Jobs and client:once() in the loops of cqueues, luv and Copas.

local fixture = require "spec.support.fixture"
local real_loops = require "spec.support.real_loops"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: ignore 113

local PATIENCE = require("spec.support.wait").PATIENCE
local HOUR = 3600
local yields_across_pcall = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

local function pack(...) return { n = select("#", ...), ... } end

for _, make in ipairs(real_loops.all()) do
  local loop = make()

  --- The results of fn, called in a coroutine of the loop, while the loop turns.
  local function call(fn)
    local results
    loop.spawn(function() results = pack(fn()) end)
    loop.run(function() return results or loop.errors[1] end)
    assert.same({}, loop.errors)
    return unpack(results, 1, results.n)
  end

  describe("in " .. loop.name, function()
    local here = fixture.new("/jobs-" .. loop.name)
    local client, path, errors

    before_each(function()
      path, errors, loop.errors = here.path, {}, {}
      client = call(function()
        return assert(zklock.connect(here.zk.hosts, { loop = loop.name, session_timeout = 6,
          on_error = function(message) errors[#errors + 1] = message end }))
      end)
    end)

    after_each(function()
      call(function() client:close() end)
      assert.same({}, errors)
      assert.same({}, loop.errors)
    end)

    it("two jobs go on while others run, one at a time, and stop", function()
      local inside, most, counts, jobs = 0, 0, { 0, 0 }, {}
      call(function()
        for i = 1, 2 do
          jobs[i] = client:job(path, function(_, hold)
            inside = inside + 1
            most = math.max(most, inside)
            for _ = 1, 3 do hold:sleep(0.001) end
            counts[i], inside = counts[i] + 1, inside - 1
          end, { pause = 0 })
        end
      end)
      local ticks = 0
      loop.spawn(function()
        while ticks < 5 do
          loop.rest()
          ticks = ticks + 1
        end
      end)
      loop.run(function() return counts[1] >= 3 and counts[2] >= 3 and ticks == 5 end)
      assert.equal(1, most)
      for i = 1, 2 do assert.is_true(call(function() return jobs[i]:stop(PATIENCE) end)) end
      assert.equal(0, inside)
    end)

    it("a function that ignores its hold leaves turns to others, also after close", function()
      local turns, go_on = 0, true
      local job = call(function()
        return client:job(path, function(_, hold)
          while go_on do
            hold:sleep(HOUR)
            turns = turns + 1
          end
        end)
      end)
      loop.run(function() return job:state() == "running" end)
      assert.same({ nil, "timeout" }, { call(function() return job:stop(0.05) end) })
      for _ = 1, 5 do call(loop.rest) end
      loop.run(function() return turns > 5 end)
      go_on = false
      assert.is_true(call(function() return job:stop(PATIENCE) end))
    end)

    it("close() waits for the function, which is told to stop", function()
      local begun, wrote
      call(function()
        client:job(path, function(_, hold)
          begun = true
          local ok, err = hold:sleep(HOUR)
          wrote = { ok, err, (client:create(path .. "-last", "", nil, PATIENCE)) }
        end)
      end)
      loop.run(function() return begun end)
      call(function() return client:close() end)
      assert.same({ false, "stopped", path .. "-last" }, wrote)
      here.tree:delete(path .. "-last")
    end)

    it("close() from inside the function leaves it its turn", function()
      local got
      call(function()
        client:job(path, function(_, hold)
          client:close()
          got = pack(hold:sleep(HOUR))
          if yields_across_pcall then got.again = pack(hold:sleep(HOUR)) end -- else nobody resumes it
        end)
      end)
      loop.run(function() return got and (got.again or not yields_across_pcall) end)
      assert.same({ false, "stopped" }, { got[1], got[2] })
      assert.same(yields_across_pcall and { false, "stopped", n = 2 } or nil, got.again)
    end)

    it("a job that was lost goes on", function()
      local runs = {}
      call(function()
        client:job(path, function(_, hold)
          local run = { node = hold:nodes()[1] }
          runs[#runs + 1] = run
          run.ended = pack(hold:sleep(HOUR))
        end, { pause = 0.01 })
      end)
      loop.run(function() return runs[1] end)
      here.tree:delete(runs[1].node)
      loop.run(function() return runs[2] end)
      assert.same({ false, "lost", n = 2 }, runs[1].ended)
    end)

    it("an error in a job goes to on_error, and the job goes on", function()
      local count = 0
      call(function()
        client:job(path, function()
          count = count + 1
          if count == 1 then error("boom") end
        end, { pause = 0.01 })
      end)
      loop.run(function() return count >= 2 end)
      assert.truthy(errors[1]:find("boom", 1, true))
      errors = {}
    end)

    it("client:once() suspends the coroutine that calls it", function()
      if not yields_across_pcall then return pending("plain Lua 5.1 cannot yield below `with`") end
      local order = {}
      loop.spawn(function()
        client:once(path, HOUR, function(_, hold)
          order[#order + 1] = "begun"
          repeat assert(hold:sleep(0.01)) until order[2]
          order[#order + 1] = "slept"
        end)
      end)
      loop.run(function() return order[1] end)
      order[#order + 1] = "meanwhile"
      local got = pack(call(function() return client:once(path, HOUR, print) end))
      assert.is_false(got[1])
      assert.same({ "begun", "meanwhile", "slept" }, order)
    end)
  end)
end
