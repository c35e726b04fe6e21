-- SPDX-License-Identifier: MIT
-- A configuration that every process follows: what one writes, all have, a moment later and without asking. Run it in
-- two terminals, and write with a third: lua examples/nodes/config.lua set "limit=20"
local zklock = require "zklock"

local PATH = "/shop/config"

local client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181"))

if arg[1] == "set" then
  local ok, err = client:set(PATH, arg[2], nil, 5)
  if not ok and err == "no node" then ok, err = client:create(PATH, arg[2], { parents = true }, 5) end
  assert(ok, err)
  client:close()
  return
end

--- The values that count when there is no configuration.
local config = { limit = 10 }

assert(client:watch(PATH, function(data, stat)
  if not data then return print("no configuration: " .. stat) end
  local limit = data:match("limit=(%d+)")
  if not limit then return print("not understood, the former one counts: " .. data) end
  config.limit = tonumber(limit)
  print(("version %d: limit %d"):format(stat.version, config.limit))
end))

io.stdout:setvbuf("line")
client:sleep(math.huge) -- here a program does its work, with config.limit
