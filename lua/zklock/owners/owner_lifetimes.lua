-- SPDX-License-Identifier: MIT
--- owner_lifetimes: the owners that can end while they hold or wait: coroutines, requests of locks,
--- requests of nginx. Each owner has a share: the set of its holds and waits. Nothing reports the
--- end of an owner, so the client checks its owners. When it finds one that has ended, it gives the
--- holds back.
local each = require "zklock.base.each"
local finalizer = require "zklock.base.finalizer"
local flat = require "zklock.base.flat"
local core = require "zklock.core"
local owner = require "zklock.owners.owner"

local quietly = core.quietly

--- How many owners a reap in passing checks.
local IN_PASSING = 64
--- How many owners each acquire checks. A caller that waits checks more.
local FEW = 4

--- Owners have numbers from 1 to `count`. An owner's number changes when another owner leaves.
---@class zklock.OwnerLifetimes
---@field private whos table<integer, any> weak
---@field private shares table<integer, table<table, boolean>> by number: the owner's things, which
---  have `drop()` and `abandon(who)`; `who` is nil if the owner was collected
---@field private numbers table<any, integer> weak
---@field private own table<integer, boolean|"kept"> by number: the owner stores its number itself; "kept": and is of a
---  kept class, so its end is reported
---@field private finalizers table<any, any> weak
---@field count integer
---@field private vacant integer how many of them have an empty share
---@field private unreported integer how many of them may end without notice
---@field private entering boolean? an owner gets its number now: a finalizer that runs meanwhile
---  removes no owner
---@field private at integer the owner that was checked last
---@field private others table|false with `reap(most)`: checks owners that have no number
local OwnerLifetimes = {}
OwnerLifetimes.__index = OwnerLifetimes

local function weak(mode)
  return setmetatable({}, { __mode = mode })
end

function OwnerLifetimes.new()
  return flat(OwnerLifetimes, {
    whos = weak "v",
    shares = {},
    numbers = weak "k",
    own = {},
    finalizers = weak "k",
    count = 0,
    vacant = 0,
    unreported = 0,
    at = 0,
    others = false,
  })
end

--- The owner was collected: the engine releases its holds at once, and the next `reap` does the
--- rest. In LuaJIT and Lua 5.1 this runs one cycle of the collector later, because they collect the
--- value of a weak key after the key.
local function drop_all(share)
  for subject in each(share) do subject:drop() end
end

--- The owner's number, if it has one. Our own objects store it themselves, for the first client
--- that gives them one.
local function number_of(lifetimes, who)
  if owner.keeps_number(who) and who._lifetimes == lifetimes then return who._number end
  return lifetimes.numbers[who]
end

--- Gives the owner a number. Each allocation here may run a finalizer. The finalizer may end the
--- holds of other owners; if it polls, other owners, or this one, may enter.
local function enter(lifetimes, who)
  local share = {}
  local is_kept = owner.is_kept(who)
  local finalizer_of_share = not is_kept and finalizer(share, drop_all)
  local number = number_of(lifetimes, who)
  if number then return number end
  if is_kept and not who._lifetimes then who:set_busy(true) end
  lifetimes.entering, number = true, lifetimes.count + 1
  lifetimes.shares[number] = share
  lifetimes.whos[number] = who
  local own = owner.keeps_number(who) and not who._lifetimes
  lifetimes.own[number] = own and is_kept and "kept" or own
  if own then
    who._lifetimes, who._number, who._finalizer = lifetimes, number, finalizer_of_share
  else
    lifetimes.finalizers[who] = finalizer_of_share
    lifetimes.numbers[who] = number
  end
  lifetimes.count, lifetimes.vacant = number, lifetimes.vacant + 1
  if lifetimes.own[number] ~= "kept" then lifetimes.unreported = lifetimes.unreported + 1 end
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

--- Removes the owner with this number, whose share is empty; the last owner gets its number.
--- Allocates nothing and calls nothing: after an error there may be no room for that.
local function leave(lifetimes, number)
  local last, own, numbers = lifetimes.count, lifetimes.own, lifetimes.numbers
  local who, successor = lifetimes.whos[number], lifetimes.whos[last]
  if own[number] ~= "kept" then lifetimes.unreported = lifetimes.unreported - 1 end
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

local function take_out(lifetimes, share, subject)
  if not share[subject] then return end
  share[subject] = nil
  if next(share) == nil then lifetimes.vacant = lifetimes.vacant + 1 end
end

--- True if the owner holds or waits for anything.
---@return boolean
function OwnerLifetimes:has(who)
  local number = number_of(self, who)
  return number ~= nil and next(self.shares[number]) ~= nil
end

--- From now on `subject` does not end with `who`. A coroutine with an empty share keeps its number
--- until the next `reap`, because most coroutines take the same lock again. This nests as few calls
--- as possible: see `leave`.
---@param keeps boolean? the result of `owner.keeps_number(who)`
function OwnerLifetimes:unnote(who, subject, keeps)
  local own = keeps and who._lifetimes == self
  local number = self.numbers[who]
  if own then number = who._number end
  local share = number and self.shares[number]
  if not share then return end
  local had = share[subject]
  if had then share[subject] = nil end
  if next(share) ~= nil then return end
  if had then self.vacant = self.vacant + 1 end
  if type(who) == "thread" or self.entering then return end
  leave(self, number)
  if own and who.set_busy then who:set_busy(who._number ~= false) end
end

--- Gives back the holds of an owner that has ended. Each thing removes itself from the share, and
--- the last one may remove the owner.
local function give_back(lifetimes, number)
  local who, share = lifetimes.whos[number], lifetimes.shares[number]
  for subject in each(share) do
    subject:abandon(who)
    take_out(lifetimes, share, subject)
  end
  if lifetimes.shares[number] == share then leave(lifetimes, number) end
end

local function abandon(lifetimes, who)
  local number = number_of(lifetimes, who)
  if number then give_back(lifetimes, number) end
end

--- Ends the holds and waits of an owner that has ended.
function OwnerLifetimes:abandon(who)
  quietly(abandon, self, who)
end

--- The check allocates, so a finalizer may remove the owner meanwhile, and another owner may get
--- its number.
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

--- Checks owners from the last to the first, and then from the last again. Skips those with nothing
--- to note. The last owner gets the number of one that leaves: if all are checked, it has to be one
--- of those that were.
---@param shares table<integer, table>? given: also removes owners with an empty share
local function reap(lifetimes, most, shares)
  local left = math.min(most, lifetimes.count)
  if left == lifetimes.count then lifetimes.at = 0 end
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

--- A `reap` also calls `others:reap(most)`.
function OwnerLifetimes:also_reap(others)
  self.others = others
end

--- Checks so many owners, each in turn, and gives back the holds of those that have ended.
---@param most number? default: IN_PASSING
function OwnerLifetimes:reap(most)
  most = most or IN_PASSING
  local has_vacant = self.vacant > 0
  if self.unreported > 0 or has_vacant then quietly(reap, self, most, has_vacant and self.shares or nil) end
  if self.others then self.others:reap(most) end
end

--- Checks a few owners. One with an empty share keeps its number: it may be about to ask for a
--- lock.
function OwnerLifetimes:glance()
  if self.unreported > 0 then quietly(reap, self, FEW) end
end

return OwnerLifetimes
