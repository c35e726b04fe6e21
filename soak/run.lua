--- Uses zklock for as long as one likes, in a worker of nginx and in plain Lua, everything mixed, and looks whether
--- anything grows: memory, descriptors, threads.
--
--   luajit soak/run.lua [MINUTES]
--
-- A line every ten seconds; at the end what each process had over the time, as text, and status 1 if something grew, or
-- if anything was said in nginx's error log.

local nginx = require "spec.support.nginx"
local plot = require "soak.plot"
local process = require "spec.support.process"
local server = require "spec.support.server"
local usage = require "soak.usage"
local wait = require "spec.support.wait"

local MINUTES = tonumber(arg[1]) or 10
local PERIOD = 2 -- seconds between two looks
local PROGRESS = 10
local CLIENTS = 20
--- What is made once (compiled code, pools) is made by then: the first part of the run is no measure.
local WARM = 0.4

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("*a")
  file:close()
  return text
end

local function say(...)
  print(string.format(...))
  io.stdout:flush()
end

local zk = server.start()
local web = nginx.start { workers = 1, level = "warn", values = { hosts = zk.hosts }, http = nginx.CLIENT,
  server = read("soak/nginx.conf") }
local plain = process.spawn { "lua5.4", "soak/plain.lua", zk.hosts }
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

local watched = { { name = "nginx", pid = web:workers()[1] }, { name = "plain Lua", pid = plain.pid } }
local began, told = wait.now(), 0
repeat
  local past = wait.now() - began
  drive(MINUTES * 60 - past)
  for _, one in ipairs(watched) do usage.look(one, past) end
  if past - told >= PROGRESS then
    told = past
    say("%5.0f s   %7d requests   %7d callbacks   %6d timers   %s   %s", past, count("requests"), count("callbacks"),
      count("timers"), usage.now(watched[1]), usage.now(watched[2]))
  end
  local next_look = wait.now() + PERIOD
  wait.eventually(function() return wait.now() >= next_look end, PERIOD + 30)
until wait.now() - began >= MINUTES * 60

local requests = count("requests")
load:wait(30)
hear()
local errors, bad = web:errors(), #refused
for _, said in ipairs(refused) do say("wrk: %s", said) end
for _, one in ipairs(watched) do
  for _, kind in ipairs { "rss", "fds", "threads" } do
    print(plot.draw(("%s: %s"):format(one.name, usage.KINDS[kind]), one[kind]))
    local grown, why = usage.has_grown(one[kind], kind, WARM)
    if grown then
      bad = bad + 1
      say("   GREW: %s", why)
    end
  end
end
for i = 1, math.min(#errors, 10) do say("nginx: %s", errors[i]) end
local lines = plain:stdout()
if not plain:is_running() then
  bad = bad + 1
  say("plain Lua ended: %s %s", lines, plain:stderr())
end
plain:kill()
web:stop()
zk:stop()
say("%d requests through one worker, %d lines of error, %d things that grew or broke", requests, #errors, bad)
os.exit(#errors == 0 and bad == 0 and 0 or 1, true)
