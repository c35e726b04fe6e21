-- SPDX-License-Identifier: MIT
--- cqueues: callers wait in coroutines of a controller, each on a condition of its own. A client's
--- home is the controller that created it; the home watches the client until it is closed. Another
--- controller watches it only while one of its coroutines waits for it.
local blocking = require "zklock.loop.blocking"
local condition = require "cqueues.condition"
local cqueues = require "cqueues"
local each = require "zklock.base.each"
local yields = require "zklock.base.yields"

local adapter = { name = "cqueues" }

--- How long the home may take to begin a callback before another controller, which waits for it,
--- begins it; and the time between two checks; seconds.
local PATIENCE, PAUSE = 0.1, 0.002

--- The controller that can suspend the running coroutine, if the controller itself has resumed it.
--- If something else has, a yield would go to that.
local function here()
  local controller, is_its_own = cqueues.running()
  return is_its_own and controller or nil
end

--- True if this controller was closed: it will resume no coroutine any more.
local function is_closed(controller)
  return not pcall(controller.count, controller)
end

local function is_watched(host)
  for controller in each(host.stations) do
    if is_closed(controller) then host.stations[controller] = nil end
  end
  return next(host.stations) ~= nil
end

--- A controller's coroutine that watches for the callers that wait there.
local function serve(host, station)
  local controller = cqueues.running()
  while station.users > 0 do
    cqueues.poll(host.link, station.news)
    local ok, err = pcall(host.ready)
    if not ok then
      controller:wrap(serve, host, station) -- for the other callers
      error(err, 0)
    end
  end
  host.stations[controller] = nil
  controller:cancel(host.link.pollfd) -- otherwise it would miss events of a later descriptor with the same number
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
    spawned = 0, pending = {}, -- by number: callbacks that have not begun
  }
  client.host = host
  local station = controller and enter(host, controller)
  return function(hang_up)
    host.hang_up = hang_up
    if station then leave(station) end
    return is_watched(host) -- the last station hangs up
  end
end

local function await(waiter)
  while not waiter.done and waiter:left() ~= 0 do cqueues.poll(waiter.condition, waiter:left()) end
end

function adapter.wait(client, waiter)
  local controller = here()
  if not controller then return blocking.wait(client, waiter) end
  local host = client.host
  local station = client:getfd() >= 0 and enter(host, controller) -- a closed client has no descriptor
  waiter.condition = condition.new()
  local ok, err = yields.protected(await, waiter)
  if station then leave(station) end
  if not ok then error(err, 0) end
end

function adapter.wake(waiter)
  if waiter.condition then waiter.condition:signal() end
end

local function home_of(host)
  local home = host.home[1]
  return home and not is_closed(home) and home or nil
end

--- Begins the callback at home, if there is one. Outside of all controllers it begins none: no
--- controller may ever run again.
function adapter.spawn(client, fn)
  local host, controller = client.host, cqueues.running()
  if not controller then return false end
  local number = host.spawned + 1
  local function begin()
    if not host.pending[number] then return end -- another controller has begun it
    host.pending[number] = nil
    fn()
  end
  host.spawned, host.pending[number] = number, begin
  local ok = pcall(controller.wrap, home_of(host) or controller, begin)
  if not ok then host.pending[number] = nil end
  return ok
end

--- Begins here the callbacks that the home has not begun. Outside of all controllers they run in
--- coroutines that nothing resumes.
local function adopt(host, controller)
  local numbers = {}
  for number in each(host.pending) do numbers[#numbers + 1] = number end
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
