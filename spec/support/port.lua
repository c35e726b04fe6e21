-- SPDX-License-Identifier: MIT
--- Free loopback ports.
--
-- They are taken from below the range from which the kernel serves outgoing connections: else a client that keeps
-- reconnecting could sit on the port of a server that is about to come back, or even connect to itself.
--
-- A user of a port binds it some time later. So that no other process of the specs draws it in between, each has
-- slots of its own: it keeps a UDP socket bound to the first number of a slot, and gives out the others for TCP.

local uv = require "luv"
local socket = require "socket"

local port = {}

local kept = require "spec.support.kept" "ports"

local FIRST, SLOTS, SIZE = 12000, 250, 80

--- Takes a slot that no other process has, until this process and its children end.
---@return integer? first the slot's first number
local function take(slot)
  local first = FIRST + slot * SIZE
  local mark = assert(socket.udp())
  if not mark:setsockname("127.0.0.1", first) then
    mark:close()
    return nil
  end
  kept.marks = kept.marks or {}
  table.insert(kept.marks, mark)
  return first
end

local function next_slot()
  local a, b = uv.random(2):byte(1, 2)
  for i = 1, SLOTS do
    local first = take((a * 256 + b + i) % SLOTS)
    if first then return first end
  end
  error("every slot of ports on 127.0.0.1 is another process's", 3)
end

local function is_free(number)
  local listener = socket.bind("127.0.0.1", number)
  if listener then listener:close() end
  return listener ~= nil
end

--- A port that nobody listens on now, and that is given to nobody else. A process that draws no ports here can still
--- bind it first: users retry.
---@return integer
function port.free()
  repeat
    if not kept.last or kept.last == kept.limit then
      local first = next_slot()
      -- Somewhere in it: a process that lives shortly draws one port, and that is to be another one each time.
      kept.last = first + uv.random(1):byte() % (SIZE - 1)
      kept.limit = first + SIZE - 1
    end
    kept.last = kept.last + 1
  until is_free(kept.last)
  return kept.last
end

return port
