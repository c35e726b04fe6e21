-- SPDX-License-Identifier: MIT
--- lock: the handle of a mutex, a multilock, or one side of a read-write lock.
local Hold = require "zklock.holds.hold"
local check = require "zklock.base.check"
local core = require "zklock.core"
local errors = require "zklock.base.errors"
local node_requests = require "zklock.nodes.node_requests"
local LockPath = require "zklock.holds.lock_path"
local guard = require "zklock.guard"
local owner = require "zklock.owners.owner"
local line = require "zklock.line"
local query = require "zklock.run.query"
local Request = require "zklock.request"
local text = require "zklock.base.text"

local hand_over, quietly = core.hand_over, core.quietly
local again, once_less, standing = core.again, core.once_less, core.standing
local unpack = table.unpack or unpack -- luacheck: ignore 113
local function pack(...) return { n = select("#", ...), ... } end

---@class zklock.Lock
---@field label integer the number of its name, for metrics; 0: it has none
---@field is_job boolean its waits are for a job's turn, for metrics
local Lock = { label = 0, is_job = false }
Lock.__index = Lock
Lock.__name = "zklock.Lock"

--- The struct of a handle that has not asked for the lock so far: most handles of many paths never do, and a struct
--- for each path takes memory.
local NOBODY = LockPath.NOBODY

---@param lock_path zklock.LockPath
---@param by_thread boolean? true: a call without an owner belongs to the host's light thread
---@param label integer?
---@param is_job boolean?
---@return zklock.Lock
function Lock.new(client, lock_path, by_thread, label, is_job)
  local lock = { client = client, lock_path = lock_path, handed = NOBODY, by_thread = by_thread or false }
  if is_job then lock.is_job = true end
  if label then lock.label = label end -- a fifth field of the constructor would take memory in each handle
  return setmetatable(lock, Lock)
end

-- ---- the fast path ------------------------------------------------------------------------------------------------
-- If the caller already holds the lock, one call of core answers. It takes no C lock and allocates nothing. The slow
-- path handles the rest: a loss, no validity, a debug hook (which could raise after the count and before the return),
-- and an owner that core cannot recognize. The fields that the call needs are in one struct, `zklock.Handed`.
--
-- `LockPath.of(lock_path, who)` finds the function without the metatable, which is faster than `lock_path:of(who)`.
--
-- `not who and who == nil` is rawequal(who, nil) without a call: it compares no value that has an `__eq`.

--- The handle that was used last: checking an object's type takes longer than everything else here.
local latest = setmetatable({ false }, { __mode = "v" })

local function is_lock(self)
  if not rawequal(getmetatable(self), Lock) then return false end
  latest[1] = self
  return true
end

---@return integer? token
---@return number? seconds of validity
local function seen_standing(self)
  if not (self and self == latest[1] or is_lock(self)) then return nil end
  local handed = self.handed
  local contender = handed.contender
  if not contender then return nil end
  return standing(contender, handed.whose)
end

--- Takes over a hold that rests.
---@return integer? token
local function take_over(lock, timeout)
  local handed = lock.handed
  if handed == NOBODY then
    handed = lock.lock_path:shown()
    lock.handed = handed
    if handed == NOBODY then return nil end
  end
  if not handed.relay and not lock.lock_path.holder then return nil end
  return lock.client.holds.relays:take(lock, handed, timeout)
end

-- -------------------------------------------------------------------------------------------------------------------

local function owner_or_current(lock, who)
  if not who and who == nil then return owner.of_call(lock.client, lock.by_thread) end
  return owner.named(who)
end

--- Counts a call that has failed, if the engine does not know of it.
---@param since number when the call began to wait
---@return nil
---@return string err
local function count_failure(lock, err, since)
  lock.client.native:count(lock.label, err, core.now() - since)
  return nil, err
end

--- The owner already holds it. With validity 0 the call waits until the session turns out to be
--- alive.
---@return zklock.Hold? hold nil without an error: the owner does not hold it any more, and has lost nothing
---@return string? err
local function await_validity(lock, hold, deadline)
  local contender = hold.contender
  if contender:validity() > 0 then return hold end
  local since = core.now()
  local ok, err = query(lock.client, function(tag) return contender:ask_validity(tag, deadline) end)
  if err == "lost" then
    hold:lose()
  elseif not ok then
    return count_failure(lock, err, since)
  end
  if hold.state == "held" then return hold end
  if hold.state == "lost" then return count_failure(lock, "lost", since) end
  return nil
end

--- The same owner already waits in another coroutine: waits until that wait has ended.
---@return zklock.Hold? hold nil without an error: the wait has ended, and the owner does not hold it
---@return string? err
local function await_other(lock, hold, deadline, once, who)
  local client, since = lock.client, core.now()
  while hold do
    if once then return count_failure(lock, "timeout", since) end
    hold:await(deadline)
    if hold.state == "waiting" then
      local err = client.native:unusable() or (client.native:state() == "connected" and "timeout" or "disconnected")
      return count_failure(lock, err, since)
    end
    hold = lock.lock_path:of(who)
    if hold and hold.state == "held" then return await_validity(lock, hold, deadline) end
  end
  return nil
end

--- Waits until the owner holds the lock. The hold counts once it is handed out. Each call that fails
--- counts once, in the engine or here. A call that finds the lock held by its owner counts nothing: it
--- was counted when it was granted.
---@param is_caller boolean a call that names no owner has this owner
---@return zklock.Hold? hold
---@return string? err
---@return string? why of "too big"
---@return userdata? ticket as of `Hold:acquire`
local function seek(lock, deadline, once, who, is_caller)
  local lock_path, client = lock.lock_path, lock.client
  client.holds:sweep()
  if not is_caller then owner.look(who) end
  local hold, has_relatives = LockPath.of(lock_path, who), lock_path.has_relatives
  if hold or has_relatives or client.loop.can_wait then -- otherwise the join answers
    local unusable = client.waits:cannot_wait()
    if unusable then return count_failure(lock, unusable, core.now()) end
  end
  if hold and hold.state == "held" then
    local kept, err = await_validity(lock, hold, deadline)
    if kept or err then return kept, err end
  end
  if hold then client.lifetimes:reap(math.huge) else client.lifetimes:glance() end
  if lock_path.holder or has_relatives then LockPath.reap(lock_path) end
  hold = hold and LockPath.of(lock_path, who)
  if hold then
    local err
    hold, err = await_other(lock, hold, deadline, once, who)
    if hold or err then return hold, err end
  end
  local forbidden = lock_path.has_relatives and LockPath.forbids(lock_path, who) -- a wait may have changed it
  if forbidden then return count_failure(lock, forbidden, core.now()) end
  local ticket, ok, err
  hold, ticket = Hold.new(lock_path, lock, who)
  ok, err = Hold.acquire(hold, deadline, once, not is_caller and owner.of_call(client))
  if ok then return hold, nil, nil, ticket end
  if err == "lost" then lock_path:forgive(who) end -- the caller hears of it now
  return nil, err, hold:shortage(err)
end

--- Hands out the hold, to a guard or as a token; or returns nil, the error and its reason. If this raises before the
--- hold counts as handed out, it ends with the ticket. So nothing that can raise comes after that.
local function hand_out(lock, who, made, hold, err, why, ticket)
  if not hold then return lock.client.waits:failure(err, why) end
  -- a debug hook has called zklock meanwhile, or the collector, which took a guard of the same owner
  if hold.state ~= "held" then return nil, hold.err or "lost" end
  LockPath.forgive(lock.lock_path, who)
  if made then hold.contender:pin() end
  if not Hold.hand_out(hold, ticket) then return nil, "lost" end
  if not made then return hold.token end
  local claim = made.claim
  claim.hold, claim.token, claim.open = hold, hold.token, true
  return made
end

--- Acquires the lock, in order of arrival. An owner that holds it gets the same token, and must release as often.
---@param timeout number? seconds; nil and math.huge wait for ever; 0 tries once: it waits for the servers' answer,
---  never for a holder
---@param who any? the owner; default the running coroutine, or the main program
---@return integer? token fencing token: grows with every new holder of this path
---@return string? err "timeout", "disconnected", "cancelled" (the owner ended), "closed", "lost", "deadlock",
---  "wrong kind", "access denied", "auth failed", "forked", "too big", "busy", "cannot wait in phase NAME",
---  "zookeeper: NAME"
---@return string? why of "disconnected", as far as is known: "connection refused: 127.0.0.1:2181"; of "too big",
---  if the client's ephemeral nodes would exceed `node_bytes`
function Lock:acquire(timeout, who)
  local is_named = false
  if not who and who == nil and (self and self == latest[1] or is_lock(self)) then
    local handed = self.handed
    local contender = handed.contender
    local token = contender and again(contender, timeout, handed.whose) or take_over(self, timeout)
    if token then return token end
    who = owner.of_call(self.client, self.by_thread)
  else
    check.self(self, Lock, "lock:acquire")
    is_named, who = true, owner.named(check.owner(who))
  end
  local may_hold = self.lock_path.holder or self.handed == NOBODY -- of several readers the holder may have left
  local known = may_hold and LockPath.handed_to(self.lock_path, who)
  local token = known and again(known.contender, timeout, true)
  if token then return token end
  local deadline, once = check.deadline(timeout, "timeout")
  return hand_over(hand_out, self, who, false, seek(self, deadline, once, who, not (is_named or self.by_thread)))
end

---@param last zklock.Hold? the owner's, if it stands and this is the last count
local function release(lock, who, failed, last)
  local lock_path = lock.lock_path
  local hold = last or LockPath.of(lock_path, who)
  if hold and hold.state == "held" then
    local ok, err = Hold.release(hold, failed)
    if ok then return true end
    if err == "lost" then lock_path:forgive(who) end
    return nil, err
  end
  if lock_path:loss_of(who) then
    lock_path:forgive(who)
    return nil, "lost"
  end
  return nil, "not owner"
end

--- Core has answered that the owner holds it, and that this is the last count.
local function release_last(lock, who, hold)
  lock.client.holds:sweep()
  return quietly(release, lock, who, false, hold)
end

--- Releases the lock, or one of several acquires, and does not wait for the servers.
---@param who any? the owner; default the running coroutine, or the main program
---@return boolean? ok
---@return string? err "unknown": released with validity 0, so nobody can say whether it was still held;
---  "not owner"; "lost": it was held, and no longer is; "closed", "forked"
function Lock:release(who)
  local tried
  if not who and who == nil and (self and self == latest[1] or is_lock(self)) then
    local handed = self.handed
    tried = handed.contender
    local done = tried and once_less(tried, handed.whose)
    if done then return true end
    local last = done == false and self.lock_path.holder
    if last and last.contender == tried and last.state == "held" then
      return release_last(self, handed.whose[1], last)
    end
    who = owner.of_call(self.client, self.by_thread)
  else
    check.self(self, Lock, "lock:release")
    who = owner.named(check.owner(who))
  end
  local client = self.client
  local relays = client.holds.relays
  if self.handed.relay and relays:rest(self.handed, who) then return true end
  local known = LockPath.handed_to(self.lock_path, who)
  if known and known.contender ~= tried then
    local rests = owner.is_kept(who)
    local done = once_less(known.contender, true, rests)
    if done then
      if rests then relays:keep(known) end
      return true
    end
    if done == false and known.state == "held" then return release_last(self, who, known) end
  end
  client.holds:sweep()
  local unusable = client.native:unusable()
  if unusable then return nil, unusable end
  return quietly(release, self, who, false)
end

--- The owner's hold and its validity in seconds; or nil.
local function held(lock, who)
  local client = lock.client
  who = owner_or_current(lock, check.owner(who))
  local known = lock.lock_path:handed_to(who)
  if known then
    local token, seconds = standing(known.contender, true)
    if token then return known, seconds end
  end
  if client.native:unusable() then return nil end
  client.holds:sweep()
  local hold = lock.lock_path:of(who)
  if not hold or hold.state ~= "held" then return nil end
  return hold, hold:validity()
end

---@private
---@return zklock.Hold? hold nil: the caller does not hold the lock
function Lock:hold_of_caller()
  return (held(self))
end

--- True while this owner holds the lock and `validity` is above 0.
---@param who any?
---@return boolean
function Lock:is_held(who)
  if not who and who == nil then
    local token, seconds = seen_standing(self)
    if token then return seconds > 0 end
  end
  check.self(self, Lock, "lock:is_held")
  local hold, left = held(self, who)
  return hold ~= nil and left > 0
end

--- The fencing token: the resource refuses a smaller one than it has seen.
---@param who any?
---@return integer? token nil when this owner does not hold it
function Lock:token(who)
  local token = not who and who == nil and seen_standing(self)
  if token then return token end
  check.self(self, Lock, "lock:token")
  local hold = held(self, who)
  return hold and hold.token or nil
end

--- With `fair = false`: the number of this grant on the place that the client's callers share; 0 with a fair lock.
---@param who any?
---@return integer? turn nil when this owner does not hold it
function Lock:turn(who)
  check.self(self, Lock, "lock:turn")
  local hold = held(self, who)
  return hold and hold.contender:turn() or nil
end

--- Seconds for which the servers cannot give the lock to another owner, read from the clock in each call.
---@param who any?
---@return number seconds 0 when this owner does not hold it
function Lock:validity(who)
  if not who and who == nil then
    local token, seconds = seen_standing(self)
    if token then return seconds end
  end
  check.self(self, Lock, "lock:validity")
  local hold, left = held(self, who)
  return hold and left or 0
end

--- The owner's hold, for a guarded write; or nil and why there is none.
local function find(lock, who)
  lock.client.holds:sweep()
  local hold = lock.lock_path:of(who)
  if hold and hold.state == "held" then return hold end
  return nil, lock.lock_path:loss_of(who) and "lost" or "not owner"
end

--- Sets another end of the owner's hold, whatever `max_hold` is.
---@private
---@param seconds number from now
---@param who any the owner
---@return boolean? waited true: somebody was in front of it when it waited
---@return string? err "lost", "not owner", "closed", "forked"
function Lock:bound(seconds, who)
  local hold, err = find(self, who)
  if not hold then return nil, err end
  return hold.contender:extend(seconds)
end

--- As `client:multi`, and only if this owner still holds the lock.
---@param list table[] as of `client:multi`; not on the lock's own node
---@param timeout number? seconds
---@param who any? the owner, as of `acquire`
---@return (string|zklock.Stat|true)[]? results as of `client:multi`
---@return string? err "not owner"; "lost": it is no longer held, and nothing was written; or as of `client:multi`
---@return integer|string|nil index of the op that failed; or why, of "disconnected"
function Lock:multi(list, timeout, who)
  check.self(self, Lock, "lock:multi")
  who = owner_or_current(self, check.owner(who))
  return node_requests.guarded(self.client, list, timeout, find, self, who)
end

--- The paths of the lock's own nodes, for transactions of your own that depend on the lock.
---@param who any?
---@return string[]? paths full, without the chroot; nil when the owner does not hold it
function Lock:nodes(who)
  check.self(self, Lock, "lock:nodes")
  local hold = held(self, who)
  local nodes = hold and hold.contender:nodes()
  return nodes and nodes[1] and nodes or nil
end

--- Releases after fn. After an error fn's work may go on, so no caller of this client takes over
--- its node.
local function end_with(lock, kept, who, failed)
  local released, err
  if failed then
    released, err = kept:give_up()
  else
    released, err = kept:release()
  end
  if err ~= "not owner" then return released, err end
  local unusable = lock.client.native:unusable()
  if unusable then return nil, unusable end
  return quietly(release, lock, who, failed) -- fn has released it, and perhaps taken it again
end

--- Acquires, calls `fn(token, ...)`, releases. An error in fn releases the lock and is raised again; a text gets its
--- traceback.
---@overload fun(self: zklock.Lock, fn: (fun(token: integer, ...: any): ...: any), ...: any): true?, any, ...: any
---@param timeout number? seconds; optional
---@param fn fun(token: integer, ...: any): ...: any
---@param ... any fn's arguments after the token
---@return true? ok and fn's results
---@return string? err not acquired: as `acquire`, with its third result; or "lost" and fn's results: the lock was lost
---  while fn ran; or "unknown" and fn's results: nobody can say whether it was lost
function Lock:with(timeout, ...)
  check.self(self, Lock, "lock:with")
  local fn, first = (...), 2
  if type(timeout) == "function" then timeout, fn, first = nil, timeout, 1 end
  check.deadline(timeout, "timeout")
  check.func(fn, "fn")
  local who, args = owner_or_current(self), pack(select(first, ...))
  local kept, err, why
  local function call() return pack(fn(kept:token(), unpack(args, 1, args.n))) end
  kept, err, why = self:guard(timeout, who)
  if not kept then return self.client.waits:failure(err, why) end
  local ok, results = xpcall(call, errors.with_traceback) -- allocations from here on happen inside this call
  local ended, released
  ended, released, err = pcall(end_with, self, kept, who, not ok)
  if not ended then error(ok and released or results, 0) end -- the guard is open: it ends when it is collected
  if err == "lost" then self.lock_path:forgive(who) end -- this call reports the loss
  if not ok then error(results, 0) end
  if released then return true, unpack(results, 1, results.n) end
  return nil, err, unpack(results, 1, results.n)
end

--- Acquires for a block: `local g <close> = assert(lock:guard(5))`.
---@param timeout number? seconds
---@param who any? the owner, as of `acquire`
---@return zklock.Guard? guard
---@return string? err as `acquire`
---@return string? why as `acquire`
function Lock:guard(timeout, who)
  check.self(self, Lock, "lock:guard")
  local deadline, once = check.deadline(timeout, "timeout")
  local made = guard.new()
  who = owner_or_current(self, check.owner(who))
  return hand_over(hand_out, self, who, made, seek(self, deadline, once, who, false))
end

--- Asks for the lock without waiting. The request is the owner of what it gets.
---@param timeout number? seconds
---@param callback fun(token: integer?, err: string?, request: zklock.Request, why: string?) called once, from `poll`;
---  `why` is the third result of `acquire`
---@return zklock.Request
function Lock:request(timeout, callback)
  check.self(self, Lock, "lock:request")
  local deadline, once = check.deadline(timeout, "timeout")
  check.func(callback, "callback")
  return Request.new(self, deadline, once, callback)
end

--- Sets this handle's listener for losses of the holds that were taken through it.
---@param fn fun(err: "lost", owner: any, token: integer)? `owner` is nil if it was collected; nil removes the listener
function Lock:on_lost(fn)
  check.self(self, Lock, "lock:on_lost")
  self.handle_lost = check.listener(fn, "fn")
end

--- Sets this handle's listener, which is called when somebody asks for a hold that was taken through it.
---@param fn fun(owner: any, token: integer)? nil removes the listener
function Lock:on_revoke(fn)
  check.self(self, Lock, "lock:on_revoke")
  self.handle_revoke = check.listener(fn, "fn")
  self.lock_path:tell_revoked()
end

--- Asks the holders to release, in whatever process or language they are.
---@param timeout number? seconds
---@return boolean? asked true once the servers have stored the request; false: nobody holds it
---@return string? err "timeout", "disconnected", "closed", "access denied", "auth failed", "forked", "too many",
---  "cannot wait in phase NAME", "zookeeper: NAME"
---@return string? why of "disconnected", as of `acquire`
function Lock:revoke(timeout)
  check.self(self, Lock, "lock:revoke")
  local deadline, once = check.deadline(timeout, "timeout")
  return line.revoke(self.client, self.lock_path.paths or { self.lock_path.path }, deadline, once, false)
end

--- The nodes in the line, in order; for a multilock, one line after the other.
---@param timeout number? seconds
---@return zklock.Participant[]?
---@return string? err as of `revoke`
---@return string? why likewise
function Lock:participants(timeout)
  check.self(self, Lock, "lock:participants")
  local deadline, once = check.deadline(timeout, "timeout")
  return line.participants(self.client, self.lock_path.paths or { self.lock_path.path }, deadline, once)
end

--- Why this owner waits for the lock, as a line for people: "third of 7, behind db7:4242; it has waited for 2.0 s".
---@param who any? the owner, as of `acquire`: a coroutine that waits cannot ask itself
---@return string? why nil: it does not wait
function Lock:why(who)
  check.self(self, Lock, "lock:why")
  local hold = self.lock_path:of(owner_or_current(self, check.owner(who)))
  return hold and hold.contender:why() or nil
end

--- The path of the lock, without the chroot; of a multilock all its paths, sorted.
---@return string ...
function Lock:path()
  check.self(self, Lock, "lock:path")
  if self.lock_path.paths then return unpack(self.lock_path.paths) end
  return self.lock_path.path
end

function Lock:__tostring()
  return ("zklock.Lock (%s)"):format(text.shown(table.concat(self.lock_path.paths or { self.lock_path.path }, ", ")))
end

return Lock
