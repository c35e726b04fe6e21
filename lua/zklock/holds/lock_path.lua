-- SPDX-License-Identifier: MIT
--- lock_path: what the owners of one client hold or wait for at one path. All handles of that path share it, so
--- reentrancy and exclusion span them.
local core = require "zklock.core"
local each = require "zklock.base.each"
local flat = require "zklock.base.flat"
local owner = require "zklock.owners.owner"

--- Stands for a list that does not exist yet. Nothing writes into it.
local NONE = {}

local WEAK_KEYS = { __mode = "k" }

local function weak()
  return setmetatable({}, WEAK_KEYS)
end

--- The hold that its owner has received, as the fast path of `lock.lua` reads it, at a path where
--- only one owner can hold. The fast path reads it in each call, so each handle has it, and it is a
--- small table of its own: to get from the path to the hold costs a reentrant call a tenth more.
--- Core knows the rest: the count, the token, and the handle through which the owner took it.
---@class zklock.Handed
---@field contender userdata|false false: nobody has received a hold, or core cannot see which owner runs
---@field whose any[]|false a reference to the owner
---@field relay zklock.Hold|false of `zklock.Relays`

---@class zklock.LockPath
---@field client zklock.Client
---@field path string of a multilock its first path
---@field paths string[]? of a multilock
---@field kind string "mutex", "rwlock", "multilock" or "semaphore"
---@field node string? the kind of its nodes: "lock", "read" or "write"
---@field enter fun(hold: zklock.Hold, deadline: number, once: boolean, at_once:
---  boolean?): boolean?, any joins; returns true and the token of a lock that is held already, or
---  nil and the error
---@field settings table|false the options; false: so far only multilocks use this path
---@field parts zklock.LockPath[]|false of a multilock: the mutexes at its paths
---@field read zklock.LockPath|false of writers: the readers at the same path
---@field write zklock.LockPath|false of readers: the writers at the same path
---@field private by_owner table<any, zklock.Hold>
---@field private by_ending_owner table<any, zklock.Hold> of owners that can end; weak
---@field private present table<zklock.Hold, boolean> the holds that have joined and not left
---@field private holder zklock.Hold|false the one of them that holds, or held last; of several, one
---@field handed zklock.Handed|false false: no handle has asked for it, or these are readers
---@field has_relatives boolean others of this client take the same nodes, or some of them: readers and writers,
---  multilocks and the mutexes at their paths
---@field private multilocks table<zklock.LockPath, boolean> of a mutex: the multilocks of which it
---  is a part; weak
---@field private losers table<any, integer> owners whose next release answers "lost"; weak
local LockPath = {
  by_owner = NONE, by_ending_owner = NONE, present = NONE, holder = false, handed = false,
  multilocks = NONE, losers = NONE, read = false, write = false, parts = false, has_relatives = false,
}
LockPath.__index = LockPath

--- The fields that all LockPaths of one kind share. An unused LockPath has few fields of its own,
--- because there may be many.
---@param common { kind: string, node: string?, enter: function }
function LockPath.class(common)
  common.__index = common
  return flat(LockPath, common)
end

---@param class table
---@param fields table its own fields: `client`, `path`, `settings`, ...
---@return zklock.LockPath
function LockPath.new(class, fields)
  local lock_path = setmetatable(fields, class)
  -- From here on its parts refer to it, even if this raises.
  for _, part in ipairs(fields.parts or NONE) do
    part.has_relatives = true
    if part.multilocks == NONE then part.multilocks = weak() end
    part.multilocks[lock_path] = true
  end
  return lock_path
end

--- An owner joins. This allocates all tables that its hold will need, so that its end allocates
--- nothing.
local function open(lock_path)
  lock_path.by_owner, lock_path.by_ending_owner = {}, weak()
  lock_path.holder = false
  lock_path.present = {}
end

function LockPath.pair(write, read)
  write.read, read.write = read, write
end

-- ---- options ------------------------------------------------------------------------------------

local function same(a, b)
  for name, value in each(a) do
    if b[name] ~= value then return false end
  end
  for name in each(b) do
    if a[name] == nil then return false end
  end
  return true
end

--- While an owner of this client holds or waits at the path, its options are fixed. Otherwise the
--- newest ones apply, to all handles.
---@return boolean adopted false: other options are fixed
function LockPath:adopt(settings)
  local former, read = self.settings, self.read
  if former == settings or former and same(former, settings) then return true end
  for hold in each(self.present) do hold:end_rest() end
  if former and (next(self.present) or read and next(read.present)) then return false end
  self.settings = settings
  if read then read.settings = settings end
  return true
end

-- ---- holders ------------------------------------------------------------------------------------

--- The owner's hold or wait, as the engine sees it now: a loss counts before Lua has taken its
--- event.
---@return zklock.Hold?
function LockPath:of(who)
  if self.handed and self.handed.relay then self:settle() end
  local hold = self.by_owner[who] or self.by_ending_owner[who]
  if not hold or hold.state == "held" and hold.contender:held() then return hold end
  if hold:is_nobodys() then
    hold:abandon()
    return nil
  end
  if hold.state == "held" and not self.client.native:unusable() then
    if not hold:end_rest() then hold:lose() end
    return nil
  end
  return hold
end

--- The hold that the owner has received, in whatever state.
---@return zklock.Hold?
function LockPath:handed_to(who)
  local hold = self.by_owner[who] or self.by_ending_owner[who]
  return hold and hold.handed and hold or nil
end

--- The hold that the next caller may take over, or somebody has (`zklock.Relays`).
---@param hold zklock.Hold|false
function LockPath:set_relay(hold)
  self.handed.relay = hold
end

--- The tables of owners learn who has taken over the hold of the place (`zklock.Relays`).
function LockPath:settle()
  local relay = self.handed and self.handed.relay
  if relay then self.client.holds.relays:settle(relay) end
end

function LockPath:add(who, hold)
  if self.present == NONE then open(self) end
  self.present[hold] = true
  if owner.can_end(who) then
    self.by_ending_owner[who] = hold
    self.client.lifetimes:note(who, hold)
  else
    self.by_owner[who] = hold
  end
end

function LockPath:granted(hold)
  self.holder = hold
end

---@type zklock.Handed
LockPath.NOBODY = { contender = false, whose = false, relay = false }

--- The struct for the handles of this path. Several readers hold at once, so their handles do not ask core first.
---@return zklock.Handed
function LockPath:shown()
  if self.node == "read" then return LockPath.NOBODY end
  self.handed = self.handed or { contender = false, whose = false, relay = false }
  return self.handed
end

--- The owner has received the hold: the fast path recognizes this owner from now on.
---@param whose any[]|false a reference to the owner; false: core cannot recognize it
function LockPath:show(hold, whose)
  local handed = self.handed
  if not handed or self.holder ~= hold then return end
  handed.contender, handed.whose = whose and hold.contender, whose
end

function LockPath:disown(who, hold)
  if self.by_owner[who] == hold then self.by_owner[who] = nil end
  if self.by_ending_owner[who] == hold then self.by_ending_owner[who] = nil end
end

--- The hold leaves. If this raises, the caller repeats it. It sets only fields that are not nil,
--- because setting a nil field to nil may allocate.
---@param who any nil: the owner was collected
function LockPath:remove(who, hold)
  if self.present[hold] then self.present[hold] = nil end
  if self.holder == hold then
    local handed = self.handed
    if handed then handed.contender, handed.whose = false, false end
    self.holder = false
  end
  LockPath.disown(self, who, hold)
end

local function tell_revoked(lock_path)
  lock_path:settle()
  for _, holds in ipairs { lock_path.by_owner, lock_path.by_ending_owner } do
    for _, hold in each(holds) do hold:tell_revoked() end
  end
end

--- A listener for revocations was set: it gets the revocations that have come so far.
function LockPath:tell_revoked()
  core.quietly(tell_revoked, self)
end

local function give_back_of_dead(hold)
  if hold and hold._relay then hold.lock_path:settle() end
  if not hold or hold.state ~= "held" then return end
  local who = hold.whose[1]
  if rawequal(who, nil) or owner.can_end(who) and owner.is_dead(who) then hold:abandon() end
end

--- How many readers each acquire checks at most. All are checked before anybody sleeps for long.
local READERS_MOST = 64

local function reap_readers(read)
  local looked = 0
  for hold in each(read.present) do
    give_back_of_dead(hold)
    looked = looked + 1
    if looked == READERS_MOST then break end
  end
end

local function reap(self)
  if self.holder then give_back_of_dead(self.holder) end
  if self.read then reap_readers(self.read) end
  if self.write then give_back_of_dead(self.write.holder) end
  if self.multilocks ~= NONE then
    for multilock in each(self.multilocks) do give_back_of_dead(multilock.holder) end
  end
  if self.parts then
    for _, part in ipairs(self.parts) do reap(part) end
  end
end

--- Gives back the holds of owners that have ended, so that a new waiter does not wait for them.
function LockPath:reap()
  local holder = self.holder
  if holder and not holder._relay and owner.is_kept(holder.whose[1]) then holder = false end -- its end is reported
  if holder or self.has_relatives then core.quietly(reap, self) end
end

-- ---- deadlocks of an owner with itself ----------------------------------------------------------

function LockPath:is_held_by(who)
  local hold = self:of(who)
  return hold ~= nil and hold.state == "held"
end

local function is_held_in_others(part, who, but)
  if part.multilocks == NONE then return false end
  for multilock in each(part.multilocks) do
    if multilock ~= but and multilock:is_held_by(who) then return true end
  end
  return false
end

--- "deadlock" if the owner would wait for itself: it holds read and asks for write, or it already
--- holds a path of a multilock.
---@return string? err
function LockPath:forbids(who)
  if not self.has_relatives then return nil end
  if self.read and self.read:is_held_by(who) then return "deadlock" end
  if is_held_in_others(self, who) then return "deadlock" end
  if not self.parts then return nil end
  for _, part in ipairs(self.parts) do
    if part:is_held_by(who) or is_held_in_others(part, who, self) then return "deadlock" end
  end
  return nil
end

--- The contender of the write that the owner holds while it asks for read.
function LockPath:under(who)
  local write = self.write
  return write:is_held_by(who) and write:of(who).contender or nil
end

-- ---- losses -------------------------------------------------------------------------------------

--- The owner has lost its hold here. Its next release reports that.
---@param number integer of the loss
function LockPath:note_loss(who, number)
  if self.losers == NONE then self.losers = weak() end
  self.losers[who] = number
end

--- The number of the loss that this owner does not know of yet.
---@return integer?
function LockPath:loss_of(who)
  return self.losers[who]
end

--- The owner knows of its loss.
function LockPath:forgive(who)
  if self.losers[who] then self.losers[who] = nil end
end

return LockPath
