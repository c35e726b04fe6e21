-- SPDX-License-Identifier: MIT
--- One who visits what a lock protects, and tells the resource each step, so that the judge can tell who was where.
--
-- It lives in the spec's process. The steps at the resource are taken in the very callback that grants the lock.

local visitor = {}
visitor.__index = visitor

--- A visitor, not asking yet.
---@param lock table of whatever kind
---@param store table a writer of the resource
---@param name string unlike any other in the resource's log
---@param terms { beside: boolean?, leases: integer? }? it lets others in beside it; so many are asked for at once
function visitor.new(lock, store, name, terms)
  terms = terms or {}
  return setmetatable({ lock = lock, store = store, name = name, answers = {}, inside = false,
    enter = terms.beside and store.join or store.enter, step = terms.beside and store.part or store.leave,
    leases = terms.leases }, visitor)
end

local function answered(self, got, err)
  if self.dismissed then return got, err end
  local token = got
  if got and self.leases then
    self.lease = got
    token = got:token()
  end
  self.answers[#self.answers + 1] = token or err
  if token then
    self.token = token
    self.inside = self.enter(self.store, token, self.name)
  else
    self.store:quit(self.name)
  end
  return token, err
end

--- Asks for the lock; `answers` gets what the callback hears.
function visitor:ask(timeout)
  self.store:ask(self.name)
  self.request = self.lock:request(timeout, function(got, err) answered(self, got, err) end, self.leases)
end

--- Asks and waits.
---@return integer? token
---@return string? err
function visitor:acquire(timeout)
  self.store:ask(self.name)
  return answered(self, self.lock:acquire(timeout, self.leases or self))
end

--- Goes out, and gives the lock back.
---@return boolean? ok
---@return string? err
function visitor:leave()
  self:step_out()
  if self.lease then return self.lease:release() end
  if self.request then return self.request:release() end
  return self.lock:release(self)
end

--- Gives back what it has or waits for; the resource, which may have gone, hears nothing of it.
function visitor:dismiss()
  self.dismissed = true
  if self.request then
    self.request:cancel()
    self.request:release()
  else
    self.lock:release(self)
  end
end

--- In and out.
function visitor:visit(timeout)
  assert(self:acquire(timeout))
  assert(self:leave())
end

--- Goes out of the resource; the lock is somebody else's affair.
function visitor:step_out()
  self.inside = false
  self.step(self.store, self.token, self.name)
end

--- Says that it was told of its loss.
function visitor:lose()
  self.inside = false
  self.store:lost(self.token, self.name)
end

return visitor
