-- SPDX-License-Identifier: MIT
--- semaphore: the handle of a semaphore at a path.
local check = require "zklock.base.check"
local core = require "zklock.core"
local Hold = require "zklock.holds.hold"
local Lease = require "zklock.lease"
local line = require "zklock.line"
local Request = require "zklock.request"
local owner = require "zklock.owners.owner"
local text = require "zklock.base.text"

---@class zklock.Semaphore
---@field label integer the number of its name, for metrics; 0: it has none
local Semaphore = { label = 0 }
Semaphore.__index = Semaphore
Semaphore.__name = "zklock.Semaphore"

---@param label integer?
---@return zklock.Semaphore
function Semaphore.new(client, lock_path, label)
  return setmetatable({ client = client, lock_path = lock_path, label = label }, Semaphore)
end

--- Each lease is a node, and a caller reads all of them whenever one comes or goes: a release of
--- 1,000 takes some hundredths of a second, a release of 10,000 blocks the process for more than a
--- second.
local COUNT_MOST = 1000

local function check_count(count, permits)
  if count == nil then return 1 end
  return check.integer(count, "count", 1, math.min(permits, COUNT_MOST))
end

--- A lease that is taken while a host serves a request ends with that request.
local function new_lease(semaphore)
  local client, lease = semaphore.client, Lease.new(semaphore)
  if client.loop.tie then client.loop.tie(client, lease) end
  return lease
end

local function hand_out(lease, ticket)
  if lease.hold:hand_out(ticket) then return lease end
  return nil, "lost"
end

--- Waits for leases, in order of arrival: all of them or none.
---@param timeout number? seconds; nil and math.huge wait for ever; 0 tries once
---@param count integer? how many together, 1000 at most; default 1
---@return zklock.Lease? lease of all of them
---@return string? err as of a lock's `acquire`
---@return string? why likewise
function Semaphore:acquire(timeout, count)
  check.self(self, Semaphore, "semaphore:acquire")
  local deadline, once = check.deadline(timeout, "timeout")
  local client, lock_path = self.client, self.lock_path
  count = check_count(count, lock_path.settings.permits)
  local refused = client.waits:cannot_wait()
  if refused then
    client.native:count(self.label, refused, 0)
    return client.waits:failure(refused)
  end
  client.holds:sweep()
  client.lifetimes:glance()
  local lease = new_lease(self)
  local hold, ticket = Hold.new(lock_path, lease.listener, lease, count)
  lease:bind(hold)
  local ok, err = hold:acquire(deadline, once, owner.of_call(client))
  if not ok then return client.waits:failure(err, hold:shortage(err)) end
  return core.hand_over(hand_out, lease, ticket)
end

--- Asks for leases without waiting.
---@param timeout number? seconds
---@param callback fun(lease: zklock.Lease?, err: string?, request: zklock.Request, why: string?) called once, from
---  `poll`; `why` is the third result of `acquire`
---@param count integer? how many together, 1000 at most; default 1
---@return zklock.Request
function Semaphore:request(timeout, callback, count)
  check.self(self, Semaphore, "semaphore:request")
  local deadline, once = check.deadline(timeout, "timeout")
  check.func(callback, "callback")
  count = check_count(count, self.lock_path.settings.permits)
  return Request.new(self, deadline, once, callback, new_lease(self), count)
end

--- Sets this handle's listener, which is called when somebody asks for a lease that was taken through it.
---@param fn fun(lease: zklock.Lease?, token: integer)? nil removes the listener
function Semaphore:on_revoke(fn)
  check.self(self, Semaphore, "semaphore:on_revoke")
  self.handle_revoke = check.listener(fn, "fn")
  self.lock_path:tell_revoked()
end

--- Asks the holders of all leases to give them back.
---@param timeout number? seconds
---@return boolean? asked true once the servers have stored the request; false: there is no lease
---@return string? err as of a lock's `revoke`
---@return string? why likewise
function Semaphore:revoke(timeout)
  check.self(self, Semaphore, "semaphore:revoke")
  local deadline, once = check.deadline(timeout, "timeout")
  return line.revoke(self.client, { self.lock_path.path .. "/leases" }, deadline, once, true)
end

--- The holders of leases, then the waiters, in order.
---@param timeout number? seconds
---@return zklock.Participant[]?
---@return string? err as of a lock's `participants`
---@return string? why likewise
function Semaphore:participants(timeout)
  check.self(self, Semaphore, "semaphore:participants")
  local deadline, once = check.deadline(timeout, "timeout")
  local path = self.lock_path.path
  local list, err, why = line.participants(self.client, { path .. "/leases", path .. "/locks" }, deadline, once, true)
  if not list then return nil, err, why end
  for _, participant in ipairs(list) do
    participant.holder = participant.kind == "lease"
  end
  return list
end

--- The path of the semaphore, without the chroot.
---@return string
function Semaphore:path()
  check.self(self, Semaphore, "semaphore:path")
  return self.lock_path.path
end

function Semaphore:__tostring()
  return ("zklock.Semaphore (%s)"):format(text.shown(self.lock_path.path))
end

return Semaphore
