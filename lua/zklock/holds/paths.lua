--- paths: what one client knows of each path, for as long as there is a handle or a hold of it.
local kinds = require "zklock.holds.kinds"
local text = require "zklock.base.text"

local unpack = table.unpack or unpack -- luacheck: ignore 113

---@class zklock.Paths
---@field private known table<string, zklock.Holds> by path; weak
local Paths = {}
Paths.__index = Paths

---@param client zklock.Client
function Paths.new(client)
  return setmetatable({ client = client, known = setmetatable({}, { __mode = "v" }) }, Paths)
end

local function refuse(why, level, ...)
  error(("bad argument " .. why):format(...), level + 1)
end

--- Is it in use? Then it was looked at when it came to be.
function Paths:has(path)
  local holds = self.known[path]
  return holds ~= nil and holds.path == path -- a multilock is known by another name
end

--- What is known of that kind at `path`.
---@param settings table? nil: whatever the others have
---@param level integer of the public function's caller, seen from here
---@return zklock.Holds
function Paths:at(path, kind, settings, level)
  local holds = self.known[path]
  if not holds then
    holds = kinds[kind](self.client, path, settings)
    self.known[path] = holds
  elseif holds.kind ~= kind then
    refuse("'path' ('%s' is in use as a %s)", level, text.shown(path), holds.kind)
  elseif settings and not holds:adopt(settings) then
    refuse("'options' (other handles of '%s' have other ones)", level, text.shown(path))
  end
  return holds
end

--- What is known of the multilock of these paths, in whatever order.
---@param level integer likewise
---@return zklock.Holds
function Paths:of_all(paths, settings, level)
  local sorted = { unpack(paths) }
  table.sort(sorted)
  local key = "all\0" .. table.concat(sorted, "\0") -- no path has a NUL
  local parts = {}
  for i, path in ipairs(sorted) do parts[i] = self:at(path, "mutex", nil, level + 1) end
  local holds = self.known[key]
  if not holds then
    holds = kinds.multilock(self.client, paths[1], settings, sorted, parts)
    self.known[key] = holds
  elseif not holds:adopt(settings) then
    refuse("'options' (other handles of these paths have other ones)", level)
  end
  return holds
end

return Paths
