-- SPDX-License-Identifier: MIT
--- resty.zklock: the interface of lua-resty-lock, for locks that all machines share.
local check = require "zklock.base.check"
local core = require "zklock.core"
local owner = require "zklock.owners.owner"
local zklock = require "zklock"

---@class resty.zklock.Lock
---@field private prefix string the path above its keys
---@field private timeout number
---@field private exptime number
---@field private mutex zklock.Lock|false what it holds; false: nothing
---@field private holder table|false the owner of that hold
local Lock = { __name = "resty.zklock.Lock" }
Lock.__index = Lock

---@class resty.zklock
local resty_zklock = { _VERSION = zklock._VERSION }

local COMPONENT_BYTES = 255
local TIMEOUT, EXPTIME = 5, 30 -- seconds
--- The callers of a worker take turns without traffic.
local SETTINGS = { fair = false }
--- `step`, `ratio` and `max_step` are the pauses of lua-resty-lock, which polls.
local OPTIONS = { timeout = true, exptime = true, step = true, ratio = true, max_step = true, prefix = true }

--- The owner of one hold. The object of this module alone refers to it, so the hold ends when Lua
--- collects that object. Each call of `lock` has one of its own: two light threads with one object
--- exclude each other.
local Holder = { __name = "resty.zklock" }
owner.declare_weak_class(Holder)

local function new_holder()
  return setmetatable({ _lifetimes = false, _number = false, _finalizer = false }, Holder)
end

--- A component of a path.
local function spelled(name)
  return (name:gsub("[^A-Za-z0-9_-]", function(byte) return ("%%%02X"):format(byte:byte()) end))
end

local client

--- Makes the client of this worker: call it in `init_worker_by_lua*`.
---@param hosts string as of `zklock.connect`
---@param options zklock.Options? as of `zklock.connect`
---@return zklock.Client? client
---@return string? err
---@return string? why
function resty_zklock.setup(hosts, options)
  if client then error("resty.zklock has been set up already", 2) end
  local made, err, why = zklock.connect(hosts, options)
  client = made
  return made, err, why
end

--- An object that holds one lock at a time.
---@param dict_name string names the set of keys; nginx need not have such a dictionary
---@param opts { timeout: number?, exptime: number?, prefix: string?, step: any, ratio: any, max_step: any }?
---  `timeout`: seconds that `lock` waits at most, default 5, cut to `exptime`; `exptime`: seconds after which a hold is
---  lost, default 30; `prefix`: the path above the keys, default "/resty-lock/" and `dict_name`
---@return resty.zklock.Lock? lock
---@return string? err "not set up"
function resty_zklock.new(_, dict_name, opts)
  check.text(dict_name, "dict_name")
  opts = check.options(opts, "opts", OPTIONS)
  local timeout = opts.timeout == nil and TIMEOUT or check.span(opts.timeout, "opts.timeout")
  local exptime = opts.exptime == nil and EXPTIME or check.seconds(opts.exptime, "opts.exptime")
  if opts.prefix ~= nil then check.path(opts.prefix, "opts.prefix") end
  local prefix = opts.prefix or check.path("/resty-lock/" .. spelled(dict_name), "dict_name")
  if not client then return nil, "not set up" end
  return setmetatable({ prefix = prefix, timeout = math.min(timeout, exptime), exptime = exptime, mutex = false,
    holder = false }, Lock)
end

local function is_locked(self)
  return self.mutex and self.mutex:token(self.holder) ~= nil
end

--- The path of a key; or nil and why it has none.
local function path_of(self, key)
  local component = spelled(tostring(key))
  if component == "" then return nil, "empty key" end
  if #component > COMPONENT_BYTES then return nil, "key too long" end
  local path = self.prefix .. "/" .. component
  local wrong = check.path_error(path, client.chroot)
  if wrong then return nil, wrong end
  return path
end

--- Waits for the lock of a key.
---@param key any but nil; `tostring` makes the name of it
---@return number? elapsed 0: nobody had to be waited for; otherwise the seconds of the wait
---@return string? err "timeout"; "locked": this object holds a lock; "nil key", "empty key", "key too long"; "cannot
---  wait in phase NAME"; or as of `zklock.Lock:acquire`
function Lock:lock(key)
  check.self(self, Lock, "lock:lock")
  if rawequal(key, nil) then return nil, "nil key" end
  if is_locked(self) then return nil, "locked" end
  local path, wrong = path_of(self, key)
  if not path then return nil, wrong end
  local mutex, holder, began = client:mutex(path, SETTINGS), new_holder(), core.now()
  local token, err = mutex:acquire(self.timeout, holder)
  if not token then return nil, err end
  if is_locked(self) then -- by another light thread, during the wait
    mutex:release(holder)
    return nil, "locked"
  end
  local waited
  waited, err = mutex:bound(self.exptime, holder)
  if waited == nil then return nil, err end
  self.mutex, self.holder = mutex, holder
  return waited and core.now() - began or 0
end

--- Gives the lock back. Whatever it returns, the object holds nothing afterwards.
---@return 1? ok
---@return string? err "unlocked": it held nothing; "lost": it was lost before; "unknown": nobody can say whether it was
---  still held
function Lock:unlock()
  check.self(self, Lock, "lock:unlock")
  local mutex, holder = self.mutex, self.holder
  if not mutex then return nil, "unlocked" end
  self.mutex, self.holder = false, false
  local ok, err = mutex:release(holder)
  if ok then return 1 end
  return nil, err
end

--- The hold ends so many seconds from now.
---@param exptime number? default that of `new`
---@return true? ok
---@return string? err "unlocked": it holds nothing; "lost"
function Lock:expire(exptime)
  check.self(self, Lock, "lock:expire")
  if exptime == nil then exptime = self.exptime else check.seconds(exptime, "exptime") end
  if not self.mutex then return nil, "unlocked" end
  local waited, err = self.mutex:bound(exptime, self.holder)
  if waited == nil then return nil, err end
  return true
end

return resty_zklock
