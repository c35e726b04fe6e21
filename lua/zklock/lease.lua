--- lease: what a semaphore gives. Whoever has it, has it: it has no owner. Dropped, it is given back when collected.
local check = require "zklock.check"
local guard = require "zklock.guard"
local text = require "zklock.text"

---@class zklock.Lease
local Lease = {}
Lease.__index = Lease
Lease.__name = "zklock.Lease"

--- Made before there is anything to lease. The function that is returned takes over a stay that holds, and allocates
--- nothing. `listener` is the table in whose `handle_lost` the stay finds its listener; it does not refer to the lease,
--- so that a lease that nobody has is collected.
---@return fun(stay: zklock.Stay): zklock.Lease
function Lease.new(listener)
  local made, open = setmetatable({ guard = false, stay = false, listener = listener }, Lease), guard.new()
  listener.lease = setmetatable({ made }, { __mode = "v" })
  return function(stay)
    made.stay, made.guard = stay, open(stay, stay.token)
    return made
  end
end

--- Gives it back; twice is fine.
---@return boolean? ok
---@return string? err "lost", "closed", "forked"
function Lease:release()
  return self.guard:release()
end

--- The fencing token: grows with every lease of this semaphore. Of a count, that of the first.
---@return integer? token nil when it is not held any more
function Lease:token()
  return self.guard:token()
end

--- Is it held, with `validity` above 0?
---@return boolean
function Lease:is_held()
  return self.guard:is_held()
end

--- For how long the servers cannot have given it to somebody else; read from the clock at the moment of asking.
---@return number seconds 0 when it is not held
function Lease:validity()
  return self.guard:token() and self.stay.contender:validity() or 0
end

--- Sets the listener for its loss, or removes it. It keeps what it refers to: a lease that its own listener refers to
--- is not collected.
---@param fn fun(err: string, lease: nil, token: integer)?
function Lease:on_lost(fn)
  self.listener.handle_lost = check.listener(fn, "fn")
end

--- Never raises.
function Lease:__close()
  pcall(self.release, self)
end

function Lease:__tostring()
  return ("zklock.Lease (%s)"):format(text.shown(self.stay.place.path))
end

return Lease
