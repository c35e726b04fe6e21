-- SPDX-License-Identifier: MIT
--- The peculiarity of the adapter for luv: it has no coroutines of its own.

local loop = require "spec.support.real_loops".of_luv()
local fixture = require "spec.support.fixture"
local queue = require "spec.support.queue"
local raising_hook = require "spec.support.raising_hook"
local socket = require "socket"
local uv = require "luv"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE
local HOUR = 3600
local yields_across_pcall = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

describe("with luv", function()
  local here = fixture.new("/luv")
  local other, path, line, client

  setup(function() other = here:second_process() end)

  before_each(function()
    path = here.path
    line = queue.at(here.tree, path)
    client = here:connect { loop = "luv" }
  end)

  it("a coroutine that is closed while it waits leaves no node behind when it is found dead", function()
    if not coroutine.close then return pending("this Lua cannot close coroutines") end
    assert(other:acquire(path, PATIENCE))
    local threads = {}
    for i, timeout in ipairs { PATIENCE, math.huge } do
      threads[i] = coroutine.create(function() client:mutex(path):acquire(timeout, i == 2 and "somebody" or nil) end)
      assert(coroutine.resume(threads[i]))
    end
    line:becomes(3)
    for _, thread in ipairs(threads) do assert.is_true(coroutine.close(thread)) end
    loop.run(function()
      client:poll()
      return client:stats().waiting == 0
    end)
    line:becomes(1)
    assert(other:release(path))
  end)

  it("a coroutine that is closed while it waits for its time to pass is let alone when that has passed", function()
    if not coroutine.close then return pending("this Lua cannot close coroutines") end
    local thread = coroutine.create(function() client:poll(0.05) end)
    assert(coroutine.resume(thread))
    assert.is_true(coroutine.close(thread))
    local later
    assert(coroutine.resume(coroutine.create(function() later = client:poll(0.2) end)))
    loop.run(function() return later end)
    assert.equal("dead", coroutine.status(thread))
  end)

  it("a coroutine that somebody else resumes waits on", function()
    assert(other:acquire(path, PATIENCE))
    local token
    local thread = coroutine.create(function() token = client:mutex(path):acquire(PATIENCE) end)
    assert(coroutine.resume(thread))
    assert(coroutine.resume(thread))
    assert.is_nil(token)
    assert.equal("suspended", coroutine.status(thread))
    assert(other:release(path))
    loop.run(function() return token end)
  end)

  it("a coroutine that somebody else resumes when its wait is over is not resumed again", function()
    local timeout, called, polled, resumed = 0.15
    repeat -- a busy machine needs more time for a grant
      timeout, called = 2 * timeout, false
      local thread = coroutine.create(function()
        polled = client:poll(timeout)
        coroutine.yield()
        resumed = true
      end)
      assert(coroutine.resume(thread))
      client:mutex(path):request(PATIENCE, function(_, _, request) called = request:release() end)
      local deadline = wait.now() + PATIENCE
      repeat socket.sleep(0.005) client:poll() until called or wait.now() > deadline -- and luv has not turned
      assert.is_true(called)
      assert(coroutine.resume(thread))
    until polled == 1
    loop.idle(timeout + 0.1)
    assert.is_nil(resumed)
  end)

  it("a coroutine into whose wait a hook has raised is not resumed by that wait", function()
    if not yields_across_pcall then return pending("in plain Lua 5.1 it ends with the error") end
    assert(other:acquire(path, PATIENCE))
    local lock, resumed, raised = client:mutex(path), 0, nil
    local function try(n)
      local rests
      coroutine.wrap(function()
        raised = raising_hook.call("zklock/loop/luv.lua", n, lock.acquire, lock, 0.01)
        rests = true
        coroutine.yield()
        resumed = resumed + 1
      end)()
      loop.run(function() return rests end)
      loop.idle(0.02)
    end
    local n = 0
    repeat
      n = n + 1
      try(n)
    until not raised
    assert.is_true(n > 10)
    assert.equal(0, resumed)
    line:becomes(1)
  end)

  it("a coroutine into whose wait a hook has raised leaves no timer for two others", function()
    if not yields_across_pcall then return pending("in plain Lua 5.1 it ends with the error") end
    local ended, raised
    local function poll()
      client:poll(0.001)
      ended = ended + 1
    end
    local n = 0
    repeat
      n, ended = n + 1, 0
      coroutine.wrap(function()
        raised = raising_hook.call("zklock/loop/luv.lua", n, client.poll, client, 0.3)
        ended = ended + 1
      end)()
      loop.run(function() return ended == 1 end)
      for _ = 1, 2 do coroutine.wrap(poll)() end
      loop.run(function() return ended == 3 end)
    until not raised
    assert.is_true(n > 10)
  end)

  --- The timers that run, and have an hour left.
  local function long_timers()
    local count = 0
    uv.walk(function(handle)
      if uv.handle_get_type(handle) ~= "timer" or not handle:is_active() then return end
      if handle:get_due_in() > HOUR / 2 * 1000 then count = count + 1 end
    end)
    return count
  end

  for _, file in ipairs { "loop/luv.lua", "base/bag.lua" } do
    it("a coroutine into whose wait a hook has raised in " .. file .. " leaves no timer that runs", function()
      if not yields_across_pcall then return pending("in plain Lua 5.1 it ends with the error") end
      local n, raised = 0, nil
      repeat
        n = n + 1
        local ended, called, other_has_ended = false, false, false
        coroutine.wrap(function()
          client:poll(HOUR)
          other_has_ended = true
        end)()
        coroutine.wrap(function()
          raised = raising_hook.call("zklock/" .. file, n, client.poll, client, HOUR)
          ended = true
        end)()
        assert.equal(ended and 1 or 2, long_timers())
        client:spawn(function() called = true end)
        loop.run(function() return ended and called and other_has_ended end)
        assert.equal(0, long_timers())
      until not raised
    end)
  end

  -- A script of its own, run to its end.
  local function run(code)
    return wait.run_lua(([[
      local uv = require "luv"
      local zklock = require "zklock"
      local function connect(hosts) return assert(zklock.connect(hosts or %q, { loop = "luv" })) end
      local path = %q
    ]]):format(here.zk.hosts, path) .. code)
  end

  it("uv.run comes back when the client is closed, and the script ends well", function()
    local result = run [[
      coroutine.wrap(function()
        local client = connect()
        assert(client:mutex(path):acquire(60))
        coroutine.wrap(function()
          assert(client:mutex(path .. "-2"):acquire(60))
          local timer = uv.new_timer()
          timer:start(50, 0, function()
            coroutine.wrap(function()
              client:close()
              timer:close()
            end)()
          end)
        end)()
      end)()
      uv.run()
      print("over")
    ]]
    assert.same({ code = 0, signal = 0, stdout = "over\n", stderr = "" }, result)
  end)

  it("a script may close its clients outside of the loop, or not at all, and ends well", function()
    for _, ending in ipairs { "first:close() second:close()", "first:close()", "", "os.exit(0)" } do
      local result = run(([[
        local first, second = connect(), connect()
        assert(first:mutex(path):acquire(60))
        coroutine.wrap(function() second:mutex(path):acquire(60) end)()
        uv.run("nowait")
        %s
      ]]):format(ending))
      assert.same({ code = 0, signal = 0, stdout = "", stderr = "" }, result)
      line:becomes(0)
    end
  end)

  it("a script whose client is closed in the last turn of the loop ends well", function()
    local result = run [[
      local client = connect()
      local async = uv.new_async(function() client:close() end)
      async:send()
      repeat uv.run("once") until client:state() == "closed"
    ]]
    assert.same({ code = 0, signal = 0, stdout = "", stderr = "" }, result)
  end)

  it("clients that were closed outside of the loop leave it when it runs again", function()
    local result = run [[
      for _ = 1, 3 do
        local client = connect()
        assert(client:mutex(path):acquire(60))
        client:close()
        collectgarbage()
      end
      uv.run()
      local polls = 0
      uv.walk(function(handle) if tostring(handle):match("^uv_poll") then polls = polls + 1 end end)
      print(polls)
    ]]
    assert.same({ code = 0, signal = 0, stdout = "0\n", stderr = "" }, result)
  end)

  it("a connect that failed leaves the loop, also when the session's end comes before its last look", function()
    local result = run [[
      local Dispatcher = require "zklock.run.dispatcher"
      local dispatch = Dispatcher.dispatch
      function Dispatcher:dispatch()
        while self.native:state() == "closed" and not self.native:ended() do end
        return dispatch(self)
      end
      for _ = 1, 3 do
        coroutine.wrap(function()
          local client, err = zklock.connect("127.0.0.1:1", { loop = "luv", connect_timeout = 0.05 })
          print(client, err) -- the reason may not be known so early
        end)()
      end
      uv.run()
      print(uv.loop_alive())
    ]]
    local failed = "nil\tdisconnected\n"
    assert.same({ code = 0, signal = 0, stdout = failed:rep(3) .. "false\n", stderr = "" }, result)
  end)

  describe("when somebody closes all handles of the loop", function()
    local WALK = [[
      local function walk()
        uv.walk(function(handle) if not handle:is_closing() then handle:close() end end)
        uv.run()
      end
    ]]

    it("a client can be closed, and another one connects and waits", function()
      local result = run(WALK .. [[
        for _ = 1, 3 do
          local client
          coroutine.wrap(function()
            client = connect()
            assert(client:mutex(path):acquire(60))
            client:sleep(0.01)
          end)()
          while not client or client:stats().held == 0 do uv.run("once") end
          walk()
          print(client:close())
        end
      ]])
      assert.same({ code = 0, signal = 0, stdout = "true\ntrue\ntrue\n", stderr = "" }, result)
      line:becomes(0)
    end)

    it("a client goes on, and hears what it waits for", function()
      local result = run(WALK .. [[
        local client, done = connect(), nil
        walk()
        coroutine.wrap(function()
          local lock = client:mutex(path)
          assert(lock:acquire(60))
          assert(client:sleep(0.01))
          coroutine.wrap(function() assert(lock:acquire(60)) assert(lock:release()) done = true end)()
          assert(lock:release())
          while not done do assert(client:sleep(0.001)) end
          print(client:close())
        end)()
        uv.run()
        print(done)
      ]])
      assert.same({ code = 0, signal = 0, stdout = "true\ntrue\n", stderr = "" }, result)
    end)

    it("coroutines that waited do not, and those that wait later are woken", function()
      assert(other:acquire(path, PATIENCE))
      local result = run(WALK .. [[
        local client, late = connect(), nil
        coroutine.wrap(function() client:mutex(path):acquire(100, "somebody") end)()
        uv.run("nowait")
        walk()
        coroutine.wrap(function()
          late = { client:mutex(path):acquire(0.05) }
          print(late[1], late[2])
          client:close()
        end)()
        uv.run()
      ]])
      assert(other:release(path))
      assert.same({ code = 0, signal = 0, stdout = "nil\ttimeout\n", stderr = "" }, result)
    end)
  end)

  it("an error in a coroutine that has waited is told as luv tells those of its callbacks", function()
    local result = run [[
      coroutine.wrap(function()
        local client = connect()
        assert(client:mutex(path):acquire(60))
        local function deep() error("in a coroutine of mine") end
        deep()
      end)()
      uv.run()
    ]]
    assert.not_equal(0, result.code)
    assert.matches("in a coroutine of mine", result.stderr)
    assert.matches("in .-deep", result.stderr)
  end)
end)
