-- SPDX-License-Identifier: MIT
--- bag: an unordered set. Each entry knows its position. Adding one never rehashes the others, as a
--- table with the entries as keys would whenever it is full. Removing one allocates nothing.
local flat = require "zklock.base.flat"

local Bag = {}
Bag.__index = Bag

---@param field string of the entries, nil or false at first; it belongs to the bag
function Bag.new(field)
  return flat(Bag, { field = field, list = {}, count = 0 })
end

--- Adds an entry, unless the bag has it.
function Bag:add(entry)
  local field = self.field
  if entry[field] then return end
  local count = self.count + 1
  self.list[count] = entry
  entry[field], self.count = count, count
end

--- Removes an entry, if the bag has it. The last entry gets its position.
function Bag:remove(entry)
  local list, field, count = self.list, self.field, self.count
  local place = entry[field]
  if not place then return end
  local last = list[count]
  list[place], last[field] = last, place
  list[count] = nil
  entry[field], self.count = false, count - 1
end

return Bag
