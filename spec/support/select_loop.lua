-- SPDX-License-Identifier: MIT
--- A small event loop over LuaSocket's select, with an adapter for it: what docs/internals/adapters.md asks of one.

local blocking = require "zklock.loop.blocking"
local socket = require "socket"

local PATIENCE = require("spec.support.wait").PATIENCE

local select_loop = {}

local function pack(...) return { n = select("#", ...), ... } end

--- A loop of its own, with `adapter`, `spawn(fn)` -> task, and `run(until)`.
function select_loop.new()
  local self = { due = {}, watched = {}, waiting = {}, tasks = setmetatable({}, { __mode = "k" }), errors = {} }
  local adapter = { name = "select" }

  local function resume(thread)
    local results = pack(coroutine.resume(thread))
    if not results[1] then self.errors[#self.errors + 1] = results[2] end
    if coroutine.status(thread) == "dead" then self.tasks[thread].results = results end
  end

  function self.spawn(fn)
    local task = {}
    local thread = coroutine.create(fn)
    self.tasks[thread] = task
    self.due[#self.due + 1] = thread
    return task
  end

  function self.turn()
    for waiter in pairs(self.waiting) do
      if waiter:left() == 0 then adapter.wake(waiter) end
    end
    local due = self.due
    self.due = {}
    for _, thread in ipairs(due) do resume(thread) end
    local list = {}
    for entry in pairs(self.watched) do list[#list + 1] = entry end
    for _, entry in ipairs(socket.select(list, nil, #self.due > 0 and 0 or 0.02)) do
      self.called = (self.called or 0) + 1
      entry.ready()
    end
  end

  --- Turns until the condition holds, for `wait.PATIENCE` at most.
  function self.run(condition)
    local deadline = socket.gettime() + PATIENCE
    while not condition() do
      assert(socket.gettime() < deadline, "the loop did not come to its end")
      self.turn()
    end
  end

  function adapter.wait(client, waiter)
    local thread = coroutine.running()
    if not thread or not self.tasks[thread] then return blocking.wait(client, waiter) end
    waiter.thread = thread
    self.waiting[waiter] = true
    coroutine.yield()
  end

  function adapter.wake(waiter)
    if not self.waiting[waiter] then return end
    self.waiting[waiter] = nil
    self.due[#self.due + 1] = waiter.thread
  end

  function adapter.watch(client, ready)
    local fd = client:getfd()
    local entry = { ready = ready, getfd = function() return fd end }
    self.watched[entry] = true
    return function()
      self.stopped = (self.stopped or 0) + 1
      self.watched[entry] = nil
    end
  end

  function adapter.spawn(_, fn)
    self.spawn(fn)
    return true
  end

  self.adapter = adapter
  return self
end

return select_loop
