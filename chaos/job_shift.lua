-- SPDX-License-Identifier: MIT
--- The work of a worker in a run with jobs: it has a job at each path, and notes what should not be.
--
-- Loaded by the worker's process; each call is one shift, ordered by `chaos.crew`. Between two shifts the client and
-- its jobs stay. A run of a job says at the resource when it goes in, writes and leaves, and until when it is sure; at
-- some paths it also writes its token into a node, guarded by the hold: the epoch, which may only grow.

local uv = require "luv"
local random = require "chaos.random"
local fence = require "chaos.fence"
local history = require "chaos.history"
local resource = require "spec.support.resource"
local zklock = require "zklock"

local CONNECT = 5 -- seconds; a worker that gets no session tries again in its next shift
local CALM = 60 -- seconds within which each job runs when nothing is broken
local STOP = 5 -- seconds for a stop while much is broken
local PAUSE, PAUSE_MOST = 0.05, 0.2
local EVERY = 0.4 -- seconds between two starts, where a job has that
local ON_PURPOSE = "on purpose"

--- Below it is the epoch of each path.
local EPOCHS = "/chaos-epochs"

local REASONS = { lost = true, revoked = true, stopped = true }
local UNSURE = { timeout = true, disconnected = true, unknown = true, closed = true, lost = true, ["not owner"] = true,
  ["no node"] = true, ["node exists"] = true }

-- name, hosts, session_timeout, client, places, jobs, draw, report, history; brisk: runs are short, nothing is broken
local me

local function now() return tonumber(uv.hrtime()) / 1e9 end
local function micros() return math.floor(tonumber(uv.hrtime()) / 1e3) end

local function complain(text, ...)
  local list = me.report.complaints
  list[#list + 1] = select("#", ...) > 0 and text:format(...) or text
end

---------------------------------------------------------------------------------------------------------------
-- A run

--- One step at the resource, if the hold is sure.
---@return boolean? accepted nil: it is not sure
local function step(visit, verb)
  local before, at, validity = micros(), history.now(), visit.hold:validity()
  if validity <= 0 then return nil end
  me.history:sure(visit.call, at, validity)
  local writer = visit.place.writer
  local accepted = writer[verb](writer, visit.fence, visit.lane, before + math.floor(validity * 1e6))
  if not accepted and visit.hold:validity() > 0 then writer:live(visit.fence, visit.lane, 0) end
  if not accepted then visit.refused = true end
  return accepted
end

--- Writes the token into the epoch. A run that is lost must not be able to do so any more.
local function write_epoch(visit)
  local path = EPOCHS .. visit.place.path
  local results, err = visit.hold:multi({ { "set", path, ("%d"):format(visit.token) } }, me.session_timeout)
  if results then
    if visit.ended == "lost" then complain("a guarded write was done after the loss of %d", visit.token) end
    table.insert(me.report.epochs, { path = path, version = results[1].version, token = visit.token })
  elseif err == "no node" then
    me.client:create(path, "0", { parents = true }, me.session_timeout)
  elseif not UNSURE[err] then
    complain("a guarded write answered %s", tostring(err))
  end
end

--- Sleeps, and looks at what ends a sleep.
---@return boolean goes_on
local function sleep(visit, seconds)
  local is_known = visit.hold:token() == nil
  local ok, err = visit.hold:sleep(seconds)
  if ok == true then
    if is_known then complain("a sleep returned true although the loss of %d was known", visit.token) end
    if visit.ended then complain("a sleep returned true after %s", visit.ended) end
    return true
  end
  if ok ~= false or not REASONS[err] then complain("a sleep answered %s, %s", tostring(ok), tostring(err)) end
  if visit.ended and visit.ended ~= err then complain("a sleep answered %s after %s", tostring(err), visit.ended) end
  if not visit.ended then me.report.ended[err] = (me.report.ended[err] or 0) + 1 end
  if err == "lost" and visit.ended ~= err then me.history:lost(visit.call) end
  visit.ended = err
  return false
end

--- Most runs are short: others wait for the job.
local function some_length()
  if me.brisk then return 0 end
  return me.draw:chance(0.8) and me.draw:integer(1, 8) or me.draw:integer(20, 60)
end

local function work(visit)
  if not step(visit, "enter") then return end
  visit.inside = true
  for _ = 1, some_length() do
    if me.draw:chance(0.3) then write_epoch(visit) end
    if not sleep(visit, me.draw:number(0.01, 0.06)) then break end
    step(visit, "write")
    if visit.refused then break end
  end
  if not visit.ended then return end
  if visit.refused or visit.ended == "lost" or me.draw:chance(0.3) then write_epoch(visit) end
  if me.draw:chance(0.5) then sleep(visit, 100) end -- it ends at once, and says the same
end

--- The run of a job. It may find out that it was overtaken.
local function run(job, place, token, hold)
  if job.running then complain("a run at %s began while the former one had not returned", place.path) end
  job.running = true
  local call = me.history:call()
  me.history:acquire { call = call, paths = { place.path }, kind = "mutex", invoke = job.queued, token = token,
    turn = 0 }
  if hold:token() and hold:token() ~= token then complain("a run has token %d, its hold %d", token, hold:token()) end
  local visit = { place = place, hold = hold, token = token, fence = fence.of(token, 0), lane = place.lane,
    call = call }
  work(visit)
  if visit.inside and not visit.refused and not step(visit, "leave") and not visit.refused then
    place.writer:lost(visit.fence, visit.lane, 0)
  end
  if visit.inside then
    me.report.granted = me.report.granted + 1
    job.runs = job.runs + 1
  end
  me.history:drop(call)
  job.running, job.queued = nil, history.now()
  if not me.brisk and me.draw:chance(0.03) then error(ON_PURPOSE) end
end

---------------------------------------------------------------------------------------------------------------
-- The client and its jobs

local function start(place)
  local job = { runs = 0, place = place, queued = history.now() }
  local options = { pause = PAUSE, pause_most = PAUSE_MOST }
  if place.kind == "every" then options.every = EVERY end
  local handle, err = me.client:job(place.path, function(token, hold) run(job, place, token, hold) end, options)
  if not handle then return complain("a job answered %s", tostring(err)) end
  job.handle = handle
  me.jobs[place] = job
end

local function start_all()
  for _, place in ipairs(me.places) do
    if place.kind ~= "post" and not me.jobs[place] then start(place) end
  end
end

--- Hears of a run that raised, and of what a job could not do meanwhile.
local function note_error(message)
  message = tostring(message)
  local trouble = message:match("^job at '[^']*': ([%l ]+)")
  if message:find(ON_PURPOSE, 1, true) then
    me.report.raised = me.report.raised + 1
  elseif not (trouble and UNSURE[trouble:match("^(.-) *$")]) then
    complain("a callback raised: %s", message)
  end
end

local function connect()
  local client, err = zklock.connect(me.hosts, {
    session_timeout = me.session_timeout, connect_timeout = CONNECT, identifier = me.name, on_error = note_error,
  })
  me.client, me.jobs = client, {}
  if not client and err ~= "disconnected" then complain("connect answered %s", tostring(err)) end
  return client ~= nil
end

--- With the jobs as they are.
local function close()
  local began = now()
  me.history:close()
  me.client:close()
  for _, job in pairs(me.jobs) do
    if job.running then complain("close returned while a run at %s went on", job.place.path) end
    if job.handle:state() ~= "stopped" then complain("a job is %s after close", job.handle:state()) end
  end
  me.client, me.jobs = nil, {}
  me.report.longest_close = math.max(me.report.longest_close, now() - began)
end

---@return boolean stopped
local function stop(job, timeout)
  local ok, err = job.handle:stop(timeout)
  if not ok and err ~= "timeout" then complain("a stop answered %s", tostring(err)) end
  if ok and job.running then complain("a stop returned while the run at %s went on", job.place.path) end
  if ok and job.handle:state() ~= "stopped" then complain("a stopped job is %s", job.handle:state()) end
  if ok then me.jobs[job.place] = nil end
  return ok == true
end

local function some_job()
  local list = {}
  for _, place in ipairs(me.places) do list[#list + 1] = me.jobs[place] end
  return #list > 0 and me.draw:pick(list) or nil
end

---------------------------------------------------------------------------------------------------------------
-- Shifts

local tasks = {}

local function some_turn()
  local x, job = me.draw:number(), some_job()
  if x < 0.03 and job then
    stop(job, STOP)
  elseif x < 0.05 then
    close()
    connect()
  elseif x < 0.08 and job then
    me.client:mutex(job.place.path):revoke(me.session_timeout)
  elseif x < 0.11 and job then
    local who, err = job.handle:holder(me.session_timeout)
    if who == nil and not UNSURE[err] then complain("a holder answered %s", tostring(err)) end
  end
end

--- Lets the jobs run for a while.
function tasks.work(order)
  local over = now() + order.seconds
  repeat
    if not (me.client or connect()) then return end
    start_all()
    some_turn()
    if me.client then me.client:poll(me.draw:number(0, order.seconds / 3)) end
  until now() >= over
end

-- Nothing is broken any more.

--- Every job stops, and every node goes.
function tasks.flush()
  if not (me.client or connect()) then return complain("no session although nothing is broken") end
  for _, job in pairs(me.jobs) do
    if not stop(job, CALM) then complain("a job at %s does not stop although nothing is broken", job.place.path) end
  end
  local ok, err = me.client:flush(CALM)
  if not ok then complain("flush answered %s although nothing is broken", err) end
end

--- Each job without `every` runs once more.
function tasks.calm()
  if not me.client then return end -- it has complained
  me.brisk = true
  start_all()
  local deadline = now() + CALM
  local left
  repeat
    me.client:poll(0.02)
    left = nil
    for _, job in pairs(me.jobs) do
      if job.place.kind ~= "every" and job.runs == 0 then left = job end
    end
  until not left or now() > deadline
  if left then
    table.insert(me.report.unserved, ("%s: no run of its job at %s, which is %s"):format(me.name, left.place.path,
      left.handle:state()))
  end
  tasks.flush()
  me.brisk = false
end

--- With jobs that run.
function tasks.leave()
  if me.client then
    start_all()
    me.client:poll(me.draw:number(0, 0.1))
    close()
  end
  for _, place in ipairs(me.places) do place.writer:close() end
end

local function begin(order)
  me = { name = order.name, hosts = order.hosts, session_timeout = order.session_timeout,
    draw = random.new(order.seed), places = {}, jobs = {}, history = history.open(order.history, order.name) }
  for i, one in ipairs(order.places) do
    me.places[i] = { path = one.path, kind = one.kind, writer = resource.open(one.address),
      lane = ("%s/%d"):format(order.name, i) }
  end
end

---@param order table as of `chaos.shift`
---@return table report as of `chaos.shift`; and epochs = { { path =, version =, token = } }, raised = runs that raised,
---  ended = { [err] = sleeps }
return function(order)
  if not me then begin(order) end
  me.report = { granted = 0, failed = {}, longest = 0, longest_close = 0, losses = 0, late = {}, unserved = {},
    complaints = {}, epochs = {}, raised = 0, ended = {} }
  tasks[order.task](order)
  me.report.failed = me.report.ended
  me.report.losses = me.report.ended.lost or 0
  return me.report
end
