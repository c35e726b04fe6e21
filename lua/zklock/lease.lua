-- SPDX-License-Identifier: MIT
--- lease: a grant of a semaphore. A lease is its own owner. If the script drops it, it is released
--- when Lua collects it. A lease that is taken while a host serves a request (nginx) ends with that
--- request.
local Hold = require "zklock.holds.hold"
local check = require "zklock.base.check"
local node_requests = require "zklock.nodes.node_requests"
local owner = require "zklock.owners.owner"
local text = require "zklock.base.text"

---@class zklock.Lease
local Lease = {}
Lease.__index = Lease
Lease.__name = "zklock.Lease"
owner.declare_weak_class(Lease)

--- Created before there is a hold.
---@param semaphore zklock.Semaphore
---@return zklock.Lease
function Lease.new(semaphore)
  return setmetatable({ hold = false, open = true, listener = { semaphore = semaphore }, _lifetimes = false,
    _number = false, _finalizer = false }, Lease)
end

--- Binds the lease to its wait, which has not joined yet.
---@private
function Lease:bind(hold)
  self.hold = hold
end

--- Releases; a second call does nothing and answers true.
---@return boolean? ok
---@return string? err "unknown": released with validity 0, so nobody can say whether it was still held; "lost",
---  "closed", "forked"
function Lease:release()
  check.self(self, Lease, "lease:release")
  return Hold.close(self)
end

--- The host's request for which it was taken has ended: so does the lease.
---@private
function Lease:abandon()
  local hold = self.hold
  if self.open and hold and hold.state == "held" and not hold.lock_path.client.native:unusable() then hold:abandon() end
end

---@private
function Lease:is_open()
  return self.open and self.hold:is_open()
end

--- The fencing token; of several leases that of the first.
---@return integer? token nil when it is no longer held
function Lease:token()
  check.self(self, Lease, "lease:token")
  return self:is_open() and self.hold.token or nil
end

--- The hold, for a guarded write; or nil and why there is none.
local function find(lease)
  local err = lease.hold:is_over()
  return not err and lease.hold or nil, err
end

--- Writes that the servers perform only if the lease is still held; as `lock:multi`.
---@param list table[]
---@param timeout number? seconds
---@return (string|zklock.Stat|true)[]? results as of `client:multi`
---@return string? err "not owner", "lost", or as of `client:multi`
---@return integer|string|nil index of the op that failed; or why, of "disconnected"
function Lease:multi(list, timeout)
  check.self(self, Lease, "lease:multi")
  local client = self.hold.lock_path.client
  local results, err, index = node_requests.guarded(client, list, timeout, find, self)
  return results, err, index
end

--- The lease's own nodes; as `lock:nodes`.
---@return string[]? paths nil when it is no longer held
function Lease:nodes()
  check.self(self, Lease, "lease:nodes")
  local nodes = self:is_open() and self.hold.contender:nodes()
  return nodes and nodes[1] and nodes or nil
end

--- True while it is held and `validity` is above 0.
---@return boolean
function Lease:is_held()
  check.self(self, Lease, "lease:is_held")
  return self:validity() > 0
end

--- As `lock:validity`.
---@return number seconds 0 when it is not held
function Lease:validity()
  check.self(self, Lease, "lease:validity")
  return self.open and self.hold:validity() or 0
end

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
