--- semaphore: the handle of so many leases at a path.
local check = require "zklock.base.check"
local core = require "zklock.core"
local Hold = require "zklock.holds.hold"
local Lease = require "zklock.lease"
local participants = require "zklock.participants"
local Request = require "zklock.request"
local revoke = require "zklock.revoke"
local text = require "zklock.base.text"

---@class zklock.Semaphore
local Semaphore = {}
Semaphore.__index = Semaphore
Semaphore.__name = "zklock.Semaphore"

--- A handle on what is known of a path.
---@return zklock.Semaphore
function Semaphore.new(client, lock_path)
  return setmetatable({ client = client, lock_path = lock_path }, Semaphore)
end

--- Each lease is a node, and who takes some looks at all of them for each that comes or goes: a release of 1,000 takes
--- some hundredths of a second, one of 10,000 holds up its process for more than one.
local COUNT_MOST = 1000

local function check_count(count, permits)
  if count == nil then return 1 end
  return check.integer(count, "count", 1, math.min(permits, COUNT_MOST), 4)
end

--- What is leased here ends with whom a host serves here.
local function new_lease(semaphore)
  local client, lease = semaphore.client, Lease.new(semaphore)
  if client.loop.tie then client.loop.tie(client, lease) end
  return lease
end

local function hand_out(lease, here)
  lease.hold:hand_out(here)
  return lease
end

--- Waits for leases, in order of arrival: all of them or none. 0 answers "timeout" also while somebody else is just
--- taking one. Taken while nginx serves a request, it ends with that one.
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
  if refused then return client.waits:failure(refused) end
  local here = client.holds:recall()
  client.lifetimes:glance()
  local lease = new_lease(self)
  local hold = Hold.new(lock_path, lease.listener, lease, count)
  lease:bind(hold)
  local err = hold:acquire(deadline, once, here)
  if hold.state ~= "held" then return client.waits:failure(err) end
  return core.hand_over(hand_out, lease, here)
end

--- Asks for leases without waiting. Made while nginx serves a request, it ends with that one.
---@param timeout number? seconds
---@param callback fun(lease: zklock.Lease?, err: string?, request: zklock.Request, why: string?) called once, from
---  `poll`; `why` is the reason of "disconnected", the third result of `acquire`
---@param count integer? how many together, 1000 at most; default 1
---@return zklock.Request
function Semaphore:request(timeout, callback, count)
  check.self(self, Semaphore, "semaphore:request")
  local deadline, once = check.deadline(timeout, "timeout")
  check.func(callback, "callback")
  count = check_count(count, self.lock_path.settings.permits)
  return Request.new(self, deadline, once, callback, new_lease(self), count)
end

--- Makes leases taken through this handle revocable: sets its listener for those who ask for them back, once per lease.
--- It is up to the listener: `lease:release()` gives it back.
---@param fn fun(lease: zklock.Lease?, token: integer)? nil: nobody listens
function Semaphore:on_revoke(fn)
  check.self(self, Semaphore, "semaphore:on_revoke")
  self.handle_revoke = check.listener(fn, "fn")
  core.quietly(self.lock_path.tell_revoked, self.lock_path)
end

--- Asks whoever has a lease to give it back.
---@param timeout number? seconds
---@return boolean? asked true once the servers have it; false: there is no lease
---@return string? err as of a lock's `revoke`
---@return string? why likewise
function Semaphore:revoke(timeout)
  check.self(self, Semaphore, "semaphore:revoke")
  local deadline, once = check.deadline(timeout, "timeout")
  return revoke(self.client, { self.lock_path.path .. "/leases" }, deadline, once, true)
end

--- Who holds leases, then who waits for some, in order.
---@param timeout number? seconds
---@return zklock.Participant[]?
---@return string? err as of a lock's `participants`
---@return string? why likewise
function Semaphore:participants(timeout)
  check.self(self, Semaphore, "semaphore:participants")
  local deadline, once = check.deadline(timeout, "timeout")
  local path = self.lock_path.path
  local list, err, why = participants(self.client, { path .. "/locks" }, deadline, once, path .. "/leases")
  if not list then return nil, err, why end
  for _, participant in ipairs(list) do
    participant.holder = participant.kind == "lease"
  end
  return list
end

--- The path it was made with, without the chroot.
---@return string
function Semaphore:path()
  check.self(self, Semaphore, "semaphore:path")
  return self.lock_path.path
end

function Semaphore:__tostring()
  return ("zklock.Semaphore (%s)"):format(text.shown(self.lock_path.path))
end

return Semaphore
