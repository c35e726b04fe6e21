-- SPDX-License-Identifier: MIT
--- held: what the function of a job, or of `client:once`, gets: the hold of its mutex, which it can
--- ask and sleep under, but not release.
local check = require "zklock.base.check"
local core = require "zklock.core"
local node_requests = require "zklock.nodes.node_requests"

---@class zklock.Held
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

--- True while it is held, as far as the client knows.
local function is_open(self)
  return not self.has_ended and self.hold:is_open()
end

--- True while it is held and `validity` is above 0.
---@return boolean
function Held:is_held()
  check.self(self, Held, "hold:is_held")
  return self:validity() > 0
end

--- As `lock:validity`.
---@return number seconds 0 when it is not held
function Held:validity()
  check.self(self, Held, "hold:validity")
  return not self.has_ended and self.hold:validity() or 0
end

--- The fencing token.
---@return integer? token nil when it is not held
function Held:token()
  check.self(self, Held, "hold:token")
  return is_open(self) and self.hold.token or nil
end

--- As `lock:turn`.
---@return integer? turn nil when it is not held
function Held:turn()
  check.self(self, Held, "hold:turn")
  return is_open(self) and self.hold.contender:turn() or nil
end

--- The paths of the lock's own nodes; as `lock:nodes`.
---@return string[]? paths nil when it is not held
function Held:nodes()
  check.self(self, Held, "hold:nodes")
  local nodes = is_open(self) and self.hold.contender:nodes()
  return nodes and nodes[1] and nodes or nil
end

--- The hold, for a guarded write; or nil and why there is none.
local function find(self)
  if self.has_ended then return nil, "not owner" end
  if self.hold.state ~= "held" then return nil, "lost" end
  return self.hold
end

--- Writes that the servers perform only if the lock is still held; as `lock:multi`.
---@param list table[]
---@param timeout number? seconds
---@return (string|zklock.Stat|true)[]? results as of `client:multi`
---@return string? err "not owner" (the function has returned), "lost", or as of `client:multi`
---@return integer|string|nil index of the op that failed; or why, of "disconnected"
function Held:multi(list, timeout)
  check.self(self, Held, "hold:multi")
  local results, err, index = node_requests.guarded(self.client, list, timeout, find, self)
  return results, err, index
end

function Held:__tostring()
  return ("zklock.Held (%s)"):format(self:is_held() and "held" or reason(self) or "without validity")
end

return Held
