-- SPDX-License-Identifier: MIT
--- Reloads nginx again and again while all running timers of its workers are in use, under load, and looks whether each
--- old worker leaves with its session.
--
--   luajit soak/reloads.lua [MINUTES]     2, at most 10
--
-- Each worker makes its client when it starts, which so has the two timers that it needs, and then uses up all others.
-- It prints a line for each reload. A check fails if an old worker stays, if a session or a node is left, or if the
-- error log has a line that nginx does not write for dropped timers. The last line is `N passed, N failed`; the status
-- is 1 if a check failed.

local checks = require "soak.checks"
local inspector = require "spec.support.inspector"
local loop = require "spec.support.loop"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local server = require "spec.support.server"
local wait = require "spec.support.wait"

local MINUTES = math.min(tonumber(arg[1]) or 2, 10)
local WORKERS = 2
--- Seconds from one reload to the next, and for an old worker to leave: the host looks every 10, and the load's
--- requests end within a second or so.
local PERIOD, PATIENCE = 6, 30
--- Reloads without which the run has shown nothing.
local LEAST = math.floor(MINUTES * 60 / PATIENCE)

local HTTP = [[
  lua_shared_dict counts 1m;
  lua_max_running_timers 40;
  init_by_lua_block { alone = dofile "@tree@/soak/alone.lua" }
  init_worker_by_lua_block {
    zklock = require "zklock"
    client = assert(zklock.connect("@hosts@", { session_timeout = 6 }))
    for _ = 1, 40 do
      assert(ngx.timer.at(0, function()
        while not ngx.worker.exiting() do ngx.sleep(0.05) end
      end))
    end
    client:on_state(function() end)
    client:mutex("/soak/worker"):request(nil, function() end)
  }
]]

local check, say = checks.check, checks.say

local file = assert(io.open("soak/nginx.conf"))
local locations = file:read("*a")
file:close()

local zk = server.start()
local tree = inspector.connect(zk.hosts)
local web = nginx.start { workers = WORKERS, level = "warn", values = { hosts = zk.hosts }, http = HTTP,
  server = locations }
local load = process.spawn { "wrk", "-t1", "-c6", ("-d%ds"):format(MINUTES * 60), "-s", "soak/mix.lua", web.url }

local reloads, slowest = 0, 0

local function await_next(moment)
  loop.poll(function() return wait.now() >= moment end, PERIOD + PATIENCE)
end

--- Which nodes there are below /soak, and which process made each.
local function nodes()
  local list = {}
  for _, name in ipairs(tree:children("/soak") or {}) do
    for _, node in ipairs(tree:children("/soak/" .. name) or {}) do
      local made_by = tree:get(("/soak/%s/%s"):format(name, node)) or "gone"
      if node:find("%d$") then list[#list + 1] = ("%s/%s (%s)"):format(name, node, made_by) end
    end
  end
  return table.concat(list, " ")
end

local began = wait.now()
while wait.now() - began < MINUTES * 60 do
  local at = wait.now()
  local left = nginx.await_end(web:reload(), PATIENCE)
  reloads = reloads + 1
  slowest = math.max(slowest, wait.now() - at)
  say("%5.0f s   reload %d: the old workers left after %.1f s", wait.now() - began, reloads, wait.now() - at)
  check(left, "an old worker is there after %d seconds; nodes: %s", PATIENCE, left or nodes())
  await_next(at + PERIOD)
end
load:wait(PATIENCE)
local function count(name) return tonumber((select(2, web:get("/count?" .. name)))) or 0 end
local locks, oversold = count "locks", count "oversold"
check(oversold == 0, "%d grants while another caller had the lock", oversold)

--- The lines of nginx about timers that it drops, and about socket errors of the load.
local function is_expected(line)
  return line:find("lua_max_running_timers are not enough", 1, true) ~= nil
end
local unexpected = {}
for _, line in ipairs(web:errors()) do
  if not is_expected(line) then unexpected[#unexpected + 1] = line end
end
check(#unexpected == 0, "nginx: %s", table.concat(unexpected, "\n"))

-- The nodes of an old worker or a request are gone before its session could time out.
local function sessions() return zk:mntr().num_alive_connections - 1 end -- the last is the tree's
local ended = loop.poll(function() return sessions() == WORKERS end, PATIENCE)
check(ended, "%d sessions are left, of %d workers", sessions(), WORKERS)
web:stop("sigquit")
ended = loop.poll(function() return sessions() == 0 end, PATIENCE)
check(ended, "%d sessions are left after nginx has quit", sessions())
local left_over = nodes()
check(left_over == "", "nodes are left: %s", left_over)
check(reloads >= LEAST, "%d reloads, at least %d wanted", reloads, LEAST)
tree:close()
zk:stop()
say("%d reloads, the slowest of %.1f s; %d locks", reloads, slowest, locks)
checks.finish()
