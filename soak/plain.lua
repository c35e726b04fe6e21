-- SPDX-License-Identifier: MIT
--- For soak/run.lua: a process of plain Lua that does everything again and again, until it is killed.
local zklock = require "zklock"

local hosts = arg[1]

local function nothing() end

local function work(client, turn)
  local lock = client:mutex("/soak/mutex-" .. turn % 7)
  assert(lock:with(30, nothing))
  local granted
  local request = lock:request(30, function(token, err, mine)
    granted = token or err
    if token then mine:release() end
  end)
  while not granted do client:poll(1) end
  assert(request:state() == "released")
  local guard = assert(client:mutex("/soak/plain"):guard(30))
  guard:release()
  local rw = client:rwlock("/soak/rw-" .. turn % 7)
  if rw.write:acquire(30) then
    rw.read:acquire(30)
    rw.write:release()
    rw.read:release()
  end
  local lease = assert(client:semaphore("/soak/semaphore", 3):acquire(30))
  lease:release()
  local both = client:multilock { "/soak/both-1", "/soak/both-2" }
  if both:acquire(30) then both:release() end
  coroutine.wrap(function() client:mutex("/soak/dropped-" .. turn % 3):acquire(30) end)() -- it ends holding it
  client:mutex("/soak/plain"):participants(30)
  client:mutex("/soak/plain"):revoke(30)
end

local turn = 0
while true do
  local client = assert(zklock.connect(hosts, { session_timeout = 6 }))
  client:on_state(nothing)
  for _ = 1, 200 do
    turn = turn + 1
    work(client, turn)
  end
  print(turn)
  io.stdout:flush()
  if turn % 400 == 0 then client:close() end -- or it is collected
end
