-- SPDX-License-Identifier: MIT
--- store: the numbers of all nginx workers in one shared dictionary. Counters only grow, by `incr`.
--- A worker's present values are under keys of its own, which expire. The store never evicts a key: a
--- full dictionary refuses, and the store counts each refusal.
local core = require "zklock.core"
local each = require "zklock.base.each"
local families = require "zklock.metrics.families"

---@class zklock.metrics.Store
---@field private dict table
---@field private seen table<string, boolean> the numbers that this worker has written or read: they must not vanish
---@field private labels table<string, string> by label: the label that all workers use for it
---@field private told integer the errors that were in the dictionary when this worker last saw their count
---@field private untold integer this worker's errors that are not in it, for lack of room
local Store = {}
Store.__index = Store

--- Every key begins so, because the dictionary may have other users. During a reload they are workers of another
--- version, too: a key with another meaning needs another name (docs/stability.md).
local PREFIX = "zklock|"
local ERRORS, NAMES, EVENTS, WANTED = PREFIX .. "errors", PREFIX .. "names", PREFIX .. "events", PREFIX .. "wanted"
--- Seconds for which the keys of a worker outlive their latest write. The dictionary counts them by the wall clock,
--- which may be set back; so the value begins with the moment of the write, by the clock that nobody sets.
local EXPIRY = 5
--- Seconds for which the workers write their parts of the page after somebody has looked at it.
local LOOKED = 10
local NAMES_MOST, OTHER = families.NAMES_MOST, families.OTHER
--- Bytes that a dictionary is taken to have if nginx does not say it.
local CAPACITY_LEAST = 2 ^ 18
local EVENTS_MOST = 50

---@param dict table ngx.shared.NAME
---@return zklock.metrics.Store
function Store.new(dict)
  return setmetatable({ dict = dict, seen = {}, labels = {}, told = 0, untold = 0 }, Store)
end

--- Counts an error. Without room for the count, this worker keeps it and tries again with the next.
function Store:fail()
  local dict = self.dict
  self.untold = self.untold + 1
  local told, err = dict:incr(ERRORS, self.untold)
  if not told and err == "not found" then -- another user of the dictionary has evicted it
    local value = self.told + self.untold
    told = dict:safe_add(ERRORS, value) and value
  end
  if told then self.told, self.untold = told, 0 end
end

--- Makes room for the count of errors before anything else takes it.
function Store:begin()
  self.dict:safe_add(ERRORS, 0)
end

--- The errors of all workers so far.
---@return integer
function Store:errors()
  self.told = self.dict:get(ERRORS) or self.told
  return self.told + self.untold
end

--- Adds to a number, which need not exist. Two workers may create it at the same time.
---@return number? value nil: the dictionary is full
---@return boolean is_new
local function add(dict, key, difference)
  local value = dict:incr(key, difference)
  if value then return value, false end
  if dict:safe_add(key, difference) then return difference, true end
  return dict:incr(key, difference), false
end

--- A number that was in the dictionary is gone: another user of the dictionary has evicted it.
local function miss(self, key)
  self.seen[key] = nil
  self:fail()
end

--- Adds to a number that all workers share.
---@param key string
---@param difference number
---@return boolean added false: the dictionary is full
function Store:add(key, difference)
  local value, is_new = add(self.dict, PREFIX .. "count|" .. key, difference)
  if not value then
    self:fail()
    return false
  end
  if is_new and self.seen[key] then miss(self, key) end
  self.seen[key] = true
  return true
end

--- Raises a number that all workers share to this one, if it is less or not there. Two workers may do so at the same
--- time, and the lesser number win: so the caller repeats it every second.
---@param key string
---@param value number
function Store:raise(key, value)
  local former = self.dict:get(PREFIX .. "count|" .. key)
  if not former and self.seen[key] then miss(self, key) end
  if (not former or former < value) and not self.dict:safe_set(PREFIX .. "count|" .. key, value) then
    return self:fail()
  end
  self.seen[key] = true
end

--- Gives a label to all workers, if there are not too many yet.
---@return string? label nil: the dictionary is full
local function enter(dict, label)
  local key = PREFIX .. "name|" .. label
  if dict:get(key) then return label end
  local count = add(dict, NAMES, 1)
  if not count then return nil end
  if count > NAMES_MOST then
    dict:incr(NAMES, -1)
    return OTHER
  end
  local ok, err = dict:safe_add(key, true)
  if not ok then dict:incr(NAMES, -1) end
  return (ok or err == "exists") and label or nil
end

--- The label that stands for a lock's name in the numbers of all workers: the first names have one
--- of their own.
---@param label string the name, escaped
---@return string? label nil: the dictionary is full
function Store:label_of(label)
  local known = self.labels[label]
  if known then return known end
  known = (label == "" or label == OTHER) and label or enter(self.dict, label)
  if known then self.labels[label] = known else self:fail() end
  return known
end

--- Writes what a worker has now. Unless the worker writes it again, it expires.
---@param kind "gauges"|"part"
---@param worker string
---@param value string
---@param shorter string? instead of it, if there is no room for it
function Store:put(kind, worker, value, shorter)
  local dict, key, stamp = self.dict, PREFIX .. kind .. "|" .. worker, ("%.3f\n"):format(core.now())
  local ok = dict:safe_set(key, stamp .. value, EXPIRY) or shorter and dict:safe_set(key, stamp .. shorter, EXPIRY)
  if not ok then self:fail() end
end

--- How many bytes the list of a worker may take: the lists of all workers take an eighth of the
--- dictionary, and a quarter during a reload, so the numbers find room.
---@return integer
function Store:room()
  local dict = self.dict
  local capacity = dict.capacity and dict:capacity() or CAPACITY_LEAST -- OpenResty's, which not each nginx has
  return math.floor(capacity / 8 / (ngx.worker.count() or 1))
end

function Store:remove(kind, worker)
  self.dict:delete(PREFIX .. kind .. "|" .. worker)
end

--- Somebody looks at the page: for a while, the workers write their parts of it.
---@return boolean is_first false: they do already
function Store:want_page()
  local is_first = not self:is_page_wanted()
  if not self.dict:safe_set(WANTED, true, LOOKED) then self:fail() end
  return is_first
end

function Store:is_page_wanted()
  return self.dict:get(WANTED) == true
end

local function key_of_event(number)
  return PREFIX .. "event|" .. number % EVENTS_MOST
end

--- Adds to the latest events of all workers.
---@param text string
function Store:tell(text)
  local number = add(self.dict, EVENTS, 1)
  if not number or not self.dict:safe_set(key_of_event(number), text) then self:fail() end
end

--- The latest events, the newest first.
---@return string[]
function Store:events()
  local list, last = {}, self.dict:get(EVENTS) or 0
  for number = last, math.max(1, last - EVENTS_MOST + 1), -1 do
    list[#list + 1] = self.dict:get(key_of_event(number))
  end
  return list
end

--- The text that a worker has written, unless it is too old.
---@param value string
---@return string?
---@return number seconds since it was written
local function fresh(value)
  local written, text = value:match("^(%S+)\n(.*)$")
  local since = core.now() - (tonumber(written) or -math.huge)
  return since <= EXPIRY and text or nil, since
end

---@class zklock.metrics.Found
---@field count table<string, number>
---@field gauges table<string, string> by worker
---@field since table<string, number> seconds since each worker wrote its gauges
---@field part table<string, string> by worker

--- Everything that the workers have written: numbers, and what they have now.
---@return zklock.metrics.Found
function Store:read()
  local found, since = { count = {}, gauges = {}, part = {} }, {}
  for _, key in ipairs(self.dict:get_keys(0)) do
    local kind, rest = key:match("^zklock|(%l+)|(.*)$")
    local value, age = found[kind] and self.dict:get(key), nil
    if value and kind ~= "count" then value, age = fresh(value) end
    if value then found[kind][rest] = value end
    if kind == "gauges" then since[rest] = age end
  end
  found.since = since
  for key in each(self.seen) do
    if not found.count[key] then miss(self, key) end
  end
  for key in each(found.count) do self.seen[key] = true end
  return found
end

return Store
