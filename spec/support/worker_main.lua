-- SPDX-License-Identifier: MIT
--- A worker's process: loads zklock and does what the lines on its stdin say. See `spec.support.worker`.

local codec = require "spec.support.codec"
local resource = require "spec.support.resource"
local zklock = require "zklock"

local verbs, locks, writers, events = {}, {}, {}, {}
local client

print = function(...) -- luacheck: ignore 121
  local words = { ... }
  for i = 1, select("#", ...) do words[i] = tostring(words[i]) end
  io.stderr:write(table.concat(words, "\t"), "\n")
end

local function note(kind) return function(...) events[#events + 1] = { kind, ... } end end

--- A semaphore with the methods of a lock: what `release` gives back is the oldest lease.
local function pool_of(semaphore)
  local pool, out = {}, {}
  function pool:acquire(timeout, count)
    local lease, err = semaphore:acquire(timeout, count)
    if not lease then return nil, err end
    lease:on_lost(self.handle_lost)
    out[#out + 1] = lease
    return lease:token()
  end
  function pool.release()
    if not out[1] then return nil, "not owner" end
    return table.remove(out, 1):release()
  end
  function pool.validity() return out[1] and out[1]:validity() or 0 end
  function pool.participants(_, timeout) return semaphore:participants(timeout) end
  function pool.on_revoke(_, fn) semaphore:on_revoke(fn) end
  function pool.revoke(_, timeout) return semaphore:revoke(timeout) end
  function pool:on_lost(fn) self.handle_lost = fn end
  return pool
end

local function new_lock(name, options)
  local permits, place = name:match("^semaphore/(%d+):(.*)$")
  if permits then return pool_of(client:semaphore(place, tonumber(permits), options)) end
  local several = name:match("^multilock:(.*)$")
  if several then
    local paths = {}
    for path in several:gmatch("[^+]+") do paths[#paths + 1] = path end
    return client:multilock(paths, options)
  end
  local side, path = name:match("^(%l+):(.*)$")
  return side and client:rwlock(path, options)[side] or client:mutex(name, options)
end

local function lock_at(name, options)
  if not locks[name] then
    locks[name] = new_lock(name, options)
    locks[name]:on_lost(function(err, _, token) events[#events + 1] = { "lost", name, err, token } end)
  end
  return locks[name]
end

function verbs.connect(hosts, options)
  options = options or {}
  options.on_state, options.on_error, options.log = note("state"), note("error"), note("log")
  local err
  locks = {}
  client, err = zklock.connect(hosts, options)
  return client ~= nil, err
end

function verbs.lock(path, options) lock_at(path, options) end
function verbs.acquire(path, timeout, owner) return lock_at(path):acquire(timeout, owner) end
function verbs.release(path, owner) return lock_at(path):release(owner) end
function verbs.is_held(path, owner) return lock_at(path):is_held(owner) end
function verbs.validity(path, owner) return lock_at(path):validity(owner) end
function verbs.token(path, owner) return lock_at(path):token(owner) end
function verbs.participants(path, timeout) return lock_at(path):participants(timeout) end

function verbs.on_revoke(path)
  lock_at(path):on_revoke(function() events[#events + 1] = { "revoke", path } end)
  return true
end

function verbs.revoke(path, timeout) return lock_at(path):revoke(timeout) end

for _, name in ipairs { "state", "session_id", "session_timeout", "poll", "flush", "stats", "close" } do
  verbs[name] = function(...) return client[name](client, ...) end
end

function verbs.events()
  if client then client:poll() end
  local list = events
  events = {}
  return list
end

local ALONE = { enter = "enter", write = "write", leave = "leave" }
local SHARED = { enter = "join", write = "read", leave = "part" }

--- One turn at the resource: what a user's critical section is. Gives whether the lock was granted.
local function turn(writer, name, order)
  local owner, lock = order.owner, lock_at(name)
  local steps = (name:find("^read:") or name:find("^semaphore/")) and SHARED or ALONE
  writer:ask(owner)
  local token, err = lock:acquire(order.timeout, order.count)
  if not token then
    writer:quit(owner)
    return nil, err
  end
  local inside = writer:step(steps.enter, token, owner)
  for _ = 1, order.writes or 1 do inside = inside and writer:step(steps.write, token, owner) end
  inside = inside and writer:step(steps.leave, token, owner)
  if not inside and lock:validity() > 0 then writer:live(token, owner) end
  lock:release()
  return true
end

--- A single step at the resource.
function verbs.step(address, verb, token, owner)
  writers[address] = writers[address] or resource.open(address)
  return writers[address]:step(verb, token, owner)
end

function verbs.contend(order)
  local writer, names = resource.open(order.resource), {}
  for name in order.path:gmatch("[^,]+") do names[#names + 1] = name end
  local report = { granted = 0, failed = {} }
  for round = 1, order.rounds do
    local ok, err = turn(writer, names[(round - 1) % #names + 1], order)
    if ok then
      report.granted = report.granted + 1
    else
      report.failed[err] = (report.failed[err] or 0) + 1
    end
  end
  writer:close()
  return report
end

function verbs.eval(code, ...)
  local chunk, err = (loadstring or load)(code, "=eval") -- luacheck: ignore 113
  if not chunk then error(err, 0) end
  return chunk(...)
end

function verbs.exit(code)
  io.stdout:write(codec.encode(true), "\n")
  io.stdout:flush()
  os.exit(code or 0, true)
end

--- For chunks of `eval`: the client, the locks by path, and the verbs.
worker = setmetatable({ lock = lock_at, verbs = verbs }, { -- luacheck: ignore 111
  __index = function(_, name) return name == "client" and client or name == "locks" and locks or nil end,
})

local function answer(...)
  io.stdout:write(codec.encode(...), "\n")
  io.stdout:flush()
end

local function perform(verb, ...)
  if not verbs[verb] then return answer(false, "no verb " .. tostring(verb)) end
  local args, n = { ... }, select("#", ...)
  local unpack = unpack or table.unpack -- luacheck: ignore 113 143
  answer(xpcall(function() return verbs[verb](unpack(args, 1, n)) end, debug.traceback))
end

answer(true)
for line in io.stdin:lines() do perform(codec.decode(line)) end
