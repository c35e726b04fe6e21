--- query: asks the engine something that it answers once, and waits for the answer.
local core = require "zklock.core"
local owner = require "zklock.owners.owner"

local quietly = core.quietly

local NO_MEMORY = "not enough memory" -- as Lua itself says it

--- One that is not answered yet; the engine's part of it is `result`.
local Pending = {}
Pending.__index = Pending

--- For the dispatcher: it is answered.
function Pending:event(_, err)
  self.err = err
  self.waits:wake(self.waiter)
end

--- `OwnerLifetimes` calls this when the coroutine that waits for the answer was collected.
function Pending:drop()
  if self.result then self.result:drop() end
end

--- `OwnerLifetimes` calls this when the coroutine that waits for the answer has ended.
function Pending:abandon()
  self:drop()
  self.waits:wake(self.waiter)
end

--- It ends with the coroutine that asks. Where the loop says who is an owner, coroutines are the host's to look after.
local function bind_to_caller(client, pending)
  if not client.loop.owner then client.lifetimes:bind(owner.current(), pending) end
end

local function unbind_from_caller(client, pending, here)
  if not client.loop.owner then client.lifetimes:unnote(here, pending) end
end

local function send_and_wait(client, pending, start)
  quietly(bind_to_caller, client, pending)
  pending.result = start(client.dispatcher:enter(pending))
  client.waits:wait(pending.waiter)
end

--- Asks and waits.
---@param client zklock.Client
---@param start fun(tag: integer): userdata begins it, and returns the engine's query
---@param explain (fun(result: userdata): any)? what there is to say of one that was answered with an error
---@return boolean|nil ok
---@return string|userdata err_or_result the engine's query, to be dropped; or the error
---@return any more what there is to say of the error
return function(client, start, explain)
  local waits = client.waits
  local refused = waits:cannot_wait()
  if refused then return nil, refused end
  local pending = setmetatable({ waits = waits, waiter = waits.new_waiter(), result = false, err = false }, Pending)
  local here = owner.current() -- what kind of coroutine it is does not show below `quietly`
  local ok, raised = waits.protected(send_and_wait, client, pending, start)
  quietly(unbind_from_caller, client, pending, here)
  local result, err = pending.result, pending.err
  if ok and not err and pending.waiter.done then return true, result end
  if not ok then quietly(waits.unpark, waits, here) end
  local more = explain and ok and err and explain(result) or nil
  if result then result:drop() end
  if not ok then error(raised, 0) end
  if err == NO_MEMORY then error(err, 0) end
  return nil, err or client.native:unusable(), more
end
