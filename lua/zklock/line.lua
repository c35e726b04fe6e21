-- SPDX-License-Identifier: MIT
--- line: who is in the line of a lock, read from the servers, and the request to its holders.
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

local line = {}

local function read_list(answer) return answer:participants() end
local function read_count(answer) return answer:revoked() end

--- Lists the nodes in the lines at `paths`.
---@param leases_first boolean? true: the first one has leases
---@return zklock.Participant[]?
---@return string? err
---@return string? why of "disconnected"
function line.participants(client, paths, deadline, once, leases_first)
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

--- Asks the holders at some paths to release, in whatever process or language they are.
---@param leases boolean true: the paths contain leases
---@return boolean? asked true: at least one holder was asked; false: nobody holds
---@return string? err
---@return string? why of "disconnected"
function line.revoke(client, paths, deadline, once, leases)
  local total = 0
  for _, path in ipairs(paths) do
    local count, err, why = query(client, function(tag)
      return client.native:ask_revoke(path, leases, tag, deadline, once)
    end, read_count)
    if not count then return client.waits:failure(err, why) end
    total = total + count
  end
  return total > 0
end

return line
