-- SPDX-License-Identifier: MIT
--- One direction of a link: what goes in comes out in the same order, a fixed time later.
--
-- A real pipe: the delay of one message does not wait for the one before it. Exact to some 50 us although luv's
-- timers count milliseconds: the last one of each wait is spent spinning. Nothing comes out while the line is held.

local uv = require "luv"

local delay_line = {}
delay_line.__index = delay_line

local function now() return tonumber(uv.hrtime()) / 1e9 end

local function release(self)
  while not self.held and self.first <= self.last do
    local entry = self[self.first]
    if entry.due > now() then break end
    self[self.first] = nil
    self.first = self.first + 1
    self.deliver(entry.item)
    if self.closed then return end
  end
end

local arm

local function fire(self)
  self.spinner:stop()
  release(self)
  arm(self)
end

--- Runs again: the timer, or each turn of the loop for the last millisecond.
function arm(self)
  if self.closed or self.held or self.first > self.last then return end
  local left = self[self.first].due - now()
  if left > 0.0025 then
    self.timer:start(math.floor(left * 1000) - 1, 0, function() fire(self) end)
  else
    self.spinner:start(function() fire(self) end)
  end
end

---@param deliver fun(item) gets what comes out
function delay_line.new(deliver)
  return setmetatable({ deliver = deliver, first = 1, last = 0, held = false, timer = uv.new_timer(),
    spinner = uv.new_idle() }, delay_line)
end

---@param item any
---@param seconds number
function delay_line:push(item, seconds)
  if self.closed then return end
  self.last = self.last + 1
  self[self.last] = { item = item, due = now() + seconds }
  if self.first == self.last then fire(self) end
end

--- Keeps everything in, from now on, what is under way included.
function delay_line:hold() self.held = true end

--- Lets go what was held.
function delay_line:let_go()
  self.held = false
  if not self.closed then fire(self) end
end

function delay_line:close()
  if self.closed then return end
  self.closed = true
  self.timer:close()
  self.spinner:close()
end

return delay_line
