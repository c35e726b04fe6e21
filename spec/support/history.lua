-- SPDX-License-Identifier: MIT
--- A transaction log written by hand: a server that starts with it finds directories that have already counted their
--- children almost to the end of the sequence numbers, as if billions of locks had been there.

local uv = require "luv"
local wire = require "spec.support.wire"

local history = {}

local CREATE = 1

local function adler32(bytes)
  local a, b = 1, 0
  for i = 1, #bytes do
    a = (a + bytes:byte(i)) % 65521
    b = (b + a) % 65521
  end
  return b * 65536 + a
end

--- One creation; the server then counts on from `counted` for the next child of the same parent.
local function creation(zxid, path, counted)
  return wire.long(0) .. wire.int(0) .. wire.long(zxid) .. wire.long(0) .. wire.int(CREATE)
    .. wire.buffer(path) .. wire.buffer("") .. wire.acl { { perms = 31, scheme = "world", id = "anyone" } }
    .. wire.bool(false) .. wire.int(counted)
end

--- Options for `server.new` that let a server start from a log alone.
history.OPTIONS = { jvm = { "-Dzookeeper.snapshot.trust.empty=true" } }

--- Writes the log of a server that was never started.
---@param server table of `server.new(history.OPTIONS)`
---@param counters table<string, integer> top-level directory -> the sequence number that its next child gets
function history.write(server, counters)
  local entries, zxid = {}, 0
  local function add(path, counted)
    zxid = zxid + 1
    local txn = creation(zxid, path, counted)
    entries[#entries + 1] = wire.long(adler32(txn)) .. wire.buffer(txn) .. "B"
  end
  for directory, counted in pairs(counters) do
    add(directory, zxid + 1)
    add(directory .. "/first", counted)
  end
  local folder = server.folder .. "/data/version-2"
  assert(uv.fs_mkdir(server.folder .. "/data", 448))
  assert(uv.fs_mkdir(folder, 448))
  local file = assert(io.open(folder .. "/log.1", "wb"))
  file:write("ZKLG", wire.int(2), wire.long(0), table.concat(entries))
  file:close()
end

return history
