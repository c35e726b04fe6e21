-- SPDX-License-Identifier: MIT
--- waits: how the calls of one client wait. A callback that waits is parked in the loop of the
--- client that began it, even while it waits for another client: the caller that runs callbacks
--- there goes on with the others. Every other caller waits as the host's loop does.
local blocking = require "zklock.loop.blocking"
local core = require "zklock.core"
local each = require "zklock.base.each"
local errors = require "zklock.base.errors"
local flat = require "zklock.base.flat"
local owner = require "zklock.owners.owner"
local yields = require "zklock.base.yields"

local quietly = core.quietly

local WEAK_KEYS, WEAK_VALUES = { __mode = "k" }, { __mode = "v" }

--- The coroutines that this library has created for callbacks of any client; no loop knows them.
--- Each has a reference to its home: the waits of the client in whose loop it parks.
local made = setmetatable({}, WEAK_KEYS)

--- An adapter waits for this.
---@class zklock.Waiter
---@field done boolean set when the wait is over
---@field deadline number? moment at which the wait ends in any case; nil: the engine ends it in
---  time
---@field due number|false moment by which the engine ends the wait; the adapter checks then
---@field told boolean it waits in `poll`, and a callback has run
---@field parks boolean in plain Lua 5.1, where callbacks block when they wait, this one is parked
---@field private _parked thread|false the callback that waits
---@field private _waits zklock.Waits|false of a parked one: those of the client that wakes it
---@field private _heap table|false the one that it is in, which owns `_rank` and `_moment`
---@field private _rank integer|false
---@field private _moment number
---@field private _woken boolean the loop knows that the wait is over
---@field private _next zklock.Waiter|false of the queue, as is `_number`: waking allocates nothing
---@field private _number integer
---@field thread thread|false for the adapter, as are the next three: the coroutine to resume
---@field semaphore any on which it sleeps
---@field is_asleep boolean whether it sleeps
---@field timer any ends the sleep in time
---@field private _place integer|false of a bag that the adapter may have
-- A table of 16 fields takes half the memory of one of 17, and nginx adds its semaphore, luv its timer. In LuaJIT a
-- deadline that is nil takes the room of a field, too.
local Waiter = { semaphore = false, timer = false, parks = false }
Waiter.__index = Waiter

--- How long it may still wait.
---@return number? seconds 0 when its time is over, nil when only `done` ends it
function Waiter:left()
  local deadline = self.deadline
  if not deadline then return nil end
  local left = deadline - core.now()
  return left > 0 and left or 0
end

---@class zklock.Waits
---@field protected fun(fn: function, ...): boolean, ... calls a function that may wait; as pcall
---  where that is possible
---@field private blocks boolean the loop is that of plain Lua
---@field private callbacks table<thread, any> the coroutines of callbacks, each with a value that
---  stays alive until the callback ends; weak
---@field private parked table<thread, zklock.Waiter> the coroutines that are parked here
---@field private abroad table<zklock.Waits, integer> how many of these wait for another client
---@field away integer how many in all
---@field private deadlines table a heap of the waiters that the dispatcher wakes
---@field private sleepers table<zklock.Waiter, boolean> those that `close` ends; weak
---@field private reference any[] to this table, weak
---@field private beginning any[] the caller that began to wait last, until its wait is over; weak
local Waits = {}
Waits.__index = Waits

--- The function that calls another one that may wait, and catches its errors where the coroutine
--- can be suspended inside such a call.
function Waits.protector(loop)
  return rawequal(loop, blocking) and pcall or yields.protected
end

---@param client zklock.Client the argument for the loop's adapter
---@param fifo table the queue of the next turn
function Waits.new(client, native, loop, lifetimes, fifo, reporter)
  local self = flat(Waits, {
    client = client,
    native = native,
    loop = loop,
    lifetimes = lifetimes,
    fifo = fifo,
    reporter = reporter,
    protected = Waits.protector(loop),
    blocks = rawequal(loop, blocking),
    callbacks = setmetatable({}, WEAK_KEYS),
    parked = {},
    abroad = {},
    away = 0,
    deadlines = core.heap(),
    sleepers = setmetatable({}, WEAK_KEYS),
    beginning = setmetatable({ false }, WEAK_VALUES),
  })
  self.reference = setmetatable({ self }, WEAK_VALUES)
  return self
end

---@param deadline number? moment, on the clock of core.now()
---@param due number? likewise
---@return zklock.Waiter
function Waits.new_waiter(deadline, due)
  return setmetatable({ deadline = deadline ~= math.huge and deadline or nil, due = due or false, done = false,
    thread = false, is_asleep = false, told = false, _parked = false, _waits = false, _woken = false, _next = false,
    _number = 0, _place = false, _heap = false, _rank = false, _moment = 0 }, Waiter)
end

--- A waiter of a function that sleeps under its hold. It is parked in plain Lua 5.1, too, because such
--- functions may go on for ever.
---@param deadline number? moment
---@return zklock.Waiter
function Waits.new_dozer(deadline)
  local waiter = Waits.new_waiter(deadline)
  if not yields.across_pcall then waiter.parks = true end
  return waiter
end

--- A set of waiters. Each is in it for as long as its coroutine waits.
---@return table<zklock.Waiter, boolean>
function Waits.new_set()
  return setmetatable({}, WEAK_KEYS)
end

--- Why no call can wait here: "closed", "forked", or what the loop says.
---@return string? err
function Waits:cannot_wait()
  local unusable = self.native:unusable()
  if unusable then return unusable end
  local can_wait = self.loop.can_wait
  if not can_wait then return nil end
  local ok, err = can_wait()
  return not ok and err or nil
end

--- The loop's advice, if the loop has refused a wait with this error.
local function advice(loop, err)
  if not err or not loop.can_wait then return nil end
  local _, refused, why = loop.can_wait()
  return refused == err and why or nil
end

--- The results of a call that failed. "disconnected" comes with its reason; a wait that the loop
--- has refused comes with the loop's advice.
---@param why string? known already
---@return nil
---@return string? err
---@return string? why
function Waits:failure(err, why)
  if why then return nil, err, why end
  if err == "disconnected" then return nil, err, self.native:trouble() end
  why = advice(self.loop, err)
  if why then return nil, err, why end
  return nil, err
end

--- A callback is about to run in this coroutine.
---@param keep any stays alive until the callback has returned
function Waits:adopt(thread, keep)
  made[thread] = self.reference
  self.callbacks[thread] = keep or true
end

--- True if the client of `waits` gets dispatched while a coroutine of this client waits for it. A
--- caller that turns this client's loop turns that one, too; only a host's loop does not.
local function is_turned(self, waits)
  return waits == self or not self.loop.watch or waits.loop.watch
end

--- Where one of our coroutines parks when it waits for the client of `waits`; nil: nowhere. If its
--- home is closed, it parks with that client. Nobody turns the loop of a forked home.
---@return zklock.Waits? home
local function home_of(thread, waits)
  local home = made[thread] and made[thread][1]
  local unusable = home and home.native:unusable()
  if unusable == "closed" then return waits end
  return home and not unusable and is_turned(home, waits) and home or nil
end

--- The home of the running coroutine, if it is a callback's and can be parked.
---@param parks boolean? as of a waiter
---@return zklock.Waits? home
local function parking_of(thread, waits, parks)
  if not thread or not made[thread] or not yields.can_pause(parks) then return nil end
  return home_of(thread, waits)
end

--- True if the running coroutine is a callback's and can be parked.
---@param parks boolean? as of a waiter
function Waits:parkable(parks)
  return parking_of(coroutine.running(), self, parks) ~= nil
end

--- True if the running coroutine would park here: it is a callback of this client, or of a closed
--- one.
function Waits:parks_here()
  return parking_of(coroutine.running(), self) == self
end

--- Waits as the loop does. The loop does not know the coroutines that this library has created for
--- callbacks, so those block, also if the callback is another client's.
---@param thread thread? the running coroutine
local function suspend(self, waiter, thread)
  local adapter = thread and made[thread] and blocking or self.loop
  return adapter.wait(self.client, waiter)
end

function Waits:suspend(waiter)
  return suspend(self, waiter, coroutine.running())
end

local function count_abroad(home, waits, by)
  if not waits or waits == home then return end
  local count = (home.abroad[waits] or 0) + by
  home.abroad[waits] = count > 0 and count or nil -- first: there may be no memory for it
  home.away = home.away + by
end

--- Makes the descriptor readable at the soonest deadline at the latest.
function Waits:set_alarm()
  local moment = self.deadlines.count > 0 and self.deadlines:next()
  if not moment then return end -- a hook may have taken it just now
  if moment <= core.now() then
    self.native:wake()
  else
    self.native:wake_at(moment)
  end
end

local function add_deadline(self, waiter, moment)
  self.deadlines:add(waiter, moment)
  if self.deadlines:next() == moment then self:set_alarm() end
end

local function park(home, thread, waiter, waits)
  home.lifetimes:note(thread, home)
  if waiter.deadline then add_deadline(home, waiter, waiter.deadline) end
  home.parked[thread] = waiter
  count_abroad(home, waits, 1)
  waiter._waits, waiter._parked = waits, thread
end

--- For its home, the coroutine's wait is over.
local function take_away(home, thread, waiter)
  home.parked[thread] = nil
  core.call_off(waiter)
  count_abroad(home, waiter._waits, -1)
  waiter._waits, waiter._parked = false, false
end

local function unpark(home, thread)
  local waiter = home.parked[thread]
  if not waiter then return end
  take_away(home, thread, waiter)
  home.lifetimes:unnote(thread, home)
end

--- `OwnerLifetimes` calls this once a parked coroutine has been collected.
function Waits:drop() end -- luacheck: ignore 212

--- `OwnerLifetimes` calls this once a parked coroutine has been closed.
function Waits:abandon(thread)
  local waiter = self.parked[thread]
  if waiter then take_away(self, thread, waiter) end
end

--- The running coroutine waits no longer: its wait is over, or an error was raised into it.
function Waits:unpark()
  local here = coroutine.running() or owner.main
  local home = made[here]
  quietly(unpark, home and home[1] or self, here) -- half of it would resume the coroutine elsewhere
  self.beginning[1] = false
end

local function wait(self, waiter, thread)
  local home = parking_of(thread, self, waiter.parks)
  if not home then return suspend(self, waiter, thread) end
  made[thread] = home.reference
  quietly(park, home, thread, waiter, self) -- `unpark` undoes all of it or nothing
  local parks = true
  while parks and not waiter.done do parks = yields.pause() end
  quietly(unpark, made[thread][1] or home, thread)
  if not parks then return suspend(self, waiter, thread) end
  waiter._woken = true -- no loop knows it
end

--- Waits until `waiter.done` or its deadline. A callback is parked; other callers wait as the loop
--- does.
function Waits:wait(waiter)
  local beginning, thread = self.beginning, coroutine.running() -- LuaJIT compiles no call of it
  beginning[1] = thread or owner.main
  if not waiter.done then wait(self, waiter, thread) end
  beginning[1] = false
end

--- In plain Lua: waits, without a waiter, until the hold waits no longer. If a finalizer or a hook takes the grant just
--- before the sleep, the descriptor is still readable, so this needs no `beginning`.
---@param here any the owner of a call that names none
---@return boolean waited false: here only a waiter can wait
---@return number? now as far as it is known
function Waits:await(hold, here)
  if not self.blocks or made[here] then return false end
  return true, self.client.dispatcher:await(hold)
end

--- The same for a wait with no other owner: an error that is raised into it leaves nothing behind.
function Waits:wait_alone(waiter)
  local ok, err = (waiter.parks and yields.protected or self.protected)(self.wait, self, waiter)
  core.call_off(waiter)
  if ok then return end
  self:unpark()
  error(err, 0)
end

--- An entry can be in one queue only.
local function take_out_of_queue(fifo, own)
  local last, entry = fifo.count, fifo:first()
  while entry and entry._number <= last do
    fifo:remove(entry)
    if entry.fn or entry._waits == own then fifo:append(entry) end
    entry = fifo:first()
  end
end

--- This client is closed. A coroutine that is parked here for another client moves to that client's
--- loop.
local function move_out(self)
  take_out_of_queue(self.fifo, self)
  for thread, waiter in each(self.parked) do
    local waits = waiter._waits
    if waits ~= self then
      unpark(self, thread)
      waits:adopt(thread, self.callbacks[thread])
      park(waits, thread, waiter, waits)
      if waiter.done then waits:resume_later(waiter) end
    end
  end
end

function Waits:close()
  quietly(move_out, self) -- a hook may let others park or go on, which changes the table
end

--- True if the running coroutine has just begun to wait. Then a finalizer or a debug hook runs in
--- between. The coroutine must sleep before another one wakes it.
function Waits:is_beginning()
  local beginner = self.beginning[1]
  return beginner and rawequal(beginner, coroutine.running() or owner.main) or false
end

--- The next turn resumes a coroutine that is parked here.
function Waits:resume_later(waiter)
  self.fifo:append(waiter)
  self.native:wake()
end

--- Ends the wait. A second call does nothing more.
function Waits:wake(waiter)
  waiter.done = true
  local home = waiter._parked and made[waiter._parked]
  home = home and home[1]
  if home then
    home:resume_later(waiter)
  elseif not waiter._woken then
    self.loop.wake(waiter)
    waiter._woken = true
  end
end

--- Ends the waits of all waiters in the set, and empties it. The set may change meanwhile: then this begins again at
--- its front.
---@param told boolean? true: a callback has run
function Waits:wake_all(set, told)
  local waiter = next(set)
  while waiter do
    if told then waiter.told = true end
    self:wake(waiter)
    set[waiter] = nil
    local ok, following = pcall(next, set, waiter)
    waiter = ok and following or next(set)
  end
end

--- Ends the waits whose deadline has passed.
---@return boolean looked false: no wait has a deadline
function Waits:wake_due()
  local deadlines, now = self.deadlines, core.now()
  if deadlines.count == 0 then return false end
  local waiter = deadlines:take(now)
  while waiter do
    if waiter.fire then waiter.fire() else self:wake(waiter) end
    waiter = deadlines:take(now)
  end
  return true
end

--- The clients that coroutines parked here wait for, and those that theirs wait for, and so on.
--- They have to be turned with this one. Only called if there is at least one.
---@return zklock.Waits[]
local function companions(self)
  local list, known, at = {}, { [self] = true }, 0
  local waits = self
  while waits do
    for other in each(waits.abroad) do
      if not known[other] then
        known[other] = true
        list[#list + 1] = other
      end
    end
    at = at + 1
    waits = list[at]
  end
  return list
end

---@return zklock.Waits[]? usually nil
function Waits:companions()
  return self.away > 0 and companions(self) or nil
end

-- ---- alarms

--- Calls a function at a moment.
---@class zklock.Alarm
---@field fire fun() called by the dispatcher, inside `quietly`; it must not raise

---@return zklock.Alarm
function Waits.new_alarm(fire)
  return { fire = fire, _heap = false, _rank = false, _moment = 0 }
end

--- Sets when the alarm fires, once.
function Waits:ring_at(moment, alarm)
  add_deadline(self, alarm, moment)
end

--- The alarm does not fire.
function Waits:call_off(alarm) -- luacheck: ignore 212
  core.call_off(alarm)
end

-- ---- sleep

--- One turn of a loop that does not call the dispatcher; seconds.
local ONE_TURN = 0.001

--- Sets when the wait ends. In a loop that calls the dispatcher, the dispatcher ends it.
local function set_moment(self, waiter, moment)
  local loop = self.loop
  if moment == math.huge then return end
  if self:parkable(waiter.parks) or self.blocks then
    waiter.deadline = moment
  elseif loop.watch then
    add_deadline(self, waiter, moment)
  else
    waiter.deadline = math.max(moment, core.now() + ONE_TURN)
  end
end

--- Waits until that moment, or until the client is closed.
---@param waiter zklock.Waiter? a new one, which the caller may also wake
---@return boolean? ok
---@return string? err "closed", "forked", or why it cannot wait here
function Waits:sleep(moment, waiter)
  local refused = self:cannot_wait()
  if refused then return nil, refused end
  waiter = waiter or self.new_waiter()
  self.sleepers[waiter] = true
  set_moment(self, waiter, moment)
  self:wait_alone(waiter)
  local unusable = self.native:unusable()
  if unusable then return nil, unusable end
  return true
end

--- Gives the others one turn, also after `close`. Where it cannot wait, it returns at once.
---@param is_first boolean true: if the client is closed, a coroutine that is parked here goes on at
---  once: perhaps nobody polls a closed client
function Waits:give_turn(is_first)
  local can_wait, unusable = self.loop.can_wait, self.native:unusable()
  if unusable == "forked" or can_wait and not can_wait() then return end
  if is_first and unusable and self:parkable(true) then return end
  if unusable then return self:wait_alone(self.new_dozer(core.now() + ONE_TURN)) end
  self:sleep(core.now() + ONE_TURN, self.new_dozer())
end

--- Ends all sleeps.
function Waits:end_sleep()
  self:wake_all(self.sleepers)
end

--- Resumes the callback whose waiter is next in the queue.
function Waits:continue(waiter)
  local thread, fifo = waiter._parked, self.fifo
  local waits = thread and self.parked[thread] == waiter and coroutine.status(thread) == "suspended"
  if not waits then return fifo:remove(waiter) end -- it was closed meanwhile
  local ok, err = core.resume(thread, fifo.remove, false, fifo, waiter)
  if not ok then self.reporter:tell(errors.traceback(thread, err)) end
end

return Waits
