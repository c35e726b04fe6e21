-- SPDX-License-Identifier: MIT
--- Servers of an ensemble that are killed, stopped, started again, or have no room left: sessions live, locks are kept,
--- and who contends goes on. `make slow` has the same for the servers that lead nobody.

local ensemble = require "spec.support.ensemble"
local folder = require "spec.support.folder"
local inspector = require "spec.support.inspector"
local judge = require "spec.support.judge"
local resource = require "spec.support.resource"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"
local zklock = require "zklock"

local SESSION = 30 -- seconds: longer than any fault here, so no lock may be lost
local PATIENCE = wait.PATIENCE
local CREW = 3

-- Turns at the resource until the flag's file is gone.
local CONTEND = [[
  local order, flag = ...
  local granted, failed = 0, {}
  repeat
    local report = worker.verbs.contend(order)
    granted = granted + report.granted
    for err, n in pairs(report.failed) do failed[err] = (failed[err] or 0) + n end
    worker.client:poll(0.02) -- turns without a pause would take the processors from the servers that start
    local file = io.open(flag)
    if file then file:close() end
  until not file
  assert(worker.client:flush(60))
  return { granted = granted, failed = failed }
]]

local function nodes(tree, path) return tree:children(path) or {} end

describe("an ensemble #slow", function()
  local three, target, tree, crew, flag, holder, waiter, kept, contended, token, request, served

  setup(function()
    three = ensemble.start()
    target = resource.start()
    crew = {}
    for i = 1, CREW do
      crew[i] = worker.start()
      assert(crew[i]:connect(three.hosts, { session_timeout = SESSION }))
    end
  end)

  --- Somebody holds a lock and somebody waits for it for as long as the spec takes; meanwhile a crew contends for
  --- another.
  before_each(function()
    local place = folder.file("flag", "")
    flag = place
    kept, contended = "/servers/kept", "/servers/contended"
    tree = inspector.connect(three.hosts, { timeout = PATIENCE })
    holder = assert(zklock.connect(three.hosts, { session_timeout = SESSION }))
    waiter = assert(zklock.connect(three.hosts, { session_timeout = SESSION }))
    token = assert(holder:mutex(kept):acquire(PATIENCE))
    served = {}
    request = waiter:mutex(kept):request(nil, function(got, err) served[#served + 1] = { got, err } end)
    wait.eventually(function() return #nodes(tree, kept) == 2 end, PATIENCE)
    for i = 1, CREW do
      crew[i]:begin("eval", CONTEND, { path = contended, owner = "worker-" .. i, resource = target.address,
        rounds = 5, timeout = 10 * PATIENCE }, flag)
    end
  end)

  after_each(function()
    os.remove(flag)
    holder:close()
    waiter:close()
    tree:close()
  end)

  teardown(function()
    for _, one in ipairs(crew) do one:kill() end
    target:close()
    three:close()
  end)

  --- The crew's turns go on: it is served so many times more than now.
  local function crew_goes_on(more)
    local before = target:judge { open_end = true }.grants
    wait.eventually(function() return target:judge { open_end = true }.grants >= before + (more or 3 * CREW) end,
      PATIENCE, "the crew's next turns")
  end

  --- Nobody lost anything, nobody was given what is another's, nothing is left over; and the waiter's turn comes.
  local function all_is_well()
    crew_goes_on()
    os.remove(flag)
    for i = 1, CREW do
      local report = crew[i]:finish(2 * PATIENCE)
      assert.same({}, report.failed)
      assert.is_true(report.granted > 0)
    end
    judge.demand(target:judge())
    wait.eventually(function() return holder:state() == "connected" and waiter:state() == "connected" end, PATIENCE)
    waiter:poll()
    assert.same({}, served)
    local lock = holder:mutex(kept)
    assert.equal(token, lock:acquire(PATIENCE)) -- waits until the servers have confirmed it
    assert.is_true(lock:is_held())
    assert.is_true(lock:release())
    assert.is_true(lock:release())
    wait.eventually(function()
      waiter:poll(0.02)
      return #served > 0
    end, PATIENCE, "the waiter's turn")
    assert.is_true(served[1][1] > token)
    assert.is_true(request:release())
    for _, client in ipairs { holder, waiter } do
      assert.is_true(client:flush(PATIENCE))
      local stats = client:stats()
      assert.same({ 1, 0, 0, 0 }, { stats.sessions, stats.lost, stats.held, stats.waiting })
    end
    assert.is_true(tree:sync())
    assert.same({}, nodes(tree, kept))
    assert.same({}, nodes(tree, contended))
  end

  it("whose leader is killed keeps the locks", function()
    crew_goes_on()
    local killed = three:kill_leader()
    assert.not_equal(killed, three:leader())
    crew_goes_on()
    three:start(killed)
    all_is_well()
  end)

  it("of which the server that the holder is on is killed keeps the locks #flood", function()
    crew_goes_on()
    local killed = three:server_of(holder:session_id())
    three:kill(killed)
    wait.eventually(function()
      local now = three:server_of(holder:session_id())
      return now and now ~= killed
    end, PATIENCE, "another server")
    crew_goes_on()
    three:start(killed)
    all_is_well()
  end)

  it("without a quorum for longer than a second keeps the locks, and gives none", function()
    crew_goes_on()
    local follower, leader = three:follower(), three:leader()
    three:kill(leader)
    three:kill(follower)
    wait.eventually(function() return holder:state() == "suspended" and waiter:state() == "suspended" end, PATIENCE)
    local grants = target:judge { open_end = true }.grants
    assert.equal("disconnected", (select(2, waiter:mutex(kept):acquire(1.2, "another"))))
    assert.same({}, served)
    assert.is_true(target:judge { open_end = true }.grants <= grants + CREW) -- what had been granted before
    three:start(leader, false)
    three:start(follower)
    all_is_well()
  end)

  it("of which all servers are killed and started again keeps the locks", function()
    crew_goes_on()
    for n = 1, 3 do three:kill(n) end
    wait.eventually(function() return holder:state() == "suspended" and waiter:state() == "suspended" end, PATIENCE)
    for n = 1, 3 do three:start(n, false) end
    three:leader()
    all_is_well()
  end)

  for _, role in ipairs { "leader", "follower" } do
    it("whose " .. role .. "'s disk is full keeps the locks" .. (role == "leader" and "" or " #flood"), function()
      crew_goes_on()
      local n = three[role](three)
      local full, why = three.servers[n]:fill_disk()
      if not full then return pending(why) end
      wait.eventually(function() return three.servers[n]:is_full() end, PATIENCE, "the failure to write")
      crew_goes_on()
      -- With its disk full it may come back, to fail again; or its process has ended.
      three:kill(n)
      three:start(n)
      all_is_well()
    end)
  end

  it("of which the server that the holder is on stands still for a while keeps the locks", function()
    local mine = assert(zklock.connect(three.hosts))
    local lock, heard = mine:mutex("/servers/short"), {}
    mine:on_state(function(state) heard[#heard + 1] = state end)
    local own = assert(lock:acquire(PATIENCE))
    local stopped = three:server_of(mine:session_id())
    three:stop(stopped)
    wait.eventually(function()
      mine:poll(0.02)
      for _, state in ipairs(heard) do
        if state == "suspended" then return true end
      end
    end, PATIENCE, "'suspended'")
    wait.eventually(function() return mine:state() == "connected" end, PATIENCE, "another server")
    local again, err = lock:acquire(PATIENCE)
    local kept_session = again == own
    if kept_session then
      assert.is_true(lock:is_held()) -- the session was taken over in time
      assert.equal(1, mine:stats().sessions)
    else
      assert.equal("lost", again == nil and err) -- a machine too slow for that
    end
    three:resume(stopped)
    wait.eventually(function() return three:role(stopped) end, PATIENCE)
    mine:close()
    assert.is_true(tree:sync())
    -- On a slow machine `close` may give up before its answers come: then the node goes with its session.
    wait.eventually(function() return #nodes(tree, "/servers/short") == 0 and tree:sync() end, PATIENCE, "its end")
    all_is_well()
  end)
end)

describe("the only server", function()
  local zk, tree, client, lock, states, token

  before_each(function()
    zk = server.start()
    tree = inspector.connect(zk.hosts, { timeout = PATIENCE })
    states = {}
    client = assert(zklock.connect(zk.hosts, {
      session_timeout = SESSION, on_state = function(state) states[#states + 1] = state end,
    }))
    lock = client:mutex("/only")
    token = assert(lock:acquire(PATIENCE))
  end)

  after_each(function()
    client:close()
    tree:close()
    zk:stop()
  end)

  local function hears(wanted)
    wait.eventually(function()
      client:poll(0.02)
      for i, state in ipairs(states) do
        if state == wanted then return table.remove(states, i) end
      end
    end, PATIENCE, wanted)
  end

  local function recovers()
    hears("connected")
    assert.equal(token, lock:acquire(PATIENCE))
    assert.is_true(lock:is_held())
    assert.equal(1, client:stats().sessions)
    assert.is_true(lock:release())
    assert.is_true(lock:release())
    assert.is_true(client:flush(PATIENCE))
  end

  it("with a full disk suspends the session, and with room again the lock is still held", function()
    hears("connected")
    local list, other = {}, assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
    local request = other:mutex("/only"):request(nil, function(got, err) list[#list + 1] = { got, err } end)
    wait.eventually(function() return #nodes(tree, "/only") == 2 end)
    local full, why = zk:fill_disk()
    if not full then return pending(why) end
    local filler = inspector.connect(zk.hosts, { reconnect = false })
    assert.is_nil((filler:set("/", ("x"):rep(20000))))
    assert.is_true(zk:is_full())
    filler:close()
    hears("suspended")
    assert.equal("disconnected", (select(2, client:mutex("/another"):acquire(0.1))))
    assert.is_true(lock:is_held())
    assert.same({}, list)
    assert.is_not_nil((zk.process:wait(PATIENCE))) -- it gives up
    zk:start()
    recovers()
    wait.eventually(function()
      other:poll(0.02)
      return #list > 0
    end, PATIENCE)
    assert.is_true(list[1][1] > token)
    assert.is_true(request:release())
    assert.is_true(other:flush(PATIENCE))
    other:close()
    assert.same({}, nodes(tree, "/only"))
    assert.same({}, nodes(tree, "/another"))
  end)
end)
