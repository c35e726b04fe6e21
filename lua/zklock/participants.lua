-- SPDX-License-Identifier: MIT
--- participants: the holders and waiters of a lock, read from the servers.
local query = require "zklock.run.query"

---@class zklock.Participant
---@field path string
---@field node string
---@field kind "lock"|"read"|"write"|"lease"
---@field sequence integer
---@field session string
---@field identifier string the node's data, truncated to 1024 bytes
---@field created number seconds since 1970 by the servers' clock
---@field holder boolean
---@field mine boolean true for this client's nodes

--- Lists the nodes in the lines at `paths`, and before them the leases at `leases`.
---@param leases string?
---@return zklock.Participant[]?
---@return string? err
---@return string? why of "disconnected"
return function(client, paths, deadline, once, leases)
  local all = {}
  local function read(path, are_leases)
    local ok, answer = query(client, function(tag)
      return client.native:ask_participants(path, are_leases, tag, deadline, once)
    end)
    if not ok then return answer end
    local good, list = pcall(answer.participants, answer)
    answer:drop()
    if not good then error(list, 0) end
    for _, participant in ipairs(list) do
      participant.path = path
      all[#all + 1] = participant
    end
    return nil
  end
  local err = leases and read(leases, true)
  for _, path in ipairs(paths) do
    err = err or read(path, false)
  end
  if err then return client.waits:failure(err) end
  return all
end
