--- bag: a set in no order. Each entry knows its place: to put one in moves no others, as a table that has them as keys
--- would do whenever it is full, and to take one out allocates nothing.
local Bag = {}
Bag.__index = Bag

---@param field string of the entries, nil or false at first: it belongs to the bag
function Bag.new(field)
  return setmetatable({ field = field, list = {}, count = 0 }, Bag)
end

--- Puts an entry in; twice is fine.
function Bag:add(entry)
  local field = self.field
  if entry[field] then return end
  local count = self.count + 1
  self.list[count] = entry
  entry[field], self.count = count, count
end

--- Is it in?
function Bag:has(entry)
  return entry[self.field] and true or false
end

--- Takes an entry out, if it is in. The last one gets its place.
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
