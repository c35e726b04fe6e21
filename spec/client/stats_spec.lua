-- SPDX-License-Identifier: MIT
local fixture = require "spec.support.fixture"

local BOUNDS = { 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, math.huge }

describe("client:stats()", function()
  local here = fixture.new("/stats")
  local client, lock

  before_each(function()
    client = here:connect()
    lock = client:mutex(here.path)
  end)

  local function count(name) return client:stats()[name].count end

  it("has histograms with cumulative buckets of fixed bounds", function()
    assert(lock:acquire(here.patience))
    assert(lock:release())
    for _, name in ipairs { "wait", "hold", "heartbeat" } do
      local histogram, before = client:stats()[name], 0
      assert.equal(#BOUNDS, #histogram.buckets)
      for i, bucket in ipairs(histogram.buckets) do
        assert.equal(BOUNDS[i], bucket[1])
        assert.is_true(bucket[2] >= before)
        before = bucket[2]
      end
      assert.equal(histogram.count, before)
      assert.is_true(histogram.sum >= 0)
    end
  end)

  it("counts a wait for each answer, whatever it is, and a hold when it ends", function()
    assert(lock:acquire(here.patience))
    assert.same({ 1, 0 }, { count "wait", count "hold" })
    local function slow(waits) return waits.buckets[16][2] - waits.buckets[8][2] end -- those above 0.25 s
    local before = client:stats().wait
    assert.same({ nil, "timeout" }, { lock:acquire(0.3, "another") })
    assert.same({ 2, 0 }, { count "wait", count "hold" })
    local waited = client:stats().wait
    assert.is_true(waited.sum - before.sum >= 0.29)
    assert.equal(1, slow(waited) - slow(before))
    assert(lock:release())
    assert.same({ 2, 1 }, { count "wait", count "hold" })
    assert.is_true(client:stats().hold.sum >= 0.29)
  end)

  it("counts nothing for a reentrant acquire that succeeds", function()
    for _ = 1, 3 do assert(lock:acquire(here.patience)) end
    local guard = assert(lock:guard(here.patience)) -- its name keeps it from the collector, which would release it
    assert.same({ 1, 0, 1 }, { count "wait", count "hold", client:stats().acquired })
    for _ = 1, 3 do assert(lock:release()) end
    assert.equal(0, count "hold")
    assert(guard:release())
    assert.equal(1, count "hold")
  end)

  it("counts a place that is taken again and again as so many waits and holds", function()
    local hot = client:mutex(here.path .. "/hot", { fair = false })
    for _ = 1, 5 do
      assert(hot:acquire(here.patience))
      assert(hot:release())
    end
    local stats = client:stats()
    assert.same({ 5, 5, 5 }, { stats.acquired, stats.wait.count, stats.hold.count })
  end)

  it("counts one hold of a multilock, and one of a lease", function()
    local both = client:multilock { here.path .. "/a", here.path .. "/b" }
    assert(both:with(here.patience, function() end))
    local pool = client:semaphore(here.path .. "/pool", 2)
    assert(assert(pool:acquire(here.patience, 2)):release())
    assert.same({ 2, 2 }, { count "wait", count "hold" })
  end)

  it("counts guarded writes that were carried out", function()
    assert(lock:acquire(here.patience))
    local node = here.path .. "/data"
    assert(lock:multi({ { "create", node, "1" } }, here.patience))
    assert.is_nil((lock:multi({ { "create", node, "1" } }, here.patience))) -- it exists
    assert(client:set(node, "2", nil, here.patience))
    assert.equal(1, client:stats().guarded)
  end)

  it("shows how many watches the program has", function()
    local a = assert(client:watch(here.path .. "/a", function() end))
    local b = assert(client:watch_children(here.path .. "/a", function() end))
    assert.equal(2, client:stats().watches)
    a:stop()
    assert.equal(1, client:stats().watches)
    b:stop()
    b:stop()
    assert.equal(0, client:stats().watches)
  end)

  it("counts the answers to heartbeats", function()
    assert(lock:acquire(here.patience))
    here:becomes(1)
    local before = client:stats().heartbeat.count
    here:eventually(function() return client:stats().heartbeat.count > before end)
    assert.is_true(client:stats().heartbeat.sum > 0)
  end)
end)
