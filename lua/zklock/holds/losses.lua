--- losses: the owners that have lost a hold and have not heard of it yet: their next release answers "lost". Until
--- then the holds at that path are not collected, even when no handle of it is left. Some owners never release, so the
--- number of losses is bounded: all that one end of a session can bring are kept, and then the oldest goes.
---@class zklock.Losses
---@field private most integer how many are kept
local Losses = {}
Losses.__index = Losses

--- At least so many are kept.
local LEAST = 1000

function Losses.new()
  return setmetatable({ first = 1, last = 0, holds = {}, names = {}, most = LEAST }, Losses)
end

--- So many hold or wait at once: all of them may lose at once.
---@param count integer
function Losses:make_room(count)
  if count > self.most then self.most = count end
end

--- Owners that the collector finds leave the weak table of `Holds` by themselves.
local function is_collected(who)
  local kind = type(who)
  return kind ~= "string" and kind ~= "number" and kind ~= "boolean"
end

local function forget_oldest(losses)
  local number = losses.first
  local holds, who = losses.holds[number], losses.names[number]
  if not rawequal(who, nil) and holds:loss_of(who) == number then holds:forgive(who) end
  losses.holds[number] = nil
  if not rawequal(who, nil) then losses.names[number] = nil end
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
  if number - self.first >= self.most then forget_oldest(self) end
end

return Losses
