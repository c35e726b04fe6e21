-- SPDX-License-Identifier: MIT
--- Inside nginx with two workers: how soon a waiting request wakes, what an idle worker costs, how many requests go
--- through one contended lock, and how many with a lock of their own for each of 1,000 items. Prints; asserts nothing.
-- Run with LuaJIT, whose build nginx loads.
--
--   nginx.lua [items [FOLDER...]]   only the items; FOLDER has another build of zklock, as build/luajit has this one:
--                                   both in turn
--   nginx.lua hot                   only one hot lock of one worker, in turn with lua-resty-lock's operations
local measure = require "bench.measure"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local server = require "spec.support.server"
local wait = require "spec.support.wait"

local SERVER = [[
  location /wake { content_by_lua_block {
    local core, lock, times = require "zklock.core", client:mutex("/bench/wake"), {}
    local step = tonumber(ngx.var.args) -- seconds between looks; 0: a semaphore wakes
    for i = 1, 200 do
      local left, woken
      lock:acquire(5, "first")
      local thread = ngx.thread.spawn(function()
        if step == 0 then
          lock:acquire(5, "second")
        else
          while not left do ngx.sleep(step) end
        end
        woken = core.now()
        lock:release("second")
      end)
      ngx.sleep(0.005 + math.random() * 0.01)
      left = core.now()
      lock:release("first")
      ngx.thread.wait(thread)
      times[i] = woken - left
    end
    table.sort(times)
    local sum = 0
    for _, time in ipairs(times) do sum = sum + time end
    ngx.say(("%.0f us in the middle, %.0f us on average"):format(times[100] * 1e6, sum / 200 * 1e6))
  } }
  location /zklock { content_by_lua_block {
    local lock = client:mutex("/bench/contended")
    if not lock:acquire(20) then return ngx.exit(503) end
    lock:release()
    ngx.say("ok")
  } }
  location /items { content_by_lua_block {
    local lock = client:mutex("/bench/items/" .. math.random(1000))
    if not lock:acquire(20) then return ngx.exit(503) end
    lock:release()
    ngx.say("ok")
  } }
  location /turns { content_by_lua_block {
    local lock = client:mutex("/bench/turns", { fair = false })
    if not lock:acquire(20) then return ngx.exit(503) end
    lock:release()
    ngx.say("ok")
  } }
  # What lua-resty-lock does (Debian has no package of it): add to a shared dictionary, sleep twice as long each time.
  location /shared { content_by_lua_block {
    local counts, step = ngx.shared.counts, 0.001
    while not counts:add("lock", true, 20) do
      ngx.sleep(step)
      step = math.min(step * 2, 0.5)
    end
    counts:delete("lock")
    ngx.say("ok")
  } }
  location /none { content_by_lua_block { ngx.say("ok") } }
  location /poll { content_by_lua_block {
    ngx.timer.at(0, function() while not ngx.worker.exiting() do ngx.sleep(0.001) end end)
  } }
]]

local zk = server.start()

local function start(http)
  return nginx.start { http = http or nginx.CLIENT, server = SERVER, values = { hosts = zk.hosts } }
end

--- How often a second its main thread goes to sleep and is woken.
local function wakeups(web, seconds)
  local function count()
    local sum = 0
    for _, pid in ipairs(web:workers()) do
      local file = assert(io.open(("/proc/%d/status"):format(pid)))
      sum = sum + tonumber(file:read("*a"):match("\nvoluntary_ctxt_switches:%s*(%d+)"))
      file:close()
    end
    return sum
  end
  local from, before = wait.now(), count()
  wait.eventually(function() return wait.now() - from > seconds end, seconds + 10)
  return (count() - before) / (wait.now() - from)
end

local function requests(web, path)
  local wrk = process.spawn { "wrk", "-t2", "-c40", "-d5s", web.url .. path }
  wrk:wait(60)
  local out = wrk:stdout()
  return tonumber(out:match("Requests/sec:%s*([%d.]+)")), out:match("Non%-2xx[^\n]*") or "",
    tonumber(out:match("(%d+) requests in"))
end

-- ---- a lock for each item -------------------------------------------------------------------------------------------

local ITEM_ROUNDS = 3
local TO_MS = { us = 0.001, ms = 1, s = 1000 }

--- Two hundred connections, each for any of the items.
---@return table { rate = a second, p99 = milliseconds, server = microseconds, failed = "" or what was not served }
local function items_once(build)
  local web = nginx.start { http = nginx.CLIENT, server = SERVER, values = { hosts = zk.hosts },
    package_cpath = build and ('lua_package_cpath "%s/?.so;;";'):format(build) }
  local function run(duration)
    local wrk = process.spawn { "wrk", "-t2", "-c200", "-d" .. duration, "--latency", web.url .. "/items" }
    wrk:wait(60)
    return wrk:stdout()
  end
  run("2s") -- all directories are there then
  local before = measure.processor_time { zk.pid }
  local out = run("5s")
  local count = tonumber(out:match("(%d+) requests in"))
  local p99, unit = out:match("99%%%s+([%d.]+)(%a+)")
  local result = { rate = tonumber(out:match("Requests/sec:%s*([%d.]+)")), p99 = p99 * TO_MS[unit],
    server = (measure.processor_time { zk.pid } - before) / count * 1e6, failed = out:match("Non%-2xx[^\n]*") or "" }
  web:stop()
  return result
end

local function items(builds)
  print "1,000 items, 200 connections, two workers:"
  for _ = 1, ITEM_ROUNDS do
    for i = 0, #builds do
      local one = items_once(builds[i])
      print(("  %-28s %6.0f requests a second, 99th percentile %4.0f ms, %4.0f us of the server each %s"):format(
        builds[i] or "this build", one.rate, one.p99, one.server, one.failed))
    end
  end
end

if arg and arg[1] == "items" then return items { select(2, unpack(arg)) } end

-- ---- one hot lock ---------------------------------------------------------------------------------------------------

local HOT_ROUNDS = 5
local HOT_CASES = { { "zklock, fair = false", "/turns" }, { "lua-resty-lock's operations", "/shared" } }

--- In turn, so that other work of the machine slows both alike. The worker's processor time tells more than the rate,
--- which has wrk's as well.
local function hot()
  print "One hot lock, 40 clients, one worker:"
  local web = nginx.start { http = nginx.CLIENT, server = SERVER, values = { hosts = zk.hosts }, workers = 1 }
  for round = 1, HOT_ROUNDS do
    for _, case in ipairs(HOT_CASES) do
      local before = measure.processor_time(web:workers())
      local rate, failed, count = requests(web, case[2])
      local took = (measure.processor_time(web:workers()) - before) / count * 1e6
      print(("  %d  %-28s %6.0f requests a second, %5.1f us of the worker each %s"):format(round, case[1], rate, took,
        failed))
    end
  end
  web:stop()
end

if arg and arg[1] == "hot" then return hot() end

-- ---------------------------------------------------------------------------------------------------------------------

local web = start()
web:get("/zklock")
print "From a release to the next waiter of the same worker:"
for _, step in ipairs { "0", "0.001", "0.005", "0.010" } do
  local _, line = web:get("/wake?" .. step)
  local what = step == "0" and "zklock" or ("ngx.sleep(%s) in a loop"):format(step)
  print(("  %-28s %s"):format(what, (line:gsub("\n", ""))))
end

print "Wake-ups a second of two idle workers:"
print(("  %-28s %.1f"):format("with a client each", wakeups(web, 5)))
web:get("/poll")
print(("  %-28s %.1f"):format("one of them polling at 1 ms", wakeups(web, 5)))
web:stop()
web = start("lua_shared_dict counts 1m;")
print(("  %-28s %.1f"):format("without zklock", wakeups(web, 5)))
web:stop()

print "Requests a second, 40 clients, two workers:"
web = start()
local CASES = { { "no lock", "/none" }, { "shared dictionary, one machine", "/shared" }, { "zklock", "/zklock" },
  { "zklock, fair = false", "/turns" } }
for _, case in ipairs(CASES) do
  local rate, failed = requests(web, case[2])
  print(("  %-32s %.0f %s"):format(case[1], rate, failed))
end
web:stop()
hot()
items {}
