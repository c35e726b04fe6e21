-- SPDX-License-Identifier: MIT
--- held: what the function of a job, or of `client:once`, gets: the hold of its mutex, which it can
--- ask and sleep under, but not release.
local check = require "zklock.base.check"
local core = require "zklock.core"
local holding = require "zklock.holding"

---@class zklock.Held: zklock.Holding
---@field private hold zklock.Hold
---@field private over "lost"|"revoked"|"stopped"|false what `sleep` returns from now on
---@field private has_told boolean `sleep` has returned that
---@field private has_ended boolean the function has returned
local Held = {}
Held.__index = Held
Held.__name = "zklock.Held"

---@param client zklock.Client
---@param hold zklock.Hold
---@return zklock.Held
function Held.new(client, hold)
  return setmetatable({ client = client, hold = hold, over = false, has_told = false, has_ended = false }, Held)
end

--- The function is to return: its sleep ends.
---@private
function Held:stop()
  self.over = self.over or "stopped"
  self.hold:wake()
end

--- The function has returned, or raised. Coroutines that it has left behind may sleep here.
---@private
function Held:finish()
  self.over, self.has_ended = self.over or "stopped", true
  self.hold:wake()
end

--- Why the function should return; nil: it may go on.
local function reason(self)
  local hold, unusable = self.hold, self.client.native:unusable()
  if self.over then return self.over end
  if unusable then return unusable == "closed" and "stopped" or "lost" end
  if hold.state ~= "held" or not hold.contender:held() then return "lost" end
  return hold:is_revoked() and "revoked" or nil
end

--- Waits while others run, and only while the function should go on. From then on it gives the
--- others one turn and returns false, with the same err.
---@param seconds number at least 0; 0 gives the others one turn, math.huge sleeps until the end
---@return boolean? ok false: the function should return; nil: it cannot wait here
---@return string? err with false: "lost", "revoked", "stopped"; with nil: "cannot wait in phase NAME"
function Held:sleep(seconds)
  check.self(self, Held, "hold:sleep")
  local moment = core.now() + check.span(seconds, "seconds")
  local client = self.client
  client.holds:sweep()
  self.over = reason(self) or false
  if self.over then
    client.waits:give_turn(not self.has_told)
    self.has_told = true
    return false, self.over
  end
  local ok, err
  repeat -- a nested `client:once` of the same hold wakes this, too
    ok, err = self.hold:doze(moment)
    self.over = reason(self) or false
  until self.over or not ok or core.now() >= moment
  if self.over then
    self.has_told = true
    return false, self.over
  end
  if not ok then return nil, err end
  return true
end

local function current(self)
  return not self.has_ended and self.hold
end

--- As `lock:turn`.
---@return integer? turn nil when it is not held
function Held:turn()
  check.self(self, Held, "hold:turn")
  local hold = current(self)
  return hold and hold:is_open() and hold.contender:turn() or nil
end

--- The hold, for a guarded write; or nil and why there is none.
local function find(self)
  if self.has_ended then return nil, "not owner" end
  if self.hold.state ~= "held" then return nil, "lost" end
  return self.hold
end

holding(Held, "hold", current, find)

function Held:__tostring()
  return ("zklock.Held (%s)"):format(self:is_held() and "held" or reason(self) or "without validity")
end

return Held
