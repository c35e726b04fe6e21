-- SPDX-License-Identifier: MIT
--- Costs of one process, against a server on the same machine without a proxy: calls without traffic, many locks, many
--- waiters, and the memory of each. Prints; asserts nothing.
local core = require "zklock.core"
local measure = require "bench.measure"
local server = require "spec.support.server"
local zklock = require "zklock"

local PATIENCE = 60

local row, timed = measure.row, measure.timed

local backend = server.start {}
-- Some parts have more nodes than a client may have where a server is started again.
local function connect()
  return assert(zklock.connect(backend.hosts, { session_timeout = 30, node_bytes = 20000000 }))
end

-- ---- calls without traffic ------------------------------------------------------------------------------------------

local TIMES = 2e5

--- The time of one of the TIMES rounds of fn. The best of some runs: what others do on the machine only adds to it.
local function nanoseconds(fn)
  local best = math.huge
  for _ = 1, 20 do best = math.min(best, timed(fn)) end
  return best / TIMES * 1e9
end

local function cheap_calls(client)
  local lock = client:mutex("/bench/cheap")
  assert(lock:acquire(PATIENCE))
  row("reentrant acquire + release", nanoseconds(function()
    for _ = 1, TIMES do lock:acquire(5) lock:release() end
  end), "ns")
  row("is_held", nanoseconds(function() for _ = 1, TIMES do lock:is_held() end end), "ns")
  row("validity", nanoseconds(function() for _ = 1, TIMES do lock:validity() end end), "ns")
  assert(lock:release())
end

--- One process with a hot lock: by one owner, and from one owner to the next.
local function hot_lock(client)
  local lock = client:mutex("/bench/hot", { fair = false })
  local function cycles() for _ = 1, TIMES do lock:acquire(5) lock:release() end end
  cycles() -- its node is watched by then
  local before = client:stats()
  row("fair = false: acquire + release by one owner", nanoseconds(cycles), "ns")
  local after = client:stats()
  local each = (after.requests_sent - before.requests_sent) / (after.acquired - before.acquired)
  row("  requests for 1,000 of them", each * 1000, "")
  row("fair = false: acquire + release, each by another owner", nanoseconds(function()
    for _ = 1, TIMES do lock:acquire(5, "a") lock:release("a") end
  end), "ns")
end

-- ---- many locks -----------------------------------------------------------------------------------------------------

--- Each is asked for again as soon as it was given back.
local function many_locks(client, count, seconds)
  local cycles, stop = 0, false
  local function turn(lock)
    lock:request(PATIENCE, function(token, err, request)
      assert(token, err)
      assert(request:release())
      cycles = cycles + 1
      if not stop then turn(lock) end
    end)
  end
  for i = 1, count do turn(client:mutex(("/bench/many/%d"):format(i))) end
  client:poll(1)
  local before, cpu, start = cycles, os.clock(), core.now()
  local of_server = measure.processor_time { backend.pid }
  while core.now() - start < seconds do client:poll(0.1) end
  local time, done = core.now() - start, cycles - before
  cpu, of_server = os.clock() - cpu, measure.processor_time { backend.pid } - of_server
  stop = true
  while client:stats().waiting + client:stats().held > 0 do client:poll(0.1) end
  row(("%d locks over one connection: acquire + release"):format(count), done / time, "a second")
  row("  processor time of this process", cpu / done * 1e6, "us each")
  row("  of the server", of_server / done * 1e6, "us each")
end

-- ---- many waiters ---------------------------------------------------------------------------------------------------

local function queue_up(client, lock, count, callback)
  local requests = {}
  for i = 1, count do
    requests[i] = lock:request(PATIENCE * 10, callback)
    if i % 100 == 0 then client:poll() end
  end
  while true do
    local sent = client:stats().requests_sent
    client:mutex("/bench/nobody"):participants(PATIENCE)
    client:poll(0.05)
    if client:stats().requests_sent - sent < 10 then return requests end
  end
end

--- From the first grant to the last; each gives it back at once.
local function hand_on(client, count, rounds)
  local lock, times = client:mutex("/bench/waiters"), {}
  for round = 1, rounds do
    local granted = 0
    assert(lock:acquire(PATIENCE))
    queue_up(client, lock, count, function(token, err, request)
      assert(token, err)
      granted = granted + 1
      assert(request:release())
    end)
    local cpu, sent = os.clock(), client:stats().requests_sent
    times[round] = timed(function()
      assert(lock:release())
      while granted < count do client:poll(1) end
    end) / count
    cpu, sent = os.clock() - cpu, client:stats().requests_sent - sent
    if round == rounds then
      row(("%d local waiters on one lock, each"):format(count), measure.median(times) * 1e6, "us")
      row("  processor time of this process", cpu / count * 1e6, "us each")
      row("  requests", sent / count, "each")
    end
  end
  assert(client:flush(PATIENCE))
end

local function leave_together(client, count)
  local lock, told = client:mutex("/bench/leaving"), 0
  assert(lock:acquire(PATIENCE))
  local requests = queue_up(client, lock, count, function() told = told + 1 end)
  local cpu = os.clock()
  local time = timed(function()
    for i = 1, count do requests[i]:cancel() end
    while told < count do client:poll(1) end
    assert(client:flush(PATIENCE * 10))
  end)
  cpu = os.clock() - cpu
  assert(lock:release())
  row(("%d local waiters that leave together, all"):format(count), time, "s")
  row("  processor time of this process", cpu, "s")
end

--- Behind so many waiters of another client: a single try, and, in turn, its create and list alone (bench/floor.c).
local function arrive(count)
  local others, client = connect(), connect()
  local line, lock = others:mutex "/bench/go/1", client:mutex "/bench/go/1"
  for _ = 1, count do line:request(PATIENCE * 10, function() end, {}) end -- each with an owner of its own
  while #assert(lock:participants(PATIENCE)) < count do others:poll(0.1) end
  local ours, theirs = {}, {}
  local function try() assert(select(2, lock:acquire(0)) == "timeout") end
  for _ = 1, 8 do
    for _ = 1, 50 do
      ours[#ours + 1] = timed(try)
      assert(client:flush(PATIENCE))
    end
    local program = assert(io.popen(("build/bench/floor %s 1 50"):format(backend.hosts)))
    for round in program:lines() do theirs[#theirs + 1] = assert(tonumber(round)) end
    assert(program:close(), "bench/floor.c has failed")
  end
  row(("arrival behind %d waiters of another client"):format(count), measure.median(ours) * 1e6, "us")
  row("  the quickest", ours[1] * 1e6, "us")
  row("  its requests alone, from C", measure.median(theirs) * 1e6, "us")
  row("  the quickest", theirs[1] * 1e6, "us")
  client:close()
  others:close()
end

-- ---- many lines, and memory -----------------------------------------------------------------------------------------

local function rss()
  for line in io.lines "/proc/self/status" do
    local kib = line:match "^VmRSS:%s+(%d+)"
    if kib then return tonumber(kib) end
  end
end

--- The bytes that malloc has given to C and not got back, in all threads. LuaJIT's own memory is none of that.
local allocated
if rawget(_G, "jit") then
  local ffi = require "ffi"
  ffi.cdef [[
    struct mallinfo2 { size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost; };
    struct mallinfo2 mallinfo2(void);
  ]]
  function allocated()
    local info = ffi.C.mallinfo2()
    return tonumber(info.uordblks + info.hblkhd)
  end
end

local function kib_of_lua()
  collectgarbage()
  collectgarbage()
  return collectgarbage "count"
end

local function cycle(client, lock)
  local times = {}
  for i = 1, 300 do
    times[i] = timed(function()
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
    end)
  end
  assert(client:flush(PATIENCE))
  return measure.median(times) * 1e6
end

local function many_lines(count)
  local holder, client = connect(), connect()
  local lock = client:mutex("/bench/line")
  row("1 line: acquire + release", cycle(client, lock), "us")
  local lua = kib_of_lua()
  local handles, holding, waiting = {}, {}, {} -- a request that is collected holds nothing
  for i = 1, count do handles[i] = client:mutex(("/bench/lines/%06d"):format(i)) end
  row("memory of an idle lock handle, in Lua", (kib_of_lua() - lua) / count * 1024, "bytes")
  for i = 1, count do holding[i] = holder:mutex(handles[i]:path()):request(PATIENCE * 10, function() end) end
  while holder:stats().held < count do holder:poll(0.1) end
  lua = kib_of_lua()
  local all = rss()
  for i = 1, count do waiting[i] = handles[i]:request(PATIENCE * 10, function() end) end
  for _ = 1, 20 do client:poll(0.05) end
  local grown = kib_of_lua() - lua
  row("memory of a waiting request on a line of its own, in Lua", grown / count * 1024, "bytes")
  row("  in C and in libzookeeper", (rss() - all - grown) / count * 1024, "bytes")
  row(("%d lines: acquire + release on one"):format(count), cycle(client, lock), "us")
  assert(client:stats().waiting == #waiting and holder:stats().held == #holding)
  client:close()
  holder:close()
end

local function waiting_requests(count)
  local client = connect()
  local lock = client:mutex("/bench/memory")
  assert(lock:acquire(PATIENCE))
  lock:request(PATIENCE * 10, function() end)
  local lua, all, in_use = kib_of_lua(), rss(), allocated and allocated()
  local requests = queue_up(client, lock, count, function() end)
  local grown = kib_of_lua() - lua
  row("memory of a waiting request on one lock, in Lua", grown / count * 1024, "bytes")
  row("  what the process grows by beside that", (rss() - all - grown) / count * 1024, "bytes")
  if allocated then row("  in C and in libzookeeper", (allocated() - in_use) / count, "bytes") end
  client:close()
  return requests
end

local only = arg and arg[1]
local function part(name, fn)
  if not only or only:find(name, 1, true) then fn() end
end

print((rawget(_G, "jit") and "LuaJIT" or _VERSION) .. ", one server on the same machine, no proxy.\n")
local client = connect()
part("cheap", function() cheap_calls(client) hot_lock(client) end)
part("memory", function() waiting_requests(10000) end) -- early: what others have freed would be used again
part("locks", function() many_locks(client, 64, 4) end)
part("waiters", function()
  hand_on(client, 8, 50)
  hand_on(client, 1000, 3)
  hand_on(client, 10000, 1)
end)
part("arrival", function() arrive(3000) end)
part("leave", function() leave_together(client, 20000) end)
client:close()
part("lines", function() many_lines(10000) end)
backend:stop()
