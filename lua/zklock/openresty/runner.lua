-- SPDX-License-Identifier: MIT
--- runner: runs a client's callbacks as light threads of one timer, because nginx limits the number
--- of running timers. The notifier has a timer of its own, because a callback that calls ngx.exit
--- ends the timer in which it runs. Callbacks borrow the notifier's timer only if they can get no
--- other.
local Bag = require "zklock.base.bag"
local Timer = require "zklock.openresty.timer"
local core = require "zklock.core"
local semaphore = require "ngx.semaphore"

local Runner = {}
Runner.__index = Runner

--- Seconds without news after which it checks whether the worker is exiting.
local NAP = 10
--- How many callbacks begin in a row before other light threads get a turn.
local ROW = 64
--- Seconds until it tries again after a lack of memory.
local PATIENCE = 0.1
--- Seconds that callbacks wait for a timer before they borrow the notifier's.
local LEND = 1

--- After so many callbacks a new timer takes over: nginx frees the memory of light threads only
--- when their timer ends.
local MOST = 1000

--- The light threads of one timer. `ended`: the latest of those that have ended; each has the one before it.
local function new_crew()
  return { threads = Bag.new("_place"), begun = 0, ended = false, news = assert(semaphore.new(0)), successor = false }
end

---@param visits zklock.Visits
---@param notice_exit fun() keeps no timers in a worker that nginx has told to exit
function Runner.new(visits, notice_exit)
  local self = setmetatable({ queue = {}, first = 1, last = 0, crew = new_crew(), guests = new_crew(), kept = false,
    pending_since = false, visits = visits, notice_exit = notice_exit }, Runner)
  self.timer = self:new_timer()
  return self
end

---@private
function Runner:new_timer()
  return Timer.new(self.visits, function(timer) self:serve(timer) end, function() self:lose_crew() end)
end

function Runner:has_queue()
  return self.first <= self.last
end

--- True while a callback is queued or runs.
function Runner:is_busy()
  return self:has_queue() or self.guests.threads.count > 0 or self.timer:is_running() and self.crew.threads.count > 0
end

--- The last step allocates nothing.
local function play(crew, thread)
  thread.light = coroutine.running()
  thread.fn()
  thread.former, crew.ended = crew.ended, thread
  crew.news:post(1)
end

--- Begins the next callback. It leaves the queue before it runs, because it may end this timer.
local function begin(self, crew)
  local fn = self.queue[self.first]
  local thread = { fn = fn, light = false, former = false, _place = false }
  crew.threads:add(thread)
  self.first = self.first + 1
  self.queue[self.first - 1] = nil
  crew.begun = crew.begun + 1
  local ok, err = pcall(ngx.thread.spawn, play, crew, thread)
  if ok then return end
  crew.threads:remove(thread)
  self.queue[self.first - 1] = fn
  self.first = self.first - 1
  error(err, 0)
end

--- Waits for a light thread that has ended: nginx keeps each one until another waits for it.
local function collect(crew, thread)
  if thread.light then ngx.thread.wait(thread.light) end
  crew.threads:remove(thread)
end

local function collect_ended(crew)
  local thread = crew.ended
  crew.ended = false
  while thread do
    collect(crew, thread)
    thread = thread.former
  end
end

--- An error (no memory, a hook) may have ended a light thread before it could say so, or before its function has begun,
--- which does nothing if it is called again.
local function collect_failed(self, crew)
  for place = crew.threads.count, 1, -1 do
    local thread = crew.threads.list[place]
    if not Timer.has_thread(thread.light) then
      collect(crew, thread)
      self:add(thread.fn)
    end
  end
end

local function go_on(self, crew)
  local row = 0
  while self:has_queue() and (crew == self.crew or crew == self.guests) do
    begin(self, crew)
    row = row + 1
    if row % ROW == 0 then ngx.sleep(0) end
  end
  collect_ended(crew)
end

--- A timer that has begun many callbacks asks nginx for another one, which takes over as soon as nginx has begun it.
local function ask_for_successor(self, crew)
  if crew.begun < MOST or crew ~= self.crew then return end
  crew.successor = crew.successor or self:new_timer()
  crew.successor:ensure()
end

--- From now on callbacks begin in this timer, and no longer in the former one.
local function take_over(self, crew, timer)
  local former = self.crew
  self.crew, self.timer, self.pending_since = crew, timer, false
  former.news:post(1)
end

--- True if this crew has a callback to begin, or an ended light thread to collect.
local function has_work(self, crew)
  return crew.ended or crew == self.crew and self:has_queue()
end

--- Waits until this crew has work. If it has none then, it looks whether errors have ended light threads.
local function await_work(self, crew)
  crew.news:wait(NAP)
  if not has_work(self, crew) then collect_failed(self, crew) end
end

--- The body of a timer. It runs until there is nothing to do and nothing keeps it, or until another
--- timer has taken over.
function Runner:serve(timer)
  local crew = new_crew()
  take_over(self, crew, timer)
  repeat
    local ok, err = pcall(go_on, self, crew)
    if not ok then
      ngx.log(ngx.ERR, "zklock: callbacks wait: ", err)
      ngx.sleep(PATIENCE)
    end
    ask_for_successor(self, crew)
    local is_kept = crew == self.crew and self.kept
    if not has_work(self, crew) and (crew.threads.count > 0 or is_kept) then await_work(self, crew) end
    self.notice_exit()
  until crew.threads.count == 0 and (crew ~= self.crew or not self.kept and not self:has_queue())
end

--- The notifier calls this: callbacks that have waited for long run in its timer.
function Runner:borrow()
  local since = self.pending_since
  if since and core.now() - since > LEND and not self.timer:is_running() then go_on(self, self.guests) end
  collect_ended(self.guests)
  collect_failed(self, self.guests)
end

--- The notifier has begun a new timer: the callbacks that ran in its former one have ended.
function Runner:forget_guests()
  self.guests = new_crew()
  self:remind()
end

--- The runner's timer was ended from outside, and with it the callbacks that ran in it.
---@private
function Runner:lose_crew()
  self:remind()
  self:tend()
end

--- Callbacks have ended without notice: each watch checks whether it has news to deliver.
---@private
function Runner:remind()
  local client = self.visits.back[1]
  if client then client.dispatcher:remind() end
end

--- Queues fn.
function Runner:add(fn)
  local last = self.last + 1
  self.queue[last] = fn
  self.last = last -- after an error the next one takes that place
  self:tend()
end

--- Starts or wakes the timer if there is work or if the timer is kept.
function Runner:tend()
  if self.timer:is_running() then
    if self:has_queue() then self.crew.news:post(1) end
  elseif self:has_queue() or self.kept then
    self.pending_since = self.pending_since or core.now()
    self.timer:ensure()
  end
end

--- True if its timer has not begun yet although there is work, or if callbacks run in the
--- notifier's timer.
function Runner:is_pending()
  return self.guests.threads.count > 0 or (self:has_queue() or self.kept) and not self.timer:is_running()
end

--- true: keeps a timer also while there is no work, because a worker without free timers could not
--- start one later.
function Runner:keep(kept)
  self.kept = kept
  if kept then
    self:tend()
  else
    self.crew.news:post(1)
  end
end

return Runner
