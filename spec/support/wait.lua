-- SPDX-License-Identifier: MIT
--- Waiting for conditions, instead of sleeping and hoping.

local loop = require "spec.support.loop"
local script = require "spec.support.script"

local wait = {}

--- The deadline of every wait in a spec.
wait.PATIENCE = loop.PATIENCE

local unpack = unpack or table.unpack -- luacheck: ignore 143
local function pack(...) return { n = select("#", ...), ... } end

--- Polls until `fn` returns something true.
---@param fn fun(): any
---@param timeout number? seconds, wait.PATIENCE
---@param message string? what was waited for
---@return any ... what fn returned; raises when the time is over
function wait.eventually(fn, timeout, message)
  timeout = timeout or wait.PATIENCE
  local got
  loop.poll(function()
    got = pack(fn())
    return got[1]
  end, timeout)
  if got[1] then return unpack(got, 1, got.n) end
  local why = got[2] ~= nil and (": " .. tostring(got[2])) or ""
  error(("%s did not happen within %g s%s"):format(message or "what was waited for", timeout, why), 2)
end

--- Lets time go by: only where a fault, a holder or a rate is timed, never for what can be seen.
---@param seconds number
function wait.rest(seconds) loop.poll(function() return false end, seconds) end

--- Runs a script to its end with the interpreter that runs the spec: `script.run`.
wait.run_lua = script.run

--- Starts a script and returns its process: `script.spawn`.
wait.spawn_lua = script.spawn

--- Monotonic seconds.
wait.now = loop.now

return wait
