--- openresty: waits in nginx's light threads, each on a semaphore of its own. A worker hears from the engine through a
--- Unix socket: nothing polls, and an idle worker is left alone.
---
--- Owners are requests: nginx uses coroutines again for the next request.
local ngx = rawget(_G, "ngx")
if not ngx then error("it works inside nginx only", 0) end

local Bell = require "zklock.openresty.bell"
local Stage = require "zklock.openresty.stage"
local Visits = require "zklock.openresty.visits"
local core = require "zklock.core"
local ffi = require "ffi"
local semaphore = require "ngx.semaphore"

local openresty = { name = "openresty", background = true }

--- As long as nginx's timers can count milliseconds in an int.
local LONGEST = 2e6

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
    return "zklock.connect cannot be called in exit_worker_by_lua: the worker is at its end"
  end
  return nil
end

function openresty.can_wait()
  local phase = ngx.get_phase()
  if YIELDING[phase] then return true end
  return nil, "cannot wait in phase " .. phase
end

--- A worker's Lua state lasts. But with `lua_code_cache off` each request has one of its own, which ends only when
--- nothing of it is left: there the bell must end with the request. Nobody says which of the two this is; in the former
--- there is only one state, and it sees more than one request.
local function may_last() return core.states() == 1 end

function openresty.watch(client, ready)
  local host = {}
  client.host = host
  host.bell = Bell.new(client.native, ready, function()
    return not host.visits:is_empty() or host.stage.running > 0
  end)
  host.visits = Visits.new(client, function()
    if may_last() then host.bell:keep() end
  end)
  host.stage = Stage.new(host.visits)
  local phase = ngx.get_phase()
  if phase == "init_worker" or phase == "timer" and may_last() then host.bell:keep() end
  return function() host.bell:remove() end
end

function openresty.wait(client, waiter)
  if waiter.done then return end
  local host = client.host
  host.visits:here()
  host.bell:listen()
  waiter.semaphore = assert(semaphore.new(0))
  repeat
    waiter.semaphore:wait(math.min(waiter:left() or LONGEST, LONGEST))
  until waiter.done or waiter:left() == 0
end

function openresty.wake(waiter)
  if waiter.semaphore then waiter.semaphore:post(1) end
end

--- The light thread that wakes everybody runs no code of the user's: callbacks get timers of their own.
function openresty.spawn(client, fn)
  client.host.stage:add(fn)
  client.host.bell:listen() -- for the end of its timer
  return true
end

function openresty.owner(client)
  return client.host.visits:owner(YIELDING[ngx.get_phase()])
end

function openresty.report(message)
  ngx.log(ngx.ERR, message)
end

return openresty
