--- stage: where callbacks run: each in a light thread of a timer of its own, so that whatever it does (wait, fail, call
--- ngx.exit) is no concern of the others. nginx runs a limited number of timers, which are not all ours.
local anchor = require "zklock.anchor"

local ngx = ngx -- luacheck: globals ngx

local stage = {}

--- Timers at a time.
local MOST = 64

local running = 0
local waiting, first, last = {}, 1, 0

local function push(fn)
  last = last + 1
  waiting[last] = fn
end

local function pop()
  if first > last then return nil end
  local fn = waiting[first]
  waiting[first] = nil
  first = first + 1
  return fn
end

local function leave(seat)
  if not seat.taken then return end
  seat.taken = false
  running = running - 1
end

--- A timer's function, `premature` or not: a callback is called once, whatever comes.
local function run(_)
  local seat = { taken = true }
  local seated = anchor(seat, leave) -- one that calls ngx.exit does not come back here
  local fn = pop()
  while fn do
    local thread = ngx.thread.spawn(fn)
    if thread then ngx.thread.wait(thread) end
    fn = pop()
  end
  leave(seat, seated)
end

--- Runs fn, as soon as there is room.
function stage.spawn(fn)
  push(fn)
  if running >= MOST then return true end
  local ok, err = ngx.timer.at(0, run)
  if ok then
    running = running + 1
  else
    ngx.log(ngx.ERR, "zklock: callbacks wait for a timer: ", err)
  end
  return true
end

return stage
