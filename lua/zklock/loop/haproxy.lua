-- SPDX-License-Identifier: MIT
--- haproxy: callers wait in HAProxy's coroutines: those of actions, services and tasks. HAProxy
--- resumes a coroutine when a socket of its own has news, and at a time. So each caller that waits
--- reads from a bell, a Unix socket that the waker rings, and each client has a task that reads
--- from the engine's notifier. Nothing polls.
---
--- While HAProxy stops, it counts each open socket as work to do. Then the callers poll instead, in
--- the process's last seconds.
---
--- HAProxy suspends a coroutine also after so many instructions (tune.lua.forced-yield), so another
--- one may run between any two. Not below `core.quietly`.
local hap = rawget(_G, "core")
if type(hap) ~= "table" or not hap.register_task then error("only valid inside HAProxy", 0) end

local core = require "zklock.core"
local each = require "zklock.base.each"
local yields = require "zklock.base.yields"

local quietly = core.quietly

local haproxy = { name = "haproxy", background = true }

--- Milliseconds between two looks of a caller without a bell, and of a client without a notifier.
local POLL, RETRY = 5, 100
--- Seconds between two looks of the caretaker, and how many of them pass until it runs the
--- collector.
local TICK, ROUNDS = 1, 2
local TRIES = 3
--- Seconds between two looks of a task whether the wait that it is to end is over.
local LOOK = 1
local SPARE_MOST = 64

local weak_keys = { __mode = "k" }

local hosts = setmetatable({}, weak_keys) -- each client's
local waiting = setmetatable({}, weak_keys) -- the waiters, each with its bell, or false
local rung = setmetatable({}, weak_keys) -- those of them whose wait is over
local spare = {} -- bells that no waiter uses
local is_tended, is_stopping = false, false

-- HAProxy's threads share one Lua state (`lua-load`), and a thread cannot use another one's sockets.
-- With one state for each thread the states have numbers.
local spare_most = hap.thread == 0 and 0 or SPARE_MOST

-- ---- tasks

local to_call = {} -- by the tasks that have not begun, one by each of them

local function call_one()
  local task
  repeat task = table.remove(to_call, 1) until not task or task.fn
  if task then return task.fn() end
end

--- Calls fn in a task of its own. HAProxy 2.6 never lets go of the function of a task, so all tasks have
--- the same one: otherwise what fn refers to, a request or a lease, would never be collected.
local function begin_task(fn)
  local task = { fn = fn }
  table.insert(to_call, task)
  local ok, err = pcall(hap.register_task, call_one)
  if ok then return end
  task.fn = false
  error(err, 0)
end

-- ---- which coroutines HAProxy resumes

local probe

--- True in a coroutine that HAProxy has made. A closed socket tells: to read from it raises in any
--- other one. `core.tcp` does not work before HAProxy runs.
local function is_resumed()
  if not probe then
    probe = hap.tcp()
    getmetatable(probe).__gc(probe)
  end
  local ok, err = pcall(probe.receive, probe, 1)
  return ok or not tostring(err):find("only allowed", 1, true)
end

local function is_configuring()
  local _, is_main = coroutine.running()
  return is_main
end

function haproxy.unfit()
  if is_configuring() then
    return "zklock.connect cannot be called while HAProxy reads its configuration, before it forks: "
      .. "call it when an action, a service or a task first needs it"
  elseif not is_resumed() then
    return "zklock.connect cannot be called in a coroutine of your own: call it in one that HAProxy has made"
  end
  return nil
end

local ADVICE = "HAProxy resumes only the coroutines of actions, services and tasks; "
  .. "lock:request works everywhere: its callback gets the answer"

function haproxy.can_wait()
  if is_configuring() then return nil, "cannot wait in phase init", ADVICE end
  if is_resumed() then return true end
  return nil, "cannot wait in phase coroutine", ADVICE
end

-- ---- bells

--- Connects to the socket of a notifier or a bell. Suspends the caller. If HAProxy suspends it
--- before it connects, the connection fails.
---@return table? link to read from
---@return string? err
local function connect(socket)
  local address = socket:path():gsub("^@", "abns@")
  local link, ok, err
  for _ = 1, TRIES do
    link = hap.tcp()
    ok, err = link:connect(address)
    if ok then break end
  end
  if ok then ok, err = socket:answer() end
  if ok then return link end
  socket:drop()
  return nil, err or "no connection"
end

local function new_bell()
  local socket = core.bell()
  local link = socket and connect(socket)
  return link and { socket = socket, link = link } or nil
end

--- Other coroutines run meanwhile. nil: there is no descriptor left, for example.
local function take_bell()
  if is_stopping then return nil end
  local bell = table.remove(spare)
  if bell then return bell end
  local ok, made = pcall(new_bell)
  return ok and made or nil
end

local function hang_up(bell)
  bell.socket:drop()
  bell.link:close()
end

local function drop_spare()
  local bell = table.remove(spare)
  while bell do
    hang_up(bell)
    bell = table.remove(spare)
  end
end

local function put_back(bell)
  if #spare >= spare_most then return hang_up(bell) end
  table.insert(spare, bell)
  if is_stopping then drop_spare() end
end

-- ---- a client's part

local Host = {}
Host.__index = Host

local function report_wait(err)
  hap.log(hap.err, "zklock: callbacks wait: " .. tostring(err))
end

--- Begins the callbacks. A task is made here, in a coroutine of HAProxy's: made in another one, it
--- would belong to another Lua state. A callback waits while there is no memory for its task.
function Host:begin()
  local fn = table.remove(self.due, 1)
  while fn do
    local ok, err = pcall(begin_task, fn)
    if ok then
      fn = table.remove(self.due, 1)
    else
      pcall(report_wait, err)
      hap.msleep(RETRY)
    end
  end
end

function Host:take()
  if self.ready then
    local ok, err = xpcall(quietly, debug.traceback, self.ready)
    if not ok then hap.log(hap.err, "zklock: " .. tostring(err)) end
  end
  self:begin()
end

--- Reads from the engine until the connection ends.
function Host:hear()
  local socket = assert(self.native:notifier())
  local link = assert(connect(socket))
  self.socket, self.why = socket, false
  repeat
    self:take()
  until not self.ready or is_stopping or not link:receive(1)
  self.socket = false
  socket:drop()
  link:close()
end

function Host:leave()
  local socket = self.socket
  if socket then socket:drop() end
end

--- The body of its task.
function Host:listen()
  while self.ready and not is_stopping do
    local ok, why = pcall(self.hear, self)
    if not ok then
      if self.why ~= why then hap.log(hap.warning, "zklock: no notifier, polling: " .. tostring(why)) end
      self.why = why
      self:take()
      hap.msleep(RETRY)
    end
  end
  self:begin()
end

-- ---- the caretaker

local function list(set)
  local keys = {}
  for key in each(set) do keys[#keys + 1] = key end
  return keys
end

--- The keys as they are now: other coroutines change the set during a loop over it.
local function keys_of(set)
  return ipairs(quietly(list, set))
end

--- HAProxy stops: lets go of all its sockets.
local function let_go()
  is_stopping = true
  for _, host in keys_of(hosts) do host:leave() end
  drop_spare()
  for _, waiter in keys_of(waiting) do
    local bell = waiting[waiter]
    if bell then bell.socket:ring() end
  end
end

local function is_in_use()
  for _, host in keys_of(hosts) do
    local stats = host.native:stats()
    if stats.held > 0 or stats.waiting > 0 then return true end
  end
  return false
end

--- True if a waiter that has been woken does not run, or in some rounds if anybody holds or waits.
local function is_collection_due(round)
  local is_late = next(rung) ~= nil
  if is_late then rung = setmetatable({}, weak_keys) end
  return is_late or round % ROUNDS == 0 and is_in_use()
end

--- In one section: a client that begins afterwards finds no caretaker.
local function is_needed()
  is_tended = next(hosts) ~= nil
  return is_tended
end

local function tend()
  local round = 0
  while quietly(is_needed) do
    if is_stopping then
      hap.msleep(POLL)
      for _, host in keys_of(hosts) do host:take() end
    else
      hap.sleep(TICK)
      round = round + 1
      -- A client of HAProxy's may go away while its request holds or waits. HAProxy then drops the
      -- coroutine and reports nothing: only the collector finds out.
      if is_collection_due(round) then collectgarbage() end
      if hap.get_info().Stopping ~= 0 then let_go() end
    end
  end
end

-- ---- the adapter

function haproxy.watch(client, ready)
  local host = setmetatable({ native = client.native, ready = ready, due = {}, socket = false, why = false }, Host)
  client.host = host
  hosts[host] = true
  begin_task(function() host:listen() end)
  if not is_tended then
    is_tended = true
    hap.register_task(tend)
  end
  return function()
    hosts[host], host.ready = nil, false
    host:leave()
  end
end

--- How long a wait still may last.
---@param reference any[] to its waiter; weak
---@return number? seconds nil: it is over
local function left_of(reference)
  local waiter = reference[1]
  return waiter and waiting[waiter] ~= nil and waiter:left() or nil
end

--- Rings when the wait's own time is over. HAProxy cannot end a task that sleeps, so the task looks from
--- time to time whether the wait is over: a caller that waits again and again leaves few tasks behind.
local function ring_in_time(waiter, seconds)
  local reference = setmetatable({ waiter }, { __mode = "v" })
  begin_task(function()
    local left = seconds
    repeat
      hap.msleep(math.ceil(math.min(left, LOOK) * 1000))
      left = left_of(reference)
    until not left or left == 0
    local bell = left and waiting[reference[1]]
    if bell then bell.socket:ring() end
  end)
end

local function nap(waiter)
  local bell = take_bell()
  if not bell then return hap.msleep(POLL) end
  waiting[waiter] = bell -- from now on it rings: what has come before that is seen here
  local heard = waiter.done or waiter:left() == 0 or is_stopping or bell.link:receive(1)
  waiting[waiter] = false
  if heard then put_back(bell) end
end

local function await(waiter)
  local left = waiter:left()
  if left then ring_in_time(waiter, left) end
  while not waiter.done and waiter:left() ~= 0 do nap(waiter) end
end

--- An error is HAProxy's, for example that the script has run for too long.
function haproxy.wait(_, waiter)
  waiting[waiter] = false
  local ok, err = yields.protected(await, waiter)
  waiting[waiter], rung[waiter] = nil, nil
  if not ok then error(err, 0) end
end

function haproxy.wake(waiter)
  local bell = waiting[waiter]
  if bell == nil then return end
  rung[waiter] = true
  if bell then bell.socket:ring() end
end

function haproxy.spawn(client, fn)
  table.insert(client.host.due, fn)
  client.native:wake()
  return true
end

function haproxy.note(line)
  hap.log(hap.warning, line)
end

function haproxy.report(message)
  hap.log(hap.err, message)
end

return haproxy
