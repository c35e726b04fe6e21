-- SPDX-License-Identifier: MIT
--- paths: the LockPath of each path that this client uses. It lives as long as a handle or a hold
--- refers to it.
local check = require "zklock.base.check"
local kinds = require "zklock.holds.kinds"
local text = require "zklock.base.text"

---@class zklock.Paths
---@field private known table<string, zklock.LockPath> by path; weak
local Paths = {}
Paths.__index = Paths

---@param client zklock.Client
function Paths.new(client)
  return setmetatable({ client = client, known = setmetatable({}, { __mode = "v" }) }, Paths)
end

--- True if the path is in use: then it has already been checked.
function Paths:has(path)
  local lock_path = self.known[path]
  return lock_path ~= nil and lock_path.path == path -- a multilock has another key
end

--- The lines of a semaphore are directories below its path. No other lock may use these.
local OF_SEMAPHORES = { "/locks", "/leases" }

--- Finds a lock of this client whose directory collides with the lines of a semaphore.
---@return string? path of the semaphore, or of the lock below one
---@return string? kind of that
local function in_the_way(paths, path, kind)
  for _, ending in ipairs(OF_SEMAPHORES) do
    -- LuaJIT crashes if `sub` finds no memory: so not for each path.
    local above = path:find(ending, -#ending, true) and paths.known[path:sub(1, -#ending - 1)]
    if above and above.kind == "semaphore" then return above.path, "semaphore" end
    local below = kind == "semaphore" and paths.known[path .. ending]
    if below then return below.path, below.kind end
  end
  return nil
end

--- The LockPath of that kind at `path`.
---@param settings table? nil: keeps the settings that other handles use
---@return zklock.LockPath
function Paths:at(path, kind, settings)
  local lock_path = self.known[path]
  local other, its_kind
  if not lock_path then other, its_kind = in_the_way(self, path, kind) end
  if other then
    check.wrong("path", ("'%s' is in use as a %s, %s"):format(text.shown(other), its_kind, #other < #path
      and "which uses '/locks' and '/leases' below its path"
      or "and the semaphore uses that path"))
  end
  if not lock_path then
    lock_path = kinds[kind](self.client, path, settings)
    self.known[path] = lock_path
  elseif lock_path.kind ~= kind then
    check.wrong("path", ("'%s' is in use as a %s"):format(text.shown(path), lock_path.kind))
  elseif settings and not lock_path:adopt(settings) then
    check.wrong("options", ("other handles of '%s' have different options"):format(text.shown(path)))
  end
  return lock_path
end

--- The LockPath of the mutex at `path`, with the options that its other handles have.
---@param usual table the settings of a mutex without other handles
---@return zklock.LockPath
function Paths:mutex(path, usual)
  local lock_path = self:at(path, "mutex", nil)
  if not lock_path.settings then lock_path:adopt(usual) end
  return lock_path
end

--- The LockPath of the multilock of these paths, in any order.
---@return zklock.LockPath
function Paths:of_all(paths, settings)
  local sorted = {}
  for i, path in ipairs(paths) do sorted[i] = path end -- in Lua 5.1 unpack() fails beyond some 8,000 values
  table.sort(sorted)
  local key = "all\0" .. table.concat(sorted, "\0") -- no path has a NUL
  local parts = {}
  for i, path in ipairs(sorted) do parts[i] = self:at(path, "mutex", nil) end
  local lock_path = self.known[key]
  if not lock_path then
    lock_path = kinds.multilock(self.client, paths[1], settings, sorted, parts)
    self.known[key] = lock_path
  elseif not lock_path:adopt(settings) then
    check.wrong("options", "other handles of these paths have different options")
  end
  return lock_path
end

return Paths
