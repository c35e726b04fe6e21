-- SPDX-License-Identifier: MIT
--- callbacks: the queue of a client's callbacks: those of its requests and listeners. Each callback
--- runs in its own coroutine, which the loop creates if it can, and may wait there.
local core = require "zklock.core"
local errors = require "zklock.base.errors"
local flat = require "zklock.base.flat"
local owner = require "zklock.owners.owner"
local yields = require "zklock.base.yields"

local quietly = core.quietly
local unpack = table.unpack or unpack -- luacheck: ignore 113

--- A callback with its arguments. The call is allocated in advance, so that queueing it allocates
--- nothing.
---@class zklock.Call
---@field begun boolean
---@field private _next zklock.Call|false of the queue, as is `_number`
---@field package fn function
---@field package keep any stays alive until the callback has returned
---@field package hold zklock.Hold|false if this hold has ended by then, the callback is not called
---@field package failed (fun())|false called when an error has ended the callback

---@class zklock.Callbacks
---@field begun integer how many callbacks have begun so far
---@field resumed integer how many waits of callbacks have ended so far
---@field unsure boolean an error may have ended a watch's callback without its watch being notified
---@field private pollers table<zklock.Waiter, boolean> callers that wait in `poll` until a callback
---  has run; weak
local Callbacks = {}
Callbacks.__index = Callbacks

---@param fifo table the queue; a wait that ends adds its callback there, too
function Callbacks.new(client, loop, waits, fifo, lifetimes, reporter)
  return flat(Callbacks, {
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
  })
end

--- A call with room for as many arguments as this function gets.
---@return zklock.Call
function Callbacks.new_call(fn, ...)
  return { _next = false, _number = 0, fn = fn, keep = false, hold = false, failed = false,
    begun = false, count = select("#", ...), ... }
end

--- A call for `tell_again`: it is used again and again, so queueing it allocates nothing.
---@param failed fun() called after an error that has ended the callback
---@return zklock.Call
function Callbacks.new_record(failed)
  local call = Callbacks.new_call(false, false)
  call.begun, call.failed = true, failed -- begun: not queued yet
  return call
end

--- Keeps `what` alive until the callback has returned.
function Callbacks.keep_with(call, what)
  call.keep = what
end

--- Skips the callback if this hold has ended by then.
function Callbacks.only_while_held(call, hold)
  call.hold = hold
end

--- Nothing calls the callback after this.
function Callbacks.revoke(call)
  call.begun = true
end

--- Queues the call with these arguments for the next turn. Allocates nothing unless there is a
--- fourth argument.
---@param fn function
---@param d any a fourth argument, of a call with room for three; nil: the callback gets three
function Callbacks:tell(call, fn, a, b, c, d)
  call.fn, call[1], call[2] = fn, a, b
  if call.count > 2 then call[3] = c end
  if not rawequal(d, nil) then call[4], call.count = d, 4 end
  self.fifo:append(call)
end

--- Queues a call that has run before, unless it is queued. Allocates nothing.
---@param call zklock.Call
function Callbacks:tell_again(call, fn, a)
  self.fifo:again(call, fn, a)
end

function Callbacks:later(fn, ...)
  self.fifo:append(self.new_call(fn, ...))
end

--- True if a callback is queued for the next turn.
function Callbacks:is_pending()
  return self.fifo.tail ~= false
end

--- The first entry is the innermost callback that runs now, of all clients. After an error it may
--- be a callback that has ended.
local innermost = setmetatable({ false }, { __mode = "v" })
--- By coroutine: the nesting depth when it was last resumed.
local depths = setmetatable({}, { __mode = "k" })

local function depth()
  local thread = innermost[1]
  local status = thread and coroutine.status(thread)
  return (status == "normal" or status == "running") and depths[thread] or 0
end

--- From now on this coroutine is the innermost callback.
---@return thread? former the innermost callback until now
local function go_in(thread)
  local former = innermost[1]
  depths[thread] = depth() + 1
  innermost[1] = thread
  return former
end

local function go_out(former)
  innermost[1] = former
end

--- True if a callback is queued that may run now. A callback that waits but cannot be parked, or
--- that polls in a loop, runs others inside itself; `deepest` bounds that.
function Callbacks:is_due()
  return self.fifo.tail ~= false and depth() < yields.deepest
end

--- The body of a callback's own coroutine. A tail call: once the callback returns, nothing follows.
local function body(fn, ...)
  return fn(...)
end

--- False if a loop has begun the call and then failed, or if the call's hold has ended.
local function is_due(call)
  return not call.begun and not (call.hold and call.hold.state ~= "held")
end

--- Once the call has left the queue, nothing here can raise.
---@return boolean taken false: a finalizer or a hook that polls has begun it
local function take_out(self, call)
  if not self.fifo:remove(call) then return false end
  call.begun = true
  self.begun = self.begun + 1
  return true
end

--- An error has ended a callback that had begun.
local function fail(self, call, message)
  self.reporter:tell(message)
  if call.failed then quietly(call.failed) end -- a second error must not lose what the callback was to tell
end

--- An error that is not the callback's own (no memory, a hook). If the callback has not begun, a
--- later turn calls it.
local function rescue(self, call, message)
  if call.begun then return fail(self, call, message) end
  self.reporter:tell(message)
  self.fifo:append(call)
  self.client.native:wake()
end

--- Calls the adapter with no C function around it: the adapter may ask whether the running
--- coroutine can be suspended.
local function take_and_spawn(self, call, run)
  if not self.fifo:remove(call) then return true end -- a finalizer that polls has begun it
  return self.loop.spawn(self.client, run)
end

--- Begins the call in a coroutine of the loop. Returns false if the loop cannot create one now.
local function spawn(self, call)
  local function play()
    if not is_due(call) then return end
    self.begun = self.begun + 1
    local ok, err = xpcall(call.fn, errors.handler, self.fifo:begin(call)) -- from here on an error is its own
    if not ok then
      self.unsure = self.unsure or call.failed ~= false
      fail(self, call, err)
    end
    self:tell_pollers()
    self.lifetimes:abandon(owner.of_call(self.client)) -- this coroutine ends here
  end
  local inside = true
  local function run()
    if inside then go_in(coroutine.running()) end
    local ok, err = xpcall(play, errors.handler)
    if not ok then quietly(rescue, self, call, err) end -- nor the callback
  end
  local former = innermost[1]
  local ok, spawned = pcall(take_and_spawn, self, call, run)
  inside = false
  go_out(former)
  if call.begun or ok and spawned then return true end
  self.fifo:put_back(call)
  if not ok then error(spawned, 0) end
  return false
end

--- An error has ended the callback's coroutine. If the callback has not begun, it comes first in the next turn.
---@return boolean begun
local function settle(self, call, thread)
  if core.has_begun(thread, body, call.fn) then
    self.unsure = self.unsure or call.failed ~= false -- the next lines may raise
    return true
  end
  call.begun, self.begun = false, self.begun - 1
  self.fifo:put_back(call)
  return false
end

--- Begins the call in a coroutine of our own.
local function start(self, call)
  local thread = coroutine.create(body)
  self.waits:adopt(thread, call.keep)
  local former = go_in(thread)
  local ok, err, begun = core.resume(thread, take_out, settle, self, call, call.fn, unpack(call, 1, call.count))
  go_out(former)
  if not ok and not begun then error(err, 0) end
  self.fifo:forget(call)
  if not ok then fail(self, call, errors.traceback(thread, err)) end
end

--- Begins a call. If there is no memory for that, the call comes first in the next turn.
local function begin(self, call)
  if not is_due(call) then return self.fifo:remove(call) end
  local spawns = yields.across_pcall and self.loop.spawn
  if not (spawns and spawn(self, call)) then start(self, call) end
end

--- Every watch has been reminded.
function Callbacks:be_sure()
  self.unsure = false
end

--- Resumes a callback whose wait has ended.
---@return boolean tells true: this ends the waits in `poll`; false for a callback that waited in
---  `poll` itself
local function continue(self, waiter)
  local tells = not waiter.told
  self.resumed = self.resumed + 1
  local former = innermost[1]
  if waiter._parked then go_in(waiter._parked) end
  self.waits:continue(waiter)
  go_out(former)
  return tells
end

--- Runs the calls that are queued now. Calls that these add wait for the next turn.
---@return boolean ran
function Callbacks:run()
  local fifo, before, tells = self.fifo, self.begun, false
  local last = fifo.count
  local entry = fifo:first()
  if not entry or depth() >= yields.deepest then return false end
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

--- Ends every wait of a coroutine in `poll`.
function Callbacks:tell_pollers()
  self.waits:wake_all(self.pollers, true)
end

--- Waits until the loop, or another caller that runs callbacks, has begun or resumed one.
---@return string? err why the caller cannot wait here
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
