-- SPDX-License-Identifier: MIT
local socket = require "socket"
local zklock = require "zklock"

local adapter = { name = "turns" } -- the adapter: who waits gives the others a turn, and looks again
function adapter.wait(client, waiter)
  repeat client:poll() coroutine.yield()
  until waiter.done or waiter:left() == 0
end
function adapter.wake() end -- nothing to do: `wait` looks itself

local function job(number)
  local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181", { loop = adapter }))
  local token = assert(client:mutex("/shop/stock"):acquire(5)) -- the loop's other coroutines go on
  print(("%d has it, with token %d"):format(number, token))
  client:close()
end

local jobs, left = {}, 3 -- the loop: each coroutine has a turn every 2 milliseconds
for number = 1, left do jobs[number] = coroutine.create(job) end
while left > 0 do
  left = 0
  for number, thread in ipairs(jobs) do
    if coroutine.status(thread) ~= "dead" then
      assert(coroutine.resume(thread, number))
      left = left + 1
    end
  end
  socket.sleep(0.002)
end
