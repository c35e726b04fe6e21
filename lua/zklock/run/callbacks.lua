--- callbacks: those of requests and listeners that are to be called. Each runs in a coroutine of its own, which the
--- loop makes if it can, and may wait.
local Waits = require "zklock.run.waits"
local core = require "zklock.core"
local errors = require "zklock.base.errors"
local owner = require "zklock.owners.owner"

local quietly = core.quietly
--- So many callbacks run inside each other. In plain Lua 5.1 each one that waits runs the others; there the C stack is
--- the bound, elsewhere Lua itself allows 200 calls of C functions inside each other.
local DEEPEST = Waits.yields_across_pcall and 20 or 150
local unpack = table.unpack or unpack -- luacheck: ignore 113

--- A callback with its arguments. It is made before there is anything to tell, so that telling allocates nothing.
---@class zklock.Call
---@field begun boolean
---@field private _next zklock.Call|false with `_number` the queue's
---@field package fn function
---@field package keep any not collected before the callback has returned
---@field package hold zklock.Hold|false it is not called when this hold has ended before
---@field package failed (fun())|false called when an error has ended the callback

---@class zklock.Callbacks
---@field begun integer how many callbacks have begun so far
---@field resumed integer how often one that waited has gone on
---@field unsure boolean an error has ended a callback that tells again, and perhaps nobody was told of that
---@field private pollers table<zklock.Waiter, boolean> those who wait in `poll` until a callback has run; weak
local Callbacks = {}
Callbacks.__index = Callbacks

---@param fifo table the queue, in which the waits put the callbacks that may go on
function Callbacks.new(client, loop, waits, fifo, lifetimes, reporter)
  return setmetatable({
    client = client,
    loop = loop,
    waits = waits,
    fifo = fifo,
    lifetimes = lifetimes,
    reporter = reporter,
    begun = 0,
    resumed = 0,
    unsure = false,
    pollers = setmetatable({}, { __mode = "k" }),
  }, Callbacks)
end

--- A call with room for as many arguments as are given here.
---@return zklock.Call
function Callbacks.new_call(fn, ...)
  return { _next = false, _number = 0, fn = fn, keep = false, hold = false, failed = false,
    begun = false, count = select("#", ...), ... }
end

--- `what` is not collected before the callback has returned.
function Callbacks.keep_with(call, what)
  call.keep = what
end

--- The callback is not called if this hold has ended by then.
function Callbacks.only_while_held(call, hold)
  call.hold = hold
end

--- fn() is called after an error that has ended the callback.
function Callbacks.on_failure(call, fn)
  call.failed = fn
end

--- The callback is not called any more.
function Callbacks.revoke(call)
  call.begun = true
end

--- The next turn calls it, with these arguments. Allocates nothing unless there is a fourth argument.
---@param fn function
---@param d any a fourth argument, of a call with room for three; nil: the callback gets three
function Callbacks:tell(call, fn, a, b, c, d)
  call.fn, call[1], call[2] = fn, a, b
  if call.count > 2 then call[3] = c end
  if not rawequal(d, nil) then call[4], call.count = d, 4 end
  self.fifo:append(call)
end

--- The same once more, unless it is queued. Allocates nothing but, in Lua 5.4, room for nested calls: an error that is
--- raised into this leaves the call as one that has begun.
---@param call zklock.Call
function Callbacks:tell_again(call, fn, a)
  if not call.begun then return end
  self:tell(call, fn, a)
  call.begun = false
end

--- The next turn calls a function.
function Callbacks:later(fn, ...)
  self.fifo:append(self.new_call(fn, ...))
end

--- Is anything left for the next turn?
function Callbacks:is_pending()
  return self.fifo:first() ~= nil
end

--- Its first entry is the innermost callback that runs here, of all clients. An error may have left there one that has
--- ended.
local innermost = setmetatable({ false }, { __mode = "v" })
--- How many callbacks ran inside each other when one was resumed last.
local depths = setmetatable({}, { __mode = "k" })

local function depth()
  local thread = innermost[1]
  local status = thread and coroutine.status(thread)
  return (status == "normal" or status == "running") and depths[thread] or 0
end

--- This coroutine runs a callback from now on.
---@return thread? former the innermost one so far
local function go_in(thread)
  local former = innermost[1]
  depths[thread] = depth() + 1
  innermost[1] = thread
  return former
end

local function go_out(former)
  innermost[1] = former
end

--- Is anything left that can be called now? Callbacks that wait and cannot be parked, and those that poll in a loop,
--- run others inside of them, up to a bound.
function Callbacks:is_due()
  return self.fifo:first() ~= nil and depth() < DEEPEST
end

--- The body of a callback's own coroutine: nothing comes after the callback.
local function body(fn, ...)
  return fn(...)
end

--- A loop may have begun it and failed then, and the hold that it is about may have ended.
local function is_due(call)
  return not call.begun and not (call.hold and call.hold.state ~= "held")
end

--- From here on what is raised is the callback's own business.
local function set_begun(self, call)
  call.begun = true
  self.begun = self.begun + 1
end

--- Nothing can raise after the call has left the queue.
local function take_out(self, call)
  self.fifo:remove()
  call.begun = true
  self.begun = self.begun + 1
end

--- It has not begun after all, and is the first of the next turn.
local function take_back(self, call)
  call.begun = false
  self.begun = self.begun - 1
  self.fifo:put_back(call)
end

--- It has been told: what it was told of may be collected, also while the call is not. Unless it is to be told again.
local function forget_arguments(call)
  if not call.begun then return end
  for i = 1, call.count do call[i] = false end
end

local function forgotten(call, ...)
  forget_arguments(call)
  return ...
end

local function begin_with(self, call)
  set_begun(self, call)
  return forgotten(call, unpack(call, 1, call.count))
end

--- An error has ended a callback that had begun.
local function fail(self, call, message)
  self.reporter:tell(message)
  if call.failed then quietly(call.failed) end
end

--- An error came that is not the callback's own (no memory, a hook): one that has not begun is called by another turn.
local function rescue(self, call, message)
  if call.begun then return fail(self, call, message) end
  self.reporter:tell(message)
  self.fifo:append(call)
  self.client.native:wake()
end

local function put_back(fifo, call)
  if fifo:first() ~= call then fifo:put_back(call) end
end

--- No function of C is around the adapter's: it may have to tell whether what runs can be suspended.
local function take_and_spawn(self, call, run)
  local fifo = self.fifo
  if fifo:first() ~= call then return true end -- a finalizer that polls has begun it
  quietly(fifo.remove, fifo)
  return self.loop.spawn(self.client, run)
end

--- Begins it in a coroutine of the loop's. false: the loop makes none now.
local function spawn(self, call)
  local fifo = self.fifo
  local function play()
    if not is_due(call) then return end
    local ok, err = xpcall(call.fn, errors.handler, quietly(begin_with, self, call))
    if not ok then
      self.unsure = self.unsure or call.failed ~= false
      fail(self, call, err)
    end
    self:tell_pollers()
    self.lifetimes:abandon(owner.of_call(self.client)) -- of this coroutine, which is at its end
  end
  local inside = true
  local function run()
    if inside then go_in(coroutine.running()) end
    local ok, err = xpcall(play, errors.handler)
    if not ok then quietly(rescue, self, call, err) end
  end
  local former = innermost[1]
  local ok, spawned = pcall(take_and_spawn, self, call, run)
  inside = false
  go_out(former)
  if call.begun or ok and spawned then return true end
  quietly(put_back, fifo, call)
  if not ok then error(spawned, 0) end
  return false
end

--- Begins it in a coroutine of ours.
local function start(self, call)
  local thread = coroutine.create(body)
  self.waits:adopt(thread, call.keep)
  if self.fifo:first() ~= call then return end -- a finalizer that polls has begun it
  local former = go_in(thread)
  local ok, err = core.resume(thread, take_out, self, call, call.fn, unpack(call, 1, call.count))
  go_out(former)
  if ok then return quietly(forget_arguments, call) end
  self.unsure = self.unsure or call.failed ~= false -- what follows may raise
  if core.has_begun(thread, body, call.fn) then
    quietly(forget_arguments, call)
    return fail(self, call, errors.traceback(thread, err))
  end
  quietly(take_back, self, call)
  error(err, 0)
end

--- Begins a callback. One that could not be called, for want of memory, is the first of the next turn.
local function begin(self, call)
  if not is_due(call) then return quietly(self.fifo.remove, self.fifo) end
  local spawns = Waits.yields_across_pcall and self.loop.spawn
  if not (spawns and spawn(self, call)) then start(self, call) end
end

--- All that tell again have been reminded.
function Callbacks:be_sure()
  self.unsure = false
end

--- Resumes a callback that has waited.
---@return boolean tells those who wait in `poll`; one that was told itself does not
local function continue(self, waiter)
  local tells = not waiter.told
  self.resumed = self.resumed + 1
  local former = innermost[1]
  if waiter._parked then go_in(waiter._parked) end
  self.waits:continue(waiter)
  go_out(former)
  return tells
end

--- Runs what is queued by now; what that queues is left for the next turn.
---@return boolean ran
function Callbacks:run()
  local fifo, before, tells = self.fifo, self.begun, false
  local last = fifo.count
  local entry = fifo:first()
  if not entry or not self:is_due() then return false end
  while entry and entry._number <= last do
    if entry.fn then
      begin(self, entry)
    else
      tells = continue(self, entry) or tells
    end
    entry = fifo:first()
  end
  if tells or self.begun > before then self:tell_pollers() end
  return true
end

local function tell_all(self)
  for poller in pairs(self.pollers) do poller.told = true end
  self.waits:wake_all(self.pollers)
end

--- Ends the waits in `poll` of coroutines.
function Callbacks:tell_pollers()
  if next(self.pollers) then quietly(tell_all, self) end
end

--- Waits until somebody else has run a callback, or one that waited goes on: the loop, or whoever turns that of a
--- callback.
---@return string? err why it cannot wait here
function Callbacks:await(deadline)
  local waits = self.waits
  local refused = waits:cannot_wait()
  if refused == "closed" or refused == "forked" then return nil end
  if refused then return refused end
  local poller = waits.new_waiter(deadline)
  self.pollers[poller] = true
  waits:wait_alone(poller)
  if self.pollers[poller] then self.pollers[poller] = nil end
  return nil
end

return Callbacks
