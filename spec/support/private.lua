-- SPDX-License-Identifier: MIT
--- Methods of public objects that are not public.
return { new = true, join = true, tell = true, answered = true, bind = true, abandon = true, give_up = true,
  undo = true, is_open = true, event = true, remind = true, fail = true, hold_of_caller = true, bound = true,
  begin_to_stop = true, is_busy = true, is_inside = true, drop = true }
