--- dispatcher: takes the engine's events, hands each to whom it concerns, and has the callbacks run.
local Bag = require "zklock.base.bag"
local Waits = require "zklock.run.waits"
local core = require "zklock.core"
local text = require "zklock.base.text"

local quietly = core.quietly

--- More owners than this are not looked at before the first, short wait.
local MANY = 64
--- How long that one is; seconds.
local NAP = 0.05

---@class zklock.Dispatcher
---@field private taking boolean an event is being told
---@field kept table a bag of those who are to be told something, and are not collected before: requests, losses
---@field private subjects table<integer, table> who gets the events of a tag; weak: nobody else's are told
---@field private endings table<zklock.Waiter, boolean> those who wait until the session has ended
local Dispatcher = {}
Dispatcher.__index = Dispatcher

local clients = 0

--- Tells one client of this Lua state from the others.
local function sign(chroot)
  clients = clients + 1
  if chroot == "" then return (" (client %d)"):format(clients) end
  return (" (client %d, chroot %s)"):format(clients, text.escape(chroot))
end

---@param listeners table with `on_state`, `log` and `note` (the host's log), each a function or nil; and `chroot`, ""
---  or the client's
function Dispatcher.new(native, waits, callbacks, lifetimes, listeners)
  return setmetatable({
    native = native,
    waits = waits,
    callbacks = callbacks,
    lifetimes = lifetimes,
    on_state = listeners.on_state or false,
    on_log = listeners.log or false,
    on_note = listeners.note or false,
    signature = sign(listeners.chroot),
    subjects = setmetatable({}, { __mode = "v" }),
    kept = Bag.new("_kept"),
    endings = {},
    last_tag = 0,
    on_end = false,
    taking = false,
    told_state = false,
  }, Dispatcher)
end

--- A number under which events reach `subject:event(kind, err, token)`.
function Dispatcher:enter(subject)
  local tag = self.last_tag + 1
  self.last_tag = tag
  self.subjects[tag] = subject
  return tag
end

--- A subject is not collected before `unkeep`.
function Dispatcher:keep(subject)
  self.kept:add(subject)
end

function Dispatcher:unkeep(subject)
  self.kept:remove(subject)
end

--- Where a loop watches the descriptor: stop() ends that, once the session has ended.
function Dispatcher:ends_with(stop)
  self.on_end = stop
end

--- Sets the listener for the session's state.
function Dispatcher:listen(on_state)
  self.on_state = on_state or false
end

--- A line for the host's own log, where it has one and that was not refused. It ends with which of the process's
--- clients says so: not with the session's id, which is as good as a password.
function Dispatcher:note(...)
  if self.on_note then self.on_note("zklock: " .. table.concat({ ... }, ": ") .. self.signature) end
end

local function state_changed(self, state)
  if state == self.told_state then return end
  if self.on_state then self.callbacks:later(self.on_state, state) end
  self.told_state = state
end

--- Takes the lines of libzookeeper's log and of our own. If there is no memory to tell one, that one is not told.
local function log_arrived(self)
  while true do
    local level, line, own = self.native:take_log()
    if not level then return end
    if own then self:note(text.escape(line)) end
    if self.on_log then self.callbacks:later(self.on_log, level, text.escape(line)) end
  end
end

--- Hands an event to whom it concerns. When an error is raised into that, the event is the first of the next time: all
--- who get one must be able to get it twice.
local function tell(self, kind, tag, err, token, serial)
  if kind == "state" then
    state_changed(self, tag)
  elseif kind == "log" then
    log_arrived(self)
  else
    local subject = self.subjects[tag]
    if subject then subject:event(kind, err, token) end
  end
  self.native:forget(serial)
end

--- Takes the oldest event of the engine. While callbacks are queued the descriptor stays readable.
local function take_one(self)
  local native = self.native
  local kind, tag, err, token, serial = native:peek()
  if kind then
    tell(self, kind, tag, err, token, serial)
  elseif self.callbacks:is_due() then
    native:wake()
  end
  return kind ~= nil
end

--- Takes what is there, and leaves the descriptor as it is.
local function take_early(self)
  local native = self.native
  local kind, tag, err, token, serial = native:look()
  while kind do
    tell(self, kind, tag, err, token, serial)
    kind, tag, err, token, serial = native:look()
  end
end

local function take(self)
  self.taking = true -- after an error it stays so until all was taken
  while quietly(take_one, self) do end
  self.taking = false
  self.lifetimes:reap()
  if next(self.endings) and self.native:ended() then quietly(self.waits.wake_all, self.waits, self.endings) end
end

--- Callbacks that tell again may have been ended by an error of which nobody was told.
local function remind_all(self)
  self:remind(true)
  self.callbacks:be_sure()
end

--- The descriptor is readable while there is something to do, and then only.
local function settle_descriptor(self)
  if self.callbacks:is_due() then self.native:wake() else self.native:peek() end
  self.waits:set_alarm()
end

--- The session has ended: the loop need not watch the descriptor any more. The dispatch that finds this says so,
--- for the descriptor may never be readable again. A caller may have begun to wait for the end just before it came:
--- then there is still an event of it.
local function end_watch(self)
  if not self.native:ended() or self:is_end_awaited() then return end
  local on_end = self.on_end
  self.on_end = false
  on_end()
end

--- Takes what has arrived and runs the callbacks that are queued by then, each in a coroutine of its own. When an error
--- is raised into that (no memory, a hook), the next turn tells the rest.
function Dispatcher:dispatch()
  if self.callbacks.unsure then quietly(remind_all, self) end
  take(self)
  self.waits:wake_due()
  -- It finds what the callbacks' coroutines have left before anybody sleeps.
  if self.callbacks:run() then self.lifetimes:reap() end
  quietly(settle_descriptor, self)
  if self.on_end then end_watch(self) end
end

--- After a release, which may have let the next one here in: he is told at once, not when the host is woken. What is
--- raised into that (no memory) is nothing to whoever has released; the next turn tells the rest. It tells all where
--- a finalizer or a hook has released: those come between any two steps of ours.
function Dispatcher:take_early()
  if self.taking or self.waits:is_beginning() then return end
  self.taking = true -- what is told may release, too
  pcall(take_early, self)
  self.taking = false
end

local function dispatch(waits)
  waits.client.dispatcher:dispatch()
end

--- The same for a caller who waits in plain Lua: it also turns the loops of those clients for which callbacks of this
--- one wait.
function Dispatcher:turn()
  for _, waits in ipairs(self.waits:companions()) do dispatch(waits) end
  self:dispatch()
end

--- How long a first sleep is before all owners were looked at.
local function nap(dispatcher, moment, is_first)
  local naps = is_first and dispatcher.lifetimes.count > MANY
  if naps then return math.min(moment, core.now() + NAP) end
  dispatcher.lifetimes:reap(math.huge)
  return moment
end

--- Blocks until something has arrived, the moment has come, or a signal has. Nobody sleeps for long before all owners
--- were looked at, whether they have come to their end. A first time, with many of them, it is a short sleep: the
--- servers answer soon, and that is not to wait for so many looks.
function Dispatcher:sleep(moment, is_first)
  moment = nap(self, moment, is_first)
  local companions = self.waits:companions()
  if not companions[1] then return self.native:wait(moment) end
  local natives = {}
  for i, waits in ipairs(companions) do
    moment = nap(waits.client.dispatcher, moment, is_first)
    natives[i] = waits.native
  end
  self.native:wait(moment, natives)
end

--- Callbacks may have come to their end without a word (nginx ends light threads so): who tells more than once looks
--- whether there is something to tell.
---@param is_unsure boolean? an error may have ended a callback without a word
function Dispatcher:remind(is_unsure)
  local kept = self.kept
  for place = 1, kept.count do
    local subject = kept.list[place]
    if subject.remind then subject:remind(is_unsure) end
  end
  if self.callbacks:is_due() then self.native:wake() end
end

--- Does anybody wait for the session's end?
function Dispatcher:is_end_awaited()
  return next(self.endings) ~= nil
end

--- Waits for the session's end, until the deadline. A callback that would be parked here blocks: nobody need run the
--- callbacks of a client that is closed.
function Dispatcher:await_end(deadline)
  if self.native:ended() then return end
  local waiter, waits = Waits.new_waiter(deadline), self.waits
  self.endings[waiter] = true
  if waits:parks_here() then waits:suspend(waiter) else waits:wait_alone(waiter) end
  if self.endings[waiter] then self.endings[waiter] = nil end
end

return Dispatcher
