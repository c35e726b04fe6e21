-- SPDX-License-Identifier: MIT
--- visits: the requests that use this client; to nginx, subrequests and timers are requests, too. A
--- request is one owner in all its phases and light threads; in a timer each light thread is an
--- owner. When a request ends, nginx calls a cleanup handler in C, and the engine posts an event.
local base = require "resty.core.base"
local core = require "zklock.core"
local each = require "zklock.base.each"
local ffi = require "ffi"
local ownership = require "zklock.owners.owner"
local subrequests = require "zklock.openresty.subrequests"

ffi.cdef [[
  typedef struct zkl_ngx_cleanup {
    void (*handler)(void *data);
    void *data;
    struct zkl_ngx_cleanup *next;
  } zkl_ngx_cleanup;
  zkl_ngx_cleanup *ngx_http_cleanup_add(void *r, size_t size);
]]

-- Created once: LuaJIT keeps each function type that it parses for ever, and has room for 65,536.
local POINTER, ADDRESS, HANDLER = ffi.typeof("void *"), ffi.typeof("uintptr_t"), ffi.typeof("void (*)(void *)")

--- A tag without a subject: the dispatcher drops its events.
local NOBODY = 0

--- Stands for a list that does not exist yet. Nothing writes into it.
local NONE = {}

--- How many visits are kept for later requests.
local SPARE_MOST = 256

local WEAK_KEYS = { __mode = "k" }

--- The owner that stands for a request. Its visit refers to it until the request ends.
local REQUEST = { __name = "zklock.request", __tostring = function() return "an nginx request" end }
local THREAD = { __name = "zklock.light_thread", __tostring = function() return "a light thread of an nginx timer" end }

ownership.declare_kept_class(REQUEST)

local Visit = {}
Visit.__index = Visit

---@class zklock.Visits
local Visits = {}
Visits.__index = Visits

---@param on_second fun() called when a second request uses the client, timers not counted
---@param on_begin fun() called when a request uses the client for the first time
function Visits.new(client, on_second, on_begin)
  local back = setmetatable({ client }, { __mode = "v" })
  return setmetatable({ back = back, native = client.native, on_second = on_second, on_begin = on_begin, list = {},
    spare = {}, seen = 0, guests = 0, parts = {}, threaded = {}, ours = setmetatable({}, { __mode = "v" }) }, Visits)
end

--- True if no request is left but our own timers. Once the client has been collected, nothing
--- reports the end of requests, so this function checks each one.
function Visits:is_empty()
  for _, visit in each(self.back[1] and {} or self.list) do
    if visit.native:ended() then visit:finish() end
  end
  return self.guests == 0
end

local function address_of(request)
  return tonumber(ffi.cast(ADDRESS, ffi.cast(POINTER, request)))
end

local function new_request()
  return setmetatable({ _lifetimes = false, _number = false, _finalizer = false }, REQUEST)
end

local function new_thread()
  local owner = setmetatable({}, THREAD)
  ownership.declare_weak(owner)
  return owner
end

--- Adds a cleanup handler to the request: nginx calls it when the request ends. It is empty so far.
local function add_cleanup(request)
  local cleanup = ffi.C.ngx_http_cleanup_add(request, 0)
  if cleanup == nil then error("zklock: no memory for a cleanup handler", 0) end
  return cleanup
end

--- The engine's part of a visit: `subject:event()` gets the event when the request has ended.
---@return userdata native
---@return cdata handler for nginx's cleanup handler, as is `data`
---@return any data
local function attend(visits, subject, request)
  subrequests.learn(request)
  local client = visits.back[1]
  local native = visits.native:visit(client and client.dispatcher:enter(subject) or NOBODY)
  local cleanup = add_cleanup(request)
  local handler, data = native:lend()
  handler = ffi.cast(HANDLER, handler)
  cleanup.handler, cleanup.data = handler, data
  return native, handler, data
end

--- Reports the running request's end to `subject`. Such a visit owns nothing.
---@return userdata native with `ended()`
function Visits:attend(subject)
  local request = base.get_request()
  local native = attend(self, subject, request)
  self.ours[address_of(request)] = native
  return native
end

--- As `attend`, for a light thread in one of our own timers.
---@return userdata native for `subject` to keep
function Visits:follow(subject)
  local native = attend(self, subject, base.get_request())
  return native
end

--- True if the request at this address is one of our own timers.
local function is_ours(visits, address)
  local native = visits.ours[address]
  return native ~= nil and not native:ended()
end

local function new_visit(visits, request)
  local visit = setmetatable({ visits = visits, address = false, native = false, handler = false, data = false,
    is_guest = false, is_spare = false, phase = false, owner = false, owners = false, requests = false }, Visit)
  visit.native, visit.handler, visit.data = attend(visits, visit, request)
  return visit
end

--- A spare visit, used again for this request.
local function renewed(visits, request)
  local spare = visits.spare
  local visit = spare[#spare]
  if not visit then return nil end
  spare[#spare] = nil
  local cleanup = add_cleanup(request)
  if not visit.native:renew() then return nil end
  cleanup.handler, cleanup.data = visit.handler, visit.data
  visit.is_spare = false
  return visit
end

local function begin(visits, address, request)
  local visit = renewed(visits, request) or new_visit(visits, request)
  visit.address = address
  visit.is_guest = not is_ours(visits, address)
  visits.list[address] = visit
  if subrequests.is_one(request) then
    visits.parts[visit] = true
    subrequests.follow(visit.native, request)
  end
  if visit.is_guest then visits.guests = visits.guests + 1 end
  if ngx.get_phase() ~= "timer" then visits.seen = visits.seen + 1 end
  if visits.seen == 2 then visits.on_second() end
  visits.on_begin()
  return visit
end

--- The visit of the request at this address. nginx may have put another request there.
local function find(visits, address)
  local visit = visits.list[address]
  if not visit or not visit.native:ended() then return visit end
  visit:finish()
  return nil
end

--- The parent of a subrequest runs before the notifier has reported the subrequest's end.
local function end_parts(visits)
  for visit in each(visits.parts) do
    if visit.native:ended() then visit:finish() end
  end
end

--- The running request's visit.
function Visits:here()
  local request = base.get_request()
  if next(self.parts) then end_parts(self) end
  local address = address_of(request)
  return find(self, address) or begin(self, address, request)
end

--- The owner of a call that names none. In a phase that cannot wait nothing can be acquired, so a
--- request without a visit needs none there.
---@param by_thread boolean? true: in a request, too, the owner is the light thread
function Visits:owner(may_begin, by_thread)
  local request = base.get_request()
  if not request then return new_request() end
  local visit = may_begin and self:here() or find(self, address_of(request))
  if not visit then return new_request() end
  local phase = ngx.get_phase()
  if phase == "timer" then return visit:thread() end
  if not by_thread then return visit:request() end
  return may_begin and visit:thread_of(phase) or new_thread()
end

function Visit:request()
  if not self.owner then self.owner = new_request() end
  return self.owner
end

function Visit:thread()
  local thread = coroutine.running()
  self.owners = self.owners or setmetatable({}, WEAK_KEYS)
  local owner = self.owners[thread]
  if not owner then
    owner = setmetatable({}, THREAD)
    ownership.declare_stand_in(owner, thread)
    ownership.look(owner)
    self.owners[thread] = owner
  end
  return owner
end

--- The owner for a light thread of a request. nginx ends the light threads of a phase when the
--- phase ends, and then uses their coroutines again.
function Visit:thread_of(phase)
  if self.phase ~= phase then self:end_threads() end
  self.phase = phase
  self.visits.threaded[self] = true
  return self:thread()
end

--- All light threads of the visit have ended.
function Visit:end_threads()
  local client = self.visits.back[1]
  for thread, owner in each(self.owners or NONE) do
    if client then client.lifetimes:abandon(owner) end
    self.owners[thread] = nil
  end
end

--- True if this light thread has ended. Its coroutine may be another request's by now.
local function is_over(visit, thread, owner)
  local address = core.host_data(thread)
  return address and address ~= visit.address or ownership.is_dead(owner)
end

--- Gives back the holds of light threads that have ended in requests: nginx does not report that.
---@return boolean more true: a light thread still holds or waits
function Visits:end_threads()
  local client, more = self.back[1], false
  for visit in each(client and self.threaded or {}) do
    for thread, owner in each(visit.owners) do
      if is_over(visit, thread, owner) then
        client.lifetimes:abandon(owner)
        visit.owners[thread] = nil
      else
        more = more or client.lifetimes:has(owner)
      end
    end
  end
  return more
end

--- Ends the waits of killed light threads: nginx does not report that either.
function Visits:desert()
  local client = self.back[1]
  if client then client.holds:desert() end
end

--- The lock request ends with this visit.
function Visit:tie(request)
  self.requests = self.requests or setmetatable({}, WEAK_KEYS)
  self.requests[request] = true
end

--- Gives back what the visit's owners hold or wait for. If that raises, it can be called again.
function Visit:finish()
  local visits = self.visits
  if visits.list[self.address] ~= self then return end
  local client = visits.back[1]
  if client then
    if self.owner then client.lifetimes:abandon(self.owner) end
    for _, owner in each(self.owners or NONE) do client.lifetimes:abandon(owner) end
    for request in each(self.requests or NONE) do request:abandon() end
  end
  visits.list[self.address] = nil
  if self.is_guest then visits.guests = visits.guests - 1 end
  if visits.parts[self] then visits.parts[self] = nil end
  if visits.threaded[self] then visits.threaded[self] = nil end
end

--- Keeps the visit for another request. Requests of locks may still refer to its former tables.
local function put_back(visit)
  local spare = visit.visits.spare
  visit.is_spare = true
  visit.phase, visit.owner, visit.owners, visit.requests = false, false, false, false
  if #spare < SPARE_MOST then spare[#spare + 1] = visit end
end

--- The engine calls this, perhaps twice, when the request has ended.
function Visit:event()
  if self.is_spare then return end
  self:finish()
  put_back(self)
end

return Visits
