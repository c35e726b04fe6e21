-- SPDX-License-Identifier: MIT
--- The functions that a client calls, and when: poll(), and the callbacks that it runs.

local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE

describe("a client", function()
  local here = fixture.new("/poll")
  local zk, client, errors, other, path

  setup(function() zk, other = here.zk, here:second_process() end)

  before_each(function()
    path, errors = here.path, {}
    client = here:connect { on_error = function(message) errors[#errors + 1] = message end }
    client:poll()
  end)

  local function granted_requests(n, callback) return here:granted_requests(client, n, callback) end

  describe("poll()", function()
    it("without a timeout, or with 0, does not wait", function()
      assert.equal(0, client:poll())
      assert.equal(0, client:poll(0))
    end)

    it("waits as long as it is told to, if nothing comes", function()
      local began = wait.now()
      assert.equal(0, client:poll(0.1))
      assert.is_true(wait.now() - began >= 0.1)
    end)

    it("comes back as soon as it ran something", function()
      local ran = 0
      local request = client:mutex(path):request(PATIENCE, function() ran = ran + 1 end)
      assert.equal(1, client:poll(math.huge))
      assert.equal(1, ran)
      assert.is_true(request:release())
    end)

    it("gives the number of callbacks that it ran", function()
      local ran, sum = 0, 0
      for i = 1, 5 do client:mutex(path .. "/" .. i):request(PATIENCE, function() ran = ran + 1 end) end
      wait.eventually(function()
        sum = sum + client:poll(0.02)
        return ran == 5
      end)
      assert.equal(5, sum)
      assert.equal(0, client:poll())
    end)

    it("hands each event over once, however many there are", function()
      local requests, times = granted_requests(150, function() end), {}
      for i, request in ipairs(requests) do
        local hold = request.hold
        local event = hold.event
        times[i] = 0
        function hold.event(...)
          times[i] = times[i] + 1
          return event(...)
        end
      end
      client:poll()
      for i, request in ipairs(requests) do
        assert.equal(1, times[i], i)
        assert.is_true(request:release())
      end
    end)

    it("runs only what was queued when it began", function()
      client:close()
      local ran = 0
      local function again()
        ran = ran + 1
        if ran < 6 then client:mutex(path):request(0, again) end
      end
      client:mutex(path):request(0, again)
      for i = 1, 6 do
        assert.equal(1, client:poll())
        assert.equal(i, ran)
      end
      assert.equal(0, client:poll())
    end)

    it("alone runs callbacks: calls that do not wait run none", function()
      local ran = 0
      local lock = client:mutex(path .. "/free")
      local requests = granted_requests(2, function() ran = ran + 1 end)
      lock:is_held()
      lock:validity()
      lock:token()
      lock:release()
      client:state()
      client:stats()
      client:session_id()
      client:mutex(path .. "/new"):path()
      client:getfd()
      requests[3] = lock:request(PATIENCE, function() ran = ran + 1 end)
      requests[3]:cancel()
      assert.equal(0, ran)
      wait.eventually(function()
        client:poll()
        return ran == 3
      end)
    end)

    it("is done by calls that wait, too", function()
      local ran = 0
      local requests = granted_requests(2, function() ran = ran + 1 end)
      local lock = client:mutex(path .. "/free")
      assert(other:acquire(path .. "/free", PATIENCE))
      assert.same({ nil, "timeout" }, { lock:acquire(0.2) })
      assert.equal(2, ran)
      other:release(path .. "/free")
      assert.is_true(requests[1]:release())
    end)
  end)

  describe("a callback", function()
    it("runs in a coroutine of its own, which is the default owner and gives back what it held", function()
      local threads, held = {}, {}
      local lock = client:mutex(path .. "/inner")
      for i = 1, 2 do
        local request = granted_requests(1, function()
          threads[i] = coroutine.running()
          local token = lock:acquire(PATIENCE)
          held[i] = token ~= nil and lock:is_held() and lock:is_held(threads[i])
        end)[1]
        here:eventually(function() return held[i] ~= nil end)
        assert.is_true(held[i])
        assert.is_false(lock:is_held())
        assert.is_true(request:release())
      end
      assert.equal("thread", type(threads[1]))
      assert.not_equal(threads[1], threads[2])
      assert.not_equal(threads[1], (coroutine.running()))
      here:eventually(function() return client:stats().abandoned == 2 end)
      here:becomes(0, path .. "/inner")
    end)

    it("may wait, and meanwhile the others run", function()
      local wanted, order = path .. "/wanted", {}
      assert(other:acquire(wanted, PATIENCE))
      local first = client:mutex(path .. "/1"):request(PATIENCE, function()
        order[#order + 1] = "begins to wait"
        local lock = client:mutex(wanted)
        local token = lock:acquire(PATIENCE)
        order[#order + 1] = token and "has waited" or "failed"
        lock:release()
      end)
      wait.eventually(function() return client:stats().held == 1 end)
      local second = client:mutex(path .. "/2"):request(PATIENCE, function()
        order[#order + 1] = "another"
        other:release(wanted)
      end)
      here:eventually(function() return #order == 3 end)
      assert.same({ "begins to wait", "another", "has waited" }, order)
      assert.is_true(first:release())
      assert.is_true(second:release())
    end)

    -- Plain Lua 5.1 cannot yield across pcall: there a callback that waits holds up who polls.
    local can_yield = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

    it("may wait for a lock for which another callback waits", function()
      if not can_yield then return pending("not in plain Lua 5.1") end
      local lock, order = client:mutex(path .. "/wanted"), {}
      granted_requests(3, function()
        assert(lock:acquire(PATIENCE))
        order[#order + 1] = #order + 1
        lock:release()
      end)
      here:eventually(function() return #order == 3 end)
      assert.same({}, errors)
    end)

    it("may wait for a lock for which the call that polls waits", function()
      if not can_yield then return pending("not in plain Lua 5.1") end
      local wanted, got = path .. "/wanted", nil
      local lock = client:mutex(wanted)
      assert(other:acquire(wanted, PATIENCE))
      granted_requests(1, function()
        other:begin("release", wanted)
        got = lock:acquire(PATIENCE)
        lock:release()
      end)
      local token = lock:acquire(PATIENCE)
      other:finish()
      assert.is_number(token)
      assert.is_true(lock:release())
      here:eventually(function() return got end, "the callback's turn")
      assert.is_true(got > token)
    end)

    it("that raises is reported with its traceback, and the others run", function()
      local ran = 0
      local requests = granted_requests(3, function()
        ran = ran + 1
        error("this went wrong")
      end)
      here:eventually(function() return ran == 3 end)
      assert.equal(3, #errors)
      for _, message in ipairs(errors) do
        assert.matches("poll_spec%.lua:%d+: this went wrong", message)
        assert.matches("stack traceback:.*poll_spec%.lua", message)
      end
      assert.equal("held", requests[1]:state())
      assert.equal("connected", client:state())
    end)

    it("that raises something else than a text is reported, too", function()
      local request = granted_requests(1, function() error({}) end)
      here:eventually(function() return #errors == 1 end)
      assert.equal("string", type(errors[1]))
      assert.is_true(request[1]:release())
    end)

    local broken = [[
      local zklock = require "zklock"
      local client = assert(zklock.connect(arg[1], %s))
      local done
      local request = client:mutex(arg[2]):request(60, function() done = true error("nobody catches this") end)
      while not done do client:poll(1) end
      request:release()
      client:close()
      print("went on")
    ]]

    it("that raises is printed to stderr, if nobody else wants to know", function()
      local result = wait.run_lua(broken:format("nil"), zk.hosts, path)
      assert.same({ 0, "went on\n" }, { result.code, result.stdout })
      assert.matches("nobody catches this", result.stderr)
      assert.matches("stack traceback", result.stderr)
    end)

    it("that raises is printed to stderr, if on_error raises as well", function()
      local handler = "{ on_error = function() error('nor this') end }"
      local result = wait.run_lua(broken:format(handler), zk.hosts, path)
      assert.same({ 0, "went on\n" }, { result.code, result.stdout })
      assert.matches("nobody catches this", result.stderr)
      assert.matches("nor this", result.stderr)
    end)
  end)

  -- A signal that one of them took would run the script's handler on that thread.
end)
