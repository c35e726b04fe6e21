--- visits: the requests (and subrequests, and timers, which are requests to nginx) in which this client is used. A
--- request is an owner in all its phases and light threads; in a timer each light thread is one. nginx tells the engine
--- of a request's end, through a cleanup handler in C; the engine has an event for that.
local base = require "resty.core.base"
local core = require "zklock.core"
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

-- Made once: LuaJIT keeps each function type that it reads for ever, and has room for 65,536 types.
local POINTER, ADDRESS, HANDLER = ffi.typeof("void *"), ffi.typeof("uintptr_t"), ffi.typeof("void (*)(void *)")

--- A tag that no subject has: its events are dropped.
local NOBODY = 0

--- Stands for a list that is not there yet. Nobody writes into it.
local NONE = {}

--- How many are kept for requests to come.
local SPARE_MOST = 256

local WEAK_KEYS = { __mode = "k" }

--- A request is known for as long as its visit lasts.
local REQUEST = { __name = "zklock.request", __tostring = function() return "an nginx request" end }
local THREAD = { __name = "zklock.light_thread", __tostring = function() return "a light thread of an nginx timer" end }

ownership.declare_kept_class(REQUEST)

local Visit = {}
Visit.__index = Visit

---@class zklock.Visits
local Visits = {}
Visits.__index = Visits

---@param on_second fun() called when a second request is seen, timers left aside
---@param on_begin fun() called when a request uses the client for the first time
function Visits.new(client, on_second, on_begin)
  local back = setmetatable({ client }, { __mode = "v" })
  return setmetatable({ back = back, native = client.native, on_second = on_second, on_begin = on_begin, list = {},
    spare = {}, seen = 0, guests = 0, parts = {}, threaded = {}, ours = setmetatable({}, { __mode = "v" }) }, Visits)
end

--- Is there no request but our own timers? Nobody tells of their ends once the client was collected: then
--- this looks.
function Visits:is_empty()
  for _, visit in pairs(self.back[1] and {} or self.list) do
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

--- Of nginx: what it calls when the request has ended, nothing so far.
local function add_cleanup(request)
  local cleanup = ffi.C.ngx_http_cleanup_add(request, 0)
  if cleanup == nil then error("zklock: no memory for a cleanup handler", 0) end
  return cleanup
end

--- The engine's part of a visit: `subject:event()` is called when the request has ended.
---@return userdata native
---@return cdata handler for nginx's cleanup
---@return any data likewise
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

--- Tells of the running request's end. In such a visit nobody owns anything.
---@return userdata native with `ended()`
function Visits:attend(subject)
  local request = base.get_request()
  local native = attend(self, subject, request)
  self.ours[address_of(request)] = native
  return native
end

--- Is the request at this address one of our own timers?
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

--- One that has ended and been told of, for this request.
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

--- The visit at this address; another request may be there already.
local function find(visits, address)
  local visit = visits.list[address]
  if not visit or not visit.native:ended() then return visit end
  visit:finish()
  return nil
end

--- Of a subrequest that has ended its parent knows sooner than the notifier is read.
local function end_parts(visits)
  for visit in pairs(visits.parts) do
    if visit.native:ended() then visit:finish() end
  end
end

--- This request's visit.
function Visits:here()
  local request = base.get_request()
  if next(self.parts) then end_parts(self) end
  local address = address_of(request)
  return find(self, address) or begin(self, address, request)
end

--- The owner of a call that names none. Where nobody can wait nobody can come to hold either: a request that is not
--- known yet need not be.
---@param by_thread boolean? the light thread, also in a request
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

--- In a request. nginx uses a coroutine again, and ends those of a phase with it.
function Visit:thread_of(phase)
  if self.phase ~= phase then self:end_threads() end
  self.phase = phase
  self.visits.threaded[self] = true
  return self:thread()
end

--- All light threads are over.
function Visit:end_threads()
  local client = self.visits.back[1]
  for thread, owner in pairs(self.owners or NONE) do
    if client then client.lifetimes:abandon(owner) end
    self.owners[thread] = nil
  end
end

--- Is this light thread of the visit over? Its coroutine may be another request's by now.
local function is_over(visit, thread, owner)
  local address = core.host_data(thread)
  return address and address ~= visit.address or ownership.is_dead(owner)
end

--- Gives back what light threads of requests held that are over: nobody tells of that.
---@return boolean more somebody holds or waits still
function Visits:end_threads()
  local client, more = self.back[1], false
  for visit in pairs(client and self.threaded or {}) do
    for thread, owner in pairs(visit.owners) do
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

--- Ends the waits of light threads that were killed: nobody tells of that either.
function Visits:desert()
  local client = self.back[1]
  if client then client.holds:desert() end
end

--- A lock's request that ends with it.
function Visit:tie(request)
  self.requests = self.requests or setmetatable({}, WEAK_KEYS)
  self.requests[request] = true
end

--- Gives back what its owners hold or wait for. Once; again if an error was raised into it.
function Visit:finish()
  local visits = self.visits
  if visits.list[self.address] ~= self then return end
  local client = visits.back[1]
  if client then
    if self.owner then client.lifetimes:abandon(self.owner) end
    for _, owner in pairs(self.owners or NONE) do client.lifetimes:abandon(owner) end
    for request in pairs(self.requests or NONE) do request:abandon() end
  end
  visits.list[self.address] = nil
  if self.is_guest then visits.guests = visits.guests - 1 end
  if visits.parts[self] then visits.parts[self] = nil end
  if visits.threaded[self] then visits.threaded[self] = nil end
end

--- From now on it may be another request's. Other requests keep what they got of it.
local function put_back(visit)
  local spare = visit.visits.spare
  visit.is_spare = true
  visit.phase, visit.owner, visit.owners, visit.requests = false, false, false, false
  if #spare < SPARE_MOST then spare[#spare + 1] = visit end
end

--- The engine: it has ended. May be told again.
function Visit:event()
  if self.is_spare then return end
  self:finish()
  put_back(self)
end

return Visits
