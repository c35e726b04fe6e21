-- SPDX-License-Identifier: MIT
--- client_holds: what the owners of one client hold and wait for, and the owners that have lost a
--- hold and do not know it yet.
local Bag = require "zklock.base.bag"
local Losses = require "zklock.holds.losses"
local Relays = require "zklock.holds.relays"
local core = require "zklock.core"
local each = require "zklock.base.each"
local owner = require "zklock.owners.owner"

local quietly = core.quietly

---@class zklock.ClientHolds
---@field private all table the holds that have joined a line and not left it
---@field losses table
---@field relays zklock.Relays
---@field unhanded table<thread|table, zklock.Hold|false> by coroutine: the hold that it waits for,
---  or that it has waited for and not received; weak
---@field to_undo table|false calls that have raised and whose effects remain: a list of objects
---  with `undo`, linked by `next_undo`. Adding one takes no memory and calls no function
local ClientHolds = {}
ClientHolds.__index = ClientHolds

---@param client zklock.Client
function ClientHolds.new(client, lifetimes)
  return setmetatable({ client = client, lifetimes = lifetimes, all = Bag.new("_place"), losses = Losses.new(),
    relays = Relays.new(client, lifetimes), unhanded = setmetatable({}, { __mode = "k" }), to_undo = false },
    ClientHolds)
end

--- Keeps a hold alive from join to leave. If it were collected, the finalizer that reports the end
--- of its owner would go with it.
function ClientHolds:add(hold)
  local all = self.all
  all:add(hold)
  self.losses:make_room(all.count)
end

function ClientHolds:remove(hold)
  self.all:remove(hold)
end

--- The holds that have joined a line and not left it. The list is the bag's own: it changes with the
--- next join or leave.
---@return zklock.Hold[] list
---@return integer count
function ClientHolds:list()
  return self.all.list, self.all.count
end

--- Ends the holds whose acquire the host has ended without notice.
function ClientHolds:desert()
  local list = self.all.list
  for place = self.all.count, 1, -1 do
    if list[place] then quietly(list[place].desert, list[place]) end
  end
end

--- The running coroutine waits for this hold, which may have another owner. Until it is handed out,
--- the hold ends with that coroutine, too: nothing else would learn of the grant.
---@param here thread|table the running coroutine, or the object that stands for the main program
---@param caller any the owner of a call that names none
function ClientHolds:expect(hold, here, caller)
  self.unhanded[here] = hold
  if not rawequal(caller, hold.whose[1]) then
    hold:bind()
    self.lifetimes:bind(caller, hold)
  end
end

--- The running coroutine receives the hold that it waited for.
---@return boolean was_expected false: it did not wait for this hold; or it still does, and a
---  finalizer or a debug hook that runs meanwhile receives it in addition
function ClientHolds:hand_out(hold, here)
  if hold.underway or self.unhanded[here] ~= hold then return false end
  if hold.bound then self.lifetimes:unbind(self.client.loop.owner and owner.of_call(self.client) or here, hold) end
  self.unhanded[here] = false -- keeps the key's slot: most coroutines wait again
  return true
end

--- The coroutine that waits for the hold, or has waited for it and not received it.
---@return thread|table|nil
function ClientHolds:coroutine_of(hold)
  for here, expected in each(self.unhanded) do
    if expected == hold then return here end
  end
  return nil
end

--- The running coroutine will not receive the hold: the wait failed, or an error was raised into
--- it.
function ClientHolds:dismiss(hold, here, caller)
  self:unbind(hold, caller)
  if self.unhanded[here] == hold then self.unhanded[here] = false end
end

--- The hold no longer ends with its caller.
---@param caller any nil: not known
function ClientHolds:unbind(hold, caller)
  if rawequal(caller, nil) or rawequal(caller, hold.whose[1]) then return end
  self.lifetimes:unnote(caller, hold, owner.keeps_number(caller))
end

--- Undoes the effects of calls that have raised. If this raises, too, the next call of any owner
--- continues it.
---@param here thread|table the running coroutine, or the object that stands for the main program
---@param caller any the owner of a call that names none
function ClientHolds:undo(here, caller)
  while self.to_undo do
    local first = self.to_undo
    first:undo(here, caller)
    if self.to_undo == first then self.to_undo = first.next_undo end
  end
end

--- Gives back a hold that was granted to the running coroutine but never handed to it, because an
--- error was raised into its acquire. Every call does this, unless the fast path answers it. An
--- acquire that is underway (a finalizer may call zklock meanwhile) goes on.
---@return thread|table here the running coroutine, or the object that stands for the main program
function ClientHolds:recall()
  local here = owner.current()
  if self.to_undo then quietly(self.undo, self, here, owner.of_call(self.client)) end
  local hold = self.unhanded[here]
  if hold and not hold.underway then quietly(hold.take_back, hold, here, owner.of_call(self.client)) end
  return here
end

return ClientHolds
