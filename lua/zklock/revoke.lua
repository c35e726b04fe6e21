-- SPDX-License-Identifier: MIT
--- revoke: asks the holders at some paths to release, in whatever process or language they are.
local query = require "zklock.run.query"

---@param leases boolean true: the paths contain leases
---@return boolean? asked true: at least one holder was asked; false: nobody holds
---@return string? err
---@return string? why of "disconnected"
return function(client, paths, deadline, once, leases)
  local total = 0
  for _, path in ipairs(paths) do
    local ok, answer = query(client, function(tag)
      return client.native:ask_revoke(path, leases, tag, deadline, once)
    end)
    if not ok then return client.waits:failure(answer) end
    total = total + answer:revoked()
    answer:drop()
  end
  return total > 0
end
