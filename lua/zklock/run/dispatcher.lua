-- SPDX-License-Identifier: MIT
--- dispatcher: takes the engine's events, hands each to its subject, and runs the callbacks.
local Bag = require "zklock.base.bag"
local Log = require "zklock.run.log"
local Waits = require "zklock.run.waits"
local core = require "zklock.core"
local errors = require "zklock.base.errors"
local flat = require "zklock.base.flat"
local text = require "zklock.base.text"

local quietly = core.quietly

--- So many events are taken before a debug hook may run again.
local EVENTS_MOST = 64
--- With more owners than this, the first sleep is short and comes before the check of all owners.
local MANY = 64
--- The length of that sleep; seconds.
local NAP = 0.05

---@class zklock.Dispatcher
---@field private taking boolean an event is being handed to its subject
---@field kept table a bag of subjects that stay alive until their event has come, such as requests
---@field ending table<integer, zklock.Hold> by tag, holds that stay alive until their last event has come
---@field private subjects table<integer, table> by tag, the object that gets its events; weak: the
---  events of a collected object are dropped
---@field private endings table<zklock.Waiter, boolean> callers that wait for the session's end
local Dispatcher = {}
Dispatcher.__index = Dispatcher

local clients = 0

--- The suffix of log lines that distinguishes this client from others in the same Lua state.
local function sign(chroot)
  clients = clients + 1
  if chroot == "" then return (" (client %d)"):format(clients) end
  return (" (client %d, chroot %s)"):format(clients, text.escape(chroot))
end

---@param listeners table with `on_state`, `log` and `note` (the host's log), each a function or nil; `log_level`; and
---  `chroot`, "" or the client's
function Dispatcher.new(native, waits, callbacks, lifetimes, listeners)
  local self = flat(Dispatcher, {
    native = native,
    waits = waits,
    callbacks = callbacks,
    lifetimes = lifetimes,
    on_state = listeners.on_state or false,
    on_note = listeners.note or false,
    observers = {},
    signature = sign(listeners.chroot),
    subjects = setmetatable({}, { __mode = "v" }),
    kept = Bag.new("_kept"),
    ending = {},
    endings = {},
    last_tag = 0,
    on_end = false,
    taking = false,
    told_state = false,
    log = false,
  })
  self.log = Log.new(self, listeners.log or false, listeners.log_level)
  return self
end

--- Returns a new tag: `subject:event(kind, err, token)` gets the events under it.
function Dispatcher:enter(subject)
  local tag = self.last_tag + 1
  self.last_tag = tag
  self.subjects[tag] = subject
  return tag
end

function Dispatcher:keep(subject)
  self.kept:add(subject)
end

function Dispatcher:unkeep(subject)
  self.kept:remove(subject)
end

--- Keeps a hold that has joined alive until its last event has come.
function Dispatcher:await_last(hold)
  self.ending[hold.tag] = hold
end

--- The last event of the hold has come, or none is to come.
function Dispatcher:let_end(hold)
  if self.ending[hold.tag] then self.ending[hold.tag] = nil end -- to set a nil field may allocate
end

--- For a loop that watches the descriptor: once the session has ended, stop() ends the watch.
function Dispatcher:ends_with(stop)
  self.on_end = stop
end

function Dispatcher:listen(on_state)
  self.on_state = on_state or false
end

--- Calls fn, too, with each loss, each state and each line of zklock's own log. fn must not raise.
---@param fn fun(kind: "lost"|"state"|"log", said: string)
function Dispatcher:observe(fn)
  self.observers[#self.observers + 1] = fn
end

local function tell_observers(self, kind, said)
  for _, observer in ipairs(self.observers) do observer(kind, said) end
end

--- Writes a line to the host's log, if the host has one and the script has not refused it. The line
--- names the client by its number: the session's id is as good as a password.
local function note(self, line)
  if self.on_note then self.on_note("zklock: " .. line .. self.signature) end
end

---@param said string
function Dispatcher:note_loss(said)
  local line = "lost: " .. text.escape(said)
  note(self, line)
  self.log:tell("error", line)
  tell_observers(self, "lost", said)
end

---@param line string safe to show
function Dispatcher:note_warning(line)
  note(self, line)
  tell_observers(self, "log", line)
end

local function state_changed(self, state)
  if state == self.told_state then return end
  if self.on_state then self.callbacks:later(self.on_state, state) end
  self.told_state = state
  tell_observers(self, "state", state)
end

--- Hands an event to its subject. If that raises, the next turn hands over the same event again, so
--- each subject must be able to get it twice.
local function tell(self, kind, tag, err, token)
  if kind == "state" then
    state_changed(self, tag)
  elseif kind == "log" then
    self.log:event()
  else
    local subject = self.subjects[tag]
    if subject then subject:event(kind, err, token) end
  end
end

--- Takes the engine's oldest events. While callbacks are queued, the descriptor stays readable.
---@return boolean more false: all are taken
local function take_some(self)
  local native = self.native
  local kind, tag, err, token, serial
  for _ = 1, EVENTS_MOST do
    kind, tag, err, token, serial = native:peek(serial)
    if not kind then
      if self.callbacks:is_due() then native:wake() end
      return false
    end
    tell(self, kind, tag, err, token)
  end
  native:peek(serial) -- the last one leaves the queue
  return true
end

--- Takes all events but those of the next turn. The descriptor stays readable if it is, and becomes so if there are
--- callbacks to run.
local function take_early(self)
  local native = self.native
  local kind, tag, err, token, serial = native:look()
  while kind do
    tell(self, kind, tag, err, token)
    if self.callbacks:is_pending() then native:wake() end
    kind, tag, err, token, serial = native:look(serial)
  end
end

local function take(self)
  self.taking = true -- after an error it stays true until all events are taken
  while quietly(take_some, self) do end -- nobody may look at a subject before all of its event is known
  self.taking = false
end

--- Does what no event reports.
---@return boolean has_run
local function look_around(self)
  if self.callbacks.unsure then -- errors may have ended callbacks of watches without notifying the watches
    self:remind(true)
    self.callbacks:be_sure()
  end
  self.lifetimes:reap()
  if next(self.endings) and self.native:ended() then self.waits:wake_all(self.endings) end
  return self.waits:wake_due()
end

--- Leaves the descriptor readable exactly while there is something to do. If nothing has run since
--- all events were taken, it is so already. Before anybody sleeps, this gives back the holds of the
--- callbacks' coroutines that have ended.
local function settle(self, has_run, has_called)
  if has_called then self.lifetimes:reap() end
  if self.callbacks:is_due() then
    self.native:wake()
  elseif has_run or has_called then
    self.native:peek()
  end
  self.waits:set_alarm()
end

--- The session has ended, so the loop need not watch the descriptor. The dispatch that finds this
--- ends the watch, because the descriptor may never be readable again. If a caller began to wait
--- for the session's end just before the end came, its event is still queued.
local function end_watch(self)
  if not self.native:ended() or next(self.endings) then return end
  local on_end = self.on_end
  self.on_end = false
  on_end()
end

--- Takes the events and runs the callbacks that are queued by then, each in its own coroutine. If
--- something raises here (no memory, a hook), the next turn handles the rest.
function Dispatcher:dispatch()
  take(self)
  local has_run = quietly(look_around, self) -- a waiter that has left the heap must be woken
  quietly(settle, self, has_run, self.callbacks:run()) -- or the loop might sleep for ever
  if self.on_end then end_watch(self) end
end

--- A lack of memory in `take_early` must not reach the caller that has released: the next turn handles the rest. But
--- the error of a signal must, or the program would never hear of it.
local function release_and_take(self, give_back, hold, failed)
  local ok, err, more = give_back(hold, failed)
  if more then
    self.taking = true -- the subject of an event may release, too
    local done, raised = pcall(take_early, self)
    self.taking = false
    if not done and raised ~= errors.NO_MEMORY then error(raised, 0) end
  end
  return ok, err
end

--- Calls give_back(hold, failed), which may grant the lock to another owner here: that owner gets its event at once,
--- not when the loop wakes. If a finalizer or a hook releases, the next turn handles everything, because these run
--- between any two steps of ours. `muted` asks for a turn if an event is left, also after an error.
---@return boolean? ok
---@return string? err
function Dispatcher:release(give_back, hold, failed)
  if self.taking or self.waits:is_beginning() then return give_back(hold, failed) end
  local goes_on = self.waits.loop.goes_on
  if goes_on and goes_on() then return self.native:muted(release_and_take, self, give_back, hold, failed) end
  return release_and_take(self, give_back, hold, failed)
end

local function dispatch(waits)
  waits.client.dispatcher:dispatch()
end

--- `dispatch` for a caller that waits in plain Lua. It also turns the loops of the clients that
--- callbacks of this client wait for.
function Dispatcher:turn()
  local companions = self.waits:companions()
  if companions then
    for _, waits in ipairs(companions) do dispatch(waits) end
  end
  self:dispatch()
end

--- True if there may be something to do, besides events, before a caller sleeps.
local function has_work(self)
  local waits = self.waits
  return waits.fifo.tail or self.callbacks.unsure or waits.deadlines.count > 0 or waits.away > 0
end

--- Until when to sleep. Before a long sleep it checks all owners.
local function nap(dispatcher, moment, is_first)
  local naps = is_first and dispatcher.lifetimes.count > MANY
  if naps then return math.min(moment, core.now() + NAP) end
  dispatcher.lifetimes:reap(math.huge)
  return moment
end

--- Before a long sleep the client checks all owners for those that have ended. With many owners the first sleep is a
--- short one without this check: the servers usually answer sooner than the check would take. The check, or a
--- finalizer, may end the wait: the caller looks again before it sleeps.
---@return number moment until when to sleep
---@return table? natives the clients whose events end the sleep, too
function Dispatcher:prepare_sleep(moment, is_first)
  moment = nap(self, moment, is_first)
  local companions, natives = self.waits:companions(), nil
  if companions then
    natives = {}
    for i, waits in ipairs(companions) do
      moment = nap(waits.client.dispatcher, moment, is_first)
      natives[i] = waits.native
    end
  end
  return moment, natives
end

--- In plain Lua: turns until the hold waits no longer, or in a forked child, where nothing arrives. Most often its
--- grant is the first event, but for the end of the release before.
---@param hold zklock.Hold
---@return number? now unless anything but the grant has come
function Dispatcher:await(hold)
  local is_first, now = true, nil
  if has_work(self) then self:turn() end
  while hold.state == "waiting" do
    local moment, natives = self:prepare_sleep(math.huge, is_first)
    local token, is_forked
    if hold.state == "waiting" then -- what the preparation has queued needs a turn, of which no event tells
      token, now, is_forked = self.native:await(moment, natives, hold.tag, not has_work(self) and self.ending or nil)
    end
    if is_forked then return nil end
    if token then hold:event("granted", nil, token) end
    if not now then
      take(self)
      if has_work(self) then self:turn() end
    end
    is_first = false
  end
  if not self.waits.fifo.tail then return now end
  self:turn() -- callbacks that have waited for the same
  return nil
end

-- Compiled code does not check for the hook that Ctrl-C sets.
local jit = rawget(_G, "jit")
if jit then jit.off(Dispatcher.await) end

--- A host may end a callback's coroutine without notice, as nginx does with light threads. So each
--- watch checks whether its callback still runs, or whether it has news to deliver.
---@param is_unsure boolean? an error may have ended a callback without notice
function Dispatcher:remind(is_unsure)
  local kept = self.kept
  for place = 1, kept.count do
    local subject = kept.list[place]
    if subject.remind then subject:remind(is_unsure) end
  end
  if self.callbacks:is_due() then self.native:wake() end
end

--- Waits for the session's end, until the deadline. A callback of this client blocks here instead
--- of being parked: nobody has to run the callbacks of a closed client.
function Dispatcher:await_end(deadline)
  if self.native:ended() then return end
  local waiter, waits = Waits.new_waiter(deadline), self.waits
  self.endings[waiter] = true
  if waits:parks_here() then waits:suspend(waiter) else waits:wait_alone(waiter) end
  if self.endings[waiter] then self.endings[waiter] = nil end
end

return Dispatcher
