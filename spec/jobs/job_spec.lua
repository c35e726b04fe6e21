-- SPDX-License-Identifier: MIT
--- client:job(): a function that one instance runs at a time.

local fixture = require "spec.support.fixture"
local is_yieldable = require("zklock.base.yields").is_yieldable
local jobs = require "spec.support.jobs"
local mark = require "zklock.mark"
local wait = require "spec.support.wait"

local unpack = table.unpack or unpack -- luacheck: ignore 113

local PATIENCE = wait.PATIENCE
local HOUR = 3600

local function pack(...) return { n = select("#", ...), ... } end

describe("client:job()", function()
  local here = fixture.new("/job", { super = true })
  local work = jobs.new(here)
  local client, path

  before_each(function() client, path = work.client, here.path end)

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
      local job = client:job(path, jobs.quick(runs), { pause = 0.05 })
      work:hear(runs, 3)
      assert.is_true(runs[1].token < runs[2].token and runs[2].token < runs[3].token)
      assert.is_true(runs[3].at - runs[1].at >= 0.1)
      assert.is_true(job:stop(PATIENCE))
      local others = {}
      job = client:job(path, jobs.quick(others), { pause = HOUR })
      work:hear(others)
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
      work:hear(runs, 3)
      assert.is_true(job:stop(PATIENCE))
      assert.equal(0, client:stats().held)
      work:is_free()
    end)

    it("after a pause of 1 second by default #once", function()
      local runs = {}
      client:job(path, jobs.quick(runs))
      work:hear(runs, 2)
      assert.is_true(runs[2].at - runs[1].at >= 1)
    end)

    it("also if the script has dropped the job", function()
      local runs = {}
      client:job(path, jobs.quick(runs), { pause = 0.01 })
      for n = 1, 3 do
        collectgarbage()
        collectgarbage()
        work:hear(runs, n)
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
      local all = { client:job(path, fn, { pause = 0 }), client:job(path, fn, { pause = 0 }),
        other:job(path, fn, { pause = 0 }) }
      here:eventually(function() return count >= 12 end)
      for _, job in ipairs(all) do assert.is_true(job:stop(PATIENCE)) end
      assert.equal(1, most)
      assert.equal(0, inside)
    end)
  end)

  describe("hands over", function()
    it("when the client that runs it is closed", function()
      local runs, others, other = {}, {}, here:connect()
      client:job(path, jobs.sleeper(runs))
      work:hear(runs)
      local job = other:job(path, jobs.sleeper(others))
      here:becomes(2)
      assert.equal("waiting", job:state())
      assert.is_true(client:close())
      assert.same({ false, "stopped", n = 2 }, runs[1].ended)
      work:hear(others)
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
      client:job(path, jobs.sleeper(runs))
      here:becomes(2)
      one:kill()
      work:hear(runs)
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
      work:hear(starts, fails + 1)
      local least = { 0.2, 0.3, 0.3, 0.3 }
      assert.same({ false, unpack(least) }, pauses)
      for i = 1, fails do assert.is_true(starts[i + 1] - starts[i] >= least[i], "pause " .. i) end
      assert.equal(fails, #work.errors)
      for i = 1, fails do
        assert.truthy(work.errors[i]:find("boom " .. i, 1, true))
        assert.truthy(work.errors[i]:find("stack traceback", 1, true))
      end
      work:reported("boom 1")
      here:eventually(function() return job:state() == "pausing" end)
      assert.is_false(job.delay) -- it begins again from `pause`
      work:is_free()
    end)

    it("may be any value", function()
      local count = 0
      client:job(path, function()
        count = count + 1
        error(({ false, {}, setmetatable({}, { __tostring = error }) })[count] or nil)
      end, { pause = 0, pause_most = 0.1 })
      here:eventually(function() return #work.errors >= 3 end)
      client:close()
      work:forget_errors()
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
      work:reported("after the loss")
    end)
  end)

  describe("every", function()
    it("that a mark cannot tell goes to on_error, which may wait", function()
      local ask, can_wait = mark.ask, nil
      finally(function() mark.ask = ask end)
      mark.ask = function() return nil, "access denied" end
      local one = here:connect { on_error = function() can_wait = is_yieldable() end }
      one:job(path, function() end, { every = HOUR })
      wait.eventually(function()
        one:poll()
        return can_wait ~= nil
      end, PATIENCE, "the error")
      assert.is_true(can_wait)
    end)

    it("is between two starts by anybody", function()
      local starts, other, all = {}, here:connect(), {}
      local function fn() -- when the servers have written the mark: the start may come later
        starts[#starts + 1] = here.tree:exists(work:mark()).mtime / 1000
      end
      for i, one in ipairs { client, other, client } do
        all[i] = one:job(path, fn, { every = 0.4, pause = 0 })
      end
      here:eventually(function() return #starts == 4 end)
      for _, job in ipairs(all) do assert.is_true(job:stop(PATIENCE)) end
      for i = 2, 4 do assert.is_true(starts[i] - starts[i - 1] >= 0.399) end -- in milliseconds
      work:is_free()
      assert.same({ "once-2147483647" }, here:nodes())
    end)

    it("shares its mark with client:once", function()
      local runs = {}
      assert.is_true(client:once(path, HOUR, function() end))
      local job = client:job(path, jobs.quick(runs), { every = HOUR })
      here:eventually(function() return job:state() == "pausing" end)
      assert.equal(0, #runs)
      assert.is_true(job:stop(0))
      job = client:job(path, jobs.quick(runs), { every = 1e-3, pause = HOUR })
      work:hear(runs)
      assert.equal(("%d"):format(runs[1].token), (here.tree:get(work:mark())))
      assert.is_false((client:once(path, HOUR, function() end)))
      assert.is_true(job:stop(PATIENCE))
    end)

    it("of math.huge is once for ever", function()
      local runs = {}
      local first = client:job(path, jobs.quick(runs), { every = math.huge, pause = 0 })
      local second = client:job(path, jobs.quick(runs), { every = math.huge, pause = 0 })
      here:eventually(function() return first:state() == "pausing" and second:state() == "pausing" end)
      assert.equal(1, #runs)
    end)

    it("with a mark before fn counts a run that has failed", function()
      local count = 0
      local job = client:job(path, function()
        count = count + 1
        error("failed")
      end, { every = HOUR, pause = 0.01, pause_most = 0.01 })
      work:reported("failed")
      client:sleep(0.3)
      here:eventually(function() return job:state() == "pausing" end)
      assert.equal(1, count)
      assert.truthy(here.tree:exists(work:mark()))
    end)

    it("with a mark after fn repeats a run that has failed", function()
      local count = 0
      local job = client:job(path, function()
        count = count + 1
        if count == 1 then error("failed") end
      end, { every = HOUR, mark = "after", pause = 0.01, pause_most = 0.01 })
      here:eventually(function() return count == 2 end)
      work:reported("failed")
      here:eventually(function() return job:state() == "pausing" end)
      assert.truthy(here.tree:exists(work:mark()))
      assert.is_true(job:stop(0))
    end)

    it("reports a mark that it cannot read, and goes on", function()
      local runs = {}
      assert(here.tree:create(work:mark(), "yesterday", { parents = true }))
      client:job(path, jobs.quick(runs), { every = 1e-3, pause = 0.01, pause_most = 0.05 })
      work:reported("job at '" .. path .. "': wrong kind")
      assert.equal(0, #runs)
      here.tree:delete(work:mark())
      work:hear(runs)
      work:forget_errors()
    end)
  end)

  it("reports a path of another kind, and goes on until the path is free", function()
    local runs, other = {}, here:connect()
    assert(other:rwlock(path).write:acquire(PATIENCE))
    local job = client:job(path, jobs.quick(runs), { pause = 0.01, pause_most = 0.05 })
    work:reported("job at '" .. path .. "': wrong kind")
    assert.equal(0, #runs)
    other:rwlock(path).write:release()
    work:hear(runs)
    assert.is_true(job:stop(PATIENCE))
    work:forget_errors()
  end)

  it("tells who holds the lock", function()
    local runs, other = {}, here:connect { identifier = "the other one" }
    local job = client:job(path, jobs.sleeper(runs))
    work:hear(runs)
    local holder = assert(job:holder(PATIENCE))
    assert.is_true(holder.mine and holder.holder)
    assert.equal(runs[1].token and path, holder.path)
    assert.is_true(job:stop(PATIENCE))
    work:is_free()
    assert.is_false((job:holder(PATIENCE)))
    assert(other:mutex(path):acquire(PATIENCE))
    assert.equal("the other one", job:holder().identifier)
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
