--- Free loopback ports.
--
-- They are taken from below the range from which the kernel serves outgoing connections: else a client that keeps
-- reconnecting could sit on the port of a server that is about to come back, or even connect to itself.

local uv = require "luv"
local socket = require "socket"

local port = {}

local given = require "spec.support.kept" "ports"

local function is_free(number)
  local listener = socket.bind("127.0.0.1", number)
  if listener then listener:close() end
  return listener ~= nil
end

--- A port that nobody listens on now. Another process can still be faster: users retry.
---@return integer
function port.free()
  for _ = 1, 200 do
    local a, b = uv.random(2):byte(1, 2)
    local number = 12000 + (a * 256 + b) % 20000
    if not given[number] and is_free(number) then
      given[number] = true
      return number
    end
  end
  error("no free port on 127.0.0.1", 2)
end

return port
