-- SPDX-License-Identifier: MIT
--- relays: holds that go from one owner to the next, as they are. When its owner releases a hold on a place
--- (`fair = false`), it may rest there. The next caller takes it over in one call, and the hold's own table `whose`
--- has the owner. The tables of owners know nothing of it: they learn who has it (`settle`) once anybody asks who
--- holds there. So a lock that one caller after the other takes costs each of them no more than that call: of core, or
--- of the host's request, if that is the owner.
---
--- No table keeps the owner of a relay, and none has a finalizer for it. So each `reap` looks for owners that have
--- ended, and so does a finalizer after each cycle of the collector.
local Bag = require "zklock.base.bag"
local core = require "zklock.core"
local finalizer = require "zklock.base.finalizer"
local flat = require "zklock.base.flat"
local owner = require "zklock.owners.owner"

local again, quietly, take_over = core.again, core.quietly, core.take_over

local WEAK_VALUES = { __mode = "v" }

---@class zklock.Relays
---@field all table a bag of holds
---@field private at integer the one that was checked last
---@field private reference any[] to this table, weak
---@field private watcher any[] a reference to the finalizer of the next cycle, weak
local Relays = {}
Relays.__index = Relays

---@param client zklock.Client
function Relays.new(client, lifetimes)
  local self = flat(Relays, { client = client, lifetimes = lifetimes, all = Bag.new("_relay"), at = 0,
    watcher = setmetatable({}, WEAK_VALUES) })
  self.reference = setmetatable({ self }, WEAK_VALUES)
  return self
end

-- ---- owners that have ended ---------------------------------------------------------------------

local watch

--- A cycle of the collector has ended: the engine releases the holds of owners that it took.
local function look_at_owners(reference)
  local self = reference[1]
  if not self then return end
  for _, hold in ipairs(self.all.list) do
    local is_collected = rawequal(hold.whose[1], nil) and not hold.dropped
    if is_collected and hold.contender:held() then hold:drop() end
  end
  if self.all.count > 0 then watch(self) end
end

function watch(self)
  if not self.watcher[1] then self.watcher[1] = finalizer(self.reference, look_at_owners) end
end

local function has_ended(hold)
  local who = hold.whose[1]
  if rawequal(who, nil) then return true end
  if hold.contender:by_resume() then owner.note_resumed(who) end
  return owner.can_end(who) and owner.is_dead(who)
end

--- A signal has raised an error into the call that took it over: its owner has not received it.
local function was_not_received(hold)
  return hold.contender:count() == 0
end

local function reap(self, most)
  watch(self) -- there may have been no memory for it
  local all = self.all
  for _ = 1, math.min(most, all.count) do
    local at = self.at - 1
    if at < 1 or at > all.count then at = all.count end
    if at == 0 then return end
    self.at = at
    local hold = all.list[at]
    if hold and not hold.contender:given_back() then
      if was_not_received(hold) then hold:finish("cancelled") elseif has_ended(hold) then hold:finish("abandoned") end
    end
  end
end

--- Checks so many owners, each in turn, and gives back the holds of those that have ended.
---@param most number
function Relays:reap(most)
  quietly(reap, self, most)
end

--- The host's request has ended: gives back what it has taken over and not released.
function Relays:abandon(who)
  local list = self.all.list
  for place = self.all.count, 1, -1 do
    local hold = list[place]
    if hold and rawequal(hold.taker, who) then hold:finish("abandoned") end
  end
end

-- ---- from a hold to a relay and back ------------------------------------------------------------

--- It leaves the tables of owners. Behind the last allocation nothing can come in between: a finalizer that uses the
--- lock may have made it a relay meanwhile, or ended it.
local function make(self, hold)
  local lock_path, who = hold.lock_path, hold.whose[1]
  local handed = lock_path:shown()
  local whose = setmetatable({ false }, WEAK_VALUES)
  watch(self)
  if hold._relay or hold.state ~= "held" then return end
  self.all:add(hold)
  if not rawequal(who, nil) then
    lock_path:disown(who, hold)
    self.lifetimes:unnote(who, hold, hold.keeps)
  end
  local former = handed.relay
  if former then -- one is enough: the one that somebody has taken over meanwhile, or this one
    local spare = former.contender:given_back() and former or hold
    spare:finish("rested")
    spare.contender:drop()
    if spare == hold then return end
  end
  whose[1] = who -- for the listener, if it turns out to have been lost
  hold:set_owner(whose, false)
  lock_path:set_relay(hold)
  lock_path:show(hold, owner.seen_by_core(self.client, whose))
end

--- If the hold rests: makes it a relay.
---@param hold zklock.Hold that its owner has received
---@return boolean rests
function Relays:keep(hold)
  if hold.lock_path.node == "read" or hold.dropped or not hold.contender:given_back() then return false end
  if not hold._relay then quietly(make, self, hold) end
  return hold._relay ~= false
end

--- It is no relay any more. Allocates nothing.
function Relays:remove(hold)
  local lock_path = hold.lock_path
  self.all:remove(hold)
  if lock_path.handed.relay == hold then lock_path:set_relay(false) end
  hold:let_go()
end

local function settle(self, hold)
  local who, lock_path = hold.whose[1], hold.lock_path
  if was_not_received(hold) then return hold:finish("cancelled") end
  if rawequal(who, nil) then return hold:finish("abandoned") end
  if hold.contender:by_resume() then owner.note_resumed(who) end
  local reference, keeps = owner.reference(who)
  if not hold._relay then return end -- a finalizer that uses the lock has settled it, and may have released it
  lock_path:add(who, hold)
  hold:set_owner(reference, keeps)
  self:remove(hold)
  lock_path:show(hold, owner.seen_by_core(self.client, reference))
end

--- If somebody has taken it over: the tables of owners learn who.
function Relays:settle(hold)
  if not hold.contender:given_back() then quietly(settle, self, hold) end
end

-- ---- to take it over and to give it back --------------------------------------------------------

--- The host's request that takes it over. Its methods: `take_over`, `again` and `rest`, as core has them; and
--- `count_relays`.
---@return any who nil: only the tables of owners can have this owner; or no call can wait here
local function of_host(client)
  local who, can_wait = client.loop.owner(client)
  return can_wait and owner.is_kept(who) and who or nil
end

--- If a hold rests at the handle's path, the caller takes it over.
---@param lock zklock.Lock
---@param handed zklock.Handed of its path, not `LockPath.NOBODY`
---@return integer? token nil: it has to ask the engine
function Relays:take(lock, handed, timeout)
  local lock_path, loop = lock.lock_path, self.client.loop
  local hold, who = handed.relay, nil
  if not hold then
    if loop.owner then return nil end -- a hold that rests there is a relay: the release has made it one
    hold = lock_path.holder
    if not hold or hold.state ~= "held" or not hold.handed or not self:keep(hold) then return nil end
  end
  local listener = hold.listener
  if listener ~= lock and listener.label ~= lock.label or next(lock_path.losers) then return nil end
  if loop.owner then
    who = not hold.taker and not lock.by_thread and of_host(self.client)
    if not who or not who:take_over(hold.contender, timeout) then return nil end
    hold:taken_over(lock, who)
    who:count_relays(1)
  else
    if loop.can_wait and not loop.can_wait() then return nil end
    if not take_over(hold.contender, timeout, hold.whose, owner.main) then return nil end
    hold:taken_over(lock, false)
  end
  if lock_path.holder ~= hold then
    lock_path:granted(hold)
    lock_path:show(hold, owner.seen_by_core(self.client, hold.whose))
  end
  if who then return who:again(hold.contender) end
  return again(hold.contender, timeout, true) -- the last step, as in `again`: nothing after it raises
end

--- If the owner, a request of the host, has taken over the hold at this path: it releases it, and the hold rests.
---@param handed zklock.Handed
---@return boolean rests
function Relays:rest(handed, who) -- luacheck: ignore 212
  local hold = handed.relay
  if not hold or not hold.taker or not rawequal(hold.taker, who) then return false end
  if not who:rest(hold.contender) then return false end
  hold:let_go()
  return true
end

return Relays
