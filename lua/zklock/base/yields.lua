-- SPDX-License-Identifier: MIT
--- yields: how a coroutine is suspended, and which calls it can be suspended in. Plain Lua 5.1 has a
--- file of its own.
if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then return require "zklock.base.lua51" end

local is_yieldable = coroutine.isyieldable

local yields = {
  --- A coroutine can be suspended inside pcall.
  across_pcall = true,
  --- pcall for functions that may wait.
  protected = pcall,
  --- xpcall(fn, handler, ...)
  xpcall = xpcall,
  --- How deep callbacks may nest: Lua allows 200 nested calls of C functions.
  deepest = 20,
  running = coroutine.running,
  --- Lua 5.2 only knows whether it is the main program; there a yield across a C function raises.
  is_yieldable = is_yieldable or function()
    local thread, is_main = coroutine.running()
    return thread ~= nil and not is_main
  end,
}

--- Suspends a callback; returns false if it cannot be suspended. Lua 5.2 does not know that before
--- the yield has failed.
yields.pause = is_yieldable and function()
  coroutine.yield()
  return true
end or function()
  local ok, err = pcall(coroutine.yield)
  if not ok and not tostring(err):find("attempt to yield", 1, true) then error(err, 0) end
  return ok
end

--- False if `pause` is known to fail in the running callback.
function yields.can_pause()
  return not is_yieldable or is_yieldable()
end

return yields
