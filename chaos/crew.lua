-- SPDX-License-Identifier: MIT
--- The workers of a run: keeps them at work, replaces those that were killed, and adds up what they report.
--
-- A worker is named wNUMBER.GENERATION: nobody takes over a dead one's name. The first few reach the servers through
-- a fault proxy of their own, the others directly. The last few are sentries, one for each server: clients of that one
-- alone, who do nothing but what `send` says.

local loop = require "spec.support.loop"
local proxy = require "spec.support.proxy"
local worker = require "spec.support.worker"

local crew = {}
crew.__index = crew

local SHIFT = 0.7 -- seconds
--- The time that a busy machine may add to a wait, but for the time in which we came to nothing ourselves. A thread of
--- the waiter's own process keeps the deadline.
local SLACK = 3
local LAG = 0.2 -- between two steps of ours; what is longer counts
--- A wait without a deadline may last long while sessions end and servers come and go, but not for ever.
local PATIENCE = 60
--- The counts of a report that only some kinds of runs have.
local COUNTED = { "guarded", "read_on", "told", "unknown", "raised" }

---@param testbed table
---@param cast table as `chaos.schedule.CAST`
---@param seed integer of what the workers do
---@param options { patience: number?, slack: number?, worker: process.options? }? for the crew's own specs
function crew.new(testbed, cast, seed, options)
  options = options or {}
  local self = setmetatable({
    testbed = testbed, cast = cast, seed = seed, slots = {}, shifts = 0, working = true, granted = 0, longest = 0,
    longest_close = 0, losses = 0, guarded = 0, read_on = 0, told = 0, unknown = 0, hired = 0, failed = {},
    lost_waiters = {},
    complaints = {}, lags = {}, epochs = {}, raised = 0,
    patience = options.patience or PATIENCE, slack = options.slack or SLACK, how = options.worker,
  }, crew)
  local direct = proxy.hosts_of(testbed.cluster.hosts)
  for n = 1, cast.workers do
    local between = testbed.proxies[n]
    self.slots[n] = { number = n, generation = 0, hosts = between and between.hosts or direct }
  end
  for n = 1, cast.sentries or 0 do
    local number = cast.workers + n
    self.slots[number] = { number = number, generation = 0, hosts = testbed.gates[n].hosts, sentry = true }
  end
  return self
end

---------------------------------------------------------------------------------------------------------------
-- How long they stood still

local function within(spans, from, to)
  local sum = 0
  for _, span in ipairs(spans) do
    sum = sum + math.max(0, math.min(to, span.to or to) - math.max(from, span.from))
  end
  return sum
end

--- For how long between two moments the worker was stopped, or the machine had no time for us.
local function stopped_for(self, slot, from, to) return within(slot.stops, from, to) + within(self.lags, from, to) end

local function note_lag(self)
  local now = loop.now()
  if self.stepped and now - self.stepped > LAG then table.insert(self.lags, { from = self.stepped, to = now }) end
  self.stepped = now
end

function crew:stop(number)
  local slot = self.slots[number]
  if not slot.worker or slot.stopped or not slot.worker.process:signal("sigstop") then return nil end
  slot.stopped = { from = loop.now() }
  table.insert(slot.stops, slot.stopped)
  return slot.worker
end

--- Continues the worker that `stop` gave, if it still lives.
function crew:continue(stopped)
  for _, slot in ipairs(self.slots) do
    if slot.worker == stopped and slot.stopped then
      stopped:continue()
      slot.stopped.to, slot.stopped = loop.now(), nil
    end
  end
end

---------------------------------------------------------------------------------------------------------------
-- Shifts

local function dismiss(slot)
  slot.worker:kill()
  slot.worker, slot.busy, slot.stopped = nil, nil, nil
end

local function hire(self, slot)
  slot.generation = slot.generation + 1
  slot.name = ("w%d.%d"):format(slot.number, slot.generation)
  slot.worker, slot.stops, slot.busy, slot.began = worker.spawn(self.how), {}, "start", loop.now()
  self.hired = self.hired + 1
end

---@param more table? what that task wants to know besides, or otherwise
local function order(self, slot, task, more)
  self.shifts = self.shifts + 1
  local places = {}
  for i, place in ipairs(self.testbed.places) do
    places[i] = { path = place.path, kind = place.kind, permits = self.cast.permits, address = place.store.address }
  end
  slot.busy, slot.began = task, loop.now()
  local what = {
    task = task, name = slot.name, hosts = slot.hosts, session_timeout = self.cast.session_timeout, slack = self.slack,
    seed = self.seed * 7919 + self.shifts, seconds = SHIFT, places = places, armful = self.cast.armful,
    history = self.testbed.history,
  }
  for name, value in pairs(more or {}) do what[name] = value end
  slot.worker:begin("eval", ("return require('%s')(...)"):format(self.cast.shift or "chaos.shift"), what)
end

local function complain(self, slot, text) table.insert(self.complaints, ("%s: %s"):format(slot.name, text)) end

local function note_late(self, slot, late)
  local unexplained = late.took - late.allowed - stopped_for(self, slot, late.began, late.began + late.took)
  if unexplained <= self.slack then return end
  table.insert(self.lost_waiters, ("%s waited %.1f s, not %.1f s"):format(late.lane, late.took, late.allowed))
end

local function note(self, slot, report)
  self.granted, self.losses = self.granted + report.granted, self.losses + report.losses
  for _, what in ipairs(COUNTED) do self[what] = self[what] + (report[what] or 0) end
  self.longest = math.max(self.longest, report.longest)
  self.longest_close = math.max(self.longest_close, report.longest_close)
  for err, n in pairs(report.failed) do self.failed[err] = (self.failed[err] or 0) + n end
  for _, write in ipairs(report.epochs or {}) do table.insert(self.epochs, write) end
  for _, late in ipairs(report.late) do note_late(self, slot, late) end
  for _, text in ipairs(report.unserved) do table.insert(self.lost_waiters, text) end
  for _, text in ipairs(report.complaints) do complain(self, slot, text) end
end

--- Takes the answer that is there. A worker that raised is not worth keeping.
local function take_answer(self, slot)
  local task = slot.busy
  slot.busy = nil
  local ok, report = pcall(slot.worker.finish, slot.worker, 1)
  if not ok then
    complain(self, slot, tostring(report))
    dismiss(slot)
  elseif task ~= "start" then
    note(self, slot, report)
  end
end

local function tend(self, slot)
  if not slot.worker then return self.working and hire(self, slot) end
  local now = loop.now()
  if slot.busy and slot.worker:has_answered() then
    take_answer(self, slot)
  elseif not slot.worker.process:is_running() then
    local process = slot.worker.process
    complain(self, slot, ("ended by itself, code %s, signal %s: %s"):format(tostring(process.code),
      tostring(process.term_signal), slot.worker:stderr()))
    dismiss(slot)
  elseif slot.busy and now - slot.began - stopped_for(self, slot, slot.began, now) > self.patience then
    table.insert(self.lost_waiters, ("%s has not come back from %s"):format(slot.name, slot.busy))
    dismiss(slot)
  end
  if self.working and slot.worker and not slot.busy and not slot.sentry then order(self, slot, "work") end
end

--- Hears who has finished and gives them more to do.
function crew:step()
  note_lag(self)
  for _, slot in ipairs(self.slots) do tend(self, slot) end
end

--- The number of the sentry at a server.
function crew:sentry(server) return self.cast.workers + server end

--- Has a sentry do something, if it is there and has nothing to do.
---@param more table what the task wants to know
---@return boolean
function crew:send(number, task, more)
  local slot = self.slots[number]
  if not slot.worker or slot.busy or not self.working then return false end
  order(self, slot, task, more)
  return true
end

--- SIGKILL; another one is hired at the next step.
function crew:kill(number)
  local slot = self.slots[number]
  if not slot.worker then return false end
  dismiss(slot)
  return true
end

--- The number of the worker that an owner at a resource belongs to, if it lives and is not stopped.
function crew:number_of(owner)
  local name = owner:match("^[^/]*")
  for _, slot in ipairs(self.slots) do
    if slot.worker and not slot.stopped and slot.name == name then return slot.number end
  end
end

function crew:name(number) return self.slots[number].name end

---------------------------------------------------------------------------------------------------------------
-- Recess

local function is_anybody_busy(self)
  for _, slot in ipairs(self.slots) do
    if slot.busy then return true end
  end
  return false
end

--- Lets all come to the end of what they do; whoever does not before their patience ends is lost.
local function come_to_rest(self)
  loop.poll(function()
    self:step()
    return not is_anybody_busy(self)
  end, 2 * self.patience)
end

--- No more work: waits until nobody is at it.
function crew:rest()
  self.working = false
  for _, slot in ipairs(self.slots) do
    if slot.stopped then self:continue(slot.worker) end
    slot.began = loop.now() -- their patience counts from now: nothing is broken any more
  end
  come_to_rest(self)
end

--- Back to work.
function crew:resume() self.working = true end

--- Has everybody do one thing ("flush", "calm", "leave"). Sentries have no client when they have nothing to do.
function crew:all(task)
  for _, slot in ipairs(self.slots) do
    if slot.worker and not (slot.sentry and task ~= "leave") then order(self, slot, task) end
  end
  come_to_rest(self)
end

--- Ends their processes.
function crew:close()
  for _, slot in ipairs(self.slots) do
    if slot.worker then dismiss(slot) end
  end
end

return crew
