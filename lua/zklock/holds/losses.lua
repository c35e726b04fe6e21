--- losses: who has lost what he held and was not told yet, which his next release does. A place with such owners lives
--- on when nobody has a handle of it; but not for ever, for he may never ask.
local Losses = {}
Losses.__index = Losses

--- As many as this are kept; then the oldest goes.
local MOST = 1000

function Losses.new()
  return setmetatable({ first = 1, last = 0, places = {}, names = {} }, Losses)
end

--- Owners that are collected are forgotten without us.
local function is_collected(who)
  local kind = type(who)
  return kind ~= "string" and kind ~= "number" and kind ~= "boolean"
end

local function forget_oldest(losses)
  local number = losses.first
  local place, who = losses.places[number], losses.names[number]
  if who ~= nil and place.losers[who] == number then place.losers[who] = nil end
  losses.places[number] = nil
  if who ~= nil then losses.names[number] = nil end
  losses.first = number + 1
end

--- Once for each loss; again when an error was raised into it.
function Losses:note(place, who)
  if place.losers[who] then return end
  local number = self.last + 1
  self.places[number] = place
  if not is_collected(who) then self.names[number] = who end
  place.losers[who] = number
  self.last = number
  if number - self.first >= MOST then forget_oldest(self) end
end

return Losses
