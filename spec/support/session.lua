-- SPDX-License-Identifier: MIT
--- Ending somebody else's session.
--
-- Anybody who knows a session's id and password may take it over; closing it then is, for the server and everybody who
-- watches, the same as its expiry. Its former owner hears of it when it comes back: "session expired".

local socket = require "socket"
local wire = require "spec.support.wire"

local session = {}

--- Whether two ids are the same session, in whatever spelling.
function session.same(a, b) return wire.normal_hex(a) == wire.normal_hex(b) end

local function read_frame(link)
  local head, err = link:receive(4)
  if not head then return nil, err end
  return link:receive(wire.reader(head):int())
end

local function try(host, port, victim)
  local link = assert(socket.tcp())
  link:settimeout(5)
  local ok, err = link:connect(host, port)
  local granted
  if ok then
    link:send(wire.connect_request(victim, victim.timeout or 10, 0))
    local body
    body, err = read_frame(link)
    granted = body and wire.connect_response(body)
    if granted and granted.id ~= wire.NO_SESSION then
      link:send(wire.request(1, "closeSession"))
      ok, err = read_frame(link) -- the reply: the server has done it
    end
  end
  pcall(link.shutdown, link, "both")
  link:close()
  if not granted then return nil, err end
  return ok and true, err
end

--- Ends a session; returns when a server has confirmed that. One that is over already is fine.
---@param hosts string of the servers themselves, not of a proxy
---@param victim table { id = hex, passwd = 16 bytes }, as `proxy:sessions()` lists it
---@return true
function session.expire(hosts, victim)
  local err
  for _ = 1, 20 do
    for host, port in hosts:gmatch("([%w%.%-]+):(%d+)") do
      local ok
      ok, err = try(host, tonumber(port), victim)
      if ok then return true end
    end
    socket.sleep(0.05)
  end
  error(("cannot expire session %s: %s"):format(victim.id, tostring(err)), 2)
end

return session
