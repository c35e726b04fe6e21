--- Every wire operation of acquire, wait, release, cancel and close, cut off in every way.
--
-- A scenario is played without a fault first, and what goes over the wire is counted; then again for every request:
-- the link cut before it, cut behind it, its reply lost; and for every event that a watch has to tell. Each time one of
-- ours, behind the fault, meets strangers who are not, and afterwards: the resource saw one at a time and growing
-- tokens, the stranger behind ours was served, and no node is left, although every session lives.

local inspector = require "spec.support.inspector"
local judge = require "spec.support.judge"
local proxy = require "spec.support.proxy"
local queue = require "spec.support.queue"
local resource = require "spec.support.resource"
local server = require "spec.support.server"
local session = require "spec.support.session"
local visitor = require "spec.support.visitor"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = 20
local SESSION = 40 -- seconds: twice the patience, so that nothing here is served by a session's end

local SAMPLE = { wait = true, ["close while holding"] = true }

-- ---- the scenarios: what ours does. Who stands before it is `first`, who is served after it is `last` ---------------

local scenarios = {}

local function scenario(title, run)
  scenarios[#scenarios + 1] = title
  scenarios[title] = run
end

scenario("acquire and release", function(stage)
  stage.ours:acquire(PATIENCE)
  stage:ours_holds()
  assert.is_true(stage.ours:leave())
  assert.is_true(stage.client:flush(PATIENCE))
  assert.is_nil((stage.queue:first()))
end)

scenario("acquire again what was just released", function(stage)
  for _ = 1, 2 do
    stage.ours:acquire(PATIENCE)
    stage:ours_holds()
    assert.is_true(stage.ours:leave())
  end
end)

scenario("wait", function(stage)
  stage.first:acquire(PATIENCE)
  stage.ours:ask(PATIENCE)
  stage.queue:becomes(2)
  local place = stage.queue:names()[2]
  stage.last:ask(PATIENCE)
  stage.queue:becomes(3)
  stage:nobody_else_holds()
  stage.first:leave()
  stage:await_inside(stage.ours)
  stage:ours_holds()
  assert.equal(place, (stage.queue:first()), "it lost its place")
  assert.is_true(stage.ours:leave())
end)

scenario("wait, with another one of ours behind", function(stage)
  local second = stage:another("second")
  stage.first:acquire(PATIENCE)
  stage.ours:ask(PATIENCE)
  second:ask(PATIENCE)
  stage.queue:becomes(3)
  stage.last:ask(PATIENCE)
  stage.queue:becomes(4)
  stage:nobody_else_holds()
  stage.first:leave()
  stage:await(function() return stage.ours.inside or second.inside end, "a grant to one of ours")
  local former, latter = stage.ours, second
  if latter.inside then former, latter = latter, former end -- a fault may have turned them round
  assert.is_true(former:leave())
  stage:await_inside(latter)
  assert.is_true(latter:leave())
end)

scenario("release, with another one of ours behind", function(stage)
  local second = stage:another("second")
  stage.ours:acquire(PATIENCE)
  second:ask(PATIENCE)
  stage.queue:becomes(2)
  stage.last:ask(PATIENCE)
  stage.queue:becomes(3)
  assert.is_true(stage.ours:leave())
  stage:await_inside(second)
  assert.is_true(second:leave())
  assert.is_true(stage.client:flush(PATIENCE))
end)

scenario("cancel a wait", function(stage)
  stage.first:acquire(PATIENCE)
  stage.ours:ask(nil)
  stage.queue:becomes(2)
  stage.last:ask(PATIENCE)
  stage.queue:becomes(3)
  assert.is_true(stage.ours.request:cancel())
  stage:await(function() return #stage.ours.answers > 0 end, "an answer to the cancelled request")
  assert.same({ "cancelled" }, stage.ours.answers)
  assert.is_true(stage.client:flush(PATIENCE))
  stage.queue:becomes(2)
  stage.first:leave()
end)

scenario("cancel a request that was just made", function(stage)
  stage.first:acquire(PATIENCE)
  stage.ours:ask(nil)
  assert.is_true(stage.ours.request:cancel())
  stage:await(function() return #stage.ours.answers > 0 end, "an answer to the cancelled request")
  assert.same({ "cancelled" }, stage.ours.answers)
  stage.queue:becomes(1)
  stage.first:leave()
end)

scenario("try", function(stage)
  stage.first:acquire(PATIENCE)
  local token, err = stage.ours:acquire(0)
  assert.is_nil(token)
  assert.is_true(err == "timeout" or err == "disconnected", err)
  stage.queue:becomes(1)
  stage.first:leave()
end)

scenario("close while holding", function(stage)
  stage.ours:acquire(PATIENCE)
  stage:ours_holds()
  stage.last:ask(PATIENCE)
  stage.queue:becomes(2)
  stage.ours:step_out()
  assert.is_true(stage.client:close())
end)

scenario("close while waiting", function(stage)
  stage.first:acquire(PATIENCE)
  stage.ours:ask(nil)
  stage.queue:becomes(2)
  stage.last:ask(PATIENCE)
  stage.queue:becomes(3)
  assert.is_true(stage.client:close())
  assert.same({ "closed" }, stage.ours.answers)
  stage.queue:becomes(2)
  stage.first:leave()
end)

scenario("close with a create on its way", function(stage)
  stage.first:acquire(PATIENCE)
  stage.ours:ask(nil)
  assert.is_true(stage.client:close())
  assert.same({ "closed" }, stage.ours.answers)
  stage.queue:becomes(1)
  stage.first:leave()
end)

scenario("close with a release on its way", function(stage)
  stage.ours:acquire(PATIENCE)
  stage.last:ask(PATIENCE)
  stage.queue:becomes(2)
  assert.is_true(stage.ours:leave())
  assert.is_true(stage.client:close())
end)

-- ---- the stage ------------------------------------------------------------------------------------------------------

local stage = {}
stage.__index = stage

function stage:another(name) return visitor.new(self.client, self.path, self.store, name .. self.suffix) end

--- Lets everybody's callbacks run until the condition holds.
function stage:await(condition, what)
  wait.eventually(function()
    self.client:poll()
    self.direct:poll()
    return condition()
  end, PATIENCE, what)
end

function stage:await_inside(who)
  self:await(function() return who.inside end, who.name .. " to be granted the lock")
end

--- Ours is first in the queue, by its own node, and that is where its token comes from.
function stage:ours_holds()
  local name, stat = self.queue:first()
  assert.is_string(name)
  assert.is_true(session.same(stat.ephemeralOwner, self.client:session_id()))
  assert.equal(stat.czxid, self.ours.token)
  assert.is_true(self.ours.inside)
end

--- While `first` holds: once ours has its link again it must not believe that it does.
function stage:nobody_else_holds()
  self:await(function() return self.client:state() == "connected" end, "the link")
  self.client:poll(0.01)
  assert.equal(0, self.client:stats().held)
end

describe("a fault at every wire operation of", function()
  local zk, tree, direct, faulty, store, writer, played, complaints

  local function complain(message) complaints[#complaints + 1] = message end

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
    tree:delete_tree("/sweep")
    direct = assert(zklock.connect(zk.hosts, { session_timeout = SESSION, on_error = complain }))
    faulty = proxy.start(zk.hosts, { doors = 5 })
    played = 0
  end)

  before_each(function()
    store = resource.start()
    writer = resource.open(store.address)
    complaints = {}
  end)

  after_each(function()
    faulty:heal()
    writer:close()
    store:close()
    assert.same({}, complaints)
  end)

  teardown(function()
    faulty:close()
    direct:close()
    tree:delete_tree("/sweep")
    tree:close()
  end)

  local function new_stage()
    played = played + 1
    local self = setmetatable({ direct = direct, store = writer, suffix = "-" .. played }, stage)
    self.path = ("/sweep/%d/a"):format(played)
    self.queue = queue.at(tree, self.path)
    self.client = assert(zklock.connect(faulty.hosts, {
      session_timeout = SESSION, connect_timeout = PATIENCE, on_error = complain,
    }))
    self.ours = self:another("ours")
    self.first = visitor.new(direct, self.path, writer, "first" .. self.suffix)
    self.last = visitor.new(direct, self.path, writer, "last" .. self.suffix)
    return self
  end

  --- Plays a scenario once, with the faults that `arm` makes. Gives what was counted, and whether the first struck.
  local function play(title, arm)
    local self = new_stage()
    faulty:reset()
    arm()
    local armed = faulty:pending()
    scenarios[title](self)
    if not self.last.request then self.last:ask(PATIENCE) end
    self:await_inside(self.last)
    self.last:leave()
    self.queue:becomes(0)
    local struck, counts, stats = faulty:pending() < armed, faulty:counts(), self.client:stats()
    faulty:heal()
    assert.same({ 1, 0, 0, 0 }, { stats.sessions, stats.lost, stats.held, stats.waiting })
    self.client:close()
    return counts, struck
  end

  local function without_fault() end

  --- Plays a scenario with faults at the first such operation, the second, ... until there is none any more.
  local function sweep(title, op, arm)
    local counted = play(title, without_fault)[op == "*" and "total" or op]
    local n, strikes, struck = 0, 0, nil
    repeat
      n = n + 1
      local ok, err = pcall(function() struck = select(2, play(title, function() arm(n) end)) end)
      if not ok then error(("at %s %d: %s"):format(op, n, type(err) == "table" and err.message or err), 0) end
      if struck then strikes = strikes + 1 end
    until n > counted and not struck
    assert.is_true(strikes > counted / 2, "the faults hardly struck")
    judge.demand(store:judge())
  end

  -- The engine is the same under every Lua: all of it runs under some of them, two scenarios under the others.
  for _, title in ipairs(scenarios) do
    local tag = SAMPLE[title] and "" or " #slow"
    for verb, fault in pairs {
      cut_before = "the link cut before it", cut_after = "the link cut behind it", lose_reply = "its reply lost",
    } do
      it(("%s: %s%s"):format(title, fault, tag), function()
        sweep(title, "*", function(n) faulty[verb](faulty, "*", n) end)
      end)
    end
  end

  for _, title in ipairs { "wait", "wait, with another one of ours behind" } do
    for verb, fault in pairs { cut_before = "never heard", cut_after = "the last that is heard" } do
      it(("%s: an event %s #slow"):format(title, fault), function()
        sweep(title, "event", function(n) faulty[verb](faulty, "event", n) end)
      end)
    end
  end

  -- A second fault, while the first is being made good.
  for _, title in ipairs { "wait", "release, with another one of ours behind", "cancel a request that was just made",
    "close while holding", "close with a create on its way" } do
    for m = 1, 5 do
      it(("%s: its reply lost, and so is that of the %d. request from there #slow"):format(title, m), function()
        sweep(title, "*", function(n)
          faulty:lose_reply("*", n)
          faulty:lose_reply("*", n + m)
        end)
      end)
    end
    for verb, fault in pairs { cut_before = "never arrives", lose_reply = "is not answered" } do
      it(("%s: its reply lost, and the first try to connect again %s #slow"):format(title, fault), function()
        sweep(title, "*", function(n)
          faulty:lose_reply("*", n)
          faulty[verb](faulty, "connect")
        end)
      end)
    end
  end
end)
