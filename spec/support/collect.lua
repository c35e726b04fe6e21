-- SPDX-License-Identifier: MIT
--- Collects garbage so that nothing that a spec has dropped stays alive.
--
-- LuaJIT's compiled traces keep the functions that they call, with their upvalues: a closure that waited for a client
-- in a loop keeps that client until the trace is thrown away.

local jit = rawget(_G, "jit")

return function()
  if jit then jit.flush() end
  collectgarbage()
end
