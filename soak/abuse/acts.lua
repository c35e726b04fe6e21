-- SPDX-License-Identifier: MIT
--- acts: what scripts do that are badly behaved, one act each: they drop what they hold, raise wherever they are, end
--- their coroutines at any time.
local raised = require "soak.abuse.raised"

local PATHS = 5 -- of each kind: few, so that they meet
local OWNERS = 3
local LIMIT = 0.01 -- seconds: nobody waits long
local HOT = { fair = false, linger = 0.01, stint = 0.01 } -- what they pass on among themselves
local unpack = table.unpack or unpack -- luacheck: ignore 113

local acts = {}

local function nothing() end

local function maybe(n)
  return math.random(n) == 1
end

--- Legal in a path; what joins paths with one of them takes two for one.
local ODD = { " ", "-", ",", ": ", " /", "|", "%d", "\195\164" }

local function path(world, kind, number)
  number = number or math.random(PATHS)
  return ("%s/%s%s%d"):format(world.root, kind, ODD[number], number)
end

--- Two paths; or one that looks like those two, when somebody joins them with the character of that number.
local function odd_paths(world, number)
  local odd = ODD[number]
  local one, two = world.root .. "/odd/1", world.root .. "/odd/2"
  return odd and { one .. odd .. two:sub(2) } or { one, two }
end

--- The handle is of these paths, and not of others that are spelled like them.
local function multilock_of(world, paths)
  local lock = world.client:multilock(paths)
  local first, second = lock:path()
  if first ~= paths[1] or second ~= paths[2] then error("a multilock of other paths: " .. first, 0) end
  return lock
end

--- Owners that nobody may compare, index or print.
local TRAPS = {}
for _, name in ipairs { "eq", "index", "newindex", "tostring", "len", "lt", "le", "concat", "call" } do
  TRAPS["__" .. name] = function() error("an owner's __" .. name .. " was called", 0) end
end
local trapped = {}
for i = 1, OWNERS do trapped[i] = setmetatable({}, TRAPS) end

local function owner()
  if maybe(2) then return nil end
  local number = math.random(OWNERS)
  return maybe(2) and trapped[number] or "owner-" .. number
end

local function lock_of(world, kind)
  local client = world.client
  if kind == "lock" then return client:mutex(path(world, kind)) end
  if kind == "short" then return client:mutex(path(world, kind), { max_hold = 0.01 }) end
  if kind == "hot" then return client:mutex(path(world, kind), HOT) end
  if kind == "both" then return client:multilock { path(world, "lock"), world.root .. "/both" } end
  if kind == "odd" then return multilock_of(world, odd_paths(world, math.random(0, #ODD))) end
  local rw = client:rwlock(path(world, kind), kind == "hot-rw" and HOT or nil)
  return maybe(2) and rw.read or rw.write
end

local KINDS = { "lock", "short", "both", "odd", "rw", "hot", "hot-rw" }

local function any_lock(world)
  return lock_of(world, KINDS[math.random(#KINDS)])
end

local function seconds()
  return maybe(3) and math.random() * LIMIT or 0
end

--- Keeps something for a while, so that the collector finds it in whatever state it is then.
local function keep(world, thing)
  world.kept[math.random(50)] = thing
end

-- ---- in the open

function acts.acquire(world)
  local lock, who = any_lock(world), owner()
  if lock:acquire(seconds(), who) and not maybe(4) then lock:release(who) end
end

function acts.reenter(world)
  local lock = any_lock(world)
  for _ = 1, math.random(3) do lock:acquire(seconds()) end
  for _ = 1, math.random(4) do lock:release() end
end

function acts.with(world)
  any_lock(world):with(seconds(), maybe(2) and raised.any or nothing)
end

function acts.guard(world)
  local guard = any_lock(world):guard(seconds())
  if not guard then return end
  keep(world, guard)
  if maybe(2) then guard:release() end
end

function acts.lease(world)
  local lease = world.client:semaphore(world.root .. "/pool", 3):acquire(seconds(), math.random(3))
  if not lease then return end
  keep(world, lease)
  if maybe(3) then lease:on_lost(raised.any) end
  if maybe(2) then lease:release() end
end

function acts.request(world)
  local function callback(_, _, request)
    world.callbacks = world.callbacks + 1
    if maybe(3) then raised.any() end
    if maybe(2) then request:release() end
    if maybe(20) then acts.acquire(world) end
    if maybe(40) then world.client:poll(seconds()) end
    if maybe(20) then acts.rival(world) end
    if maybe(20) then acts.sleep(world) end
  end
  local request = any_lock(world):request(seconds(), callback)
  if maybe(2) then keep(world, request) end
  if maybe(4) then request:cancel() end
end

function acts.request_lease(world)
  local request = world.client:semaphore(world.root .. "/pool", 3):request(seconds(), function(lease)
    world.callbacks = world.callbacks + 1
    if lease and maybe(2) then lease:release() end
    if maybe(3) then raised.any() end
  end)
  if maybe(2) then keep(world, request) end
end

--- Once: the handles are dropped, their listeners with them.
function acts.listen(world)
  local lock = any_lock(world)
  lock:on_lost(maybe(2) and raised.any or nothing)
  lock:on_revoke(maybe(2) and raised.any or function(who) lock:release(who) end)
  lock:acquire(seconds())
  keep(world, lock)
end

function acts.ask(world)
  local lock = any_lock(world)
  if maybe(2) then lock:revoke(seconds()) else lock:participants(seconds()) end
end

function acts.look(world)
  local lock, who = any_lock(world), owner()
  return lock:is_held(who), lock:token(who), lock:validity(who)
end

function acts.poll(world)
  world.client:poll(seconds())
end

function acts.sleep(world)
  local client = maybe(2) and world.client or world.rival
  client:sleep(seconds())
end

--- Somebody else takes it meanwhile. In a callback it waits for another client.
function acts.rival(world)
  local lock = maybe(2) and world.rival:mutex(path(world, "lock"))
    or world.rival:mutex(path(world, "hot"), HOT)
  if lock:acquire(seconds()) then keep(world, lock) end
  if maybe(2) then lock:release() end
end

--- A callback of somebody else's, which waits for both.
function acts.spawn(world)
  world.rival:spawn(function()
    acts.acquire(world)
    acts.sleep(world)
    if maybe(3) then acts.rival(world) end
    if maybe(5) then raised.any() end
  end)
  if maybe(2) then world.rival:poll(seconds()) end
end

function acts.collect()
  if collectgarbage("count") and maybe(5) then collectgarbage() else collectgarbage "step" end
end

--- A client of its own, which is closed, or dropped with what it holds.
function acts.client(world)
  if not maybe(40) then return end
  local client = world.connect()
  client:mutex(path(world, "other")):acquire(seconds())
  client:mutex(path(world, "other")):request(seconds(), raised.any)
  if maybe(2) then client:close() else keep(world, client) end
end

-- ---- in coroutines

local names = {}
for name in pairs(acts) do names[#names + 1] = name end
table.sort(names)

local function any(world)
  return acts[names[math.random(#names)]](world)
end

local function any_of_them(world)
  local n = math.random(3)
  for _ = 1, n do
    if maybe(4) then raised.set_hook() end
    any(world)
    if maybe(3) then coroutine.yield() end
    if maybe(20) then raised.any() end
  end
  debug.sethook()
end

local function close(thread)
  if coroutine.close and coroutine.status(thread) == "suspended" then coroutine.close(thread) end
end

local function resume(world, thread)
  local ok, err = coroutine.resume(thread, world)
  debug.sethook() -- LuaJIT's is for all coroutines
  if not ok and not raised.is_ours(err) then error(err, 0) end
end

--- Begins one that is gone on with, closed or dropped, wherever it is.
function acts.begin(world)
  local thread = coroutine.create(any_of_them)
  resume(world, thread)
  if coroutine.status(thread) == "suspended" then world.threads[math.random(20)] = thread end
end

acts["go on"] = function(world)
  local number = math.random(20)
  local thread = world.threads[number]
  if not thread or coroutine.status(thread) ~= "suspended" then return end
  if maybe(3) then close(thread) else resume(world, thread) end
  if coroutine.status(thread) == "dead" or maybe(4) then world.threads[number] = nil end
end

--- Two in three are coroutines.
local all = { "begin", "begin", "go on", "go on", unpack(names) }

local function hooked(act, world)
  local ok, err = pcall(function()
    if maybe(4) then raised.set_hook() end
    act(world)
    debug.sethook()
  end)
  debug.sethook()
  return ok, err
end

--- Does any of them, perhaps with a hook that raises.
function acts.any(world)
  local act = acts[all[math.random(#all)]]
  local known, ok, err = pcall(hooked, act, world) -- the hook may come when `hooked` takes it away
  debug.sethook()
  if known and not ok and not raised.is_ours(err) then error(err, 0) end
end

--- Releases the locks that the main program, and owners with a name, still hold.
function acts.release_all(world)
  local client = world.client
  local locks = {}
  for i = 1, PATHS do
    locks[#locks + 1] = client:mutex(path(world, "lock", i))
    locks[#locks + 1] = client:mutex(path(world, "short", i), { max_hold = 0.01 })
    for kind, options in pairs { rw = {}, ["hot-rw"] = HOT } do
      local rw = client:rwlock(path(world, kind, i), options)
      locks[#locks + 1], locks[#locks + 2] = rw.read, rw.write
    end
    for _, one in ipairs { client, world.rival } do
      locks[#locks + 1] = one:mutex(path(world, "hot", i), HOT)
    end
    locks[#locks + 1] = client:multilock { path(world, "lock", i), world.root .. "/both" }
    locks[#locks + 1] = world.rival:mutex(path(world, "lock", i))
  end
  for number = 0, #ODD do locks[#locks + 1] = multilock_of(world, odd_paths(world, number)) end
  for _, lock in ipairs(locks) do
    while lock:release() do end
    for i = 1, OWNERS do
      while lock:release("owner-" .. i) or lock:release(trapped[i]) do end
    end
  end
end

return acts
