-- SPDX-License-Identifier: MIT
--- blocking: the loop of a program without an event loop. A caller that waits also polls, so
--- callbacks run meanwhile.
local blocking = { name = "blocking" }

--- Waits until `waiter.done` or its deadline; in a forked child, where nothing arrives, not at all.
--- The dispatcher takes the events and runs callbacks. It sleeps until an event or a signal
--- arrives; Lua runs the signal's hook as soon as the sleep is over.
function blocking.wait(client, waiter)
  local dispatcher, native = client.dispatcher, client.native
  dispatcher:turn()
  local is_first = true
  while not waiter.done and waiter:left() ~= 0 and native:unusable() ~= "forked" do
    local moment, natives = dispatcher:prepare_sleep(waiter.deadline or math.huge, is_first)
    if not waiter.done then native:wait(moment, natives) end
    dispatcher:turn()
    is_first = false
  end
end

--- Nothing to do: the waiting caller checks `waiter.done` itself.
function blocking.wake(_) end

-- Compiled code does not check for the hook that Ctrl-C sets.
local jit = rawget(_G, "jit")
if jit then jit.off(blocking.wait) end

return blocking
