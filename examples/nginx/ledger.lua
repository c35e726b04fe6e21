-- SPDX-License-Identifier: MIT
-- The database of this example: a file for each entry, with its value and the newest token that has come to it.
-- It compares and writes in one step, for all workers of the machine, and refuses whoever comes with an older token: a
-- worker can be stopped after it has looked at its lock, and go on when another has it.
local ffi = require "ffi"

ffi.cdef [[
  int flock(int descriptor, int operation);
  int fileno(void *file);
]]

local EXCLUSIVE = 2

local folder = os.getenv("SHOP") or ngx.config.prefix() .. "shop"

local ledger = {}

local function read(name)
  local file = io.open(folder .. "/" .. name)
  if not file then return 0, 0 end
  local value, token = file:read("*n", "*n")
  file:close()
  return value, token
end

local function write(name, value, token)
  local file = assert(io.open(folder .. "/" .. name, "w"))
  assert(file:write(("%d %d\n"):format(value, token)))
  assert(file:close())
end

--- Runs `fn` while nobody else is at the ledger. Not for anything that waits.
local function alone(fn, ...)
  local door = assert(io.open(folder .. "/ledger", "a"))
  ffi.C.flock(ffi.C.fileno(door), EXCLUSIVE)
  local ok, first, second = pcall(fn, ...)
  door:close() -- and the next one may
  if not ok then error(first, 0) end
  return first, second
end

local function take(name, token, fn)
  local value, newest = read(name)
  if token < newest then return nil, "somebody later has been here" end
  value = fn and fn(value) or value
  write(name, value, token)
  return value
end

--- Takes the entry in the name of `token`; from here on smaller ones are refused. `fn(value)` says the new value;
--- without it the value stays.
---@return integer? value as it is now
---@return string? err why not
function ledger.take(name, token, fn)
  return alone(take, name, token, fn)
end

--- The value, whoever asks.
function ledger.read(name)
  return (alone(read, name))
end

--- Another value. A caller that was too late before still is.
function ledger.set(name, value)
  alone(function() write(name, value, select(2, read(name))) end)
end

--- Adds a line to a list; for `fn`.
function ledger.note(name, ...)
  local file = assert(io.open(folder .. "/" .. name, "a"))
  assert(file:write(string.format(...), "\n"))
  assert(file:close())
end

return ledger
