-- SPDX-License-Identifier: MIT
--- LuaJIT's compiled code does not look for hooks. From a call of this on no code is compiled, and none that was runs.

local jit = rawget(_G, "jit")
local function already() end

---@return fun() compile ends that
return function()
  if not (jit and jit.status()) then return already end
  jit.off()
  jit.flush()
  return jit.on
end
