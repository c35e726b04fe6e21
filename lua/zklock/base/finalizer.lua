--- finalizer: something that calls a function when it is collected, in every Lua. In 5.1 and LuaJIT only a userdata
--- can.
local newproxy = newproxy -- luacheck: ignore 113

--- The function gets `state`, not the finalizer; what it raises is dropped, for there is nobody to raise it to.
---@param state any must not refer to the finalizer
---@param finalize fun(state: any)
return function(state, finalize)
  local function gc() pcall(finalize, state) end
  if newproxy then
    local finalizer = newproxy(true)
    getmetatable(finalizer).__gc = gc
    return finalizer
  end
  return setmetatable({}, { __gc = gc })
end
