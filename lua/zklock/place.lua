--- place: what this process does at one path: who of its owners holds or waits there. All handles with one path share
--- one place, so reentrancy and exclusion span them.
local options = require "zklock.options"
local owner = require "zklock.owner"
local waiter = require "zklock.waiter"

--- One owner's wait or hold.
---@class zklock.Stay
---@field place zklock.Place
---@field lock zklock.Lock the handle it was taken through; its listeners are told
---@field owner fun(): any a reference that does not keep a coroutine alive
---@field state string "waiting", "held", "failed", "released", "lost"
---@field count integer how often its owner acquired it
---@field contender userdata collected, it gives back what it holds
local Stay = {}
Stay.__index = Stay

---@class zklock.Place
---@field path string
---@field kind string "mutex" or "rwlock"
---@field node string what its nodes are: "lock", "read" or "write"
---@field read zklock.Place? of a place of writers: that of the readers at the same path
---@field write zklock.Place? and the reverse
---@field options table
local Place = {}
Place.__index = Place

local function new(client, path, kind, node, settings)
  return setmetatable({
    client = client,
    path = path,
    kind = kind,
    node = node,
    options = settings,
    stays = {},
    weak_stays = setmetatable({}, { __mode = "k" }), -- of owners that may be collected
    losers = setmetatable({}, { __mode = "k" }), -- owners whose next release answers "lost"
  }, Place)
end

local makers = {}

function makers.mutex(client, path, settings)
  return new(client, path, "mutex", "lock", settings)
end

function makers.rwlock(client, path, settings)
  local place = new(client, path, "rwlock", "write", settings)
  place.read = new(client, path, "rwlock", "read", settings)
  place.read.write = place
  return place
end

--- The place of that kind at `path`: the one that there is, or a new one.
function Place.at(client, path, kind, settings, level)
  local place = client.places[path]
  if not place then
    place = makers[kind](client, path, settings)
    client.places[path] = place
  elseif place.kind ~= kind then
    error(("bad argument 'path' ('%s' is in use as a %s)"):format(path, place.kind), level)
  elseif not options.same(place.options, settings) then
    error(("bad argument 'options' (other handles of '%s' have other ones)"):format(path), level)
  end
  return place
end

--- Whoever holds read and asks for write would wait for himself.
---@return string? err
function Place:forbids(who)
  local stay = self.read and self.read:stay_of(who)
  return stay and stay.state == "held" and "deadlock" or nil
end

--- The contender of the write under which an owner takes read.
function Place:under(who)
  local stay = self.write and self.write:stay_of(who)
  return stay and stay.state == "held" and stay.contender or nil
end

function Place:set(who, stay)
  if owner.is_weak(who) then
    self.weak_stays[who] = stay
  else
    local former = self.stays[who]
    if former then self.client.kept[former] = nil end
    self.stays[who] = stay
    if stay then self.client.kept[stay] = true end -- nobody else need have it
  end
  local holdings = self.client:holdings(who)
  if holdings and stay then
    holdings[who] = holdings[who] or {}
    holdings[who][stay] = true
  end
end

--- The owner's stay, as the engine sees it now: a loss counts before its event was taken.
---@return zklock.Stay?
function Place:stay_of(who)
  local stay = self.stays[who] or self.weak_stays[who]
  if stay and stay.state == "held" and not stay.contender:held() and not self.client:unusable() then
    stay:lose()
    return nil
  end
  return stay
end

--- A stay that has not joined the line yet.
---@return zklock.Stay
function Place:new_stay(lock, who)
  return setmetatable({ place = self, lock = lock, owner = owner.reference(who), state = "waiting", count = 0 }, Stay)
end

-- ---- stays --------------------------------------------------------------------------------------------------------

--- Joins the line; the answer comes to `event`.
---@return string? err
function Stay:join(deadline, once)
  local place = self.place
  local client = place.client
  local contender, err = client.native:join(place.path, place.node, client:enter(self), deadline, once,
    place.options.max_hold, place:under(self.owner()))
  if not contender then
    self.state = "failed"
    return err
  end
  self.contender = contender
  place:set(self.owner(), self)
  return nil
end

--- Not this owner's any more.
function Stay:leave(state)
  self.state = state
  local who = self.owner()
  if who == nil then return end
  local place = self.place
  if (place.stays[who] or place.weak_stays[who]) == self then place:set(who, nil) end
  local holdings = place.client:holdings(who)
  local stays = holdings and holdings[who]
  if stays then
    stays[self] = nil
    if next(stays) == nil then holdings[who] = nil end
  end
end

--- What the engine says of it.
function Stay:event(kind, err, token)
  if kind == "granted" then
    self.state, self.count, self.token = "held", 1, token
  elseif kind == "failed" then
    self.err = err
    self:leave("failed")
  else
    if self.state == "held" then self:lose() end
    self.place.client.kept[self] = nil
    local on_lost = self.lock.handle_lost
    if on_lost then self.place.client:call_later(on_lost, err, self.owner(), token) end
    return
  end
  if self.answered then self:answered() end
  self:wake()
end

--- Ends the waits for it: it is not waiting any more.
function Stay:wake()
  local waiters = self.waiters or {}
  self.waiters = nil
  for waiting in pairs(waiters) do self.place.client:wake(waiting) end
end

--- Waits until it is not waiting any more, or until `deadline` (nil: the engine keeps it).
function Stay:await(deadline)
  local waiting = waiter.new(deadline)
  self.waiters = self.waiters or {}
  self.waiters[waiting] = true
  self.place.client:wait(waiting)
  if self.waiters then self.waiters[waiting] = nil end
end

--- It was held and is not any more, without its owner's doing; the event of it is here or on its way.
function Stay:lose()
  local who = self.owner()
  self:leave("lost")
  if who ~= nil then self.place.losers[who] = true end
  self.place.client.kept[self] = true
end

--- Gives back one count, and with the last one the lock.
---@return boolean? ok, string? err
function Stay:release()
  if self.count > 1 then
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
  local contender = self.contender
  self.err = "cancelled"
  self:leave("failed")
  if contender then
    contender:cancel()
    contender:release()
    contender:drop()
  end
  self:wake()
end

--- Its owner has come to its end without giving it back; the engine counts it.
function Stay:abandon()
  self.err = "cancelled" -- for whoever waits in the owner's name
  self:leave("released")
  self.contender:drop()
  self:wake()
end

return Place
