-- SPDX-License-Identifier: MIT
--- lua51: `zklock.base.yields` for plain Lua 5.1, which cannot suspend a coroutine inside pcall. No
--- other Lua loads this file.

--- There a callback that waits runs the others inside itself: the C stack sets the bound.
local lua51 = { across_pcall = false, deepest = 150 }

--- An error that is raised into a wait goes to the code that resumed it, and the owner's holds are
--- given back when the owner ends.
function lua51.protected(fn, ...)
  return true, fn(...)
end

--- The language's own passes no arguments.
function lua51.xpcall(fn, handler, ...)
  local arguments, count = { ... }, select("#", ...)
  return xpcall(function() return fn(unpack(arguments, 1, count)) end, handler) -- luacheck: ignore 113
end

function lua51.is_yieldable()
  return coroutine.running() ~= nil
end

function lua51.pause()
  coroutine.yield()
  return true
end

--- True if the callback waits in a way that parks it, and no C function, such as pcall, is between
--- the running coroutine's first function and this call. Metamethods and iterators do not show: a
--- yield inside one raises.
---@param parks boolean? as of a waiter
function lua51.can_pause(parks)
  local level = 2
  local frame = parks and debug.getinfo(level, "S")
  while frame do
    if frame.what == "C" then return false end
    level = level + 1
    frame = debug.getinfo(level, "S")
  end
  return parks
end

--- For Copas: the running coroutine may be one that a pcall has created, which Copas does not know.
function lua51.running()
  return require("coxpcall").running()
end

return lua51
