-- SPDX-License-Identifier: MIT
--- request: asks for a lock without waiting; `poll` runs its callback. The request is the owner of
--- the lock. A request that is created while a host serves a request (nginx) ends with that one.
local Callbacks = require "zklock.run.callbacks"
local Hold = require "zklock.holds.hold"
local check = require "zklock.base.check"
local core = require "zklock.core"
local holding = require "zklock.holding"
local owner = require "zklock.owners.owner"

---@class zklock.Request: zklock.Holding
local Request = {}
Request.__index = Request
Request.__name = "zklock.Request"

owner.declare_weak_class(Request)

local WEAK_VALUES = { __mode = "v" }

---@param lease zklock.Lease? of a semaphore: the owner, which the callback gets; nil: the request
---  is the owner, and the callback gets the token
---@param count integer? how many leases
local function new(handle, deadline, once, callback, lease, count)
  local client = handle.client
  local call = Callbacks.new_call(callback, nil, nil, false)
  local tie = client.loop.tie
  local request = setmetatable({ client = client, call = call, lease = lease or false, hold = false, cancelled = false,
    told_lost = false, called = tie and setmetatable({ call }, WEAK_VALUES) or false, _kept = false,
    _lifetimes = false, _number = false, _finalizer = false }, Request)
  if tie then tie(client, request) end
  local unusable = client.native:unusable()
  if unusable then client.native:count(handle.label, unusable, 0) end
  local err = unusable or request:join(handle, deadline, once, count)
  if err then
    request.hold = false
    request:tell(err)
    client.native:wake()
  end
  return request
end

--- Asks for the lock. The callback runs exactly once, even if the client could not ask.
---@param handle zklock.Lock|zklock.Semaphore
function Request.new(handle, ...)
  handle.client.holds:sweep()
  return core.hand_over(new, handle, ...)
end

--- For a hold whose owner is the request.
local function answered(hold)
  local request = hold.whose[1]
  if request then request:answered(hold) end
end

--- For a hold whose owner is the lease that the request has asked for.
local function answer_of_lease(request)
  local back = owner.reference(request)
  return function(hold)
    if back[1] then back[1]:answered(hold) end
  end
end

---@private
function Request:join(handle, deadline, once, count)
  local client, lock_path, lease = self.client, handle.lock_path, self.lease
  client.lifetimes:glance()
  lock_path:reap()
  local hold = Hold.new(lock_path, lease and lease.listener or handle, lease or self, count,
    lease and answer_of_lease(self) or answered)
  if lease then lease:bind(hold) end
  self.hold = hold
  client.dispatcher:keep(self) -- a request that waits is not collected
  local ok, err = pcall(hold.join, hold, deadline, once)
  if ok and not err then return nil end
  client.dispatcher:unkeep(self) -- first: if the next step raises, too, the collector takes the request
  if ok then return err end
  hold:finish("cancelled")
  error(err, 0)
end

--- Queues the callback. Only the reason of an error allocates.
---@private
function Request:tell(err, got)
  local call, client = self.call, self.client
  if not err then Callbacks.keep_with(call, self) end
  local why = err == "disconnected" and client.native:trouble() or self.hold and self.hold:shortage(err) or nil
  client.callbacks:tell(call, call.fn, got, err or nil, self, why)
  self.call, self.lease = false, false
end

---@private
function Request:answered(hold)
  local late = self.cancelled and hold.token -- granted before `cancel`, which gave it back
  if self.cancelled then hold:cancelled() end -- `cancel` returned true, whatever the engine had decided before
  if self.call then -- the callback is not queued yet
    self:tell(hold.err, not hold.err and (self.lease or hold.token) or nil)
    self.client.dispatcher:unkeep(self)
  end
  if late then hold:finish("declined") end
end

local function cancel(self)
  local hold = self.hold
  if not hold or hold.state ~= "waiting" or self.client.native:unusable() then return false end
  self.cancelled = true -- first: an answer from here on is "cancelled"
  if self.call then hold.contender:cancel() else self.cancelled = hold.err == "cancelled" end -- it has come just now
  return self.cancelled
end

--- Ends the wait, also if the request was granted and `poll` has not said so yet.
---@return boolean cancelled true: the callback gets "cancelled", even if the wait has just ended;
---  false: the callback has its answer, or gets "closed", and nothing changes
function Request:cancel()
  check.self(self, Request, "request:cancel")
  return core.quietly(cancel, self)
end

--- The host's request for which it was created has ended: so does this one. Its callback is no
--- longer called: nginx may have ended the coroutine of the callback's upvalues, whose values are
--- then undefined.
---@private
function Request:abandon()
  local hold, call = self.hold, self.called[1]
  if not hold or self.client.native:unusable() then return end
  if hold.state == "waiting" then
    hold:finish("deserted")
  elseif hold.state == "held" then
    hold:abandon()
  end
  if call then Callbacks.revoke(call) end
  self.call, self.lease = false, false
  self.client.dispatcher:unkeep(self)
end

local function release(self)
  local unusable = self.client.native:unusable()
  if unusable then return nil, unusable end
  local hold = self.hold
  if hold and not hold:is_over() then
    local ok, err = hold:release()
    self.told_lost = ok or err == "lost" or err == "unknown" -- the answer does not change later
    if ok then return true end
    return nil, err
  end
  if hold and hold.state == "lost" and not self.told_lost then
    self.told_lost = true
    return nil, "lost"
  end
  return nil, "not owner"
end

--- Releases the lock.
---@return boolean? ok
---@return string? err as of `lock:release`; "lost" once
function Request:release()
  check.self(self, Request, "request:release")
  return core.quietly(release, self)
end

--- As `lock:turn`.
---@return integer? turn nil when it does not hold
function Request:turn()
  check.self(self, Request, "request:turn")
  return self:state() == "held" and self.hold.contender:turn() or nil
end

--- The hold, for a guarded write; or nil and why there is none.
local function find(request)
  local hold = request.hold
  local err = not hold and "not owner" or hold:is_over()
  return not err and hold or nil, err
end

local function look(request)
  local loop = request.client.loop
  if loop.look then loop.look(request.client) end
end

local function current(request)
  look(request)
  return request.hold
end

holding(Request, "request", current, find)

--- The state as far as the client knows.
---@return "waiting"|"held"|"released"|"failed"|"lost"
function Request:state()
  check.self(self, Request, "request:state")
  look(self)
  local hold = self.hold
  if not hold then return "failed" end
  local unusable = self.client.native:unusable()
  if unusable == "forked" and hold.state == "waiting" then return "failed" end -- the parent gets the answer
  if hold.state == "held" then
    if unusable then return unusable == "closed" and "released" or "failed" end
    local is_held = hold.contender:held()
    if hold.dropped then return "released" end -- its lease was collected
    if not is_held then return self.cancelled and "failed" or "lost" end
  end
  return hold.state
end

--- Why it waits; as `lock:why`.
---@return string? why nil: it does not wait
function Request:why()
  check.self(self, Request, "request:why")
  local hold = self.hold
  return hold and hold.contender:why() or nil
end

function Request:__tostring()
  return ("zklock.Request (%s)"):format(self:state())
end

return Request
