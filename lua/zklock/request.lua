--- request: a wait for a lock without a waiter: its callback is called from `poll`. It is the owner of what it gets.
local owner = require "zklock.owner"

---@class zklock.Request
local Request = {}
Request.__index = Request
Request.__name = "zklock.Request"

--- Asks; the callback is told exactly once, also when nothing could be asked.
---@param listener table? in whose handle_lost the stay finds its listener; default the lock
---@param adapt (fun(stay: zklock.Stay): any)? sees the stay before it joins, and makes of the one that holds what the
---  callback gets; default its token
function Request.new(lock, deadline, once, callback, listener, adapt)
  local client = lock.client
  local request = setmetatable({ client = client, callback = callback }, Request)
  owner.declare_weak(request)
  local err = client:unusable()
  if not err then
    client:reap()
    local stay = lock.place:new_stay(listener or lock, request)
    if adapt then adapt(stay) end
    request.adapt = adapt
    local back = owner.reference(request)
    stay.answered = function(answered)
      local waiting = back()
      if waiting then waiting:answered(answered) end
    end
    request.stay = stay
    err = stay:join(deadline, once)
  end
  if err then
    request.stay = nil
    client:call_later(callback, nil, err)
    client.native:wake()
    return request
  end
  client.kept[request] = true -- a waiting one is not collected
  return request
end

---@private
function Request:answered(stay)
  local client, callback = self.client, self.callback
  client.kept[self] = nil
  self.callback = nil
  if stay.state ~= "held" then
    client:call_later(callback, nil, stay.err)
  elseif self.cancelled then -- too late for the engine, not for the caller
    stay:release()
    stay.state = "failed"
    client:call_later(callback, nil, "cancelled")
  else
    client:call_later(function(got)
      callback(got)
      return self -- not collected before its callback has run
    end, self.adapt and self.adapt(stay) or stay.token)
  end
end

--- Ends the wait: the callback hears "cancelled". Without effect once it was answered.
---@return boolean cancelled
function Request:cancel()
  local stay = self.stay
  if not stay or stay.state ~= "waiting" or self.client:unusable() then return false end
  self.cancelled = true
  stay.contender:cancel()
  return true
end

--- Gives back what it holds.
---@return boolean? ok
---@return string? err "not owner", "lost" (once), "closed", "forked"
function Request:release()
  local unusable = self.client:unusable()
  if unusable then return nil, unusable end
  local stay = self.stay
  if stay and stay.state == "held" then
    local ok, err = stay:release()
    if ok then return true end
    if err == "lost" then self.told_lost = true end
    return nil, err
  end
  if stay and stay.state == "lost" and not self.told_lost then
    self.told_lost = true
    return nil, "lost"
  end
  return nil, "not owner"
end

--- The fencing token while it holds.
---@return integer?
function Request:token()
  if self:state() == "held" then return self.stay.token end
  return nil
end

---@return "waiting"|"held"|"released"|"failed"|"lost"
function Request:state()
  local stay = self.stay
  if not stay then return "failed" end
  local unusable = self.client:unusable()
  if unusable == "forked" and stay.state == "waiting" then return "failed" end -- the answer is the parent's
  if stay.state == "held" then
    if unusable then return unusable == "closed" and "released" or "failed" end
    if not stay.contender:held() then return "lost" end
  end
  return stay.state
end

function Request:__tostring()
  return ("zklock.Request (%s)"):format(self:state())
end

return Request
