--- lock_path: what the owners of one client hold or wait for at one path. All handles of that path share it, so
--- reentrancy and exclusion span them.
local core = require "zklock.core"
local owner = require "zklock.owners.owner"

local quietly = core.quietly

--- Stands for a list that is not there yet. Nobody writes into it.
local NONE = {}

local WEAK_KEYS = { __mode = "k" }

local function weak()
  return setmetatable({}, WEAK_KEYS)
end

---@class zklock.LockPath
---@field client zklock.Client
---@field path string of a multilock the first
---@field paths string[]? of a multilock
---@field kind string "mutex", "rwlock", "multilock" or "semaphore"
---@field node string? what its nodes are: "lock", "read" or "write"
---@field enter fun(hold: zklock.Hold, tag: integer, deadline: number, once: boolean, at_once: boolean?): boolean?,
---  any joins; true, and the token of what is held already; or nil, err
---@field settings table|false the options; false: nobody has said, for it was only a part of multilocks so far
---@field parts zklock.LockPath[]? of a multilock: the mutexes that it is all of
---@field read zklock.LockPath|false of writers: the readers at the same path
---@field write zklock.LockPath|false and the reverse
---@field private by_owner table<any, zklock.Hold>
---@field private by_ending_owner table<any, zklock.Hold> of owners that may come to their end; weak
---@field private present table<zklock.Hold, boolean> those that have joined and not left
---@field private holder zklock.Hold|false the one of them that holds, or held last; of several, one
---@field [1] userdata|false where no more than one can hold: the contender of the one who was handed it. It stands here
---  by number, as do the next two, and this in a lock's handle, for it is looked up often
---@field [2] any[]|false a reference to him, if core can see whether it is he who runs; else to nobody
---@field [3] table|false the handle through which he took it
---@field private multilocks table<zklock.LockPath, boolean> of a mutex: those that it is a part of; weak
---@field private losers table<any, integer> owners whose next release answers "lost"; weak
local LockPath = {
  by_owner = NONE, by_ending_owner = NONE, present = NONE, holder = false, false, false, false,
  multilocks = NONE, losers = NONE, read = false, write = false,
}
LockPath.__index = LockPath

--- What all of one kind have in common. A path that nobody asks for has nothing but what tells it from others: there
--- may be many.
---@param common { kind: string, node: string?, enter: function }
function LockPath.class(common)
  common.__index = common
  return setmetatable(common, LockPath)
end

---@param class table
---@param fields table what is to be known of it: `client`, `path`, `settings`, ...
---@return zklock.LockPath
function LockPath.new(class, fields)
  local lock_path = setmetatable(fields, class)
  -- From here on others call it, also when an error is raised into this.
  for _, part in ipairs(fields.parts or NONE) do
    if part.multilocks == NONE then part.multilocks = weak() end
    part.multilocks[lock_path] = true
  end
  return lock_path
end

--- Somebody asks for it: room for all that will be noted until he has left, for then nothing is allocated.
local function open(lock_path)
  if lock_path.present ~= NONE then return end
  lock_path.by_owner, lock_path.by_ending_owner = {}, weak()
  lock_path.holder, lock_path[1], lock_path[2], lock_path[3] = false, false, false, false
  lock_path.present = {}
end

--- Writers and readers at one path know each other.
function LockPath.pair(write, read)
  write.read, read.write = read, write
end

-- ---- options ------------------------------------------------------------------------------------------------------

--- Have two lists of settings the same in them?
local function same(a, b)
  for name, value in pairs(a) do
    if b[name] ~= value then return false end
  end
  for name in pairs(b) do
    if a[name] == nil then return false end
  end
  return true
end

--- Options bind while somebody of this client holds or waits there; else the newest ones are those of all handles.
---@return boolean adopted false: other ones bind
function LockPath:adopt(settings)
  local former, read = self.settings, self.read
  if former and same(former, settings) then return true end
  for hold in pairs(self.present) do hold:end_rest() end
  if former and (next(self.present) or read and next(read.present)) then return false end
  self.settings = settings
  if read then read.settings = settings end
  return true
end

-- ---- who holds ----------------------------------------------------------------------------------------------------

--- The owner's hold, or wait, as the engine sees it now: a loss counts before its event was taken.
---@return zklock.Hold?
function LockPath:of(who)
  local hold = self.by_owner[who] or self.by_ending_owner[who]
  if hold and hold.dropped then
    quietly(hold.abandon, hold)
    return nil
  end
  if hold and hold.state == "held" and not hold.contender:held() and not self.client.native:unusable() then
    if not quietly(hold.end_rest, hold) then quietly(hold.finish, hold, "lost") end
    return nil
  end
  return hold
end

--- The hold that the owner has been handed, whatever its state is now.
---@return zklock.Hold?
function LockPath:handed_to(who)
  local hold = self.by_owner[who] or self.by_ending_owner[who]
  return hold and hold.handed and hold or nil
end

--- A hold is its owner's until it leaves.
function LockPath:add(who, hold)
  open(self)
  self.present[hold] = true
  if owner.can_end(who) then
    self.by_ending_owner[who] = hold
    self.client.lifetimes:note(who, hold)
  else
    self.by_owner[who] = hold
  end
end

--- One of those that have joined was granted.
function LockPath:granted(hold)
  self.holder = hold
end

--- Its owner was handed it: he is found at once when he comes again.
---@param whose any[] a reference to him, or to nobody
function LockPath:show(hold, whose)
  if self.holder ~= hold or self.node == "read" then return end
  self[1], self[2], self[3] = hold.contender, whose, hold.listener
end

--- It leaves. An error may be raised into this: then it is done again. To set a field to nil that is nil already may
--- allocate.
---@param who any nil: the owner was collected
function LockPath:remove(who, hold)
  if self.present[hold] then self.present[hold] = nil end
  if self.holder == hold then self.holder, self[1], self[2], self[3] = false, false, false, false end
  if rawequal(who, nil) then return end
  if self.by_owner[who] == hold then self.by_owner[who] = nil end
  if self.by_ending_owner[who] == hold then self.by_ending_owner[who] = nil end
end

--- Somebody listens to those who ask for it back: he is told what has been asked so far.
function LockPath:tell_revoked()
  for _, holds in ipairs { self.by_owner, self.by_ending_owner } do
    for _, hold in pairs(holds) do hold:tell_revoked() end
  end
end

local function give_back_of_dead(hold)
  if not hold or hold.state ~= "held" then return end
  local who = hold.whose[1]
  if rawequal(who, nil) or owner.can_end(who) and owner.is_dead(who) then hold:abandon() end
end

--- Of many readers no more are looked at by each who comes: all of them are before anybody sleeps for long.
local READERS_MOST = 64

local function reap_readers(read)
  local looked = 0
  for hold in pairs(read.present) do
    give_back_of_dead(hold)
    looked = looked + 1
    if looked == READERS_MOST then break end
  end
end

--- Gives back what is held there by who has come to his end: whoever queues now is not to wait for him.
function LockPath:reap()
  if self.holder then give_back_of_dead(self.holder) end
  if self.read then reap_readers(self.read) end
  if self.write then give_back_of_dead(self.write.holder) end
  if self.multilocks ~= NONE then
    for multilock in pairs(self.multilocks) do give_back_of_dead(multilock.holder) end
  end
  if self.parts then
    for _, part in ipairs(self.parts) do part:reap() end
  end
end

-- ---- what an owner may not do to himself --------------------------------------------------------------------------

function LockPath:is_held_by(who)
  local hold = self:of(who)
  return hold ~= nil and hold.state == "held"
end

local function is_held_in_others(part, who, but)
  if part.multilocks == NONE then return false end
  for multilock in pairs(part.multilocks) do
    if multilock ~= but and multilock:is_held_by(who) then return true end
  end
  return false
end

--- Who holds read and asks for write would wait for himself, and so would he who holds a path of a multilock.
---@return string? err
function LockPath:forbids(who)
  if self.read and self.read:is_held_by(who) then return "deadlock" end
  if is_held_in_others(self, who) then return "deadlock" end
  if not self.parts then return nil end
  for _, part in ipairs(self.parts) do
    if part:is_held_by(who) or is_held_in_others(part, who, self) then return "deadlock" end
  end
  return nil
end

--- The contender of the write under which an owner takes read.
function LockPath:under(who)
  local write = self.write
  return write and write:is_held_by(who) and write:of(who).contender or nil
end

-- ---- losses -------------------------------------------------------------------------------------------------------

--- The owner has lost what he held here; his next release tells him.
---@param number integer of the loss
function LockPath:note_loss(who, number)
  if self.losers == NONE then self.losers = weak() end
  self.losers[who] = number
end

--- The number of the loss that this owner was not told of yet.
---@return integer?
function LockPath:loss_of(who)
  return self.losers[who]
end

--- He has been told.
function LockPath:forgive(who)
  if self.losers[who] then self.losers[who] = nil end
end

return LockPath
