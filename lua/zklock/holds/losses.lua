--- losses: the owners who have lost what they held and were not told yet: their next release tells them. Until then
--- the holds at that path are not collected, also when there is no handle of it any more; but not for ever, for an
--- owner may never release.
local Losses = {}
Losses.__index = Losses

--- As many as this are kept; then the oldest goes.
local MOST = 1000

function Losses.new()
  return setmetatable({ first = 1, last = 0, holds = {}, names = {} }, Losses)
end

--- Owners that the collector finds leave the weak table of `Holds` by themselves.
local function is_collected(who)
  local kind = type(who)
  return kind ~= "string" and kind ~= "number" and kind ~= "boolean"
end

local function forget_oldest(losses)
  local number = losses.first
  local holds, who = losses.holds[number], losses.names[number]
  if who ~= nil and holds:loss_of(who) == number then holds:forgive(who) end
  losses.holds[number] = nil
  if who ~= nil then losses.names[number] = nil end
  losses.first = number + 1
end

--- Once for each loss; again when an error was raised into it.
---@param holds zklock.Holds
function Losses:note(holds, who)
  if holds:loss_of(who) then return end
  local number = self.last + 1
  self.holds[number] = holds
  if not is_collected(who) then self.names[number] = who end
  holds:note_loss(who, number)
  self.last = number
  if number - self.first >= MOST then forget_oldest(self) end
end

return Losses
