-- SPDX-License-Identifier: MIT
--- revoke: asks the holders at some paths to release, in whatever process or language they are.
local query = require "zklock.run.query"

local function read_count(answer) return answer:revoked() end

---@param leases boolean true: the paths contain leases
---@return boolean? asked true: at least one holder was asked; false: nobody holds
---@return string? err
---@return string? why of "disconnected"
return function(client, paths, deadline, once, leases)
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
