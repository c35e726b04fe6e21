-- SPDX-License-Identifier: MIT
--- copas: callers wait in Copas' coroutines. Copas 2.0 and later can wake a coroutine. Copas 1
--- cannot, and has no timers. But it treats the values that a coroutine yields as an object and a
--- queue for the coroutine. So we yield a queue of ours, which keeps the coroutine until the
--- coroutine that watches resumes it.
local blocking = require "zklock.loop.blocking"
local copas = require "copas"
local each = require "zklock.base.each"
local yields = require "zklock.base.yields"

local adapter = { name = "copas" }

-- ---- the object that Copas treats as a socket

local Link = {}
Link.__index = Link

function Link:getfd() return self.fd end

--- At the beginning of every turn of the loop Copas asks whether there is data although the
--- descriptor is not readable.
function Link:dirty()
  local host = self.host
  return not host.ready or host.due[1] ~= nil or host:is_late()
end

--- The first call reports that nothing has arrived, so Copas suspends the reader until something
--- has.
function Link:receive()
  if self.waited then return "!" end
  self.waited = true
  return nil, "timeout"
end

--- Copas 1 closes the last object that a coroutine read from.
function Link.close() end

-- ---- a client in the loop

local Host = {}
Host.__index = Host

--- Takes the events, as long as the client is watched and a waiter is left to resume.
local function serve(host)
  while host.ready or host.due[1] do
    host.link.waited = false
    copas.receive(host.link, 1)
    local ok, err = true, nil
    if host.ready then ok, err = pcall(host.ready) end
    host:resume_due()
    if not ok then
      host.is_served = false
      host:listen() -- for the other waiters
      error(err, 0)
    end
  end
  host.is_served = false
  if host.hang_up then host.hang_up() end
end

function Host:listen()
  if self.is_served then return end
  self.is_served = true
  copas.addthread(function() serve(self) end)
end

-- ---- how a coroutine is suspended, and resumed in a later turn

if copas.wakeup then
  local pause, pause_forever = copas.pause or copas.sleep, copas.pauseforever or function() copas.sleep(-1) end

  function Host.suspend(_, waiter)
    local left = waiter:left()
    waiter.thread = yields.running()
    if left then pause(left) else pause_forever() end
  end

  function Host.resume(_, waiter) copas.wakeup(waiter.thread) end

  function Host.resume_due() end

  function Host.is_late() return false end
else
  local queue = {}

  function queue.insert() end

  function queue.push(_, waiter, thread) waiter.thread = thread end

  --- Nothing serves a closed client: then the caller waits without being suspended.
  function Host:suspend(waiter)
    if self.ready then coroutine.yield(waiter, queue) end
  end

  function Host:resume(waiter)
    if waiter.is_due then return end
    waiter.is_due = true
    self.due[#self.due + 1] = waiter
    self:listen()
  end

  function Host:resume_due()
    for waiter in each(self.waiting) do
      if waiter:left() == 0 then self:resume(waiter) end
    end
    while self.due[1] do
      local due = self.due
      self.due = {}
      for _, waiter in ipairs(due) do
        self.waiting[waiter] = nil
        waiter.is_due = false
        if waiter.thread and coroutine.status(waiter.thread) == "suspended" then copas.addthread(waiter.thread) end
      end
    end
  end

  function Host:is_late()
    for waiter in each(self.waiting) do
      if waiter:left() == 0 then return true end
    end
    return false
  end
end

-- ---- the adapter

function adapter.watch(client, ready)
  local host = setmetatable({
    ready = ready, -- nil: the client is no longer watched
    waiting = {}, -- nothing else refers to their coroutines
    due = {}, -- the waiters to resume
    beginning = 0,
  }, Host)
  host.link = setmetatable({ fd = client:getfd(), host = host }, Link)
  client.host = host
  host:listen()
  return function(hang_up)
    host.ready, host.hang_up = nil, hang_up
    return host.is_served -- `serve` hangs up
  end
end

local function leave(host, waiter)
  host.waiting[waiter] = nil
  waiter.thread = nil
end

local function await(host, waiter)
  while not waiter.done and waiter:left() ~= 0 do
    host.waiting[waiter] = true
    host:suspend(waiter)
    leave(host, waiter)
  end
end

--- After an error nothing here may resume the coroutine, which may then be suspended elsewhere.
function adapter.wait(client, waiter)
  if not yields.is_yieldable() then return blocking.wait(client, waiter) end
  local host = client.host
  waiter.host = host
  local ok, err = yields.protected(await, host, waiter)
  if ok then return end
  leave(host, waiter)
  error(err, 0)
end

function adapter.wake(waiter)
  if waiter.thread then waiter.host:resume(waiter) end
end

--- Outside of the loop this creates no coroutine: Copas 4 would begin it later, and the loop may
--- never run again.
function adapter.spawn(client, fn)
  if not yields.is_yieldable() then return false end
  local host = client.host
  host.beginning = host.beginning + 1
  copas.addthread(function()
    host.beginning = host.beginning - 1
    fn()
  end)
  return true
end

--- Copas 4 begins threads in a later turn.
function adapter.settle(client)
  while client.host.beginning > 0 and yields.is_yieldable() do copas.pause() end
end

return adapter
