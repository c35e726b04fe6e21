--- blocking: the loop of a program that has none. A caller that waits polls: callbacks run meanwhile.
local blocking = { name = "blocking" }

--- Waits until `waiter.done` or its time is over; in a forked child, where nothing arrives, not at all. The dispatcher
--- takes what has arrived and runs callbacks; it sleeps until something arrives or a signal comes, whose hook runs as
--- soon as it is back in Lua.
function blocking.wait(client, waiter)
  local dispatcher, native = client.dispatcher, client.native
  dispatcher:turn()
  local is_first = true
  while not waiter.done and waiter:left() ~= 0 and native:unusable() ~= "forked" do
    dispatcher:sleep(waiter.deadline or math.huge, is_first)
    dispatcher:turn()
    is_first = false
  end
end

--- Nothing to do: who waits looks at `waiter.done` himself.
function blocking.wake(_) end

-- Compiled code does not look for the hook that Ctrl-C sets.
local jit = rawget(_G, "jit")
if jit then jit.off(blocking.wait) end

return blocking
