--- guard: a hold as a value, given back when its block or its life ends.
local finalizer = require "zklock.base.finalizer"
local core = require "zklock.core"

---@class zklock.Guard
local Guard = {}
Guard.__index = Guard
Guard.__name = "zklock.Guard"

local guard = {}

local function collected(hold)
  if not hold.open then return end
  hold.open = false
  local stay = hold.stay
  if stay.state ~= "held" then return end
  if stay.count > 1 then
    stay:release()
  else
    stay:abandon()
  end
end

--- Made before there is anything to guard. The function that is returned takes over one count of a stay, and allocates
--- nothing.
---@return fun(stay: zklock.Stay, token: integer): zklock.Guard
function guard.new()
  local hold = { stay = false, open = false, token = false }
  local made = setmetatable({ hold = hold, finalizer = finalizer(hold, collected) }, Guard)
  return function(stay, token)
    hold.stay, hold.token, hold.open = stay, token, true
    return made
  end
end

--- It is open until it is known that it was given back, or that there is nothing to give back.
local function release(hold)
  if not hold.open then return true end
  local stay = hold.stay
  local err = stay.place.client:unusable()
  if not err and stay.state ~= "held" then err = stay.state == "lost" and "lost" or "not owner" end
  local ok = not err
  if ok then ok, err = stay:release() end
  hold.open = false
  if ok then return true end
  return nil, err
end

--- Gives it back; twice is fine.
---@return boolean? ok
---@return string? err "lost", "closed", "forked"
function Guard:release()
  return core.quietly(release, self.hold)
end

---@return integer? token the fencing token, nil when it does not hold any more
function Guard:token()
  return self:is_open() and self.hold.token or nil
end

--- Does it hold, with validity above 0?
---@return boolean
function Guard:is_held()
  return self:is_open() and self.hold.stay.contender:validity() > 0
end

---@private
function Guard:is_open()
  local hold = self.hold
  local stay = hold.stay
  return hold.open and stay.state == "held" and not stay.place.client:unusable() and stay.contender:held()
end

--- Never raises.
function Guard:__close()
  pcall(self.release, self)
end

return guard
