--- caretaker: looks from time to time whether each client's timers are there, for nginx drops some without a word; and
--- tells the clients when the worker is told to leave. One timer for all clients of a worker.
local caretaker = {}

--- Seconds between two looks. nginx repeats such a timer also when it drops one turn of it.
local PERIOD = 10

local hosts = setmetatable({}, { __mode = "k" })
local begun = false

--- At the worker's end nginx runs all timers early.
local function round(premature)
  for host in pairs(hosts) do
    if premature then host:leave() else host:tend() end
  end
end

--- Looks after a client's host from now on, unless the worker is leaving.
---@return boolean looked_after
function caretaker.add(host)
  if ngx.worker.exiting() then return false end
  if not begun then
    local ok, err = ngx.timer.every(PERIOD, round)
    if not ok then
      ngx.log(ngx.WARN, "zklock: no timer: ", err)
      return false
    end
    begun = true
  end
  hosts[host] = true
  return true
end

function caretaker.remove(host)
  if hosts[host] then hosts[host] = nil end
end

return caretaker
