--- owner_lifetimes: the owners that can end while they hold or wait: coroutines, requests of locks, requests of nginx.
--- A list for each owner names its holds and waits. When an owner is found to have ended, its holds are given back.
--- Nobody tells the client that an owner has ended: the client looks.
local finalizer = require "zklock.base.finalizer"
local core = require "zklock.core"
local owner = require "zklock.owners.owner"

local quietly = core.quietly

--- How many are looked at in passing.
local IN_PASSING = 64
--- How many by each who asks for a lock; more are when it is waited for.
local FEW = 4

--- One of them, by a number that changes when others go.
---@class zklock.OwnerLifetimes
---@field private whos table<integer, any> weak
---@field private shares table<integer, table<table, boolean>> what each has: things with `drop()` and `abandon(who)`;
---  `who` is nil when he was collected
---@field private numbers table<any, integer> weak
---@field private own table<integer, boolean> by number: he keeps it himself
---@field private finalizers table<any, any> weak
---@field count integer
---@field private vacant integer how many of them have nothing
---@field private entering boolean? somebody gets a number now: a finalizer that runs meanwhile removes nobody
---@field private at integer the one that was looked at last
local OwnerLifetimes = {}
OwnerLifetimes.__index = OwnerLifetimes

local function weak(mode)
  return setmetatable({}, { __mode = mode })
end

function OwnerLifetimes.new()
  return setmetatable({
    whos = weak "v",
    shares = {},
    numbers = weak "k",
    own = {},
    finalizers = weak "k",
    count = 0,
    vacant = 0,
    at = 0,
  }, OwnerLifetimes)
end

--- He was collected: the engine tells the servers at once; the rest is done by the next `reap`. In LuaJIT and Lua 5.1
--- this runs one cycle of the collector later, for they collect the value of a weak key after the key.
local function drop_all(share)
  for subject in pairs(share) do subject:drop() end
end

--- His number, if he has one: our own objects keep it themselves, those of the first client that asks.
local function number_of(lifetimes, who)
  if owner.keeps_number(who) and who._lifetimes == lifetimes then return who._number end
  return lifetimes.numbers[who]
end

--- Gives him a number. Each allocation in here may run a finalizer, which may end what another one has, and where it
--- polls, have others enter, or him.
local function enter(lifetimes, who)
  local share = {}
  local finalizer_of_share = not owner.is_kept(who) and finalizer(share, drop_all)
  local number = number_of(lifetimes, who)
  if number then return number end
  lifetimes.entering, number = true, lifetimes.count + 1
  lifetimes.shares[number] = share
  lifetimes.whos[number] = who
  local own = owner.keeps_number(who) and not who._lifetimes
  lifetimes.own[number] = own
  if own then
    who._lifetimes, who._number, who._finalizer = lifetimes, number, finalizer_of_share
  else
    lifetimes.finalizers[who] = finalizer_of_share
    lifetimes.numbers[who] = number
  end
  lifetimes.count, lifetimes.vacant = number, lifetimes.vacant + 1
  lifetimes.entering = nil
  return number
end

--- From now on `subject` ends with `who`.
function OwnerLifetimes:note(who, subject)
  local share = self.shares[number_of(self, who) or enter(self, who)]
  local was_vacant = next(share) == nil
  share[subject] = true
  if was_vacant then self.vacant = self.vacant - 1 end
end

--- Removes the one with this number, who has nothing; the last one gets it. Allocates nothing, and calls nobody: after
--- an error there may be no room for that.
local function leave(lifetimes, number)
  local last, own, numbers = lifetimes.count, lifetimes.own, lifetimes.numbers
  local who, successor = lifetimes.whos[number], lifetimes.whos[last]
  if who and own[number] then
    who._lifetimes, who._number, who._finalizer = false, false, false
  elseif who then
    numbers[who] = nil
    lifetimes.finalizers[who] = nil
  end
  if number ~= last then
    lifetimes.shares[number] = lifetimes.shares[last]
    lifetimes.whos[number], own[number] = successor, own[last]
    if successor ~= nil and own[last] then
      successor._number = number
    elseif successor ~= nil then
      numbers[successor] = number
    end
  end
  lifetimes.shares[last], own[last] = nil, nil
  if successor ~= nil then lifetimes.whos[last] = nil end
  lifetimes.count, lifetimes.vacant = last - 1, lifetimes.vacant - 1
end

--- He has one thing less.
local function take_out(lifetimes, share, subject)
  if not share[subject] then return end
  share[subject] = nil
  if next(share) == nil then lifetimes.vacant = lifetimes.vacant + 1 end
end

--- Has he anything?
---@return boolean
function OwnerLifetimes:has(who)
  local number = number_of(self, who)
  return number ~= nil and next(self.shares[number]) ~= nil
end

--- From now on `subject` does not end with `who`. A coroutine that has nothing any more keeps its number until `reap`
--- comes by: most take the same lock again. As few calls inside each other as can be: see `leave`.
---@param keeps boolean? what `owner.keeps_number` says of him
function OwnerLifetimes:unnote(who, subject, keeps)
  local number = self.numbers[who]
  if keeps and who._lifetimes == self then number = who._number end
  local share = number and self.shares[number]
  if not share then return end
  local had = share[subject]
  if had then share[subject] = nil end
  if next(share) ~= nil then return end
  if had then self.vacant = self.vacant + 1 end
  if type(who) ~= "thread" and not self.entering then leave(self, number) end
end

--- Gives back what one has who has come to his end. Each thing removes itself from his share, and with the last of it
--- he may be removed already.
local function give_back(lifetimes, number)
  local who, share = lifetimes.whos[number], lifetimes.shares[number]
  for subject in pairs(share) do
    subject:abandon(who)
    take_out(lifetimes, share, subject)
  end
  if lifetimes.shares[number] == share then leave(lifetimes, number) end
end

--- From now on `subject` ends with `who`, if he is one who may come to his end.
function OwnerLifetimes:bind(who, subject)
  if owner.can_end(who) then self:note(who, subject) end
end

--- The same, the other way round.
function OwnerLifetimes:unbind(who, subject)
  if owner.can_end(who) then self:unnote(who, subject, owner.keeps_number(who)) end
end

local function abandon(lifetimes, who)
  local number = number_of(lifetimes, who)
  if number then give_back(lifetimes, number) end
end

--- Ends what somebody has who has come to his end.
function OwnerLifetimes:abandon(who)
  quietly(abandon, self, who)
end

--- To look allocates: a finalizer may have removed him meanwhile, and another one may have his number.
local function look(lifetimes, number)
  local who, share = lifetimes.whos[number], lifetimes.shares[number]
  local is_dead = not who or owner.is_dead(who)
  if lifetimes.shares[number] ~= share then return end
  if is_dead then
    give_back(lifetimes, number)
  elseif next(share) == nil then
    leave(lifetimes, number)
  end
end

--- From the last to the first, and round. Those of whom there is nothing to say are passed over.
---@param shares table<integer, table>? so that those go, too, who have nothing
local function reap(lifetimes, most, shares)
  local left = math.min(most, lifetimes.count)
  while left > 0 do
    local at = lifetimes.at - 1
    if at < 1 or at > lifetimes.count then at = lifetimes.count end
    if at == 0 then return end
    local steps = math.min(left, at)
    local number = owner.first_to_look_at(lifetimes.whos, at, steps, shares)
    lifetimes.at = number or at - steps + 1
    left = left - (at - lifetimes.at + 1)
    if number then look(lifetimes, number) end
  end
end

--- Looks at so many of them, each in turn, and gives back what those have who have come to their end.
---@param most number? default: as many as are looked at in passing
function OwnerLifetimes:reap(most)
  quietly(reap, self, most or IN_PASSING, self.vacant > 0 and self.shares or nil)
end

--- Likewise at a few. An owner that has nothing keeps its number: it may be about to ask for something.
function OwnerLifetimes:glance()
  quietly(reap, self, FEW)
end

return OwnerLifetimes
