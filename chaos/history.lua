-- SPDX-License-Identifier: MIT
--- The events of a run, for judges outside of it: JSON lines, as docs/internals/histories.md describes them.
--
-- Each process writes a file of its own, a line with each write, so that what it knew is there when it is killed. At
-- the end of the run they become one file. Without a folder nothing is written.

local files = require "spec.support.file"
local uv = require "luv"

local history = {}
history.__index = history

--- The moment, in nanoseconds of a clock that all processes of this machine share.
function history.now() return math.floor(tonumber(uv.hrtime())) end

local ESCAPES = { ['"'] = '\\"', ["\\"] = "\\\\" }

local function quoted(text)
  local escaped = text:gsub('[%c"\\]', function(c) return ESCAPES[c] or ("\\u%04x"):format(c:byte()) end)
  return '"' .. escaped .. '"'
end

local function write(self, event, fields)
  local parts = { '{"event":' .. quoted(event) }
  for i = 1, #fields, 2 do
    local value = fields[i + 1]
    parts[#parts + 1] = ("%s:%s"):format(quoted(fields[i]), type(value) == "string" and quoted(value)
      or ("%d"):format(value))
  end
  assert(self.file:write(table.concat(parts, ","), "}\n"))
  assert(self.file:flush())
end

--- Of a call without a number nothing is written, and of one that was not granted nothing more.
local function write_of(self, call, event, fields)
  if self.file and call and not self.over[call] then
    write(self, event, { "process", self.process, "call", call, table.unpack(fields) })
  end
end

---@param folder string? nil: nothing is written
---@param process string its name
function history.open(folder, process)
  local self = setmetatable({ process = process, calls = 0, over = {} }, history)
  self.file = folder and assert(io.open(("%s/%s"):format(folder, process), "ab"))
  if self.file then self.file:setvbuf("full", 4096) end
  return self
end

--- A number for a call that begins.
---@return integer? call nil: nothing is written
function history:call()
  if not self.file then return nil end
  self.calls = self.calls + 1
  return self.calls
end

---@class history.acquire
---@field call integer?
---@field paths string[]
---@field kind "mutex"|"read"|"write"|"semaphore"
---@field invoke integer
---@field token integer? it was granted
---@field turn integer?
---@field err string? why it was not
---@field under integer? the call of the write that the same owner has
---@field count integer? leases
---@field permits integer? of the semaphore

--- An acquire has returned now.
---@param one history.acquire
function history:acquire(one)
  if not one.call then return end
  local returned = history.now()
  for _, path in ipairs(one.paths) do
    local fields = { "path", path, "kind", one.kind, "invoke", one.invoke, "return", returned,
      "outcome", one.token and "granted" or one.err }
    for _, name in ipairs { "token", "turn", "under", "count", "permits" } do
      if one[name] then
        fields[#fields + 1] = name
        fields[#fields + 1] = one[name]
      end
    end
    write_of(self, one.call, "acquire", fields)
  end
  self.over[one.call] = not one.token or nil
end

--- The hold has another's token, and is there by the node with that one.
function history:node(call, token) write_of(self, call, "node", { "token", token }) end

--- The holder has looked, and is sure.
---@param seconds number its validity
function history:sure(call, from, seconds)
  write_of(self, call, "sure", { "from", from, "until", from + math.floor(seconds * 1e9) })
end

--- A release has returned now.
---@param outcome string "ok", or an error
function history:release(call, invoke, outcome)
  write_of(self, call, "release", { "invoke", invoke, "return", history.now(), "outcome", outcome })
end

--- The holder was told of its loss.
function history:lost(call) write_of(self, call, "lost", { "at", history.now() }) end

--- From now on nobody uses the hold, which the client gives back when it finds that.
function history:drop(call) write_of(self, call, "drop", { "at", history.now() }) end

--- From now on the process holds nothing that it held so far.
function history:close()
  if self.file then write(self, "close", { "process", self.process, "at", history.now() }) end
end

--- Operators take away what a process holds.
---@param process string
---@param from integer since when it may be gone
---@param field "token"|"upto" the hold with that token, or all of which the token is not larger
function history:taken(process, from, field, token)
  if self.file then write(self, "taken", { "process", process, "from", from, field, token }) end
end

--- Makes one file of what all processes have written. The last line of one that was killed may be half of one.
---@param folder string
---@param path string
---@param seed integer
---@return integer lines
function history.gather(folder, path, seed)
  local self, lines = setmetatable({ file = assert(io.open(path, "wb")) }, history), 2
  write(self, "run", { "source", "chaos", "seed", seed })
  local scan = assert(uv.fs_scandir(folder))
  for name in uv.fs_scandir_next, scan do
    local text = files.read(folder .. "/" .. name):match("^.*\n") or ""
    local _, count = text:gsub("\n", "\n")
    assert(self.file:write(text))
    lines = lines + count
  end
  write(self, "end", { "lines", lines })
  self.file:close()
  return lines
end

return history
