-- SPDX-License-Identifier: MIT
--- query: sends the engine a query, which the engine answers once, and waits for the answer.
local core = require "zklock.core"
local errors = require "zklock.base.errors"
local owner = require "zklock.owners.owner"

local quietly = core.quietly

--- A query without an answer so far; `result` is the engine's part of it.
local Pending = {}
Pending.__index = Pending

--- The dispatcher calls this when the answer has come.
function Pending:event(_, err)
  self.err = err
  self.waits:wake(self.waiter)
end

--- `OwnerLifetimes` calls this once the coroutine that waits for the answer has been collected.
function Pending:drop()
  if self.result then self.result:drop() end
end

--- `OwnerLifetimes` calls this once the coroutine that waits for the answer has ended.
function Pending:abandon()
  self:drop()
  self.waits:wake(self.waiter)
end

--- The query ends with the coroutine that asks. A loop with `owner` ends its coroutines' queries
--- itself.
local function bind_to_caller(client, pending, here)
  if not client.loop.owner and owner.can_end(here) then client.lifetimes:note(here, pending) end
end

local function end_wait(client, pending, here, raised)
  if not client.loop.owner then client.lifetimes:unnote(here, pending) end
  if raised then client.waits:unpark() end
end

local function send_and_wait(client, pending, here, start)
  quietly(bind_to_caller, client, pending, here)
  local refusal
  pending.result, refusal = start(client.dispatcher:enter(pending))
  if pending.result then client.waits:wait(pending.waiter) else pending.err = refusal end
end

local function nothing_more() return true end

local function dropped(result, ...)
  result:drop()
  return ...
end

--- Sends the query and waits.
---@param client zklock.Client
---@param start fun(tag: integer): userdata?, string? begins the engine's query and returns it; or nil and
---  the error
---@param read (fun(result: userdata): ...: any)? default: true
---@param explain (fun(result: userdata): any)? details of an error, from the query that got it
---@return any ... what `read` returns; or nil, the error and its details, of "disconnected" the reason
return function(client, start, read, explain)
  local waits = client.waits
  local refused = waits:cannot_wait()
  if refused then return waits:failure(refused) end
  local pending = setmetatable({ waits = waits, waiter = waits.new_waiter(), result = false, err = false }, Pending)
  local here = owner.current() -- below `quietly` nobody can see what kind of coroutine this is
  local ok, raised = waits.protected(send_and_wait, client, pending, here, start)
  quietly(end_wait, client, pending, here, not ok)
  local result, err = pending.result, pending.err
  if ok and not err and pending.waiter.done then return dropped(result, (read or nothing_more)(result)) end
  local more = explain and ok and err and result and explain(result) or nil
  if result then result:drop() end
  if not ok then error(raised, 0) end
  if err == errors.NO_MEMORY then error(err, 0) end
  return waits:failure(err or client.native:unusable(), more)
end
