-- SPDX-License-Identifier: MIT
--- Costs of the other kinds, in round trips through a proxy that holds every byte back for 10 ms each way, in requests
--- and in wake-ups that the server counts; Curator beside us where it has the same. Prints; asserts nothing.
local measure = require "bench.measure"
local neighbour = require "spec.support.neighbour"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local ROUNDS = 30
local PATIENCE = 20
local PATHS = 8
local READERS = 5

local row = measure.row

local zk = server.start {}
local between = proxy.start(zk.hosts)
between:delay(measure.DELAY)
local client = assert(zklock.connect(between.hosts, { session_timeout = 20 }))
local rtt = measure.round_trip(client)

--- How long a cycle takes, in round trips, and how many requests it sends; the first one makes the path.
local function cycle(fn)
  fn()
  client:flush(PATIENCE)
  between:reset()
  local time = measure.each(ROUNDS, fn)
  client:flush(PATIENCE)
  return time / rtt, between:counts().total / ROUNDS
end

print(("Through a proxy of %d ms each way; medians of %d.\n"):format(measure.DELAY * 1000, ROUNDS))
row("one question and its answer (the round trip below)", rtt * 1000, "ms")

-- ---- multilock ------------------------------------------------------------------------------------------------------

local paths, mutexes = {}, {}
for i = 1, PATHS do
  paths[i] = ("/bench/multi/%d"):format(i)
  mutexes[i] = client:mutex(paths[i])
end
local function one_after_another()
  for _, lock in ipairs(mutexes) do assert(lock:acquire(PATIENCE)) end
  for _, lock in ipairs(mutexes) do assert(lock:release()) end
end
local all = client:multilock(paths)
local function at_once()
  assert(all:acquire(PATIENCE))
  assert(all:release())
end
for _, case in ipairs { { ("%d mutexes, one after another"):format(PATHS), one_after_another },
  { ("a multilock of %d paths"):format(PATHS), at_once } } do
  local time, requests = cycle(case[2])
  row(case[1] .. ": acquire + release", time, "round trips")
  row("  requests sent", requests, "for each cycle")
end

-- ---- semaphore ------------------------------------------------------------------------------------------------------

local pool = client:semaphore("/bench/pool", 2)
local time, requests = cycle(function() assert(assert(pool:acquire(PATIENCE)):release()) end)
row("a semaphore's lease, alone: acquire + release", time, "round trips")
row("  requests sent", requests, "for each cycle")

-- Curator's processes ask for the node's Stat after each acquire, to know the token: one round trip and one request.
local curator = neighbour.crew(between.hosts, 20, "curator")
local NAME = "semaphore/2:/bench/curators-pool"
time, requests = cycle(function()
  assert(curator:acquire(NAME, PATIENCE))
  assert(curator:release(NAME))
end)
row("Curator's InterProcessSemaphoreV2: the same", time - 1, "round trips")
row("  requests sent", requests - 1, "for each cycle")
curator:kill()

-- ---- readers --------------------------------------------------------------------------------------------------------

local function wakeups() return zk:mntr().sum_node_deleted_watch_count end

--- Readers wait behind two writers who leave one after the other; each reader is a session of its own.
---@return number wakeups by the server's count of watches, until all read
local function readers(path, crew, name)
  local direct = assert(zklock.connect(zk.hosts))
  local first, second = direct:rwlock(path).write, direct:rwlock(path).write
  local peek = function() return #assert(direct:rwlock(path).read:participants(PATIENCE)) end
  assert(first:acquire(PATIENCE, "first"))
  local follower = second:request(PATIENCE, function() end)
  wait.eventually(function() return peek() == 2 end, PATIENCE)
  for i, one in ipairs(crew) do
    one:begin("acquire", name, PATIENCE)
    wait.eventually(function() return peek() == 2 + i end, PATIENCE)
  end
  --- Each reader has two: one on the writer, and zklock's on its own node, or Curator's on the configuration.
  local function await_watches()
    wait.eventually(function() return zk:mntr().watch_count > 2 * #crew end, PATIENCE)
  end
  await_watches()
  local before = wakeups()
  assert(first:release("first"))
  wait.eventually(function()
    direct:poll(0.01)
    return follower:state() == "held"
  end, PATIENCE)
  assert(direct:flush(PATIENCE))
  await_watches() -- of those who had to look again, too
  assert(follower:release())
  for _, one in ipairs(crew) do assert(one:finish(PATIENCE)) end
  local woken = wakeups() - before
  for _, one in ipairs(crew) do
    one:release(name)
    one:kill()
  end
  direct:close()
  return woken
end

--- Processes of this library's, by the verbs of Curator's.
local function our_readers()
  local worker = require "spec.support.worker"
  local crew = {}
  for i = 1, READERS do
    local one = worker.start()
    assert(one:connect(zk.hosts))
    crew[i] = setmetatable({}, { __index = {
      begin = function(_, _, path)
        one:begin("eval", "assert(worker.client:rwlock(...).read:acquire(20)) return 1", path)
      end,
      finish = function() return one:finish() end,
      release = function(_, path) one:eval("return worker.client:rwlock(...).read:release()", path) end,
      kill = function() one:kill() end,
    } })
  end
  return crew
end

print(("\n%d readers behind two writers who leave one after the other:"):format(READERS))
local woken = readers("/bench/readers", our_readers(), "/bench/readers")
row("zklock: wake-ups by the server's count", woken, "")
local kinds = {}
for i = 1, READERS do kinds[i] = "curator" end
local theirs = { neighbour.crew(zk.hosts, 20, (table.unpack or unpack)(kinds)) } -- luacheck: ignore 143 113
woken = readers("/bench/curators-readers", theirs, "read:/bench/curators-readers")
row("Curator: wake-ups by the server's count", woken, "")

client:close()
between:close()
zk:stop()
