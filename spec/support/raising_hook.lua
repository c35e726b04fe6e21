-- SPDX-License-Identifier: MIT
--- A debug hook that raises in the middle of one file, as one does that bounds a script's time.
local raising_hook = {}

raising_hook.TEXT = "the hook"

-- Compiled code does not look for hooks.
local jit = rawget(_G, "jit")

--- Calls `fn(...)`, and raises at the n-th instruction of this coroutine in the file whose path ends like that, once.
---@return boolean raised false: there were not so many
function raising_hook.call(file, n, fn, ...)
  local raised, thread = false, coroutine.running()
  local function hook()
    local source = debug.getinfo(2, "S").source
    if source:sub(-#file) ~= file or coroutine.running() ~= thread then return end
    n = n - 1
    if n > 0 then return end
    debug.sethook()
    raised = true
    error(raising_hook.TEXT, 0)
  end
  if jit then jit.off() end
  pcall(function(...)
    debug.sethook(hook, "", 1)
    fn(...)
  end, ...)
  debug.sethook()
  if jit then jit.on() end
  return raised
end

return raising_hook
