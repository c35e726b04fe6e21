--- errands: has the engine do something to nodes, and waits for it.
local core = require "zklock.core"
local node_ops = require "zklock.nodes.ops"
local query = require "zklock.run.query"

local errands = {}

local function failure(client, err, more)
  if more then return nil, err, more end
  return client.waits:failure(err)
end

--- One op.
---@param client zklock.Client
---@param op table as `ops` makes it
---@return userdata? answer to be dropped
---@return string? err
---@return string? why of "disconnected"
function errands.one(client, op, deadline, once)
  local ok, answer = query(client, function(tag) return client.native:perform(op, tag, deadline, once) end)
  if ok then return answer end
  return failure(client, answer)
end

--- Which of several has failed.
local function failed(answer)
  return answer:failed()
end

--- All or none of them.
---@param contender userdata? what must be held when the servers do them
---@return table[]? results
---@return string? err
---@return integer|string|nil index of the op that has failed; or why, of "disconnected"
function errands.all(client, list, deadline, once, contender)
  if #list == 0 then
    local unusable = client.waits:cannot_wait()
    if unusable then return nil, unusable end
    return {}
  end
  local ok, answer, index = query(client, function(tag)
    return client.native:perform_all(list, tag, deadline, once, contender)
  end, failed)
  if not ok then return failure(client, answer, index) end
  local results = {}
  for i, op in ipairs(list) do results[i] = node_ops.result(op, answer, i) end
  answer:drop()
  return results
end

--- All or none of them, and only if it is still held then.
---@param hold zklock.Hold
---@param level integer of the public function's caller, as in `check`
---@return table[]? results
---@return string? err
---@return integer|string|nil index
function errands.guarded(client, hold, list, deadline, once, level)
  node_ops.spare(list, hold.contender:nodes(), level + 1)
  local results, err, index = errands.all(client, list, deadline, once, hold.contender)
  if err == "lost" and hold.state == "held" then core.quietly(hold.finish, hold, "lost") end
  return results, err, index
end

--- A read after it shows all that anybody had written before.
---@return boolean? ok
---@return string? err
---@return string? why of "disconnected"
function errands.sync(client, deadline, once)
  local ok, answer = query(client, function(tag) return client.native:ask_sync(tag, deadline, once) end)
  if not ok then return failure(client, answer) end
  answer:drop()
  return true
end

return errands
