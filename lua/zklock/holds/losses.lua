-- SPDX-License-Identifier: MIT
--- losses: the owners that have lost a hold and do not know it yet: their next release answers
--- "lost". Until then the LockPath stays alive, even if no handle is left. Some owners never
--- release, so the number of losses is bounded. It has room for all losses that one end of a
--- session can bring; beyond that, the oldest goes.
---@class zklock.Losses
---@field most integer how many losses are kept
local Losses = {}
Losses.__index = Losses

--- The least that `most` can be.
local LEAST = 1000

function Losses.new()
  return setmetatable({ first = 1, last = 0, lock_paths = {}, names = {}, most = LEAST }, Losses)
end

--- So many owners hold or wait at once, more than ever: all of them may lose at once.
function Losses:make_room(count)
  self.most = count
end

--- Collected owners leave the weak table of `LockPath` by themselves.
local function is_collected(who)
  local kind = type(who)
  return kind ~= "string" and kind ~= "number" and kind ~= "boolean"
end

local function forget_oldest(losses)
  local number = losses.first
  local lock_path, who = losses.lock_paths[number], losses.names[number]
  if not rawequal(who, nil) and lock_path:loss_of(who) == number then lock_path:forgive(who) end
  losses.lock_paths[number] = nil
  if not rawequal(who, nil) then losses.names[number] = nil end
  losses.first = number + 1
end

--- Called once for each loss, and again if an error was raised into it.
---@param lock_path zklock.LockPath
function Losses:note(lock_path, who)
  if lock_path:loss_of(who) then return end
  local number = self.last + 1
  self.lock_paths[number] = lock_path
  if not is_collected(who) then self.names[number] = who end
  lock_path:note_loss(who, number)
  self.last = number
  if number - self.first >= self.most then forget_oldest(self) end
end

return Losses
