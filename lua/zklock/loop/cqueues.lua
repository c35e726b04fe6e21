--- cqueues: waits in coroutines of a controller, each on a condition of its own. The controller in which a client was
--- made is its home, and watches it until it is closed. Other controllers watch it only while somebody waits there.
local blocking = require "zklock.loop.blocking"
local condition = require "cqueues.condition"
local cqueues = require "cqueues"
local protected = require "zklock.base.protected"

local adapter = { name = "cqueues" }

--- How long the home may take to begin a callback before another controller, which waits for that, begins it; and the
--- time between two looks; seconds.
local PATIENCE, PAUSE = 0.1, 0.002

--- The controller that can suspend the running coroutine: the one that resumed it. What is yielded in a coroutine that
--- something else resumed goes to that.
local function here()
  local controller, is_its_own = cqueues.running()
  return is_its_own and controller or nil
end

--- Has somebody closed this controller? It will resume nobody any more.
local function is_closed(controller)
  return not pcall(controller.count, controller)
end

--- The stations at which somebody still watches.
local function is_watched(host)
  for controller in pairs(host.stations) do
    if is_closed(controller) then host.stations[controller] = nil end
  end
  return next(host.stations) ~= nil
end

--- A controller's coroutine that watches for those who wait there.
local function serve(host, station)
  local controller = cqueues.running()
  while station.users > 0 do
    cqueues.poll(host.link, station.news)
    local ok, err = pcall(host.ready)
    if not ok then
      controller:wrap(serve, host, station) -- for the others
      error(err, 0)
    end
  end
  host.stations[controller] = nil
  controller:cancel(host.link.pollfd) -- or a descriptor that gets this number would not be heard
  if host.hang_up and not is_watched(host) then host.hang_up() end
end

local function enter(host, controller)
  local station = host.stations[controller]
  if not station then
    station = { users = 0, news = condition.new() }
    host.stations[controller] = station
    controller:wrap(serve, host, station)
  end
  station.users = station.users + 1
  return station
end

local function leave(station)
  station.users = station.users - 1
  if station.users == 0 then station.news:signal() end
end

function adapter.watch(client, ready)
  local controller = cqueues.running()
  local host = {
    ready = ready,
    link = { pollfd = client:getfd(), events = "r" },
    stations = setmetatable({}, { __mode = "k" }), -- by controller
    home = setmetatable({ controller }, { __mode = "v" }), had_home = controller ~= nil,
    spawned = 0, pending = {}, -- by number: what has not begun
  }
  client.host = host
  local station = controller and enter(host, controller)
  return function(hang_up)
    host.hang_up = hang_up
    if station then leave(station) end
    return is_watched(host) -- the last of them does it
  end
end

local function await(waiter)
  while not waiter.done and waiter:left() ~= 0 do cqueues.poll(waiter.condition, waiter:left()) end
end

function adapter.wait(client, waiter)
  local controller = here()
  if not controller then return blocking.wait(client, waiter) end
  local host = client.host
  local station = enter(host, controller)
  waiter.condition = condition.new()
  local ok, err = protected(await, waiter)
  leave(station)
  if not ok then error(err, 0) end
end

function adapter.wake(waiter)
  if waiter.condition then waiter.condition:signal() end
end

--- The controller at which a client is at home, until that is closed.
local function home_of(host)
  local home = host.home[1]
  return home and not is_closed(home) and home or nil
end

--- Begins it at home, if there is one. Outside of all controllers it begins none: no controller may ever run again.
function adapter.spawn(client, fn)
  local host, controller = client.host, cqueues.running()
  if not controller then return false end
  local number = host.spawned + 1
  local function begin()
    if not host.pending[number] then return end -- begun elsewhere
    host.pending[number] = nil
    fn()
  end
  host.spawned, host.pending[number] = number, begin
  local ok = pcall(controller.wrap, home_of(host) or controller, begin)
  if not ok then host.pending[number] = nil end
  return ok
end

--- Begins here the callbacks that its home has not begun; outside of all controllers in coroutines that nothing
--- resumes.
local function adopt(host, controller)
  local numbers = {}
  for number in pairs(host.pending) do numbers[#numbers + 1] = number end
  table.sort(numbers)
  for _, number in ipairs(numbers) do
    local begin = host.pending[number]
    if controller then controller:wrap(begin) elseif begin then coroutine.wrap(begin)() end
  end
end

function adapter.settle(client)
  local host, controller = client.host, here()
  if host.had_home and not home_of(host) then adopt(host, controller) end
  local deadline = cqueues.monotime() + PATIENCE
  while controller and next(host.pending) do
    cqueues.sleep(PAUSE)
    if cqueues.monotime() > deadline then
      adopt(host, controller)
      deadline = math.huge
    end
  end
end

return adapter
