-- SPDX-License-Identifier: MIT
--- client_holds: what the owners of one client hold and wait for, the holds that were granted and
--- that no call has received, and the owners that have lost a hold and do not know it yet.
local Bag = require "zklock.base.bag"
local Losses = require "zklock.holds.losses"
local Relays = require "zklock.holds.relays"
local core = require "zklock.core"
local flat = require "zklock.base.flat"

local quietly = core.quietly

--- For so long a hold may stand that no call has received; seconds.
local GRACE = 1

---@class zklock.ClientHolds
---@field private all table the holds that have joined a line and not left it
---@field losses table
---@field relays zklock.Relays
---@field private granted zklock.Hold[] those whose call has seen the grant, and may not have received it
---@field private moments number[] when it has
---@field private count integer of those two
---@field private alarm zklock.Alarm in a loop, and while a call waits: ends them in time
---@field private rings boolean the alarm is set
local ClientHolds = {}
ClientHolds.__index = ClientHolds

---@param client zklock.Client
function ClientHolds.new(client, lifetimes)
  local self = flat(ClientHolds, { client = client, all = Bag.new("_place"), losses = Losses.new(),
    relays = Relays.new(client, lifetimes), granted = {}, moments = {}, count = 0, alarm = false, rings = false })
  self.alarm = client.waits.new_alarm(function() self:ring() end)
  lifetimes:also_reap(self)
  return self
end

--- Keeps a hold alive from join to leave. If it were collected, the finalizer that reports the end
--- of its owner would go with it.
function ClientHolds:add(hold)
  local all, losses = self.all, self.losses
  all:add(hold)
  if all.count > losses.most then losses:make_room(all.count) end
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
    if list[place] then list[place]:desert() end
  end
end

-- ---- granted, and not received ------------------------------------------------------------------
-- An error at any instruction may end a call between the grant and its return. Then nobody has the hold. The collector
-- takes the call's ticket (csrc/lua/contender.c), and so ends it in the engine; what is left of it here, or the hold
-- itself if the collector is slow, ends with the next call of the client after a second.

local function set_alarm(self)
  if self.rings then return end
  self.client.waits:ring_at(core.now() + GRACE, self.alarm)
  self.rings = true
end

--- A call has seen that its wait for the hold has ended, and is about to receive it.
---@param now number? if it is known: LuaJIT compiles no question for it
function ClientHolds:expect(hold, now)
  local count = self.count + 1
  if self.client.loop.watch then set_alarm(self) end
  self.granted[count], self.moments[count] = hold, now or core.now()
  self.count = count -- last: after an error the next hold takes that place
end

--- That call receives the hold. `sweep` removes those that are not the latest.
function ClientHolds:received(hold)
  local count = self.count
  if self.granted[count] ~= hold then return end
  self.granted[count] = nil
  self.count = count - 1
end

--- The last one gets its place.
local function take_out(self, place, hold)
  local granted, moments, last = self.granted, self.moments, self.count
  if place > last or granted[place] ~= hold then return end -- a finalizer has swept meanwhile
  granted[place], moments[place] = granted[last], moments[last]
  granted[last] = nil
  self.count = last - 1
end

--- Gives back what no call has received within a second.
local function sweep(self)
  local now = core.now()
  for place = self.count, 1, -1 do
    local hold = self.granted[place] -- nil: an error has cut `received` short
    local is_over = not hold or not hold:is_unreceived()
    if not is_over and (now - self.moments[place] >= GRACE or hold:is_nobodys()) then
      hold:forgo()
      is_over = true
    end
    if is_over then take_out(self, place, hold) end
  end
end

function ClientHolds:sweep()
  if self.count > 0 then quietly(sweep, self) end -- a hook that sweeps, too, would take out another hold
end

---@private
function ClientHolds:ring()
  self.rings = false
  sweep(self)
  if self.count > 0 then pcall(set_alarm, self) end -- without memory the next call sets it
end

--- `OwnerLifetimes:reap` calls this, also before a caller sleeps.
function ClientHolds:reap(most)
  if self.count > 0 then
    self:sweep()
    if self.count > 0 then set_alarm(self) end
  end
  local relays = self.relays
  if relays.all.count > 0 then relays:reap(most) end
end

return ClientHolds
