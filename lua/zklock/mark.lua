-- SPDX-License-Identifier: MIT
--- mark: the mark of a mutex says when anybody last did what the mutex protects. The engine reads
--- and writes it (csrc/once).
local query = require "zklock.run.query"

local mark = {}

--- Asks the engine about a hold.
local function ask(client, hold, start, read)
  if hold.state ~= "held" then return nil, "lost" end
  local result, err, why = query(client, start, read)
  if err == "lost" then hold:lose() end
  return result, err, why
end

local function read_left(answer) return answer:left() end

--- How many seconds are left until it is due.
---@param hold zklock.Hold of the mutex
---@param writes boolean true: if it is due, the mark is written
---@return number? left 0: it is due
---@return string? err
---@return string? why of "disconnected"
function mark.ask(client, hold, seconds, writes, deadline)
  return ask(client, hold, function(tag)
    return client.native:ask_once(hold.contender, seconds, writes, tag, deadline)
  end, read_left)
end

---@param hold zklock.Hold
---@return true? ok
---@return string? err
function mark.write(client, hold, deadline)
  return ask(client, hold, function(tag) return client.native:mark_once(hold.contender, tag, deadline) end)
end

--- Is it sure to be held? The grant, or the answer about the mark, may be old: the process may have
--- been stopped since.
---@param hold zklock.Hold
---@return true? ok
---@return string? err
---@return string? why of "disconnected"
function mark.confirm(client, hold, deadline)
  if hold:validity() > 0 then return true end
  local ok, err, why = ask(client, hold, function(tag) return hold.contender:ask_validity(tag, deadline) end)
  if not ok then return nil, err, why end
  if hold:validity() > 0 then return true end
  return client.waits:failure(hold.state == "held" and "disconnected" or "lost")
end

return mark
