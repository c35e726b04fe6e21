-- SPDX-License-Identifier: MIT
--- The ends of jobs, and of their sleep.

local collect = require "spec.support.collect"
local fixture = require "spec.support.fixture"
local host = require "spec.support.host"
local jobs = require "spec.support.jobs"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE
local HOUR = 3600
local can_park = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

-- To LeakSanitizer a child has lost the memory that belongs to threads which it does not have.
local SANITIZER = os.getenv("ASAN_OPTIONS")
local OPTIONS = { env = SANITIZER and { ASAN_OPTIONS = SANITIZER .. ":detect_leaks=0" } }

local function pack(...) return { n = select("#", ...), ... } end

describe("client:job()", function()
  local here = fixture.new("/job-end", { super = true })
  local work = jobs.new(here)
  local client, path

  before_each(function() client, path = work.client, here.path end)

  describe("hold:sleep()", function()
    it("wakes when the lock is lost, and the next run begins only after fn has returned", function()
      local runs, go_on, returned = {}, false, false
      local job = client:job(path, function(token, hold)
        local run = { token = token }
        runs[#runs + 1] = run
        if #runs > 1 then return end
        here.tree:delete(hold:nodes()[1])
        run.ended = pack(hold:sleep(HOUR))
        while not go_on do run.again = pack(hold:sleep(HOUR)) end
        returned = true
      end, { pause = 0 })
      here:eventually(function() return runs[1] and runs[1].again end)
      assert.same({ false, "lost", n = 2 }, runs[1].ended)
      assert.same({ false, "lost", n = 2 }, runs[1].again)
      assert(client:mutex(path):acquire(PATIENCE)) -- another one may hold it
      client:mutex(path):release()
      assert.equal("cut off", job:state())
      assert.equal(1, #runs)
      go_on = true
      work:hear(runs, 2)
      assert.is_true(returned)
      assert.is_true(runs[2].token > runs[1].token)
    end)

    it("wakes when somebody revokes the lock, which is kept until fn returns", function()
      local runs, other = {}, here:connect()
      client:job(path, jobs.sleeper(runs), { pause = HOUR })
      work:hear(runs)
      local token
      other:mutex(path):request(PATIENCE, function(got) token = got end)
      assert.is_true(other:mutex(path):revoke(PATIENCE))
      here:eventually(function() return token end)
      assert.same({ false, "revoked", n = 2 }, runs[1].ended)
    end)

    it("wakes in a coroutine that fn has left behind", function()
      if not can_park then return end
      local woken = {}
      client:job(path, function(_, hold)
        client:spawn(function() woken[1] = pack(hold:sleep(HOUR)) end)
        assert(client:sleep(0.05))
      end, { pause = HOUR })
      assert.same({ false, "stopped", n = 2 }, here:hear(woken))
    end)

    it("does not let a function hog the program that ignores what it returns", function()
      local turns = 0
      local job = client:job(path, function(_, hold)
        while turns < HOUR do
          turns = turns + 1
          local ok, err = hold:sleep(HOUR)
          assert(ok == false and err == "stopped")
        end
      end)
      here:eventually(function() return turns == 1 end)
      assert.same({ nil, "timeout" }, { job:stop(0.1) })
      for _ = 1, 10 do
        local before, began = turns, wait.now()
        assert.is_true(client:sleep(0.01))
        local most = 20 + 2000 * (wait.now() - began) -- a busy machine wakes it late
        assert.is_true(turns - before <= most, "more than a turn in each millisecond")
      end
      assert.is_true(turns > 5)
      turns = HOUR
      assert.is_true(job:stop(PATIENCE))
    end)

    it("of two jobs does not keep the other one from going on", function()
      local counts, all = { 0, 0 }, {}
      for i = 1, 2 do
        all[i] = client:job(path .. "/" .. i, function(_, hold)
          while hold:sleep(0.001) do counts[i] = counts[i] + 1 end
        end)
      end
      here:eventually(function() return counts[1] > 20 and counts[2] > 20 end)
      for i = 1, 2 do assert.is_true(all[i]:stop(PATIENCE)) end
    end)

    it("works inside pcall, where it holds up others in plain Lua 5.1", function()
      local ok, slept, err
      local job = client:job(path, function(_, hold)
        ok, slept, err = pcall(hold.sleep, hold, can_park and HOUR or 0.01)
      end, { pause = HOUR })
      here:eventually(function() return job:state() == "running" or ok ~= nil end)
      assert.is_true(job:stop(PATIENCE))
      assert.is_true(ok)
      if can_park then assert.same({ false, "stopped" }, { slept, err }) else assert.is_true(slept) end
    end)
  end)

  describe("stop()", function()
    it("ends a job that runs: fn returns, and the lock is released", function()
      local runs = {}
      local job = client:job(path, jobs.sleeper(runs))
      work:hear(runs)
      assert.equal("running", job:state())
      assert.is_true(job:stop(PATIENCE))
      assert.equal("stopped", job:state())
      assert.same({ false, "stopped", n = 2 }, runs[1].ended)
      assert.is_true(job:stop(PATIENCE))
      assert.is_true(job:stop(0))
      work:is_free()
      client:sleep(0.05)
      assert.equal(1, #runs)
    end)

    it("ends a job that waits, that pauses, or that was granted the lock and has not begun", function()
      local runs, other = {}, here:connect()
      assert(other:mutex(path):acquire(PATIENCE))
      local job = client:job(path, jobs.sleeper(runs))
      here:becomes(2)
      assert.is_true(job:stop(0))
      assert.equal("stopped", job:state())
      here:becomes(1)
      other:mutex(path):release()
      local paused = {}
      job = client:job(path, jobs.quick(paused), { pause = 0.05 })
      work:hear(paused)
      here:eventually(function() return job:state() == "pausing" end)
      local runs_until_then = #paused
      assert.is_true(job:stop(0))
      client:sleep(0.1)
      assert.equal(runs_until_then, #paused)
      local before = client:stats().acquired
      job = client:job(path, jobs.sleeper(runs))
      wait.eventually(function() return client:stats().acquired > before end) -- nobody polls
      assert.is_true(job:stop(0))
      client:sleep(0.05)
      assert.equal(0, #runs)
      work:is_free()
    end)

    it("answers 'timeout' when fn does not return in time, and the job ends all the same", function()
      local go_on, running = false, false
      local job = client:job(path, function(_, hold)
        running = true
        while not go_on do hold:sleep(0) end
      end)
      here:eventually(function() return running end)
      assert.same({ nil, "timeout" }, { job:stop(0) })
      assert.same({ nil, "timeout" }, { job:stop(0.05) })
      assert.equal("running", job:state())
      assert.equal(1, #here:nodes())
      go_on = true
      here:eventually(function() return job:state() == "stopped" end)
      work:is_free()
    end)

    it("from inside fn, or from a coroutine of fn's, does not wait", function()
      local got, job = {}, nil
      job = client:job(path, function()
        got[1] = pack(job:stop())
        got[2] = coroutine.wrap(function() return pack(job:stop(HOUR)) end)()
        got[3] = job:state()
      end, { pause = 0 })
      here:eventually(function() return job:state() == "stopped" end)
      assert.same({ { nil, "timeout", n = 2 }, { nil, "timeout", n = 2 }, "running" }, got)
      work:is_free()
    end)

    it("in a callback waits while fn goes on", function()
      if not can_park then return pending("not in plain Lua 5.1") end
      local runs, got = {}, nil
      local job = client:job(path, function(_, hold)
        runs[#runs + 1] = true
        hold:sleep(HOUR)
        client:sleep(0.05)
      end)
      work:hear(runs)
      client:spawn(function() got = pack(job:stop(PATIENCE), job:state()) end)
      here:eventually(function() return got end)
      assert.same({ true, "stopped", n = 2 }, got)
    end)
  end)

  describe("close()", function()
    it("waits for fn, which may still write under the lock", function()
      local wrote
      client:job(path, function(_, hold)
        local ok, err = hold:sleep(HOUR)
        wrote = { ok, err, hold:is_held(), (hold:multi({ { "create", path .. "-last", "" } }, PATIENCE)) ~= nil }
      end)
      here:becomes(1)
      here:eventually(function() return client:stats().held == 1 end)
      client:poll()
      assert.is_true(client:close())
      assert.same({ false, "stopped", true, true }, wrote)
      assert.truthy(here.tree:exists(path .. "-last"))
      here:becomes(0)
      here.tree:delete(path .. "-last")
    end)

    it("does not wait for ever for a function that ignores it #once", function()
      local turns = 0
      local job = client:job(path, function(_, hold)
        while true do
          hold:sleep(HOUR)
          turns = turns + 1
        end
      end)
      here:eventually(function() return job:state() == "running" end)
      local began = wait.now()
      assert.is_true(client:close())
      assert.is_true(wait.now() - began >= 4) -- spec/client/bounded_spec.lua has the other bound
      assert.is_true(turns > 10)
      here:becomes(0)
    end)

    it("called from inside fn does not wait for it", function()
      local got
      local job = client:job(path, function(_, hold)
        client:close()
        got = pack(hold:sleep(HOUR))
        got.held = hold:is_held()
      end)
      here:eventually(function() return got end)
      assert.same({ false, "stopped", n = 2, held = false }, got)
      assert.equal("stopped", job:state())
    end)

    it("ends jobs that wait and that pause, and refuses new ones", function()
      local runs, other = {}, here:connect()
      assert(other:mutex(path):acquire(PATIENCE))
      local waiting = client:job(path, jobs.sleeper(runs))
      local pausing = client:job(path .. "/other", jobs.quick(runs), { pause = HOUR })
      work:hear(runs)
      client:close()
      assert.same({ "stopped", "stopped" }, { waiting:state(), pausing:state() })
      assert.same({ nil, "closed" }, { client:job(path, jobs.sleeper(runs)) })
      assert.is_true(waiting:stop())
      assert.same({ nil, "closed" }, { waiting:holder(PATIENCE) })
      assert.equal(1, #runs)
    end)
  end)

  it("reports a coroutine of fn that was dropped or closed, and goes on", function()
    local count = 0
    client:job(path, function(_, hold)
      count = count + 1
      if count == 1 then coroutine.yield() end -- nobody resumes it
      hold:sleep(HOUR)
    end, { pause = 0.01 })
    here:eventually(function()
      collect()
      return count == 2
    end)
    work:reported("the coroutine of the function was closed")
    if not coroutine.close then return end
    local thread
    client:job(path .. "/closed", function(_, hold)
      count = count + 1
      thread = coroutine.running()
      hold:sleep(HOUR)
    end, { pause = 0.01 })
    here:eventually(function() return count == 3 end)
    assert.is_true(coroutine.close(thread))
    here:eventually(function() return count == 4 end)
    work:reported("the coroutine of the function was closed")
  end)

  it("belongs to the process that began it: in a forked child it is stopped", function()
    local result = host.run({ [[
      local zklock = require "zklock"
      local hosts, path = arg[1], arg[2]
      local client = assert(zklock.connect(hosts, { session_timeout = 60 }))
      local hold
      local function fn(_, got)
        hold = got
        hold:sleep(3600)
      end
      local job = client:job(path, fn)
      while not hold do client:poll(1) end
      local child = host.fork()
      if child == 0 then
        print(job:state(), hold:is_held(), hold:sleep(3600))
        print(job:stop())
        print(job:holder())
        print(client:job(path, fn))
        io.stdout:flush()
        host.exit(0)
      end
      print("parent", host.wait(child))
      print(job:state(), hold:is_held(), job:stop(20), client:close())
    ]] }, { here.zk.hosts, path }, OPTIONS)
    assert.same({ 0, "", "stopped\tfalse\tfalse\tlost\nnil\tforked\nnil\tforked\tnil\nnil\tforked\nparent\t0\n"
      .. "running\ttrue\ttrue\ttrue\n" }, { result.code, result.stderr, result.stdout })
  end)
end)
