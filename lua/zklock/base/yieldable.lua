-- SPDX-License-Identifier: MIT
--- yieldable: says whether the running coroutine can be suspended. Lua 5.2 and plain 5.1 only know
--- whether it is the main program; there a yield across a C function raises.
return coroutine.isyieldable or function()
  local thread, is_main = coroutine.running()
  return thread ~= nil and not is_main
end
