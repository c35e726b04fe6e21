-- SPDX-License-Identifier: MIT
local core = require "zklock.core"
local file = require "spec.support.file"
local fixture = require "spec.support.fixture"
local metrics = require "zklock.metrics"
local prometheus = require "spec.support.prometheus"

local RESULTS = { "acquired", "timeout", "cancelled", "disconnected", "busy", "deadlock", "closed", "error" }
local REASONS = { "expired", "deleted", "max_hold" }
local STATES = { "connecting", "connected", "suspended", "expired", "auth failed" }
local RUNS = { "ran", "skipped", "failed" }

local PROMTOOL = "/usr/bin/promtool"

--- The complaints of promtool about a scrape; "" if there are none.
local function said_by_promtool(text)
  local name = os.tmpname()
  file.write(name, text)
  local pipe = assert(io.popen(("'%s' check metrics <'%s' 2>&1; echo \"exit $?\""):format(PROMTOOL, name)))
  local said = pipe:read("*a")
  pipe:close()
  os.remove(name)
  return (said:gsub("exit 0\n$", ""))
end

describe("metrics.text()", function()
  local here = fixture.new("/metrics")
  local client, path, patience

  before_each(function()
    client, path, patience = here:connect(), here.path, here.patience
  end)

  local function scrape(...) return prometheus.parse(assert(metrics.text(client, ...))) end

  --- How many acquires have ended, by result; those that are 0 are left out.
  local function ends(lock)
    local found, now = {}, scrape()
    for _, result in ipairs(RESULTS) do
      local count = now:value("zklock_acquisitions_total", { lock = lock or "", result = result })
      if count ~= 0 then found[result] = count end
    end
    return found
  end

  --- Takes a lock whose hold ends soon: on a busy machine before anybody has heard of it.
  local function take_short(lock)
    local token, err = lock:acquire(patience)
    assert(token or err == "lost", err)
  end

  local function losses()
    local found, now = {}, scrape()
    for _, reason in ipairs(REASONS) do
      local count = now:value("zklock_losses_total", { lock = "", reason = reason })
      if count ~= 0 then found[reason] = count end
    end
    return found
  end

  --- Whatever has happened, each acquire has ended in one way, each hold too, and stats() says the same.
  after_each(function()
    local now, stats = scrape(), client:stats()
    local acquired = now:sum("zklock_acquisitions_total", { result = "acquired" })
    assert.equal(now:sum "zklock_acquisitions_total", now:sum "zklock_wait_seconds_count")
    assert.equal(stats.acquired, acquired)
    assert.equal(stats.lost, now:sum "zklock_losses_total")
    assert.equal(acquired, now:sum "zklock_hold_seconds_count" + now:sum "zklock_held")
    assert.same({ stats.held, stats.waiting },
      { now:sum "zklock_held", now:sum "zklock_waiting" + now:sum "zklock_standing_by" })
    for _, result in ipairs(RUNS) do
      assert.equal(stats.runs[result], now:sum("zklock_runs_total", { result = result }))
    end
    assert.equal(stats.wait.count, now:sum "zklock_wait_seconds_count")
    assert.equal(stats.hold.count, now:sum "zklock_hold_seconds_count")
  end)

  it("has every value of every label at 0 before anything has happened", function()
    local fresh = assert(here:try_to_connect("127.0.0.1:1", { connect_timeout = 0 }))
    local now = prometheus.parse(metrics.text(fresh))
    for _, result in ipairs(RESULTS) do
      assert.equal(0, now:value("zklock_acquisitions_total", { lock = "", result = result }))
    end
    for _, reason in ipairs(REASONS) do
      assert.equal(0, now:value("zklock_losses_total", { lock = "", reason = reason }))
    end
    for _, state in ipairs(STATES) do
      assert.equal(state == "connecting" and 1 or 0, now:value("zklock_clients", { state = state }))
    end
    for _, result in ipairs(RUNS) do
      assert.equal(0, now:value("zklock_runs_total", { lock = "", result = result }))
    end
    for _, name in ipairs { "sessions_total", "abandoned_total", "heartbeat_seconds_count" } do
      assert.equal(0, now:value("zklock_" .. name), name)
    end
    assert.truthy(now:value "zklock_requests_total" <= 1) -- it may have asked for its first heartbeat already
    for _, name in ipairs { "held", "waiting", "standing_by", "oldest_wait_seconds", "oldest_hold_seconds",
      "wait_seconds_count", "hold_seconds_count" } do
      assert.equal(0, now:value("zklock_" .. name, { lock = "" }), name)
    end
    assert.is_nil(now:value "zklock_validity_seconds")
    assert.is_nil(now:value("zklock_last_run_timestamp_seconds", { lock = "" }))
  end)

  it("counts one acquisition for each grant, of any kind #once", function()
    local rw, hot = client:rwlock(path .. "/rw"), client:mutex(path .. "/hot", { fair = false })
    local pool = client:semaphore(path .. "/pool", 3)
    local takes = {
      mutex = function() return client:mutex(path .. "/a"):with(patience, function() end) end,
      read = function() return rw.read:with(patience, function() end) end,
      write = function() return rw.write:with(patience, function() end) end,
      place = function() return hot:acquire(patience) and hot:release() end,
      ["place again"] = function() return hot:acquire(patience) and hot:release() end,
      multilock = function()
        return client:multilock({ path .. "/b", path .. "/c" }):with(patience, function() end)
      end,
      leases = function() return assert(pool:acquire(patience, 2)):release() end,
      guard = function() return assert(client:mutex(path .. "/a"):guard(patience)):release() end,
      request = function()
        local request, heard = here:ask(client:mutex(path .. "/d"))
        here:hear(heard)
        return request:release()
      end,
      ["request of leases"] = function()
        local _, heard = here:ask(pool)
        here:hear(heard)
        return heard[1][1]:release()
      end,
    }
    local count = 0
    for name, take in pairs(takes) do
      assert(take(), name)
      count = count + 1
      assert.same({ acquired = count }, ends(), name)
    end
  end)

  it("counts nothing for a reentrant acquire, however it is made #once", function()
    local lock = client:mutex(path)
    assert(lock:acquire(patience))
    assert(lock:acquire(patience))
    assert(client:mutex(path):acquire(patience))
    assert(lock:with(patience, function() end))
    assert(lock:guard(patience)):release()
    assert.same({ acquired = 1 }, ends())
  end)

  it("counts a timeout of a try, of a wait, and of leases #once", function()
    local lock = client:mutex(path .. "/a")
    assert(lock:acquire(patience))
    assert.same({ nil, "timeout" }, { lock:acquire(0, "b") })
    assert.same({ nil, "timeout" }, { lock:acquire(0.05, "b") })
    local pool = client:semaphore(path .. "/pool", 1)
    local lease = assert(pool:acquire(patience))
    assert.same({ nil, "timeout" }, { pool:acquire(0.05) })
    local both = client:multilock { path .. "/a", path .. "/b" }
    assert.same({ nil, "timeout" }, { both:acquire(0.05, "c") })
    assert.same({ acquired = 2, timeout = 4 }, ends())
    assert(lease:release())
  end)

  it("counts a timeout of a caller whose owner waits already #once", function()
    local lock = client:mutex(path)
    assert(lock:acquire(patience))
    client:spawn(function() assert(lock:acquire(patience, "b")) end)
    here:eventually(function() return client:stats().waiting == 1 end)
    assert.same({ nil, "timeout" }, { lock:acquire(0, "b") })
    assert.same({ nil, "timeout" }, { lock:acquire(0.05, "b") })
    assert.same({ acquired = 1, timeout = 2 }, ends())
    assert.is_true(scrape():value("zklock_wait_seconds_sum", { lock = "" }) >= 0.05)
    assert(lock:release())
    here:eventually(function() return ends().acquired == 2 end)
  end)

  it("counts a cancelled request, and one that was dropped #once", function()
    local lock = client:mutex(path)
    assert(lock:acquire(patience))
    local request, heard = here:ask(lock)
    assert.is_true(request:cancel())
    here:hear(heard)
    assert.same({ acquired = 1, cancelled = 1 }, ends())
  end)

  it("counts a wait without servers as disconnected #once", function()
    client = assert(here:try_to_connect("127.0.0.1:1", { connect_timeout = 0 }))
    assert.equal("disconnected", select(2, client:mutex(path):acquire(0)))
    assert.equal("disconnected", select(2, client:mutex(path):acquire(0.05)))
    assert.equal("disconnected", select(2, client:semaphore(path .. "/pool", 1):acquire(0.05)))
    assert.same({ disconnected = 3 }, ends())
  end)

  it("counts one too many as busy #once", function()
    local lock = client:mutex(path, { max_waiting = 0 })
    assert(lock:acquire(patience))
    assert.same({ nil, "busy" }, { lock:acquire(patience, "b") })
    local hot = client:mutex(path .. "/hot", { max_waiting = 0, fair = false })
    assert(hot:acquire(patience))
    assert.same({ nil, "busy" }, { hot:acquire(patience, "b") })
    assert.same({ acquired = 2, busy = 2 }, ends())
  end)

  it("counts an owner that would wait for itself as a deadlock #once", function()
    local rw = client:rwlock(path)
    assert(rw.read:acquire(patience))
    assert.same({ nil, "deadlock" }, { rw.write:acquire(patience) })
    assert.same({ nil, "deadlock" }, { rw.write:guard(patience) })
    assert.same({ nil, "deadlock" }, { rw.write:with(patience, function() end) })
    assert.same({ acquired = 1, deadlock = 3 }, ends())
  end)

  it("counts waits that a close ends, and calls behind it #once", function()
    local lock = client:mutex(path)
    assert(lock:acquire(patience))
    local _, heard = here:ask(lock)
    client:close()
    assert.same({ nil, "closed" }, heard[1])
    assert.same({ nil, "closed" }, { lock:acquire(patience) })
    assert.same({ nil, "closed" }, { client:semaphore(path .. "/pool", 1):acquire(patience) })
    lock:request(patience, function() end)
    assert.same({ acquired = 1, closed = 4 }, ends())
    for _, state in ipairs(STATES) do assert.equal(0, scrape():value("zklock_clients", { state = state })) end
    assert.is_nil(scrape():value("zklock_clients", { state = "closed" })) -- an alert would take it for a client in need
  end)

  it("counts whatever else goes wrong as an error #once", function()
    assert(here:connect():rwlock(path).read:acquire(patience))
    assert.same({ nil, "wrong kind" }, { client:mutex(path):acquire(patience) })
    local many = {}
    for i = 1, 9000 do many[i] = ("%s/%s/%d"):format(path, ("x"):rep(200), i) end
    assert.same({ nil, "too big" }, { client:multilock(many):acquire(patience) })
    assert.same({ error = 2 }, ends())
  end)

  it("says why holds were lost #once", function()
    local proxy = here:proxy()
    client = here:connect_to(proxy.hosts)
    local lock = client:mutex(path)
    assert(lock:acquire(patience))
    here.tree:delete((here:only_node()))
    here:eventually(function() return losses().deleted == 1 end)
    take_short(client:mutex(path .. "/short", { max_hold = 0.05 }))
    here:eventually(function() return losses().max_hold == 1 end)
    assert(client:multilock({ path .. "/b", path .. "/c" }):acquire(patience))
    assert(client:mutex(path .. "/hot", { fair = false }):acquire(patience))
    local lease = assert(client:semaphore(path .. "/pool", 1):acquire(patience))
    here.tree:delete((here:only_node(path .. "/c")))
    here.tree:delete((here:only_node(path .. "/hot")))
    here:eventually(function() return losses().deleted == 3 end)
    take_short(client:multilock({ path .. "/d", path .. "/e" }, { max_hold = 0.05 }))
    here:eventually(function() return losses().max_hold == 2 end)
    assert(client:mutex(path .. "/f", { fair = false }):acquire(patience))
    proxy:expire_session(client:session_id())
    here:eventually(function() return losses().expired == 2 end)
    assert.same({ deleted = 3, max_hold = 2, expired = 2 }, losses())
    assert.same({ nil, "lost" }, { lease:release() })
    here:eventually(function() return scrape():value "zklock_sessions_total" == 2 end)
  end)

  it("shows who waits and holds now, and for how long #once", function()
    local lock = client:mutex(path, { name = "report" })
    local before = core.now()
    assert(lock:acquire(patience))
    here:ask(lock)
    local of, now = { lock = "report" }, nil
    here:eventually(function()
      now = scrape()
      return now:value("zklock_oldest_hold_seconds", of) > 0.05 and now:value("zklock_oldest_wait_seconds", of) > 0.05
    end)
    assert.same({ 1, 1 }, { now:value("zklock_held", of), now:value("zklock_waiting", of) })
    assert.is_true(now:value("zklock_oldest_wait_seconds", of) <= now:value("zklock_oldest_hold_seconds", of))
    assert.is_true(now:value("zklock_oldest_hold_seconds", of) <= core.now() - before)
    assert.same({ 0, 0 }, { now:value("zklock_oldest_wait_seconds", { lock = "" }),
      now:value("zklock_oldest_hold_seconds", { lock = "" }) })
    assert.is_true(now:value "zklock_validity_seconds" > 0)
    assert.is_true(now:value "zklock_validity_seconds" <= client:session_timeout())
    take_short(client:mutex(path .. "/short", { max_hold = 0.5 }))
    assert.is_true((scrape():value "zklock_validity_seconds" or 0) <= 0.5)
    assert(lock:release())
    here:eventually(function() return ends("report").acquired == 2 end)
    assert.equal(0, scrape():value("zklock_waiting", of))
    assert.equal(0, scrape():value("zklock_oldest_wait_seconds", of))
  end)

  it("shows the oldest of each name, and of several clients the older one #once", function()
    local other = here:connect()
    assert(other:mutex(path .. "/a", { name = "a" }):acquire(patience))
    here:eventually(function() return scrape(other):value("zklock_oldest_hold_seconds", { lock = "a" }) > 0.05 end)
    assert(client:mutex(path .. "/b", { name = "b" }):acquire(patience))
    assert(client:mutex(path .. "/a2", { name = "a" }):acquire(patience))
    local now = scrape(other)
    local a, b = { lock = "a" }, { lock = "b" }
    assert.is_true(now:value("zklock_oldest_hold_seconds", a) > now:value("zklock_oldest_hold_seconds", b) + 0.05)
    assert.is_true(now:value("zklock_oldest_hold_seconds", b) > 0)
  end)

  --- Two workers with a healthy job, as the alerts see them: one runs it, and the other stands by.
  local function two_workers(options)
    local other, begun = here:connect(), 0
    local function fn(_, hold)
      begun = begun + 1
      hold:sleep(math.huge)
    end
    local all = { client:job(path .. "/job", fn, options), other:job(path .. "/job", fn, options) }
    here:eventually(function() return begun == 1 and client:stats().waiting + other:stats().waiting == 1 end)
    return other, all
  end

  it("counts no job that stands by as a wait, and no job that runs as an old hold #once", function()
    local of = { lock = "feed" }
    local other, all = two_workers { name = "feed" }
    assert(client:mutex(path .. "/a"):acquire(patience))
    here:ask(client:mutex(path .. "/a"))
    local now
    here:eventually(function() -- the job is older than these
      now = scrape(other)
      return now:value("zklock_oldest_wait_seconds", { lock = "" }) > 0.02
    end)
    assert.same({ 1, 1, 0 }, { now:value("zklock_held", of), now:value("zklock_standing_by", of),
      now:value("zklock_waiting", of) })
    assert.same({ 0, 0 }, { now:value("zklock_oldest_wait_seconds", of), now:value("zklock_oldest_hold_seconds", of) })
    local unnamed = { lock = "" }
    assert.same({ 1, 0 }, { now:value("zklock_waiting", unnamed), now:value("zklock_standing_by", unnamed) })
    assert.equal(1, now:value("zklock_runs_total", { lock = "feed", result = "ran" }))
    for _, job in ipairs(all) do assert.is_true(job:stop(patience)) end
    now = scrape(other)
    assert.same({ 0, 0 }, { now:value("zklock_held", of), now:value("zklock_standing_by", of) })
  end)

  it("counts what ran, what a mark spared and what failed, of once #once", function()
    local of = { lock = "report" }
    local options, seen = { name = "report", mark = "after" }, os.time()
    local function runs()
      local now, counts = scrape(), {}
      for i, result in ipairs(RUNS) do
        counts[i] = now:value("zklock_runs_total", { lock = "report", result = result })
      end
      return counts
    end
    assert.is_false((pcall(client.once, client, path, 3600, function() error("no", 0) end, options)))
    assert.same({ 1, 0, 1 }, runs())
    local last = scrape():value("zklock_last_run_timestamp_seconds", of)
    assert.is_true(last >= seen - 1 and last <= os.time() + 1, last)
    assert.is_true((client:once(path, 3600, function() end, options)))
    assert.same({ 2, 0, 1 }, runs())
    local later = scrape():value("zklock_last_run_timestamp_seconds", of)
    assert.is_true(later > last)
    assert.is_false((client:once(path, 3600, function() end, options)))
    assert.same({ 2, 1, 1 }, runs())
    assert.equal(later, scrape():value("zklock_last_run_timestamp_seconds", of))
    assert.same({ acquired = 3 }, ends("report")) -- it takes the lock to look at the mark
    assert.same({ ran = 2, skipped = 1, failed = 1 }, client:stats().runs)
    local other = here:connect()
    assert.is_true((other:once(path .. "/b", 3600, function() end, options)))
    local value = scrape(other):value("zklock_last_run_timestamp_seconds", of)
    assert.is_true(value > later)
    assert.equal(value, prometheus.parse(metrics.text(other, client)):value("zklock_last_run_timestamp_seconds", of))
  end)

  it("counts what ran, what a mark spared and what failed, of a job #once", function()
    local of, count = { lock = "feed" }, 0
    client = here:connect { on_error = function() end }
    local job = client:job(path, function()
      count = count + 1
      if count == 1 then error "no" end
    end, { name = "feed", every = 3600, mark = "after", pause = 0.01 })
    here:eventually(function() return count == 2 and job:state() == "pausing" end)
    assert.same({ ran = 2, skipped = 0, failed = 1 }, client:stats().runs)
    local other = here:connect()
    other:job(path, function() error "it was done" end, { name = "feed", every = 3600 })
    here:eventually(function() return other:stats().runs.skipped == 1 end)
    assert.same({ ran = 0, skipped = 1, failed = 0 }, other:stats().runs)
    assert.is_truthy(scrape():value("zklock_last_run_timestamp_seconds", of))
    assert.is_nil(prometheus.parse(metrics.text(other)):value("zklock_last_run_timestamp_seconds", of))
  end)

  it("has no validity when nothing is held #once", function()
    assert(client:mutex(path):with(patience, function() end))
    assert.is_nil(metrics.text(client):find("zklock_validity_seconds", 1, true))
  end)

  it("counts what is done through a handle under the handle's name, escaped", function()
    local name = 'say "hi"\\\n\195\164'
    assert(client:mutex(path, { name = name }):with(patience, function() end))
    assert(client:mutex(path):with(patience, function() end))
    assert(client:rwlock(path .. "/rw", { name = name }).read:with(patience, function() end))
    assert(client:multilock({ path .. "/a", path .. "/b" }, { name = name }):with(patience, function() end))
    assert(assert(client:semaphore(path .. "/pool", 1, { name = name }):acquire(patience)):release())
    assert.same({ acquired = 4 }, ends(name))
    assert.same({ acquired = 1 }, ends())
    assert.equal(0, scrape():value("zklock_losses_total", { lock = name, reason = "expired" }))
  end)

  it("has no path in it #once", function()
    assert(client:mutex(path .. "/secret"):with(patience, function() end))
    assert.is_nil(metrics.text(client):find("secret", 1, true))
  end)

  it("has 100 names of one client, and then 'other' #once", function()
    for i = 1, 103 do
      assert(client:mutex(("%s/%d"):format(path, i), { name = "lock " .. i }):acquire(patience))
    end
    local now = scrape()
    assert.equal(1, now:value("zklock_held", { lock = "lock 100" }))
    assert.is_nil(now:value("zklock_held", { lock = "lock 101" }))
    assert.equal(3, now:value("zklock_held", { lock = "other" }))
    assert.same({ acquired = 3 }, ends("other"))
  end)

  it("has the 100 names of several clients that came first, and never changes a label #once", function()
    local another = here:connect()
    for i = 1, 60 do client:mutex(path, { name = "a" .. i }) end
    for i = 1, 60 do another:mutex(path, { name = "b" .. i }) end
    local now = scrape(another)
    assert.equal(0, now:value("zklock_held", { lock = "b40" }))
    assert.is_nil(now:value("zklock_held", { lock = "b41" }))
    client:mutex(path, { name = "a61" })
    now = scrape(another)
    assert.equal(0, now:value("zklock_held", { lock = "b40" }))
    assert.is_nil(now:value("zklock_held", { lock = "a61" }))
    assert.equal(0, now:value("zklock_held", { lock = "other" }))
  end)

  it("adds up several clients, each once #once", function()
    local another = here:connect()
    assert(client:mutex(path .. "/a", { name = "n" }):acquire(patience))
    assert(another:mutex(path .. "/b", { name = "n" }):acquire(patience))
    local function sent() return client:stats().requests_sent + another:stats().requests_sent end
    local least = sent()
    local now = scrape(another, client)
    local most = sent() -- a holder may have asked for its watch meanwhile
    assert.equal(2, now:value("zklock_held", { lock = "n" }))
    assert.equal(2, now:value("zklock_clients", { state = "connected" }))
    assert.equal(2, now:value "zklock_sessions_total")
    local value = now:value "zklock_requests_total"
    assert.is_true(least <= value and value <= most, ("%d of %d to %d"):format(value, least, most))
  end)

  it("counts abandoned holds #once", function()
    local lock = client:mutex(path)
    local owner = coroutine.create(function() assert(lock:acquire(patience)) end)
    assert(coroutine.resume(owner))
    here:eventually(function() return scrape():value "zklock_abandoned_total" == 1 end)
  end)

  it("names the argument that is no client #once", function()
    local ok, err = pcall(function() metrics.text() end)
    assert.is_false(ok)
    assert.matches("metrics_spec.lua:%d+: bad argument 'client 1': zklock.Client expected, got ", err)
    ok, err = pcall(function() metrics.text(client, 7) end)
    assert.is_false(ok)
    assert.matches("metrics_spec.lua:%d+: bad argument 'client 2': zklock.Client expected, got number", err)
  end)

  it("passes promtool #flood", function()
    if not io.open(PROMTOOL) then return pending("promtool is not installed: apt-get install prometheus") end
    assert(client:mutex(path, { name = 'a "name"\\\n' }):with(patience, function() end))
    assert.equal("", said_by_promtool(metrics.text(client)))
    assert.not_equal("", said_by_promtool("zklock_x 1\nzklock_x 2\n")) -- it does look
  end)
end)

describe("the name of a lock", function()
  local here = fixture.new("/names")

  it("is UTF-8 of 1 to 255 bytes", function()
    local client = assert(here:try_to_connect("127.0.0.1:1", { connect_timeout = 0 }))
    for _, bad in ipairs { "", ("x"):rep(256), "\255", "\237\160\128", "a\0b", 7, {}, false } do
      local ok, err = pcall(client.mutex, client, here.path, { name = bad })
      assert.is_false(ok)
      assert.matches("bad argument 'options.name': ", err)
    end
    for _, good in ipairs { "x", ("x"):rep(255), "\240\159\148\146", "a b\n" } do
      client:mutex(here.path, { name = good })
      client:rwlock(here.path .. "/rw", { name = good })
      client:multilock({ here.path .. "/a" }, { name = good })
      client:semaphore(here.path .. "/s", 1, { name = good })
    end
  end)

  it("may differ between handles of one path #once", function()
    local client = here:connect()
    local a, b = client:mutex(here.path, { name = "a" }), client:mutex(here.path, { name = "b" })
    assert(a:acquire(here.patience))
    assert(b:acquire(here.patience)) -- reentrant
    assert(a:release())
    assert(b:release())
    assert(b:with(here.patience, function() end))
    local now = prometheus.parse(metrics.text(client))
    assert.equal(1, now:value("zklock_acquisitions_total", { lock = "a", result = "acquired" }))
    assert.equal(1, now:value("zklock_acquisitions_total", { lock = "b", result = "acquired" }))
  end)
end)

