-- SPDX-License-Identifier: MIT
--- How many instructions the engine takes for an acquire and a release, and for each waiter of other clients that an
--- arrival finds. Prints; asserts nothing. Needs valgrind.
--
--   instructions.lua
--
-- A figure is the difference between a longer and a shorter run of one process. It has everything that core.so calls,
-- but neither Lua nor libzookeeper, and counts whatever else the machine does alike.

local measure = require "bench.measure"
local server = require "spec.support.server"
local zklock = require "zklock"

local PATIENCE, WAITERS = 60, 3000

-- The process that is counted: instructions.lua WORK HOSTS COUNT
local WORK = {}
function WORK.cycles(client, count)
  local lock = client:mutex "/bench/cycle"
  for _ = 1, count do
    assert(lock:acquire(PATIENCE))
    assert(lock:release())
  end
end
function WORK.arrivals(client, count)
  local lock = client:mutex "/bench/line"
  for _ = 1, count do assert(select(2, lock:acquire(0)) == "timeout") end
end

if arg[1] then
  WORK[arg[1]](assert(zklock.connect(arg[2], { connect_timeout = PATIENCE })), tonumber(arg[3]))
  os.exit(0, false)
end

local function library_of(object)
  local name = object:match "[^/]*$"
  return name:find("^core%.so") and "core" or (name:find "^lua" or name:find "^libzookeeper") and "other" or "system"
end

--- The instructions of the calls into core.so, less those of core.so's own calls of Lua and libzookeeper.
local function engine_of(path)
  local sum, from, to, called = 0, nil, nil, false
  for line in io.lines(path) do
    local key, value = line:match "^(c?ob)=(.*)"
    if called then
      local source, target, cost = from, to or from, tonumber(line:match "%d+$")
      if source ~= "core" and target == "core" then sum = sum + cost end
      if source == "core" and target == "other" then sum = sum - cost end
      called, to = false, nil
    elseif key == "ob" then
      from = library_of(value)
    elseif key == "cob" then
      to = library_of(value)
    elseif line:find "^calls=" then
      called = true
    end
  end
  return sum
end

local function run(hosts, work, count)
  local out = os.tmpname()
  local command = "LD_BIND_NOW=1 valgrind --quiet --tool=callgrind --compress-strings=no --compress-pos=no "
    .. "--callgrind-out-file=%s lua5.4 bench/instructions.lua %s %s %d"
  assert(os.execute(command:format(out, work, hosts, count)))
  local sum = engine_of(out)
  os.remove(out)
  return sum
end

local backend = server.start {}
local function each(work, few, many)
  return (run(backend.hosts, work, many) - run(backend.hosts, work, few)) / (many - few)
end

measure.row("acquire + release of a mutex", each("cycles", 300, 800), "instructions")
local others = assert(zklock.connect(backend.hosts, { session_timeout = 30, node_bytes = 20000000 }))
local line = others:mutex "/bench/line"
for _ = 1, WAITERS do line:request(1e6, function() end, {}) end
repeat others:poll(0.1) until others:stats().held == 1
measure.row(("each of %d waiters in front of an arrival"):format(WAITERS), each("arrivals", 3, 8) / WAITERS,
  "instructions")
others:close()
backend:stop()
