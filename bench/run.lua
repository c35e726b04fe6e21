--- Counts what the lock costs, in round trips through a proxy that holds every byte back for 10 ms each way, and in
--- requests sent. Prints; asserts nothing.
local core = require "zklock.core"
local measure = require "bench.measure"
local zklock = require "zklock"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local worker = require "spec.support.worker"

local ROUNDS = 50

local median, timed, row = measure.median, measure.timed, measure.row

local function alone(client)
  local lock, times = client:mutex("/bench/alone"), {}
  assert(lock:acquire(5))
  assert(lock:release())
  local before = client:stats().requests_sent
  for i = 1, ROUNDS do
    times[i] = timed(function()
      assert(lock:acquire(5))
      assert(lock:release())
    end)
  end
  return median(times), (client:stats().requests_sent - before) / ROUNDS
end

local function first_time(client)
  local times = {}
  for i = 1, 10 do
    local lock = client:mutex(("/bench/new%d"):format(i))
    times[i] = timed(function()
      assert(lock:acquire(5))
      assert(lock:release())
    end)
  end
  return median(times)
end

--- From the release in one process to the grant in the other; both read the same clock.
local function hand_over(hosts)
  local workers = { worker.start(), worker.start() }
  for _, w in ipairs(workers) do
    assert(w:connect(hosts))
    w:eval [[
      local core = require "zklock.core"
      local lock = worker.client:mutex("/bench/hand-over")
      function worker.take() assert(lock:acquire(30)); return core.now() end
      function worker.give() local now = core.now(); assert(lock:release()); return now end
    ]]
  end
  local times = {}
  workers[1]:eval "return worker.take()"
  for i = 1, ROUNDS do
    local holder, waiter = workers[2 - i % 2], workers[1 + i % 2]
    waiter:begin("eval", "return worker.take()")
    -- until both watches of the waiter are armed
    local deadline = core.now() + 10
    repeat
      local list = holder:eval [[
        local list = assert(worker.client:mutex("/bench/hand-over"):participants(5))
        return #list
      ]]
    until list == 2 or core.now() > deadline
    holder:eval [[worker.client:mutex("/bench/nobody"):participants(5)]]
    holder:eval [[worker.client:mutex("/bench/nobody"):participants(5)]]
    local released = holder:eval "return worker.give()"
    times[i] = waiter:finish() - released
  end
  for _, w in ipairs(workers) do w:exit() end
  return median(times)
end

--- Fifty requests of one process, each released as soon as it is granted.
local function drain(client)
  local lock, requests, granted = client:mutex("/bench/drain"), {}, 0
  local first, last
  local before = client:stats().requests_sent
  assert(lock:acquire(5)) -- so that all are in line before the first is granted
  for i = 1, 50 do
    requests[i] = lock:request(30, function(token, err)
      assert(token, err)
      granted = granted + 1
      last = core.now()
      first = first or last
      assert(requests[i]:release())
    end)
  end
  while client:stats().waiting > 0 and #assert(lock:participants(5)) < 51 do client:poll() end
  client:mutex("/bench/nobody"):participants(5)
  assert(lock:release())
  while granted < 50 do client:poll(1) end
  return last - first, (client:stats().requests_sent - before) / 51
end

local backend = server.start {}
local between = proxy.start(backend.hosts)
between:delay(measure.DELAY)
local client = assert(zklock.connect(between.hosts, { session_timeout = 20 }))

local rtt = measure.round_trip(client)
print(("Through a proxy of %d ms each way; medians of %d.\n"):format(measure.DELAY * 1000, ROUNDS))
row("one question and its answer (the round trip below)", rtt * 1000, "ms")
local time, requests = alone(client)
row("acquire + release, alone", time / rtt, "round trips")
row("  requests sent", requests, "for each acquisition")
row("acquire + release at a path that has to be made", first_time(client) / rtt, "round trips")
row("hand-over between two processes", hand_over(between.hosts) / rtt, "round trips")
time, requests = drain(client)
row("50 requests of one process, from first grant to last", time / rtt, "round trips in all")
row("  requests sent", requests, "for each acquisition")

client:close()
between:close()

local direct = assert(zklock.connect(backend.hosts))
local lock, count = direct:mutex("/bench/alone"), 2000
time = timed(function()
  for _ = 1, count do
    assert(lock:acquire(5))
    assert(lock:release())
  end
end)
print()
row("without the proxy: acquire + release, alone", time / count * 1e6, "us")
assert(lock:acquire(5))
time = timed(function()
  for _ = 1, 1e5 do
    lock:acquire(5)
    lock:release()
  end
end)
row("reentrant acquire + release", time / 1e5 * 1e9, "ns")
direct:close()
backend:stop()
