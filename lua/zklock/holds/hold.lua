-- SPDX-License-Identifier: MIT
--- hold: one owner's wait for a lock, and then its hold of it.
local Callbacks = require "zklock.run.callbacks"
local LockPath = require "zklock.holds.lock_path"
local Waits = require "zklock.run.waits"
local core = require "zklock.core"
local owner = require "zklock.owners.owner"

local quietly = core.quietly

local NO_MEMORY = "not enough memory" -- as Lua itself says it

---@class zklock.Hold
---@field lock_path zklock.LockPath
---@field listener table with `handle_lost` and `handle_revoke`: the handle it was taken through, or a lease's
---@field whose any[] a reference to the owner; weak if the owner can end
---@field handed boolean the owner has received it
---@field state "waiting"|"held"|"failed"|"released"|"lost"
---@field leases integer? of a semaphore: how many
---@field contender userdata counts the owner's acquires; gives the hold back when it is collected;
---  empty until the hold joins
---@field tag integer of its events; 0 until it joins
---@field token integer|false
---@field err string|false the error that ended it; of a release "unknown"
---@field caller any[]|false a reference to the caller, if that is not its owner: until a call has received the hold, it
---  also ends with its caller
---@field dropped boolean its owner was collected, and the engine knows that
---@field loss zklock.Call|false the call of `handle_lost`
---@field revocation zklock.Call|false the call of `handle_revoke`
---@field private joiner zklock.Waiter|false of the acquire that is underway
---@field private waiters table<zklock.Waiter, boolean>|false those of other calls; false: there has been none
---@field private is_alone boolean a check after the grant has found no joiner
---@field asked_for false|"asked"|"told" a revocation has come; "told": the listener knows
---@field private keeps boolean its owner has a field for its number in `zklock.OwnerLifetimes`
---@field private _place integer|false of `zklock.ClientHolds`
---@field taker any of `zklock.Relays`, as is the next one
---@field _relay integer|false false: it is no relay
local Hold = { loss = false, revocation = false, caller = false, joiner = false, is_alone = false, taker = false,
  answered = false, _relay = false }
Hold.__index = Hold

local function lost_listener(hold)
  return hold.listener.handle_lost
end

local function revoked_listener(hold)
  local listener = hold.listener
  return listener.handle_revoke or listener.semaphore and listener.semaphore.handle_revoke
end

local function new_loss()
  return Callbacks.new_call(false, false, false, false)
end

local function new_revocation()
  return Callbacks.new_call(false, false, false)
end

--- A hold that has not joined a line yet. It already has room for every callback, so that ending it allocates nothing.
--- For a listener that is set later, the room is made when there is something to tell.
---@param answered (fun(hold: zklock.Hold))? called when the hold is granted or fails
---@return zklock.Hold hold
---@return userdata? ticket for the call that waits (`acquire`), if there is no `answered`
function Hold.new(lock_path, listener, who, leases, answered)
  local contender, ticket = lock_path.client.native:contender(not answered)
  local whose, keeps = owner.reference(who)
  local hold = setmetatable({ lock_path = lock_path, listener = listener, whose = whose, keeps = keeps, handed = false,
    state = "waiting", contender = contender, tag = 0, token = false, err = false,
    waiters = false, asked_for = false, dropped = false, _place = false }, Hold)
  if answered then hold.answered = answered end -- as few fields as possible: beyond 16 a table takes twice the memory
  if leases then hold.leases = leases end
  if listener.handle_lost then hold.loss = new_loss() end
  if revoked_listener(hold) then hold.revocation = new_revocation() end
  return hold, ticket
end

-- ---- the way down: to acquire -------------------------------------------------------------------

--- Joins the line; `event` gets the answer. If this raises, `finish` ends it.
---@param at_once boolean? true: a grant without traffic is known when this returns, and no event follows
---@return string? err
function Hold:join(deadline, once, at_once)
  local lock_path, client = self.lock_path, self.lock_path.client
  client.holds:add(self)
  LockPath.add(lock_path, self.whose[1], self)
  self.tag = client.dispatcher:enter(self)
  local ok, more = lock_path.enter(self, deadline, once, at_once)
  if not ok then
    self:finish("refused")
    return more
  end
  if more then self:event("granted", nil, more) end
  return nil
end

--- It also ends with the coroutine, or the request, that waits for it.
local function bind(self, caller)
  if not caller or rawequal(caller, self.whose[1]) or not owner.can_end(caller) then return end
  self.caller = owner.reference(caller)
  self.lock_path.client.lifetimes:note(caller, self)
end

--- It no longer ends with its caller.
local function unbind(self)
  local reference = self.caller
  local caller = reference and reference[1]
  self.caller = false
  if not reference or rawequal(caller, nil) then return end
  self.lock_path.client.lifetimes:unnote(caller, self, owner.keeps_number(caller))
end

local function join_for_caller(self, deadline, once, caller)
  bind(self, caller)
  return Hold.join(self, deadline, once, true)
end

--- Waits until the hold no longer waits: the engine ends the wait, at `due`.
---@return number? now as far as it is known
local function await_engine(self, due, caller)
  local waits = self.lock_path.client.waits
  local waited, now = waits:await(self, caller or self.whose[1])
  if waited then return now end
  local waiter = Waits.new_waiter(nil, due)
  self.joiner = waiter
  if self.state ~= "waiting" then waiter.done = true end -- a finalizer or a hook has ended the wait
  waits:wait(waiter)
  return nil
end

local function join_and_wait(self, deadline, once, caller)
  local err, now = quietly(join_for_caller, self, deadline, once, caller), nil
  if not err and self.state == "waiting" then now = await_engine(self, not once and deadline or nil, caller) end
  if self.joiner then self.joiner = false end
  if self.state == "held" then self.lock_path.client.holds:expect(self, now) end
  return err
end

--- The call that waited for it does not receive it.
---@param raised boolean an error was raised into the wait: unless another call has received the hold, it ends
local function end_call(self, raised)
  self.joiner = false
  if raised then
    self.lock_path.client.waits:unpark()
    local stands = self.state == "held" or self.state == "waiting"
    if stands and self.contender:forgo() then self:finish("cancelled") end
  end
  unbind(self)
end

--- Joins and waits. An error that is raised into this (Ctrl-C, a debug hook) ends the hold and is raised again. From
--- `hand_out` on the caller has the hold. It keeps the ticket until then: if the collector takes that before, the hold
--- ends.
---@param caller any the owner of a call that names no owner; false: the hold's own
---@return boolean? held
---@return string? err
function Hold:acquire(deadline, once, caller)
  local client = self.lock_path.client
  local ok, err = client.waits.protected(join_and_wait, self, deadline, once, caller)
  if ok and self.state == "held" then return true end
  if ok and self.err == NO_MEMORY then ok, err = false, NO_MEMORY end
  quietly(end_call, self, not ok)
  if not ok then error(err, 0) end
  return nil, err or self.err or (self.state ~= "waiting" and "lost") or client.native:unusable()
end

local function add_waiter(self, waiter)
  self.waiters = self.waiters or Waits.new_set()
  self.waiters[waiter] = true
end

local function remove_waiter(self, waiter)
  if self.waiters[waiter] then self.waiters[waiter] = nil end
end

--- Waits, in another call than the one that has joined, until the hold no longer waits, or until `deadline`.
function Hold:await(deadline)
  local waiter = Waits.new_waiter(deadline)
  add_waiter(self, waiter)
  if self.state ~= "waiting" then waiter.done = true end -- a finalizer or a hook has ended the wait
  self.lock_path.client.waits:wait(waiter)
  remove_waiter(self, waiter)
end

--- Waits while it is held: until it is lost or revoked, until `wake`, or until `moment`.
---@return boolean? ok
---@return string? err as of `Waits:sleep`
function Hold:doze(moment)
  local waiter = Waits.new_dozer()
  add_waiter(self, waiter)
  local ok, err = self.lock_path.client.waits:sleep(moment, waiter)
  remove_waiter(self, waiter)
  return ok, err
end

--- A call receives the hold: the first time after the wait, later once more for each acquire.
---@param ticket userdata? of the call that has waited; nil: another call, which this counts
---@return boolean received false: it was given back meanwhile
function Hold:hand_out(ticket)
  local client = self.lock_path.client
  self.handed = true
  LockPath.show(self.lock_path, self, owner.seen_by_core(client, self.whose))
  if self.caller then unbind(self) end
  if ticket then client.holds:received(self) end
  if self.contender:receive(ticket) then return true end -- nothing before this counts, and nothing after it raises
  self:abandon()
  return false
end

--- True if it stands, and the call that has waited for it has not received it.
function Hold:is_unreceived()
  return self.state == "held" and self.contender:awaits()
end

--- That call does not come any more.
function Hold:forgo()
  if self.contender:forgo() then self:finish("unreceived") end
end

-- ---- the way up: what the engine reports --------------------------------------------------------

--- An event of the engine. The same event may come again.
function Hold:event(kind, err, token)
  if kind == "lost" then return self:tell_loss(err, token) end
  if kind == "revoked" then
    self.asked_for = self.asked_for or "asked"
    self:wake()
    return self:tell_revoked()
  end
  if self.state == "held" and kind == "failed" then return self:end_rest() end
  if self.state == "released" then return self.lock_path.client.dispatcher:let_end(self) end -- it was held until then
  if self.state == "waiting" and kind == "granted" then
    self.state, self.token = "held", token
    LockPath.granted(self.lock_path, self)
    if self.joiner and self:is_deserted() then return self:abandon() end
  elseif self.state == "waiting" then
    self.err = err
    self:finish("refused")
  end
  if self.answered then self:answered() end
  Hold.wake(self)
end

function Hold:wake()
  local joiner, waiters, waits = self.joiner, self.waiters, self.lock_path.client.waits
  if joiner then waits:wake(joiner) end
  if waiters then waits:wake_all(waiters) end
end

--- The owner that listeners get; nil for a lease.
local function named_owner(self)
  if self.listener.semaphore then return nil end
  return self.whose[1]
end

---@private
function Hold:tell_loss(err, token)
  local client, on_lost = self.lock_path.client, lost_listener(self)
  local dispatcher = client.dispatcher
  if self.state == "held" and not self:end_rest() then self:finish("lost") end
  if self.state == "released" then -- the release answered that it had succeeded
    dispatcher:await_last(self)
    self.state = "lost"
  end
  self:wake()
  if not dispatcher.ending[self.tag] then return end -- the listener knows
  if on_lost then
    self.loss = self.loss or new_loss()
    if not self.loss.begun then client.callbacks:tell(self.loss, on_lost, err, named_owner(self), token) end
  end
  dispatcher:let_end(self)
  dispatcher:note_loss(("%s (token %d)"):format(self.lock_path.path, token))
end

--- Calls the listener once if a revocation has come and there is a listener.
function Hold:tell_revoked()
  local on_revoke = revoked_listener(self)
  if self.asked_for ~= "asked" or not on_revoke then return end
  local callbacks = self.lock_path.client.callbacks
  self.revocation = self.revocation or new_revocation()
  callbacks.only_while_held(self.revocation, self)
  callbacks:tell(self.revocation, on_revoke, self.whose[1], self.token)
  self.asked_for = "told"
end

-- ---- the end ------------------------------------------------------------------------------------

--- How a hold ends, by reason. Unless `drops` or `quits` is set, the engine knows already.
---@class zklock.Ending
---@field state "failed"|"released"|"lost" the hold's state from then on
---@field quits boolean? tells the engine first, which then sends no event
---@field quits_last boolean? tells the engine last, because that frees the contender together with
---  the event that is being handled
---@field drops boolean? tells the engine that the owner has ended, which the engine counts
---@field err string? for the callers that wait for the hold
---@field wakes boolean? wakes the callers that wait for the hold
---@field is_loss boolean? the owner's next release answers "lost", and one more event goes to the
---  listener

---@type table<string, zklock.Ending>
local ENDINGS = {
  refused = { state = "failed" },
  rested = { state = "released" },
  lost = { state = "lost", is_loss = true },
  cancelled = { state = "failed", quits = true, err = "cancelled", wakes = true },
  unreceived = { state = "lost", drops = true, err = "lost", wakes = true },
  declined = { state = "failed", quits_last = true },
  deserted = { state = "failed", drops = true, err = "cancelled", wakes = true },
  abandoned = { state = "released", drops = true, err = "cancelled", wakes = true },
}

local function leave(self, state)
  local lock_path, who = self.lock_path, self.whose[1]
  local client = lock_path.client
  client.holds:remove(self)
  lock_path:remove(who, self)
  if self._relay then
    client.holds.relays:remove(self)
  elseif not rawequal(who, nil) then
    client.lifetimes:unnote(who, self, self.keeps)
  end
  self.state = state
end

--- It was given back, and one more event reports whether it was still held.
local function end_released(self)
  if self.state == "held" then leave(self, "released") end
end

local function finish(self, reason)
  if self.state ~= "waiting" and self.state ~= "held" then return end
  local how, contender, client = ENDINGS[reason], self.contender, self.lock_path.client
  if how.drops then self:drop() end
  if how.quits then contender:quit() end
  if how.err then self.err = how.err end
  if how.is_loss then
    client.dispatcher:await_last(self)
    local who = self.whose[1]
    if not rawequal(who, nil) then client.holds.losses:note(self.lock_path, who) end
  else
    client.dispatcher:let_end(self)
  end
  leave(self, how.state)
  if how.quits_last then contender:quit() end
  if how.wakes then self:wake() end
end

--- Ends the hold: from then on its owner does not have it. If this raises (no memory), the state is
--- unchanged, and the caller calls it again. A hold that has ended stays as it is.
---
--- `refused`: the engine answered an error. `rested`: given back the short way (`lock.lua`). `lost`:
--- the session ended, or the node is gone. `cancelled`: the request was cancelled, or an error was
--- raised into the wait. `unreceived`: no call has received it in time. `declined`: its request was
--- cancelled after the grant, and has given it back. `deserted`: the coroutine or the request that
--- waits has ended. `abandoned`: the owner has ended without giving it back.
---@param reason string one of these
function Hold:finish(reason)
  quietly(finish, self, reason)
end

--- The C core has given the hold back and Lua does not know yet: on the fast path (`lock.lua`), or
--- in a release that an error or a finalizer interrupted. This does the rest.
---@return boolean ended
function Hold:end_rest()
  if self:is_nobodys() then
    self:abandon()
    return true
  end
  local ended = self.state == "held" and self.contender:given_back()
  if ended then self:finish("rested") end
  return ended
end

--- Inside `quietly`, as `finish` is.
---@return boolean? ok
---@return string? err
---@return boolean more there is an event that can be taken at once
local function give_back(self, failed)
  local client = self.lock_path.client
  client.dispatcher:await_last(self) -- first: there may be no memory later
  local ok, err, is_inner, more = client.native:release(self.contender, failed)
  if is_inner then
    client.dispatcher:let_end(self)
  elseif ok or err == "unknown" then
    self.err = err or false -- if an error cuts the rest short, the next release answers the same
    end_released(self)
  elseif err == "lost" then
    finish(self, "lost")
  elseif self.contender:given_back() then -- by a release that an error has interrupted
    ok, err = not self.err or nil, self.err or nil
    if err then end_released(self) else finish(self, "rested") end
  else
    client.dispatcher:let_end(self)
  end
  return ok, err, more
end

--- Gives back one count; with the last count, the lock. The caller is inside `quietly`.
---@param failed boolean? true: work under the lock may go on, so no other caller here may take over
---  its node
---@return boolean? ok
---@return string? err "unknown": released with validity 0, so nobody can say whether it was still held;
---  "lost", or as of the engine's `release`
function Hold:release(failed)
  return self.lock_path.client.dispatcher:release(give_back, self, failed)
end

local function close(claim, failed)
  if not claim.open then return true end
  local hold, ok = claim.hold, false
  local err = hold:is_over()
  if not err then ok, err = hold:release(failed) end
  claim.open = false
  if ok then return true end
  return nil, err
end

--- Releases for a guard or a lease; a second call does nothing and answers true. It stays open until the
--- release is known to have happened, or to be impossible.
---@param claim { open: boolean, hold: zklock.Hold }
---@param failed boolean? as of `Hold:release`
---@return boolean? ok
---@return string? err
function Hold.close(claim, failed)
  return quietly(close, claim, failed)
end

--- Why there was no room for its nodes, if that is what `err` says.
---@return string? why
function Hold:shortage(err)
  return err == "too big" and self.contender:shortage() or nil
end

--- Seconds for which the servers cannot grant it to another owner; 0 if it is not held. One call of
--- the C core.
---@return number seconds
function Hold:validity()
  return self.state == "held" and self.contender:validity() or 0
end

--- For a guard or a lease: the error that its release returns once the hold has ended; nil before
--- that.
---@return string? err "closed", "forked", "lost", "not owner"
function Hold:is_over()
  local unusable = self.lock_path.client.native:unusable()
  if unusable then return unusable end
  if self.state == "held" and not self.dropped then return nil end
  return self.state == "lost" and "lost" or "not owner"
end

function Hold:is_revoked()
  return self.asked_for ~= false
end

--- For a guard or a lease: true while it is held, as far as the client knows.
function Hold:is_open()
  return self.state == "held" and not self.lock_path.client.native:unusable() and self.contender:held()
end

--- It was granted and cancelled at the same time: the caller gets "cancelled", and `finish
--- "declined"` drops it.
function Hold:cancelled()
  self.err = "cancelled"
end

--- Called by a finalizer: the owner was collected, and the engine releases at once. `abandon` does
--- the rest.
function Hold:drop()
  self.dropped = true
  self.contender:drop()
end

--- True if it has ended because its owner, or the call that was to receive it, was collected.
function Hold:is_nobodys()
  return self.dropped or self.contender:forsaken()
end

--- The engine has answered that it is not held. If that is so because the owner was collected, nobody has lost it.
function Hold:lose()
  if self.state == "held" then self:finish(self:is_nobodys() and "abandoned" or "lost") end
end

--- For `zklock.Relays`: who refers to its owner.
---@param whose any[]
---@param keeps boolean
function Hold:set_owner(whose, keeps)
  self.whose, self.keeps = whose, keeps
end

--- For `zklock.Relays`: it was taken over through this handle.
---@param listener zklock.Lock
---@param taker any the host's request, if that is the owner; false: core has stored the owner
function Hold:taken_over(listener, taker)
  if taker then self.whose[1] = taker end
  self.listener, self.taker = listener, taker
end

--- For `zklock.Relays`: its taker has released it, or is its owner in the tables of owners.
function Hold:let_go()
  local taker = self.taker
  self.taker = false
  if taker then taker:count_relays(-1) end
end

--- The owner has ended. Does nothing to a hold that has ended. One that rests is the next caller's.
function Hold:abandon()
  if self.state == "held" and self.handed and self.lock_path.client.holds.relays:keep(self) then return end
  self:finish("abandoned")
end

--- True if the host has silently ended the coroutine that acquires it: nobody would receive the
--- hold.
---@private
function Hold:is_deserted()
  local is_gone = self.lock_path.client.loop.is_gone
  return self.joiner and is_gone and is_gone(self.joiner) or false
end

--- Ends the hold if the coroutine that acquires it is gone. Other coroutines of the same owner
--- queue again. A coroutine that has just been woken looks as if it were gone, so after a grant it
--- takes two checks.
function Hold:desert()
  if not self:is_deserted() then return end
  if self.state == "waiting" then
    self:finish("deserted")
  elseif self.is_alone then
    self:abandon()
  end
  self.is_alone = true
end

return Hold
