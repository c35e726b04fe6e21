-- SPDX-License-Identifier: MIT
--- One client's link through the proxy, and its counterpart to a server.
--
-- Both directions are cut into frames and travel through a delay line each. The action on a request is
-- decided by the proxy's `plan` when the frame arrives; it happens when the frame comes out of its line, so that
-- everything before it was forwarded. The server's side is never closed with a reset, only half-closed and drained:
-- a reset would throw away requests that the server has not read yet.

local uv = require "luv"
local delay_line = require "spec.support.delay_line"
local wire = require "spec.support.wire"

local link = {}
link.__index = link

local REPLY_HEAD = 16 -- bytes: xid, zxid, error

local function close(stream)
  if not stream:is_closing() then stream:close() end
end

local function send(stream, bytes)
  if not stream:is_closing() then stream:write(bytes) end
end

local function half_close(stream)
  if not stream:is_closing() and not stream:shutdown() then close(stream) end
end

local function reset(stream)
  if not stream:is_closing() and not stream:close_reset() then close(stream) end
end

local function finish(self)
  self.over = true
  self.to_server:close()
  self.to_client:close()
  self.proxy:forget(self)
end

--- Cuts the link: at once for the client; the server gets to read what was forwarded.
function link:cut()
  if self.over then return end
  close(self.client)
  half_close(self.server)
  if not self.connected then close(self.server) end
  finish(self)
end

--- Ends the link as a server does that ends: the client reads what was sent, then the end. It is over when the client
--- has hung up.
function link:hang_up()
  if self.over or self.lost then return end
  self.lost = true
  self.to_client:push({ fin = true }, self.proxy.delay)
end

--- Cuts the link for the client alone, with a reset, as a firewall does: for the server it stays open, and silent,
--- until the proxy heals. Everything that the server sends is thrown away.
function link:desert()
  if self.over then return end
  if not self.connected then return self:cut() end
  reset(self.client)
  finish(self)
  self.proxy:remember(self)
end

--- The server hears of it, too.
function link:bury() half_close(self.server) end

---------------------------------------------------------------------------------------------------------------
-- From the client

local function note_request(self, frame)
  local xid, op, path
  if not self.greeted and not self.proxy.raw then
    self.greeted = true
    xid, op = 0, "connect"
  else
    xid, op, path = wire.request_head(frame)
  end
  local entry = { op = op, path = path, xid = xid, link = self.number, round = op ~= "ping" and self.round + 1 or nil }
  self.pending[xid] = entry
  return entry
end

--- No server has an operation with that number.
local function with_unknown_op(frame) return frame:sub(1, 4) .. wire.int(9999) .. frame:sub(9) end

--- A request that every server answers with BADARGUMENTS: to delete the root.
local function with_bad_arguments(frame)
  return frame:sub(1, 4) .. wire.int(wire.ops.delete) .. wire.buffer("/") .. wire.int(-1)
end

-- Where a connect request has the session's id, which is behind the version, a zxid and a timeout; then the length of
-- its password, and the password.
local ID, PASSWORD = 16, 28

--- The request for a session, without the one that the client had.
local function without_session(frame)
  return frame:sub(1, ID) .. ("\0"):rep(8) .. frame:sub(ID + 9, PASSWORD) .. ("\0"):rep(16) .. frame:sub(PASSWORD + 17)
end

--- The answer to it, with a password of zeros; it is behind a version, a timeout, the id and its own length.
local function without_password(frame) return frame:sub(1, 20) .. ("\0"):rep(16) .. frame:sub(37) end

--- The request as the server is to see it.
local function disguised(self, op, frame)
  if self.proxy.unknown[op] then return with_unknown_op(frame) end
  if self.proxy.nature[op] == "refuse" then return with_bad_arguments(frame) end
  if self.proxy.nature.forgets_sessions and op == "connect" then return without_session(frame) end
  return frame
end

local function take_request(self, frame)
  local entry = note_request(self, frame)
  local action = self.proxy:saw(entry)
  if self.proxy.nature[entry.op] == "cut" then action = "cut_before" end
  local bytes = wire.frame(disguised(self, entry.op, frame))
  if action == "cut_before" then
    self.deaf = true
    self.to_server:push({ cut = true }, self.proxy.delay)
  elseif action == "cut_after" then
    self.deaf = true
    self.to_server:push({ bytes = bytes, then_cut = true }, self.proxy.delay)
  elseif action == "hold_before" then
    self.proxy:black_hole("both")
    self.to_server:push({ bytes = bytes }, self.proxy.delay)
  else
    entry.reply_action = action -- lose_reply, forge_reply, hold_reply or nothing
    self.to_server:push({ bytes = bytes }, self.proxy.delay)
  end
end

local function out_to_server(self, item)
  if item.bytes then send(self.server, item.bytes) end
  if item.cut or item.then_cut then return self:cut() end
  if item.fin then half_close(self.server) end
end

local function from_client(self, chunk)
  if self.over or self.deaf then return end
  if not chunk then
    self.deaf = true
    if self.born_dark and self.proxy.hole then return self:cut() end -- it was never answered: as if it never was
    return self.to_server:push(self.lost and { cut = true } or { fin = true }, self.proxy.delay)
  end
  if self.proxy.raw then return self.to_server:push({ bytes = chunk }, self.proxy.delay) end
  for _, frame in ipairs(self.client_frames:feed(chunk)) do
    if self.deaf then return end
    take_request(self, frame)
  end
end

---------------------------------------------------------------------------------------------------------------
-- From the server

--- A watch's event: nobody asked for it just now.
local function take_event(self, frame)
  local action = self.proxy:saw { op = "event", link = self.number }
  local item = { bytes = wire.frame(frame) }
  if action == "cut_before" then
    self.lost = true
    item = { cut = true }
  elseif action == "cut_after" then
    self.lost = true
    item.fin = true -- the client hangs up when it has read so far
  elseif action == "hold_before" then
    self.proxy:black_hole("to_client")
  end
  self.to_client:push(item, self.proxy.delay)
end

local function forge(frame, body)
  if type(body) == "table" then body = frame:sub(REPLY_HEAD + 1):gsub(body[1], body[2]) end
  return frame:sub(1, REPLY_HEAD) .. body
end

local function take_reply(self, frame)
  local xid = 0
  if not self.welcomed then
    self.welcomed = true
    self.proxy:saw_session(wire.connect_response(frame))
    if self.proxy.nature.hides_passwords then frame = without_password(frame) end
  else
    xid = wire.reply(frame)
  end
  if xid == wire.xid.notification then return take_event(self, frame) end
  local entry = self.pending[xid]
  self.pending[xid] = nil
  local action = entry and entry.reply_action
  if action == "lose_reply" then
    self.lost = true
    return self.to_client:push({ cut = true }, self.proxy.delay)
  end
  if action == "forge_reply" then frame = forge(frame, entry.forged) end
  if action == "hold_reply" then self.proxy:black_hole("to_client") end
  self.to_client:push({ bytes = wire.frame(frame), round = entry and entry.round }, self.proxy.delay)
end

local function out_to_client(self, item)
  if item.round and item.round > self.round then self.round = item.round end
  if item.bytes then send(self.client, item.bytes) end
  if item.cut then return self:cut() end
  if item.fin then
    half_close(self.client)
    if self.deaf then self:cut() end
  end
end

local function from_server(self, chunk)
  if self.over then
    if not chunk then close(self.server) end
    return
  end
  if self.lost then return end
  if not chunk then
    self.lost = true
    return self.to_client:push({ fin = true }, self.proxy.delay)
  end
  if self.proxy.raw then return self.to_client:push({ bytes = chunk }, self.proxy.delay) end
  for _, frame in ipairs(self.server_frames:feed(chunk)) do
    if self.lost then return end
    take_reply(self, frame)
  end
end

---------------------------------------------------------------------------------------------------------------

local RETRY, PATIENCE = 20, 250 -- ms, times

local connect

--- Tries again. Servers among themselves (raw) expect a refusal where nobody listens yet, and take a link that is
--- accepted and then closed for a failed election: theirs waits.
local function connect_elsewhere(self, tries)
  if tries < #self.proxy.targets then return connect(self, tries + 1) end
  if not self.proxy.raw or tries > PATIENCE then return self:cut() end
  local timer = uv.new_timer()
  timer:start(RETRY, 0, function()
    timer:close()
    if not self.over then connect(self, tries + 1) end
  end)
end

function connect(self, tries)
  local targets = self.proxy.targets
  local target = targets[(self.number + tries - 2) % #targets + 1]
  self.server = uv.new_tcp()
  self.server:nodelay(true)
  self.server:connect(target.host, target.port, function(err)
    if self.over then return close(self.server) end
    if err then
      close(self.server)
      return connect_elsewhere(self, tries)
    end
    self.connected = true
    self.server:read_start(function(_, chunk) from_server(self, chunk) end)
    self.client:read_start(function(_, chunk) from_client(self, chunk) end)
  end)
end

--- Takes an accepted client and connects it to one of the targets.
---@param proxy table the proxy's main object: its faults, its plan, its counters
function link.new(proxy, client, number)
  local self = setmetatable({
    proxy = proxy, client = client, number = number, round = 0, pending = {}, connected = false,
    client_frames = wire.splitter(), server_frames = wire.splitter(), born_dark = proxy.hole ~= nil,
  }, link)
  self.to_server = delay_line.new(function(item) out_to_server(self, item) end)
  self.to_client = delay_line.new(function(item) out_to_client(self, item) end)
  self:apply_hole()
  client:nodelay(true)
  connect(self, 1)
  return self
end

--- Holds or lets go both directions as the proxy's black hole says. A link that was made in a black hole is no link
--- yet, whichever way that is: TCP's handshake goes both ways.
function link:apply_hole()
  local nothing = self.born_dark and self.proxy.hole
  for _, direction in ipairs { "to_server", "to_client" } do
    if nothing or self.proxy:holds(direction) then
      self[direction]:hold()
    elseif not self.over then
      self[direction]:let_go()
    end
  end
end

--- Nothing happens to replies that have not come yet, and no black hole is left.
function link:heal()
  for _, entry in pairs(self.pending) do entry.reply_action = nil end
  self:apply_hole()
end

--- Counts round trips from here on.
function link:reset()
  self.round = 0
  for _, entry in pairs(self.pending) do entry.round = nil end
end

--- Sends the client bytes that no server sent.
function link:inject(bytes) self.to_client:push({ bytes = bytes }, self.proxy.delay) end

return link
