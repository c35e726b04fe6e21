-- SPDX-License-Identifier: MIT
--- once: calls a function under a mutex, unless any client did so less than some seconds ago. The
--- mark of the mutex says when that was.
local Held = require "zklock.held"
local core = require "zklock.core"
local errors = require "zklock.base.errors"
local mark = require "zklock.mark"

local unpack = table.unpack or unpack -- luacheck: ignore 113
local function pack(...) return { n = select("#", ...), ... } end

--- Until when a mark may take. A timeout of 0 waits for the servers' answers, which the session
--- outlasts or not.
local function moment_of_mark(client, timeout, began)
  if timeout == nil then return math.huge end
  return timeout == 0 and core.now() + client.native:session_timeout() or began + timeout
end

--- The caller holds the mutex.
---@param label integer the number of its name, for metrics
---@param began number when the call began, without the time that fn takes
---@return table results of the call
local function attempt(client, hold, label, seconds, fn, when, timeout, began)
  local left, err, why = mark.ask(client, hold, seconds, when == "before", moment_of_mark(client, timeout, began))
  if not left then return pack(nil, err, why) end
  if left > 0 then
    client.native:count_run(label, "skipped")
    return pack(false, left)
  end
  local valid
  valid, err, why = mark.confirm(client, hold, moment_of_mark(client, timeout, began))
  if not valid then return pack(nil, err, why) end
  local held, before = Held.new(client, hold), core.now()
  client.native:count_run(label, "ran")
  local ok, results = xpcall(function() return pack(fn(hold.token, held)) end, errors.with_traceback)
  held:finish()
  if not ok then
    client.native:count_run(label, "failed")
    error(results, 0)
  end
  if when == "before" then return pack(true, unpack(results, 1, results.n)) end
  ok, err = mark.write(client, hold, moment_of_mark(client, timeout, began + core.now() - before))
  if ok then return pack(true, unpack(results, 1, results.n)) end
  return pack(nil, err, unpack(results, 1, results.n))
end

---@param lock zklock.Lock of the mutex
---@param when "before"|"after" the mark is written before or after fn
return function(client, lock, seconds, fn, when, timeout)
  local began, results = core.now(), nil
  local _, err, why = lock:with(timeout, function()
    local hold = lock:hold_of_caller()
    results = hold and attempt(client, hold, lock.label, seconds, fn, when, timeout, began) or pack(nil, "lost")
  end)
  if not results then return nil, err, why end
  return unpack(results, 1, results.n)
end
