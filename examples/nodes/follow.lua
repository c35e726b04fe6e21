-- SPDX-License-Identifier: MIT
-- A worker's view of the configuration: see nginx.conf.
local zklock = require "zklock"

local PATH = "/shop/config"

--- The values that count until the first word has come, and when there is no configuration.
local follow = { limit = 10 }

local client

--- From init_worker: it waits for nothing.
function follow.start()
  client = assert(zklock.connect(os.getenv("ZOOKEEPER") or "127.0.0.1:2181"))
  assert(client:watch(PATH, function(data)
    local limit = data and data:match("limit=(%d+)")
    if limit then follow.limit = tonumber(limit) end
  end))
end

--- In a request.
---@return table? stat, string? err
function follow.set(text)
  local stat, err = client:set(PATH, text, nil, 5)
  if stat or err ~= "no node" then return stat, err end
  local path, why = client:create(PATH, text, { parents = true }, 5)
  if path then return why end
  return nil, why
end

return follow
