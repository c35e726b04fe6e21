--- revoke: asks those who hold at some paths to give it back, in whatever process or language they are.
local query = require "zklock.run.query"

---@param leases boolean the paths hold leases
---@return boolean? asked true: somebody was asked; false: nobody holds
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
