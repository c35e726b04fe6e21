-- SPDX-License-Identifier: MIT
--- node_requests: sends the engine requests about nodes, and waits for the answers.
local check = require "zklock.base.check"
local node_ops = require "zklock.nodes.ops"
local query = require "zklock.run.query"

local node_requests = {}

--- Why there was no room for the ephemeral nodes that it makes.
local function shortage(answer)
  return answer:shortage()
end

---@param client zklock.Client
---@param op table from `ops`
---@param read (fun(answer: userdata): ...: any)?
---@return any ... as of `query`
function node_requests.one(client, op, read, deadline, once)
  return query(client, function(tag) return client.native:perform(op, tag, deadline, once) end, read, shortage)
end

--- The index of the op that has failed in a transaction; or as `shortage`.
local function failed(answer)
  return answer:failed() or answer:shortage()
end

--- Performs all of the ops or none.
---@param contender userdata? the servers perform them only while this contender holds
---@return table[]? results
---@return string? err
---@return integer|string|nil index of the op that has failed; or why, of "disconnected" and "too big"
function node_requests.all(client, list, deadline, once, contender)
  if #list == 0 then
    local unusable = client.waits:cannot_wait()
    if unusable then return nil, unusable end
    return {}
  end
  local function read(answer)
    local results = {}
    for i, op in ipairs(list) do results[i] = node_ops.result(op, answer, i) end
    return results
  end
  return query(client, function(tag)
    return client.native:perform_all(list, tag, deadline, once, contender)
  end, read, failed)
end

--- The public functions `multi` of everything that holds a lock: checks their arguments, and performs
--- all of the ops or none, and only while the lock is still held.
---@param find fun(holder: table, who: any): zklock.Hold?, string? returns the hold; or nil and the
---  error, "lost" or "not owner"
---@param holder table for `find`, as is `who`
---@return table[]? results
---@return string? err
---@return integer|string|nil index
function node_requests.guarded(client, list, timeout, find, holder, who)
  list = node_ops.list(client, list)
  local deadline, once = check.deadline(timeout, "timeout")
  local unusable = client.waits:cannot_wait()
  if unusable then return nil, unusable end
  local hold, gone = find(holder, who)
  if not hold then return nil, gone end
  node_ops.spare(list, hold.contender:nodes())
  local results, err, index = node_requests.all(client, list, deadline, once, hold.contender)
  if err == "lost" then hold:lose() end
  return results, err, index
end

return node_requests
