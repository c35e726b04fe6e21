--- finalizer: something that calls a function when it is collected, in every Lua. In 5.1 and LuaJIT only a userdata
--- can.
local newproxy = rawget(_G, "newproxy")

--- In the other ones: all have this metatable.
local FINALIZER = { __gc = function(self) pcall(self.finalize, self.state) end }

--- The function gets `state`, not the finalizer; what it raises is dropped, for there is nobody to raise it to.
---@param state any must not refer to the finalizer
---@param finalize fun(state: any)
return function(state, finalize)
  if not newproxy then return setmetatable({ state = state, finalize = finalize }, FINALIZER) end
  local finalizer = newproxy(true)
  getmetatable(finalizer).__gc = function() pcall(finalize, state) end
  return finalizer
end
