--- protected: calls what may wait, and catches what is raised there: `protected(fn, ...)` as pcall.
local jit = rawget(_G, "jit")

--- Plain Lua 5.1 cannot yield across pcall. There what is raised into a wait goes to whoever resumed it; what its owner
--- has is given back at his end.
local function call_unprotected(fn, ...)
  return true, fn(...)
end

return (_VERSION ~= "Lua 5.1" or jit) and pcall or call_unprotected
