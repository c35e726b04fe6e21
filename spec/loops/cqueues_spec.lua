-- SPDX-License-Identifier: MIT
--- The peculiarity of the adapter for cqueues: of its loops there may be many.

local condition = require "cqueues.condition"
local cqueues = require "cqueues"
local collect = require "spec.support.collect"
local fixture = require "spec.support.fixture"
local queue = require "spec.support.queue"
local real_loops = require "spec.support.real_loops"
local socket = require "socket"
local uv = require "luv"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local yields_across_pcall = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

describe("with cqueues", function()
  local here = fixture.new("/cqueues")
  local other, path, line, client

  setup(function() other = here:second_process() end)

  before_each(function()
    path = here.path
    line = queue.at(here.tree, path)
    client = here:connect { loop = "cqueues" }
  end)

  --- The controller's `loop`, for 20 s at most; true when it has come to its end.
  local function loop_to_end(controller)
    assert(controller:loop(PATIENCE))
    return controller:empty()
  end

  --- A client that was made in a controller.
  local function connect_in(controller)
    local home
    controller:wrap(function() home = assert(zklock.connect(here.zk.hosts, { loop = "cqueues" })) end)
    wait.eventually(function()
      assert(controller:step(0.02))
      return home
    end)
    return home
  end

  it("a client that was made outside waits in any controller and keeps none going", function()
    for _ = 1, 2 do
      local controller, done = cqueues.new(), 0
      for _ = 1, 3 do
        controller:wrap(function()
          local lock = client:mutex(path)
          assert(lock:acquire(PATIENCE))
          cqueues.sleep(0.01)
          assert(lock:release())
          done = done + 1
        end)
      end
      assert.is_true(loop_to_end(controller))
      assert.equal(3, done)
    end
  end)

  it("coroutines of two controllers take turns at one client's lock", function()
    local loops, order = { real_loops.of_cqueues(), real_loops.of_cqueues() }, {}
    assert(other:acquire(path, PATIENCE))
    for i, loop in ipairs(loops) do
      for _ = 1, 3 do
        loop.spawn(function()
          local lock = client:mutex(path)
          assert(lock:acquire(PATIENCE))
          order[#order + 1] = i
          assert(lock:release())
        end)
      end
    end
    loops[1].run(function() return client:stats().waiting == 3 end)
    loops[2].run(function() return client:stats().waiting == 6 end)
    assert(other:release(path))
    loops[2].run(function()
      loops[1].turn()
      return #order == 6
    end)
    table.sort(order)
    assert.same({ 1, 1, 1, 2, 2, 2 }, order)
    assert.is_true(loop_to_end(loops[1].controller))
    assert.is_true(loop_to_end(loops[2].controller))
  end)

  it("a client that was made in a controller keeps it going until it is closed, and others not", function()
    local controller = cqueues.new()
    local home = connect_in(controller)
    assert(controller:step(0.02))
    assert.is_false(controller:empty())
    controller:wrap(function()
      local inner, token = cqueues.new(), nil
      inner:wrap(function() token = assert(home:mutex(path):acquire(PATIENCE)) end)
      assert.is_true(loop_to_end(inner))
      assert.is_number(token)
      home:close()
    end)
    assert.is_true(loop_to_end(controller))
    assert.equal("closed", home:state())
  end)

  it("callbacks run in the controller that the client was made in, whichever has taken the news", function()
    if not yields_across_pcall then return pending("plain 5.1 has the callbacks in coroutines of their own") end
    local controller, elsewhere, place = cqueues.new(), cqueues.new(), nil
    local home = connect_in(controller)
    local request = home:mutex(path):request(PATIENCE, function()
      cqueues.sleep(0.01)
      place = cqueues.running()
    end)
    elsewhere:wrap(function() assert(home:mutex(path .. "-2"):acquire(PATIENCE)) end)
    elsewhere:wrap(function()
      while request:state() == "waiting" do cqueues.sleep(0.01) end
    end)
    assert.is_true(loop_to_end(elsewhere))
    assert.is_nil(place)
    wait.eventually(function()
      assert(controller:step(0.02))
      return place
    end)
    assert.equal(controller, place)
    controller:wrap(function() home:close() end)
    assert.is_true(loop_to_end(controller))
  end)

  it("a controller that is dropped goes, also when it is a living client's home", function()
    assert(other:acquire(path, PATIENCE))
    local controller = cqueues.new()
    local home = connect_in(controller)
    controller:wrap(function() home:mutex(path):acquire() end)
    wait.eventually(function()
      assert(controller:step(0.02))
      return home:stats().waiting == 1
    end)
    controller = nil -- luacheck: ignore 311
    wait.eventually(function()
      collect()
      return home:stats().waiting == 0
    end)
    assert(other:release(path))
    assert.is_number(home:mutex(path):acquire(PATIENCE))
    home:close()
  end)

  --- A descriptor that is watched no more is closed, and another one polled. `same`: it has the same number.
  local function poll_after_close()
    local adapter = require "zklock.loop.cqueues"
    local controller, is_over = cqueues.new(), condition.new()
    local unwatch, first, second, heard
    local function open() return uv.pipe({ nonblock = true }, { nonblock = true }) end
    first = open()
    controller:wrap(function()
      unwatch = adapter.watch({ getfd = function() return first.read end }, function() end)
    end)
    controller:wrap(function()
      is_over:wait()
      uv.fs_close(first.read)
      uv.fs_close(first.write)
      second = open()
      uv.fs_write(second.write, "news", -1)
      local link = { pollfd = second.read, events = "r" }
      heard = cqueues.poll(link, PATIENCE) == link
      cqueues.cancel(second.read)
    end)
    assert(controller:step(0))
    assert(controller:step(0))
    is_over:signal() -- who is told first runs last: in the same step, in which cqueues has not looked round yet
    unwatch()
    assert.is_true(loop_to_end(controller))
    assert.is_true(heard)
    uv.fs_close(second.read)
    uv.fs_close(second.write)
    return first.read == second.read
  end

  it("a descriptor that is watched no more may be closed, and its number polled for something else", function()
    -- A thread of a client that is just being closed may take the number.
    wait.eventually(poll_after_close, PATIENCE, "the same number")
  end)

  it("callbacks still run when the controller that the client was made in has been closed", function()
    local controller, called = cqueues.new(), nil
    local home = connect_in(controller)
    controller:close()
    local second = cqueues.new()
    second:wrap(function()
      home:mutex(path):request(PATIENCE, function() called = true end)
      while not called do home:poll(0.05) end
      home:close()
    end)
    assert.is_true(loop_to_end(second))
    assert.is_true(called)
  end)

  it("a controller that is dropped while a coroutine of it waits leaves no node behind", function()
    assert(other:acquire(path, PATIENCE))
    local controller = cqueues.new()
    controller:wrap(function() client:mutex(path):acquire() end)
    wait.eventually(function()
      assert(controller:step(0.02))
      return client:stats().waiting == 1
    end)
    line:becomes(2)
    controller = nil -- luacheck: ignore 311
    wait.eventually(function()
      collect()
      return #line:names() == 1
    end)
    assert.equal(0, client:stats().waiting)
    assert(other:release(path))
  end)

  it("a coroutine that is not the controller's own waits, too, but holds up the others", function()
    assert(other:acquire(path, PATIENCE))
    local controller, answer = cqueues.new(), nil
    controller:wrap(coroutine.wrap(function() answer = { client:mutex(path):acquire(0.1) } end))
    assert.is_true(loop_to_end(controller))
    assert.same({ nil, "timeout" }, answer)
    assert(other:release(path))
  end)

  it("an error that is raised into a wait leaves no node behind, and nobody watching", function()
    if rawget(_G, "jit") or not yields_across_pcall then return pending("its hooks are not of a coroutine") end
    assert(other:acquire(path, PATIENCE))
    local controller, thread = cqueues.new(), nil
    controller:wrap(function()
      thread = coroutine.running()
      client:mutex(path):acquire(PATIENCE)
    end)
    wait.eventually(function()
      assert(controller:step(0.02))
      return client:stats().waiting == 1
    end)
    debug.sethook(thread, function()
      debug.sethook()
      error("enough")
    end, "", 1)
    assert(other:release(path))
    local ok, err
    repeat ok, err = controller:loop(PATIENCE) until not ok or controller:empty()
    assert.is_false(ok)
    assert.matches("enough", tostring(err))
    assert.is_true(loop_to_end(controller))
    line:becomes(0)
  end)

  it("an error while events are taken is the controller's to tell, and events are taken on", function()
    local adapter = require "zklock.loop.cqueues"
    local sender, receiver = socket.udp(), socket.udp()
    assert(receiver:setsockname("127.0.0.1", 0))
    assert(sender:setpeername(receiver:getsockname()))
    receiver:settimeout(0)
    local controller, taken, unwatch = cqueues.new(), 0, nil
    controller:wrap(function()
      unwatch = adapter.watch({ getfd = function() return receiver:getfd() end }, function()
        receiver:receive()
        taken = taken + 1
        if taken == 1 then error("no memory") end
      end)
    end)
    sender:send("1")
    local ok, err
    repeat ok, err = controller:step(PATIENCE) until not ok or taken > 1
    assert.matches("no memory", tostring(err))
    sender:send("2")
    wait.eventually(function()
      assert(controller:step(0.02))
      return taken == 2
    end)
    unwatch()
    assert.is_true(loop_to_end(controller))
  end)

  it("a connect that failed leaves the loop, also when the session's end comes before its last look", function()
    local Dispatcher = require "zklock.run.dispatcher"
    local dispatch = Dispatcher.dispatch
    function Dispatcher:dispatch()
      while self.native:state() == "closed" and not self.native:ended() do socket.sleep(0.001) end
      return dispatch(self)
    end
    local controller, failed = cqueues.new(), 0
    for _ = 1, 3 do
      controller:wrap(function()
        local _, err = zklock.connect("127.0.0.1:1", { loop = "cqueues", connect_timeout = 0.05 })
        failed = failed + (err == "disconnected" and 1 or 0)
      end)
    end
    local ok, ended = pcall(loop_to_end, controller)
    Dispatcher.dispatch = dispatch
    assert.same({ true, true, 3 }, { ok, ended, failed })
  end)

  describe("a client whose home was closed before it", function()
    local controller, home, begun

    before_each(function()
      controller, begun = cqueues.new(), {}
      home = connect_in(controller)
      home:spawn(function() begun[#begun + 1] = "queued" end)
    end)

    it("lets go of its descriptor when it is closed", function()
      controller:close()
      assert.is_true(home:close())
      assert.equal(-1, home:getfd())
    end)

    it("lets go of its descriptor when it is closed in another controller", function()
      controller:close()
      local second = cqueues.new()
      second:wrap(function() home:close() end)
      assert.is_true(loop_to_end(second))
      assert.equal(-1, home:getfd())
    end)

    it("begins its callbacks outside of all controllers", function()
      controller:wrap(function() home:poll() end) -- has the home begin it in its next step; plain 5.1 begins it at once
      while not (next(home.host.pending) or begun[1]) do controller:step(0) end
      controller:close()
      home:spawn(function() begun[#begun + 1] = "later" end)
      home:poll()
      home:close()
      table.sort(begun)
      assert.same({ "later", "queued" }, begun)
    end)

    it("begins its callbacks in another controller", function()
      controller:close()
      local second, token = cqueues.new(), nil
      home:mutex(path):request(PATIENCE, function(granted) token = granted end)
      second:wrap(function()
        while not (token and begun[1]) do home:poll(1) end
        home:close()
      end)
      assert.is_true(loop_to_end(second))
      assert.same({ "queued" }, begun)
      assert.is_number(token)
      assert.equal(-1, home:getfd())
    end)
  end)

  it("a client without a loop can be polled by cqueues itself", function()
    local plain = assert(zklock.connect(here.zk.hosts))
    local controller, token, ticks = cqueues.new(), nil, 0
    assert(other:acquire(path, PATIENCE))
    plain:mutex(path):request(PATIENCE, function(granted) token = granted end)
    controller:wrap(function()
      while not token do
        cqueues.poll(plain)
        plain:poll()
      end
      cqueues.cancel(plain:pollfd())
      plain:close()
    end)
    controller:wrap(function()
      while not token do
        cqueues.sleep(0.01)
        ticks = ticks + 1
        if ticks == 3 then assert(other:release(path)) end
      end
    end)
    assert.is_true(loop_to_end(controller))
    assert.is_number(token)
    assert.is_true(ticks >= 3)
  end)
end)
