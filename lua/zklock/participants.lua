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

local function read_list(answer) return answer:participants() end

--- Lists the nodes in the lines at `paths`.
---@param leases_first boolean? true: the first one has leases
---@return zklock.Participant[]?
---@return string? err
---@return string? why of "disconnected"
return function(client, paths, deadline, once, leases_first)
  local all = {}
  for i, path in ipairs(paths) do
    local list, err, why = query(client, function(tag)
      return client.native:ask_participants(path, i == 1 and leases_first or false, tag, deadline, once)
    end, read_list)
    if not list then return client.waits:failure(err, why) end
    for _, participant in ipairs(list) do
      participant.path = path
      all[#all + 1] = participant
    end
  end
  return all
end
