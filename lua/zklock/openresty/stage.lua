--- stage: where a client's callbacks run: each in a timer of its own, so that whatever it does (wait, fail, call
--- ngx.exit) is no concern of the others. nginx runs a limited number of timers, which are not all ours.
local Stage = {}
Stage.__index = Stage

--- Timers at a time.
local MOST = 64

---@param visits zklock.Visits
function Stage.new(visits)
  return setmetatable({ visits = visits, running = 0, queue = {}, first = 1, last = 0 }, Stage)
end

function Stage:pop()
  local fn = self.queue[self.first]
  self.queue[self.first] = nil
  self.first = self.first + 1
  return fn
end

--- A timer's function, `premature` or not: a callback is called once, whatever comes.
local function run(_, self, fn)
  self.visits:here().stage = self -- it tells us also of an end by ngx.exit
  fn()
end

--- Begins what there is room for.
function Stage:go_on()
  while self.first <= self.last and self.running < MOST do
    local fn = self:pop()
    local ok, err = ngx.timer.at(0, run, self, fn)
    if not ok then
      ngx.log(ngx.ERR, "zklock: callbacks wait for a timer: ", err)
      self.first = self.first - 1
      self.queue[self.first] = fn
      return
    end
    self.running = self.running + 1
  end
end

--- Runs fn, as soon as there is room.
function Stage:add(fn)
  self.last = self.last + 1
  self.queue[self.last] = fn
  self:go_on()
end

--- A timer has ended.
function Stage:left()
  self.running = self.running - 1
  self:go_on()
end

return Stage
