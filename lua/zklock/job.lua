-- SPDX-License-Identifier: MIT
--- job: a function that one instance runs at a time, across all machines. A job queues for its
--- mutex, calls the function once it holds it, releases, pauses, and queues again.
---
--- Nothing waits while the job waits or pauses: an event of the engine, or an alarm, resumes it. Only
--- the function has a coroutine, a new one for each run.
local Callbacks = require "zklock.run.callbacks"
local Held = require "zklock.held"
local Hold = require "zklock.holds.hold"
local check = require "zklock.base.check"
local core = require "zklock.core"
local errors = require "zklock.base.errors"
local mark = require "zklock.mark"
local owner = require "zklock.owners.owner"
local line = require "zklock.line"
local text = require "zklock.base.text"

local quietly = core.quietly

--- The least pause after an error, and the least one until a mark is due; seconds.
local FAILED_LEAST, DUE_LEAST = 0.1, 0.01
--- The longest pause after a grant that was lost before fn began; seconds.
local LOST_MOST = 1

---@class zklock.Job
---@field private word "waiting"|"running"|"pausing"|"stopped"
---@field private hold zklock.Hold|false
---@field private held zklock.Held|false while fn runs
---@field private runs_in any[]|false a weak reference to the coroutine of a run that has not ended
---@field private number integer of the run
---@field private delay number|false the pause after the latest error; seconds
---@field private is_stopping boolean
---@field private has_failed boolean a run has ended by an error, and the round has not
---@field private refusal string|false the error of the latest join
---@field private until_when number the moment at which the pause ends
---@field private life table|false of the run, for a host that may end it
---@field private alarm zklock.Alarm ends the pause
---@field private record zklock.Call of `play`
---@field private settings zklock.JobSettings
local Job = {}
Job.__index = Job
Job.__name = "zklock.Job"

---@class zklock.JobSettings
---@field pause number seconds
---@field pause_most number seconds
---@field every number|false seconds
---@field mark "before"|"after"

local play

-- ---- the round ----------------------------------------------------------------------------------

--- Queues a call of `play`, which does what is due.
local function go_on(job)
  job.client.callbacks:tell_again(job.record, play, job)
  job.client.native:wake()
end

--- The engine has answered: the hold is granted, or has failed.
local function answered(job, hold)
  if job.hold == hold and not job.runs_in then go_on(job) end
end

local function join(job)
  local client = job.client
  client.lifetimes:glance()
  job.lock_path:reap()
  local hold = Hold.new(job.lock_path, job.lock, job, nil, function(hold) answered(job, hold) end)
  job.hold, job.word, job.refusal = hold, "waiting", false
  job.refusal = hold:join(math.huge, false) or false
  if job.refusal then go_on(job) end
end

--- Sets the end of the pause. If there is no memory for that, the next turn tries again.
local function pause(job, seconds)
  job.word, job.until_when = "pausing", core.now() + seconds
  if seconds == math.huge then return end
  if not pcall(job.client.waits.ring_at, job.client.waits, job.until_when, job.alarm) then go_on(job) end
end

local function failed_pause(job)
  local settings = job.settings
  local most = math.max(settings.pause, settings.pause_most)
  job.delay = math.min(math.max(2 * (job.delay or settings.pause), FAILED_LEAST), most)
  return job.delay
end

--- The pause after a grant that was lost before fn began.
local function short_pause(job)
  return math.min(job.settings.pause, LOST_MOST)
end

local function report(job, err, why)
  job.client.waits.reporter:tell(("job at '%s': %s%s"):format(text.shown(job.lock_path.path), err,
    why and " (" .. why .. ")" or ""))
end

--- The same from code inside `quietly`, where the script's `on_error` must not run.
local function report_later(job, err)
  local callbacks = job.client.callbacks
  pcall(callbacks.later, callbacks, report, job, err)
  job.client.native:wake()
end

--- Joins the line. If that raises (no memory), the job tries again after a pause.
local function try_to_join(job)
  local ok, err = pcall(join, job)
  if ok then return end
  local hold = job.hold
  if hold and hold.state == "waiting" then hold:finish("cancelled") end
  job.hold = false
  pause(job, failed_pause(job))
  report_later(job, errors.text(err))
end

--- Releases all counts: the script may have acquired the lock with the job as the owner.
local function release_all(hold, failed)
  for _ = 1, math.max(1, hold.contender:count()) do
    if hold.state == "held" then hold:release(failed) end
  end
end

---@param failed boolean? true: work under the lock may go on
local function give_back(job, failed)
  local hold = job.hold
  if not hold then return end
  if hold.state == "waiting" then
    hold:finish("cancelled")
  elseif hold.state == "held" then
    release_all(hold, failed)
  end
  job.lock_path:forgive(job)
  job.hold = false
end

local function become_stopped(job)
  if job.word == "stopped" then return end
  job.word = "stopped"
  job.client.waits:call_off(job.alarm)
  Callbacks.revoke(job.record)
  job.client.jobs:remove(job)
end

--- The round has ended. If this raises (no memory), it can be called again.
---@param seconds number until the next one
---@param failed boolean? true: work under the lock may go on
local function finish(job, seconds, failed)
  if job.held then job.held:finish() end
  give_back(job, failed)
  local thread = job.runs_in and job.runs_in[1]
  if thread then job.client.lifetimes:unnote(thread, job) end
  job.held, job.runs_in = false, false
  if job.is_stopping or job.client.native:unusable() then become_stopped(job) else pause(job, seconds) end
end

---@param what "ran"|"skipped"|"failed"
local function count_run(job, what)
  job.client.native:count_run(job.lock.label, what)
end

--- The function's coroutine has ended without a return: by an error, which was reported, or it was
--- closed. Or there was no memory to begin. If there is none to end the round either, the next turn
--- tries again.
local function fail(job)
  local hold = job.hold
  if job.held and not job.has_failed then count_run(job, "failed") end
  job.has_failed = job.runs_in ~= false
  if job.has_failed and pcall(finish, job, failed_pause(job), true) then
    job.has_failed = false
  elseif job.has_failed or hold and hold.state ~= "waiting" then
    go_on(job)
  end
end

-- ---- one run ------------------------------------------------------------------------------------

--- The client is at its end, and so is the job.
local function is_final(err)
  return err == "closed" or err == "forked"
end

--- Does the step that is due now; in a new coroutine.
---@return zklock.Hold? hold granted: for a run
---@return string|false|nil err the line has refused the job
---@return string? why
local function begin(job)
  local hold, thread = job.hold, coroutine.running()
  if job.has_failed then return fail(job) end
  if job.runs_in or job.word == "stopped" or job.client.native:unusable() then return nil end
  if job.is_stopping then return finish(job, 0) end
  if job.word == "pausing" then
    local left = job.until_when - core.now()
    if left > 0 then pause(job, left) else try_to_join(job) end
    return nil
  end
  if not hold or hold.state == "waiting" then return nil end
  if hold.state ~= "held" then
    job.hold = false
    job.lock_path:forgive(job)
    local err = hold.state == "failed" and (hold.err or job.refusal)
    if is_final(err) then return nil end
    pause(job, err and failed_pause(job) or short_pause(job))
    return nil, err, hold:shortage(err)
  end
  job.runs_in = owner.reference(thread or owner.main)
  if thread then owner.share_number(thread, job) end
  job.number = job.number + 1
  return hold
end

--- Until when a mark, or the return of validity, may take: the session does not outlast it.
local function moment(job)
  return core.now() + job.client.native:session_timeout()
end

--- The grant, or the answer about the mark, may be old: the program may have polled much later.
local function is_valid(job, hold)
  return mark.confirm(job.client, hold, moment(job))
end

---@return number? left 0: it is
---@return string? err
---@return string? why
local function time_left(job, hold)
  local settings = job.settings
  if not settings.every then return 0 end
  return mark.ask(job.client, hold, settings.every, settings.mark == "before", moment(job))
end

--- How long to pause after a run. With `every` the others ask the mark, too; this one knows it.
local function usual_pause(job, began)
  local settings = job.settings
  if not settings.every then return settings.pause end
  local since = settings.mark == "before" and core.now() - began or 0
  return math.max(settings.pause, settings.every - since)
end

--- Calls fn, if it is due. Raises what fn raises.
---@return number? seconds to pause
---@return string? err
---@return string? why
local function run(job, hold)
  local number = job.number
  if not is_valid(job, hold) then return short_pause(job) end
  local began = core.now()
  local left, err, why = time_left(job, hold)
  local is_over = left == 0 and not is_valid(job, hold) or not left and err == "lost"
  if job.is_stopping or job.number ~= number then return 0 end
  if is_over then return short_pause(job) end
  if not left then return nil, err, why end
  if left > 0 then
    count_run(job, "skipped")
    return math.max(left, DUE_LEAST)
  end
  job.held, job.word = Held.new(job.client, hold), "running"
  count_run(job, "ran")
  job.fn(hold.token, job.held)
  if not job.settings.every or job.settings.mark == "before" then return usual_pause(job, began) end
  local ok
  ok, err = mark.write(job.client, hold, moment(job))
  if ok then return usual_pause(job, began) end
  return nil, err
end

--- The host has ended the request, or the timer, in which a run goes on, and the run with it.
local Life = {}
Life.__index = Life

function Life:event()
  if self.job.number == self.number and self.job.runs_in then
    report_later(self.job, "nginx has ended the function")
    fail(self.job)
  end
end

--- The run ends with its coroutine, however that ends.
local function bind(job)
  local client, thread = job.client, job.runs_in[1]
  local follow = client.loop.follow
  if follow then
    job.life = setmetatable({ job = job, number = job.number, native = false }, Life)
    job.life.native = follow(client, job.life)
  elseif type(thread) == "thread" then
    client.lifetimes:note(thread, job)
  end
end

---@return string? err to report
---@return string? why
local function end_run(job, number, seconds, err, why)
  if job.number ~= number or not job.runs_in then return nil end
  if seconds then job.delay = false end
  finish(job, seconds or failed_pause(job))
  if seconds or is_final(err) then return nil end
  return err, why
end

--- The callback. An error goes to `on_error`, and then `fail` ends the round.
function play(job)
  local hold, err, why = quietly(begin, job) -- this section and the next: a round is in one state, and has one hold
  if hold then
    local number = job.number
    bind(job)
    err, why = quietly(end_run, job, number, run(job, hold))
  end
  if err then report(job, err, why) end
end

-- ---- the interface ------------------------------------------------------------------------------

---@param lock zklock.Lock of its mutex
---@param fn fun(token: integer, hold: zklock.Held)
---@param settings zklock.JobSettings
---@return zklock.Job
function Job.new(client, lock, fn, settings)
  local self = setmetatable({ client = client, lock = lock, lock_path = lock.lock_path, fn = fn, settings = settings,
    word = "pausing", hold = false, held = false, runs_in = false, number = 0, delay = false, is_stopping = false,
    until_when = 0, life = false, refusal = false, has_failed = false, _kept = false, _place = false,
    record = false }, Job)
  self.alarm = client.waits.new_alarm(function() try_to_join(self) end)
  self.record = Callbacks.new_record(function() fail(self) end)
  client.jobs:add(self)
  quietly(try_to_join, self) -- as in `play`
  return self
end

--- `OwnerLifetimes` calls this once the coroutine of a run has been collected: it calls `abandon`
--- later.
---@private
function Job:drop() end -- luacheck: ignore 212

--- `OwnerLifetimes` calls this once the coroutine of a run has ended by an error, which was reported,
--- or has been closed.
---@param thread thread? nil: it was collected
---@private
function Job:abandon(thread)
  if not self.runs_in then return end
  if not thread or core.fate(thread) ~= "failed" then report_later(self, "the coroutine of the function was closed") end
  fail(self)
end

local function begin_to_stop(job)
  job.is_stopping = true
  if job.held then job.held:stop() end
  if not job.runs_in and job.word ~= "stopped" then
    give_back(job)
    become_stopped(job)
  end
end

--- Ends the job as soon as fn has returned. Does not wait.
---@private
function Job:begin_to_stop()
  quietly(begin_to_stop, self) -- as in `play`
end

--- True while fn runs, or its mark is written.
---@private
function Job:is_busy()
  return self.held ~= false
end

--- True if fn, or code that fn has called, calls this. Waiting for fn would never end then. In nginx
--- only the request says whether a light thread is "normal" because of this caller.
---@private
function Job:is_inside()
  local thread, here = self.runs_in and self.runs_in[1], coroutine.running()
  if type(thread) ~= "thread" or not here then return false end
  if thread == here then return true end
  return coroutine.status(thread) == "normal" and core.host_data(thread) == core.host_data(here)
end

--- Where events wait for a turn of the loop: takes those that have come.
local function look(job)
  local loop = job.client.loop
  if loop.look then loop.look(job.client) end
end

--- Seconds for which no other instance can hold the lock; 0: fn does not run, or is cut off.
local function validity(job)
  return job.held and job.held:validity() or 0
end

---@return "waiting"|"running"|"cut off"|"pausing"|"stopped" state "cut off": fn runs, and its validity is 0
function Job:state()
  check.self(self, Job, "job:state")
  look(self)
  local unusable = self.client.native:unusable()
  if unusable == "forked" or unusable and not self.runs_in then return "stopped" end
  if self.word == "running" and validity(self) == 0 then return "cut off" end
  return self.word
end

--- Seconds for which the servers cannot grant the lock to another instance, while fn runs.
---@return number seconds 0 when fn does not run, or is cut off
function Job:validity()
  check.self(self, Job, "job:validity")
  look(self)
  return validity(self)
end

--- The instance that holds the lock now, on whichever machine: usually the one that runs fn.
---@param timeout number? seconds; nil waits for ever
---@return zklock.Participant|false|nil participant false: nobody holds the lock
---@return string? err "timeout", "disconnected", or as of `lock:participants`
---@return string? why of "disconnected"
function Job:holder(timeout)
  check.self(self, Job, "job:holder")
  local deadline, once = check.deadline(timeout, "timeout")
  local all, err, why = line.participants(self.client, { self.lock_path.path }, deadline, once)
  if not all then return nil, err, why end
  for _, participant in ipairs(all) do
    if participant.holder then return participant end
  end
  return false
end

--- Ends the job, and waits until fn has returned; from inside fn it does not wait.
---@param timeout number? seconds; nil waits for ever
---@return true? ok
---@return string? err "timeout": fn has not returned yet; the job ends all the same. "closed", "forked", "cannot wait
---  in phase NAME"
function Job:stop(timeout)
  check.self(self, Job, "job:stop")
  local deadline = check.deadline(timeout, "timeout")
  local client = self.client
  if client.native:unusable() == "forked" then return nil, "forked" end
  self:begin_to_stop()
  if not self.runs_in then return true end
  if self:is_inside() then return nil, "timeout" end
  local refused = client.waits:cannot_wait()
  if refused then return nil, refused end
  client.jobs:await(function() return not self.runs_in or client.native:unusable() end, deadline)
  if not self.runs_in then return true end
  return nil, client.native:unusable() or "timeout"
end

function Job:__tostring()
  return ("zklock.Job (%s, %s)"):format(text.shown(self.lock_path.path), self:state())
end

return Job
