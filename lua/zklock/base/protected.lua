-- SPDX-License-Identifier: MIT
--- protected: `protected(fn, ...)` is pcall for functions that may wait.
local jit = rawget(_G, "jit")

--- Plain Lua 5.1 cannot yield across pcall. There an error that is raised into a wait goes to the
--- code that resumed it, and the owner's holds are given back when the owner ends.
local function call_unprotected(fn, ...)
  return true, fn(...)
end

return (_VERSION ~= "Lua 5.1" or jit) and pcall or call_unprotected
