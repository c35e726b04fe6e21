-- SPDX-License-Identifier: MIT
--- guard: an object that stands for a hold, and releases it when its block ends or when Lua
--- collects it.
local Hold = require "zklock.holds.hold"
local check = require "zklock.base.check"
local finalizer = require "zklock.base.finalizer"

---@class zklock.Guard
local Guard = {}
Guard.__index = Guard
Guard.__name = "zklock.Guard"

local guard = {}

local function collected(claim)
  if not claim.open then return end
  claim.open = false
  local hold = claim.hold
  if hold.state ~= "held" then return end
  if hold.contender:count() > 1 then
    hold.contender:add(-1)
  else
    hold:abandon()
  end
end

--- Created before there is a hold. It takes over one count of a hold when `claim` gets the three
--- fields: that allocates nothing and calls no function. The hold of a guard is in its own table, so
--- that the guard's finalizer can refer to it.
---@return zklock.Guard
function guard.new()
  local claim = { hold = false, open = false, token = false }
  return setmetatable({ claim = claim, finalizer = finalizer(claim, collected) }, Guard)
end

--- Releases; a second call does nothing and answers true.
---@return boolean? ok
---@return string? err "unknown" (as of `lock:release`), "lost", "closed", "forked"
function Guard:release()
  check.self(self, Guard, "guard:release")
  return Hold.close(self.claim)
end

--- Releases after an error: work under the lock may go on.
---@private
function Guard:give_up()
  return Hold.close(self.claim, true)
end

---@private
function Guard:is_open()
  local claim = self.claim
  return claim.open and claim.hold:is_open()
end

---@return integer? token the fencing token, nil when it no longer holds
function Guard:token()
  check.self(self, Guard, "guard:token")
  return self:is_open() and self.claim.token or nil
end

--- As `lock:turn`.
---@return integer? turn nil when it no longer holds
function Guard:turn()
  check.self(self, Guard, "guard:turn")
  return self:is_open() and self.claim.hold.contender:turn() or nil
end

---@return boolean
function Guard:is_held()
  check.self(self, Guard, "guard:is_held")
  local claim = self.claim
  return claim.open and claim.hold:validity() > 0
end

--- Never raises.
function Guard:__close(err)
  pcall(err == nil and self.release or self.give_up, self)
end

return guard
