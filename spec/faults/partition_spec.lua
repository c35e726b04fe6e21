-- SPDX-License-Identifier: MIT
--- A silent partition: nothing comes through, and nobody is told.
--
-- One client for each thing that one may be doing then, and for each way of the link that may be dead, all at the same
-- time. A holder's belief is checked against what the servers have, looked at first: whenever its node is gone, its
-- validity must be 0, however slow this machine is.

local fixture = require "spec.support.fixture"
local judge = require "spec.support.judge"
local proxy = require "spec.support.proxy"
local queue = require "spec.support.queue"
local resource = require "spec.support.resource"
local visitor = require "spec.support.visitor"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local SESSION = 10 -- seconds, of those that are cut off
local PATIENCE = wait.PATIENCE
local DIRECTIONS = { "both", "to_server", "to_client" }
local ROLES = { "idle", "waiting", "holding", "releasing", "asking" }

describe("a silent partition #slow", function()
  local here = fixture.new("/partition")
  local direct, proxies, parties, complaints
  local count = 0 -- of parties

  local function complain(message) complaints[#complaints + 1] = message end

  setup(function()
    direct = here:connect { session_timeout = 60, on_error = complain }
    proxies = {}
    for _, direction in ipairs(DIRECTIONS) do proxies[direction] = here:proxy() end
  end)

  before_each(function() parties, complaints = {}, {} end)

  --- Ends the parties that are there.
  local function disperse()
    for _, party in ipairs(parties) do
      for _, one in ipairs { party.first, party.ours, party.last } do one:dismiss() end
      party.client:close()
      party.writer:close()
      party.store:close()
    end
    parties = {}
  end

  after_each(function()
    disperse()
    assert.same({}, complaints)
  end)

  local function each_party(role, fn)
    for _, party in ipairs(parties) do
      if party.role == role or role == "*" then fn(party) end
    end
  end

  local function poll()
    direct:poll()
    each_party("*", function(party) party.client:poll() end)
  end

  local function eventually(condition, what)
    wait.eventually(function()
      poll()
      return condition()
    end, PATIENCE, what)
  end

  local function is_inside(who) eventually(function() return who.inside end, who.name .. " to be granted the lock") end

  --- The answers of a release. While the servers answer slowly, nobody can say whether the hold was good to its end.
  ---@return boolean certain
  local function given_back(ok, err)
    assert.is_true(ok or err == "unknown", err)
    return ok == true
  end

  -- ---- what they do before, and in the dark ------------------------------------------------------------------------

  local enter, go_dark = {}, {}

  function enter.idle() end

  function enter.waiting(party)
    assert(party.first:acquire(PATIENCE))
    party.ours:ask(PATIENCE)
    party.queue:becomes(2)
    party.node = party.queue:names()[2]
    party.last:ask(PATIENCE)
    party.queue:becomes(3)
  end

  function enter.holding(party)
    assert(party.ours:acquire(PATIENCE))
    party.node = party.queue:first()
    party.last:ask(PATIENCE)
    party.queue:becomes(2)
  end

  enter.releasing = enter.holding

  function enter.asking(party)
    assert(party.ours:acquire(PATIENCE)) -- so that the path is there
    given_back(party.ours:leave())
    assert.is_true(party.client:flush(PATIENCE))
  end

  function go_dark.releasing(party)
    given_back(party.ours:leave())
    assert.is_false(party.ours.lock:is_held(party.ours))
  end

  function go_dark.asking(party)
    party.ours = visitor.new(party.ours.lock, party.writer, party.ours.name .. "-again")
    party.ours:ask(PATIENCE)
  end

  local function new_party(direction, role)
    local self = { direction = direction, role = role, states = {}, losses = {} }
    self.path = ("/partition/%d/%s/%s"):format(count, direction, role)
    self.queue = queue.at(here.tree, self.path)
    self.store = resource.start() -- one for each lock: tokens of two paths have nothing to do with each other
    self.writer = resource.open(self.store.address)
    self.client = assert(zklock.connect(proxies[direction].hosts, {
      session_timeout = SESSION, connect_timeout = PATIENCE, on_error = complain,
      on_state = function(state) self.states[#self.states + 1] = state end,
    }))
    self.session = self.client:session_id()
    local function someone(client, name)
      return visitor.new(client:mutex(self.path), self.writer, ("%s-%s-%s"):format(direction, role, name))
    end
    self.ours, self.first, self.last = someone(self.client, "ours"), someone(direct, "first"), someone(direct, "last")
    self.ours.lock:on_lost(function(...) self.losses[#self.losses + 1] = { ... } end)
    return self
  end

  --- Everybody in place, then the lights go out.
  local function begin()
    count = count + 1
    disperse()
    for _, direction in ipairs(DIRECTIONS) do
      for _, role in ipairs(ROLES) do parties[#parties + 1] = new_party(direction, role) end
    end
    each_party("*", function(party) enter[party.role](party) end)
    for direction, each in pairs(proxies) do each:black_hole(direction) end
    local began = wait.now()
    each_party("*", function(party) (go_dark[party.role] or enter.idle)(party) end)
    return began
  end

  local function living_sessions() return assert(here.zk:four_letter("dump")):match("^(.-)ephemeral nodes dump") end

  local function lives(party, sessions) return (sessions or living_sessions()):find(party.session, 1, true) ~= nil end

  --- One look at everybody: first at the servers, then at what ours believe.
  local function look()
    each_party("holding", function(party)
      local there = party.queue:has(party.node)
      local validity = party.ours.lock:validity(party.ours)
      assert.is_true(there or validity == 0, party.direction)
      assert.is_true(validity < party.client:session_timeout())
    end)
    poll()
    -- The one who waits for this lock must not be let in while ours believes.
    each_party("holding", function(party)
      if party.last.inside then assert.is_false(party.ours.lock:is_held(party.ours)) end
    end)
  end

  local function look_until(condition, what)
    wait.eventually(function()
      look()
      return condition()
    end, PATIENCE, what)
  end

  --- Waits until everybody knows. Gives whether all of them knew before the servers gave them up.
  local function all_suspended(began)
    local in_time, known = true, {}
    look_until(function()
      local all = true
      each_party("*", function(party)
        if known[party] then return end
        if party.client:state() ~= "suspended" then
          all = false
          return
        end
        known[party] = true
        in_time = in_time and lives(party)
        assert.is_true(wait.now() - began > SESSION / 4, "it knew before it could")
        if party.role == "holding" then in_time = in_time and party.queue:has(party.node) end
      end)
      return all
    end, "everybody's notice")
    each_party("releasing", function(party) assert.equal("disconnected", (select(2, party.client:flush(0)))) end)
    return in_time
  end

  local function all_disbelieve()
    look_until(function()
      local believed = 0
      each_party("holding", function(party) believed = math.max(believed, party.ours.lock:validity(party.ours)) end)
      return believed == 0
    end, "the end of every belief")
    each_party("holding", function(party)
      assert.is_false(party.ours.lock:is_held(party.ours))
      local again, err = party.ours.lock:acquire(0, party.ours)
      assert.is_nil(again)
      assert.is_true(err == "disconnected" or err == "lost", err)
    end)
  end

  local function heal()
    for _, each in pairs(proxies) do each:heal() end
    look_until(function()
      local all = true
      each_party("*", function(party) all = all and party.client:state() == "connected" end)
      return all
    end, "everybody's return")
  end

  -- ---- what becomes of them ----------------------------------------------------------------------------------------

  local function is_served(who)
    is_inside(who)
    who:leave()
  end

  --- The session lived on.
  local kept = {}

  function kept.idle() end

  function kept.waiting(party)
    assert.is_true(party.queue:has(party.node))
    party.first:leave()
    is_inside(party.ours)
    local name, stat = party.queue:first()
    assert.same({ party.node, party.ours.token }, { name, stat.czxid })
    party.ours:leave()
    is_served(party.last)
  end

  function kept.holding(party)
    local ours = party.ours
    eventually(function() -- while answers are slow, nothing is certain again
      assert.equal(ours.token, ours.lock:acquire(PATIENCE, ours)) -- waits for the session
      local held = ours.lock:is_held(ours)
      return given_back(ours.lock:release(ours)) and held
    end, "certainty")
    assert.equal(party.node, (party.queue:first()))
    assert.is_false(party.last.inside)
    given_back(ours:leave())
    is_served(party.last)
  end

  function kept.releasing(party)
    assert.is_true(party.client:flush(PATIENCE))
    assert.is_false(party.queue:has(party.node))
    is_served(party.last)
  end

  function kept.asking(party)
    is_inside(party.ours)
    local _, stat = party.queue:first()
    assert.equal(stat.czxid, party.ours.token)
    assert.equal(1, #party.queue:names())
    party.ours:leave()
  end

  --- The session is over.
  local lost = {}

  function lost.idle() end

  function lost.waiting(party)
    assert.same({}, party.ours.answers)
    party.queue:becomes(2) -- behind the last, in a new session
    party.last:leave()
    is_inside(party.ours)
    assert.is_true(party.ours.token > party.last.token)
    party.ours:leave()
  end

  function lost.holding(party)
    eventually(function() return #party.losses > 0 end, "news of the loss")
    party.ours:lose()
    assert.same({ { "lost", party.ours, party.ours.token } }, party.losses)
    assert.same({ nil, "timeout" }, { party.ours.lock:acquire(0, "another owner") })
    assert.same({ nil, "lost" }, { party.ours.lock:release(party.ours) })
    party.last:leave()
  end

  function lost.releasing(party)
    assert.is_true(party.client:flush(PATIENCE))
    party.last:leave()
  end

  lost.asking = kept.asking

  local function nothing_left()
    each_party("*", function(party)
      party.queue:becomes(0)
      local stats = party.client:stats()
      assert.same({ 0, 0 }, { stats.held, stats.waiting })
    end)
  end

  --- The states that the listener was told, without repetitions.
  local function told(party)
    party.client:poll()
    local list = {}
    for _, state in ipairs(party.states) do
      if state ~= list[#list] and state ~= "connecting" then list[#list + 1] = state end
    end
    return list
  end

  -- ------------------------------------------------------------------------------------------------------------------

  it("shorter than the session timeout is noticed at two thirds of it, and everything is kept #carried", function()
    local in_time
    for _ = 1, 5 do -- on a machine that stands still for a second a session may end: then once more
      local began = begin()
      in_time = all_suspended(began)
      heal()
      each_party("*", function(party) in_time = in_time and party.client:stats().sessions == 1 end)
      if in_time then break end
    end
    assert.is_true(in_time, "their sessions were over before they knew, or soon after, five times")
    each_party("*", function(party)
      kept[party.role](party)
      assert.same({}, party.losses)
      assert.equal(0, party.client:stats().lost)
      assert.same({ "connected", "suspended", "connected" }, told(party))
    end)
    nothing_left()
    each_party("*", function(party) judge.demand(party.store:judge()) end)
  end)

  it("longer than the session timeout loses what was held, and only that", function()
    all_suspended(begin())
    all_disbelieve()
    each_party("waiting", function(party) party.first:leave() end)
    look_until(function()
      local sessions, over = living_sessions(), true
      each_party("*", function(party)
        over = over and not lives(party, sessions) and (party.last.inside or not party.last.request)
      end)
      return over
    end, "the end of the sessions, and the turn of those behind")
    -- A holder that believed in spite of all would be stopped at the resource.
    each_party("holding", function(party) assert.is_false(party.writer:write(party.ours.token, party.ours.name)) end)
    heal()
    each_party("*", function(party)
      assert.equal(2, party.client:stats().sessions)
      lost[party.role](party)
      assert.equal(party.role == "holding" and 1 or 0, party.client:stats().lost)
      assert.equal(party.role == "holding" and 1 or 0, #party.losses)
      assert.same({ "connected", "suspended", "expired", "connected" }, told(party))
    end)
    nothing_left()
    each_party("*", function(party) judge.demand(party.store:judge { faults = true }) end)
  end)

  it("is reckoned from when the servers were last asked, not from when they answered", function()
    local faulty = proxies.both
    local client = assert(zklock.connect(faulty.hosts, { session_timeout = SESSION, connect_timeout = PATIENCE }))
    local line = queue.at(here.tree, "/partition/reckoned")
    local lock, second = client:mutex(line.path), client:mutex(line.path .. "-second")
    assert(second:acquire(PATIENCE)) -- so that the path is there
    assert.is_true(second:release())
    assert(lock:acquire(PATIENCE))
    assert.is_true(client:flush(PATIENCE))
    assert.is_true(lock:validity() > 0)
    local node = line:first()
    faulty:reset()
    faulty:hold_reply(proxy.TAKE)
    second:request(nil, function() end)
    faulty:await(proxy.TAKE) -- the servers have it, or will in a moment; they hear nothing more
    faulty:black_hole("to_server")
    wait.rest(client:session_timeout() * 0.6) -- the fault lasts
    faulty:heal("to_client") -- a late answer, to an old question
    wait.eventually(function()
      local there = line:has(node)
      assert.is_true(there or lock:validity() == 0)
      return not there
    end, PATIENCE, "the end of the session")
    faulty:heal()
    client:close()
  end)
end)
