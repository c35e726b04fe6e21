-- SPDX-License-Identifier: MIT
--- openresty: callers wait in nginx's light threads, each on a semaphore of its own. A worker hears
--- from the engine through a Unix socket, so nothing polls in an idle worker.
---
--- Owners are requests, not coroutines: nginx uses a coroutine again for the next request.
local ngx = rawget(_G, "ngx")
if not ngx then error("only valid inside nginx", 0) end

local Host = require "zklock.openresty.host"
local core = require "zklock.core"
local ffi = require "ffi"
local semaphore = require "ngx.semaphore"

local openresty = { name = "openresty", background = true }

--- Seconds between two checks of a waiter: the notifier's timer may have ended, and in a worker
--- that exits nothing else asks for a new one.
local NAP = 10
--- Seconds between two checks of a waiter while the notifier has no reader.
local UNHEARD = 0.05
--- How late, in seconds, the engine may end a wait that is due before the waiter checks.
local LATE = 0.1

local ADVICE = "lock:request (or semaphore:request) works in every phase: its callback gets the answer"

ffi.cdef "void *SSL_magic_pending_session_ptr(void);"

--- Whether OpenSSL can suspend the handler that fetches a session; OpenResty's OpenSSL can. Other
--- versions would end a handler that waits.
local fetches_wait = pcall(function() return ffi.C.SSL_magic_pending_session_ptr end)

--- The phases in which a light thread can be suspended.
local YIELDING = { rewrite = true, server_rewrite = true, access = true, content = true, timer = true, ssl_cert = true,
  ssl_session_fetch = fetches_wait, ssl_client_hello = true }

function openresty.unfit()
  if ngx.config.subsystem ~= "http" then return "zklock works in nginx's http {}, not in its stream {}" end
  local phase = ngx.get_phase()
  if phase == "init" then
    return "zklock.connect cannot be called in init_by_lua, where nginx has not forked its workers yet: "
      .. "call it in init_worker_by_lua, or when a request first needs it"
  elseif phase == "exit_worker" then
    return "zklock.connect cannot be called in exit_worker_by_lua: the worker is exiting"
  end
  return nil
end

function openresty.can_wait()
  local phase = ngx.get_phase()
  if YIELDING[phase] then return true end
  return nil, "cannot wait in phase " .. phase, ADVICE
end

function openresty.watch(client, ready)
  local host = Host.new(client, ready)
  client.host = host
  return function() host:remove() end
end

--- The shortest time for which nginx suspends a light thread; seconds.
local SHORTEST = 0.001

--- How long a waiter sleeps before it checks; seconds.
local function nap(host, waiter)
  local left = math.max(math.min(waiter:left() or NAP, NAP), SHORTEST)
  if not host.notifier:is_heard() then return math.min(left, UNHEARD) end
  local due = waiter.due and waiter.due - core.now()
  return due and math.min(left, math.max(due + LATE, LATE)) or left
end

--- Semaphores that no light thread waits for, and that nobody will post: as many as have been in use at once. The first
--- of them; each has the next one, so giving one back allocates nothing.
local spare = false

local function take_semaphore()
  local taken = spare or assert(semaphore.new(0))
  spare = taken.next_spare or false
  taken.next_spare = false
  return taken
end

--- The wait is over. A wake that comes late finds no semaphore.
local function return_semaphore(waiter)
  local given = waiter.semaphore
  waiter.semaphore = false
  if given:count() == 0 then given.next_spare, spare = spare, given end
end

function openresty.wait(client, waiter)
  if waiter.done then return end
  local host = client.host
  host.visits:here()
  if waiter.done then return end -- its visit has just begun, and took the events
  host.notifier:listen()
  waiter.semaphore = take_semaphore()
  local over = waiter.done -- a finalizer has woken it before there was a semaphore
  while not over do
    waiter.is_asleep = true
    waiter.semaphore:wait(nap(host, waiter))
    waiter.is_asleep = false
    over = waiter.done or waiter:left() == 0
    if not over then host:help() end
  end
  return_semaphore(waiter)
end

--- ngx.thread.kill takes a light thread out of its semaphore's queue without notice. The coroutine
--- may be another light thread's by now, so this asks the semaphore, whose count is negative while
--- a light thread waits.
function openresty.is_gone(waiter)
  return waiter.is_asleep and waiter.semaphore:count() >= 0 or false
end

function openresty.wake(waiter)
  if waiter.semaphore then waiter.semaphore:post(1) end
end

--- In a worker that exits, nginx checks its semaphores only after a descriptor or a timer has woken it.
function openresty.goes_on()
  return not ngx.worker.exiting()
end

--- The light thread that wakes waiters runs no code of the script: callbacks run in their own
--- timer.
function openresty.spawn(client, fn)
  client.host.runner:add(fn)
  client.host.notifier:listen() -- it keeps the runner's timer going
  return true
end

function openresty.owner(client, by_thread)
  local phase = ngx.get_phase()
  local may_wait = YIELDING[phase]
  return client.host.visits:owner(may_wait, by_thread, phase), may_wait
end

--- The phases that serve a request whose end nginx will report. In the log phase it has done so.
local SERVING = { set = true, server_rewrite = true, rewrite = true, access = true, content = true, balancer = true,
  header_filter = true, body_filter = true, ssl_cert = true }

function openresty.tie(client, request)
  local host = client.host
  if SERVING[ngx.get_phase()] then host.visits:here():tie(request) end
  host:help_if_unheard()
end

--- In a worker that exits, nothing asks again for a timer that nginx has dropped. A request that
--- only polls its state would never see an answer.
function openresty.look(client)
  client.host:help_if_unheard()
end

function openresty.attend(client, lasts)
  if lasts then client.host:last() end
  client.host:help_if_unheard()
end

function openresty.follow(client, run)
  return client.host.visits:follow(run)
end

function openresty.note(line)
  ngx.log(ngx.WARN, line)
end

function openresty.report(message)
  ngx.log(ngx.ERR, message)
end

return openresty
