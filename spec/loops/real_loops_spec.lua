-- SPDX-License-Identifier: MIT
--- The adapters for cqueues, luv and Copas, in their loops.

local Hold = require "zklock.holds.hold"
local collect = require "spec.support.collect"
local inspector = require "spec.support.inspector"
local queue = require "spec.support.queue"
local real_loops = require "spec.support.real_loops"
local server = require "spec.support.server"
local socket = require "socket"
local uv = require "luv"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: ignore 113

local PATIENCE = wait.PATIENCE
local yields_across_pcall = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

local zk, tree, other
local count = 0

for _, make in ipairs(real_loops.all()) do
  local loop = make()

  --- The results of fn, called in a coroutine of the loop, while the loop turns.
  local function call(fn, ...)
    local results, arguments = nil, { n = select("#", ...), ... }
    loop.spawn(function() results = { fn(unpack(arguments, 1, arguments.n)) } end)
    loop.run(function() return results or loop.errors[1] end)
    assert.same({}, loop.errors)
    return unpack(results)
  end

  local function connect(options)
    options = options or {}
    options.loop = loop.name
    return call(function() return assert(zklock.connect(zk.hosts, options)) end)
  end

  describe("a client in " .. loop.name, function()
    local client, path, line, errors

    setup(function()
      zk = zk or server.shared()
      tree = inspector.connect(zk.hosts)
      other = worker.start()
      assert(other:connect(zk.hosts))
    end)

    before_each(function()
      count = count + 1
      path = "/real_loops/" .. count
      line = queue.at(tree, path)
      errors, loop.errors = {}, {}
      client = connect { on_error = function(message) errors[#errors + 1] = message end }
    end)

    after_each(function()
      if client then call(function() client:close() end) end
      client = nil
      assert.same({}, loop.errors)
    end)

    teardown(function()
      other:close()
      other:kill()
      tree:delete_tree("/real_loops")
      tree:close()
    end)

    it("gives back what no call has received, though nobody calls it and nothing is collected", function()
      local hand_out = Hold.hand_out
      finally(function()
        Hold.hand_out = hand_out
        collectgarbage("restart")
      end)
      collectgarbage("stop")
      Hold.hand_out = function() return false end
      local token, err, found = call(function() -- which goes on, and so does the owner
        local token, err = client:mutex(path):acquire(PATIENCE)
        local found = #line:names()
        while #line:names() > 0 do loop.rest() end
        return token, err, found
      end)
      assert.same({ nil, "lost", 1 }, { token, err, found })
    end)

    it("shares 10 locks among 100 coroutines, one in each at a time, while others go on", function()
      local inside, together, done, ticks = {}, 0, 0, 0
      local waiting
      loop.spawn(function()
        while done < 100 do
          if client:stats().waiting > 50 then ticks = ticks + 1 end
          loop.rest()
        end
      end)
      for i = 1, 100 do
        loop.spawn(function()
          local at = path .. "-" .. i % 10
          local lock = client:mutex(at)
          assert(lock:acquire(PATIENCE))
          inside[at] = (inside[at] or 0) + 1
          together = math.max(together, inside[at])
          waiting = math.max(waiting or 0, client:stats().waiting)
          loop.rest()
          inside[at] = inside[at] - 1
          assert(lock:release())
          done = done + 1
        end)
      end
      loop.run(function() return done == 100 or loop.errors[1] end)
      assert.equal(1, together)
      assert.is_true(waiting >= 50)
      assert.is_true(ticks > 0, "the ticker did not tick")
      assert.equal(0, client:stats().held)
    end)

    it("lets others run while one coroutine waits for a lock that another process holds", function()
      assert(other:acquire(path, PATIENCE))
      local token
      loop.spawn(function() token = client:mutex(path):acquire(PATIENCE) end)
      for _ = 1, 5 do call(loop.rest) end
      assert.is_nil(token)
      assert(other:release(path))
      loop.run(function() return token end)
    end)

    it("ends a wait at its deadline, and takes its node out of the line", function()
      assert(other:acquire(path, PATIENCE))
      assert.same({ nil, "timeout" }, { call(function() return client:mutex(path):acquire(0.1) end) })
      assert.same({ nil, "timeout" }, { call(function() return client:mutex(path):acquire(0) end) })
      line:becomes(1)
      assert(other:release(path))
    end)

    it("ends a wait for its owner's other coroutine at its deadline", function()
      assert(other:acquire(path, PATIENCE))
      local lock, first = client:mutex(path), nil
      loop.spawn(function() first = { lock:acquire(PATIENCE, "me") } end)
      assert.same({ nil, "timeout" }, { call(function() return lock:acquire(0.1, "me") end) })
      assert.is_nil(first)
      assert(other:release(path))
      loop.run(function() return first end)
      assert.is_number(first[1])
      assert(lock:release("me"))
    end)

    it("waits in poll until the loop has run a callback, and for so long only", function()
      assert.equal(0, call(function() return client:poll(0.05) end))
      local called
      loop.spawn(function() client:mutex(path):request(PATIENCE, function() called = true end) end)
      assert.equal(1, call(function() return client:poll(PATIENCE) end))
      loop.run(function() return called end)
    end)

    it("calls back without a poll: requests, losses, states", function()
      local got, lost, states = nil, nil, {}
      client:on_state(function(state) states[#states + 1] = state end)
      local lock = client:mutex(path)
      lock:on_lost(function(err) lost = err end)
      local request = call(function() return lock:request(PATIENCE, function(token) got = token end) end)
      loop.run(function() return got end)
      assert.equal("held", request:state())
      tree:delete(path .. "/" .. line:names()[1])
      loop.run(function() return lost end)
      assert.equal("lost", lost)
      assert.equal("lost", request:state())
      local id = client:session_id()
      call(function() client:close() end)
      client = nil
      assert.equal("closed", states[#states])
      assert.is_string(id)
    end)

    it("runs callbacks in coroutines that may wait in the loop's way", function()
      if not yields_across_pcall then return pending("plain 5.1 does not yield in a pcall") end
      assert(other:acquire(path .. "-2", PATIENCE))
      local order = {}
      client:mutex(path):request(PATIENCE, function()
        order[#order + 1] = "first"
        loop.rest()
        assert(client:mutex(path .. "-2"):acquire(PATIENCE))
        order[#order + 1] = "first again"
        assert(client:mutex(path .. "-2"):release())
      end)
      client:mutex(path .. "-3"):request(PATIENCE, function() order[#order + 1] = "second" end)
      loop.run(function() return #order == 2 end)
      assert(other:release(path .. "-2"))
      loop.run(function() return #order == 3 end)
      assert.equal("first again", order[3])
      assert.same({}, errors)
    end)

    it("gives back what a callback held at its end", function()
      client:mutex(path):request(PATIENCE, function() assert(client:mutex(path .. "-2"):acquire(PATIENCE)) end)
      loop.run(function()
        collect()
        return client:stats().acquired == 2 and client:stats().held == 0
      end)
      queue.at(tree, path .. "-2"):becomes(0)
    end)

    it("reports the errors of callbacks, also of those that have waited, and goes on", function()
      local called
      client:mutex(path):request(PATIENCE, function() error("at once") end)
      client:mutex(path .. "-2"):request(PATIENCE, function()
        assert(client:mutex(path .. "-3"):acquire(PATIENCE))
        error("after a wait")
      end)
      client:mutex(path .. "-4"):request(PATIENCE, function() called = true end)
      loop.run(function() return called and #errors == 2 end)
      local text = table.concat(errors, "\n")
      assert.matches("at once\nstack traceback", text)
      assert.matches("after a wait\nstack traceback", text)
    end)

    it("closed in the loop, answers all who wait and calls all back before it returns", function()
      assert(other:acquire(path, PATIENCE))
      local answers, polled, called = {}, nil, {}
      for i = 1, 3 do
        loop.spawn(function()
          local token, err = client:mutex(path):acquire()
          answers[i] = token or err
        end)
        client:mutex(path):request(nil, function(token, err) called[i] = token or err end)
      end
      loop.spawn(function() polled = client:poll(PATIENCE) end)
      loop.run(function() return client:stats().waiting == 6 end)
      line:becomes(7)
      local told = call(function()
        client:close()
        return { called[1], called[2], called[3] }
      end)
      assert.same({ "closed", "closed", "closed" }, told)
      loop.run(function() return answers[1] and answers[2] and answers[3] and polled end)
      assert.same({ "closed", "closed", "closed" }, answers)
      line:becomes(1)
      assert(other:release(path))
      assert.is_true(client:close())
    end)

    it("that was never connected is closed, too, and calls back before it returns", function()
      local called
      local nobody = assert(zklock.connect("127.0.0.1:1", { connect_timeout = 0, loop = loop.name }))
      nobody:mutex(path):request(nil, function(_, err) called = err end)
      assert.equal("closed", call(function()
        nobody:close()
        return called
      end))
    end)

    it("closed, also calls back those that its last callbacks have asked for", function()
      local nobody = assert(zklock.connect("127.0.0.1:1", { connect_timeout = 0, loop = loop.name }))
      local told = 0
      local function again()
        told = told + 1
        if told < 100 then nobody:mutex(path):request(nil, again) end
      end
      nobody:mutex(path):request(nil, again)
      local dispatcher = nobody.dispatcher
      local await_end = dispatcher.await_end
      function dispatcher:await_end(deadline) await_end(self, deadline + 3600) end -- it is told of the session's end
      assert.equal(100, call(function()
        nobody:close()
        return told
      end))
    end)

    it("that is closed outside of the loop leaves it when it turns again", function()
      assert(other:acquire(path, PATIENCE))
      local number, answer = client:getfd(), nil
      loop.spawn(function() answer = { client:mutex(path):acquire() } end)
      loop.run(function() return client:stats().waiting == 1 end)
      client:close()
      loop.run(function() return answer end)
      assert.same({ nil, "closed" }, answer)
      client = nil
      loop.run(function()
        collect()
        return not uv.fs_readlink("/proc/self/fd/" .. number)
      end)
      assert(other:release(path))
    end)

    it("whose news are taken outside of the loop wakes coroutines in it", function()
      assert(other:acquire(path, PATIENCE))
      local token
      loop.spawn(function() token = client:mutex(path):acquire(PATIENCE) end)
      loop.run(function() return client:stats().waiting == 1 end)
      other:begin("release", path) -- its answer would be waited for in a loop
      local deadline = wait.now() + PATIENCE
      repeat socket.sleep(0.005) until client:stats().held == 1 or wait.now() > deadline -- and no turn of any loop
      client:poll()
      assert.is_nil(token)
      loop.run(function() return token end)
      assert.is_true(other:finish(PATIENCE))
    end)

    it("waits without the loop where nothing can be suspended, and calls back meanwhile", function()
      local lock, called = client:mutex(path), nil
      assert(lock:acquire(PATIENCE))
      client:mutex(path .. "-2"):request(PATIENCE, function()
        client:poll(0.01)
        called = true
      end)
      assert.is_true(client:flush(PATIENCE))
      wait.eventually(function()
        client:poll(0.01)
        return called
      end)
      assert.is_true(lock:release())
      assert.is_true(client:close())
    end)

    it("cancelled while it waits, leaves nothing behind", function()
      assert(other:acquire(path, PATIENCE))
      local answer
      local request = client:mutex(path):request(nil, function(_, err) answer = err end)
      line:becomes(2)
      assert.is_true(request:cancel())
      loop.run(function() return answer end)
      assert.equal("cancelled", answer)
      line:becomes(1)
      assert(other:release(path))
    end)

    it("cancelled after its grant, and before the loop could say so, gives the lock back at once", function()
      local answer
      local request = client:mutex(path):request(nil, function(_, err) answer = err end)
      local latest = wait.now() + PATIENCE
      repeat until client:stats().held == 1 or wait.now() > latest -- turns no loop
      assert.is_true(request:cancel())
      assert.equal(0, client:stats().held)
      line:becomes(0)
      loop.run(function() return answer end)
      assert.equal("cancelled", answer)
    end)

    it("shares its loop with another client: each hears of its own", function()
      local second = connect()
      local tokens, done = {}, 0
      for _, one in ipairs { client, second } do
        for _ = 1, 5 do
          loop.spawn(function()
            local lock = one:mutex(path)
            local token = assert(lock:acquire(PATIENCE))
            tokens[#tokens + 1] = token
            loop.rest()
            assert(lock:release())
            done = done + 1
          end)
        end
      end
      loop.run(function() return done == 10 or loop.errors[1] end)
      for i = 2, 10 do assert.is_true(tokens[i] > tokens[i - 1]) end
      call(function() second:close() end)
      assert(call(function() return client:mutex(path):acquire(PATIENCE) end))
    end)

    it("has a callback wait for another client, also where its loop makes no coroutine for that", function()
      local second, token = connect(), nil
      client:spawn(function() token = assert(second:mutex(path):acquire(PATIENCE, "second")) end)
      client:poll() -- outside of the loop
      loop.run(function() return token end)
      assert.is_number(token)
      assert.same({}, errors)
      call(function() second:close() end)
    end)

    it("leaves its descriptor's number to whoever gets it next", function()
      local number, occupied = client:getfd(), {}
      call(function() client:close() end)
      client = nil
      loop.run(function()
        collect()
        return not uv.fs_readlink("/proc/self/fd/" .. number)
      end)
      repeat occupied[#occupied + 1] = assert(uv.fs_open("/dev/null", "r", 0)) until occupied[#occupied] >= number
      uv.fs_close(table.remove(occupied))
      client = connect()
      for _, fd in ipairs(occupied) do uv.fs_close(fd) end
      assert.equal(number, client:getfd())
      assert(call(function() return client:mutex(path):acquire(PATIENCE) end))
    end)

    it("keeps a coroutine that nobody else knows while it waits", function()
      assert(other:acquire(path, PATIENCE))
      local answers = {}
      for i = 1, 3 do
        loop.spawn(function()
          local lock = client:mutex(path)
          local token = assert(lock:acquire(PATIENCE))
          assert(lock:release())
          answers[i] = token
        end)
      end
      loop.run(function() return client:stats().waiting == 3 end)
      for _ = 1, 3 do
        collectgarbage()
        call(loop.rest)
      end
      assert.equal(3, client:stats().waiting)
      assert(other:release(path))
      loop.run(function() return #answers == 3 or loop.errors[1] end)
    end)

    it("gives back what a coroutine held that has ended", function()
      call(function() assert(client:mutex(path):acquire(PATIENCE)) end)
      assert(call(function() return client:mutex(path):acquire(PATIENCE) end))
      loop.run(function()
        client:poll()
        return client:stats().held == 0
      end)
      assert.equal(2, client:stats().abandoned)
    end)

    it("dropped, is closed, and leaves the loop", function()
      call(function()
        assert(client:mutex(path):acquire(PATIENCE))
        line:becomes(1)
      end)
      client = nil
      loop.run(function()
        collect()
        return #line:names() == 0
      end)
    end)

    it("lets an idle process sleep, also while it holds and waits #slow", function()
      assert(other:acquire(path .. "-2", PATIENCE))
      local result = wait.run_lua(([[
        package.path = %q
        local zklock = require "zklock"
        local loop = require("spec.support.real_loops").of_%s()
        local function sleeps()
          local file = assert(io.open("/proc/self/status"))
          local count = file:read("*a"):match("\nvoluntary_ctxt_switches:%%s*(%%d+)")
          file:close()
          return count
        end
        local client, request
        loop.spawn(function()
          client = assert(zklock.connect(%q, { loop = loop.name }))
          assert(client:mutex(%q):acquire(60, "me"))
          request = client:mutex(%q):request(nil, function() end)
          assert(client:flush(20))
        end)
        loop.run(function() return request end)
        loop.idle(0.3) -- for what is under way still
        local before, busy = sleeps(), os.clock()
        loop.idle(1)
        print(sleeps() - before, request:state(), os.clock() - busy)
        os.exit(0)
      ]]):format(package.path, loop.name, zk.hosts, path, path .. "-2"))
      assert(other:release(path .. "-2"))
      local sleeps, state, busy = result.stdout:match("^(%S+)\t(%a+)\t(%S+)\n$")
      assert.equal("waiting", state, result.stderr)
      -- Copas wakes up ten times a second by itself, from its third version on.
      assert.is_true(tonumber(sleeps) <= 20, sleeps .. " in a second")
      assert.is_true(tonumber(busy) < 0.5, busy .. " s of a second busy")
    end)
  end)
end
