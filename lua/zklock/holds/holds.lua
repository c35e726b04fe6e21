--- place: what this process does at one path: who of its owners holds or waits there. All handles with one path share
--- one place, so reentrancy and exclusion span them.
local core = require "zklock.core"
local owner = require "zklock.owners.owner"
local text = require "zklock.base.text"
local waiter = require "zklock.base.waiter"

local quietly = core.quietly
local unpack = table.unpack or unpack -- luacheck: ignore 113

local NONE = {}

local NO_MEMORY = "not enough memory" -- as Lua itself says it

--- One owner's wait or hold.
---@class zklock.Stay
---@field place zklock.Place
---@field lock zklock.Lock the handle it was taken through; its listeners are told
---@field owner fun(): any a reference that does not keep a coroutine alive
---@field state string "waiting", "held", "failed", "released", "lost"
---@field count integer how often its owner acquired it
---@field contender userdata collected, it gives back what it holds; empty until it joins
local Stay = {}
Stay.__index = Stay

---@class zklock.Place
---@field path string
---@field kind string "mutex", "rwlock", "multilock" or "semaphore"
---@field node string? what its nodes are: "lock", "read" or "write"
---@field enter function how a stay enters it: (place, stay, tag, deadline, once) -> true, or nil, err
---@field parts zklock.Place[]? of a multilock: the mutexes that it is all of
---@field multilocks table<zklock.Place, boolean> of a mutex: those that it is a part of
---@field read zklock.Place? of a place of writers: that of the readers at the same path
---@field write zklock.Place? and the reverse
---@field options table
local Place = {}
Place.__index = Place

local function weak(mode)
  return setmetatable({}, { __mode = mode })
end

local function new(client, path, kind, settings, enter)
  return setmetatable({
    client = client,
    path = path,
    kind = kind,
    options = settings,
    enter = enter,
    stays = {},
    weak_stays = weak("k"), -- of owners that may come to their end
    present = {}, -- the stays that have joined and not left
    holder = false, -- the one of them that holds, or held last; of several, one
    losers = weak("k"), -- owners whose next release answers "lost"
  }, Place)
end

-- ---- kinds: each with how a stay enters it

local function enter_line(place, stay, tag, deadline, once)
  return place.client.native:join(stay.contender, place.path, place.node, tag, deadline, once,
    place.options.max_hold, place:under(stay.owner()), place.options.max_waiting)
end

local function enter_lines(place, stay, tag, deadline, once)
  return place.client.native:join_all(stay.contender, place.paths, tag, deadline, once, place.options.max_hold)
end

local function enter_leases(place, stay, tag, deadline, once)
  return place.client.native:join_leases(stay.contender, place.path, stay.leases, place.permits, tag, deadline,
    once, place.options.max_hold)
end

local makers = {}

function makers.mutex(client, path, settings)
  local place = new(client, path, "mutex", settings, enter_line)
  place.node = "lock"
  place.multilocks = weak("k")
  return place
end

function makers.rwlock(client, path, settings)
  local write = new(client, path, "rwlock", settings, enter_line)
  local read = new(client, path, "rwlock", settings, enter_line)
  write.node, write.read = "write", read
  read.node, read.write = "read", write
  return write
end

function makers.semaphore(client, path, settings)
  local place = new(client, path, "semaphore", settings, enter_leases)
  place.permits = settings.permits
  return place
end

local function refuse(why, level, ...)
  error(("bad argument " .. why):format(...), level + 1)
end

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
local function adopt(place, settings, refusal, level, ...)
  if same(place.options, settings) then return end
  local read = place.read
  if next(place.present) or read and next(read.present) then refuse(refusal, level + 1, ...) end
  place.options, place.permits = settings, settings.permits
  if read then read.options = settings end
end

--- The place of that kind at `path`: the one that there is, or a new one.
---@param settings table? nil: whatever the others have
function Place.at(client, path, kind, settings, level)
  local place = client.places[path]
  if not place then
    place = makers[kind](client, path, settings)
    client.places[path] = place
  elseif place.kind ~= kind then
    refuse("'path' ('%s' is in use as a %s)", level, text.shown(path), place.kind)
  elseif settings and not place.options then
    place.options = settings -- a part of multilocks so far
  elseif settings then
    adopt(place, settings, "'options' (other handles of '%s' have other ones)", level, text.shown(path))
  end
  return place
end

--- The place of a multilock: the one that there is for these paths, in whatever order, or a new one.
function Place.of_all(client, paths, settings, level)
  local sorted = { unpack(paths) }
  table.sort(sorted)
  local key = "all " .. table.concat(sorted, " ") -- no path begins so
  local parts = {}
  for i, path in ipairs(sorted) do parts[i] = Place.at(client, path, "mutex", nil, level + 1) end
  local place = client.places[key]
  if not place then
    place = new(client, paths[1], "multilock", settings, enter_lines)
    place.paths, place.parts = sorted, parts
    for _, part in ipairs(parts) do part.multilocks[place] = true end
    client.places[key] = place
  else
    adopt(place, settings, "'options' (other handles of these paths have other ones)", level)
  end
  return place
end

-- ---- what an owner may not do to himself

function Place:is_held_by(who)
  local stay = self:stay_of(who)
  return stay ~= nil and stay.state == "held"
end

local function is_held_in_others(part, who, but)
  for multilock in pairs(part.multilocks) do
    if multilock ~= but and multilock:is_held_by(who) then return true end
  end
  return false
end

local function give_back_of_dead(stay)
  if not stay or stay.state ~= "held" then return end
  local who = stay.owner()
  if who == nil or owner.is_mortal(who) and owner.is_dead(who) then stay:abandon() end
end

--- Gives back what is held there by who has come to his end: whoever queues now is not to wait for him.
function Place:reap()
  give_back_of_dead(self.holder)
  for stay in pairs(self.read and self.read.present or NONE) do give_back_of_dead(stay) end
  if self.write then give_back_of_dead(self.write.holder) end
  for multilock in pairs(self.multilocks or NONE) do give_back_of_dead(multilock.holder) end
  for _, part in ipairs(self.parts or NONE) do part:reap() end
end

--- Whoever holds read and asks for write would wait for himself, and so would he who holds a path of a multilock.
---@return string? err
function Place:forbids(who)
  if self.read and self.read:is_held_by(who) then return "deadlock" end
  if self.multilocks and is_held_in_others(self, who) then return "deadlock" end
  for _, part in ipairs(self.parts or {}) do
    if part:is_held_by(who) or is_held_in_others(part, who, self) then return "deadlock" end
  end
  return nil
end

--- The contender of the write under which an owner takes read.
function Place:under(who)
  local write = self.write
  return write and write:is_held_by(who) and write:stay_of(who).contender or nil
end

--- To set a field to nil that is nil already may allocate.
local function clear(t, key)
  if t[key] ~= nil then t[key] = nil end
end

--- Notes that `stay` ends with `who`.
local function note(client, who, stay)
  if owner.is_mortal(who) then client.mortals:note(who, stay) end
end

--- Notes that it does not.
local function unnote(client, who, stay)
  if owner.is_mortal(who) then client.mortals:unnote(who, stay) end
end

--- The owner gets a stay, which is his until it leaves. It is not collected before that: who is, would take along what
--- tells that he is gone.
function Place:set(who, stay)
  self.present[stay] = true
  self.client.stays[stay] = true
  if owner.is_mortal(who) then
    self.weak_stays[who] = stay
  else
    self.stays[who] = stay
  end
  note(self.client, who, stay)
end

--- Has this owner lost what he held, and not been told?
function Place:has_lost(who)
  return self.losers[who] ~= nil
end

--- He has been told.
function Place:forgive(who)
  clear(self.losers, who)
end

--- The owner's stay, as the engine sees it now: a loss counts before its event was taken.
---@return zklock.Stay?
function Place:stay_of(who)
  local stay = self.stays[who] or self.weak_stays[who]
  if stay and stay.dropped then
    quietly(stay.abandon, stay)
    return nil
  end
  if stay and stay.state == "held" and not stay.contender:held() and not self.client:unusable() then
    quietly(stay.lose, stay)
    return nil
  end
  return stay
end

--- A stay that has not joined the line yet. It has a place for all it will be told: to end it allocates nothing.
---@return zklock.Stay
function Place:new_stay(lock, who)
  local client = self.client
  return setmetatable({ place = self, lock = lock, owner = owner.reference(who), state = "waiting", count = 0,
    contender = client.native:contender(), token = false, err = false, waiters = false, answered = false,
    asleep = false, revoked = false, dropped = false,
    loss = client.new_call(false, false, false, false), revocation = client.new_call(false, false, false) }, Stay)
end

-- ---- stays --------------------------------------------------------------------------------------------------------

--- Joins the line; the answer comes to `event`. When an error is raised into it, `end_now` undoes it.
---@return string? err
function Stay:join(deadline, once)
  local place = self.place
  local client = place.client
  place:set(self.owner(), self)
  local ok, err = place:enter(self, client:enter(self), deadline, once)
  if ok then return nil end
  self:leave("failed")
  return err
end

--- While it waits it ends with its caller, too, whoever its owner is: nobody would hear of the grant.
local function note_caller(stay)
  local client = stay.place.client
  local caller = client:owner()
  client.unhanded[owner.current()] = stay
  if caller ~= stay.owner() then note(client, caller, stay) end
end

local function unnote_caller(stay)
  local client = stay.place.client
  local caller, here = client:owner(), owner.current()
  if client.unhanded[here] == stay then client.unhanded[here] = nil end
  if caller ~= stay.owner() then unnote(client, caller, stay) end
end

local function join_for_caller(stay, deadline, once)
  note_caller(stay)
  return stay:join(deadline, once)
end

local function join_and_wait(stay, deadline, once)
  local err = quietly(join_for_caller, stay, deadline, once)
  if err then return err end
  stay.asleep = true
  stay:await(nil, not once and deadline or nil)
  stay.asleep = false
  return nil
end

--- Joins and waits; what is raised into it (Ctrl-C, a hook), wherever that is, ends the stay and is raised again. One
--- that holds then is the caller's to hand out, with `hand_out`; until then it is taken back when he calls again.
---@return string? err
function Stay:settle(deadline, once)
  local client = self.place.client
  client:owner() -- looks what he is
  local ok, err = client.protected(join_and_wait, self, deadline, once)
  if ok and self.state == "held" then return nil end
  if ok and self.err == NO_MEMORY then ok, err = false, NO_MEMORY end
  if not ok then
    quietly(self.take_back, self)
    error(err, 0)
  end
  quietly(unnote_caller, self)
  return err or self.err or (self.state == "lost" and "lost") or client:unusable()
end

--- The caller hears of it now.
---@return boolean is_first false: he did not wait for it
function Stay:hand_out()
  if self.place.client.unhanded[owner.current()] ~= self then return false end
  unnote_caller(self)
  return true
end

--- He did not: it is ended, whatever it was; of a hold that others have entered meanwhile, his count.
function Stay:take_back()
  self.asleep = false
  unnote_caller(self)
  self.place.client:unpark()
  if self.state == "held" and self.count > 1 then
    self.count = self.count - 1
  elseif self.state == "held" or self.state == "waiting" then
    self:end_now()
  end
end

--- Not this owner's any more. An error that is raised into it leaves the state as it was: it is done again.
function Stay:leave(state)
  local who, place = self.owner(), self.place
  local client = place.client
  if state ~= "lost" then clear(client.kept, self) end
  clear(client.stays, self)
  clear(place.present, self)
  if place.holder == self then place.holder = false end
  if who ~= nil then
    if place.stays[who] == self then place.stays[who] = nil end
    if place.weak_stays[who] == self then place.weak_stays[who] = nil end
    unnote(client, who, self)
  end
  self.state = state
end

--- What the engine says of it. May be told again.
function Stay:event(kind, err, token)
  if kind == "lost" then return self:tell_loss(err, token) end
  if kind == "revoked" then
    self.revoked = true
    return self:tell_revoked()
  end
  if self.state == "waiting" and kind == "granted" then
    self.state, self.count, self.token = "held", 1, token
    self.place.holder = self
  elseif self.state == "waiting" then
    self.err = err
    self:leave("failed")
  end
  if self.answered then self:answered() end
  self:wake()
end

---@private
function Stay:tell_loss(err, token)
  local client, on_lost, call = self.place.client, self.lock.handle_lost, self.loss
  if self.state == "held" then self:lose() end
  if not client.kept[self] then return end -- told already
  if on_lost and not call.begun then
    call.fn, call[1], call[2], call[3] = on_lost, err, self:named_owner(), token
    client.queue:append(call)
  end
  client.kept[self] = nil
  client:note("lost", ("%s (token %d)"):format(self.place.path, token))
end

--- The owner, as listeners hear of him: nobody owns a lease.
function Stay:named_owner()
  return not self.lock.semaphore and self.owner() or nil
end

--- Somebody asks for it back: told once, as soon as there is who hears it.
function Stay:tell_revoked()
  local listener, call = self.lock, self.revocation
  local on_revoke = listener.handle_revoke or listener.semaphore and listener.semaphore.handle_revoke
  if not self.revoked or call.stay or not on_revoke then return end
  call.fn, call[1], call[2], call.stay = on_revoke, self.owner(), self.token, self
  self.place.client.queue:append(call)
end

--- Somebody listens: tells it what has been asked so far.
function Place:tell_revoked()
  for _, stays in ipairs { self.stays, self.weak_stays } do
    for _, stay in pairs(stays) do stay:tell_revoked() end
  end
end

--- Ends the waits for it: it is not waiting any more.
function Stay:wake()
  if self.waiters then self.place.client:wake_all(self.waiters) end
end

--- Waits until it is not waiting any more, or until `deadline` (nil: the engine keeps it, which is `due`).
function Stay:await(deadline, due)
  local waiting = waiter.new(deadline, due)
  self.waiters = self.waiters or weak("k") -- who waits, waits with his coroutine
  self.waiters[waiting] = true
  self.place.client:wait(waiting)
  clear(self.waiters, waiting)
end

--- It was held and is not any more, without its owner's doing; the event of it is here or on its way.
function Stay:lose()
  local who = self.owner()
  self.place.client.kept[self] = true
  if who ~= nil then self.place.client.losses:note(self.place, who) end
  self:leave("lost")
end

--- Gives back one count, and with the last one the lock.
---@return boolean? ok, string? err
function Stay:release()
  if self.count > 1 and self.contender:held() then
    self.count = self.count - 1
    return true
  end
  local ok, err = self.contender:release()
  if ok then
    self:leave("released")
  elseif err == "lost" then
    self:lose()
  end
  return ok, err
end

--- Ends it, whatever it was: nobody wants it any more, and no event is told.
function Stay:end_now()
  self.contender:quit()
  self.err = "cancelled"
  self:leave("failed")
  self:wake()
end

--- Its owner has come to its end without giving it back; the engine counts it. The rest is left to `abandon`.
function Stay:drop()
  self.dropped = true
  self.contender:drop()
end

--- The same, to the end.
function Stay:abandon()
  self:drop()
  self.err = "cancelled" -- for whoever waits in the owner's name
  self:leave("released")
  self:wake()
end

return Place
