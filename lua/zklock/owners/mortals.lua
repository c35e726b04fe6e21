--- mortals: the owners that may come to their end while they hold or wait: coroutines, requests of locks, requests of
--- nginx. What each of them has is listed here, and is given back when he is found to have come to his end. Nothing
--- tells us of that: we have to look.
local finalizer = require "zklock.base.finalizer"
local core = require "zklock.core"
local owner = require "zklock.owners.owner"

local quietly = core.quietly

--- How many are looked at in passing.
local IN_PASSING = 64
--- How many by each who asks for a lock; more are when it is waited for.
local FEW = 4

--- One of them, by a number that changes when others go.
---@class zklock.Mortals
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
local Mortals = {}
Mortals.__index = Mortals

local function weak(mode)
  return setmetatable({}, { __mode = mode })
end

function Mortals.new()
  return setmetatable({
    whos = weak "v",
    shares = {},
    numbers = weak "k",
    own = {},
    finalizers = weak "k",
    count = 0,
    vacant = 0,
    at = 0,
  }, Mortals)
end

--- He was collected: the engine tells the servers at once; the rest is done by the next `reap`. In LuaJIT and Lua 5.1
--- this runs one cycle of the collector later, for they collect the value of a weak key after the key.
local function drop_all(share)
  for subject in pairs(share) do subject:drop() end
end

--- His number, if he has one: our own objects keep it themselves, those of the first client that asks.
local function number_of(mortals, who)
  if owner.keeps_number(who) and who._mortals == mortals then return who._number end
  return mortals.numbers[who]
end

--- Gives him a number. Each allocation in here may run a finalizer, which may end what another one has, and where it
--- polls, have others enter, or him.
local function enter(mortals, who)
  local share = {}
  local finalizer_of_share = not owner.is_kept(who) and finalizer(share, drop_all)
  local number = number_of(mortals, who)
  if number then return number end
  mortals.entering, number = true, mortals.count + 1
  mortals.shares[number] = share
  mortals.whos[number] = who
  local own = owner.keeps_number(who) and not who._mortals
  mortals.own[number] = own
  if own then
    who._mortals, who._number, who._finalizer = mortals, number, finalizer_of_share
  else
    mortals.finalizers[who] = finalizer_of_share
    mortals.numbers[who] = number
  end
  mortals.count, mortals.vacant = number, mortals.vacant + 1
  mortals.entering = nil
  return number
end

--- From now on `subject` ends with `who`.
function Mortals:note(who, subject)
  local share = self.shares[number_of(self, who) or enter(self, who)]
  local was_vacant = next(share) == nil
  share[subject] = true
  if was_vacant then self.vacant = self.vacant - 1 end
end

--- Removes the one with this number, who has nothing; the last one gets it. Allocates nothing, and calls nobody: after
--- an error there may be no room for that.
local function leave(mortals, number)
  local last, own, numbers = mortals.count, mortals.own, mortals.numbers
  local who, successor = mortals.whos[number], mortals.whos[last]
  if who and own[number] then
    who._mortals, who._number, who._finalizer = false, false, false
  elseif who then
    numbers[who] = nil
    mortals.finalizers[who] = nil
  end
  if number ~= last then
    mortals.shares[number] = mortals.shares[last]
    mortals.whos[number], own[number] = successor, own[last]
    if successor ~= nil and own[last] then
      successor._number = number
    elseif successor ~= nil then
      numbers[successor] = number
    end
  end
  mortals.shares[last], own[last] = nil, nil
  if successor ~= nil then mortals.whos[last] = nil end
  mortals.count, mortals.vacant = last - 1, mortals.vacant - 1
end

--- He has one thing less.
local function take_out(mortals, share, subject)
  if not share[subject] then return end
  share[subject] = nil
  if next(share) == nil then mortals.vacant = mortals.vacant + 1 end
end

--- Has he anything?
---@return boolean
function Mortals:has(who)
  local number = number_of(self, who)
  return number ~= nil and next(self.shares[number]) ~= nil
end

--- From now on `subject` does not end with `who`. A coroutine that has nothing any more keeps its number until `reap`
--- comes by: most take the same lock again. As few calls inside each other as can be: see `leave`.
---@param keeps boolean? what `owner.keeps_number` says of him
function Mortals:unnote(who, subject, keeps)
  local number = self.numbers[who]
  if keeps and who._mortals == self then number = who._number end
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
local function give_back(mortals, number)
  local who, share = mortals.whos[number], mortals.shares[number]
  for subject in pairs(share) do
    subject:abandon(who)
    take_out(mortals, share, subject)
  end
  if mortals.shares[number] == share then leave(mortals, number) end
end

--- From now on `subject` ends with `who`, if he is one who may come to his end.
function Mortals:bind(who, subject)
  if owner.is_mortal(who) then self:note(who, subject) end
end

--- The same, the other way round.
function Mortals:unbind(who, subject)
  if owner.is_mortal(who) then self:unnote(who, subject, owner.keeps_number(who)) end
end

local function abandon(mortals, who)
  local number = number_of(mortals, who)
  if number then give_back(mortals, number) end
end

--- Ends what somebody has who has come to his end.
function Mortals:abandon(who)
  quietly(abandon, self, who)
end

--- To look allocates: a finalizer may have removed him meanwhile, and another one may have his number.
local function look(mortals, number)
  local who, share = mortals.whos[number], mortals.shares[number]
  local is_dead = not who or owner.is_dead(who)
  if mortals.shares[number] ~= share then return end
  if is_dead then
    give_back(mortals, number)
  elseif next(share) == nil then
    leave(mortals, number)
  end
end

--- From the last to the first, and round. Those of whom there is nothing to say are passed over.
---@param shares table<integer, table>? so that those go, too, who have nothing
local function reap(mortals, most, shares)
  local left = math.min(most, mortals.count)
  while left > 0 do
    local at = mortals.at - 1
    if at < 1 or at > mortals.count then at = mortals.count end
    if at == 0 then return end
    local steps = math.min(left, at)
    local number = owner.first_to_look_at(mortals.whos, at, steps, shares)
    mortals.at = number or at - steps + 1
    left = left - (at - mortals.at + 1)
    if number then look(mortals, number) end
  end
end

--- Looks at so many of them, each in turn, and gives back what those have who have come to their end.
---@param most number? default: as many as are looked at in passing
function Mortals:reap(most)
  quietly(reap, self, most or IN_PASSING, self.vacant > 0 and self.shares or nil)
end

--- Likewise at a few. Who has nothing keeps his number: he may be the one who asks for something now.
function Mortals:glance()
  quietly(reap, self, FEW)
end

return Mortals
