--- bag: a set in no order. Each entry knows its place: to put one in moves no others, as a table that has them as keys
--- would do whenever it is full, and to take one out allocates nothing.
local Bag = {}
Bag.__index = Bag

function Bag.new()
  return setmetatable({ list = {}, count = 0 }, Bag)
end

--- Puts an entry in that is not. It is a table with the field `_place` (false), which belongs to the bag.
function Bag:add(entry)
  local count = self.count + 1
  self.list[count] = entry
  entry._place, self.count = count, count
end

--- Takes an entry out, if it is in. The last one gets its place.
function Bag:remove(entry)
  local list, place, count = self.list, entry._place, self.count
  if not place then return end
  local last = list[count]
  list[place], last._place = last, place
  list[count] = nil
  entry._place, self.count = false, count - 1
end

return Bag
