--- client: one session with the servers: its events, its callbacks, the locks made from it.
local finalizer = require "zklock.base.finalizer"
local blocking = require "zklock.loop.blocking"
local check = require "zklock.base.check"
local core = require "zklock.core"
local Lock = require "zklock.lock"
local Losses = require "zklock.holds.losses"
local lock_options = require "zklock.options"
local Mortals = require "zklock.owners.mortals"
local ownership = require "zklock.owners.owner"
local Place = require "zklock.holds.holds"
local Queue = require "zklock.base.fifo"
local report = require "zklock.base.report"
local RwLock = require "zklock.rwlock"
local Semaphore = require "zklock.semaphore"
local text = require "zklock.base.text"
local waiter = require "zklock.base.waiter"

local quietly = core.quietly
local unpack = table.unpack or unpack -- luacheck: ignore 113

local NO_MEMORY = "not enough memory" -- as Lua itself says it
--- States that somebody has to hear of.
local WORSE = { suspended = true, expired = true, ["auth failed"] = true }
--- How long `close` waits for the session's end; seconds.
local CLOSE_MOST = 5
--- `close` runs callbacks that make new callbacks, but not for ever.
local CLOSE_ROUNDS = 1000
--- How many owners are looked at in passing, whether they have come to their end. Before the process sleeps it is all.
local REAP_MOST = 64
local NAP = 0.05 -- seconds

---@class zklock.Client
---@field private native userdata
---@field private loop table
---@field private subjects table<number, table> who gets the event of a tag; weak: what nobody wants is not told
---@field private kept table<table, boolean> who is to be told something: waiting requests, losses
---@field private stays table<zklock.Stay, boolean> that have joined and not left
---@field private places table<string, zklock.Place> by path
---@field private mortals zklock.Mortals
---@field host any the adapter's own
local Client = {}
Client.__index = Client
Client.__name = "zklock.Client"

local function weak(mode, t)
  return setmetatable(t or {}, { __mode = mode })
end

-- Plain Lua 5.1 does not yield across pcall.
local yields_across_pcall = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

--- Calls what may wait. What is raised into a wait there goes its own way: the owner's end gives its place back.
local function call_unprotected(fn, ...)
  return true, fn(...)
end

--- Made by zklock.connect.
function Client.new(native, options)
  local parked = {}
  return setmetatable({
    native = native or false,
    loop = options.loop,
    chroot = options.chroot or "",
    protected = (yields_across_pcall or options.loop == blocking) and pcall or call_unprotected,
    handle_state = options.on_state,
    handle_error = options.on_error,
    handle_log = options.log or nil,
    notes = options.log ~= false and options.loop.note or nil,
    subjects = weak("v"),
    kept = {},
    stays = {},
    losses = Losses.new(),
    places = weak("v"),
    mortals = Mortals.new(function(who)
      if parked[who] then parked[who] = nil end
    end),
    endings = {}, -- who waits in `close` until the session has ended
    pollers = weak("k"), -- who waits in `poll` until a callback has run
    last_tag = 0,
    begun = 0, -- callbacks so far
    unhanded = weak("k"), -- by coroutine: the stay that it waits for, or has waited for and did not hear of
    queue = Queue.new(), -- callbacks to call, and those that waited and may go on
    told_state = false,
    callbacks = weak("k"), -- the coroutines in which callbacks run, each with what is not collected before its end
    parked = parked, -- those of them that wait, each with its waiter
  }, Client)
end

-- ---- for the modules of this library ------------------------------------------------------------------------------

local function forget_all(native)
  repeat
    local serial = select(5, native:peek())
    if serial then native:forget(serial) end
  until not serial
end

--- With a loop that watches, callbacks run without a poll. The loop holds the engine's client; this one it holds only
--- while somebody is to be told something, so that a client that was dropped is closed.
local function watch(client)
  local native, kept, back = client.native, client.kept, weak("v", { client })
  local unwatch
  local function hang_up() native:hang_up() end
  local function stop()
    local once = unwatch
    unwatch = nil
    if once and not once(hang_up) then hang_up() end
  end
  unwatch = client.loop.watch(client, function()
    local living = back[1]
    if living then
      living:turn()
    else
      forget_all(native)
    end
    -- Who waits for the end may have been looked for just before it came: then there is news of it still.
    local is_awaited = living and next(living.endings)
    if kept and native:ended() and not is_awaited then stop() end
  end)
  client.unwatch = stop
  client.finalizer = finalizer(native, function() native:close() end)
end

--- Begins its life.
function Client:start(native)
  self.native = native
  if self.loop.watch then watch(self) end
end

--- The owner of a call that names none.
---@param by_thread boolean? the host's light thread, not what it serves
function Client:owner(by_thread)
  local owner = self.loop.owner
  if owner then return owner(self, by_thread) end
  return ownership.current()
end

--- Why no call can be made: "closed", "forked", or nil.
function Client:unusable()
  return self.native:unusable()
end

--- Why no call can wait here: as `unusable`, or what the loop says.
---@return string? err
function Client:cannot_wait()
  local unusable = self:unusable()
  if unusable then return unusable end
  local can_wait = self.loop.can_wait
  if not can_wait then return nil end
  local ok, err = can_wait()
  return not ok and err or nil
end

--- A number under which events reach `subject:event(kind, err, token)`.
function Client:enter(subject)
  local tag = self.last_tag + 1
  self.last_tag = tag
  self.subjects[tag] = subject
  return tag
end

--- A callback with its arguments, to be put into `queue`: it is called by the next poll then.
---@return table call whose field `keep` is not collected before the callback has returned; with a `stay`, it is not
---  called when that has ended before
function Client.new_call(fn, ...)
  return { _next = false, _number = 0, fn = fn, keep = false, stay = false, begun = false,
    count = select("#", ...), ... }
end

--- Queues a callback for the next poll.
function Client:call_later(fn, ...)
  self.queue:append(self.new_call(fn, ...))
end

--- Blocks until something has arrived, the moment has come, or a signal has. A first time it may be a nap: an answer of
--- the servers comes soon, and is not to wait until all owners were looked at. Nobody sleeps for long before that.
function Client:sleep(moment, is_first)
  local naps = is_first and self.mortals.count > REAP_MOST
  if not naps then self:reap(math.huge) end
  self.native:wait(naps and math.min(moment, core.now() + NAP) or moment)
end

-- A callback that waits lets the others run: its coroutine is parked, and the poll that runs it goes on. Plain Lua 5.1
-- cannot, nor can it tell that it could not.
local is_yieldable = coroutine.isyieldable or function() return true end

--- The running coroutine, if it is a callback's and may be parked.
function Client:parkable()
  local thread = coroutine.running()
  return yields_across_pcall and thread and self.callbacks[thread] and is_yieldable() and thread or nil
end

--- Waits in the way of the loop. It does not know the coroutine of a callback that it has not made itself.
function Client:suspend(waiting)
  local thread = coroutine.running()
  local adapter = thread and self.callbacks[thread] and blocking or self.loop
  return adapter.wait(self, waiting)
end

--- What a parked callback has of us. When somebody closes it, it is parked no more.
local PARKING = {}
function PARKING:drop() end -- luacheck: ignore 212
function PARKING:abandon() end -- luacheck: ignore 212

local function park(client, thread, waiting)
  client.mortals:note(thread, PARKING)
  client.parked[thread] = waiting
  waiting._parked = thread
end

local function unpark(client, thread)
  local waiting = client.parked[thread]
  if not waiting then return end
  waiting._parked = false
  client.parked[thread] = nil
  client.mortals:unnote(thread, PARKING)
end

--- An error was raised into the wait of this coroutine: it is in none any more.
function Client:unpark()
  local thread = coroutine.running()
  if thread then unpark(self, thread) end
end

--- Waits until `waiting.done`: a callback parked, everybody else in the way of the loop.
function Client:wait(waiting)
  local thread = self:parkable()
  -- Nothing wakes a parked one at a deadline of its own: it waits like the main program.
  if not thread or waiting.deadline then return self:suspend(waiting) end
  quietly(park, self, thread, waiting)
  while not waiting.done do coroutine.yield() end
  quietly(unpark, self, thread)
end

--- Ends the wait. Twice is fine; the loop hears of it once.
function Client:wake(waiting)
  waiting.done = true
  if waiting._parked then
    self.queue:append(waiting)
    self.native:wake()
  elseif not waiting._woken then
    self.loop.wake(waiting)
    waiting._woken = true
  end
end

local Question = {}
Question.__index = Question

function Question:event(_, err)
  self.err = err
  self.client:wake(self.waiter)
end

function Question:drop()
  if self.query then self.query:drop() end
end

--- The coroutine that waits for the answer has come to its end.
function Question:abandon()
  self:drop()
  self.client:wake(self.waiter)
end

--- A coroutine's question ends with it. What nginx runs is not ours to look at.
local function note_asker(client, question, notes)
  local caller = ownership.current()
  if client.loop.owner or not ownership.is_mortal(caller) then return end
  client.mortals[notes](client.mortals, caller, question)
end

--- Asks the engine something and waits for the answer. `ask(tag)` returns the query.
---@return boolean|nil ok, string|userdata err_or_query
function Client:ask(ask)
  local refused = self:cannot_wait()
  if refused then return nil, refused end
  local question = setmetatable({ client = self, waiter = waiter.new(), query = false, err = false }, Question)
  ownership.current() -- looks what he is
  local ok, raised = self.protected(function()
    quietly(note_asker, self, question, "note")
    question.query = ask(self:enter(question))
    self:wait(question.waiter)
  end)
  quietly(note_asker, self, question, "unnote")
  local query, err = question.query, question.err
  if ok and not err and question.waiter.done then return true, query end
  if not ok then quietly(self.unpark, self) end
  if query then query:drop() end
  if not ok then error(raised, 0) end
  if err == NO_MEMORY then error(err, 0) end
  return nil, err or self:unusable()
end

--- Gives back what those hold who have come to their end, as far as it looks.
---@param most number? of them; default those that are looked at in passing
function Client:reap(most)
  quietly(self.mortals.reap, self.mortals, most or REAP_MOST)
end

--- Does one who may come to his end hold something, or wait for something?
function Client:has_something(who)
  return self.mortals:has(who)
end

--- An owner has come to its end: gives back what it holds or waits for.
function Client:abandon(who)
  quietly(self.mortals.abandon, self.mortals, who)
end

--- An acquire of this coroutine, into which an error was raised when it was granted already, got what nobody heard of:
--- that is given back, at its next call. One that it is waiting in (a finalizer may call us then) goes on.
function Client:recall()
  local caller = ownership.current()
  local stay = self.unhanded[caller]
  if stay and not stay.asleep then quietly(stay.take_back, stay) end
end

--- Ends the waits of a set, which is empty then.
function Client:wake_all(set)
  for waiting in pairs(set) do
    self:wake(waiting)
    set[waiting] = nil
  end
end

function Client:state_changed(state)
  if state == self.told_state then return end
  if self.handle_state then self:call_later(self.handle_state, state) end
  self.told_state = state
  if WORSE[state] then self:note(state, self.native:trouble()) end
end

--- A line for the host's own log, where it has one and that was not refused.
function Client:note(...)
  if self.notes then self.notes("zklock: " .. table.concat({ ... }, ": ")) end
end

--- Of an error what is known besides: where no server is in reach, why.
---@return nil
---@return string? err
---@return string? why
function Client:failure(err)
  if err == "disconnected" then return nil, err, self.native:trouble() end
  return nil, err
end

--- A line may go with the memory to tell it.
function Client:log_arrived()
  while true do
    local level, line = self.native:take_log()
    if not level then return end
    self:call_later(self.handle_log, level, text.escape(line))
  end
end

--- Hands the oldest event of the engine to whom it concerns. When an error is raised into that, the event is the first
--- of the next time: all who get one must be able to get it twice. While callbacks are queued the descriptor stays
--- readable.
local function take_one(client)
  local native = client.native
  local kind, tag, err, token, serial = native:peek()
  if not kind then
    if client.queue:first() then native:wake() end
    return false
  end
  if kind == "state" then
    client:state_changed(tag)
  elseif kind == "log" then
    client:log_arrived()
  else
    local subject = client.subjects[tag]
    if subject then subject:event(kind, err, token) end
  end
  native:forget(serial)
  return true
end

local function take(client)
  while quietly(take_one, client) do end
  client:reap()
  if next(client.endings) and client.native:ended() then quietly(client.wake_all, client, client.endings) end
end

--- Lets a callback go on that waited.
function Client:continue(waiting)
  local thread, queue = waiting._parked, self.queue
  local waits = thread and self.parked[thread] == waiting and coroutine.status(thread) == "suspended"
  if not waits then return quietly(queue.remove, queue) end -- it was closed meanwhile
  local ok, err = core.resume(thread, queue.remove, queue, nil)
  if not ok then report.tell(self, report.traceback(thread, err)) end
end

--- What a callback's own coroutine runs: nothing comes after the callback.
local function body(fn, ...)
  return fn(...)
end

--- Neither begun (by a loop that failed then) nor obsolete?
local function is_due(call)
  return not call.begun and not (call.stay and call.stay.state ~= "held")
end

--- From here on it is the callback's business what is raised.
local function set_begun(client, call)
  call.begun = true
  client.begun = client.begun + 1
end

local function take_out(client, call)
  client.queue:remove()
  set_begun(client, call)
end

--- It has not begun after all, and is the first of the next time.
local function take_back(client, call)
  call.begun = false
  client.begun = client.begun - 1
  client.queue:put_back(call)
end

--- It has been told: what it was told of is to be collected, also while the call is not.
local function forget_arguments(call)
  for i = 1, call.count do call[i] = false end
end

local function forgotten(call, ...)
  forget_arguments(call)
  return ...
end

local function begin_with(client, call)
  set_begun(client, call)
  return forgotten(call, unpack(call, 1, call.count))
end

--- In a coroutine of the loop's. false: it makes none now.
local function spawn(client, call)
  local queue = client.queue
  local function run()
    if not is_due(call) then return end
    local ok, err = xpcall(call.fn, report.handler, quietly(begin_with, client, call))
    if not ok then report.tell(client, err) end
    client:tell_pollers()
    client:abandon(client:owner()) -- of this coroutine, which is at its end
  end
  local ok, spawned = pcall(core.after, queue.remove, queue, nil, client.loop.spawn, client, run)
  if call.begun or ok and spawned then return true end
  quietly(queue.put_back, queue, call)
  if not ok then error(spawned, 0) end
  return false
end

local function start(client, call)
  local thread = coroutine.create(body)
  client.callbacks[thread] = call.keep or true
  local ok, err = core.resume(thread, take_out, client, call, call.fn, unpack(call, 1, call.count))
  if ok then return quietly(forget_arguments, call) end
  if core.has_begun(thread, body, call.fn) then
    quietly(forget_arguments, call)
    return report.tell(client, report.traceback(thread, err))
  end
  quietly(take_back, client, call)
  error(err, 0)
end

--- Begins a callback, in a coroutine of the loop's where it makes some. One that could not be called, for want of
--- memory, is the first of the next time.
function Client:begin(call)
  if not is_due(call) then return quietly(self.queue.remove, self.queue) end
  local spawns = yields_across_pcall and self.loop.spawn
  if not (spawns and spawn(self, call)) then start(self, call) end
end

--- Runs what is queued now; what that queues is left for the next time.
local function run(client)
  local queue, before = client.queue, client.begun
  local last = queue.count
  local call = queue:first()
  while call and call._number <= last do
    if call.fn then client:begin(call) else client:continue(call) end
    call = queue:first()
  end
  if client.begun > before then client:tell_pollers() end
  client:reap() -- nobody is to sleep on what a callback's coroutine held at its end
end

--- The descriptor is readable while there is something to do, and then only.
local function settle_descriptor(client)
  if client.queue:first() then client.native:wake() else client.native:peek() end
end

--- Takes what has arrived and runs the callbacks that are queued by then, each in a coroutine of its own. When an error
--- is raised into that (no memory, a hook), the next turn tells the rest.
---@return integer count of callbacks begun
function Client:turn()
  local before = self.begun
  take(self)
  run(self)
  quietly(settle_descriptor, self)
  return self.begun - before
end

--- Ends the waits in `poll`, where it is the loop that runs callbacks.
function Client:tell_pollers()
  if next(self.pollers) then quietly(self.wake_all, self, self.pollers) end
end

--- Closes without waiting; the session ends behind the scenes.
function Client:let_go()
  self.native:close()
  self:turn()
end

-- ---- public -------------------------------------------------------------------------------------------------------

--- The session's state, as far as this process knows: "connecting", "connected", "suspended" (no server in reach, the
--- session perhaps alive), "expired" (a new one is being made), "auth failed", "closed"; in a forked child "forked".
---@return string
function Client:state()
  check.self(self, Client, "client:state")
  return self.native:state()
end

--- Sets the listener for the session's state, or removes it. It runs from `poll` and from calls that wait.
---@param fn fun(state: string)?
function Client:on_state(fn)
  check.self(self, Client, "client:on_state")
  self.handle_state = check.listener(fn, "fn")
end

--- How long the servers keep a session that they hear nothing from.
---@return number? seconds what they granted; before there is a session, what was asked
---@return string? err "forked"
function Client:session_timeout()
  if self:unusable() == "forked" then return nil, "forked" end
  return self.native:session_timeout()
end

--- The session's id, as ZooKeeper's own tools print it.
---@return string? id hexadecimal with 0x; nil while there is none
---@return string? err "forked", or the state there is none in
function Client:session_id()
  local id = self.native:session_id()
  if id then return id end
  return nil, self.native:state()
end

--- A lock that one owner holds at a time, across all processes. No traffic: the path is made when first acquired.
---@param path string absolute; no empty, `.` or `..` components, none above 255 bytes, not under /zookeeper; at most
---  4096 bytes and 128 components, with the client's chroot; none that a lock's node could be called
---@param options zklock.LockOptions?
---@return zklock.Lock
function Client:mutex(path, options)
  check.self(self, Client, "client:mutex")
  check.path(path, "path", nil, self.chroot)
  local settings, by_thread = lock_options.check(options, "mutex", 4)
  return (Lock.new(self, Place.at(self, path, "mutex", settings, 3), by_thread))
end

--- A read-write lock: many readers or one writer, across all processes, in order of arrival. Who holds write may take
--- read and keep it when it gives write back; who holds read and asks for write gets "deadlock". No traffic.
---@param path string as for `mutex`
---@param options zklock.LockOptions?
---@return zklock.RwLock
function Client:rwlock(path, options)
  check.self(self, Client, "client:rwlock")
  check.path(path, "path", nil, self.chroot)
  local settings, by_thread = lock_options.check(options, "rwlock", 4)
  return (RwLock.new(self, Place.at(self, path, "rwlock", settings, 3), by_thread))
end

--- Several locks that are held all or none. They are asked for in one transaction, so that two multilocks never wait
--- for each other; a path that its owner holds otherwise answers "deadlock". Mixes with mutexes at the same paths.
---@param paths string[] each as for `mutex`; none twice, none below another
---@param options zklock.MultilockOptions?
---@return zklock.Lock
function Client:multilock(paths, options)
  check.self(self, Client, "client:multilock")
  check.paths(paths, "paths", nil, self.chroot)
  local settings, by_thread = lock_options.check(options, "multilock", 4)
  return (Lock.new(self, Place.of_all(self, paths, settings, 3), by_thread))
end

--- So many leases, across all processes, in order of arrival. Every process should say the same number: whoever takes a
--- lease goes by his own. No traffic.
---@param path string as for `mutex`
---@param permits integer at least 1
---@param options zklock.SemaphoreOptions?
---@return zklock.Semaphore
function Client:semaphore(path, permits, options)
  check.self(self, Client, "client:semaphore")
  check.path(path, "path", nil, self.chroot)
  check.integer(permits, "permits", 1)
  local settings = lock_options.check(options, "semaphore", 4)
  settings.permits = permits
  return (Semaphore.new(self, Place.at(self, path, "semaphore", settings, 3)))
end

--- Runs callbacks: those of requests, `on_lost`, `on_state`, `log`. Each runs in a coroutine of its own and may wait.
---@param timeout number? seconds to wait for the first; nil or 0 does not wait, math.huge waits for ever
---@return integer count of callbacks run
---@return string? err "cannot wait in phase NAME", with nil
function Client:poll(timeout)
  check.self(self, Client, "client:poll")
  local deadline = timeout == nil and 0 or check.deadline(timeout, "timeout")
  local before = self.begun
  self:recall()
  self:turn()
  if self.begun == before and self.loop.watch and deadline > core.now() then
    local settle = self.loop.settle
    if settle then settle(self) end
    local refused = self.begun == before and self:await_callback(deadline)
    if refused then return nil, refused end
    if settle and self.begun == before then settle(self) end
  end
  local is_first = true
  while self.begun == before and not self.loop.watch and core.now() < deadline and not self:unusable() do
    self:sleep(deadline, is_first)
    self:turn()
    is_first = false
  end
  return self.begun - before
end

-- Compiled code does not look for the hook that Ctrl-C sets.
local jit = rawget(_G, "jit")
if jit then jit.off(Client.poll) end

--- `poll` where the loop runs the callbacks: waits until it has.
---@private
function Client:await_callback(deadline)
  local refused = self:cannot_wait()
  if refused == "closed" or refused == "forked" then return nil end
  if refused then return refused end
  local poller = waiter.new(deadline)
  self.pollers[poller] = true
  self:suspend(poller)
  if self.pollers[poller] then self.pollers[poller] = nil end
  return nil
end

--- A descriptor that is readable while `poll` has work; for a loop of your own. Do not read from it or close it.
---@return integer fd -1 when the client is closed
function Client:getfd()
  return self.native:fd()
end

--- For cqueues, which polls objects with these three.
Client.pollfd = Client.getfd
function Client:events() return "r" end -- luacheck: ignore 212
function Client:timeout() return nil end -- luacheck: ignore 212

--- Waits until the servers have confirmed every release made so far.
---@param timeout number? seconds; nil waits for ever
---@return boolean? ok
---@return string? err "timeout", "disconnected", "closed", "forked"; "access denied": an ACL lets a node be made,
---  but not be deleted. It is tried again until the session ends, and by the next flush
---@return string? why of "disconnected", as far as is known: "connection refused: 127.0.0.1:2181"
function Client:flush(timeout)
  check.self(self, Client, "client:flush")
  local deadline = check.deadline(timeout, "timeout")
  local ok, query = self:ask(function(tag) return self.native:ask_flush(tag, deadline) end)
  if not ok then return self:failure(query) end
  query:drop()
  return true
end

--- Counters since the client was made; `waiting` and `held` are as of now.
---@return { acquired: integer, released: integer, timeouts: integer, lost: integer, revoked: integer,
---   abandoned: integer, sessions: integer, requests_sent: integer, waiting: integer, held: integer,
---   unwatched: integer }?
---@return string? err "forked"
function Client:stats()
  check.self(self, Client, "client:stats")
  if self:unusable() == "forked" then return nil, "forked" end
  self:recall()
  return self.native:stats()
end

--- Waits for the session's end, for a while.
local function await_end(client, deadline)
  if client.native:ended() then return end
  local ending = waiter.new(deadline)
  client.endings[ending] = true
  client:suspend(ending)
  if client.endings[ending] then client.endings[ending] = nil end
end

--- Releases everything, ends the session, answers every waiter and callback with "closed". Takes 5 seconds at worst;
--- inside nginx no time, the session ends behind the scenes. Twice is fine; in a forked child it leaves the parent's
--- session alone.
---@return true
function Client:close()
  check.self(self, Client, "client:close")
  local native = self.native
  if native:state() == "forked" then return true end
  local deadline = core.now() + CLOSE_MOST
  self:let_go()
  if not self.loop.background then await_end(self, deadline) end
  for _ = 1, CLOSE_ROUNDS do
    self:turn()
    if self.loop.settle then self.loop.settle(self) end
    if not self.queue:first() or core.now() > deadline then break end
  end
  self:tell_pollers()
  if self.unwatch and (native:ended() or self.loop.background) then self.unwatch() end
  if not self.unwatch and native:ended() then native:hang_up() end
  return true
end

--- Never raises, and is bounded like `close`.
function Client:__close()
  pcall(self.close, self)
end

function Client:__tostring()
  return ("zklock.Client (%s)"):format(self.native:state())
end

return Client
