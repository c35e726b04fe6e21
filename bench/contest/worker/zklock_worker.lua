-- SPDX-License-Identifier: MIT
--- A contestant's program with zklock: does what the lines on its stdin say, as worker.c does.
--
-- One client with one lock waits as it comes, in the main program; several contend in coroutines of luv's loop.

local core = require "zklock.core"
local socket = require "socket"
local uv = require "luv"
local zklock = require "zklock"

local verbs, clients, locks = {}, {}, {}
local options -- of every lock

local function now() return math.floor(core.now() * 1e6) end

local function at(name, client)
  local key = name .. " " .. tostring(client or clients[1])
  locks[key] = locks[key] or (client or clients[1]):mutex("/contest/" .. name, options)
  return locks[key]
end

function verbs.close()
  for _, client in ipairs(clients) do client:close() end
  clients, locks = {}, {}
  return "ok"
end

--- way "unfair": what comes first takes it, not who came first
function verbs.open(servers, ttl, count, way)
  verbs.close()
  options = way == "unfair" and { fair = false } or nil
  for i = 1, count do
    clients[i] = assert(zklock.connect(servers, { session_timeout = ttl / 1000, connect_timeout = 20, loop = "luv",
      log = function() end }))
  end
  return "ok"
end

function verbs.acquire(name, ms)
  local token, err = at(name):acquire(tonumber(ms) >= 0 and ms / 1000 or nil)
  if token then return ("ok %d %d"):format(token, now()) end
  return err == "timeout" and "late" or "no " .. err
end

function verbs.release(name)
  local began = now()
  local ok, err = at(name):release()
  return ok and "ok " .. began or "no " .. err
end

function verbs.held(name) return at(name):is_held() and "yes" or "no" end

local function both(one, other) return clients[1]:multilock { "/contest/" .. one, "/contest/" .. other } end

function verbs.both(one, other, ms)
  local token, err = both(one, other):acquire(ms / 1000)
  return token and ("ok %d %d"):format(token, now()) or "no " .. err
end

verbs["both-release"] = function(one, other)
  local done, err = both(one, other):release()
  return done and "ok" or "no " .. err
end

local SHORT = 2000 -- microseconds: a timer of luv's would be late by as much

--- Suspends the coroutine, or waits.
local function sleep(us)
  local thread, is_main = coroutine.running()
  if us <= 0 then return end
  if is_main or us <= SHORT then return uv.sleep(math.floor(us / 1000)) end
  local timer = uv.new_timer()
  timer:start(math.floor(us / 1000), 0, function()
    timer:close()
    assert(coroutine.resume(thread))
  end)
  coroutine.yield()
end

--- Seconds that the last acquire of a lock that nobody else wants may take: nothing that was asked for is given up.
local GRACE = 20

local function contend(lock, number, limits, log)
  local failures = 0
  for _ = 1, limits.rounds do
    local asked = now()
    if asked >= limits.stop then break end
    local token, err = lock:acquire((limits.stop - asked) / 1e6 + limits.grace)
    if token then
      local granted = now()
      sleep(limits.hold)
      local releasing = now()
      if not lock:release() then failures = failures + 1 end
      log[#log + 1] = ("%d %d %d %d %d %d\n"):format(number, asked, granted, releasing, now(), token)
    elseif err ~= "timeout" then
      failures = failures + 1
    end
  end
  return failures
end

function verbs.run(count, name, ms, rounds, hold, path)
  local limits = { rounds = tonumber(rounds), hold = tonumber(hold), stop = now() + ms * 1000,
    grace = tonumber(count) > 0 and GRACE or 0 }
  local log, failures, each = {}, 0, {}
  for i = 1, tonumber(count) do each[i] = at(name .. "-" .. i) end
  if tonumber(count) == 0 then
    for i, client in ipairs(clients) do each[i] = at(name, client) end
  end
  if #each == 1 then
    failures = contend(each[1], 0, limits, log)
  else
    local left = #each
    for i, lock in ipairs(each) do
      assert(coroutine.resume(coroutine.create(function()
        local ok, failed = pcall(contend, lock, i - 1, limits, log)
        failures, left = failures + (ok and failed or 1), left - 1
      end)))
    end
    while left > 0 do uv.run("once") end
  end
  local file <close> = assert(io.open(path, "w"))
  file:write(table.concat(log))
  return ("ok %d %d 0"):format(#log, failures)
end

--- One item: false when the shop is closed.
local function sell(ask, lock)
  if ask "ask" ~= "ok" then return false end
  local token, err = lock:acquire(1)
  if not token then
    if err ~= "timeout" then uv.sleep(50) end
    return ask("quit " .. err) ~= "closed"
  end
  local stock = tonumber(ask(("enter %d"):format(token))) or 0
  if stock > 0 then
    ask "pay"
    ask(("write %d %d %s"):format(stock - 1, token, lock:is_held() and "yes" or "no"))
  end
  return ask("leave " .. (lock:release() and "ok" or "no")) ~= "closed"
end

function verbs.sell(address, name, buyer)
  local host, port = address:match("^(.*):(%d+)$")
  local link = assert(socket.connect(host, tonumber(port)))
  link:setoption("tcp-nodelay", true)
  local function ask(line)
    link:send(line .. "\n")
    return link:receive("*l") or "closed"
  end
  ask("buyer " .. buyer)
  local lock = at(name)
  repeat until not sell(ask, lock)
  link:close()
  return "ok"
end

io.stdout:setvbuf("line")
print "ready"
for line in io.lines() do
  local words = {}
  for word in line:gmatch("%S+") do words[#words + 1] = word end
  local verb = verbs[table.remove(words, 1)]
  if verb then
    local ok, answer = pcall(verb, table.unpack(words))
    print(ok and answer or "no " .. tostring(answer):gsub("\n", " "))
  else
    print "no such verb"
  end
end
verbs.close()
