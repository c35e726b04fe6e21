--- participants: who holds and who waits, read off the servers.
local query = require "zklock.run.query"

---@class zklock.Participant
---@field path string
---@field node string
---@field kind "lock"|"read"|"write"|"lease"
---@field sequence integer
---@field session string
---@field identifier string the first 1024 bytes of what is in the node, as they are
---@field created number seconds since 1970 by the servers' clock
---@field holder boolean
---@field mine boolean this client's

--- Those in the lines at `paths`, and those with leases at `leases`, which come first.
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
