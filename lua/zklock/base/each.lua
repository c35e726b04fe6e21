-- SPDX-License-Identifier: MIT
--- each: `pairs` by another name, for each loop in zklock, because any of its functions may run in a
--- finalizer.
---
--- LuaJIT gives a loop over a function that is named `pairs` or `next` an instruction of its own
--- (BC_ITERN). When a check of such a compiled loop fails, the loop begins that round again, and in
--- a finalizer LuaJIT compiles nothing, so the check fails for ever: the process spins and never
--- ends. A loop with any other name goes on where the check has failed. Seen in 2.1-20230119, and
--- in a worker of nginx, whose Lua ends with all its finalizers.
return pairs
