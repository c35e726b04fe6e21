-- SPDX-License-Identifier: MIT
--- ZooKeeper's client protocol (jute), as much of it as the harness needs.
--
-- Written a second time, apart from libzookeeper, so that the harness does not judge the library by itself.
-- 64-bit integers: `long` gives a number (exact below 2^53 everywhere, which zxids and times are), `raw_long` the
-- eight bytes. Session ids use all 64 bits and therefore travel as hexadecimal strings.

local wire = {}

local floor, char, byte = math.floor, string.char, string.byte
local TWO32 = 4294967296

wire.ops = {
  create = 1, delete = 2, exists = 3, getData = 4, setData = 5, getACL = 6, setACL = 7, getChildren = 8, sync = 9,
  ping = 11, getChildren2 = 12, check = 13, multi = 14, create2 = 15, reconfig = 16, checkWatches = 17,
  removeWatches = 18, createContainer = 19, deleteContainer = 20, createTTL = 21, multiRead = 22, auth = 100,
  setWatches = 101, sasl = 102, getEphemerals = 103, getAllChildrenNumber = 104, setWatches2 = 105, addWatch = 106,
  whoAmI = 107, closeSession = -11,
}

wire.errors = {
  [0] = "OK", [-1] = "SYSTEMERROR", [-2] = "RUNTIMEINCONSISTENCY", [-3] = "DATAINCONSISTENCY",
  [-4] = "CONNECTIONLOSS", [-5] = "MARSHALLINGERROR", [-6] = "UNIMPLEMENTED", [-7] = "OPERATIONTIMEOUT",
  [-8] = "BADARGUMENTS", [-100] = "APIERROR", [-101] = "NONODE", [-102] = "NOAUTH", [-103] = "BADVERSION",
  [-108] = "NOCHILDRENFOREPHEMERALS", [-110] = "NODEEXISTS", [-111] = "NOTEMPTY", [-112] = "SESSIONEXPIRED",
  [-113] = "INVALIDCALLBACK", [-114] = "INVALIDACL", [-115] = "AUTHFAILED", [-118] = "SESSIONMOVED",
  [-119] = "NOTREADONLY", [-120] = "EPHEMERALONLOCALSESSION", [-121] = "NOWATCHER", [-125] = "QUOTAEXCEEDED",
}

--- xids that are not the answer to a numbered request.
wire.xid = { notification = -1, ping = -2, auth = -4, setWatches = -8 }

local op_names = {}
for name, code in pairs(wire.ops) do op_names[code] = name end

--- The name of an op code; "op 99" for one that this table does not know.
function wire.op_name(code) return op_names[code] or ("op " .. code) end

--- The name of an error code, as ZooKeeper's documentation spells it without its prefix.
function wire.error_name(code) return wire.errors[code] or ("ERROR" .. code) end

---------------------------------------------------------------------------------------------------------------
-- Encoding

function wire.int(n)
  if n < 0 then n = n + TWO32 end
  return char(floor(n / 16777216) % 256, floor(n / 65536) % 256, floor(n / 256) % 256, n % 256)
end

function wire.long(n)
  local high = floor(n / TWO32)
  return wire.int(high) .. wire.int(n - high * TWO32)
end

function wire.bool(b) return b and "\1" or "\0" end

--- A string or buffer: its length, then its bytes; nil is length -1.
function wire.buffer(s)
  if s == nil then return wire.int(-1) end
  return wire.int(#s) .. s
end

--- A list of { perms =, scheme =, id = }.
function wire.acl(list)
  local parts = { wire.int(#list) }
  for _, entry in ipairs(list) do
    parts[#parts + 1] = wire.int(entry.perms) .. wire.buffer(entry.scheme) .. wire.buffer(entry.id)
  end
  return table.concat(parts)
end

--- A message with its length in front, as it goes over the wire.
function wire.frame(body) return wire.int(#body) .. body end

--- The frame of one request.
---@param op string a name from `wire.ops`
function wire.request(xid, op, body)
  return wire.frame(wire.int(xid) .. wire.int(wire.ops[op]) .. (body or ""))
end

--- The frame that opens a session, or takes one up again.
---@param session table? { id = hex, passwd = 16 bytes }
---@param timeout number seconds
function wire.connect_request(session, timeout, last_zxid)
  return wire.frame(wire.int(0) .. wire.long(last_zxid or 0) .. wire.int(floor(timeout * 1000))
    .. wire.from_hex(session and session.id or wire.NO_SESSION)
    .. wire.buffer(session and session.passwd or ("\0"):rep(16)) .. wire.bool(false))
end

---------------------------------------------------------------------------------------------------------------
-- Session ids

--- The id of no session: what a node that is not ephemeral has for its owner.
wire.NO_SESSION = "0x0"

local function spell(digits)
  digits = digits:gsub("^0+", "")
  return "0x" .. (digits == "" and "0" or digits)
end

--- Eight bytes as ZooKeeper and zklock write a session id: "0x", then digits without leading zeros.
function wire.to_hex(bytes)
  return spell((bytes:gsub(".", function(c) return ("%02x"):format(byte(c)) end)))
end

--- The same spelling for an id that was written in another ("0X00AB", "ab").
function wire.normal_hex(id)
  local digits = tostring(id):lower():gsub("^0x", "")
  assert(digits:match("^%x+$") and #digits <= 16, "not a session id: " .. tostring(id))
  return spell(digits)
end

--- The eight bytes of a hexadecimal session id.
function wire.from_hex(id)
  local digits = wire.normal_hex(id):sub(3)
  digits = ("0"):rep(16 - #digits) .. digits
  return (digits:gsub("%x%x", function(pair) return char(tonumber(pair, 16)) end))
end

---------------------------------------------------------------------------------------------------------------
-- Decoding

local reader = {}
reader.__index = reader

--- Reads the fields of one message in order; raises when the message is too short.
function wire.reader(bytes, at) return setmetatable({ bytes = bytes, at = at or 1 }, reader) end

function reader:take(count)
  local from = self.at
  if count < 0 or from + count - 1 > #self.bytes then error("message too short", 2) end
  self.at = from + count
  return self.bytes:sub(from, from + count - 1)
end

local function signed(a, b, c, d)
  local n = a * 16777216 + b * 65536 + c * 256 + d
  return n >= 2147483648 and n - TWO32 or n
end

function reader:int() return signed(byte(self:take(4), 1, 4)) end

function reader:long()
  local high = self:int()
  local low = self:int()
  return high * TWO32 + (low < 0 and low + TWO32 or low)
end

function reader:raw_long() return self:take(8) end

function reader:bool() return self:take(1) ~= "\0" end

function reader:buffer()
  local length = self:int()
  if length < 0 then return nil end
  return self:take(length)
end

function reader:more() return self.at <= #self.bytes end

function reader:strings()
  local list = {}
  for i = 1, self:int() do list[i] = self:buffer() end
  return list
end

function reader:acl()
  local list = {}
  for i = 1, self:int() do
    list[i] = { perms = self:int(), scheme = self:buffer(), id = self:buffer() }
  end
  return list
end

function reader:stat()
  return {
    czxid = self:long(), mzxid = self:long(), ctime = self:long(), mtime = self:long(), version = self:int(),
    cversion = self:int(), aversion = self:int(), ephemeralOwner = wire.to_hex(self:raw_long()),
    dataLength = self:int(), numChildren = self:int(), pzxid = self:long(),
  }
end

--- The server's answer to a connect request; `id` is NO_SESSION when the session it asked for is no more.
function wire.connect_response(body)
  local r = wire.reader(body)
  r:int()
  return { timeout = r:int() / 1000, id = wire.to_hex(r:raw_long()), passwd = r:buffer() }
end

--- The head of a reply: xid, zxid, error code, and the reader behind it.
function wire.reply(body)
  local r = wire.reader(body)
  return r:int(), r:long(), r:int(), r
end

local with_path = {
  create = true, create2 = true, createContainer = true, createTTL = true, delete = true, exists = true,
  getData = true, setData = true, getACL = true, setACL = true, getChildren = true, getChildren2 = true,
  sync = true, check = true, checkWatches = true, removeWatches = true, addWatch = true,
}

--- The head of a client's request: xid, op name, and the path where there is one (a multi's first).
function wire.request_head(body)
  local r = wire.reader(body)
  local xid, op = r:int(), wire.op_name(r:int())
  if op == "multi" then r:take(9) end
  if not (with_path[op] or op == "multi") then return xid, op end
  local decoded, path = pcall(r.buffer, r)
  return xid, op, decoded and path or nil
end

---------------------------------------------------------------------------------------------------------------
-- Streams

local splitter = {}
splitter.__index = splitter

--- Cuts a stream into messages, however the network cut it into packets.
function wire.splitter() return setmetatable({ rest = "" }, splitter) end

--- Takes bytes, gives the list of messages (without their length) that are now complete.
function splitter:feed(bytes)
  local rest, list, at = self.rest .. bytes, {}, 1
  while #rest - at + 1 >= 4 do
    local length = signed(byte(rest, at, at + 3))
    if length < 0 or #rest - at - 3 < length then break end
    list[#list + 1] = rest:sub(at + 4, at + 3 + length)
    at = at + 4 + length
  end
  self.rest = rest:sub(at)
  return list
end

return wire
