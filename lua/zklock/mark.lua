-- SPDX-License-Identifier: MIT
--- mark: the mark of a mutex says when anybody last did what the mutex protects. The engine reads
--- and writes it (csrc/once).
local query = require "zklock.run.query"

local mark = {}

--- Asks the engine about a hold.
---@return userdata? answer for the caller to drop
---@return string? err
local function ask(client, hold, start)
  if hold.state ~= "held" then return nil, "lost" end
  local ok, answer = query(client, start)
  if ok then return answer end
  if answer == "lost" then hold:lose() end
  return nil, answer
end

--- How many seconds are left until it is due.
---@param hold zklock.Hold of the mutex
---@param writes boolean true: if it is due, the mark is written
---@return number? left 0: it is due
---@return string? err
---@return string? why of "disconnected"
function mark.ask(client, hold, seconds, writes, deadline)
  local answer, err = ask(client, hold, function(tag)
    return client.native:ask_once(hold.contender, seconds, writes, tag, deadline)
  end)
  if not answer then return client.waits:failure(err) end
  local left = answer:left()
  answer:drop()
  return left
end

--- Writes the mark.
---@param hold zklock.Hold
---@return true? ok
---@return string? err
function mark.write(client, hold, deadline)
  local answer, err = ask(client, hold, function(tag) return client.native:mark_once(hold.contender, tag, deadline) end)
  if not answer then return nil, err end
  answer:drop()
  return true
end

--- Is it sure to be held? The grant, or the answer about the mark, may be old: the process may have
--- been stopped since.
---@param hold zklock.Hold
---@return true? ok
---@return string? err
---@return string? why of "disconnected"
function mark.confirm(client, hold, deadline)
  if hold:validity() > 0 then return true end
  local answer, err = ask(client, hold, function(tag) return hold.contender:ask_validity(tag, deadline) end)
  if not answer then return client.waits:failure(err) end
  answer:drop()
  if hold:validity() > 0 then return true end
  return client.waits:failure(hold.state == "held" and "disconnected" or "lost")
end

return mark
