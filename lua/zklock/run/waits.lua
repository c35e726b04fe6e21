--- waits: how the calls of one client wait. A callback that waits is parked: the poll that runs it goes on with the
--- other callbacks. Everybody else waits in the way of the host's loop.
local blocking = require "zklock.loop.blocking"
local core = require "zklock.core"
local errors = require "zklock.base.errors"
local owner = require "zklock.owners.owner"
local protected = require "zklock.base.protected"

local quietly = core.quietly

local WEAK_KEYS = { __mode = "k" }

--- Coroutines that this library has made for callbacks, whichever client's: no loop knows them.
local made = setmetatable({}, WEAK_KEYS)

--- No more empty sets than these are kept.
local SPARE_MOST = 64

-- Not in plain Lua 5.1.
local yields_across_pcall = protected == pcall

-- Lua 5.2 cannot tell whether a coroutine may be suspended: there a callback is taken to be one that may.
local is_yieldable = coroutine.isyieldable or function() return true end

--- What an adapter is given to wait for.
---@class zklock.Waiter
---@field done boolean set when the wait is over
---@field deadline number? moment at which it is over all the same; nil: the engine ends it in time
---@field due number|false moment at which the engine ends it, at the latest: only to look then whether it has
---@field private _parked thread|false the callback that waits
---@field private _woken boolean the loop has been told that the wait is over
---@field private _next zklock.Waiter|false with `_number` the queue's: to wake somebody allocates nothing
---@field private _number integer
---@field thread thread|false the adapter's, as other names are; for these there is room: the coroutine to be resumed
---@field timer any and what tells that the time is over
---@field private _place integer|false of a bag that the adapter may have
local Waiter = {}
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
---@field private parked table<thread, zklock.Waiter> those of them that wait
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
function Waits.new(client, native, loop, mortals, fifo, reporter)
  return setmetatable({
    client = client,
    native = native,
    loop = loop,
    mortals = mortals,
    fifo = fifo,
    reporter = reporter,
    protected = Waits.protector(loop),
    callbacks = setmetatable({}, { __mode = "k" }),
    parked = {},
    spare = {},
    beginning = setmetatable({ false }, { __mode = "v" }),
  }, Waits)
end

---@param deadline number? moment as core.now() counts them
---@param due number? likewise
---@return zklock.Waiter
function Waits.new_waiter(deadline, due)
  return setmetatable({ deadline = deadline ~= math.huge and deadline or nil, due = due or false, done = false,
    thread = false, timer = false, _parked = false, _woken = false, _next = false, _number = 0, _place = false },
    Waiter)
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

--- What a call answers that waited in vain: where no server is in reach, with the reason.
---@return nil
---@return string? err
---@return string? why
function Waits:failure(err)
  if err == "disconnected" then return nil, err, self.native:trouble() end
  return nil, err
end

--- A callback is about to run in this coroutine.
---@param keep any what is not collected before it has returned
function Waits:adopt(thread, keep)
  made[thread] = true
  self.callbacks[thread] = keep or true
end

--- The running coroutine, if it is a callback's and may be parked.
function Waits:parkable()
  local thread = coroutine.running()
  return yields_across_pcall and thread and self.callbacks[thread] and is_yieldable() and thread or nil
end

--- Waits in the way of the loop. The coroutine of a callback that this library has made is unknown to the loop: it
--- blocks, also when the callback is another client's.
function Waits:suspend(waiter)
  local thread = coroutine.running()
  local adapter = thread and made[thread] and blocking or self.loop
  return adapter.wait(self.client, waiter)
end

local function park(self, thread, waiter)
  self.mortals:note(thread, self)
  self.parked[thread] = waiter
  waiter._parked = thread
end

local function unpark(self, thread)
  local waiter = self.parked[thread]
  if not waiter then return end
  waiter._parked = false
  self.parked[thread] = nil
  self.mortals:unnote(thread, self)
end

--- For the mortals: a parked coroutine was collected.
function Waits:drop() end -- luacheck: ignore 212

--- For the mortals: somebody has closed a parked coroutine.
function Waits:abandon(thread)
  if self.parked[thread] then self.parked[thread] = nil end
end

--- An error was raised into the wait of the running coroutine: it is in none any more.
---@param here thread|table the running coroutine, or what stands for the main program
function Waits:unpark(here)
  unpark(self, here)
  self.beginning[1] = false
end

local function wait(self, waiter)
  local thread = self:parkable()
  -- Nothing would wake a parked one at a deadline of its own: it waits as the main program does.
  if not thread or waiter.deadline then return self:suspend(waiter) end
  quietly(park, self, thread, waiter)
  while not waiter.done do coroutine.yield() end
  quietly(unpark, self, thread)
end

--- Waits until `waiter.done`: a callback parked, everybody else in the way of the loop.
function Waits:wait(waiter)
  local beginning = self.beginning
  beginning[1] = coroutine.running() or owner.main
  if not waiter.done then wait(self, waiter) end
  beginning[1] = false
end

--- Does the running coroutine begin to wait? Then what runs is a finalizer or a debug hook, which came between: whoever
--- is to be woken must sleep before that.
function Waits:is_beginning()
  return rawequal(self.beginning[1], coroutine.running() or owner.main)
end

--- Ends the wait. Twice is fine; the loop is told once.
function Waits:wake(waiter)
  waiter.done = true
  if waiter._parked then
    self.fifo:append(waiter)
    self.native:wake()
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

--- Resumes the callback whose waiter is the next in the queue.
function Waits:continue(waiter)
  local thread, fifo = waiter._parked, self.fifo
  local waits = thread and self.parked[thread] == waiter and coroutine.status(thread) == "suspended"
  if not waits then return quietly(fifo.remove, fifo) end -- it was closed meanwhile
  local ok, err = core.resume(thread, fifo.remove, fifo, nil)
  if not ok then self.reporter:tell(errors.traceback(thread, err)) end
end

return Waits
