--- request: a wait for a lock without a waiter: its callback is called from `poll`. It is the owner of what it gets.
--- Made while a host serves somebody (a request of nginx's), it ends with that.
local core = require "zklock.core"
local owner = require "zklock.owners.owner"

local quietly = core.quietly

---@class zklock.Request
local Request = {}
Request.__index = Request
Request.__name = "zklock.Request"

---@param listener table? in whose handle_lost the stay finds its listener; default the lock
---@param adapt (fun(stay: zklock.Stay): any)? sees the stay before it joins, and makes of the one that holds what the
---  callback gets, the same each time; default its token
---@param who any? the owner of what it gets; default the request
local function new(lock, deadline, once, callback, listener, adapt, who)
  local client = lock.client
  local call = client.new_call(callback, nil, nil, false)
  local request = setmetatable({ client = client, call = call, adapt = adapt or false, stay = false, cancelled = false,
    told_lost = false, called = setmetatable({ call }, { __mode = "v" }) }, Request)
  call[3] = request
  owner.declare_weak(request)
  if client.loop.tie then client.loop.tie(client, request) end
  local err = client:unusable() or request:join(lock, deadline, once, listener, who)
  if err then
    request.stay = false
    request:tell(err)
    client.native:wake()
  end
  return request
end

--- Asks; the callback is told exactly once, also when nothing could be asked.
function Request.new(lock, ...)
  lock.client:recall()
  return core.hand_over(new, lock, ...)
end

---@private
function Request:join(lock, deadline, once, listener, who)
  local client = self.client
  client:reap()
  lock.place:reap()
  local stay, back = lock.place:new_stay(listener or lock, who or self), owner.reference(self)
  if self.adapt then self.adapt(stay) end
  stay.answered = function(answered)
    local waiting = back()
    if waiting then waiting:answered(answered) end
  end
  self.stay = stay
  client.kept[self] = true -- a waiting one is not collected
  local ok, err = pcall(stay.join, stay, deadline, once)
  if ok and not err then return nil end
  client.kept[self] = nil
  if ok then return err end
  stay:end_now()
  error(err, 0)
end

--- Allocates nothing.
---@private
function Request:tell(err, got)
  local call = self.call
  if err then
    call[2] = err
  else
    call[1], call.keep = got, self
  end
  self.client.queue:append(call)
  self.call, self.adapt = false, false
end

---@private
function Request:answered(stay)
  local late = self.cancelled and stay.token -- for the engine, not for the caller
  if late then stay.err = "cancelled" end
  if self.call then -- not told already
    self:tell(stay.err, not stay.err and (self.adapt and self.adapt(stay) or stay.token))
    self.client.kept[self] = nil
  end
  if late then
    stay:leave("failed")
    stay.contender:quit() -- last of all: with it the event goes
  end
end

local function cancel(self)
  local stay = self.stay
  if not stay or stay.state ~= "waiting" or self.client:unusable() then return false end
  self.cancelled = true
  stay.contender:cancel()
  return true
end

--- Ends the wait: the callback hears "cancelled". Without effect once it was answered.
---@return boolean cancelled
function Request:cancel()
  return quietly(cancel, self)
end

--- Whom it was made for is at its end: so is it. Its callback is not called any more: nginx may have ended the
--- coroutine that its variables are in, and then they are anything.
---@private
function Request:abandon()
  local stay, call = self.stay, self.called[1]
  if not stay or self.client:unusable() then return end
  local was = stay.state
  if was == "waiting" or was == "held" then stay:abandon() end
  if was == "waiting" then stay.state = "failed" end
  if call then call.begun = true end
  self.call, self.adapt = false, false
  if self.client.kept[self] then self.client.kept[self] = nil end
end

local function release(self)
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

--- Gives back what it holds.
---@return boolean? ok
---@return string? err "not owner", "lost" (once), "closed", "forked"
function Request:release()
  return quietly(release, self)
end

--- The fencing token while it holds.
---@return integer?
function Request:token()
  if self:state() == "held" then return self.stay.token end
  return nil
end

--- Does it hold, with `validity` above 0?
---@return boolean
function Request:is_held()
  return self:validity() > 0
end

--- For how long the servers cannot have given it to somebody else, read from the clock at the moment of asking: a
--- process that was stopped wakes up with 0. `state` says "held" until the loss is known.
---@return number seconds 0 when it does not hold
function Request:validity()
  return self:state() == "held" and self.stay.contender:validity() or 0
end

--- What is known so far.
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
