-- SPDX-License-Identifier: MIT
--- client:job(): a function that one instance runs at a time.

local fixture = require "spec.support.fixture"
local host = require "spec.support.host"
local wait = require "spec.support.wait"

local unpack = table.unpack or unpack -- luacheck: ignore 113

local PATIENCE = 20
local SESSION = 6
local HOUR = 3600
local can_park = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

-- To LeakSanitizer a child has lost the memory that belongs to threads which it does not have.
local SANITIZER = os.getenv("ASAN_OPTIONS")
local OPTIONS = { env = SANITIZER and { ASAN_OPTIONS = SANITIZER .. ":detect_leaks=0" } }

local function pack(...) return { n = select("#", ...), ... } end

describe("client:job()", function()
  local here = fixture.new("/job", { session_timeout = SESSION, super = true })
  local client, path, errors

  before_each(function()
    path, errors = here.path, {}
    client = here:connect { on_error = function(message) errors[#errors + 1] = message end }
  end)

  after_each(function() assert.same({}, errors) end)

  local function mark() return path .. "/once-2147483647" end

  --- A function for a job that notes its calls, and sleeps until it should return.
  local function sleeper(runs)
    return function(token, hold)
      local run = { token = token, hold = hold }
      runs[#runs + 1] = run
      run.ended = pack(hold:sleep(HOUR))
    end
  end

  --- A function for a job that notes its calls.
  local function quick(runs)
    return function(token) runs[#runs + 1] = { token = token, at = wait.now() } end
  end

  local function hear(runs, n) return here:eventually(function() return runs[n or 1] end, "a run") end

  local function is_free()
    assert(client:flush(PATIENCE))
    here:eventually(function()
      local names = here:nodes()
      return #names == 0 or #names == 1 and names[1] == "once-2147483647"
    end)
  end

  --- What went to `on_error`, which the spec expects.
  local function reported(pattern)
    local message = here:hear(errors)
    assert.truthy(message:find(pattern, 1, true), message)
    for i = #errors, 1, -1 do errors[i] = nil end
  end

  describe("runs fn", function()
    it("in a coroutine of its own, with the token and a hold", function()
      local got, thread
      local job = client:job(path, function(...)
        got, thread = pack(...), coroutine.running()
        got.was_held = got[2]:is_held()
        got.node = got[2]:nodes()[1]
        got.validity = got[2]:validity()
        got.turn = got[2]:turn()
        got.same_token = got[2]:token() == got[1]
      end)
      assert.equal("waiting", job:state())
      here:eventually(function() return got end)
      assert.equal(2, got.n)
      assert.is_true(got.was_held and got.same_token and got.validity > 0 and got.turn == 0)
      assert.equal(path .. "/", got.node:sub(1, #path + 1))
      assert.truthy(thread)
      assert.are_not.equal(thread, (coroutine.running()))
      assert.is_nil(got[2].release)
      assert.is_nil(got[2].cancel)
      assert.is_false(got[2]:is_held())
      assert.same({ false, "stopped" }, { got[2]:sleep(0) })
    end)

    it("again after the pause, with a larger token, and releases the lock meanwhile", function()
      local runs = {}
      local job = client:job(path, quick(runs), { pause = 0.05 })
      hear(runs, 3)
      assert.is_true(runs[1].token < runs[2].token and runs[2].token < runs[3].token)
      assert.is_true(runs[3].at - runs[1].at >= 0.1)
      assert.is_true(job:stop(PATIENCE))
      local others = {}
      job = client:job(path, quick(others), { pause = HOUR })
      hear(others)
      here:eventually(function() return job:state() == "pausing" end)
      assert(client:mutex(path):acquire(PATIENCE))
      assert.equal(1, #others)
      assert.is_true(job:stop())
      assert.equal("stopped", job:state())
      client:mutex(path):release()
    end)

    it("again when fn has acquired the lock once more for the job itself, and not released that", function()
      local runs, job = {}, nil
      job = client:job(path, function()
        runs[#runs + 1] = assert(client:mutex(path):acquire(PATIENCE, job))
      end, { pause = 0.01 })
      hear(runs, 3)
      assert.is_true(job:stop(PATIENCE))
      assert.equal(0, client:stats().held)
      is_free()
    end)

    it("after a pause of 1 second by default #once", function()
      local runs = {}
      client:job(path, quick(runs))
      hear(runs, 2)
      assert.is_true(runs[2].at - runs[1].at >= 1)
    end)

    it("also if the script has dropped the job", function()
      local runs = {}
      client:job(path, quick(runs), { pause = 0.01 })
      for n = 1, 3 do
        collectgarbage()
        collectgarbage()
        hear(runs, n)
      end
    end)

    it("which may wait for other things, and write under the lock", function()
      local done
      client:job(path, function(_, hold)
        local token = assert(client:mutex(path .. "/below"):acquire(PATIENCE))
        assert(hold:multi({ { "create", path .. "-made", ("%d"):format(token) } }, PATIENCE))
        assert(client:sleep(0.01))
        done = client:get(path .. "-made", PATIENCE)
      end, { pause = HOUR })
      here:eventually(function() return done end)
      here.tree:delete(path .. "-made")
    end)

    it("of one instance at a time, among clients and processes", function()
      local inside, most, count = 0, 0, 0
      local function fn(_, hold)
        inside, count = inside + 1, count + 1
        most = math.max(most, inside)
        hold:sleep(0.005)
        inside = inside - 1
      end
      local other = here:connect()
      local jobs = { client:job(path, fn, { pause = 0 }), client:job(path, fn, { pause = 0 }),
        other:job(path, fn, { pause = 0 }) }
      here:eventually(function() return count >= 12 end)
      for _, job in ipairs(jobs) do assert.is_true(job:stop(PATIENCE)) end
      assert.equal(1, most)
      assert.equal(0, inside)
    end)
  end)

  describe("hands over", function()
    it("when the client that runs it is closed", function()
      local runs, others, other = {}, {}, here:connect()
      client:job(path, sleeper(runs))
      hear(runs)
      local job = other:job(path, sleeper(others))
      here:becomes(2)
      assert.equal("waiting", job:state())
      assert.is_true(client:close())
      assert.same({ false, "stopped", n = 2 }, runs[1].ended)
      hear(others)
      assert.is_true(others[1].token > runs[1].token)
    end)

    it("when the process that runs it is killed #once", function()
      local one = here:worker()
      assert(one:connect(here.zk.hosts, { session_timeout = 2 }))
      one:eval([[
        local path = ...
        worker.client:job(path, function(_, hold) while hold:sleep(3600) do end end)
      ]], path)
      one:begin("poll", 3600)
      here:becomes(1)
      local runs = {}
      client:job(path, sleeper(runs))
      here:becomes(2)
      one:kill()
      hear(runs)
    end)
  end)

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
      assert.equal("running", job:state())
      assert.equal(1, #runs)
      go_on = true
      hear(runs, 2)
      assert.is_true(returned)
      assert.is_true(runs[2].token > runs[1].token)
    end)

    it("wakes when somebody revokes the lock, which is kept until fn returns", function()
      local runs, other = {}, here:connect()
      client:job(path, sleeper(runs), { pause = HOUR })
      hear(runs)
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
        local before = turns
        assert.is_true(client:sleep(0.01))
        assert.is_true(turns - before <= 20, "more than a turn in each millisecond")
      end
      assert.is_true(turns > 5)
      turns = HOUR
      assert.is_true(job:stop(PATIENCE))
    end)

    it("of two jobs does not keep the other one from going on", function()
      local counts, jobs = { 0, 0 }, {}
      for i = 1, 2 do
        jobs[i] = client:job(path .. "/" .. i, function(_, hold)
          while hold:sleep(0.001) do counts[i] = counts[i] + 1 end
        end)
      end
      here:eventually(function() return counts[1] > 20 and counts[2] > 20 end)
      for i = 1, 2 do assert.is_true(jobs[i]:stop(PATIENCE)) end
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

  describe("an error in fn", function()
    it("goes to on_error with its traceback, releases the lock, and doubles the pause up to pause_most", function()
      local starts, pauses, fails, job = {}, {}, 4, nil
      job = client:job(path, function(_, hold)
        starts[#starts + 1], pauses[#pauses + 1] = wait.now(), job.delay
        if #starts > 1 then hold:sleep(0) end
        if #starts <= fails then error("boom " .. #starts) end
      end, { pause = 0.1, pause_most = 0.3 })
      hear(starts, fails + 1)
      local least = { 0.2, 0.3, 0.3, 0.3 }
      assert.same({ false, unpack(least) }, pauses)
      for i = 1, fails do assert.is_true(starts[i + 1] - starts[i] >= least[i], "pause " .. i) end
      assert.equal(fails, #errors)
      for i = 1, fails do
        assert.truthy(errors[i]:find("boom " .. i, 1, true))
        assert.truthy(errors[i]:find("stack traceback", 1, true))
      end
      reported("boom 1")
      here:eventually(function() return job:state() == "pausing" end)
      assert.is_false(job.delay) -- it begins again from `pause`
      is_free()
    end)

    it("may be any value", function()
      local count = 0
      client:job(path, function()
        count = count + 1
        error(({ false, {}, setmetatable({}, { __tostring = error }) })[count] or nil)
      end, { pause = 0, pause_most = 0.1 })
      here:eventually(function() return #errors >= 3 end)
      client:close()
      for i = #errors, 1, -1 do errors[i] = nil end
    end)

    it("after the lock was lost lets the job go on", function()
      local count = 0
      client:job(path, function(_, hold)
        count = count + 1
        if count > 1 then return end
        here.tree:delete(hold:nodes()[1])
        hold:sleep(HOUR)
        error("after the loss")
      end, { pause = 0 })
      here:eventually(function() return count > 1 end)
      reported("after the loss")
    end)
  end)

  describe("stop()", function()
    it("ends a job that runs: fn returns, and the lock is released", function()
      local runs = {}
      local job = client:job(path, sleeper(runs))
      hear(runs)
      assert.equal("running", job:state())
      assert.is_true(job:stop(PATIENCE))
      assert.equal("stopped", job:state())
      assert.same({ false, "stopped", n = 2 }, runs[1].ended)
      assert.is_true(job:stop(PATIENCE))
      assert.is_true(job:stop(0))
      is_free()
      client:sleep(0.05)
      assert.equal(1, #runs)
    end)

    it("ends a job that waits, that pauses, or that was granted the lock and has not begun", function()
      local runs, other = {}, here:connect()
      assert(other:mutex(path):acquire(PATIENCE))
      local job = client:job(path, sleeper(runs))
      here:becomes(2)
      assert.is_true(job:stop(0))
      assert.equal("stopped", job:state())
      here:becomes(1)
      other:mutex(path):release()
      local paused = {}
      job = client:job(path, quick(paused), { pause = 0.05 })
      hear(paused)
      here:eventually(function() return job:state() == "pausing" end)
      assert.is_true(job:stop(0))
      client:sleep(0.1)
      assert.equal(1, #paused)
      local before = client:stats().acquired
      job = client:job(path, sleeper(runs))
      wait.eventually(function() return client:stats().acquired > before end) -- nobody polls
      assert.is_true(job:stop(0))
      client:sleep(0.05)
      assert.equal(0, #runs)
      is_free()
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
      is_free()
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
      is_free()
    end)

    it("in a callback waits while fn goes on", function()
      if not can_park then return pending("not in plain Lua 5.1") end
      local runs, got = {}, nil
      local job = client:job(path, function(_, hold)
        runs[#runs + 1] = true
        hold:sleep(HOUR)
        client:sleep(0.05)
      end)
      hear(runs)
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

    it("does not wait longer than 5 seconds for a function that ignores it #once", function()
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
      assert.is_true(wait.now() - began >= 4 and wait.now() - began < 50)
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
      local waiting = client:job(path, sleeper(runs))
      local pausing = client:job(path .. "/other", quick(runs), { pause = HOUR })
      hear(runs)
      client:close()
      assert.same({ "stopped", "stopped" }, { waiting:state(), pausing:state() })
      assert.same({ nil, "closed" }, { client:job(path, sleeper(runs)) })
      assert.is_true(waiting:stop())
      assert.same({ nil, "closed" }, { waiting:holder(PATIENCE) })
      assert.equal(1, #runs)
    end)
  end)

  describe("every", function()
    it("is between two starts by anybody", function()
      local starts, other, jobs = {}, here:connect(), {}
      local function fn() starts[#starts + 1] = wait.now() end
      for i, one in ipairs { client, other, client } do
        jobs[i] = one:job(path, fn, { every = 0.4, pause = 0 })
      end
      here:eventually(function() return #starts == 4 end)
      for _, job in ipairs(jobs) do assert.is_true(job:stop(PATIENCE)) end
      -- the servers stamp the mark before the start, and in milliseconds
      assert.is_true(starts[4] - starts[1] >= 3 * 0.4 - 0.3)
      is_free()
      assert.same({ "once-2147483647" }, here:nodes())
    end)

    it("shares its mark with client:once", function()
      local runs = {}
      assert.is_true(client:once(path, HOUR, function() end))
      local job = client:job(path, quick(runs), { every = HOUR })
      here:eventually(function() return job:state() == "pausing" end)
      assert.equal(0, #runs)
      assert.is_true(job:stop(0))
      job = client:job(path, quick(runs), { every = 1e-3, pause = HOUR })
      hear(runs)
      assert.equal(("%d"):format(runs[1].token), (here.tree:get(mark())))
      assert.is_false((client:once(path, HOUR, function() end)))
      assert.is_true(job:stop(PATIENCE))
    end)

    it("of math.huge is once for ever", function()
      local runs = {}
      local first = client:job(path, quick(runs), { every = math.huge, pause = 0 })
      local second = client:job(path, quick(runs), { every = math.huge, pause = 0 })
      here:eventually(function() return first:state() == "pausing" and second:state() == "pausing" end)
      assert.equal(1, #runs)
    end)

    it("with a mark before fn counts a run that has failed", function()
      local count = 0
      local job = client:job(path, function()
        count = count + 1
        error("failed")
      end, { every = HOUR, pause = 0.01, pause_most = 0.01 })
      reported("failed")
      client:sleep(0.3)
      here:eventually(function() return job:state() == "pausing" end)
      assert.equal(1, count)
      assert.truthy(here.tree:exists(mark()))
    end)

    it("with a mark after fn repeats a run that has failed", function()
      local count = 0
      local job = client:job(path, function()
        count = count + 1
        if count == 1 then error("failed") end
      end, { every = HOUR, mark = "after", pause = 0.01, pause_most = 0.01 })
      here:eventually(function() return count == 2 end)
      reported("failed")
      here:eventually(function() return job:state() == "pausing" end)
      assert.truthy(here.tree:exists(mark()))
      assert.is_true(job:stop(0))
    end)

    it("reports a mark that it cannot read, and goes on", function()
      local runs = {}
      assert(here.tree:create(mark(), "yesterday", { parents = true }))
      client:job(path, quick(runs), { every = 1e-3, pause = 0.01, pause_most = 0.05 })
      reported("job at '" .. path .. "': wrong kind")
      assert.equal(0, #runs)
      here.tree:delete(mark())
      hear(runs)
      for i = #errors, 1, -1 do errors[i] = nil end
    end)
  end)

  it("reports a path of another kind, and goes on until the path is free", function()
    local runs, other = {}, here:connect()
    assert(other:rwlock(path).write:acquire(PATIENCE))
    local job = client:job(path, quick(runs), { pause = 0.01, pause_most = 0.05 })
    reported("job at '" .. path .. "': wrong kind")
    assert.equal(0, #runs)
    other:rwlock(path).write:release()
    hear(runs)
    assert.is_true(job:stop(PATIENCE))
    for i = #errors, 1, -1 do errors[i] = nil end
  end)

  it("goes on after its session has expired, whatever the job does #once", function()
    local faulty = here:proxy()
    local cut = here:connect_to(faulty.hosts, { session_timeout = 2, connect_timeout = PATIENCE })
    local other, runs, waiting, quicks = here:connect(), {}, {}, {}
    assert(other:mutex(path .. "/waiting"):acquire(PATIENCE))
    cut:job(path .. "/running", sleeper(runs), { pause = 0.01 })
    cut:job(path .. "/waiting", sleeper(waiting), { pause = 0.01 })
    cut:job(path .. "/pausing", quick(quicks), { pause = 0.01 })
    hear(runs)
    hear(quicks)
    local sessions = cut:stats().sessions
    faulty:black_hole()
    here:eventually(function() return not runs[1].hold:is_held() end)
    assert.is_nil(runs[1].ended) -- nobody knows yet
    here:eventually(function() return #here:nodes(path .. "/running") == 0 end)
    faulty:refuse()
    faulty:cut()
    faulty:heal()
    hear(runs, 2)
    assert.same({ false, "lost", n = 2 }, runs[1].ended)
    assert.is_true(cut:stats().sessions > sessions)
    local before = #quicks
    hear(quicks, before + 2)
    other:mutex(path .. "/waiting"):release()
    hear(waiting)
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
        faulty:heal()
        os.execute "sleep 0.2" -- the engine has the answers, and nobody polls
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

  it("tells who holds the lock", function()
    local runs, other = {}, here:connect { identifier = "the other one" }
    local job = client:job(path, sleeper(runs))
    hear(runs)
    local holder = assert(job:holder(PATIENCE))
    assert.is_true(holder.mine and holder.holder)
    assert.equal(runs[1].token and path, holder.path)
    assert.is_true(job:stop(PATIENCE))
    is_free()
    assert.is_false((job:holder(PATIENCE)))
    assert(other:mutex(path):acquire(PATIENCE))
    assert.equal("the other one", job:holder().identifier)
  end)

  it("reports a coroutine of fn that was dropped or closed, and goes on", function()
    local count = 0
    client:job(path, function(_, hold)
      count = count + 1
      if count == 1 then coroutine.yield() end -- nobody resumes it
      hold:sleep(HOUR)
    end, { pause = 0.01 })
    here:eventually(function()
      collectgarbage()
      return count == 2
    end)
    reported("the coroutine of the function was closed")
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
    reported("the coroutine of the function was closed")
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

  it("raises errors that name a bad argument", function()
    local function call(...) client:job(...) end
    local function fn() end
    for _, bad in ipairs { { "x", fn, nil, "'path'" }, { path, nil, nil, "'fn': function expected, got nil" },
      { path, fn, { pause = -1 }, "'options.pause': seconds >= 0 expected, got -1" },
      { path, fn, { pause_most = "1" }, "'options.pause_most': seconds >= 0 expected, got string" },
      { path, fn, { every = 0 }, "'options.every': seconds > 0 expected, got 0" },
      { path, fn, { every = 0 / 0 }, "'options.every': seconds > 0 expected" },
      { path, fn, { every = 1, mark = "x" }, "'options.mark': 'after' or 'before' expected, got 'x'" },
      { path, fn, { mark = "after" }, "'options.mark': only valid with options.every" },
      { path, fn, { timeout = 1 }, "'options': unknown option 'timeout'" } } do
      local ok, err = pcall(call, bad[1], bad[2], bad[3])
      assert.is_false(ok)
      assert.matches("^spec/jobs/job_spec.lua:%d+: ", err)
      assert.truthy(err:find("bad argument " .. bad[4], 1, true), err)
    end
    local job = client:job(path, fn)
    local ok, err = pcall(job.stop, job, -1)
    assert.is_false(ok)
    assert.truthy(err:find("bad argument 'timeout'", 1, true))
    assert.is_false(pcall(job.holder, job, "x"))
    assert.is_false(pcall(job.state, client))
    assert.equal("zklock.Job (" .. path .. ", " .. job:state() .. ")", tostring(job))
  end)
end)
