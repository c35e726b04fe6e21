-- SPDX-License-Identifier: MIT
--- `make chaos` rests on this: a seed gives one schedule, a lost waiter is told from a stopped one, operators say what
--- they take away, and what went before a failure is there to be read.

local uv = require "luv"
local crew = require "chaos.crew"
local codec = require "spec.support.codec"
local fence = require "chaos.fence"
local folder = require "spec.support.folder"
local history = require "chaos.history"
local inspector = require "spec.support.inspector"
local nodes = require "chaos.nodes"
local process = require "spec.support.process"
local proxy = require "spec.support.proxy"
local random = require "chaos.random"
local record = require "chaos.record"
local report = require "chaos.report"
local resource = require "spec.support.resource"
local schedule = require "chaos.schedule"
local server = require "spec.support.server"
local strangers = require "chaos.strangers"
local successions = require "chaos.successions"
local testbed = require "chaos.testbed"
local transactions = require "chaos.transactions"
local wait = require "spec.support.wait"
local wire = require "spec.support.wire"
local write_file = require("spec.support.file").write
local zklock = require "zklock"

describe("the chaos schedule", function()
  it("is the same for the same seed, and another one for another", function()
    assert.same(schedule.make(42, 60), schedule.make(42, 60))
    assert.are_not.same(schedule.make(42, 60), schedule.make(43, 60))
  end)

  it("is the same under every Lua", function()
    local sum = 0
    for _, fault in ipairs(schedule.make(42, 60)) do
      sum = (sum * 31 + math.floor(fault.at * 1e6) + (fault.proxy or fault.worker or 0) + (fault.n or 0)) % 1000003
    end
    assert.equal(701420, sum)
  end)

  it("is in order of time and has every kind, ten thousand in ten minutes", function()
    local list, kinds, last = schedule.make(7, 600), {}, 0
    assert.is_true(#list >= 10000)
    for _, fault in ipairs(list) do
      assert.is_true(fault.at >= last and fault.at <= 600)
      last = fault.at
      local kind = fault.server and fault.server .. "_" .. fault.kind or fault.kind
      kinds[kind] = (kinds[kind] or 0) + 1
    end
    for _, kind in ipairs { "cut", "cut_before", "cut_after", "lose_reply", "refuse", "delay", "black_hole",
      "long_black_hole", "stop", "long_stop", "kill", "expire", "delete", "delete_tree", "stranger",
      "leader_server_kill", "follower_server_kill", "both_server_kill", "leader_server_stop",
      "follower_server_stop", "leader_duel_depose", "follower_duel_half_stop", "follower_duel_shorten" } do
      assert.is_true((kinds[kind] or 0) > 0, kind)
    end
  end)

  it("names victims that there are, and stops longer than the session lives", function()
    local cast = { workers = 3, proxies = 2, paths = { "mutex" }, session_timeout = 5 }
    for _, fault in ipairs(schedule.make(1, 300, cast)) do
      assert.is_true((fault.worker or 1) <= 3 and (fault.proxy or 1) <= 2 and (fault.path or 1) <= 1)
      if fault.kind:find("^long_") then assert.is_true(fault.lasts > 6) end
    end
  end)
end)

describe("the chaos schedule of jobs", function()
  it("is the same for the same seed, and has every kind", function()
    local list, kinds = schedule.make(42, 600, schedule.JOBS), {}
    assert.same(list, schedule.make(42, 600, schedule.JOBS))
    for _, fault in ipairs(list) do
      local kind = fault.server and fault.server .. "_" .. fault.kind or fault.kind
      kinds[kind] = (kinds[kind] or 0) + 1
    end
    for _, kind in ipairs { "cut", "cut_before", "cut_after", "lose_reply", "delay", "stop", "kill", "long_stop",
      "long_black_hole", "expire", "delete", "leader_server_kill", "follower_server_kill", "leader_server_stop",
      "follower_server_stop" } do
      assert.is_true((kinds[kind] or 0) > 0, kind)
    end
  end)

  it("has its large faults one after another", function()
    local cast, over = schedule.JOBS, 0
    local small = { cut_before = true, cut_after = true, lose_reply = true }
    for _, fault in ipairs(schedule.make(7, 600, cast)) do
      if not (small[fault.kind] or cast.small[fault.kind]) then
        assert.is_true(fault.at > over, fault.kind)
        over = fault.at + (fault.lasts or 0)
      end
    end
  end)
end)

describe("chaos's successions", function()
  local function silences(moments, events, lags)
    return (successions.silences(moments, { from = 100, to = 200 }, events or {}, { bound = 30, lags = lags or {} }))
  end

  it("finds nothing where somebody is always at work", function()
    assert.same({}, silences { 90, 110, 140, 170, 210 })
  end)

  it("finds a silence, also the first, the last, and the only one", function()
    assert.same({ { from = 110, to = 150, late = 10 } }, silences { 110, 150, 180 })
    assert.same({ { from = 100, to = 135, late = 5 } }, silences { 135, 160, 180 })
    assert.same({ { from = 160, to = 200, late = 10 } }, silences { 110, 135, 160, 230 })
    assert.same({ { from = 100, to = 200, late = 70 } }, silences { 99, 201 })
  end)

  it("allows one for as long as a fault may make it", function()
    local moments = { 110, 130, 165, 180 }
    assert.same({}, silences(moments, { { at = 140, bound = 30 } }))
    assert.same({}, silences(moments, { { at = 120, bound = 50 } }))
    assert.same({ { from = 130, to = 165, late = 3 } }, silences(moments, { { at = 132, bound = 30 } }))
    assert.equal(1, #silences(moments, { { at = 166, bound = 30 } }))
    assert.same({}, silences(moments, {}, { { from = 140, to = 146 } }))
    assert.same({ { from = 130, to = 165, late = 4 } }, silences(moments, {}, { { from = 120, to = 131 } }))
  end)

  it("reads accepted steps with their moments", function()
    local lines = { "0 w1.1/1 ask accepted 5 0", "7 w1.1/1 enter accepted 10 90", "7 w1.1/1 write accepted 20 90",
      "3 w2.1/1 write refused 25 0", "7 w1.1/1 gone accepted", "7 w1.1 void accepted", "9 w1.1/1 leave accepted 40 90",
      "9 w1.1/1 lost accepted 50 0" }
    local n = 0
    assert.same({ 10, 20, 40 }, successions.moments(function()
      n = n + 1
      return lines[n]
    end))
  end)

  it("finds an epoch that falls, and a version that was written twice", function()
    local function write(version, token, path) return { path = path or "/e", version = version, token = token } end
    assert.same({}, successions.epochs { write(3, 9), write(1, 5), write(2, 5), write(1, 7, "/f") })
    assert.same({ "/e: epoch 5 in version 4, after 9 in version 2" },
      successions.epochs { write(4, 5), write(2, 9), write(1, 3) })
    assert.same({ "/e: version 2 was written twice" }, successions.epochs { write(2, 5), write(2, 5) })
  end)
end)

describe("chaos's strangers", function()
  it("have nodes of every kind, under names that the servers take", function()
    local draw, seen, below, last = random.new(1), {}, 0, 0
    for i = 1, 2000 do
      local what, name = strangers.name(draw, ({ "mutex", "rwlock", "semaphore" })[i % 3 + 1])
      seen[what] = (seen[what] or 0) + 1
      assert.is_true(#name > 0 and #name < 3000)
      assert.is_nil(name:find("[%z\1-\31\127/]"))
      assert.is_nil(name:find("^%.%.?$"))
      below = below + (name:find("%--2147483647$") and 1 or 0)
      last = last + (name:find("%-2147483647$") and 1 or 0)
    end
    for _, what in ipairs { "garbage", "long", "in_line", "long_in_line", "forged", "mimic", "other_kind",
      "unreadable" } do
      assert.is_true((seen[what] or 0) > 50, what)
    end
    assert.is_true(below > 5 and last > 5)
  end)
end)

describe("chaos's random numbers", function()
  it("reach every value of a range, and no other", function()
    local draw, seen = random.new(0), {}
    for _ = 1, 1000 do
      seen[draw:integer(-1, 2)] = true
      local x = draw:number(3, 4)
      assert.is_true(x >= 3 and x < 4)
    end
    assert.same({ [-1] = true, [0] = true, true, true }, seen)
  end)
end)

describe("chaos's crew #once", function()
  -- No servers: what these workers do in a shift is what the test says.
  local team

  local function hire(shift, options)
    local path = folder.new("crew")
    assert(uv.fs_mkdir(path .. "/chaos", 448))
    for name, code in pairs { ["zklock.lua"] = "return {}", ["chaos/shift.lua"] = shift } do
      local file = assert(io.open(path .. "/" .. name, "w"))
      file:write(code)
      file:close()
    end
    options = options or {}
    options.worker = { env = { LUA_PATH = path .. "/?.lua;./?.lua;;" } }
    local gates = { { hosts = "127.0.0.1:2" } }
    local set = { places = {}, proxies = {}, gates = gates, cluster = { hosts = "127.0.0.1:1" } }
    local cast = { workers = 1, proxies = 0, sentries = options.sentries, paths = {}, session_timeout = 2 }
    team = crew.new(set, cast, 1, options)
  end

  local function step_until(condition)
    wait.eventually(function()
      team:step()
      return condition()
    end)
  end

  --- A shift with these fields in its report.
  local function reporting(fields)
    return [[
      local uv, socket = require "luv", require "socket"
      local function now() return tonumber(uv.hrtime()) / 1e9 end
      return function(order)
        local report = { granted = 1, failed = {}, longest = 2.5, longest_close = 0, losses = 0, late = {},
          unserved = {}, complaints = {} }
        ]] .. fields .. [[
        return report
      end
    ]]
  end

  after_each(function() team:close() end)

  it("adds up what its workers report, and replaces those that are killed", function()
    hire(reporting "report.failed.timeout = 2")
    step_until(function() return team.granted >= 2 end)
    assert.equal("w1.1", team:name(1))
    assert.is_true(team:kill(1))
    assert.is_false(team:kill(1))
    local before = team.granted
    step_until(function() return team.granted > before end)
    assert.equal("w1.2", team:name(1))
    assert.equal(1, team:number_of("w1.2/7"))
    assert.is_nil(team:number_of("w1.1/7"))
    assert.equal(2.5, team.longest)
    assert.equal(2 * team.granted, team.failed.timeout)
    team:rest()
    assert.same({ {}, {} }, { team.lost_waiters, team.complaints })
  end)

  it("has sentries that do what they are sent for, and nothing else", function()
    hire(reporting [[
      if order.name:find "^w2" then
        report.failed[("%s %s %s %d"):format(order.task, order.name, order.hosts, order.session_timeout)] = 1
      end
    ]], { sentries = 1 })
    local sentry = team:sentry(1)
    step_until(function() return team.granted > 2 and not team.slots[sentry].busy end)
    assert.is_true(team:send(sentry, "hold", { session_timeout = 7 }))
    assert.is_false(team:send(sentry, "hold", {}))
    step_until(function() return not team.slots[sentry].busy end)
    team:rest()
    assert.is_false(team:send(sentry, "hold", {}))
    team:all("calm")
    team:all("leave")
    assert.same({ ["hold w2.1 127.0.0.1:2 7"] = 1, ["leave w2.1 127.0.0.1:2 2"] = 1 }, team.failed)
  end)

  it("has only workers that meet ClickHouse Keeper's habits, if the run is about those", function()
    finally(function() proxy.NATURE = "zookeeper" end)
    proxy.NATURE = "keeper"
    local hosts, said = server.shared().hosts, ""
    local cast = { workers = 1, proxies = 0, paths = {}, session_timeout = 10 }
    team = crew.new({ places = {}, proxies = {}, cluster = { hosts = hosts } }, cast, 1)
    local client = assert(zklock.connect(team.slots[1].hosts, { log = function(_, line) said = said .. line end }))
    wait.eventually(function()
      client:poll()
      return said:find("the servers are ClickHouse Keeper's", 1, true)
    end)
    client:close()
  end)

  it("tells of a waiter that was answered too late", function()
    hire(reporting [[report.late[1] = { began = now() - 9, took = 9, allowed = 1, lane = order.name .. "/3" }]],
      { slack = 7 })
    step_until(function() return #team.lost_waiters > 0 end)
    assert.matches("^w1%.1/3 waited 9%.0 s", team.lost_waiters[1])
  end)

  it("forgives a waiter for as long as it was stopped", function()
    hire(reporting [[
      local began = now()
      repeat socket.sleep(0.01) until now() - began > 0.5 -- what is late
      report.late[1] = { began = began, took = now() - began, allowed = 0, lane = order.name .. "/3" }
    ]], { slack = 1 })
    for _ = 1, 2 do
      step_until(function() return team.slots[1].busy == "work" end)
      local stopped = team:stop(1)
      assert.is_nil(team:stop(1))
      assert.is_nil(team:number_of("w1.1/3")) -- nobody aims at it
      local from = wait.now()
      step_until(function() return wait.now() - from > 1.5 end)
      team:continue(stopped)
      local fresh = team.granted
      step_until(function() return team.granted > fresh end)
    end
    assert.same({}, team.lost_waiters)
  end)

  it("forgives a waiter for as long as the machine had no time for us either", function()
    hire(reporting [[
      local began = now()
      repeat socket.sleep(0.01) until now() - began > 1 -- what is late
      report.late[1] = { began = began, took = now() - began, allowed = 0, lane = order.name .. "/3" }
    ]], { slack = 0.7 })
    step_until(function() return team.slots[1].busy == "work" end)
    wait.eventually(function() return team.slots[1].worker:has_answered() end) -- without a step
    step_until(function() return team.granted > 0 end)
    assert.same({}, team.lost_waiters)
    step_until(function() return #team.lost_waiters > 0 end)
  end)

  it("tells of a worker that does not come back", function()
    hire(reporting "while true do socket.sleep(1) end", { patience = 0.3 })
    step_until(function() return team.slots[1].busy == "work" end)
    step_until(function() return #team.lost_waiters > 0 end)
    assert.matches("^w1%.%d+ has not come back", team.lost_waiters[1])
  end)

  it("tells of one who was not served, of one who complains, raises or dies", function()
    for code, list in pairs {
      ["report.unserved[1] = 'me'"] = "lost_waiters", ["report.complaints[1] = 'me'"] = "complaints",
      ["error 'me'"] = "complaints", ["io.stderr:write 'me' os.exit(3)"] = "complaints",
    } do
      if team then team:close() end
      hire(reporting(code))
      step_until(function() return #team[list] > 0 end)
      assert.matches("me", team[list][1])
    end
  end)
end)

describe("chaos's operator #once", function()
  local PATIENCE = wait.PATIENCE
  local zk, between, tree, client, stores, operator, paths
  local count = 0

  before_each(function()
    zk = server.shared()
    between = proxy.start(zk.hosts)
    tree = inspector.connect(zk.hosts)
    client = assert(zklock.connect(between.hosts, { identifier = "w1.1" }))
    count = count + 1
    stores, paths = {}, {}
    local command = { "lua5.4", "chaos/operator.lua", zk.hosts, env = process.PLAIN_LUA }
    for i = 1, 2 do
      stores[i], paths[i] = resource.start(), ("/chaos_spec/%d-%d"):format(count, i)
      table.insert(command, paths[i])
      table.insert(command, stores[i].address)
    end
    operator = process.spawn(command)
    assert.equal("ready", operator:read_line(PATIENCE))
  end)

  after_each(function()
    operator:kill()
    client:close()
    tree:close()
    between:close()
    for _, store in ipairs(stores) do store:close() end
  end)

  local function order(...)
    operator:write(codec.encode(...))
    return codec.decode(operator:read_line(PATIENCE))
  end

  local function read(path)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return text
  end

  local function seen(i)
    stores[i]:judge { faults = true } -- the log is written
    return read(stores[i].path)
  end

  it("writes into a history what it takes away", function()
    local path = folder.new("history")
    assert.equal(0, order("tell", path))
    local token = assert(client:mutex(paths[2]):acquire(PATIENCE))
    local began = history.now()
    assert.equal(1, order("delete", paths[2], 0.5))
    local sessions = between:sessions()
    assert.equal(1, order("expire", "w1.1", sessions[#sessions]))
    local text = read(path .. "/operator")
    local from, deleted, later, upto = text:match('^{"event":"taken","process":"w1.1","from":(%d+),"token":(%d+)}\n'
      .. '{"event":"taken","process":"w1.1","from":(%d+),"upto":(%d+)}\n$')
    assert.equal(token, tonumber(deleted))
    assert.is_true(tonumber(upto) > token)
    assert.is_true(began < tonumber(from) and tonumber(from) < tonumber(later) and tonumber(later) < history.now())
  end)

  it("says at every resource what it is about to delete", function()
    local lock = client:mutex(paths[2])
    local token = assert(lock:acquire(PATIENCE))
    assert.equal(1, order("delete", paths[1], 0.5)) -- nobody is there: the next path
    assert.equal(0, order("delete", paths[1], 0.5))
    for i = 1, 2 do assert.equal(("%d w1.1 void accepted\n"):format(token), seen(i)) end
    wait.eventually(function() return not lock:is_held() end)
  end)

  it("names the token of a lease, whichever of its nodes it deletes", function()
    local lease = assert(client:semaphore(paths[1], 3):acquire(PATIENCE, 2))
    wait.eventually(function() return #nodes.list(tree, paths[1]) == 2 end)
    local token = lease:token()
    assert.equal(1, order("delete", paths[1], 0.99))
    assert.is_truthy(seen(1):find(("%d w1.1 void"):format(token), 1, true))
    assert.is_nil(seen(1):find("w%d.%d/"))
  end)

  it("deletes a path with all that is below it", function()
    local lease = assert(client:semaphore(paths[1], 3):acquire(PATIENCE, 2))
    wait.eventually(function() return #nodes.list(tree, paths[1]) == 2 end)
    -- Two nodes and three directories, one of them empty: the server may have cleared it away.
    assert.is_true(order("delete_tree", paths[1]) >= 4)
    assert.is_nil(tree:exists(paths[1]))
    lease:release()
  end)

  it("leaves a stranger's node where there is a directory, and takes it away again", function()
    local node = paths[1] .. "/x-lock--2147483647"
    assert.equal(0, order("appear", node))
    assert(tree:create(paths[1], "", { parents = true }))
    for _, unreadable in ipairs { false, true } do
      assert.equal(1, order("appear", node, unreadable))
      assert.equal(1, order("appear", node, unreadable))
      assert.equal(unreadable, tree:get(node) == nil)
      assert.equal(1, order("vanish", node))
      assert.equal(1, order("vanish", node))
      assert.same({}, tree:children(paths[1]))
    end
    assert.equal("", seen(1))
  end)

  it("leaves a stranger's node with the name of one that is there, but for the sequence", function()
    assert.equal(0, order("mimic", paths[1], "0000000000"))
    assert(client:mutex(paths[1]):acquire(PATIENCE))
    local own = tree:children(paths[1])[1]
    local left, path = order("mimic", paths[1], "-2147483647")
    assert.equal(1, left)
    assert.equal(paths[1] .. "/" .. own:gsub("%d+$", "-2147483647"), path)
    assert.equal(2, #tree:children(paths[1]))
    assert.equal(1, order("vanish", path))
    assert.same({ own }, tree:children(paths[1]))
  end)

  it("says whose session it ends, and how far that reaches", function()
    local lock = client:mutex(paths[1])
    local token = assert(lock:acquire(PATIENCE))
    local sessions = between:sessions()
    assert.equal(1, order("expire", "w1.1", sessions[#sessions]))
    local upto = seen(2):match("^0 w1%.1 ending accepted\n(%d+) w1%.1 ended accepted\n$")
    assert.is_true(tonumber(upto) >= token)
    wait.eventually(function() return not lock:is_held() end)
    assert.is_true(assert(lock:acquire(PATIENCE)) > tonumber(upto))
  end)
end)

describe("chaos's testbed #once", function()
  it("deletes nodes whose successor has been inside, and no others", function()
    local zk, store = server.shared(), resource.start()
    local client = assert(zklock.connect(zk.hosts, { identifier = "w1.1" }))
    local tree, path = inspector.connect(zk.hosts), "/chaos_spec/ghosts"
    local lock = client:mutex(path)
    local token = assert(lock:acquire(60))
    local parts = folder.new("history")
    local set = setmetatable({ cluster = { hosts = zk.hosts, servers = { zk } },
      places = { { path = path, store = store } }, told = history.open(parts, "servers") }, testbed)
    local writer = resource.open(store.address)
    assert.is_true(writer:enter(fence.of(token, 1), "w1.1/0"))
    assert.is_true(writer:join(fence.of(token + 1, 0), "w1.2/0"))
    assert.same({}, set:lay_ghosts(1))
    assert.is_true(writer:enter(fence.of(token + 2, 0), "w1.1/9"))
    assert.same({}, set:lay_ghosts(0.1))
    assert.is_true(writer:enter(fence.of(token + 3, 0), "w1.3/0"))
    local ghosts = set:lay_ghosts(0.1)
    assert.matches(("of w1.1, token %d, but %d"):format(token, token + 3), ghosts[1])
    assert.is_nil(ghosts[2])
    local taken = assert(io.open(parts .. "/servers")):read("*a")
    assert.matches(('^{"event":"taken","process":"w1.1","from":%%d+,"token":%d}\n$'):format(token), taken)
    assert.same({}, nodes.list(tree, path))
    for _, one in ipairs { writer, tree, client, store } do one:close() end
  end)

  --- Two servers with the same nodes, and the zxid of the latest one.
  local function twins(paths)
    local list, token = { server.start(), server.start() }, nil
    finally(function()
      for _, one in ipairs(list) do one:stop() end
    end)
    local tree = inspector.connect(list[1].hosts)
    for _, path in ipairs(paths) do
      assert(tree:create(path, "w1.1", { parents = true }))
      token = assert(tree:exists(path)).czxid
    end
    tree:close()
    for _, one in ipairs(list) do one:kill() end
    list[2]:restore(list[1]:back_up())
    for _, one in ipairs(list) do
      one:launch()
      one:await()
    end
    return list[1], list[2], token
  end

  it("deletes nodes whose deletion the servers have committed, and no others", function()
    local directory, paths = "/chaos_spec/undone", {}
    for i = 1, 3 do
      paths[i] = ("%s/_c_01234567-0123-4123-8123-0123456789ab-lock-%010d"):format(directory, i)
    end
    local ahead, behind, token = twins(paths)
    local tree, rest = inspector.connect(ahead.hosts), inspector.connect(behind.hosts)
    local here, elsewhere = resource.start(), resource.start()
    local writer = resource.open(elsewhere.address)
    local set = setmetatable({ cluster = { hosts = behind.hosts, servers = { behind, ahead } },
      places = { { path = directory, store = here }, { path = "/chaos_spec/elsewhere", store = elsewhere } } }, testbed)
    assert.same({}, set:lay_ghosts(0)) -- nobody has deleted them
    assert(tree:delete(paths[1]))
    local client = assert(zklock.connect(ahead.hosts))
    assert(client:multi({ { "create", "/chaos_spec/other", "" }, { "delete", paths[2] } }, 60))
    assert(client:close())
    assert(tree:create("/chaos_spec/later", ""))
    local later = assert(tree:exists("/chaos_spec/later")).czxid
    assert.is_true(writer:enter(fence.of(token, 0), "w1.2/0"))
    assert.same({}, set:lay_ghosts(0)) -- nobody knows that this was committed
    assert.is_true(writer:enter(fence.of(later, 0), "w1.3/0"))
    for _, one in ipairs { behind, ahead } do
      set.cluster.servers = { one }
      assert.same({}, set:lay_ghosts(0)) -- it has not deleted them; or does not show them
    end
    set.cluster.servers = { behind, ahead }
    local ghosts = set:lay_ghosts(0)
    table.sort(ghosts)
    assert.equal(2, #ghosts)
    for i, ghost in ipairs(ghosts) do
      assert.matches(paths[i] .. " of w1.1, token ", ghost, 1, true)
      assert.matches((" has deleted it, and %d has been inside"):format(later), ghost, 1, true)
    end
    assert.same({ paths[3]:match("[^/]*$") }, rest:children(directory))
    for _, one in ipairs { tree, rest, writer, here, elsewhere } do one:close() end
  end)

  it("reads which nodes a server has deleted, and no further than it has written", function()
    local function written(zxid, op, body)
      local text = wire.long(1) .. wire.int(1) .. wire.long(zxid) .. wire.long(0) .. wire.int(wire.ops[op]) .. body
      return wire.long(0) .. wire.frame(text) .. "B"
    end
    local paths = { "/a", "/b", "/c", "/d", "/e" }
    local several = wire.int(2) .. wire.int(wire.ops.create) .. wire.buffer(wire.buffer("/a"))
      .. wire.int(wire.ops.delete) .. wire.buffer(wire.buffer("/c"))
    local older = written(0x100000001, "delete", wire.buffer("/a")) .. written(0x100000002, "delete", wire.buffer("/b"))
    local later = written(0x100000003, "closeSession", wire.int(2) .. wire.buffer("/b") .. wire.buffer("/d"))
      .. written(0x100000004, "closeSession", "") .. written(0x100000005, "setData", wire.buffer("/e"))
      .. written(0x100000006, "multi", several)
    local last = written(0x100000007, "delete", wire.buffer("/e"))
    local wanted = {}
    for i, path in ipairs(paths) do wanted[path] = { token = i } end
    for _, tail in ipairs { "", last:sub(1, -8), ("\0"):rep(512) } do
      local log = folder.new("log")
      write_file(log .. "/log.100000001", ("h"):rep(16) .. older)
      write_file(log .. "/log.100000003", ("h"):rep(16) .. later .. tail)
      write_file(log .. "/snapshot.100000002", last)
      assert.same({ ["/a"] = 0x100000001, ["/b"] = 0x100000003, ["/c"] = 0x100000006, ["/d"] = 0x100000003 },
        transactions.deletions(log, wanted))
    end
    assert.same({}, transactions.deletions(folder.new("log"), wanted))
    local log = folder.new("log")
    write_file(log .. "/log.100000001", ("h"):rep(16) .. older .. last)
    assert.same({ ["/e"] = 0x100000007 }, transactions.deletions(log, { ["/b"] = { token = 0x100000002 }, -- a later one
      ["/e"] = { token = 7 } }))
    local others = { ["/a"] = 0x100000001, ["/b"] = 0x100000000, ["/e"] = 0x100000009 }
    assert.same({ ["/a"] = 0x100000001, ["/b"] = 0x100000002, ["/e"] = 0x100000009 },
      transactions.deletions(log, wanted, others))
  end)

  --- Makes a node at a server, and changes it until that is later than `after`.
  ---@return integer mzxid
  local function change(zk, path, after)
    local tree = inspector.connect(zk.hosts)
    local stat
    assert(tree:create(path, "0", { parents = true }))
    repeat stat = assert(tree:set(path, "1")) until stat.mzxid > after
    tree:close()
    return stat.mzxid
  end

  it("excuses a watch that was told what one server has after what another has, and nothing else", function()
    local behind, ahead, path = server.start(), server.shared(), "/chaos_spec/split"
    finally(function() behind:stop() end)
    local older = change(behind, path, 0)
    local newer = change(ahead, path, older)
    local function sort_out(servers, text)
      return testbed.sort_out({ cluster = { servers = servers } }, { text })
    end
    local both, back = { behind, ahead }, "w1.1: a watch of %s was told of %d after %d"
    local still = "w1.1: a watch of %s was not told of %d, but of %d"
    for _, text in ipairs { back:format(path, older, newer), still:format(path, newer, older) } do
      local rest, splits = sort_out(both, text)
      assert.same({}, rest)
      assert.same({ ("%s; the servers have %d, %d"):format(text, older, newer) }, splits)
      for _, zk in ipairs(both) do assert.same({ { text }, {} }, { sort_out({ zk, zk }, text) }) end
    end
    for _, text in ipairs {
      back:format(path, older - 1, newer), -- no server has what it was told
      back:format(path, older, newer + 1), -- or what it had been told before
      back:format("/chaos_spec/elsewhere", older, newer),
      still:format(path, newer + 1, older),
      ("w1.1: a watch of %s was told of 7 as version 6"):format(path),
      "w1.1: ended by itself",
    } do
      assert.same({ { text }, {} }, { sort_out(both, text) })
    end
  end)

  it("keeps what the servers had on their disks", function()
    local zk, path = server.start(), folder.new("kept")
    finally(function() zk:stop() end)
    change(zk, "/chaos_spec/kept", 0)
    testbed.keep({ cluster = { servers = { zk } } }, path)
    local list = process.spawn { "tar", "-tzf", path .. "/server-1.tar.gz", env = process.PLAIN }
    assert.equal(0, list:wait(), list:stderr())
    local names = list:stdout()
    for _, name in ipairs { "^log\n", "\ndata/version%-2/log%.%x+\n" } do assert.matches(name, names) end
  end)
end)

describe("chaos's record #once", function()
  local kept, place, at

  before_each(function()
    kept = record.new()
    kept:fault("cut, proxy %d", 1)
    kept:fault("kill, worker %s", "w2.1")
    at = kept.faults[1].at
    local lines = { "0 w1.1/0 ask accepted %d 0", "5 w1.1/0 enter accepted %d 9", "5 w1.1/0 gone accepted",
      "0 w2.1/0 ask accepted %d 0" }
    for i, line in ipairs(lines) do lines[i] = line:format(at - 2500 + 1000 * i) end
    place = { path = "/chaos/1", store = { path = folder.file("log", table.concat(lines, "\n") .. "\n") } }
  end)

  local function without_times(lines)
    for i, line in ipairs(lines) do lines[i] = line:match("^ *[%d.]+  (.*)$"):gsub(" %d+ %d+$", "") end
    return lines
  end

  it("tells what was before a line of a resource's log, and the faults meanwhile", function()
    kept.faults[2].at = at + 1e6
    assert.same({ "0 w1.1/0 ask accepted", "5 w1.1/0 enter accepted", "5 w1.1/0 gone accepted", "fault: cut, proxy 1",
      "0 w2.1/0 ask accepted" }, without_times(kept:around(place, 4)))
    assert.same({ "0 w1.1/0 ask accepted", "5 w1.1/0 enter accepted" }, without_times(kept:around(place, 2)))
  end)

  it("tells what a worker did, and what was done to it", function()
    kept.faults[2].at = at + 1e6
    local function about(worker) return table.concat(kept:about({ place }, worker), "\n") end
    assert.matches("^ *[%d.]+  0 w2%.1/0 ask accepted %d+ 0   /chaos/1\n *[%d.]+  fault: kill, worker w2%.1$",
      about "w2.1")
    assert.matches("ask.*enter.*gone accepted   /chaos/1\n *[%d.]+  fault: cut, proxy 1$", about "w1.1")
    assert.equal("", about "w3.1")
  end)

  it("keeps it all in files", function()
    local path = folder.new("kept") .. "/chaos/7"
    kept:keep({ place }, path)
    local files = { ["faults.log"] = "cut, proxy 1\n.*kill, worker w2%.1\n", ["1.log"] = "ask.*enter.*gone" }
    for name, text in pairs(files) do
      local file = assert(io.open(path .. "/" .. name))
      assert.matches(text, file:read("*a"))
      file:close()
    end
  end)
end)

describe("chaos's report #once", function()
  --- Whether it finds a run good that was good but for these changes, and its output.
  local function check(change)
    local kept = record.new()
    kept:fault("cut, proxy %d", 2)
    local log = folder.file("log", ("0 w2.1/0 ask accepted %d 0\n"):format(kept.faults[1].at))
    local run = { seed = 7, minutes = 4, share = 0.5, sum = 500, orphans = {}, ghosts = {}, splits = {}, record = kept,
      folder = folder.new("report"), crew = { lost_waiters = {}, complaints = {} },
      testbed = { places = { { path = "/chaos/1", store = { path = log } } }, keep = function() end } }
    local verdict = { grants = 500, stale = 0, overlaps = 0, count = 0, violations = {} }
    change(run, verdict)
    local path = folder.file("printed", "")
    local before = io.output()
    io.output(path)
    local ok, good = pcall(report.check, run, verdict)
    io.output():close()
    io.output(before)
    assert(ok, good)
    local file = assert(io.open(path))
    local text = file:read("*a")
    file:close()
    return good, text
  end

  it("finds a sound run good", function()
    local good, text = check(function() end)
    assert.is_true(good)
    assert.matches("8 passed, 0 failed\n$", text)
    assert.is_nil(text:find("SEED", 1, true))
  end)

  it("finds a run good whose servers disagreed, says so, and keeps what they had", function()
    local kept
    local good, text = check(function(run)
      run.splits[1] = "a watch"
      run.testbed.keep = function(_, path) kept = path == run.folder end
    end)
    assert.is_true(good)
    assert.is_true(kept)
    assert.matches("the servers disagree: a watch\n", text, 1, true)
  end)

  it("finds whatever should not be, and says how to have it again", function()
    for _, change in ipairs {
      function(run) run.sum = 499 end,
      function(_, verdict) verdict.grants = 499 end,
      function(_, verdict) verdict.stale = 1 end,
      function(_, verdict) verdict.overlaps = 1 end,
      function(_, verdict) verdict.count = 1 end,
      function(run) run.orphans[1] = "a node" end,
      function(run) run.crew.lost_waiters[1] = "somebody" end,
      function(run) run.crew.complaints[1] = "something" end,
    } do
      local good, text = check(change)
      assert.is_false(good)
      assert.matches("make chaos SEED=7 MINUTES=4\n7 passed, 1 failed\n$", text)
    end
  end)

  it("demands of jobs that somebody is always at work, and that epochs grow", function()
    local found
    local function with_jobs(change)
      return check(function(run, verdict)
        found = { silences = {}, epochs = {}, written = 3, longest = 1 }
        verdict.jobs, run.least = found, { faults = 250, grants = 250 }
        change(run)
      end)
    end
    local good, text = with_jobs(function() end)
    assert.is_true(good)
    assert.matches("10 passed, 0 failed\n$", text)
    for _, change in ipairs {
      function() found.silences[1] = "nobody" end, function() found.epochs[1] = "it fell" end,
      function() found.written = 0 end, function(run) run.least.faults = 251 end,
    } do
      good, text = with_jobs(change)
      assert.is_false(good)
      assert.matches("9 passed, 1 failed\n$", text)
    end
  end)

  it("names the kind of run", function()
    local _, text = check(function(run) run.kind, run.sum = "armfuls", 0 end)
    assert.matches("make chaos SEED=7 MINUTES=4 KIND=armfuls\n", text, 1, true)
  end)

  it("shows what went before", function()
    local _, text = check(function(run) run.crew.lost_waiters[1] = "w2.1/0 waited" end)
    assert.matches("before w2%.1/0 waited\n.*w2%.1/0 ask accepted.*fault: cut, proxy 2\n", text)
    _, text = check(function(_, verdict) verdict.count, verdict.violations = 1, { "/chaos/1, line 1: wrong" } end)
    assert.matches("before /chaos/1, line 1: wrong\n.*w2%.1/0 ask accepted", text)
  end)
end)
