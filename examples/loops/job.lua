-- SPDX-License-Identifier: MIT
-- A job that runs every second in one of the processes that run this script, on whatever machine. When that one ends,
-- is killed or cut off, the next in line takes over.
--
--   ZOOKEEPER=127.0.0.1:2181 lua5.4 examples/loops/job.lua
local cqueues = require "cqueues"
local zklock = require "zklock"

local EVERY, LONGEST = 1, 0.5 -- seconds: between two pieces of work; what one takes at most

--- The work itself. The token is for whatever it writes to: that has to refuse a smaller one than it has seen, for a
--- process can be stopped between its look at the lock and its write.
local function work(client, token)
  print(("%d %s"):format(token, client:session_id()))
  io.stdout:flush()
end

local loop = cqueues.new()
loop:wrap(function()
  local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181", { loop = "cqueues" }))
  local lock = client:mutex("/shop/job")
  while true do
    local token, err = lock:acquire()
    -- Not that nobody has told of a loss: `validity` is for how long nobody else can have it.
    while token and lock:is_held() do
      if lock:validity() > LONGEST then work(client, token) end
      cqueues.sleep(EVERY)
    end
    if token then
      lock:release() -- back into the line
    else
      io.stderr:write("no job here: ", err, "\n")
      cqueues.sleep(EVERY)
    end
  end
end)
assert(loop:loop())
