-- SPDX-License-Identifier: MIT
--- A debug hook that comes in the middle of one file. It raises, as one does that bounds a script's time; or it does
--- something else.
local interpreted = require "spec.support.interpreted"

local raising_hook = {}

raising_hook.TEXT = "the hook"

--- Calls `fn(...)`, and `act()` at the n-th instruction of this coroutine in the file whose path ends like that, once.
---@return boolean came false: there were not so many
function raising_hook.interrupt(file, n, act, fn, ...)
  local came, thread = false, coroutine.running()
  local function hook()
    local source = debug.getinfo(2, "S").source
    if source:sub(-#file) ~= file or coroutine.running() ~= thread then return end
    n = n - 1
    if n > 0 then return end
    debug.sethook()
    came = true
    act()
  end
  local compile = interpreted()
  pcall(function(...)
    debug.sethook(hook, "", 1)
    fn(...)
  end, ...)
  debug.sethook()
  compile()
  return came
end

--- The same, but it raises.
---@return boolean raised
function raising_hook.call(file, n, fn, ...)
  return raising_hook.interrupt(file, n, function() error(raising_hook.TEXT, 0) end, fn, ...)
end

return raising_hook
