-- SPDX-License-Identifier: MIT
--- A worker's task: it takes locks in every way there is, uses what they protect, and notes what should not be.
--
-- Loaded by the worker's process; each call is one shift, ordered by `chaos.crew`. Between two shifts the client, with
-- what it may still have to clear away, and the links to the resources stay. An owner is named WORKER/LANE, one with N
-- leases WORKER/LANE*N.
--
-- A way is one of the locks that there are to take: { name =, lock = its handle, writers = of the resources that it
-- protects, verbs = of a turn inside, leases = is it a semaphore?, reading = the way to read under it, if it is a
-- read-write lock's write }.

local socket = require "socket"
local uv = require "luv"
local fence = require "chaos.fence"
local follower = require "chaos.follower"
local history = require "chaos.history"
local random = require "chaos.random"
local resource = require "spec.support.resource"
local zklock = require "zklock"

local MOST_LATE = 20 -- waits that are described in one report; nothing else may be late after so many
local CONNECT = 5 -- seconds; a worker that gets no session tries again in its next shift
local MOST_KEPT = 2 -- seconds; who keeps what it has waits no longer: others wait for that
local BETWEEN = 0.02 -- seconds between two writes of a sentry
local CALM = 60 -- seconds within which everybody gets in when nothing is broken

-- By these much validity must have outlasted a release, for an "unknown" to be wrong.
local MARGIN = 0.001

local ALONE = { enter = "enter", write = "write", leave = "leave" }
local SHARED = { enter = "join", write = "read", leave = "part" }

--- Below it is a counter for each path: a node with a number that whoever holds the path alone adds to, by guarded
--- writes.
local COUNTERS = "/chaos-counters"

--- Of some workers the callers take turns; others wait for them for a stint at most.
local TURNS = { fair = false, linger = 0.3, stint = 0.5 }

-- name, hosts, session_timeout, slack, client, places, ways, followers, draw, report, told, calls, history, options of
-- mutexes; asleep: seconds that it has spent inside
local me

local function now() return tonumber(uv.hrtime()) / 1e9 end
local function micros() return math.floor(tonumber(uv.hrtime()) / 1e3) end

local function complain(text, ...)
  local list = me.report.complaints
  list[#list + 1] = select("#", ...) > 0 and text:format(...) or text
end

---------------------------------------------------------------------------------------------------------------
-- The client

--- A table by owner. Readers on one place have one token, so a way and a token may have several.
local function by_owner(list, way, token)
  local which = ("%s %d"):format(way, token)
  list[which] = list[which] or setmetatable({}, { __mode = "k" })
  return list[which]
end

--- A listener for the losses of one way. Owners that the collector took have no names: several readers of one place
--- may be told of in the same words.
---@param call integer? of a lease: its own
local function lost_by(way, call)
  return function(_, owner, token)
    me.report.losses = me.report.losses + 1
    me.history:lost(call or owner and by_owner(me.calls, way, token)[owner])
    local who = owner or call
    if who == nil then return end
    local told = by_owner(me.told, way, token)
    if told[who] then complain("the loss of %s %d was told twice (%s)", way, token, tostring(who)) end
    told[who] = true
  end
end

---@return table way
local function add_way(name, lock, places, verbs, leases)
  local writers, paths = {}, {}
  for i, place in ipairs(places) do writers[i], paths[i] = place.writer, place.path end
  local way = { name = name, lock = lock, writers = writers, verbs = verbs, leases = leases, paths = paths,
    permits = leases and places[1].permits,
    counter = verbs == ALONE and COUNTERS .. places[1].path or nil }
  table.insert(me.ways, way)
  if not leases then lock:on_lost(lost_by(name)) end
  return way
end

local kinds = {}

function kinds.mutex(place) add_way(place.path, me.client:mutex(place.path, me.options), { place }, ALONE) end

--- Reading is what there is more of.
function kinds.rwlock(place)
  local lock = me.client:rwlock(place.path, me.options)
  add_way("read " .. place.path, lock.read, { place }, SHARED)
  local reading = add_way("read " .. place.path, lock.read, { place }, SHARED)
  add_way("write " .. place.path, lock.write, { place }, ALONE).reading = reading
end

function kinds.semaphore(place)
  add_way(place.path, me.client:semaphore(place.path, place.permits), { place }, SHARED, true)
end

--- Where sentries are, and nobody else.
function kinds.post(place)
  local lock = me.client:mutex(place.path)
  me.post = { name = place.path, lock = lock, writers = { place.writer }, verbs = ALONE, paths = { place.path } }
  lock:on_lost(lost_by(place.path))
end

--- Two of the paths together, and two in another order: a ring that could wait for itself.
local function multilocks()
  for _, pair in ipairs { { 2, 3 }, { 3, 4 }, { 4, 2 } } do
    local a, b = me.places[pair[1]], me.places[pair[2]]
    add_way(a.path .. " and " .. b.path, me.client:multilock { a.path, b.path }, { a, b }, ALONE)
  end
end

--- Follows the counters of all paths.
local function follow_all()
  me.followers = {}
  for i, place in ipairs(me.places) do
    me.followers[i] = follower.new(me.client, COUNTERS .. place.path, complain, function()
      me.report.told = me.report.told + 1
    end)
  end
end

local function connect()
  local client, err = zklock.connect(me.hosts, {
    session_timeout = me.session_timeout, connect_timeout = CONNECT, identifier = me.name,
    on_error = function(message) complain("a callback raised: %s", message) end,
  })
  me.client = client
  if not client then
    if err ~= "disconnected" then complain("connect answered %s", tostring(err)) end
    return false
  end
  me.ways = {}
  for _, place in ipairs(me.places) do kinds[place.kind](place) end
  multilocks()
  follow_all()
  return true
end

local function close()
  local began = now()
  me.history:close()
  me.client:close()
  for _, one in ipairs(me.followers) do one:ended() end
  me.client = nil
  me.report.longest_close = math.max(me.report.longest_close, now() - began)
end

---------------------------------------------------------------------------------------------------------------
-- Waits

--- A wait that begins now, with what a history needs of it.
---@param under integer? the call of the write that its owner has
local function wait_at(way, count, under)
  return { way = way, count = count, under = under, call = me.history:call(), invoke = history.now() }
end

local function kind_of(way)
  if way.leases then return "semaphore" end
  return way.verbs == SHARED and "read" or way.reading and "write" or "mutex"
end

--- Writes down how a wait has ended. A lease that was lost by now has no token.
---@param who any? its owner; nil: the coroutine that runs
local function note_answer(wait, got, err, who)
  if not wait.call then return end
  local way, leases = wait.way, wait.way.leases
  local token, turn = got, nil
  if got and leases then token = got:token() end
  if got and not leases then turn = way.lock.turn and way.lock:turn(who) end
  if token then by_owner(me.calls, way.name, token)[who or coroutine.running()] = wait.call end
  me.history:acquire { call = wait.call, paths = way.paths, kind = kind_of(way), invoke = wait.invoke, token = token,
    turn = turn, err = err or "lost", under = wait.under, count = leases and (wait.count or 1), permits = way.permits }
end

local function some_timeout()
  local x = me.draw:number()
  if x < 0.15 then return 0 end
  if x < 0.45 then return nil end
  if x < 0.85 then return me.draw:number(0.02, 2) end
  return me.draw:number(2, 10)
end

--- The first path is the busiest.
local function some_way()
  return me.draw:chance(0.2) and me.ways[1] or me.draw:pick(me.ways)
end

--- How many leases of a semaphore together, and what that makes of a lane's name.
local function some_count(way, lane)
  local count = way.leases and me.draw:integer(1, 2) or nil
  return count, count and count > 1 and ("%s*%d"):format(lane, count) or lane
end

-- The last three: what strangers leave in a directory.
local ANSWERS = { timeout = true, disconnected = true, cancelled = true, lost = true, ["wrong kind"] = true,
  ["access denied"] = true, ["zookeeper: DATAINCONSISTENCY"] = true }

--- Notes how a wait ended. A single try waits at most until the link is found dead. A worker that is inside sleeps, and
--- hears of its other requests later. A wait without a deadline ends early only because answers are too slow.
local function ended(wait, token, err, why)
  local report, took = me.report, now() - wait.began
  note_answer(wait, token, err, wait.request)
  if token then
    report.granted = report.granted + 1
    report.longest = math.max(report.longest, took)
  else
    report.failed[err] = (report.failed[err] or 0) + 1
    if not ANSWERS[err] and not (wait.may_close and err == "closed") then complain("a wait ended with %s", err) end
    local too_slow = err == "disconnected" and why and why:find("^answers take ")
    if not wait.timeout and not too_slow and (err == "timeout" or err == "disconnected") then
      complain("a wait without a deadline ended with %s (%s)", err, tostring(why))
    end
    if err == "cancelled" and not wait.cancelled then complain("a wait ended with cancelled, but nobody did that") end
  end
  local allowed = wait.timeout == 0 and me.session_timeout or wait.timeout
  if not allowed then return end
  allowed = allowed + me.asleep - wait.asleep
  if took > allowed + me.slack and #report.late < MOST_LATE then
    report.late[#report.late + 1] = { began = wait.began, took = took, allowed = allowed, lane = wait.lane }
  end
end

---------------------------------------------------------------------------------------------------------------
-- At the resource

--- One step, as users are told to make it: not without looking. The time for which the owner is sure goes along.
---@param hold table { lock = or lease, who = its owner, lane =, token =, fence =, way =, call =, session = in which it
---  was granted }
---@return boolean? accepted nil: it does not hold, or cannot be sure
local function step(hold, writer, verb)
  local lock, who = hold.lock, hold.who
  local session = me.client:session_id()
  if not lock:is_held(who) then return nil end
  hold.session = hold.session or session
  if session ~= hold.session then complain("%s is still held, but its session is over", hold.way.name) end
  local before, at, validity = micros(), history.now(), lock:validity(who)
  if validity <= 0 then return nil end
  local known = lock:token(who)
  if known and known ~= hold.token then complain("the token changed from %d to %d", hold.token, known) end
  me.history:sure(hold.call, at, validity)
  local accepted = writer[verb](writer, hold.fence, hold.lane, before + math.floor(validity * 1e6))
  if not accepted and lock:validity(who) > 0 then writer:live(hold.fence, hold.lane, 0) end
  return accepted
end

local function ask_at(way, lane)
  for _, writer in ipairs(way.writers) do writer:ask(lane, 0) end
end

local function quit_at(way, lane)
  for _, writer in ipairs(way.writers) do writer:quit(lane, 0) end
end

--- It holds no more: says so wherever it has not been refused and has not left.
local function give_up(hold, at)
  hold.gave_up = true
  for i, writer in ipairs(hold.way.writers) do
    if at[i] == "inside" then
      writer:lost(hold.fence, hold.lane, 0)
    elseif not at[i] then
      writer:quit(hold.lane, 0)
    end
  end
end

--- The same step at all that the lock protects.
---@param at table<integer, "inside"|"out"> where the holder is by now
---@return boolean done
local function everywhere(hold, at, verb)
  for i, writer in ipairs(hold.way.writers) do
    local accepted = step(hold, writer, hold.way.verbs[verb])
    if accepted == false then at[i] = "out" end
    if not accepted then
      give_up(hold, at)
      return false
    end
    at[i] = verb == "leave" and "out" or "inside"
  end
  return true
end

--- How often the holder writes, and how long it takes at most from one step to the next. Most are quick.
local function some_pace()
  local x = me.draw:number()
  if x < 0.96 then return me.draw:integer(0, 2), 0.003 end
  if x < 0.993 then return me.draw:integer(0, 5), 0.1 end
  return me.draw:integer(2, 5), 0.8
end

--- The number that the resource compares. A hold that is lost by now has no turn any more, and takes no step.
local function fence_of(lock, who, token)
  local turn = lock.turn and lock:turn(who) or 0
  if turn >= fence.TURNS then complain("turn %d on one place", turn) end
  return fence.of(token, turn)
end

--- Releases. The owner may hear that it does not hold any more, or that nobody can say so. After `true` it tells the
--- resources that it held when the call began: the judge knows of everybody who came in earlier.
---@param hold table { way =, lane =, fence =, call =, is_told = an acquire has told its loss: a loss is told once }
---@param held table lock, lease or request
---@param may_close boolean? the client may be closed meanwhile; `close` has given it back then
local function give_back(hold, held, who, may_close)
  local before, at, validity = micros(), history.now(), held:validity(who)
  local ok, err = held:release(who)
  local took = (micros() - before) / 1e6
  me.history:release(hold.call, at, ok and "ok" or err)
  if ok then
    for _, writer in ipairs(hold.way.writers) do writer:freed(hold.fence, hold.lane, before) end
  elseif err == "unknown" then
    me.report.unknown = me.report.unknown + 1
    if validity - took > MARGIN then
      complain("a release of %s answered unknown, %.3f s after a validity of %.3f s", hold.way.name, took, validity)
    end
  elseif err ~= "lost" and not (may_close and err == "closed") and not (hold.is_told and err == "not owner") then
    complain("a release answered %s", tostring(err))
  end
end

local function sleep(seconds)
  local began = now()
  socket.sleep(seconds)
  me.asleep = me.asleep + now() - began
end

--- A turn inside.
---@return boolean done to its end, sure all the time
local function visit(hold)
  local at, verb = {}, "enter"
  local writes, pause = some_pace()
  while everywhere(hold, at, verb) and verb ~= "leave" do
    sleep(me.draw:number(0, pause))
    verb = writes > 0 and "write" or "leave"
    writes = writes - 1
  end
  return at[#hold.way.writers] == "out" and not hold.gave_up
end

--- A turn with what was granted: a token, or a lease, which may be lost by now.
---@param call integer? of the acquire
---@return table hold { way =, lane =, token = false when it was lost already, fence =, call = }
---@return boolean? done as of `visit`
local function visit_with(way, got, who, lane, call)
  local hold = { way = way, lock = way.lock, who = who, lane = lane, token = got, call = call }
  if way.leases then
    got:on_lost(lost_by(way.name, call))
    hold.lock, hold.token, hold.who = got, got:token() or false, nil
  end
  if not hold.token then
    hold.call = nil -- its acquire has no token either
    quit_at(way, lane)
    return hold
  end
  hold.fence = fence_of(hold.lock, hold.who, hold.token)
  return hold, visit(hold)
end

---------------------------------------------------------------------------------------------------------------
-- A read under a write

--- Says at the resource by which node a hold is there that has another's token: it is that node which operators delete.
---@return integer? token the node's
local function name_node(way, who, lane, number)
  local nodes = way.lock:nodes(who)
  local stat = nodes and me.client:exists(nodes[1], me.session_timeout)
  if not stat then return nil end
  for _, writer in ipairs(way.writers) do writer:under(number, lane, stat.czxid) end
  return stat.czxid
end

--- Whoever has written, and holds it still, goes on as a reader: takes read, gives back write, visits. Nobody who
--- waited may have written in between: he would have the larger token.
local function read_on(writing)
  local way, who, lane = writing.way, writing.who, writing.lane
  local reading = way.reading
  local wait = wait_at(reading, nil, writing.call)
  local got, err = reading.lock:acquire(me.draw:number(0, 1), who)
  note_answer(wait, got, err, who)
  if not got then
    if not ANSWERS[err] then complain("a read under a write answered %s", tostring(err)) end
    return give_back(writing, way.lock, who)
  end
  -- It was lost meanwhile, if it is another hold.
  local is_same = got == writing.token
  local hold = { way = reading, lock = reading.lock, who = who, lane = lane, token = got, call = wait.call,
    fence = fence_of(reading.lock, who, got) }
  local node = is_same and name_node(reading, who, lane, hold.fence)
  give_back(writing, way.lock, who)
  if node then
    me.history:node(hold.call, node)
    me.report.read_on = me.report.read_on + 1
    ask_at(reading, lane)
    visit(hold)
  else
    me.history:drop(hold.call) -- nobody knows which node operators would have to delete
    hold.call = nil
  end
  give_back(hold, reading.lock, who)
end

---------------------------------------------------------------------------------------------------------------
-- At the counter

local UNSURE = { timeout = true, disconnected = true, unknown = true, closed = true, lost = true, ["not owner"] = true }

--- Nobody else has written since `former`, if that is what the holder himself has written, and what he writes now is
--- done: then he held it all along, and a write in between was a former holder's. A number that is not the node's
--- version is a lost update.
---@return { number: integer, version: integer }? written
local function add_one(way, former)
  local data, stat = me.client:get(way.counter, me.session_timeout)
  if not data then
    if not UNSURE[stat] and stat ~= "no node" then complain("reading a counter answered %s", tostring(stat)) end
    if stat == "no node" then me.client:create(way.counter, "0", { parents = true }, me.session_timeout) end
    return nil
  end
  local number = tonumber(data)
  local results, err = way.lock:multi({ { "set", way.counter, ("%d"):format(number + 1) } }, me.session_timeout)
  if not results then
    if not UNSURE[err] and err ~= "no node" then complain("a guarded write answered %s", tostring(err)) end
    return nil
  end
  me.report.guarded = me.report.guarded + 1
  local written = { number = number + 1, version = results[1].version }
  if written.number ~= written.version then
    complain("an update of %s is lost: %d is version %d", way.counter, written.number, written.version)
  end
  if former and written.version ~= former.version + 1 then
    complain("somebody has written to %s while it was held: %d came after %d", way.counter, written.version,
      former.version)
  end
  return written
end

--- Counts a few, with a pause before each write in which much may happen.
local function count_up(way)
  local former
  for _ = 1, me.draw:integer(1, 3) do
    former = add_one(way, former)
    if not former then return end
    socket.sleep(me.draw:number(0, 0.005))
  end
end

---------------------------------------------------------------------------------------------------------------
-- Turns

--- Acquires the post.
---@return integer? token
---@return integer? call
local function take_post(way, lane, timeout)
  local wait = wait_at(way)
  wait.began, wait.asleep, wait.timeout, wait.lane = now(), me.asleep, timeout, lane
  ask_at(way, lane)
  local token, err, why = way.lock:acquire(timeout)
  ended(wait, token, err, why)
  if not token then quit_at(way, lane) end
  return token, wait.call
end

--- Acquires and visits, in whatever coroutine this runs.
---@return any? held what is to be released
---@return any? hold as of `visit_with`; an error if nothing is held
---@return boolean? done likewise
local function take(way, timeout, lane)
  local count, name = some_count(way, lane)
  local wait = wait_at(way, count)
  wait.began, wait.asleep, wait.timeout, wait.lane = now(), me.asleep, timeout, name
  ask_at(way, name)
  local got, err, why = way.lock:acquire(timeout, count)
  ended(wait, got, err, why)
  if not got then
    quit_at(way, name)
    return nil, why and ("%s (%s)"):format(err, why) or err
  end
  return way.leases and got or way.lock, visit_with(way, got, nil, name, wait.call)
end

local turns = {}

--- Reentrant: the same token, and one more release; but if it was lost meanwhile, a later hold.
local function acquire_again(hold)
  local lock, token = hold.lock, hold.token
  local again, err = lock:acquire(me.draw:number(0, 1))
  if err and not ANSWERS[err] then complain("a reentrant acquire answered %s", err) end
  if again and again < token then complain("a reentrant acquire gave %d after %d", again, token) end
  if again and again ~= token then hold.call = nil end -- from now on it is that one, of which nothing is written
  if again == token then give_back(hold, lock) end
  hold.is_told = err == "lost"
end

function turns.plain()
  local way = some_way()
  local held, hold, done = take(way, some_timeout(), me.name .. "/0")
  if not held then return end
  if not way.leases and me.draw:chance(0.1) then acquire_again(hold) end
  if way.counter and me.draw:chance(0.3) then count_up(way) end
  if way.reading and done and me.draw:chance(0.5) then return read_on(hold) end
  give_back(hold, held)
end

--- A coroutine that ends without giving back what it holds; a lease that is dropped.
function turns.forsake()
  local way, timeout = some_way(), some_timeout()
  local thread = coroutine.create(function()
    local held, hold = take(way, timeout, me.name .. "/9")
    if held then me.history:drop(hold.call) end
  end)
  local ok, err = coroutine.resume(thread)
  if not ok then complain("a coroutine raised: %s", tostring(err)) end
  if way.leases then collectgarbage() end
  me.client:poll()
end

--- `crowd.kept`: what is granted is kept there, to be given back by whoever made the crowd.
---@param way table? some way
local function ask(crowd, lane, may_close, way)
  way = way or some_way()
  local count, name = some_count(way, me.name .. "/" .. lane)
  local timeout = some_timeout()
  if crowd.kept then timeout = math.min(timeout or MOST_KEPT, MOST_KEPT) end
  local wait = wait_at(way, count)
  wait.timeout, wait.lane, wait.may_close, wait.answers = timeout, name, may_close, 0
  ask_at(way, name)
  wait.began, wait.asleep = now(), me.asleep
  wait.cancel_at = me.draw:chance(0.3) and wait.began + me.draw:number(0, 0.1) or nil
  crowd.left = crowd.left + 1
  crowd[#crowd + 1] = wait
  wait.request = way.lock:request(wait.timeout, function(got, err, _, why)
    wait.answers = wait.answers + 1
    if wait.answers > 1 then return complain("a request was answered %d times", wait.answers) end
    crowd.left = crowd.left - 1
    ended(wait, got, err, why)
    if not got then return quit_at(way, name) end
    if wait.cancelled then complain("a cancelled request was granted") end
    local hold, done = visit_with(way, got, wait.request, name, wait.call)
    if crowd.kept then
      table.insert(crowd.kept, { hold = hold, held = way.leases and got or wait.request })
      return
    end
    if way.reading and done and not may_close and me.draw:chance(0.5) then
      crowd.left = crowd.left + 1 -- it waits once more: the crowd goes on polling for it
      read_on(hold)
      crowd.left = crowd.left - 1
      return
    end
    give_back(hold, way.leases and got or wait.request, nil, may_close)
  end, count)
end

local function cancel_due(crowd)
  for _, wait in ipairs(crowd) do
    if wait.cancel_at and now() >= wait.cancel_at then
      wait.cancel_at = nil
      wait.cancelled = wait.request:cancel()
    end
  end
end

local function see_to_all(crowd)
  while crowd.left > 0 do
    me.client:poll(0.01)
    cancel_due(crowd)
  end
end

--- Several requests side by side, some of them at one path, some cancelled.
function turns.crowd()
  local crowd = { left = 0 }
  for lane = 1, me.draw:integer(2, 4) do ask(crowd, lane) end
  see_to_all(crowd)
end

--- Many different locks at once, so that what is written for them travels together. They are given back one by one, or
--- all at once when each is answered.
function turns.armful()
  local crowd = { left = 0, kept = me.draw:chance(0.6) and {} or nil }
  local first = me.draw:integer(1, #me.ways)
  for lane = 1, me.draw:integer(2, me.armful) do
    ask(crowd, lane, nil, me.ways[(first + lane) % #me.ways + 1])
  end
  see_to_all(crowd)
  for _, one in ipairs(crowd.kept or {}) do give_back(one.hold, one.held) end
end

--- Ends the session with requests under way, and begins another.
function turns.renew()
  local crowd = { left = 0 }
  for lane = 1, me.draw:integer(0, 3) do ask(crowd, lane, true) end
  me.client:poll(me.draw:number(0, 0.02))
  cancel_due(crowd)
  close()
  if crowd.left > 0 then complain("close left %d requests unanswered", crowd.left) end
  connect()
end

--- Follows one counter anew.
function turns.follow() me.draw:pick(me.followers):again() end

local function some_turn()
  if me.armful and me.draw:chance(0.3) then return turns.armful() end
  local x = me.draw:number()
  if x < 0.54 then return turns.plain() end
  if x < 0.92 then return turns.crowd() end
  if x < 0.93 then return turns.follow() end
  if x < 0.99 then return turns.forsake() end
  return turns.renew()
end

---------------------------------------------------------------------------------------------------------------
-- Shifts

local tasks = {}

--- Takes turns for a while. A wait without a deadline may make it longer.
function tasks.work(order)
  local over = now() + order.seconds
  repeat
    if not (me.client or connect()) then return end
    some_turn()
  until now() >= over
end

--- A sentry's: takes the post and stays there for a while, if it is sure for so long, writing all the time.
function tasks.hold(order)
  me.session_timeout = order.session_timeout
  if not connect() then return end
  local way, lane = me.post, me.name .. "/0"
  local token, call = take_post(way, lane, order.patience)
  if token then
    local hold = { way = way, lock = way.lock, lane = lane, token = token, call = call,
      fence = fence_of(way.lock, nil, token) }
    local at, verb = {}, "enter"
    local over = now() + order.stay
    while everywhere(hold, at, verb) and verb ~= "leave" do
      socket.sleep(BETWEEN)
      verb = now() < over and "write" or "leave"
    end
    give_back(hold, way.lock)
  end
  close()
end

-- Nothing is broken any more.

--- For whoever looks for what a client has got stuck in.
local function how_it_is(client)
  local stats = client:stats()
  return ("%s, session %s, %d so far, %d requests sent"):format(client:state(), client:session_id() or "none",
    stats.sessions, stats.requests_sent)
end

--- Every node goes.
function tasks.flush()
  if not (me.client or connect()) then return complain("no session although nothing is broken") end
  local ok, err = me.client:flush(CALM)
  if not ok then complain("flush answered %s although nothing is broken: %s", err, how_it_is(me.client)) end
end

--- Everybody gets in everywhere.
function tasks.calm()
  if not me.client then return end -- it has complained
  for _, way in ipairs(me.ways) do
    local held, hold = take(way, CALM, me.name .. "/0")
    if held then
      give_back(hold, held)
    else
      me.report.unserved[#me.report.unserved + 1] = ("%s at %s: %s"):format(me.name, way.name, hold)
    end
  end
  for _, one in ipairs(me.followers) do one:catch_up(CALM) end
  return tasks.flush()
end

function tasks.leave()
  if me.client then close() end
  for _, place in ipairs(me.places) do place.writer:close() end
end

local function begin(order)
  me = { name = order.name, hosts = order.hosts, session_timeout = order.session_timeout, slack = order.slack,
    draw = random.new(order.seed), places = {}, followers = {}, told = {}, calls = {}, asleep = 0,
    armful = order.armful, history = history.open(order.history, order.name) }
  me.options = tonumber(order.name:match("^w(%d+)")) % 4 == 0 and TURNS or nil
  for i, one in ipairs(order.places) do
    me.places[i] = { path = one.path, kind = one.kind, permits = one.permits, writer = resource.open(one.address) }
  end
end

---@param order table { task = "work"|"hold"|"flush"|"calm"|"leave", name =, hosts =, session_timeout =, slack =,
---  seed =, seconds =, stay =, patience =, armful = so many locks at once at most, history = a folder,
---  places = { { path =, kind =, permits =, address = of its resource } } }
---@return table report { granted =, failed = { [err] = n }, longest =, longest_close =, losses =, late =, unserved =,
---  guarded =, read_on = reads that were what was left of a write, told = calls of watches, unknown = releases without
---  certainty, complaints = }
return function(order)
  if not me then begin(order) end
  me.report = { granted = 0, failed = {}, longest = 0, longest_close = 0, losses = 0, late = {}, unserved = {},
    guarded = 0, read_on = 0, told = 0, unknown = 0, complaints = {} }
  tasks[order.task](order)
  return me.report
end
