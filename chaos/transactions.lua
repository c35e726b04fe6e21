-- SPDX-License-Identifier: MIT
--- The deletions that a server has written to its transaction logs, whatever it shows now.

local uv = require "luv"
local wire = require "spec.support.wire"

local transactions = {}

local FILE_HEADER = 16 -- bytes; behind each record is one byte more

--- The logs that may have a transaction from this zxid on: each is named after its first one.
local function logs(folder, from)
  local list, kept = {}, {}
  local scan = assert(uv.fs_scandir(folder))
  for name in uv.fs_scandir_next, scan do
    local first = name:match("^log%.(%x+)$")
    if first then list[#list + 1] = { first = tonumber(first, 16), path = folder .. "/" .. name } end
  end
  table.sort(list, function(a, b) return a.first < b.first end)
  for i, log in ipairs(list) do
    if not list[i + 1] or list[i + 1].first > from then kept[#kept + 1] = log.path end
  end
  return kept
end

local visit = {}

visit[wire.ops.delete] = function(body, found) found(body:buffer()) end

visit[wire.ops.deleteContainer] = visit[wire.ops.delete]

--- The nodes of the session.
visit[wire.ops.closeSession] = function(body, found)
  if not body:more() then return end -- older servers do not list them
  for _, path in ipairs(body:strings()) do found(path) end
end

local function visit_one(op, body, found)
  if visit[op] then visit[op](body, found) end
end

visit[wire.ops.multi] = function(body, found)
  for _ = 1, body:int() do
    local op = body:int()
    visit_one(op, wire.reader(body:buffer()), found)
  end
end

--- Calls `found(path, zxid)` for each deletion in one log, up to where nothing is written yet.
local function read(path, found)
  local file = assert(io.open(path, "rb"))
  local all = wire.reader(file:read("*a"), FILE_HEADER + 1)
  file:close()
  while #all.bytes - all.at >= 12 do
    all:take(8) -- a checksum
    local length = all:int()
    if length <= 0 or #all.bytes - all.at < length then return end
    local record = wire.reader(all:take(length))
    record:take(12) -- session and request
    local zxid = record:long()
    record:take(8) -- time
    visit_one(record:int(), record, function(name) found(name, zxid) end)
    all:take(1)
  end
end

--- The latest deletion of each of these nodes that the server has written.
---@param folder string
---@param wanted table<string, { token: integer }> by path, with the zxid of the creation
---@param deleted table<string, integer>? zxids by path, of other servers' logs; they are added
---@return table<string, integer> deleted of those nodes: not of earlier ones with the same path
function transactions.deletions(folder, wanted, deleted)
  deleted = deleted or {}
  local from = math.huge
  for _, node in pairs(wanted) do from = math.min(from, node.token) end
  for _, path in ipairs(from < math.huge and logs(folder, from) or {}) do
    read(path, function(name, zxid)
      local node = wanted[name]
      if node and zxid > math.max(node.token, deleted[name] or 0) then deleted[name] = zxid end
    end)
  end
  return deleted
end

return transactions
