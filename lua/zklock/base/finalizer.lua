-- SPDX-License-Identifier: MIT
--- finalizer: an object that calls a function when the collector takes it, in every Lua. In Lua 5.1
--- and LuaJIT only a userdata can do that.
local newproxy = rawget(_G, "newproxy")

--- The metatable of all finalizers in the other versions.
local FINALIZER = { __gc = function(self) pcall(self.finalize, self.state) end }

--- The function gets `state`, not the finalizer. Its errors are dropped, because no caller could
--- get them.
---@param state any must not refer to the finalizer
---@param finalize fun(state: any)
return function(state, finalize)
  if not newproxy then return setmetatable({ state = state, finalize = finalize }, FINALIZER) end
  local finalizer = newproxy(true)
  getmetatable(finalizer).__gc = function() pcall(finalize, state) end
  return finalizer
end
