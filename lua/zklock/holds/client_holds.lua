--- client_holds: everything that the owners of one client hold and wait for, and the owners that have lost a hold and
--- have not heard of it.
local Bag = require "zklock.base.bag"
local Losses = require "zklock.holds.losses"
local core = require "zklock.core"
local owner = require "zklock.owners.owner"

local quietly = core.quietly

---@class zklock.ClientHolds
---@field private all table those that have joined a line and not left it
---@field losses table
---@field unhanded table<thread|table, zklock.Hold|false> by coroutine: what it waits for, or has waited for
---  and was not handed; weak
---@field to_undo table|false calls that have raised, and whose effects are still there: a list of objects with `undo`,
---  linked by `next_undo`. To put one in takes no memory and calls no function
local ClientHolds = {}
ClientHolds.__index = ClientHolds

---@param client zklock.Client
function ClientHolds.new(client, lifetimes)
  return setmetatable({ client = client, lifetimes = lifetimes, all = Bag.new("_place"), losses = Losses.new(),
    unhanded = setmetatable({}, { __mode = "k" }), to_undo = false }, ClientHolds)
end

--- A hold joins: it is not collected before it leaves. If it were, what tells that its owner is gone would go as well.
function ClientHolds:add(hold)
  local all = self.all
  all:add(hold)
  self.losses:make_room(all.count)
end

function ClientHolds:remove(hold)
  self.all:remove(hold)
end

--- Ends those whose acquire was ended by the host without a word.
function ClientHolds:desert()
  local list = self.all.list
  for place = self.all.count, 1, -1 do
    if list[place] then quietly(list[place].desert, list[place]) end
  end
end

--- The running coroutine waits for it, whoever the owner is. While it waits, it ends with that coroutine, too: nobody
--- else would be told that it was granted.
---@param here thread|table the running coroutine, or what stands for the main program
---@param caller any the owner of a call that names none
function ClientHolds:expect(hold, here, caller)
  self.unhanded[here] = hold
  if not rawequal(caller, hold.whose[1]) then
    hold:bind()
    self.lifetimes:bind(caller, hold)
  end
end

--- The running coroutine is handed what it waited for.
---@return boolean was_expected false: it did not wait for that; or it does so still, and a finalizer or a debug hook
---  has come in between, which has got it besides
function ClientHolds:hand_out(hold, here)
  if hold.underway or self.unhanded[here] ~= hold then return false end
  if hold.bound then self.lifetimes:unbind(self.client.loop.owner and owner.of_call(self.client) or here, hold) end
  self.unhanded[here] = false -- most wait again
  return true
end

--- The coroutine that waits for it, or has waited without being handed it.
---@return thread|table|nil
function ClientHolds:coroutine_of(hold)
  for here, expected in pairs(self.unhanded) do
    if expected == hold then return here end
  end
  return nil
end

--- The running coroutine is not handed it: the wait was in vain, or an error was raised into it.
function ClientHolds:dismiss(hold, here, caller)
  self:unbind(hold, caller)
  if self.unhanded[here] == hold then self.unhanded[here] = false end
end

--- It does not end with its caller any more.
---@param caller any nil: not known
function ClientHolds:unbind(hold, caller)
  if rawequal(caller, nil) or rawequal(caller, hold.whose[1]) then return end
  self.lifetimes:unnote(caller, hold, owner.keeps_number(caller))
end

--- Undoes what the calls have done that have raised. When an error is raised into this, the next call of any owner goes
--- on with it.
---@param here thread|table the running coroutine, or what stands for the main program
---@param caller any the owner of a call that names none
function ClientHolds:undo(here, caller)
  while self.to_undo do
    local first = self.to_undo
    first:undo(here, caller)
    if self.to_undo == first then self.to_undo = first.next_undo end
  end
end

--- Where an error was raised into an acquire that was granted already, its coroutine has got what it was never handed:
--- that is given back, at its next call that core does not answer alone. An acquire that is underway (a finalizer may
--- call us meanwhile) goes on.
---@return thread|table here the running coroutine, or what stands for the main program
function ClientHolds:recall()
  local here = owner.current()
  if self.to_undo then quietly(self.undo, self, here, owner.of_call(self.client)) end
  local hold = self.unhanded[here]
  if hold and not hold.underway then quietly(hold.take_back, hold, here, owner.of_call(self.client)) end
  return here
end

return ClientHolds
