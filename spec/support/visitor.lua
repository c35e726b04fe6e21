--- One who visits what a lock protects, and tells the resource each step, so that the judge can tell who was where.
--
-- It lives in the spec's process. The steps at the resource are taken in the very callback that grants the lock.

local visitor = {}
visitor.__index = visitor

--- A visitor, not asking yet.
---@param client table zklock client
---@param path string
---@param store table a writer of the resource
---@param name string unlike any other in the resource's log
function visitor.new(client, path, store, name)
  return setmetatable({ client = client, lock = client:mutex(path), store = store, name = name, answers = {},
    inside = false }, visitor)
end

local function answered(self, token, err)
  self.answers[#self.answers + 1] = token or err
  if token then
    self.token = token
    self.inside = self.store:enter(token, self.name)
  else
    self.store:quit(self.name)
  end
end

--- Asks for the lock; `answers` gets what the callback hears.
function visitor:ask(timeout)
  self.store:ask(self.name)
  self.request = self.lock:request(timeout, function(token, err) answered(self, token, err) end)
end

--- Asks and waits.
---@return integer? token
---@return string? err
function visitor:acquire(timeout)
  self.store:ask(self.name)
  local token, err = self.lock:acquire(timeout, self)
  answered(self, token, err)
  return token, err
end

--- Goes out, and gives the lock back.
---@return boolean? ok
---@return string? err
function visitor:leave()
  self:step_out()
  if self.request then return self.request:release() end
  return self.lock:release(self)
end

--- Goes out of the resource; the lock is somebody else's affair.
function visitor:step_out()
  self.inside = false
  self.store:leave(self.token, self.name)
end

--- Says that it was told of its loss.
function visitor:lose()
  self.inside = false
  self.store:lost(self.token, self.name)
end

return visitor
