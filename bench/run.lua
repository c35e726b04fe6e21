-- SPDX-License-Identifier: MIT
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

--- From the release in one process to the grant in the next; all read the same clock. They stand in a ring: whoever has
--- released queues again, and each holds until the others have heard what they have to.
local function hand_over(hosts, count)
  local workers = {}
  for i = 1, count do
    workers[i] = worker.start()
    assert(workers[i]:connect(hosts))
    workers[i]:eval [[
      local core = require "zklock.core"
      local lock = worker.client:mutex("/bench/hand-over")
      function worker.take() assert(lock:acquire(30)); return core.now() end
      function worker.give() local now = core.now(); assert(lock:release()); return now end
      function worker.line() return #assert(lock:participants(5)) end
    ]]
  end
  local times = {}
  workers[1]:eval "return worker.take()"
  for i = 2, count do
    workers[i]:begin("eval", "return worker.take()")
    repeat until workers[1]:eval "return worker.line()" == i
  end
  for i = 1, ROUNDS do
    local holder, next_one = workers[(i - 1) % count + 1], workers[i % count + 1]
    for _ = 1, 4 do holder:eval "return worker.line()" end
    local released = holder:eval "return worker.give()"
    times[i] = next_one:finish() - released
    holder:begin("eval", "return worker.take()")
    local deadline = core.now() + 10
    repeat until next_one:eval "return worker.line()" == count or core.now() > deadline
  end
  for _, w in ipairs(workers) do w:kill() end
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

--- One read by itself, and as many as `count` that overlap.
local function read(client, count)
  local path, times = "/bench/node", {}
  client:create(path, "data", { parents = true }, 5)
  assert(client:get(path, 5))
  for i = 1, ROUNDS do
    local left = count
    times[i] = timed(function()
      if count == 1 then return assert(client:get(path, 5)) end
      for _ = 1, count do
        client:spawn(function()
          assert(client:get(path, 5))
          left = left - 1
        end)
      end
      while left > 0 do client:poll(5) end
    end)
  end
  return median(times)
end

local function guarded(client)
  local lock, times = client:mutex("/bench/guarded"), {}
  assert(lock:acquire(5))
  for i = 1, ROUNDS do
    times[i] = timed(function() assert(lock:multi({ { "set", "/bench/node", "data" } }, 5)) end)
  end
  assert(lock:release())
  return median(times)
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
for _, count in ipairs { 2, 4, 8 } do
  row(("hand-over between %d processes"):format(count), hand_over(between.hosts, count) / rtt, "round trips")
end
time, requests = drain(client)
row("50 requests of one process, from first grant to last", time / rtt, "round trips in all")
row("  requests sent", requests, "for each acquisition")
row("get", read(client, 1) / rtt, "round trips")
row("64 gets that overlap", read(client, 64) / rtt, "round trips in all")
row("a guarded write", guarded(client) / rtt, "round trips")

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
direct:close()
backend:stop()
