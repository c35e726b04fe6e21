-- SPDX-License-Identifier: MIT
--- watcher: lets a loop call the dispatcher when the engine has news, so that callbacks run without
--- a poll.
local finalizer = require "zklock.base.finalizer"

local function forget_all(native)
  local serial
  repeat serial = select(5, native:peek(serial)) until not serial
end

--- The loop keeps the engine's client alive. It keeps the Lua client alive only while a callback or
--- a listener still has to hear of something, so a client that the script drops is closed.
---@param client zklock.Client
---@return fun() stop
---@return any finalizer for the client to keep: when it is collected, the engine's client is closed
return function(client)
  local native, kept, back = client.native, client.dispatcher.kept, setmetatable({ client }, { __mode = "v" })
  local unwatch
  local function hang_up() native:hang_up() end
  local function stop()
    local once = unwatch
    unwatch = nil
    if once and not once(hang_up) then hang_up() end
  end
  unwatch = client.loop.watch(client, function()
    local living = back[1]
    if living then return living.dispatcher:dispatch() end
    forget_all(native)
    if kept and native:ended() then stop() end
  end)
  client.dispatcher:ends_with(stop)
  return stop, finalizer(native, function() native:close() end)
end
