-- A job that runs every second in one of the processes that run this script, on whatever machine. When that one ends,
-- is killed or cut off, the next in line takes over.
--
--   ZOOKEEPER=127.0.0.1:2181 lua5.4 examples/loops/job.lua
local cqueues = require "cqueues"
local zklock = require "zklock"

local EVERY = 1

--- The work itself. The token is for whatever it writes to.
local function work(client, token)
  print(("%d %s"):format(token, client:session_id()))
  io.stdout:flush()
end

local loop = cqueues.new()
loop:wrap(function()
  local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181", { loop = "cqueues" }))
  local lock = client:mutex("/shop/job")
  while true do
    local token = assert(lock:acquire())
    while lock:is_held() do
      work(client, token)
      cqueues.sleep(EVERY)
    end
    lock:release() -- while it cannot be sure of it, somebody else may have it
  end
end)
assert(loop:loop())
