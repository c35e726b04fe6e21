-- SPDX-License-Identifier: MIT
--- Whether ZooKeeper itself keeps what it has acknowledged when leaders are killed: no zklock in it, kazoo writes.
--
--   lua5.4 chaos/acknowledged.lua [MINUTES] [SEED] [SYNC]
--
-- SYNC is `forceSync`: "no", as in all specs, or "yes": what is written is on the disk before it is acknowledged. (A
-- process that is killed loses nothing that it has handed to the system either way.)
-- Three servers, of which one or two are killed (SIGKILL) at a time while nodes are created and deleted, and started
-- again: the leader at once, or a follower, and the leader while that one is catching up. After each blow all servers
-- are asked behind a sync: a node whose deletion was acknowledged may not be there, one whose creation was may not be
-- missing. Ends with the figures, and status 1 if anything was found: ZooKeeper 3.8.0 has such losses
-- (docs/promises.md).

local ensemble = require "spec.support.ensemble"
local loop = require "spec.support.loop"
local process = require "spec.support.process"

local minutes = tonumber(arg[1]) or 10
local seed = tonumber(arg[2]) or os.time()
local sync = arg[3] or "no"
local PROGRESS = 20 -- blows
local WAITS = 2 -- seconds: syncLimit

local function pause(most) loop.turn_until(function() return false end, math.random() * most) end

local function other_than(a, b)
  for n = 1, 3 do
    if n ~= a and n ~= b then return n end
  end
end

local function revive(cluster, ...)
  for _, n in ipairs { ... } do cluster:start(n, false) end
end

-- Each leaves three servers that run.
local blows = {
  { "leader killed, and started at once", function(cluster)
    revive(cluster, cluster:kill_leader())
  end },
  { "leader killed, and started later", function(cluster)
    local leader = cluster:kill_leader()
    pause(3)
    revive(cluster, leader)
  end },
  { "leader killed while a follower that was away catches up", function(cluster)
    local leader = cluster:leader()
    local follower = other_than(leader)
    cluster:kill(follower)
    pause(1.5)
    cluster:start(follower, false)
    pause(2.5)
    cluster:kill(leader)
    pause(1)
    revive(cluster, leader)
  end },
  { "leader killed while a follower catches up, then that follower", function(cluster)
    local leader = cluster:leader()
    local follower = other_than(leader)
    cluster:kill(follower)
    pause(1.5)
    cluster:start(follower, false)
    pause(2.5)
    cluster:kill(leader)
    pause(1.5)
    cluster:kill(follower)
    revive(cluster, leader, follower)
  end },
  { "leader and a follower killed together", function(cluster)
    local leader = cluster:leader()
    local follower = other_than(leader)
    cluster:kill(leader)
    cluster:kill(follower)
    pause(1)
    revive(cluster, follower)
    pause(1)
    revive(cluster, leader)
  end },
  { "follower stopped for about as long as the leader waits for it, then killed", function(cluster)
    local follower = cluster:follower()
    cluster:stop(follower)
    loop.turn_until(function() return false end, WAITS * (0.9 + 0.2 * math.random()))
    cluster:resume(follower)
    pause(3)
    cluster:kill(follower)
    revive(cluster, follower)
  end },
  { "leader killed, the next one as soon as it leads", function(cluster)
    local first = cluster:kill_leader()
    revive(cluster, first)
    revive(cluster, cluster:kill_leader())
  end },
}

local function hear(writer, seconds)
  local line, err = writer:read_line(seconds)
  local why = err == "eof" and "the writer has ended: " or "the writer says nothing: "
  return line or error(why .. writer:stderr(), 0)
end

--- Without a node to write below it could not begin: no blow before.
local function start_writer(hosts)
  local writer = process.spawn { "/usr/bin/python3", "chaos/acknowledged.py", hosts, env = process.PLAIN }
  assert(hear(writer, 120) == "ready")
  return writer
end

local function check(writer)
  writer:write "check"
  local line = hear(writer, 240)
  local found = {}
  for one in line:match('"found": (%b[])'):gmatch('"([^"]*)"') do found[#found + 1] = one end
  return tonumber(line:match('"writes": (%d+)')), tonumber(line:match('"unknown": (%d+)')), found
end

local function report(struck, writes, unknown, found)
  local total = 0
  for _, blow in ipairs(blows) do
    print(("%6d  %s"):format(struck[blow[1]] or 0, blow[1]))
    total = total + (struck[blow[1]] or 0)
  end
  print(("%6d  blows, %d writes acknowledged, %d whose answers were lost: %d came back or were lost"):format(total,
    writes, unknown, found))
end

--- Each server's role when something was found, and how far it had come.
local function tell_roles(cluster)
  for n = 1, 3 do
    local answer = cluster.servers[n]:four_letter "srvr" or ""
    print(("  %s: %s, %s, last transaction %s"):format(cluster.servers[n].hosts, answer:match "Mode: (%a+)" or "silent",
      answer:match "version: ([^,-]+)" or "?", answer:match "Zxid: (%S+)" or "?"))
  end
end

local function run()
  math.randomseed(seed)
  local cluster = ensemble.start { config = { forceSync = sync } }
  local writer = start_writer(cluster.hosts)
  local over, struck, writes, unknown, found, count = loop.now() + 60 * minutes, {}, 0, 0, 0, 0
  while loop.now() < over do
    local blow = blows[math.random(#blows)]
    pause(1)
    blow[2](cluster)
    struck[blow[1]] = (struck[blow[1]] or 0) + 1
    for n = 1, 3 do cluster.servers[n]:await() end
    local more, lost, now_found = check(writer)
    writes, unknown, found, count = writes + more, unknown + lost, found + #now_found, count + 1
    for _, one in ipairs(now_found) do print(("blow %d, %s: %s"):format(count, blow[1], one)) end
    if #now_found > 0 then tell_roles(cluster) end
    if count % PROGRESS == 0 then print(("%d blows, %d writes, %d found"):format(count, writes, found)) end
    io.stdout:flush()
  end
  writer:close_input()
  cluster:close()
  report(struck, writes, unknown, found)
  return found == 0
end

print("seed " .. seed)
os.exit(run() and 0 or 1, true)
