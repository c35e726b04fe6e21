-- SPDX-License-Identifier: MIT
--- visits: the requests that use this client; to nginx, subrequests and timers are requests, too. A
--- request is one owner in all its phases and light threads; in a timer each light thread is an
--- owner. When a request ends, nginx calls a cleanup handler in C, and the engine posts an event if
--- there is something to give back.
local base = require "resty.core.base"
local core = require "zklock.core"
local each = require "zklock.base.each"
local ffi = require "ffi"
local flat = require "zklock.base.flat"
local ownership = require "zklock.owners.owner"
local subrequests = require "zklock.openresty.subrequests"

ffi.cdef "void *ngx_http_cleanup_add(void *r, size_t size);"

-- Created once: LuaJIT keeps each function type that it parses for ever, and has room for 65,536.
local POINTER, ADDRESS = ffi.typeof("void *"), ffi.typeof("uintptr_t")

local calls = core.visit_calls()
local has_ended = ffi.cast("int (*)(void *)", calls.ended)
local announce = ffi.cast("void (*)(void *, bool)", calls.announce)
local lend = ffi.cast("void (*)(void *, void *)", calls.lend)
local renew = ffi.cast("int (*)(void *, void *)", calls.renew)

local relay_calls = core.relay_calls()
local STATE = ffi.cast(POINTER, relay_calls.state)
local take_over = ffi.cast("int (*)(void *, void *)", relay_calls.take_over)
local again = ffi.cast("double (*)(void *, void *)", relay_calls.again)
local rest = ffi.cast("int (*)(void *, void *)", relay_calls.rest)

--- A tag without a subject: the dispatcher drops its events.
local NOBODY = 0

--- Stands for a list that does not exist yet. Nothing writes into it.
local NONE = {}

--- So many visits are kept before the first look which of them have ended: a request may get an
--- address that none had before.
local KEPT_LEAST = 64

local WEAK_KEYS = { __mode = "k" }

local Visit = {}
Visit.__index = Visit

--- The owner that stands for a request. Its visit refers to it until the request ends.
local Request = { __name = "zklock.request", __tostring = function() return "an nginx request" end }
Request.__index = Request
local THREAD = { __name = "zklock.light_thread", __tostring = function() return "a light thread of an nginx timer" end }

ownership.declare_kept_class(Request)

--- The end of a request that owns nothing.
local End = {}
End.__index = End

function End:ended() return has_ended(self.native) ~= 0 end

Visit.ended = End.ended

---@class zklock.Visits
---@field private announces_all boolean the end of each request posts an event
---@field private list table<integer, table> by address, the visit of the request there, which may
---  have ended: the next request at that address uses the visit again
local Visits = {}
Visits.__index = Visits

---@param on_second fun() called when a second request uses the client, timers not counted
---@param on_begin fun() called when a request uses the client for the first time
function Visits.new(client, on_second, on_begin)
  local back = setmetatable({ client }, { __mode = "v" })
  return flat(Visits, { back = back, native = client.native, on_second = on_second, on_begin = on_begin, list = {},
    count = 0, most = KEPT_LEAST, announces_all = true, seen = 0, parts = {}, threaded = {},
    ours = setmetatable({}, { __mode = "v" }) })
end

--- The ends of most requests are not reported.
local function forget_ended(visits)
  local left = 0
  for address, visit in each(visits.list) do
    if visit:ended() then
      visit:finish()
      visits.list[address] = nil
    else
      left = left + 1
    end
  end
  visits.count, visits.most = left, math.max(KEPT_LEAST, 2 * left)
end

--- True if no request is left but our own timers.
function Visits:is_empty()
  forget_ended(self)
  for _, visit in each(self.list) do
    if visit.is_guest then return false end
  end
  return true
end

--- all: the end of each request posts an event from now on; false: only of those that have something
--- to give back, or to forget.
function Visits:announce(all)
  self.announces_all = all
  for _, visit in each(all and self.list or NONE) do visit:settle(true) end
end

local function address_of(request)
  return tonumber(ffi.cast(ADDRESS, ffi.cast(POINTER, request)))
end

---@param visit table? nil: nothing can be acquired for this owner
local function new_request(visit)
  return setmetatable({ relays = 0, _visit = visit or false, _lifetimes = false, _number = false,
    _finalizer = false }, Request)
end

--- As `core.take_over`, `core.again` and `core.once_less`, for this owner: LuaJIT compiles these.
---@return boolean done false: the slow path decides
function Request:take_over(contender, timeout) -- luacheck: ignore 212
  local is_valid = rawequal(timeout, nil) or type(timeout) == "number" and timeout >= 0
  return is_valid and take_over(STATE, contender) ~= 0
end

---@return integer? token
function Request:again(contender) -- luacheck: ignore 212
  local token = again(STATE, contender)
  return token ~= 0 and token or nil
end

---@return boolean done
function Request:rest(contender) -- luacheck: ignore 212
  return rest(STATE, contender) ~= 0
end

--- The owner is about to hold or wait for something, or no longer does.
function Request:set_busy(is_busy)
  local visit = self._visit
  if visit then Visit.settle(visit, is_busy or self.relays > 0) end
end

--- The owner has taken over a hold, or has given it back (`zklock.Relays`).
---@param by integer 1 or -1
function Request:count_relays(by)
  self.relays = self.relays + by
  Request.set_busy(self, self._number ~= false)
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
local function attend(visits, subject, request)
  subrequests.learn(request)
  local client = visits.back[1]
  local native = assert(visits.native:visit(client and client.dispatcher:enter(subject) or NOBODY))
  lend(native, add_cleanup(request))
  return native
end

--- Reports the running request's end to `subject`. Such a visit owns nothing.
---@return table with `ended()`
function Visits:attend(subject)
  local request = base.get_request()
  local attended = setmetatable({ native = attend(self, subject, request) }, End)
  self.ours[address_of(request)] = attended
  return attended
end

--- As `attend`, for a light thread in one of our own timers.
---@return userdata native for `subject` to keep
function Visits:follow(subject)
  local native = attend(self, subject, base.get_request())
  return native
end

--- True if the request at this address is one of our own timers.
local function is_ours(visits, address)
  local attended = visits.ours[address]
  return attended ~= nil and not attended:ended()
end

local function new_visit(visits, address, request)
  if visits.count >= visits.most then forget_ended(visits) end
  local visit = setmetatable({ visits = visits, address = address, native = false, is_guest = false, is_over = false,
    phase = false, owner = false, owners = false, requests = false }, Visit)
  visit.native = attend(visits, visit, request)
  visits.list[address], visits.count = visit, visits.count + 1
  return visit
end

--- The visit of the former request at this address, which has ended, used again for this one.
local function renewed(visit, request)
  if not visit then return nil end
  visit.is_over = false -- first: an error may be raised after each instruction
  return renew(visit.native, add_cleanup(request)) ~= 0 and visit or nil
end

local function begin(visits, address, request)
  local visit = renewed(visits.list[address], request) or new_visit(visits, address, request)
  Visit.settle(visit, false)
  if subrequests.is_one(request) then
    visits.parts[visit] = true
    subrequests.follow(visit.native, request)
  end
  visit.is_guest = not is_ours(visits, address)
  if visits.seen < 2 and ngx.get_phase() ~= "timer" then
    visits.seen = visits.seen + 1
    if visits.seen == 2 then visits.on_second() end
  end
  visits.on_begin()
  return visit
end

--- The visit of the request at this address. nginx may have put another request there.
local function find(visits, address)
  local visit = visits.list[address]
  if not visit or has_ended(visit.native) == 0 then return visit end
  Visit.finish(visit)
  return nil
end

--- The parent of a subrequest runs before the notifier has reported the subrequest's end.
local function end_parts(visits)
  for visit in each(visits.parts) do
    if visit:ended() then visit:finish() end
  end
end

local function visit_of(visits, request)
  if next(visits.parts) then end_parts(visits) end
  local address = address_of(request)
  return find(visits, address) or begin(visits, address, request)
end

--- The running request's visit.
function Visits:here()
  return visit_of(self, base.get_request())
end

--- The owner of a call that names none. In a phase that cannot wait nothing can be acquired, so a
--- request without a visit needs none there.
---@param by_thread boolean? true: in a request, too, the owner is the light thread
---@param phase string
function Visits:owner(may_begin, by_thread, phase)
  local request = base.get_request()
  if not request then return new_request() end
  local visit = may_begin and visit_of(self, request) or find(self, address_of(request))
  if not visit then return new_request() end
  if phase == "timer" then return visit:thread() end
  if not by_thread then return Visit.request(visit) end
  return may_begin and visit:thread_of(phase) or new_thread()
end

--- The request's end posts an event if there is something to give back, or to forget.
function Visit:settle(is_busy)
  announce(self.native, is_busy or self.visits.announces_all or self.owners ~= false or self.requests ~= false)
end

function Visit:request()
  if not self.owner then self.owner = new_request(self) end
  return self.owner
end

function Visit:thread()
  local thread = coroutine.running()
  if not self.owners then self.owners = setmetatable({}, WEAK_KEYS) end
  self:settle(true)
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
    for thread, owner in each(visit.owners or NONE) do
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
  if not self.requests then self.requests = setmetatable({}, WEAK_KEYS) end
  self:settle(true)
  self.requests[request] = true
end

--- Gives back what the visit's owners hold or wait for. If that raises, it can be called again.
function Visit:finish()
  if self.is_over then return end
  local visits, own = self.visits, self.owner
  local client = visits.back[1]
  if client then
    if own and own._number then client.lifetimes:abandon(own) end
    if own and own.relays > 0 then client.holds.relays:abandon(own) end
    if self.owners then
      for _, owner in each(self.owners) do client.lifetimes:abandon(owner) end
    end
    if self.requests then
      for request in each(self.requests) do request:abandon() end
    end
  end
  if own then own._visit = false end
  self.phase, self.owner, self.owners, self.requests = false, false, false, false
  if visits.parts[self] then visits.parts[self] = nil end
  if visits.threaded[self] then visits.threaded[self] = nil end
  self.is_over = true -- last: an error may be raised after each instruction
end

--- The engine calls this, perhaps twice, when the request has ended.
function Visit:event()
  self:finish()
end

return Visits
