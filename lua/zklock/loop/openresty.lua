--- openresty: waits in nginx's light threads, each on a semaphore of its own. A worker hears from the engine through a
--- Unix socket: nothing polls, and an idle worker is left alone.
---
--- Owners are requests: nginx uses coroutines again for the next request.
local ngx = rawget(_G, "ngx")
if not ngx then error("only valid inside nginx", 0) end

local Host = require "zklock.openresty.host"
local core = require "zklock.core"
local ffi = require "ffi"
local semaphore = require "ngx.semaphore"

local openresty = { name = "openresty", background = true }

--- Seconds between two looks of one who waits: the notifier's timer may have ended, and in a worker that is told to
--- leave nobody else asks for a new one.
local NAP = 10
--- Seconds between two looks of one who waits while nobody listens to the notifier.
local UNHEARD = 0.05
--- Seconds by which the engine may be late with what is due, before one who waits looks himself.
local LATE = 0.1

local ADVICE = "lock:request (or semaphore:request) works in every phase: its callback gets the answer"

ffi.cdef "void *SSL_magic_pending_session_ptr(void);"

--- Whether OpenSSL waits for a session that is being fetched: OpenResty's does. Elsewhere the handler that waited would
--- be ended.
local fetches_wait = pcall(function() return ffi.C.SSL_magic_pending_session_ptr end)

--- The phases in which a light thread can be suspended.
local YIELDING = {
  rewrite = true,
  server_rewrite = true,
  access = true,
  content = true,
  timer = true,
  ssl_cert = true,
  ssl_session_fetch = fetches_wait,
  ssl_client_hello = true,
}

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

--- How long to sleep before it looks itself; seconds.
local function nap(host, waiter)
  local left = math.min(waiter:left() or NAP, NAP)
  if not host.notifier:is_heard() then return math.min(left, UNHEARD) end
  local due = waiter.due and waiter.due - core.now()
  return due and math.min(left, math.max(due + LATE, LATE)) or left
end

function openresty.wait(client, waiter)
  if waiter.done then return end
  local host = client.host
  host.visits:here()
  if waiter.done then return end -- its visit has begun here, and took the events
  host.notifier:listen()
  waiter.semaphore = assert(semaphore.new(0))
  repeat
    waiter.is_asleep = true
    waiter.semaphore:wait(nap(host, waiter))
    waiter.is_asleep = false
    local over = waiter.done or waiter:left() == 0
    if not over then host:help() end
  until over
end

--- ngx.thread.kill takes a light thread out of its semaphore's queue, and tells nobody. Its coroutine may be another
--- one's by now, so the semaphore is asked: below 0 it counts who waits.
function openresty.is_gone(waiter)
  return waiter.is_asleep and waiter.semaphore:count() >= 0 or false
end

function openresty.wake(waiter)
  if waiter.semaphore then waiter.semaphore:post(1) end
end

--- The light thread that wakes everybody runs no code of the user's: callbacks have a timer of their own.
function openresty.spawn(client, fn)
  client.host.runner:add(fn)
  client.host.notifier:listen() -- it looks after that timer
  return true
end

function openresty.owner(client, by_thread)
  return client.host.visits:owner(YIELDING[ngx.get_phase()], by_thread)
end

--- The phases in which nginx serves a request that it will tell the end of. In the log phase it has told it already.
local SERVING = { set = true, server_rewrite = true, rewrite = true, access = true, content = true, balancer = true,
  header_filter = true, body_filter = true, ssl_cert = true }

function openresty.tie(client, request)
  local host = client.host
  if SERVING[ngx.get_phase()] then host.visits:here():tie(request) end
  host:help_if_unheard()
end

--- In a worker that leaves, nobody asks again for a timer that nginx has dropped. A request that only looks, again and
--- again, would never see an answer.
function openresty.look(client)
  client.host:help_if_unheard()
end

function openresty.attend(client)
  client.host:help_if_unheard()
end

function openresty.note(line)
  ngx.log(ngx.WARN, line)
end

function openresty.report(message)
  ngx.log(ngx.ERR, message)
end

return openresty
