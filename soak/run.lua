-- SPDX-License-Identifier: MIT
--- Uses zklock for as long as one likes, in a worker of nginx and in plain Lua, everything mixed, and looks whether
--- anything grows: memory, descriptors, threads.
--
--   luajit soak/run.lua [MINUTES]
--
-- It prints a line every ten seconds, and at the end what each process had over the time, as text. A check fails if
-- something grew, if nginx's log has an error, or if less was done than a run of this length must do. The last line is
-- `N passed, N failed`; the status is 1 if a check failed.

local checks = require "soak.checks"
local nginx = require "spec.support.nginx"
local plot = require "soak.plot"
local process = require "spec.support.process"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local usage = require "soak.usage"
local wait = require "spec.support.wait"

local MINUTES = tonumber(arg[1]) or 10
local PERIOD = 2 -- seconds between two looks
local PROGRESS = 10
local CUTS = 30 -- seconds from one cut of all links to the next; their sessions go on
local CLIENTS = 20
--- Things that are made once (compiled code, pools) are made by then: the first part of the run is no measure.
local WARM = { rss = 0.4, fds = 0.1, threads = 0.1 }
--- The least that one worker of nginx, and one process of plain Lua, do in ten minutes or more; in less time as much
--- less.
local WANTED = { requests = 100000, locks = 30000, callbacks = 20000, timers = 5000, turns = 2000 }

local HTTP = nginx.CLIENT .. 'init_by_lua_block { alone = dofile "@tree@/soak/alone.lua" }'

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local check, say = checks.check, checks.say

local zk = server.start()
local links = proxy.start(zk.hosts, { raw = true })
local web = nginx.start { workers = 1, level = "warn", values = { hosts = links.hosts }, http = HTTP,
  server = read("soak/nginx.conf") }
local plain = process.spawn { "lua5.4", "soak/plain.lua", links.hosts }
local load

local refused = {} -- what wrk said of answers that were not good

local function hear()
  local said = load and load:stdout():match("Non%-2xx[^\n]*")
  if said then refused[#refused + 1] = said end
end

--- wrk ends when its time is over: another one follows.
local function drive(left)
  if load and load:is_running() then return end
  hear()
  load = process.spawn { "wrk", "-t1", "-c" .. CLIENTS, ("-d%ds"):format(math.max(1, math.min(60, left))), "-s",
    "soak/mix.lua", web.url }
end

local function count(name)
  local _, body = web:get("/count?" .. name)
  return tonumber(body) or 0
end

--- Checks that as much was done as a run of this length must do.
local function check_amount(name, done)
  local wanted = math.ceil(WANTED[name] * math.min(1, MINUTES / 10))
  say("%8d %s, of at least %d", done, name, wanted)
  check(done >= wanted, "   TOO FEW: %d %s", done, name)
end

local function turns()
  return tonumber(plain:stdout():match("(%d+)\n$")) or 0
end

local worker = web:workers()[1]
local watched = { { name = "nginx", pid = worker }, { name = "plain Lua", pid = plain.pid } }
local began, told, cuts = wait.now(), 0, 0
repeat
  local past = wait.now() - began
  drive(MINUTES * 60 - past)
  for _, one in ipairs(watched) do usage.look(one, past) end
  if past >= CUTS * (cuts + 1) then
    cuts = cuts + 1
    links:cut()
  end
  if past - told >= PROGRESS then
    told = past
    say("%5.0f s   %7d requests   %7d locks   %7d callbacks   %6d timers   %s   %6d turns   %s", past,
      count("requests"), count("locks"), count("callbacks"), count("timers"), usage.now(watched[1]), turns(),
      usage.now(watched[2]))
  end
  local next_look = wait.now() + PERIOD
  wait.eventually(function() return wait.now() >= next_look end, PERIOD + 30)
until wait.now() - began >= MINUTES * 60

load:wait(30)
hear()
for _, name in ipairs { "requests", "locks", "callbacks", "timers" } do check_amount(name, count(name)) end
check_amount("turns", turns())
say("%8d cuts of all links", cuts)
check(count "oversold" == 0, "%d grants while another caller had the lock", count "oversold")
check(web:workers()[1] == worker, "nginx's worker %d has ended", worker)
check(#refused == 0, "wrk: %s", table.concat(refused, "; "))
for _, one in ipairs(watched) do
  for _, kind in ipairs { "rss", "fds", "threads" } do
    print(plot.draw(("%s: %s"):format(one.name, usage.KINDS[kind]), one[kind]))
    local grown, why = usage.has_grown(one[kind], kind, WARM[kind])
    check(not grown, "   GREW: %s", why)
  end
end
local errors = web:errors()
check(#errors == 0, "nginx's log has %d lines of error:\n%s", #errors, table.concat(errors, "\n", 1,
  math.min(#errors, 10)))
check(plain:is_running(), "plain Lua ended: %s", plain:stderr())
plain:kill()
web:stop()
links:close()
zk:stop()
checks.finish()
