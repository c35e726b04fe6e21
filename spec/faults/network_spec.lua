-- SPDX-License-Identifier: MIT
--- The behaviour of a lock when the network fails at the worst moment.

local fixture = require "spec.support.fixture"
local proxy = require "spec.support.proxy"
local session = require "spec.support.session"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local SESSION = 30 -- seconds: no fault here lasts as long, so nothing is lost
local PATIENCE = wait.PATIENCE

describe("with a faulty network", function()
  local here = fixture.new("/fault", { session_timeout = SESSION })
  local tree, faulty, client, direct, lock, path

  setup(function() tree, direct, faulty = here.tree, here:connect(), here:proxy() end)

  before_each(function()
    path = here.path
    client = here:connect_to(faulty.hosts, { connect_timeout = PATIENCE })
    lock = client:mutex(path)
  end)

  --- Acquires once, so that the path is there, and nothing but the lock itself goes over the wire. With data in its
  --- directory the next acquire is a "create2" and a list; without, it is a "multi" that needs none.
  local function warm_up(op)
    if op == "create2" then assert(tree:create(path, "data", { parents = true })) end
    assert(lock:acquire(PATIENCE))
    assert.is_true(lock:release())
    assert.is_true(client:flush(PATIENCE))
    faulty:reset()
  end

  local function suspend()
    faulty:refuse()
    faulty:cut()
    wait.eventually(function() return client:state() == "suspended" end)
  end

  --- A request that waits behind `direct`, and a list of what its callback heard.
  local function waiting_request(timeout)
    assert(direct:mutex(path):acquire(PATIENCE))
    local list = {}
    local request = lock:request(timeout, function(got, err) list[#list + 1] = { got, err } end)
    here:becomes(2)
    return request, list
  end

  local function is_alone_and_held(token)
    local names = here:nodes()
    assert.equal(1, #names)
    assert.equal(tree:exists(path .. "/" .. names[1]).czxid, token)
    assert.is_true(lock:is_held())
    assert.equal(token, lock:token())
  end

  for op in pairs { [proxy.CREATE] = true, [proxy.TAKE] = true } do describe("a create by " .. op, function()
    it("whose reply is lost has made one node, which is adopted #carried", function()
      warm_up(op)
      faulty:lose_reply(op)
      is_alone_and_held(assert(lock:acquire(PATIENCE)))
      assert.equal(1, faulty:counts()[op])
      assert.is_true(lock:release())
      assert.is_true(client:flush(PATIENCE))
      assert.same({}, here:nodes())
    end)

    it("whose reply is lost keeps its place in the line #carried", function()
      warm_up(op)
      assert(direct:mutex(path):acquire(PATIENCE))
      faulty:lose_reply(op)
      local granted
      local request = lock:request(PATIENCE, function(token) granted = token end)
      here:becomes(2)
      local third = direct:mutex(path):request(PATIENCE, function() end)
      here:becomes(3)
      assert.is_true(direct:mutex(path):release())
      here:eventually(function() return granted end)
      direct:poll()
      assert.equal("waiting", third:state())
      assert.is_true(request:release())
      wait.eventually(function()
        direct:poll(0.02)
        return third:state() == "held"
      end)
      third:release()
      here:becomes(0)
    end)

    it("that never arrived is made again", function()
      warm_up(op)
      faulty:cut_before(op)
      is_alone_and_held(assert(lock:acquire(PATIENCE)))
      lock:release()
      here:becomes(0)
    end)

    it("whose link broke before the reply is made once #carried", function()
      warm_up(op)
      for _ = 1, 3 do
        faulty:cut_after(op)
        is_alone_and_held(assert(lock:acquire(PATIENCE)))
        lock:release()
        here:becomes(0)
      end
    end)

    it("that is answered after its caller gave up is deleted", function()
      warm_up(op)
      faulty:hold_reply(op)
      assert.same({ nil, "timeout" }, { lock:acquire(0.2) })
      here:becomes(1)
      faulty:heal()
      here:becomes(0)
      assert.equal("connected", client:state())
      assert.equal(1, client:stats().sessions)
    end)

    it("whose reply was lost after its caller gave up is found and deleted #carried", function()
      warm_up(op)
      faulty:lose_reply(op)
      faulty:refuse()
      local _, err = lock:acquire(0.2)
      assert.is_true(err == "disconnected" or err == "timeout", err) -- busy servers may not have answered by then
      wait.eventually(function() return client:state() == "suspended" end)
      here:becomes(1)
      faulty:heal()
      here:becomes(0)
      assert.equal(1, client:stats().sessions)
      is_alone_and_held(assert(lock:acquire(PATIENCE)))
    end)

    it("whose reply was lost after its request was cancelled is found and deleted #carried", function()
      warm_up(op)
      faulty:hold_reply(op)
      local list = {}
      local request = lock:request(nil, function(got, err) list[#list + 1] = { got, err } end)
      here:becomes(1)
      request:cancel()
      here:eventually(function() return #list > 0 end)
      assert.same({ { nil, "cancelled" } }, list)
      faulty:refuse()
      faulty:cut()
      faulty:heal()
      here:becomes(0)
      assert.equal(1, client:stats().sessions)
    end)

    it("whose reply is lost is looked for behind a write: a server that lags would hide the node #carried", function()
      warm_up(op)
      faulty:lose_reply(op)
      assert(lock:acquire(PATIENCE))
      local again, written, listed
      for i, entry in ipairs(faulty:log()) do
        if entry.op == "connect" then again = i end
        if again and entry.op == "delete" and entry.path:find("^/zklock%-") then written = written or i end
        if again and entry.op == "getChildren2" then listed = listed or i end
      end
      assert.is_truthy(again and written and listed)
      assert.is_true(again < written and written < listed)
      assert.is_true(lock:release())
    end)

    it("that never arrived is not taken for a node that bears its name, but is another session's #carried", function()
      warm_up(op)
      faulty:hold_before(op)
      local granted
      local request = lock:request(PATIENCE, function(token) granted = token end)
      faulty:await(op)
      local name
      for _, entry in ipairs(faulty:log()) do name = entry.op == op and entry.path or name end
      local foreign = assert(tree:create(name, "", { ephemeral = true, sequence = true }))
      faulty:cut()
      faulty:heal()
      here:eventually(function() return granted end)
      assert.is_nil((tree:exists(foreign)))
      assert.equal(1, #here:nodes())
      local stat = tree:exists(path .. "/" .. here:nodes()[1])
      assert.is_true(session.same(stat.ephemeralOwner, client:session_id()))
      assert.equal(stat.czxid, granted)
      assert.equal(1, client:stats().sessions)
      assert.is_true(request:release())
      here:becomes(0)
    end)
  end) end

  describe("a create", function()
    it("whose reply is lost together with its path's goes on", function()
      faulty:lose_reply("createContainer")
      is_alone_and_held(assert(lock:acquire(PATIENCE)))
    end)
  end)

  describe("a release", function()
    it("returns at once, and its delete is repeated when the reply is lost #carried", function()
      warm_up()
      assert(lock:acquire(PATIENCE))
      faulty:lose_reply("delete")
      assert.is_true(lock:release())
      assert.is_true(client:flush(PATIENCE))
      assert.same({}, here:nodes())
      assert.equal("connected", client:state())
      is_alone_and_held(assert(lock:acquire(PATIENCE)))
    end)

    it("leaves no orphan when its delete is lost #carried", function()
      warm_up()
      for _, cut in ipairs { "cut_before", "cut_after" } do
        assert(lock:acquire(PATIENCE))
        faulty[cut](faulty, "delete")
        assert.is_true(lock:release())
        assert.is_true(client:flush(PATIENCE))
        assert.same({}, here:nodes())
      end
      assert.equal(1, client:stats().sessions)
    end)

    it("that is made without a link reaches the servers later #carried", function()
      assert(lock:acquire(PATIENCE))
      suspend()
      assert.is_true(lock:release())
      assert.is_false(lock:is_held())
      assert.same({ nil, "not owner" }, { lock:release() })
      assert.equal(1, #here:nodes())
      faulty:heal()
      assert.is_true(client:flush(PATIENCE))
      assert.same({}, here:nodes())
    end)

    it("hands over within the process also when its delete is lost #carried", function()
      assert(lock:acquire(PATIENCE))
      local granted
      local request = lock:request(PATIENCE, function(token) granted = token end)
      here:becomes(2)
      faulty:lose_reply("delete")
      assert.is_true(lock:release())
      here:eventually(function() return granted end)
      here:becomes(1)
      assert.equal(tree:exists(path .. "/" .. here:nodes()[1]).czxid, granted)
      assert.is_true(request:release())
      here:becomes(0)
    end)
  end)

  describe("a waiter", function()
    it("keeps its place when the link is cut #carried", function()
      local request, list = waiting_request(PATIENCE)
      local names = here:nodes()
      local third = direct:mutex(path):request(PATIENCE, function() end)
      here:becomes(3)
      suspend()
      faulty:heal()
      wait.eventually(function() return client:state() == "connected" end)
      assert.is_true(direct:mutex(path):release())
      here:eventually(function() return #list > 0 end)
      assert.equal(tree:exists(path .. "/" .. names[2]).czxid, list[1][1])
      direct:poll()
      assert.equal("waiting", third:state())
      assert.is_true(request:release())
      wait.eventually(function()
        direct:poll(0.02)
        return third:state() == "held"
      end)
      third:release()
      assert.equal(1, client:stats().sessions)
    end)

    it("is granted when the holder went while nobody could say so", function()
      local request, list = waiting_request(PATIENCE)
      suspend()
      assert.is_true(direct:mutex(path):release())
      assert.is_true(direct:flush(PATIENCE))
      faulty:heal()
      here:eventually(function() return #list > 0 end)
      assert.equal(request:token(), list[1][1])
      assert.is_number(list[1][1])
      request:release()
    end)

    it("is granted when what told it so was lost", function()
      for _, op in ipairs { "getData", "getChildren2" } do
        faulty:lose_reply(op)
        local request, list = waiting_request(PATIENCE)
        assert.is_true(direct:mutex(path):release())
        here:eventually(function() return #list > 0 end)
        assert.is_number(list[1][1])
        assert.is_true(request:release())
        assert.is_true(client:flush(PATIENCE))
        here:becomes(0)
      end
    end)

    it("is not granted by a lost link alone", function()
      local request, list = waiting_request(PATIENCE)
      for _ = 1, 3 do
        suspend()
        faulty:heal()
        wait.eventually(function() return client:state() == "connected" end)
        client:poll(0.05)
      end
      assert.same({}, list)
      assert.equal("waiting", request:state())
      assert.equal(2, #here:nodes())
      request:cancel()
      direct:mutex(path):release()
    end)

    it("is not granted for what went meanwhile, if its own node went, too #carried", function()
      client:close()
      client = here:connect_to(faulty.hosts, { session_timeout = 10, connect_timeout = PATIENCE })
      for i = 1, 10 do -- in which order the two are told is chance
        path = path .. "/" .. i
        here.path, lock = path, client:mutex(path)
        local request = waiting_request(PATIENCE)
        local own = here:nodes()[2]
        -- A waiter watches both: who is before it, and its own node.
        wait.eventually(function() return faulty:counts().getData >= 2 end)
        local third = direct:mutex(path):request(PATIENCE, function() end)
        here:becomes(3)
        faulty:cut_before("event")
        faulty:refuse()
        assert.is_true(tree:delete(path .. "/" .. own))
        assert.is_true(direct:mutex(path):release())
        wait.eventually(function()
          direct:poll(0.02)
          return third:state() == "held"
        end)
        faulty:heal()
        here:becomes(2) -- in line again
        assert.equal("waiting", request:state())
        assert.equal(0, client:stats().held)
        assert.is_true(third:release())
        here:eventually(function() return request:state() == "held" end)
        assert.is_true(request:release())
        here:becomes(0)
        faulty:reset()
      end
      assert.equal(1, client:stats().sessions)
    end)

    it("without a link answers 'disconnected' at its deadline, and its node goes later #carried", function()
      assert(direct:mutex(path):acquire(PATIENCE))
      local timeout, request, list = 0.75
      repeat -- a busy machine needs more time until the link is gone
        faulty:heal()
        here:becomes(1)
        timeout = 2 * timeout
        request, list = here:ask(lock, timeout)
        here:eventually(function() return #here:nodes() == 2 or #list > 0 end)
        suspend()
        client:poll()
      until #list == 0
      assert.equal("disconnected", (select(2, lock:acquire(0.1))))
      assert.equal("disconnected", (select(2, lock:acquire(0))))
      here:eventually(function() return #list > 0 end)
      assert.same({ { nil, "disconnected" } }, list)
      assert.equal("failed", request:state())
      assert.equal(2, #here:nodes())
      faulty:heal()
      here:becomes(1)
      direct:mutex(path):release()
    end)

    it("that only tries is answered when its link is lost, and its node goes later #carried", function()
      warm_up()
      assert(direct:mutex(path):acquire(PATIENCE))
      faulty:lose_reply("multi")
      faulty:refuse()
      local list = {}
      lock:request(0, function(got, err) list[#list + 1] = { got, err } end)
      here:eventually(function() return #list > 0 end)
      assert.same({ { nil, "disconnected" } }, list)
      assert.equal(2, #here:nodes())
      faulty:heal()
      here:becomes(1)
      direct:mutex(path):release()
    end)

    it("is cancelled without a link, and its node goes later #carried", function()
      local request, list = waiting_request(nil)
      suspend()
      request:cancel()
      here:eventually(function() return #list > 0 end)
      assert.same({ { nil, "cancelled" } }, list)
      faulty:heal()
      here:becomes(1)
      direct:mutex(path):release()
    end)

    it("may begin without a link, if it comes in time", function()
      suspend()
      local list = {}
      local request = lock:request(PATIENCE, function(got, err) list[#list + 1] = { got, err } end)
      client:poll(0.05)
      assert.same({}, list)
      faulty:heal()
      here:eventually(function() return #list > 0 end)
      assert.equal(request:token(), list[1][1])
    end)
  end)

  describe("a black hole", function()
    it("does not hold up those calls that need no answer", function()
      assert(lock:acquire(PATIENCE))
      faulty:black_hole()
      assert.equal(lock:token(), lock:acquire(0))
      assert.is_true(lock:release())
      assert.is_true(lock:release())
      assert.is_false(lock:is_held())
      assert.equal(0, client:poll())
      assert.same({ nil, "timeout" }, { client:flush(0.05) })
      faulty:heal()
      assert.is_true(client:flush(PATIENCE))
      assert.same({}, here:nodes())
    end)

    it("does not hold up an acquire beyond its deadline", function()
      warm_up()
      faulty:black_hole()
      assert.same({ nil, "timeout" }, { lock:acquire(0.1) })
      assert.same({ nil, "timeout" }, { lock:participants(0.1) })
      faulty:heal()
      is_alone_and_held(assert(lock:acquire(PATIENCE)))
    end)
  end)

  describe("a slow network", function()
    it("costs an acquire one round trip, and a release none #zookeeper", function()
      warm_up()
      local calm = assert(zklock.connect(faulty.hosts, { session_timeout = 60, connect_timeout = PATIENCE }))
      local ours = calm:mutex(path)
      client:close()
      faulty:delay(0.02)
      for _ = 1, 5 do
        faulty:reset()
        assert(ours:acquire(PATIENCE))
        assert.equal(1, faulty:rounds())
        assert.is_true(ours:release())
        assert.is_true(calm:flush(PATIENCE))
        assert.equal(2, faulty:rounds())
      end
      calm:close()
    end)

    it("changes nothing for those who wait", function()
      faulty:delay(0.05)
      local request, list = waiting_request(PATIENCE)
      assert.is_true(direct:mutex(path):release())
      here:eventually(function() return #list > 0 end)
      assert.is_true(request:release())
      assert.is_true(client:flush(PATIENCE))
      assert.same({}, here:nodes())
    end)
  end)

  -- Only while a request is under way: libzookeeper 3.8 aborts the process (`assert(cptr)`) when a server answers what
  -- nobody asked.
  it("that answers with nonsense, the client finds another link #carried", function()
    warm_up()
    faulty:black_hole("to_server")
    local granted
    local request = lock:request(PATIENCE, function(token) granted = token end)
    faulty:await("multi")
    faulty:garbage()
    wait.eventually(function() return client:state() == "suspended" end)
    faulty:heal()
    here:eventually(function() return granted end)
    local names = here:nodes()
    assert.equal(1, #names)
    assert.equal(tree:exists(path .. "/" .. names[1]).czxid, granted)
    assert.is_true(request:release())
    assert.is_true(client:flush(PATIENCE))
    assert.same({}, here:nodes())
    assert.equal(1, client:stats().sessions)
  end)
end)
