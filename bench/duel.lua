-- SPDX-License-Identifier: MIT
--- The same command under `zklock run`, `etcdctl lock` and `flock`, twice: for how many seconds did both run at once?
--
-- The first holds the lock, the second waits. Then something happens to the first one's locking program: it is killed,
-- it is stopped, or its link to the servers is cut. The command writes the time every twentieth of a second, for as
-- long as it lives. `make duel` prints the table of docs/internals/run.md; all duels go on at the same time.

local folder = require "spec.support.folder"
local loop = require "spec.support.loop"
local process = require "spec.support.process"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local servers = require "bench.contest.servers"
local uv = require "luv"
local write_file = require("spec.support.file").write

local SESSION = 10 -- seconds, of zklock's session and of etcd's lease
local AFTERWARDS = 30 -- seconds that both are watched from the fault on

local zk, etcd = server.shared(), servers.start "etcd"

local TOOLS = {
  { title = "`zklock run --session " .. SESSION .. "`", hosts = zk.hosts, frames = true,
    words = function(hosts) return { "build/zklock", "run", "-z", hosts, "--session", SESSION } end },
  { title = "`etcdctl lock --ttl " .. SESSION .. "`", hosts = etcd.hosts,
    words = function(hosts) return { "etcdctl", "--endpoints=http://" .. hosts, "lock", "--ttl", SESSION } end },
  { title = "`flock`", words = function() return { "flock" } end },
}

local FAULTS = {
  { title = "killed (`kill -9`)", strike = function(duel) duel.first:signal("kill") end },
  { title = "stopped (`kill -STOP`)", strike = function(duel) duel.first:signal("stop") end,
    heal = function(duel) duel.first:signal("cont") end },
  { title = "cut off from the servers", cuts = true, strike = function(duel) duel.proxy:black_hole() end },
}

-- A file of its own: etcdctl takes the options of a command for its own.
local WRITER = folder.file("writer.sh", [[
#!/bin/sh
echo $$ >"$1.pid"
while :; do date +%s.%N >>"$1"; sleep 0.05; done
]])
assert(uv.fs_chmod(WRITER, 448))

local function sleep(seconds) loop.poll(function() return false end, seconds) end

--- The moments of a writer's first and last line.
local function moments(path)
  local first, last
  for line in io.lines(path) do
    local moment = tonumber(line)
    first, last = first or moment, moment or last
  end
  return first, last
end

local function start(tool, hosts, lock, path)
  local words = tool.words(hosts)
  for _, word in ipairs { lock, WRITER, path } do words[#words + 1] = word end
  words.env = { ETCDCTL_API = "3", ZKLOCK_CONFIG = "/dev/null", ZKLOCK_RUN = false, LD_PRELOAD = false }
  return process.spawn(words)
end

--- Begins a duel: the first one holds, and the second one waits.
local function begin(tool, fault, number)
  local duel = { tool = tool, fault = fault, path = folder.new("duel") }
  local lock = tool.hosts and "/duel/" .. number or duel.path .. "/lock"
  for _, who in ipairs { "/first", "/second" } do write_file(duel.path .. who, "") end
  if fault.cuts and not tool.hosts then return duel end -- nothing to cut
  if fault.cuts then duel.proxy = proxy.start(tool.hosts, { raw = not tool.frames }) end
  duel.first = start(tool, duel.proxy and duel.proxy.hosts or tool.hosts, lock, duel.path .. "/first")
  assert(loop.poll(function() return (moments(duel.path .. "/first")) end, 30, 0.05), "nobody holds " .. lock)
  duel.second = start(tool, tool.hosts, lock, duel.path .. "/second")
  return duel
end

--- Ends the commands that are left, whose programs may be dead.
local function end_writers(duel)
  for _, one in ipairs { duel.second, duel.first } do one:kill() end
  for _, who in ipairs { "/first.pid", "/second.pid" } do
    local file = io.open(duel.path .. who)
    if file then
      uv.kill(tonumber(file:read("a")), "sigkill")
      file:close()
    end
  end
end

--- Seconds that both ran at once.
local function overlap(duel)
  local _, last = moments(duel.path .. "/first")
  local first = moments(duel.path .. "/second")
  return first and math.max(0, last - first) or 0, first
end

local function cell(duel)
  if not duel.first then return "no servers" end
  local seconds, began = overlap(duel)
  if not began then return "0 s; the second one waits" end
  if seconds >= AFTERWARDS - 3 * SESSION / 2 - 2 then return ("%.0f s, and no end"):format(seconds) end
  local both = seconds == 0 and "0 s" or ("%.1f s"):format(seconds)
  return ("%s; the second one begins after %.1f s"):format(both, began - duel.struck)
end

local function wall_clock()
  local date = process.spawn { "date", "+%s.%N", env = process.PLAIN }
  date:wait()
  return tonumber(date:stdout())
end

local duels = {}
for f, fault in ipairs(FAULTS) do
  duels[f] = {}
  for t, tool in ipairs(TOOLS) do duels[f][t] = begin(tool, fault, #FAULTS * f + t) end
end
sleep(1) -- the second ones are in the line
local function each(fn)
  for _, row in ipairs(duels) do
    for _, duel in ipairs(row) do
      if duel.first then fn(duel) end
    end
  end
end
each(function(duel)
  duel.struck = wall_clock()
  duel.fault.strike(duel)
end)
sleep(AFTERWARDS)
each(function(duel)
  if duel.fault.heal then duel.fault.heal(duel) end
  end_writers(duel)
end)

local function row(cells) print("| " .. table.concat(cells, " | ") .. " |") end
local head, line = { "the holder's program is" }, { "---" }
for _, tool in ipairs(TOOLS) do head[#head + 1], line[#line + 1] = tool.title, "---" end
row(head)
row(line)
for f, fault in ipairs(FAULTS) do
  local cells = { fault.title }
  for t = 1, #TOOLS do cells[#cells + 1] = cell(duels[f][t]) end
  row(cells)
end
process.kill_all()
etcd:stop()
