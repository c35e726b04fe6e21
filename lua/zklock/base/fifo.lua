-- SPDX-License-Identifier: MIT
--- fifo: a queue, first in, first out. The links are in the entries, so adding one allocates
--- nothing. A debug hook may raise at any instruction here: a single assignment decides whether an
--- entry is in the queue.
local Fifo = {}
Fifo.__index = Fifo

function Fifo.new()
  return setmetatable({ head = false, tail = false, count = 0 }, Fifo)
end

--- Adds an entry at the end, unless it is in the queue. An entry is a table with the fields `_next`
--- (false) and `_number`, which belong to the queue; `_number` counts all entries ever added.
function Fifo:append(entry)
  local tail, number = self.tail, self.count + 1
  if entry._next or entry == tail then return end
  entry._number = number
  if tail then tail._next = entry else self.head = entry end
  self.count = number
  self.tail = entry
end

--- The next entry, or nil.
function Fifo:first()
  return self.tail and self.head or nil
end

--- Removes the next entry.
function Fifo:remove()
  local head = self.head
  if head == self.tail then
    self.tail = false
    self.head = false -- lets the collector have the entry
  else
    self.head = head._next
    head._next = false
  end
end

--- Makes the entry that was removed last the next one again.
function Fifo:put_back(entry)
  entry._next = self.tail and self.head or false -- no call: there may be no memory for one
  self.head = entry
  self.tail = self.tail or entry
end

return Fifo
