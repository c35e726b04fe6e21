-- SPDX-License-Identifier: MIT
--- A process that is stopped (SIGSTOP) while it holds or waits, and goes on later.
--
-- It stops itself, so that what comes next in its script is the very first thing that it does when it goes on.

local fixture = require "spec.support.fixture"
local host = require "spec.support.host"
local judge = require "spec.support.judge"
local proxy = require "spec.support.proxy"
local resource = require "spec.support.resource"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE

describe("a process that is stopped #slow", function()
  local here = fixture.new("/stopped")
  local client, store, path, sleeper

  setup(function() client = here:connect { session_timeout = 30 } end)

  before_each(function() path, store = here.path, here:closes(resource.start()) end)

  after_each(function() sleeper:kill() end)

  local PROLOGUE = [[
    local hosts, path, address, session_timeout = arg[1], arg[2], arg[3], tonumber(arg[4])
    local zklock = require "zklock"
    local writer = require "spec.support.resource".open(address)
    local losses = {}
    local client = assert(zklock.connect(hosts, { session_timeout = session_timeout, connect_timeout = 30 }))
    local lock = client:mutex(path)
    lock:on_lost(function(err, owner, token) losses[#losses + 1] = { err, owner, token } end)
    local function say(...)
      print(...)
      io.stdout:flush()
    end
    local function goes_in()
      writer:ask("sleeper")
      local token = assert(lock:acquire(60, "me"))
      assert(writer:enter(token, "sleeper"))
      print(lock:is_held("me"), lock:validity("me") > 0) -- a look that must not be the last word
      return token
    end
  ]]

  local function start(code, hosts, session_timeout)
    sleeper = host.spawn({ PROLOGUE .. code }, { hosts, path, store.address, session_timeout })
  end

  local function says(line) assert.equal(line, (sleeper:read_line(PATIENCE) or sleeper:stderr())) end

  local function sleeps(holds)
    if holds then says("true\ttrue") end
    says("inside")
    assert.is_true(sleeper:await_stop())
  end

  --- Another one has its turn, and stays inside.
  local function overtake()
    local writer = resource.open(store.address)
    writer:ask("other")
    local token = assert(client:mutex(path):acquire(PATIENCE))
    assert.is_true(writer:enter(token, "other"))
    return function()
      assert.is_true(writer:write(token, "other"))
      assert.is_true(writer:leave(token, "other"))
      assert.is_true(client:mutex(path):release())
      writer:close()
    end
  end

  local function nothing_left()
    here:becomes(0)
    return judge.demand(store:judge { faults = true })
  end

  it("past its session timeout sees at its first look that it does not hold, is refused, and is told", function()
    start([[
      local token = goes_in()
      say("inside")
      host.stop()
      local held, validity = lock:is_held("me"), lock:validity("me")
      local accepted = writer:write(token, "sleeper")
      say(held, validity == 0, accepted, #losses)
      while #losses == 0 do client:poll(1) end
      writer:lost(token, "sleeper")
      say(losses[1][1], losses[1][2], losses[1][3] == token, lock:is_held("me"), lock:validity("me") == 0)
      say(lock:release("me"))
      say(lock:release("me"))
      client:poll()
      say(#losses, client:stats().lost, lock:acquire(60, "me") > token, lock:release("me"), client:flush(30))
    ]], here.zk.hosts, 2)
    sleeps(true)
    local leave = overtake()
    sleeper:continue()
    says("false\ttrue\tfalse\t0")
    says("lost\tme\ttrue\tfalse\ttrue")
    says("nil\tlost")
    says("nil\tnot owner")
    leave()
    says("1\t1\ttrue\ttrue\ttrue")
    assert.equal(0, (sleeper:wait(PATIENCE)))
    assert.equal(1, nothing_left().refusals)
  end)

  it("needs no word from any server to see it", function()
    local faulty = proxy.start(here.zk.hosts)
    start([[
      local token = goes_in()
      say("inside")
      host.stop()
      local held, validity = lock:is_held("me"), lock:validity("me")
      local accepted = writer:write(token, "sleeper")
      say(held, validity == 0, accepted)
      say(lock:acquire(0.05, "me"))
      client:poll(0.05)
      say(lock:is_held("me"), lock:validity("me") == 0, #losses)
      say(lock:acquire(60, "me"))
    ]], faulty.hosts, 2)
    sleeps(true)
    faulty:black_hole()
    local leave = overtake()
    sleeper:continue()
    says("false\ttrue\tfalse")
    local answer = sleeper:read_line(PATIENCE)
    assert.is_true(answer == "nil\ttimeout" or answer:find("^nil\tdisconnected") ~= nil, answer)
    says("false\ttrue\t0")
    faulty:refuse()
    faulty:cut()
    faulty:heal()
    says("nil\tlost") -- a reentrant acquire with validity 0 waits to hear
    assert.equal(0, (sleeper:wait(PATIENCE)))
    leave()
    nothing_left()
    faulty:close()
  end)

  it("inside `with` past its session timeout does not answer true when another one held meanwhile", function()
    start([[
      local answer = { lock:with(30, function()
        say("inside")
        host.stop()
        return "done"
      end) }
      say(answer[1], answer[2], answer[3])
      while #losses == 0 do client:poll(1) end
      say(#losses, client:stats().lost)
    ]], here.zk.hosts, 2)
    sleeps()
    local leave = overtake()
    leave()
    sleeper:continue()
    local said = sleeper:read_line(PATIENCE) or sleeper:stderr()
    -- The client may have found out by then.
    assert.is_true(said == "nil\tunknown\tdone" or said == "nil\tlost\tdone", said)
    says("1\t1")
    assert.equal(0, (sleeper:wait(PATIENCE)))
    nothing_left()
  end)

  it("for less than its session timeout still holds", function()
    start([[
      local token = goes_in()
      say("inside")
      host.stop()
      say(lock:token("me") == token, writer:write(token, "sleeper"), writer:leave(token, "sleeper"), lock:release("me"))
      say(client:flush(30), #losses)
    ]], here.zk.hosts, 30)
    sleeps(true)
    assert.same({ nil, "timeout" }, { client:mutex(path):acquire(0) })
    sleeper:continue()
    says("true\ttrue\ttrue\ttrue")
    says("true\t0")
    assert.equal(0, (sleeper:wait(PATIENCE)))
    assert.equal(0, nothing_left().refusals)
  end)

  it("while it waits does not hold up others, and queues anew when it goes on", function()
    local leave = overtake()
    start([[
      local answers = {}
      writer:ask("sleeper")
      lock:request(60, function(got, err) answers[#answers + 1] = { got, err } end)
      while #lock:participants(60) < 2 do client:poll(0.01) end
      say("inside")
      host.stop()
      while #answers == 0 do client:poll(1) end
      local token = assert(answers[1][1], answers[1][2])
      say("has it", writer:enter(token, "sleeper"), writer:leave(token, "sleeper"), client:stats().sessions > 1)
      client:close()
      say(#answers)
    ]], here.zk.hosts, 1)
    sleeps()
    wait.eventually(function() return #here.tree:children(path) == 1 end, PATIENCE, "the end of its node")
    leave()
    leave = overtake()
    sleeper:continue()
    wait.eventually(function() return #here.tree:children(path) == 2 end, PATIENCE, "its new node")
    leave()
    says("has it\ttrue\ttrue\ttrue")
    says("1")
    assert.equal(0, (sleeper:wait(PATIENCE)))
    assert.equal(0, nothing_left().refusals)
  end)
end)
