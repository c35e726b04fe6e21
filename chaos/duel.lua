-- SPDX-License-Identifier: MIT
--- Faults that need somebody at the right place: a sentry holds the post for long, as the client of the very server
--- that is to be struck, and the sentry of another server waits behind it. Whatever is done to the first one and its
--- server: when the second one gets in, the first may not be sure any more. The judge sees it.

local loop = require "spec.support.loop"

local duel = {}

local LOOK = 0.03 -- seconds
local GET_READY = 6
local STAND_BEHIND = 0.3 -- what the second one is given to get into the line
local PATIENCE = 20 -- of the second one
local ELECTION = 3
local SHORT = 2300 -- ms: less than the sentries ask for, and more than the others

--- Looks again and again, for so many seconds; not beyond the end of the round.
local function eventually(run, seconds, look, otherwise)
  local deadline = loop.now() + seconds
  local function try()
    if look() then return end
    if loop.now() < deadline then return run:later(LOOK, try, "idle") end
    if otherwise then otherwise() end
  end
  try()
end

--- The server to strike, and the server of the second sentry.
local function choose(cluster, which)
  local victim, other
  for n in ipairs(cluster.servers) do
    local role = cluster:role(n)
    if role == which and not victim then victim = n elseif role then other = n end
  end
  return victim, other
end

--- Calls `strike(n)` when the sentry of server n is inside and another waits.
---@param timeout number of the first one's session
local function meet(run, which, timeout, lasts, strike)
  local crew, cluster, post = run.crew, run.testbed.cluster, run.testbed.post.store
  local n, other = choose(cluster, which)
  if not n or not other then return end
  local first, second = crew:sentry(n), crew:sentry(other)
  local function is_inside()
    local owner = post:inside()
    return owner and crew:number_of(owner) == first
  end
  local stay = math.min(lasts, run:left()) -- the recess waits for it
  if not crew:send(first, "hold", { session_timeout = timeout, stay = stay, patience = GET_READY }) then return end
  eventually(run, GET_READY, function()
    if not is_inside() then return false end
    local more = { session_timeout = 3 * run.testbed.session_timeout, stay = 0.1, patience = PATIENCE }
    if crew:send(second, "hold", more) then
      run:later(STAND_BEHIND, function()
        if is_inside() and cluster:role(n) == which then strike(n) end
      end, "idle")
    end
    return true
  end)
end

local duels = {}

--- A leader that is cut off one-sidedly, is deposed and does not know. It stands still while the others elect (see
--- `ensemble:depose`).
function duels.depose(run, fault)
  local cluster = run.testbed.cluster
  meet(run, "leader", run.testbed.session_timeout, fault.lasts, function(n)
    cluster:stop(n)
    cluster:cut_off_leader(n)
    run:later(fault.lasts, function() cluster:rejoin(n) end)
    local function resume() cluster:resume(n) end
    run:later(ELECTION, resume) -- or before
    eventually(run, ELECTION, function()
      for m in ipairs(cluster.servers) do
        if cluster:role(m) == "leader" then
          resume()
          run:count("leader_deposed", 1, ("server %d, for %d"):format(n, m))
          return true
        end
      end
    end)
  end)
end

--- A process that is stopped for about half of its session, and its server stops just after it has woken and been
--- answered.
function duels.half_stop(run, fault)
  local cluster, crew = run.testbed.cluster, run.crew
  local timeout = 2.5 * run.testbed.session_timeout
  meet(run, "follower", timeout, fault.lasts, function(n)
    local stopped = crew:stop(crew:sentry(n))
    if not stopped then return end
    local woken
    local function wake()
      woken = woken or crew:continue(stopped) or true
    end
    run:later(0.48 * timeout, function()
      if woken then return end
      wake()
      run:later(fault.by, function()
        cluster:stop(n)
        local name = crew:name(crew:sentry(n))
        run:count("half_stop", 1, ("worker %s, and server %d %.3f s later"):format(name, n, fault.by))
        run:later(0.8 * timeout, function() cluster:resume(n) end)
      end, "idle")
    end, "idle")
    run:later(0.6 * timeout, wake)
  end)
end

--- A server that is started again with a smaller maxSessionTimeout, and falls silent when its client has heard of it.
function duels.shorten(run, fault)
  local cluster = run.testbed.cluster
  meet(run, "follower", 4 * run.testbed.session_timeout, fault.lasts, function(n)
    local one, gate = cluster.servers[n], run.testbed.gates[n]
    cluster:kill(n)
    one.options.max_session_timeout = SHORT
    gate:cut() -- nothing that is still on the old link counts
    gate:hold_before("*")
    cluster:start(n, false)
    eventually(run, fault.lasts, function()
      if gate:pending() > 0 then return false end
      run:count("session_shortened", 1, ("server %d"):format(n))
      return true
    end)
    run:later(fault.lasts, function()
      one.options.max_session_timeout = nil
      cluster:kill(n)
      gate:heal()
      cluster:start(n, false)
    end)
  end)
end

--- Does what the fault's kind says after "duel_".
function duel.fight(run, fault) duels[fault.kind:match("^duel_(.*)$")](run, fault) end

return duel
