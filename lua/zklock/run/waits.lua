--- waits: how the calls of one client wait. A callback that waits is parked in the loop of the client that has begun
--- it, also when it waits for another client: whoever runs callbacks there goes on with the others. Every other caller
--- waits in the way of the host's loop.
local Deadlines = require "zklock.run.deadlines"
local blocking = require "zklock.loop.blocking"
local core = require "zklock.core"
local errors = require "zklock.base.errors"
local owner = require "zklock.owners.owner"
local protected = require "zklock.base.protected"

local quietly = core.quietly

local WEAK_KEYS, WEAK_VALUES = { __mode = "k" }, { __mode = "v" }

--- Coroutines that this library has made for callbacks, whichever client's: no loop knows them. Each with a reference
--- to the waits of the client in whose loop it parks, its home.
local made = setmetatable({}, WEAK_KEYS)

--- No more empty sets than these are kept.
local SPARE_MOST = 64

-- Not in plain Lua 5.1.
local yields_across_pcall = protected == pcall

-- Lua 5.2 cannot tell whether a coroutine may be suspended: there a callback is taken to be one that may, until its
-- yield has failed.
local is_yieldable = coroutine.isyieldable or function() return true end

--- Suspends a callback; false: it cannot be suspended.
local function suspended()
  coroutine.yield()
  return true
end

local pause = coroutine.isyieldable and suspended or function()
  local ok, err = pcall(coroutine.yield)
  if not ok and not tostring(err):find("attempt to yield", 1, true) then error(err, 0) end
  return ok
end

--- The thing that an adapter waits for.
---@class zklock.Waiter
---@field done boolean set when the wait is over
---@field deadline number? moment at which it is over all the same; nil: the engine ends it in time
---@field due number|false moment at which the engine ends it, at the latest: only to look then whether it has
---@field told boolean it waits in `poll`, and has been told of a callback
---@field private _parked thread|false the callback that waits
---@field private _waits zklock.Waits|false of a parked one: of the client that wakes it
---@field private _deadlines zklock.Deadlines|false those it is in, with `_rank` and `_moment` theirs
---@field private _rank integer|false
---@field private _moment number
---@field private _woken boolean the loop has been told that the wait is over
---@field private _next zklock.Waiter|false with `_number` the queue's: to wake somebody allocates nothing
---@field private _number integer
---@field thread thread|false the adapter's, as other names are; for these there is room: the coroutine to be resumed
---@field semaphore any what it sleeps on
---@field is_asleep boolean whether it does
---@field timer any and what tells that the time is over
---@field private _place integer|false of a bag that the adapter may have
-- nginx adds its semaphore later: a table of 16 fields takes half the memory of one of 17.
local Waiter = { semaphore = false }
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
---@field protected fun(fn: function, ...): boolean, ... calls what may wait; as pcall where that can be done
---@field private callbacks table<thread, any> the coroutines in which callbacks run, each with what is not collected
---  before its end; weak
---@field private spare table[] sets of waiters that are empty
---@field private parked table<thread, zklock.Waiter> the coroutines that are parked here
---@field private abroad table<zklock.Waits, integer> how many of them wait for another client
---@field private deadlines zklock.Deadlines of waiters that the dispatcher ends
---@field private sleepers table<zklock.Waiter, boolean> those that `close` ends; weak
---@field private reference any[] to this table, weak
---@field private beginning any[] the one who began to wait last, until his wait is over; weak
local Waits = {}
Waits.__index = Waits

Waits.yields_across_pcall = yields_across_pcall

--- Calls what may wait, and catches what is raised, where a coroutine can be suspended inside of such a call.
function Waits.protector(loop)
  return rawequal(loop, blocking) and pcall or protected
end

---@param client zklock.Client what the loop's adapter is given
---@param fifo table the queue of what the next turn goes on with
function Waits.new(client, native, loop, lifetimes, fifo, reporter)
  local self = setmetatable({
    client = client,
    native = native,
    loop = loop,
    lifetimes = lifetimes,
    fifo = fifo,
    reporter = reporter,
    protected = Waits.protector(loop),
    callbacks = setmetatable({}, WEAK_KEYS),
    parked = {},
    abroad = {},
    deadlines = Deadlines.new(),
    sleepers = setmetatable({}, WEAK_KEYS),
    spare = {},
    beginning = setmetatable({ false }, WEAK_VALUES),
  }, Waits)
  self.reference = setmetatable({ self }, WEAK_VALUES)
  return self
end

---@param deadline number? moment as core.now() counts them
---@param due number? likewise
---@return zklock.Waiter
function Waits.new_waiter(deadline, due)
  return setmetatable({ deadline = deadline ~= math.huge and deadline or nil, due = due or false, done = false,
    thread = false, is_asleep = false, timer = false, told = false, _parked = false,
    _waits = false, _woken = false, _next = false, _number = 0, _place = false, _deadlines = false, _rank = false,
    _moment = 0 }, Waiter)
end

--- A set of waiters, which does not keep them from being collected. Empty ones are kept for the next who wait.
---@return table<zklock.Waiter, boolean>
function Waits:take_set()
  local spare = self.spare
  local set = spare[#spare]
  if not set then return setmetatable({}, WEAK_KEYS) end
  spare[#spare] = nil
  return set
end

--- Nobody else has it, and it is empty.
function Waits:put_back_set(set)
  local spare = self.spare
  if #spare < SPARE_MOST then spare[#spare + 1] = set end
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

--- The advice of the loop that has refused a wait with this error.
local function advice(loop, err)
  if not err or not loop.can_wait then return nil end
  local _, refused, why = loop.can_wait()
  return refused == err and why or nil
end

--- The answer of a call that did not get what it asked for. Without a server in reach it has the reason; where the loop
--- cannot wait, it has the loop's advice.
---@return nil
---@return string? err
---@return string? why
function Waits:failure(err)
  if err == "disconnected" then return nil, err, self.native:trouble() end
  local why = advice(self.loop, err)
  if why then return nil, err, why end
  return nil, err
end

--- A callback is about to run in this coroutine.
---@param keep any what is not collected before it has returned
function Waits:adopt(thread, keep)
  made[thread] = self.reference
  self.callbacks[thread] = keep or true
end

--- Is there somebody who has the client of `waits` dispatched while a coroutine of this one's waits for it? Whoever
--- turns this client's loop turns that one, too; only a host's loop does not.
local function is_turned(self, waits)
  return waits == self or not self.loop.watch or waits.loop.watch
end

--- Where a coroutine of ours parks that waits for the client of `waits`; nil: nowhere. One whose home is closed parks
--- where it waits; nobody turns the loop of a forked one.
---@return zklock.Waits? home
local function home_of(thread, waits)
  local home = made[thread] and made[thread][1]
  local unusable = home and home.native:unusable()
  if unusable == "closed" then return waits end
  return home and not unusable and is_turned(home, waits) and home or nil
end

--- The running coroutine and its home, if it is a callback's and may be parked.
---@return thread? thread
---@return zklock.Waits? home
function Waits:parkable()
  local thread = coroutine.running()
  if not yields_across_pcall or not thread or not made[thread] or not is_yieldable() then return nil end
  local home = home_of(thread, self)
  if home then return thread, home end
  return nil
end

--- Would the running coroutine be parked here: as a callback of this client, or of one that is closed?
function Waits:parks_here()
  local _, home = self:parkable()
  return home == self
end

--- Waits in the way of the loop. The coroutine of a callback that this library has made is unknown to the loop: it
--- blocks, also when the callback is another client's.
function Waits:suspend(waiter)
  local thread = coroutine.running()
  local adapter = thread and made[thread] and blocking or self.loop
  return adapter.wait(self.client, waiter)
end

local function count_abroad(home, waits, by)
  if not waits or waits == home then return end
  local count = (home.abroad[waits] or 0) + by
  home.abroad[waits] = count > 0 and count or nil
end

--- The descriptor is readable at the soonest deadline, at the latest.
function Waits:set_alarm()
  local moment = self.deadlines:next()
  if not moment then return end
  if moment <= core.now() then self.native:wake() else self.native:wake_at(moment) end
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

--- It waits no more, as far as its home knows.
local function take_away(home, thread, waiter)
  home.parked[thread] = nil
  Deadlines.remove(waiter)
  count_abroad(home, waiter._waits, -1)
  waiter._waits, waiter._parked = false, false
end

local function unpark(home, thread)
  local waiter = home.parked[thread]
  if not waiter then return end
  take_away(home, thread, waiter)
  home.lifetimes:unnote(thread, home)
end

--- `OwnerLifetimes` calls this when a parked coroutine was collected.
function Waits:drop() end -- luacheck: ignore 212

--- `OwnerLifetimes` calls this when somebody has closed a parked coroutine.
function Waits:abandon(thread)
  local waiter = self.parked[thread]
  if waiter then take_away(self, thread, waiter) end
end

--- An error was raised into the wait of the running coroutine: it is in none any more.
---@param here thread|table the running coroutine, or what stands for the main program
function Waits:unpark(here)
  local home = made[here]
  unpark(home and home[1] or self, here)
  self.beginning[1] = false
end

local function wait(self, waiter)
  local thread, home = self:parkable()
  if not thread then return self:suspend(waiter) end
  made[thread] = home.reference
  quietly(park, home, thread, waiter, self)
  local parks = true
  while parks and not waiter.done do parks = pause() end
  quietly(unpark, made[thread][1] or home, thread)
  if not parks then self:suspend(waiter) end
end

--- Waits until `waiter.done`, or its deadline: a callback parked, everybody else in the way of the loop.
function Waits:wait(waiter)
  local beginning = self.beginning
  beginning[1] = coroutine.running() or owner.main
  if not waiter.done then wait(self, waiter) end
  beginning[1] = false
end

--- The same for a wait that is nobody else's: an error that is raised into it leaves nothing behind.
function Waits:wait_alone(waiter)
  local here = owner.current()
  local ok, err = self.protected(self.wait, self, waiter)
  quietly(Deadlines.remove, waiter)
  if ok then return end
  quietly(self.unpark, self, here)
  error(err, 0)
end

--- This client is at its end: whoever is parked here for another one goes on in that one's loop.
local function move_out(self)
  for thread, waiter in pairs(self.parked) do
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
  quietly(move_out, self)
end

--- Does the running coroutine begin to wait? Then what runs is a finalizer or a debug hook, which came between: whoever
--- is to be woken must sleep before that.
function Waits:is_beginning()
  return rawequal(self.beginning[1], coroutine.running() or owner.main)
end

--- The next turn resumes a coroutine that is parked here.
function Waits:resume_later(waiter)
  self.fifo:append(waiter)
  self.native:wake()
end

--- Ends the wait. Twice is fine; the loop is told once.
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

--- Ends the waits of a set, which is empty then.
function Waits:wake_all(set)
  for waiter in pairs(set) do
    self:wake(waiter)
    set[waiter] = nil
  end
end

local function wake_due(self)
  local deadlines, now = self.deadlines, core.now()
  local waiter = deadlines:take(now)
  while waiter do
    self:wake(waiter)
    waiter = deadlines:take(now)
  end
end

--- Ends the waits whose deadline is over.
function Waits:wake_due()
  if self.deadlines:next() then quietly(wake_due, self) end
end

--- The clients for which coroutines wait that are parked here, and so on: they are to be turned with this one. Only
--- called when there is one.
---@return zklock.Waits[]
local function companions(self)
  local list, known, at = {}, { [self] = true }, 0
  local waits = self
  while waits do
    for other in pairs(waits.abroad) do
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

local NONE = {}

---@return zklock.Waits[] none, in most cases
function Waits:companions()
  return next(self.abroad) and companions(self) or NONE
end

-- ---- sleep

--- A turn of the loop, where no dispatcher ends it; seconds.
local ONE_TURN = 0.001

--- Says when the wait ends: in a loop that calls the dispatcher that one ends it, at once in its next turn.
local function set_moment(self, waiter, moment)
  local loop = self.loop
  if moment == math.huge then return end
  if self:parkable() or loop == blocking then
    waiter.deadline = moment
  elseif loop.watch then
    quietly(add_deadline, self, waiter, moment)
  else
    waiter.deadline = math.max(moment, core.now() + ONE_TURN)
  end
end

--- Waits until that moment, or until the client is closed.
---@return boolean? ok
---@return string? err "closed", "forked", or why it cannot wait here
function Waits:sleep(moment)
  local refused = self:cannot_wait()
  if refused then return nil, refused end
  local waiter = self.new_waiter()
  self.sleepers[waiter] = true
  set_moment(self, waiter, moment)
  self:wait_alone(waiter)
  local unusable = self.native:unusable()
  if unusable then return nil, unusable end
  return true
end

--- Ends the waits of those who sleep.
function Waits:end_sleep()
  if next(self.sleepers) then quietly(self.wake_all, self, self.sleepers) end
end

--- Resumes the callback whose waiter is the next in the queue.
function Waits:continue(waiter)
  local thread, fifo = waiter._parked, self.fifo
  local waits = thread and self.parked[thread] == waiter and coroutine.status(thread) == "suspended"
  if not waits then return quietly(fifo.remove, fifo) end -- it was closed meanwhile
  local ok, err = core.resume(thread, fifo.remove, fifo, nil)
  if not ok then self.reporter:tell(errors.traceback(thread, err)) end
end

return Waits
