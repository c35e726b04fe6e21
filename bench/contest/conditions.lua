-- SPDX-License-Identifier: MIT
--- The abilities of a peer's lock, each tried: no cell of the table is hearsay.

local loop = require "spec.support.loop"
local wait = require "spec.support.wait"
local crew = require "bench.contest.crew"
local servers = require "bench.contest.servers"
local truth = require "bench.contest.truth"

local conditions = {}

local WAITERS = 4
local BRIEF = 0.15 -- seconds between those who queue up, who do not say when they are in line

local function sleep(seconds) loop.poll(function() return false end, seconds) end

local function ok(words) return words ~= nil and words[1] == "ok" end

--- The same one takes it twice; only when it has given it back twice may another take it.
local function reentrant(play)
  local one, other = play.workers[1], play.workers[2]
  if not ok(one:ask("acquire", "twice", -1)) then return false end
  one:begin("acquire", "twice", 300)
  local again = one:finish(5)
  if not ok(again) then
    if again then one:ask("release", "twice") end
    return false
  end
  one:ask("release", "twice")
  local still = not ok(other:ask("acquire", "twice", 0))
  one:ask("release", "twice")
  local free = ok(other:ask("acquire", "twice", 5000))
  if free then other:ask("release", "twice") end
  return still and free
end

--- One try, and a deadline, while somebody else holds: seconds that each took, nil if it was granted.
local function patience(play)
  local one, other, result = play.workers[1], play.workers[2], {}
  one:ask("acquire", "busy", -1)
  for name, ms in pairs { try = 0, deadline = 1000 } do
    local began = wait.now()
    local answer = other:ask("acquire", "busy", ms)
    result[name] = answer[1] == "late" and wait.now() - began or nil
  end
  one:ask("release", "busy")
  return result
end

--- They are granted in the order in which they came.
local function fair(play)
  local one, order = play.workers[1], {}
  one:ask("acquire", "order", -1)
  for i = 2, WAITERS + 1 do
    play.workers[i]:begin("acquire", "order", 30000)
    sleep(BRIEF)
  end
  local holder = one
  for _ = 1, WAITERS do
    holder:ask("release", "order")
    loop.poll(function()
      for i = 2, WAITERS + 1 do
        local waiter = play.workers[i]
        if waiter.pending and waiter:has_answered() then
          waiter:finish()
          order[#order + 1], holder = i, waiter
          return true
        end
      end
    end, 20, 0.002)
  end
  holder:ask("release", "order")
  for n, i in ipairs(order) do
    if i ~= n + 1 then return false end
  end
  return #order == WAITERS
end

--- Each holder's token is larger than the one before.
local function fencing(play)
  local last = 0
  for i = 1, 4 do
    local one = play.workers[i % 2 + 1]
    local answer = one:ask("acquire", "token", 5000)
    if not ok(answer) then return false end
    one:ask("release", "token")
    if answer[2] <= last then return false end
    last = answer[2]
  end
  return true
end

--- It is held longer than its time, by one who is alive.
local function renewal(play)
  local one, other = play.workers[1], play.workers[2]
  one:ask("acquire", "long", -1)
  other:begin("acquire", "long", math.floor(truth.TTL * 1.5))
  local answer = other:finish(30)
  if ok(answer) then other:ask("release", "long") end
  local kept = not ok(answer) and one:ask("held", "long")[1] ~= "no"
  one:ask("release", "long")
  return kept
end

--- Two locks in one step, or none.
local function several(play)
  local answer = play.workers[1]:ask("both", "first", "second", 1000)
  if not ok(answer) then return false end
  local busy = play.workers[2]:ask("acquire", "second", 0)[1] == "late"
  play.workers[1]:ask("both-release", "first", "second")
  return busy
end

--- A deadline of one second while no server answers: seconds that it took, nil if it took more than ten.
local function cut_off(play)
  play.line:black_hole("both")
  local began = wait.now()
  play.workers[1]:begin("acquire", "far", 1000)
  local answer = play.workers[1]:finish(10)
  local took = wait.now() - began
  play.line:heal()
  return answer and took or nil
end

---@return table condition -> what was seen
function conditions.try(peer)
  local server = servers.start(peer.family)
  local line = servers.behind_proxies(server.hosts)
  local workers = crew.open(peer, 1, line.hosts, truth.TTL)
  for _, one in ipairs(crew.open(peer, WAITERS, server.hosts, truth.TTL)) do workers[#workers + 1] = one end
  local play, result = { workers = workers, line = line }, {}
  local waits = patience(play)
  result.try, result.deadline = waits.try, waits.deadline
  result.fair, result.fencing = fair(play), fencing(play)
  result.renewal, result.several = renewal(play), several(play)
  if not server.is_folder then result.cut_off = cut_off(play) or false end
  crew.close(workers)
  -- with programs of their own: who cannot take a lock twice may wait for itself
  workers = crew.open(peer, 2, server.hosts, truth.TTL)
  result.reentrant = reentrant { workers = workers }
  crew.close(workers)
  line:close()
  server:stop()
  return result
end

return conditions
