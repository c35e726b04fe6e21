-- SPDX-License-Identifier: MIT
--- Scenarios on a stage for ours, whatever the kind of lock. Before it is `first`; `last`, behind it, is served then.

local PATIENCE = require("spec.support.stage").PATIENCE

local scenarios = {}

scenarios["acquire and release"] = function(stage)
  stage.ours:acquire(PATIENCE)
  stage:ours_holds()
  assert(stage.ours:leave())
  assert(stage.client:flush(PATIENCE))
  stage:becomes(0)
end

scenarios["acquire again what was just released"] = function(stage)
  for _ = 1, 2 do
    stage.ours:acquire(PATIENCE)
    stage:ours_holds()
    assert(stage.ours:leave())
  end
end

--- Ours stands in line, behind `first`.
local function waits(stage)
  stage.first:acquire(PATIENCE)
  stage.ours:ask(PATIENCE)
  stage:becomes(stage.counts.first + stage.counts.waiting)
end

local function last_comes(stage)
  stage.last:ask(PATIENCE)
  stage:becomes(stage.counts.first + stage.counts.waiting + stage.counts.last)
end

scenarios["wait"] = function(stage)
  waits(stage)
  local line = stage.queues[#stage.queues]
  local place = line:names()[stage.counts.first + 1] or line:names()[1]
  last_comes(stage)
  stage:nobody_else_holds()
  stage.first:leave()
  stage:await_inside(stage.ours)
  stage:ours_holds()
  assert(line:has(place), "it lost its place")
  assert(stage.ours:leave())
end

scenarios["wait, with another one of ours behind"] = function(stage)
  local second = stage:another("second")
  stage.first:acquire(PATIENCE)
  stage.ours:ask(PATIENCE)
  second:ask(PATIENCE)
  stage:becomes(3)
  stage.last:ask(PATIENCE)
  stage:becomes(4)
  stage:nobody_else_holds()
  stage.first:leave()
  stage:await(function() return stage.ours.inside or second.inside end, "a grant to one of ours")
  local former, latter = stage.ours, second
  if latter.inside then former, latter = latter, former end -- a fault may have turned them round
  assert(former:leave())
  stage:await_inside(latter)
  assert(latter:leave())
end

scenarios["release, with another one of ours behind"] = function(stage)
  local second = stage:another("second")
  stage.ours:acquire(PATIENCE)
  second:ask(PATIENCE)
  stage:becomes(2)
  stage.last:ask(PATIENCE)
  stage:becomes(3)
  assert(stage.ours:leave())
  stage:await_inside(second)
  assert(second:leave())
  assert(stage.client:flush(PATIENCE))
end

local function hears(stage, err)
  stage:await(function() return #stage.ours.answers > 0 end, "an answer")
  assert(#stage.ours.answers == 1 and stage.ours.answers[1] == err, stage.ours.answers[1])
end

scenarios["cancel a wait"] = function(stage)
  waits(stage)
  last_comes(stage)
  assert(stage.ours.request:cancel())
  hears(stage, "cancelled")
  assert(stage.client:flush(PATIENCE))
  stage.first:leave()
end

scenarios["cancel a request that was just made"] = function(stage)
  stage.first:acquire(PATIENCE)
  stage.ours:ask(nil)
  assert(stage.ours.request:cancel())
  hears(stage, "cancelled")
  stage:becomes(stage.counts.first)
  stage.first:leave()
end

scenarios["try"] = function(stage)
  stage.first:acquire(PATIENCE)
  local token, err = stage.ours:acquire(0)
  assert(not token and (err == "timeout" or err == "disconnected"), err)
  stage:becomes(stage.counts.first)
  stage.first:leave()
end

scenarios["close while holding"] = function(stage)
  stage.ours:acquire(PATIENCE)
  stage:ours_holds()
  stage.last:ask(PATIENCE)
  stage.ours:step_out()
  assert(stage.client:close())
end

scenarios["close while waiting"] = function(stage)
  waits(stage)
  last_comes(stage)
  assert(stage.client:close())
  hears(stage, "closed")
  stage.first:leave()
end

scenarios["close with a create on its way"] = function(stage)
  stage.first:acquire(PATIENCE)
  stage.ours:ask(nil)
  assert(stage.client:close())
  hears(stage, "closed")
  stage:becomes(stage.counts.first)
  stage.first:leave()
end

scenarios["close with a release on its way"] = function(stage)
  stage.ours:acquire(PATIENCE)
  stage.last:ask(PATIENCE)
  assert(stage.ours:leave())
  assert(stage.client:close())
end

-- ---- of read-write locks ----------------------------------------------------------------------------------------

--- The holder of write takes read, gives write back and is a reader then; nobody gets in between.
scenarios["downgrade"] = function(stage)
  local reading = stage.client:rwlock(stage.path).read
  local token = stage.ours:acquire(PATIENCE)
  assert(token)
  stage.last:ask(PATIENCE)
  stage:becomes(2)
  assert(reading:acquire(PATIENCE, stage.ours) == token)
  assert(stage.ours.lock:release(stage.ours))
  stage:await(function() return stage.client:state() == "connected" end, "the link")
  assert(stage.client:flush(PATIENCE))
  stage:becomes(2)
  assert(reading:is_held(stage.ours) and not stage.last.inside, "a writer came between")
  stage.ours:step_out()
  assert(reading:release(stage.ours))
end

-- ---- revocation -----------------------------------------------------------------------------------------------------

scenarios["ask the holder for it"] = function(stage)
  local asked
  stage.first.lock:on_revoke(function() asked = true end)
  stage.first:acquire(PATIENCE)
  assert(stage.ours.lock:revoke(PATIENCE))
  stage:await(function() return asked end, "the holder to hear of it")
  stage.first.lock:on_revoke(nil)
  stage.first:leave()
end

scenarios["be asked for it"] = function(stage)
  local asked = 0
  stage.ours.lock:on_revoke(function() asked = asked + 1 end)
  stage.ours:acquire(PATIENCE)
  assert(stage.last.lock:revoke(PATIENCE))
  stage:await(function() return asked > 0 end, "ours to hear of it")
  stage.client:poll(0.01)
  assert(asked == 1, "it was told twice")
  assert(stage.ours:leave())
end

return scenarios
