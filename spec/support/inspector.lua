-- SPDX-License-Identifier: MIT
--- A plain, synchronous ZooKeeper client with which specs look at the tree and change it.
--
-- It shares nothing with libzookeeper. A server's error comes back as `nil, NAME` ("NONODE", "NODEEXISTS");
-- so does a link that breaks under a write ("CONNECTIONLOSS", "OPERATIONTIMEOUT"), because nobody knows whether the
-- write was done. Reads are repeated over a new link until the deadline. Misuse and a failing `connect` raise.
-- The session is long (60 s), and a link that the server closed meanwhile is made anew at the next call.

local socket = require "socket"
local wire = require "spec.support.wire"

local inspector = {}
inspector.__index = inspector

local ACLS = {
  open = { { perms = 31, scheme = "world", id = "anyone" } },
  creator = { { perms = 31, scheme = "auth", id = "" } },
  read = { { perms = 1, scheme = "world", id = "anyone" }, { perms = 31, scheme = "auth", id = "" } },
}
inspector.acls = ACLS

local READS = { exists = true, getData = true, getChildren2 = true, getACL = true, sync = true }

local function split(hosts)
  local list = {}
  for host, port in hosts:gmatch("([%w%.%-]+):(%d+)") do list[#list + 1] = { host = host, port = tonumber(port) } end
  assert(#list > 0, "no host:port in " .. tostring(hosts))
  return list
end

---------------------------------------------------------------------------------------------------------------
-- The link

local function drop_link(self)
  if not self.link then return end
  pcall(self.link.shutdown, self.link, "both") -- a child may have inherited the descriptor: end it for all
  self.link:close()
  self.link = nil
end

local function read_frame(self, deadline)
  local function take(count)
    if count == 0 then return "" end
    self.link:settimeout(math.max(deadline - socket.gettime(), 0.001))
    return self.link:receive(count)
  end
  local head, err = take(4)
  if not head then return nil, err end
  return take(wire.reader(head):int())
end

local function handshake(self, target, deadline)
  local link = assert(socket.tcp())
  link:settimeout(math.max(deadline - socket.gettime(), 0.001))
  local ok, err = link:connect(target.host, target.port)
  if not ok then
    link:close()
    return nil, err
  end
  link:setoption("tcp-nodelay", true)
  self.link = link
  link:send(wire.connect_request(self.session, self.session_timeout, self.zxid))
  local body, why = read_frame(self, deadline)
  if not body then
    drop_link(self)
    return nil, why
  end
  local session = wire.connect_response(body)
  if session.id == wire.NO_SESSION or session.timeout == 0 then -- the session we had is no more: ask for a new one
    self.session = nil
    drop_link(self)
    return nil, "SESSIONEXPIRED"
  end
  self.session = session
  for _, auth in ipairs(self.auths) do
    link:send(wire.request(wire.xid.auth, "auth", wire.int(0) .. wire.buffer(auth[1]) .. wire.buffer(auth[2])))
    read_frame(self, deadline)
  end
  return true
end

local function open_link(self, deadline)
  local err
  repeat
    for _ = 1, #self.targets do
      local ok
      ok, err = handshake(self, self.targets[self.turn], deadline)
      if ok then return true end
      if err ~= "SESSIONEXPIRED" then self.turn = self.turn % #self.targets + 1 end
    end
    if err ~= "SESSIONEXPIRED" then socket.sleep(0.02) end -- nobody answers: do not hammer at them
  until socket.gettime() > deadline
  return nil, err
end

local function link_is_alive(self)
  if not self.link then return false end
  self.link:settimeout(0)
  local _, err = self.link:receive(1)
  if err == "timeout" then return true end
  drop_link(self)
  self.lost = not self.reconnect
  return false
end

local function attempt(self, op, body, deadline)
  if not link_is_alive(self) and (self.lost or not open_link(self, deadline)) then return nil, "CONNECTIONLOSS" end
  self.last_xid = self.last_xid + 1
  self.link:settimeout(math.max(deadline - socket.gettime(), 0.001))
  self.link:send(wire.request(self.last_xid, op, body)) -- a failure shows at the read
  while true do
    local frame, err = read_frame(self, deadline)
    if not frame then
      drop_link(self)
      self.lost = not self.reconnect
      return nil, err == "timeout" and "OPERATIONTIMEOUT" or "CONNECTIONLOSS"
    end
    local xid, zxid, code, reader = wire.reply(frame)
    if xid == self.last_xid then
      if zxid > self.zxid then self.zxid = zxid end
      if code ~= 0 then return nil, wire.error_name(code) end
      return reader
    end
  end
end

local function request(self, op, body)
  if self.closed then error("the inspector is closed", 3) end
  local deadline = socket.gettime() + self.timeout
  while true do
    local reader, err = attempt(self, op, body, deadline)
    local again = not reader and READS[op] and self.reconnect and err == "CONNECTIONLOSS"
    if not again or socket.gettime() > deadline then return reader, err end
  end
end

---------------------------------------------------------------------------------------------------------------
-- Verbs

---@class inspector.options
---@field timeout number? seconds that one call may take, 10
---@field session_timeout number? seconds asked of the server, 60
---@field reconnect boolean? false: once its link is broken, every call answers CONNECTIONLOSS

---@param hosts string "127.0.0.1:PORT[,...]"
---@param options inspector.options?
---@return table inspector; raises when no server answers within the timeout
function inspector.connect(hosts, options)
  options = options or {}
  local self = setmetatable({
    targets = split(hosts), turn = 1, timeout = options.timeout or 10, auths = {}, last_xid = 0, zxid = 0,
    session_timeout = options.session_timeout or 60, reconnect = options.reconnect ~= false,
  }, inspector)
  local ok, err = open_link(self, socket.gettime() + self.timeout)
  if not ok then error(("inspector: no session with %s: %s"):format(hosts, err), 2) end
  return self
end

---@return string id of the inspector's own session, hexadecimal
function inspector:session_id() return self.session.id end

---@return string[]? names in sorted order, or nil and e.g. "NONODE"
function inspector:children(path)
  local reader, err = request(self, "getChildren2", wire.buffer(path) .. wire.bool(false))
  if not reader then return nil, err end
  local list = reader:strings()
  table.sort(list)
  return list
end

---@return string? data
---@return table|string stat, or the error's name
function inspector:get(path)
  local reader, err = request(self, "getData", wire.buffer(path) .. wire.bool(false))
  if not reader then return nil, err end
  local data = reader:buffer() or ""
  return data, reader:stat()
end

---@return table? stat; nil and "NONODE" where there is no such node
function inspector:exists(path)
  local reader, err = request(self, "exists", wire.buffer(path) .. wire.bool(false))
  if not reader then return nil, err end
  return reader:stat()
end

local function create_parents(self, path)
  local at = path:find("/", 2, true)
  while at do
    self:create(path:sub(1, at - 1))
    at = path:find("/", at + 1, true)
  end
end

---@class inspector.create_options
---@field ephemeral boolean?
---@field sequence boolean?
---@field container boolean?
---@field parents boolean? make missing parents first
---@field acl string|table? "open" (default), "creator", "read", or a list of { perms =, scheme =, id = }

---@param options inspector.create_options?
---@return string? path as created, or nil and the error's name
function inspector:create(path, data, options)
  options = options or {}
  if options.parents then create_parents(self, path) end
  local acl = options.acl or "open"
  local flags = options.container and 4 or (options.ephemeral and 1 or 0) + (options.sequence and 2 or 0)
  local reader, err = request(self, options.container and "createContainer" or "create",
    wire.buffer(path) .. wire.buffer(data or "") .. wire.acl(ACLS[acl] or acl) .. wire.int(flags))
  if not reader then return nil, err end
  return reader:buffer()
end

---@return table? stat, or nil and the error's name
function inspector:set(path, data)
  local reader, err = request(self, "setData", wire.buffer(path) .. wire.buffer(data) .. wire.int(-1))
  if not reader then return nil, err end
  return reader:stat()
end

---@return true? , or nil and the error's name
function inspector:delete(path)
  local reader, err = request(self, "delete", wire.buffer(path) .. wire.int(-1))
  if not reader then return nil, err end
  return true
end

--- Sends many requests before it reads the first answer.
---@return (table|string)[] list of what each was answered: a reader, or the error's name; raises when the link breaks
local function request_all(self, op, bodies)
  local list = {}
  for from = 1, #bodies, 500 do
    local to, deadline = math.min(from + 499, #bodies), socket.gettime() + self.timeout
    assert(link_is_alive(self) or open_link(self, deadline))
    local frames, first = {}, self.last_xid + 1
    for i = from, to do
      self.last_xid = self.last_xid + 1
      frames[#frames + 1] = wire.request(self.last_xid, op, bodies[i])
    end
    assert(self.link:send(table.concat(frames)))
    while #list < to do
      local xid, _, code, reader = wire.reply(assert(read_frame(self, deadline)))
      if xid == first + #list - from + 1 then list[#list + 1] = code == 0 and reader or wire.error_name(code) end
    end
  end
  return list
end

--- Creates many nodes without waiting for one before the next: the server has them all under way at a time.
---@param paths string[]
---@param options { sequence: boolean?, ephemeral: boolean? }?
---@return string[] list for each, its path as created, or the error's name
function inspector:create_all(paths, options)
  local bodies, flags = {}, 0
  if options and options.ephemeral then flags = flags + 1 end
  if options and options.sequence then flags = flags + 2 end
  for i, path in ipairs(paths) do
    bodies[i] = wire.buffer(path) .. wire.buffer("") .. wire.acl(ACLS.open) .. wire.int(flags)
  end
  local list = request_all(self, "create", bodies)
  for i, answer in ipairs(list) do list[i] = type(answer) == "string" and answer or answer:buffer() end
  return list
end

--- Deletes many nodes.
function inspector:delete_all(paths)
  local bodies = {}
  for i, path in ipairs(paths) do bodies[i] = wire.buffer(path) .. wire.int(-1) end
  request_all(self, "delete", bodies)
end

--- Deletes a node and everything below it; a node that is not there is deleted already.
---@return true? , or nil and the error's name
function inspector:delete_tree(path)
  while true do
    for _, name in ipairs(self:children(path) or {}) do
      local ok, err = self:delete_tree((path == "/" and "" or path) .. "/" .. name)
      if not ok then return nil, err end
    end
    local ok, err = self:delete(path)
    if ok or err == "NONODE" then return true end
    if err ~= "NOTEMPTY" then return nil, err end -- NOTEMPTY: somebody made a child meanwhile
  end
end

--- Makes the server we are on catch up with its leader, so that the next read sees every finished write.
function inspector:sync(path)
  local reader, err = request(self, "sync", wire.buffer(path or "/"))
  return reader and true, err
end

--- Proves who we are to this and to every later link.
function inspector:add_auth(scheme, credential)
  table.insert(self.auths, { scheme, credential })
  drop_link(self) -- the next call opens a link with all of them
  return self:sync()
end

---@return table? acl list of { perms =, scheme =, id = }
---@return table|string stat, or the error's name
function inspector:get_acl(path)
  local reader, err = request(self, "getACL", wire.buffer(path))
  if not reader then return nil, err end
  local acl = reader:acl()
  return acl, reader:stat()
end

---@param acl string|table as in `create`
function inspector:set_acl(path, acl)
  local reader, err = request(self, "setACL", wire.buffer(path) .. wire.acl(ACLS[acl] or acl) .. wire.int(-1))
  if not reader then return nil, err end
  return reader:stat()
end

--- Changes the members of the ensemble; for `server.SUPER` alone.
---@param joining string? "server.4=HOST:PORT:PORT;PORT"
---@param leaving string? the number of a member
function inspector:reconfig(joining, leaving)
  local reader, err = request(self, "reconfig", wire.buffer(joining) .. wire.buffer(leaving) .. wire.buffer(nil)
    .. wire.long(-1))
  return reader and true, err
end

--- Ends the session, so that its ephemeral nodes go at once.
function inspector:close()
  if self.closed then return end
  if link_is_alive(self) then attempt(self, "closeSession", "", socket.gettime() + 2) end
  drop_link(self)
  self.closed = true
end

return inspector
