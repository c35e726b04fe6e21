-- SPDX-License-Identifier: MIT
--- The flash sale: what the lock is to protect, and who saw what. It lives in the harness, which turns luv's loop.
--
-- A buyer reads the stock, pays, and writes back one less: right as long as nobody else does the same meanwhile. Its
-- lines:
--
--   buyer NAME        ask, before it takes the lock; answered "closed" when it is to stop
--   enter TOKEN       -> the stock          pay           -> paid, some milliseconds later
--   write STOCK TOKEN SURE                  -> accepted | refused | dropped
--   leave ok|no       it has given the lock back, or could not          quit WHY     it did not get the lock
--
-- A token that is smaller than one that was seen before is refused. SURE is what the buyer's lock says it still is:
-- "no" means that the buyer knows better than to write; whether its write would have been refused is noted all the
-- same.

local uv = require "luv"
local port = require "spec.support.port"
local wait = require "spec.support.wait"

local shop = {}
shop.__index = shop

local PAY = 5 -- milliseconds: the bank's answer

local verbs = {}

function verbs.buyer(_, visit, name)
  visit.name = name
  return "ok"
end

function verbs.ask(self, visit)
  self.asked[visit.name] = true
  return "ok"
end

function verbs.enter(self, visit, token)
  self.inside[visit.name] = true
  self.largest = math.max(self.largest, tonumber(token))
  self.entries[#self.entries + 1] = { buyer = visit.name, at = wait.now() }
  return tostring(self.stock)
end

function verbs.pay(self, visit)
  visit.paid = (visit.paid or 0) + 1
  if self.gate and self.gate.buyer == visit.name and self.gate.n == visit.paid then
    self.gated = visit
    return nil
  end
  local timer = uv.new_timer()
  timer:start(PAY, 0, function()
    timer:close()
    visit.answer "paid"
  end)
end

local function verdict(self, token)
  return token > 0 and token < self.largest and "refused" or "accepted"
end

function verbs.write(self, visit, stock, token, sure)
  local answer = verdict(self, tonumber(token))
  if self.gate and visit.name == self.gate.buyer and visit.paid == self.gate.n then
    self.late = { sure = sure, verdict = answer }
  end
  if sure == "no" then return "dropped" end
  if answer == "accepted" then
    self.sold, self.stock = self.sold + 1, tonumber(stock)
    self.by[visit.name] = (self.by[visit.name] or 0) + 1
  end
  return answer
end

function verbs.leave(self, visit, released)
  self.inside[visit.name] = nil
  if self.gate and visit.name == self.gate.buyer and visit.paid == self.gate.n and self.late then
    self.late.released = self.late.released or released
  end
  return "ok"
end

function verbs.quit(self, _, ...)
  local why = table.concat({ ... }, " ")
  self.quits[why] = (self.quits[why] or 0) + 1
  return "ok"
end

local ENDS = { ask = true, leave = true, quit = true }

local function take(self, visit, line)
  local words = {}
  for word in line:gmatch("%S+") do words[#words + 1] = word end
  local verb = table.remove(words, 1)
  local answer = assert(verbs[verb], line)(self, visit, table.unpack(words))
  if ENDS[verb] and (self.closed or self.stock <= 0) then answer = "closed" end
  if answer then visit.answer(answer) end
end

local function accept(self)
  local link, visit, text = uv.new_tcp(), {}, ""
  if not self.listener:accept(link) then return link:close() end
  self.links[link] = true
  link:nodelay(true)
  function visit.answer(word)
    if not link:is_closing() then link:write(word .. "\n") end
  end
  link:read_start(function(_, chunk)
    if not chunk then
      if visit.name then self.inside[visit.name] = nil end
      self.links[link] = nil
      return link:close()
    end
    text = text .. chunk
    for line in text:gmatch("([^\n]*)\n") do take(self, visit, line) end
    text = text:match("[^\n]*$")
  end)
  link:unref()
end

--- Opens a shop with so many items.
function shop.open(stock)
  local self = setmetatable({ initial = stock, stock = stock, sold = 0, largest = 0, entries = {}, inside = {},
    asked = {}, quits = {}, by = {}, links = {} }, shop)
  self.listener = uv.new_tcp()
  local number
  repeat
    number = port.free()
  until self.listener:bind("127.0.0.1", number)
  assert(self.listener:listen(128, function() accept(self) end))
  self.listener:unref()
  self.address = "127.0.0.1:" .. number
  return self
end

--- Holds back the bank's answer to that buyer's n-th payment, until `let_go`.
function shop:hold(buyer, n) self.gate = { buyer = buyer, n = n } end
function shop:let_go() self.gated.answer "paid" end

--- Items that were sold although another buyer had sold them.
function shop:oversold() return self.sold - (self.initial - self.stock) end

--- When somebody else entered after that moment, if anybody did.
---@return number? at
function shop:next_entry(buyer, since)
  for _, one in ipairs(self.entries) do
    if one.buyer ~= buyer and one.at > since then return one.at end
  end
end

--- Sales of all but one.
function shop:sales_but(buyer) return self.sold - (self.by[buyer] or 0) end

function shop:count_asked()
  local count = 0
  for _ in pairs(self.asked) do count = count + 1 end
  return count
end

--- Whoever asks now is told to stop.
function shop:close_doors() self.closed = true end

function shop:close()
  self.listener:close()
  for link in pairs(self.links) do
    if not link:is_closing() then link:close() end
  end
  uv.run("nowait")
end

return shop
