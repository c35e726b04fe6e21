-- SPDX-License-Identifier: MIT
--- runner: runs a client's callbacks as light threads of one timer, because nginx limits the number
--- of running timers. The notifier has a timer of its own, because a callback that calls ngx.exit
--- ends the timer in which it runs. Callbacks borrow the notifier's timer only if they can get no
--- other.
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

--- The light threads of one timer.
local function new_crew()
  return { running = 0, begun = 0, ended = {}, news = assert(semaphore.new(0)), successor = false }
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
  return self:has_queue() or self.guests.running > 0 or self.timer:is_running() and self.crew.running > 0
end

local function play(crew, thread)
  thread.fn()
  crew.ended[#crew.ended + 1] = thread
  crew.news:post(1)
end

--- Begins the next callback. It leaves the queue before it runs, because it may end this timer.
local function begin(self, crew)
  local fn = self.queue[self.first]
  self.queue[self.first] = nil
  self.first = self.first + 1
  crew.running, crew.begun = crew.running + 1, crew.begun + 1
  local thread = { fn = fn, light = false }
  local ok, light = pcall(ngx.thread.spawn, play, crew, thread)
  if ok then
    thread.light = light
    return
  end
  crew.running = crew.running - 1
  self.first = self.first - 1
  self.queue[self.first] = fn
  error(light, 0)
end

--- Waits for the light threads that have ended: nginx keeps each one until another waits for it.
local function collect_ended(crew)
  local ended = crew.ended
  crew.ended = {}
  for _, thread in ipairs(ended) do
    ngx.thread.wait(thread.light)
    crew.running = crew.running - 1
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
  if crew ~= self.crew then return #crew.ended > 0 end
  return self:has_queue() or #crew.ended > 0
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
    local is_current = crew == self.crew
    if not has_work(self, crew) and (crew.running > 0 or is_current and self.kept) then crew.news:wait(NAP) end
    self.notice_exit()
  until crew.running == 0 and (crew ~= self.crew or not self.kept and not self:has_queue())
end

--- The notifier calls this: callbacks that have waited for long run in its timer.
function Runner:borrow()
  local since = self.pending_since
  if since and core.now() - since > LEND and not self.timer:is_running() then go_on(self, self.guests) end
  collect_ended(self.guests)
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
  self.last = self.last + 1
  self.queue[self.last] = fn
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
  return self.guests.running > 0 or (self:has_queue() or self.kept) and not self.timer:is_running()
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
