-- SPDX-License-Identifier: MIT
--- lease: a grant of a semaphore. A lease is its own owner. If the script drops it, it is released
--- when Lua collects it. A lease that is taken while a host serves a request (nginx) ends with that
--- request.
local Hold = require "zklock.holds.hold"
local check = require "zklock.base.check"
local holding = require "zklock.holding"
local owner = require "zklock.owners.owner"
local text = require "zklock.base.text"

---@class zklock.Lease: zklock.Holding
local Lease = {}
Lease.__index = Lease
Lease.__name = "zklock.Lease"
owner.declare_weak_class(Lease)

--- Created before there is a hold.
---@param semaphore zklock.Semaphore
---@return zklock.Lease
function Lease.new(semaphore)
  return setmetatable({ client = semaphore.client, hold = false, open = true, listener = { semaphore = semaphore },
    _lifetimes = false, _number = false, _finalizer = false }, Lease)
end

--- Binds the lease to its wait, which has not joined yet.
---@private
function Lease:bind(hold)
  self.hold = hold
end

--- Releases; a second call does nothing and answers true.
---@return boolean? ok
---@return string? err "unknown" (as of `lock:release`), "lost", "closed", "forked"
function Lease:release()
  check.self(self, Lease, "lease:release")
  return Hold.close(self)
end

--- The host's request for which it was taken has ended: so does the lease.
---@private
function Lease:abandon()
  local hold = self.hold
  if self.open and hold and hold.state == "held" and not self.client.native:unusable() then hold:abandon() end
end

local function current(self)
  return self.open and self.hold
end

--- The hold, for a guarded write; or nil and why there is none.
local function find(lease)
  local err = lease.hold:is_over()
  return not err and lease.hold or nil, err
end

holding(Lease, "lease", current, find)

--- Sets the listener for its loss. A lease that its own listener refers to is not collected.
---@param fn fun(err: "lost", lease: nil, token: integer)? nil removes the listener
function Lease:on_lost(fn)
  check.self(self, Lease, "lease:on_lost")
  self.listener.handle_lost = check.listener(fn, "fn")
end

--- Never raises.
function Lease:__close()
  pcall(self.release, self)
end

function Lease:__tostring()
  return ("zklock.Lease (%s)"):format(text.shown(self.hold.lock_path.path))
end

return Lease
