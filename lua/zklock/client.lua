-- SPDX-License-Identifier: MIT
--- client: one session with the servers, and the locks that a script creates from it. The rest is
--- in run/ (events, callbacks, waits), holds/ (what each owner holds) and owners/ (who can hold).
local Callbacks = require "zklock.run.callbacks"
local Dispatcher = require "zklock.run.dispatcher"
local ClientHolds = require "zklock.holds.client_holds"
local Job = require "zklock.job"
local Jobs = require "zklock.jobs"
local Lock = require "zklock.lock"
local OwnerLifetimes = require "zklock.owners.owner_lifetimes"
local Paths = require "zklock.holds.paths"
local Reporter = require "zklock.run.reporter"
local RwLock = require "zklock.rwlock"
local Semaphore = require "zklock.semaphore"
local Waits = require "zklock.run.waits"
local check = require "zklock.base.check"
local core = require "zklock.core"
local do_once = require "zklock.once"
local lock_options = require "zklock.options"
local nodes = require "zklock.nodes"
local query = require "zklock.run.query"
local watch = require "zklock.run.watcher"

--- How long `close` waits for the session's end; seconds.
local CLOSE_MOST = 5
--- `close` also runs callbacks that queue new callbacks, but not for ever.
local CLOSE_ROUNDS = 1000

--- In seconds. A bucket is `{ le, count }`: so many took `le` or less.
---@class zklock.Histogram
---@field count integer
---@field sum number
---@field buckets { [1]: number, [2]: integer }[] by `le`, which is math.huge in the last

---@class zklock.Client
---@field package native userdata the engine's client
---@field package loop table the adapter
---@field package lifetimes zklock.OwnerLifetimes
---@field package waits zklock.Waits
---@field package callbacks zklock.Callbacks
---@field package dispatcher zklock.Dispatcher
---@field package holds zklock.ClientHolds
---@field package paths zklock.Paths
---@field package jobs zklock.Jobs
---@field host any the adapter's data
local Client = {}
Client.__index = Client
Client.__name = "zklock.Client"

---@param native userdata
---@param options { loop: table, chroot: string, is_known: boolean, on_state: function?, on_error: function?,
---   log: function|false|nil, log_level: string }
---@return zklock.Client
function Client.new(native, options)
  local loop, queue, lifetimes = options.loop, core.fifo(), OwnerLifetimes.new()
  local reporter = Reporter.new(options.on_error, loop)
  local self = setmetatable({ native = native, loop = loop, chroot = options.chroot, is_known = options.is_known,
    lifetimes = lifetimes, host = false, unwatch = false, finalizer = false }, Client)
  self.waits = Waits.new(self, native, loop, lifetimes, queue, reporter)
  self.callbacks = Callbacks.new(self, loop, self.waits, queue, lifetimes, reporter)
  self.dispatcher = Dispatcher.new(native, self.waits, self.callbacks, lifetimes, {
    on_state = options.on_state,
    log = options.log,
    log_level = options.log_level,
    note = options.log ~= false and loop.note,
    chroot = options.chroot,
  })
  self.holds, self.paths, self.jobs = ClientHolds.new(self, lifetimes), Paths.new(self), Jobs.new(self)
  if loop.watch then self.unwatch, self.finalizer = watch(self) end
  return self
end

--- The session's state, as far as this process knows.
---@return "connecting"|"connected"|"suspended"|"expired"|"auth failed"|"closed"|"forked"
function Client:state()
  check.self(self, Client, "client:state")
  return self.native:state()
end

--- Sets the listener for the session's state, or removes it. `poll` and calls that wait run it.
---@param fn fun(state: string)?
function Client:on_state(fn)
  check.self(self, Client, "client:on_state")
  self.dispatcher:listen(check.listener(fn, "fn"))
end

--- How long the servers keep a session that sends them nothing.
---@return number? seconds that the servers granted; before there is a session, seconds that the client asks for
---@return string? err "forked"
function Client:session_timeout()
  check.self(self, Client, "client:session_timeout")
  if self.native:unusable() == "forked" then return nil, "forked" end
  return self.native:session_timeout()
end

--- The session's id, as ZooKeeper's own tools print it.
---@return string? id hexadecimal with 0x; nil while there is none
---@return string? err "closed", "forked", or another state in which there is none, as of `state`
function Client:session_id()
  check.self(self, Client, "client:session_id")
  local id = self.native:session_id()
  if id and not self.native:unusable() then return id end
  return nil, self.native:state()
end

--- Checks the path of a lock. A path that is in use has been checked before.
local function check_path(client, path)
  if not client.paths:has(path) then check.path(path, "path", client.chroot) end
end

local function label_of(client, name)
  return name and client.native:name(name)
end

--- A lock that one owner holds at a time, across all processes.
---@param path string absolute; at most 4096 bytes and 128 components, with the client's chroot
---@param options zklock.LockOptions?
---@return zklock.Lock
function Client:mutex(path, options)
  check.self(self, Client, "client:mutex")
  check_path(self, path)
  local settings, by_thread, name = lock_options.check(options, "mutex")
  return (Lock.new(self, self.paths:at(path, "mutex", settings), by_thread, label_of(self, name)))
end

--- A read-write lock: many readers or one writer, across all processes, in order of arrival.
---@param path string as for `mutex`
---@param options zklock.LockOptions?
---@return zklock.RwLock
function Client:rwlock(path, options)
  check.self(self, Client, "client:rwlock")
  check_path(self, path)
  local settings, by_thread, name = lock_options.check(options, "rwlock")
  return (RwLock.new(self, self.paths:at(path, "rwlock", settings), by_thread, label_of(self, name)))
end

--- Several locks that are held all or none; two multilocks never wait for each other.
---@param paths string[] each as for `mutex`; no path twice, no path below another
---@param options zklock.MultilockOptions?
---@return zklock.Lock
function Client:multilock(paths, options)
  check.self(self, Client, "client:multilock")
  check.paths(paths, "paths", self.chroot)
  local settings, by_thread, name = lock_options.check(options, "multilock")
  return (Lock.new(self, self.paths:of_all(paths, settings), by_thread, label_of(self, name)))
end

--- A number of leases, across all processes, in order of arrival.
---@param path string as for `mutex`
---@param permits integer at least 1; the same in every process, because each counts by its own
---@param options zklock.SemaphoreOptions?
---@return zklock.Semaphore
function Client:semaphore(path, permits, options)
  check.self(self, Client, "client:semaphore")
  check_path(self, path)
  check.integer(permits, "permits", 1)
  local checked, _, name = lock_options.check(options, "semaphore")
  local settings = { fair = checked.fair, max_hold = checked.max_hold, slow = checked.slow, permits = permits }
  return (Semaphore.new(self, self.paths:at(path, "semaphore", settings), label_of(self, name)))
end

--- Begins a job: a function that one instance runs at a time, across all machines, again and again.
---@param path string as for `mutex`
---@param fn fun(token: integer, hold: zklock.Held)
---@param options zklock.JobOptions?
---@return zklock.Job? job
---@return string? err "closed", "forked"
function Client:job(path, fn, options)
  check.self(self, Client, "client:job")
  check_path(self, path)
  check.func(fn, "fn")
  local settings, name = lock_options.check_job(options)
  local lock_path = self.paths:mutex(path, lock_options.usual)
  local unusable = self.native:unusable() or self.jobs:refuses() and "closed"
  if unusable then return nil, unusable end
  local job = Job.new(self, Lock.new(self, lock_path, false, label_of(self, name), true), fn, settings)
  local attend = self.loop.attend
  if attend then attend(self, true) end
  return job
end

--- Calls fn under the mutex at `path`, unless any client did so less than `seconds` ago.
---@param path string as for `mutex`
---@param seconds number above 0; math.huge: once for ever
---@param fn fun(token: integer, hold: zklock.Held): ...: any
---@param options zklock.OnceOptions?
---@return boolean? done true and fn's results; or false: it was done less than `seconds` ago
---@return any left_or_err with false: how many seconds are left; with nil: "timeout", "disconnected", "unknown",
---  "lost", "wrong kind", or as of `lock:acquire`
---@return any ... of "disconnected" the reason; with "after" fn's results, if fn ran
function Client:once(path, seconds, fn, options)
  check.self(self, Client, "client:once")
  check_path(self, path)
  check.period(seconds, "seconds")
  check.func(fn, "fn")
  local mark, timeout, name = lock_options.check_once(options)
  local lock = Lock.new(self, self.paths:mutex(path, lock_options.usual), false, label_of(self, name))
  return do_once(self, lock, seconds, fn, mark, timeout)
end

--- Waits, as the loop does, until a callback has begun.
---@return string? err
local function await_callback(self, deadline, before)
  local callbacks, settle = self.callbacks, self.loop.settle
  if settle then settle(self) end
  local refused = callbacks.begun == before and callbacks:await(deadline)
  if refused then return refused end
  if settle and callbacks.begun == before then settle(self) end
  return nil
end

--- For a program without a loop: turns until a callback has begun or been resumed.
local function turn_until(self, deadline, turns)
  local callbacks, dispatcher, is_first = self.callbacks, self.dispatcher, true
  while callbacks.begun + callbacks.resumed == turns and core.now() < deadline and not self.native:unusable() do
    local moment, natives = dispatcher:prepare_sleep(deadline, is_first)
    if callbacks.begun + callbacks.resumed == turns then self.native:wait(moment, natives) end
    dispatcher:turn()
    is_first = false
  end
end

--- Runs callbacks. One that goes on after a wait also ends the poll, but does not count again.
---@param timeout number? seconds to wait for the first callback; nil or 0 does not wait, math.huge
---  waits for ever
---@return integer? count of callbacks run
---@return string? err "cannot wait in phase NAME", with nil
function Client:poll(timeout)
  check.self(self, Client, "client:poll")
  local deadline = timeout == nil and 0 or check.deadline(timeout, "timeout")
  local callbacks, refused = self.callbacks, nil
  local before, turns = callbacks.begun, callbacks.begun + callbacks.resumed
  self.holds:sweep()
  if self.waits:parkable() then
    refused = callbacks:await(deadline)
  else
    self.dispatcher:turn()
    if not self.loop.watch then
      turn_until(self, deadline, turns)
    elseif callbacks.begun == before and deadline > core.now() then
      refused = await_callback(self, deadline, before)
    end
  end
  if refused then return nil, refused end
  return callbacks.begun - before
end

--- Waits while others run.
---@param seconds number at least 0; 0 gives the others one turn, math.huge sleeps until `close`
---@return boolean? ok
---@return string? err "closed", "forked", "cannot wait in phase NAME"
function Client:sleep(seconds)
  check.self(self, Client, "client:sleep")
  local moment = core.now() + check.span(seconds, "seconds")
  self.holds:sweep()
  return self.waits:sleep(moment)
end

-- Compiled code does not check for the hook that Ctrl-C sets.
local jit = rawget(_G, "jit")
if jit then jit.off(turn_until) end

--- Calls fn in its own coroutine, in order with the other callbacks.
---@param fn function
---@param ... any fn's arguments
function Client:spawn(fn, ...)
  check.self(self, Client, "client:spawn")
  check.func(fn, "fn")
  local unusable = self.native:unusable()
  if unusable then
    check.fail(unusable == "closed" and "the client is closed" or "the client belongs to the parent process")
  end
  self.callbacks:later(fn, ...)
  self.native:wake()
  local attend = self.loop.attend
  if attend then attend(self) end
end

--- A descriptor that is readable while `poll` has work: do not read from it or close it.
---@return integer fd -1 when the client is closed
function Client:getfd()
  check.self(self, Client, "client:getfd")
  return self.native:fd()
end

--- For the adapter of a loop that watches no descriptors (docs/internals/adapters.md).
---@return { path: (fun(self): string), answer: (fun(self): true?, string?), drop: fun(self) }? notifier
---@return string? err "closed", "forked", or what the system says
function Client:notifier()
  check.self(self, Client, "client:notifier")
  local unusable = self.native:unusable()
  if unusable then return nil, unusable end
  return self.native:notifier()
end

--- cqueues polls an object through these three methods.
Client.pollfd = Client.getfd
function Client:events() return "r" end -- luacheck: ignore 212
function Client:timeout() return nil end -- luacheck: ignore 212

--- Waits until the servers have confirmed every release made so far.
---@param timeout number? seconds; nil waits for ever
---@return boolean? ok
---@return string? err "timeout", "disconnected", "closed", "forked"; "access denied": an ACL lets
---  this client create a node but not delete it
---@return string? why of "disconnected", as far as is known: "connection refused: 127.0.0.1:2181"
function Client:flush(timeout)
  check.self(self, Client, "client:flush")
  local deadline = check.deadline(timeout, "timeout")
  return query(self, function(tag) return self.native:ask_flush(tag, deadline) end)
end

--- Asks the servers whether a caller, of any client, holds at `path` with this fencing token.
---@param path string as for `mutex`
---@param token integer as of `acquire`, `lock:token()`, `lease:token()` or $ZKLOCK_TOKEN
---@param timeout number? seconds; nil waits for ever; 0 tries once
---@return boolean? holds false also if there is no such path, and once this client has released the hold
---@return string? err as of `lock:revoke`
---@return string? why likewise
function Client:check(path, token, timeout)
  check.self(self, Client, "client:check")
  check_path(self, path)
  check.token(token, "token")
  local deadline, once = check.deadline(timeout, "timeout")
  local ok, err, why = query(self, function(tag) return self.native:ask_check(path, token, tag, deadline, once) end)
  if ok then return true end
  if err == "not owner" then return false end
  return self.waits:failure(err, why)
end

--- Counters since the client was created; `waiting`, `held`, `unwatched`, `watches` and `node_bytes` are current.
---@return { acquired: integer, released: integer, timeouts: integer, lost: integer, revoked: integer,
---   abandoned: integer, sessions: integer, requests_sent: integer, waiting: integer, held: integer,
---   unwatched: integer, handed: integer, guarded: integer, watches: integer, node_bytes: integer,
---   latency: number,
---   runs: { ran: integer, skipped: integer, failed: integer },
---   wait: zklock.Histogram, hold: zklock.Histogram, heartbeat: zklock.Histogram }?
---@return string? err "forked"
function Client:stats()
  check.self(self, Client, "client:stats")
  if self.native:unusable() == "forked" then return nil, "forked" end
  self.holds:sweep()
  return self.native:stats()
end

nodes(Client)

--- Releases everything, ends the session, and answers every waiter and callback with "closed".
---@return true
function Client:close()
  check.self(self, Client, "client:close")
  local native, dispatcher, callbacks, loop = self.native, self.dispatcher, self.callbacks, self.loop
  if native:state() == "forked" then return true end
  local deadline = core.now() + CLOSE_MOST
  local ok, err = self.waits.protected(self.jobs.close, self.jobs, deadline)
  native:close() -- the session ends in the background
  self.waits:end_sleep()
  dispatcher:dispatch()
  if not loop.background then dispatcher:await_end(deadline) end
  for _ = 1, CLOSE_ROUNDS do
    dispatcher:dispatch()
    if loop.settle then loop.settle(self) end
    if not callbacks:is_pending() or core.now() > deadline then break end
  end
  callbacks:tell_pollers()
  self.waits:close()
  if self.unwatch and (native:ended() or loop.background) then self.unwatch() end
  if not self.unwatch and native:ended() then native:hang_up() end
  if not ok then error(err, 0) end
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
