-- SPDX-License-Identifier: MIT
--- view: what the page for operators shows, put together from the parts of all workers. page and
--- page_json write it.
local core = require "zklock.core"
local each = require "zklock.base.each"
local part = require "zklock.metrics.part"

local view = {}

---@class zklock.metrics.ViewPath what this nginx holds and waits for at one path
---@field path string
---@field holds zklock.metrics.PartLock[] the oldest first
---@field waits zklock.metrics.PartLock[] the oldest first

---@class zklock.metrics.View
---@field host string
---@field now number by `core.now`
---@field time number the same moment, in seconds since 1970
---@field parameters { filter: string, still: string } "": none
---@field parts zklock.metrics.Part[]
---@field silent string[] the workers that have written no part
---@field paths zklock.metrics.ViewPath[] those with waiters first, by the longest wait; then by the longest hold
---@field more { held: integer, waiting: integer } of which the parts had no room for
---@field events { time: integer, worker: string, kind: string, said: string }[] the newest first
---@field errors integer

--- The parts by the numbers of their workers.
local function read_parts(found, into)
  for name, written in each(found.part) do
    local one = part.read(written)
    if one.worker then
      into.parts[#into.parts + 1] = one
      into.more.held, into.more.waiting = into.more.held + one.more.held, into.more.waiting + one.more.waiting
    else
      into.silent[#into.silent + 1] = name
    end
  end
  for name in each(found.gauges) do
    if not found.part[name] then into.silent[#into.silent + 1] = name end
  end
  table.sort(into.silent)
  table.sort(into.parts, function(a, b)
    local x, y = tonumber(a.number) or -1, tonumber(b.number) or -1
    return x < y or x == y and a.worker < b.worker
  end)
end

local function has(lock, filter)
  for _, field in ipairs { "path", "kind", "worker", "owner", "holder" } do
    if lock[field] and lock[field]:find(filter, 1, true) then return true end
  end
  return false
end

local function oldest_first(list)
  table.sort(list, function(a, b) return a.at < b.at end)
end

local function is_before(a, b)
  local x, y = a.waits[1], b.waits[1]
  if not (x and y) then
    if x or y then return x ~= nil end
    x, y = a.holds[1], b.holds[1]
  end
  return x.at < y.at or x.at == y.at and a.path < b.path
end

--- The paths of which something matches the filter, whole.
---@return zklock.metrics.ViewPath[]
local function group(parts, filter)
  local by_path, list, matches = {}, {}, {}
  for _, one in ipairs(parts) do
    for _, lock in ipairs(one.locks) do
      local row = by_path[lock.path] or { path = lock.path, holds = {}, waits = {} }
      by_path[lock.path] = row
      table.insert(row[lock.state], lock)
      if filter == "" or has(lock, filter) then matches[row] = true end
    end
  end
  for row in each(matches) do
    oldest_first(row.holds)
    oldest_first(row.waits)
    list[#list + 1] = row
  end
  table.sort(list, is_before)
  return list
end

local function read_events(written, host)
  local list = {}
  for _, one in ipairs(written) do
    local event = part.read_event(one)
    if event then
      event.worker = ("%s:%s"):format(host, event.pid)
      list[#list + 1] = event
    end
  end
  return list
end

---@param store zklock.metrics.Store
---@param found table what the workers have written (`Store:read`), with the parts
---@param parameters { filter: string, still: string } spelled, as the texts of the parts are
---@return zklock.metrics.View
function view.new(store, found, parameters)
  local self = { now = core.now(), time = ngx.now(), parameters = parameters, parts = {}, silent = {},
    more = { held = 0, waiting = 0 }, host = core.identity():match("^(.*):%d+$") }
  read_parts(found, self)
  self.paths = group(self.parts, parameters.filter)
  self.events, self.errors = read_events(store:events(), self.host), store:errors()
  return self
end

--- When a hold or a wait began, in seconds since 1970.
---@param self zklock.metrics.View
---@param lock zklock.metrics.PartLock
---@return number
function view.since(self, lock)
  return self.time - (self.now - lock.at)
end

--- For how many more seconds a hold is valid.
---@param self zklock.metrics.View
---@param lock zklock.metrics.PartLock
---@return number? seconds nil: it waits
function view.validity(self, lock)
  return lock.valid_until and math.max(0, lock.valid_until - self.now)
end

return view
