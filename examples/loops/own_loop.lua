-- SPDX-License-Identifier: MIT
-- An event loop of somebody's own, over LuaSocket's select, and the adapter with which its coroutines wait for locks.
local blocking = require "zklock.loop.blocking"
local socket = require "socket"
local zklock = require "zklock"

local mine = setmetatable({}, { __mode = "k" }) -- the loop's coroutines
local ready = {} -- those that may go on
local listeners = {} -- objects with `getfd`, each with the function to call when it is readable
local waiting = {} -- those who wait for zklock

local function spawn(fn)
  local thread = coroutine.create(fn)
  mine[thread] = true
  ready[#ready + 1] = thread
end

local adapter = { name = "mine" }

function adapter.wait(client, waiter)
  local thread = coroutine.running()
  if not thread or not mine[thread] then return blocking.wait(client, waiter) end
  waiter.thread = thread
  waiting[waiter] = true
  coroutine.yield()
end

function adapter.wake(waiter)
  if not waiting[waiter] then return end
  waiting[waiter] = nil
  ready[#ready + 1] = waiter.thread
end

function adapter.watch(client, take)
  local fd = client:getfd()
  local link = { getfd = function() return fd end }
  listeners[link] = take
  return function() listeners[link] = nil end
end

function adapter.spawn(_, fn)
  spawn(fn)
  return true
end

local function step()
  local due, links = ready, {}
  ready = {}
  for _, thread in ipairs(due) do assert(coroutine.resume(thread)) end
  for link in pairs(listeners) do links[#links + 1] = link end
  for _, link in ipairs(socket.select(links, nil, #ready > 0 and 0 or 0.1)) do listeners[link]() end
  for waiter in pairs(waiting) do
    if waiter:left() == 0 then adapter.wake(waiter) end
  end
end

local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181", { loop = adapter }))
local lock, left = client:mutex("/shop/stock"), 3
for i = 1, 3 do
  spawn(function()
    local token = assert(lock:acquire(5))
    print(("%d has it, with token %d"):format(i, token))
    assert(lock:release())
    left = left - 1
  end)
end
while left > 0 do step() end
client:close()
