--- yieldable: may the running coroutine be suspended? Lua 5.2 and plain 5.1 only know whether it is the main program; a
--- yield across a C function raises there.
return coroutine.isyieldable or function()
  local thread, is_main = coroutine.running()
  return thread ~= nil and not is_main
end
