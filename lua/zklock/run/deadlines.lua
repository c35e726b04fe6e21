-- SPDX-License-Identifier: MIT
--- deadlines: when to wake each of a client's waiters, soonest first: a binary heap. Each waiter
--- knows its position, so removing one allocates nothing. A debug hook that raises between two steps
--- would leave the heap out of order, so none runs meanwhile.
local quietly = require("zklock.core").quietly

---@class zklock.Deadlines
---@field private list zklock.Waiter[]
---@field count integer
local Deadlines = {}
Deadlines.__index = Deadlines

function Deadlines.new()
  return setmetatable({ list = {}, count = 0 }, Deadlines)
end

local function put(list, place, waiter)
  list[place] = waiter
  waiter._rank = place
end

--- Moves a waiter towards the front until the one before it is due no later.
local function rise(list, place, waiter)
  while place > 1 do
    local above = (place - place % 2) / 2
    if list[above]._moment <= waiter._moment then break end
    put(list, place, list[above])
    place = above
  end
  put(list, place, waiter)
end

--- Moves a waiter towards the end until those behind it are due no sooner.
local function sink(list, count, place, waiter)
  while 2 * place <= count do
    local below = 2 * place
    if below < count and list[below + 1]._moment < list[below]._moment then below = below + 1 end
    if list[below]._moment >= waiter._moment then break end
    put(list, place, list[below])
    place = below
  end
  put(list, place, waiter)
end

local function remove(waiter)
  local self, place = waiter._deadlines, waiter._rank
  if not self then return end
  local list, count = self.list, self.count
  local last = list[count]
  list[count] = nil
  self.count, waiter._deadlines, waiter._rank = count - 1, false, false
  if last == waiter then return end
  if place > 1 and list[(place - place % 2) / 2]._moment > last._moment then
    rise(list, place, last)
  else
    sink(list, count - 1, place, last)
  end
end

local function add(self, waiter, moment)
  remove(waiter)
  local count = self.count + 1
  self.list[count] = waiter -- if this raises for want of memory, it is in no heap
  self.count = count
  waiter._deadlines, waiter._moment = self, moment
  rise(self.list, count, waiter)
end

--- Adds a waiter. If it is in a heap, it leaves that one first.
---@param moment number when to wake it, on the clock of core.now()
function Deadlines:add(waiter, moment)
  quietly(add, self, waiter, moment)
end

--- Removes a waiter from its heap, if it is in one.
function Deadlines.remove(waiter)
  if waiter._deadlines then quietly(remove, waiter) end
end

--- The soonest moment, or nil.
---@return number?
function Deadlines:next()
  local first = self.list[1]
  return first and first._moment
end

--- Removes and returns the first waiter that is due.
---@return zklock.Waiter? waiter
function Deadlines:take(now)
  local first = self.list[1]
  if not first or first._moment > now then return nil end
  Deadlines.remove(first)
  return first
end

return Deadlines
