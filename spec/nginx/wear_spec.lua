-- SPDX-License-Identifier: MIT
--- Many requests use up nothing in a worker of nginx.

local fixture = require "spec.support.fixture"
local nginx = require "spec.support.nginx"
local wait = require "spec.support.wait"

if not nginx.is_testable() then
  describe("a worker of nginx that has served many", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local PATIENCE = wait.PATIENCE

--- Only what nginx says of timers that it drops.
local function check_errors(web)
  for _, line in ipairs(web:errors()) do assert.matches("lua_max_running_timers are not enough", line) end
end

describe("a worker of nginx that has served many", function()
  local here = fixture.new("/nginx-wear")
  local web

  it("has as many C types as before: LuaJIT has room for 65,536", function()
    web = here:nginx { workers = 1, server = [[
      location / { content_by_lua_block {
        local lock = client:mutex("/nginx-wear/types")
        if ngx.var.args == "timer" then
          assert(ngx.timer.at(0, function() lock:acquire(60) end))
        end
        assert(lock:acquire(60))
        lock:request(60, function() end)
        client:semaphore("/nginx-wear/semaphore", 1):request(60, function(lease) return lease and lease:release() end)
      } }
      # The number of a type that is made now.
      location /types { content_by_lua_block {
        local ffi = require "ffi"
        ngx.say(tonumber(ffi.typeof("struct { int newest; }")))
      } }
    ]] }
    local function types() return tonumber((select(2, web:get("/types")))) end
    local function serve(count, way)
      local calls = {}
      for i = 1, count do
        calls[i] = web:begin("/" .. way)
        if i > 20 then assert.equal(200, (calls[i - 20]:finish())) end
      end
      for i = math.max(1, count - 19), count do assert.equal(200, (calls[i]:finish())) end
    end
    serve(20, "?timer")
    types() -- which loads what it takes
    local before = types()
    local one = types() - before
    serve(900, "")
    serve(100, "?timer")
    assert.equal(2 * one, types() - before)
    assert.same({}, web:errors())
  end)

  it("has as many semaphores as requests have waited at a time, not one for each", function()
    web = here:nginx { workers = 1, http = [[
      init_worker_by_lua_block {
        local semaphore = require "ngx.semaphore"
        local new = semaphore.new
        made = 0
        function semaphore.new(...)
          made = made + 1
          return new(...)
        end
        client = assert(require("zklock").connect("@hosts@"))
      }
    ]], server = [[
      location /wait { content_by_lua_block {
        local lock = client:mutex("/nginx-wear/wait", { fair = false })
        local before = made
        for _ = 1, 20 do
          local threads = {}
          for i = 1, 5 do
            threads[i] = ngx.thread.spawn(function()
              local who = {}
              assert(lock:acquire(60, who))
              ngx.sleep(0.001) -- a holder
              assert(lock:release(who))
            end)
          end
          for i = 1, 5 do assert(ngx.thread.wait(threads[i])) end
        end
        ngx.say(made - before <= 5, " ", client:stats().waiting)
      } }
    ]] }
    assert.same({ 200, "true 0\n" }, { web:get("/wait") })
    assert.same({}, web:errors())
  end)

  it("wakes nobody who waits on a semaphore by what was meant for an earlier one", function()
    web = here:nginx { workers = 1, http = [[
      init_worker_by_lua_block {
        client = assert(require("zklock").connect("@hosts@"))
        core, loop, kept = require "zklock.core", require "zklock.loop.openresty", {}
        local semaphore = require "ngx.semaphore"
        local waits, wait, woken = client.waits, semaphore.wait, setmetatable({}, { __mode = "k" })
        function semaphore.wait(...)
          local ok, err = wait(...)
          if ok then woken[coroutine.running()] = true end
          return ok, err
        end
        -- A light thread that waits, so many seconds or until `wake`. It returns whether its semaphore has woken it.
        function begin(seconds)
          local waiter = waits.new_waiter(seconds and core.now() + seconds)
          return waiter, ngx.thread.spawn(function()
            local thread = coroutine.running()
            woken[thread] = false -- nginx uses coroutines again
            loop.wait(client, waiter)
            return woken[thread]
          end)
        end
        function wake(waiter) waits:wake(waiter) end
        function finish(thread) return select(2, ngx.thread.wait(thread)) end
        -- The next ones, with the semaphores that are there. Only the last is woken.
        function next_ones(late)
          local waiters, threads, said = {}, {}, {}
          for i = 1, 3 do waiters[i], threads[i] = begin(i < 3 and 0.3 or nil) end
          if late then wake(late) end
          for i = 1, 3 do said[i] = tostring(loop.is_gone(waiters[i])) end
          wake(waiters[3])
          for i = 1, 3 do said[3 + i] = tostring(finish(threads[i])) end
          return table.concat(said, " ")
        end
      }
    ]], server = [[
      location /late { content_by_lua_block {
        local waiter, thread = begin(0.05)
        ngx.say(finish(thread), " ", next_ones(waiter))
      } }
      location /both { content_by_lua_block {
        local waiter, thread = begin(0.05)
        repeat ngx.update_time() until core.now() > waiter.deadline + 0.05 -- nginx's own clock is coarse
        wake(waiter) -- nginx looks at its timers first
        ngx.say(finish(thread), " ", next_ones())
      } }
      location /killed { content_by_lua_block {
        local waiter, thread = begin()
        ngx.thread.kill(thread)
        ngx.say(loop.is_gone(waiter), " ", next_ones(waiter))
      } }
      location /left { content_by_lua_block {
        kept.waiter = begin()
        ngx.exit(204)
      } }
      location /behind { content_by_lua_block {
        ngx.say(loop.is_gone(kept.waiter), " ", next_ones(kept.waiter))
      } }
    ]] }
    local WELL = "false false false false false true\n"
    for _ = 1, 3 do
      assert.same({ 200, "false " .. WELL }, { web:get("/late") })
      assert.same({ 200, "false " .. WELL }, { web:get("/both") })
      assert.same({ 200, "true " .. WELL }, { web:get("/killed") })
      assert.same({ 204, "" }, { web:get("/left") })
      assert.same({ 200, "true " .. WELL }, { web:get("/behind") })
    end
  end)

  it("needs no memory at the end of a wait", function()
    web = here:nginx { workers = 1, http = [[
      init_worker_by_lua_block { client = assert(require("zklock").connect("@hosts@")) }
    ]], server = [[
      location /wait { content_by_lua_block {
        local waiter, semaphore = client.waits.new_waiter(), require "ngx.semaphore"
        local new, before = semaphore.new, nil
        function semaphore.new(...)
          local made = new(...)
          function made.wait()
            waiter.done = true
            before = collectgarbage("count")
          end
          return made
        end
        jit.off()
        collectgarbage("stop")
        require("zklock.loop.openresty").wait(client, waiter)
        local grown = collectgarbage("count") - before
        collectgarbage("restart")
        semaphore.new = new
        ngx.say(grown)
      } }
    ]] }
    assert.same({ 200, "0\n" }, { web:get("/wait") })
    assert.same({}, web:errors())
  end)

  it("does not sleep if a finalizer ends the wait just before", function()
    web = here:nginx { workers = 1, http = [[
      init_worker_by_lua_block { client = assert(require("zklock").connect("@hosts@")) }
    ]], server = [[
      location /early { content_by_lua_block {
        client.host.visits:here()
        local waiter, semaphore = client.waits.new_waiter(), require "ngx.semaphore"
        local notifier, new, sleeps = client.host.notifier, semaphore.new, 0
        function notifier.listen(...)
          notifier.listen = nil
          client.waits:wake(waiter)
          return notifier.listen(...)
        end
        function semaphore.new(...)
          local made = new(...)
          function made.wait(...)
            sleeps = sleeps + 1
            return semaphore.wait(...)
          end
          return made
        end
        require("zklock.loop.openresty").wait(client, waiter)
        semaphore.new = new
        ngx.say(waiter.done, " ", sleeps)
      } }
    ]] }
    assert.same({ 200, "true 0\n" }, { web:get("/early") })
    assert.same({}, web:errors())
  end)

  describe("whose timers are used up", function()
    local FEW = [[ lua_max_running_timers 3; lua_shared_dict counts 1m; ]]
    -- Timers that stay until they are told to go, and more of them than nginx runs.
    local BUSY = [[
      location /busy { content_by_lua_block {
        local counts = ngx.shared.counts
        for _ = 1, 3 do
          assert(ngx.timer.at(0, function()
            counts:incr("busy", 1, 0)
            while not counts:get("go") do ngx.sleep(0.01) end
            counts:incr("busy", -1)
          end))
        end
        while counts:get("busy") ~= tonumber(ngx.var.args) do ngx.sleep(0.01) end
      } }
      location /go { content_by_lua_block { ngx.shared.counts:set("go", true) } }
      location /seen { content_by_lua_block { ngx.say(ngx.shared.counts:get("seen") or 0) } }
      location /acquire { content_by_lua_block {
        package.loaded.late = package.loaded.late or assert(require("zklock").connect("@hosts@"))
        local lock = package.loaded.late:mutex("/nginx-wear/late")
        ngx.say(lock:acquire(60) ~= nil, " ", lock:release())
      } }
      location /look { content_by_lua_block {
        local request = package.loaded.late:mutex("/nginx-wear/looked-at"):request(60, function() end)
        while request:state() == "waiting" do ngx.sleep(0.01) end
        ngx.say(request:state())
      } }
      location /timeout { content_by_lua_block {
        local lock = package.loaded.late:mutex("/nginx-wear/late")
        assert(lock:acquire(60))
        ngx.say(select(2, lock:acquire(0.2, "another")))
      } }
      location /callbacks { content_by_lua_block {
        -- A busy machine may be at it for longer than max_hold: then it is over before anybody has heard of it.
        local function take(lock, patience, who)
          local token, err
          repeat token, err = lock:acquire(patience, who) until err ~= "lost"
          assert(token, err)
        end
        local locks = {}
        for i = 1, 70 do
          locks[i] = package.loaded.late:mutex("/nginx-wear/lost/" .. i, { max_hold = 2 })
          locks[i]:on_lost(function() ngx.shared.counts:incr("seen", 1, 0) end)
          ngx.thread.spawn(function()
            take(locks[i], 60)
            while locks[i]:is_held() do ngx.sleep(0.01) end
            -- Its time is over; the loss is known when the next has it, and until then the request's end gives it back.
            local next_one = package.loaded.late:mutex("/nginx-wear/lost/" .. i, { max_hold = 2 })
            take(next_one, 60, "the next")
            next_one:release("the next")
          end)
        end
      } }
    ]]

    local function start(http)
      web = here:nginx { workers = 1, http = http, server = BUSY }
    end

    local function become(expected)
      wait.eventually(function()
        local _, seen = web:get("/seen")
        return seen == expected .. "\n", seen
      end, PATIENCE, expected .. " callbacks")
    end

    it("grants all the same, keeps deadlines, and calls callbacks as soon as there is a timer again", function()
      start(FEW)
      web:get("/busy?3")
      assert.same({ 200, "true true\n" }, { web:get("/acquire") })
      assert.same({ 200, "timeout\n" }, { web:get("/timeout") })
      assert.same({ 200, "held\n" }, { web:get("/look") })
      assert.equal(200, (web:get("/callbacks")), web:log())
      become "0"
      web:get("/go")
      become "70"
      assert.same({ 200, "true true\n" }, { web:get("/acquire") })
      check_errors(web)
      assert.is_true(nginx.await_end(web:reload()))
    end)

    local USES = [[
      location /keep { content_by_lua_block {
        package.loaded.late = package.loaded.late or assert(require("zklock").connect("@hosts@"))
        ngx.say(package.loaded.late:mutex("/nginx-wear/ended"):acquire(60) ~= nil)
      } }
      location /is_held { content_by_lua_block {
        ngx.say(package.loaded.late:mutex("/nginx-wear/other"):is_held())
      } }
      location /request { content_by_lua_block {
        package.loaded.late:mutex("/nginx-wear/other"):request(60, function() end)
      } }
      location /log { return 200; log_by_lua_block {
        package.loaded.late:mutex("/nginx-wear/other"):request(60, function() end)
      } }
      location /spawn { return 200; log_by_lua_block { package.loaded.late:spawn(function() end) } }
      location /watch { return 200; log_by_lua_block {
        package.loaded.watch = package.loaded.late:watch("/nginx-wear", function() end)
      } }
    ]]

    it("gives back what an ended request held when the next request uses the client, in whatever way", function()
      web = here:nginx { workers = 1, http = FEW, server = BUSY .. USES }
      web:get("/busy?3")
      for _, way in ipairs { "/is_held", "/request", "/log", "/spawn", "/watch" } do
        assert.same({ 200, "true\n" }, { web:get("/keep") })
        assert.equal(1, #here:nodes("/nginx-wear/ended"))
        assert.equal(200, (web:get(way)))
        here:becomes(0, "/nginx-wear/ended")
      end
      web:get("/go")
      check_errors(web)
    end)

    it("has those that it needs, when the client was made at its start", function()
      start(FEW .. [[ init_worker_by_lua_block {
        client = assert(require("zklock").connect("@hosts@"))
        package.loaded.late = client
      } ]])
      wait.eventually(function() return select(2, web:get("/acquire")) == "true true\n" end)
      web:get("/busy?1")
      assert.equal(200, (web:get("/callbacks")))
      become "70"
      web:get("/go")
      assert.is_true(nginx.await_end(web:reload()))
      check_errors(web)
    end)
  end)

  it("clients that were collected before their request had ended has no socket left of them", function()
    web = here:nginx { workers = 1, http = nginx.CLIENT, server = [[
      location /client {
        content_by_lua_block {
          local mine = assert(zklock.connect("@hosts@"))
          assert(mine:mutex("/nginx-wear/closed"):acquire(60))
          mine:close()
        }
        log_by_lua_block { collectgarbage() collectgarbage() }
      }
      location /plain { return 200; }
    ]] }
    local pid = web:workers()[1]
    local function descriptors()
      local count = 0
      for _ in require("lfs").dir(("/proc/%d/fd"):format(pid)) do count = count + 1 end
      return count
    end
    web:get("/plain")
    local before = descriptors()
    for _ = 1, 20 do assert.equal(200, (web:get("/client"))) end
    wait.eventually(function() return descriptors() < before + 10, descriptors() - before end, PATIENCE)
    check_errors(web)
  end)

  describe("whose running timers are all in use when it is told to leave", function()
    --- All but the two of the client: the worker has 256, as nginx has by default.
    local TIMERS = [[
      init_worker_by_lua_block {
        zklock = require "zklock"
        client = assert(zklock.connect("@hosts@"))
        for _ = 1, 254 do
          assert(ngx.timer.at(0, function()
            ngx.shared.counts:incr("running", 1, 0)
            while not ngx.worker.exiting() do ngx.sleep(0.05) end
          end))
        end
      }
    ]]

    local function start(also)
      local http = TIMERS:gsub("for _ = 1", (also or "") .. "%0")
      web = here:nginx { workers = 1, http = "lua_shared_dict counts 1m;" .. http, server = [[
        location /running { content_by_lua_block { ngx.say(ngx.shared.counts:get("running")) } }
        location /take { content_by_lua_block {
          ngx.say(client:mutex("/nginx-wear/leaving"):acquire(60, "the worker") ~= nil)
        } }
        location /wait { content_by_lua_block { ngx.say(client:mutex("/nginx-wear/leaving"):acquire() ~= nil) } }
      ]] }
      wait.eventually(function() return select(2, web:get("/running")) == "254\n" end, PATIENCE)
      assert.same({ 200, "true\n" }, { web:get("/take") })
    end

    it("leaves after a reload, and what it held is free", function()
      start()
      assert.is_true(nginx.await_end(web:reload()), "the old worker is still there")
      here:becomes(0, "/nginx-wear/leaving")
    end)

    it("leaves when nginx quits, and what it held is free", function()
      start()
      require("luv").kill(web.pid, "sigquit")
      assert.is_true(nginx.await_end { web.pid }, "nginx is still there")
      here:becomes(0, "/nginx-wear/leaving")
    end)

    it("leaves also when nothing can listen to the engine", function()
      start [[ client.host.notifier.native = { notifier = function() return nil, nil, "no directory" end }
      ]]
      assert.is_true(nginx.await_end(web:reload()), "the old worker is still there")
      here:becomes(0, "/nginx-wear/leaving")
    end)

    it("grants its last waiter when the timer that listens has ended meanwhile", function()
      start [[ function client.host.must_look(host)
        if not ngx.worker.exiting() then return false end
        host.must_look = nil
        error("the timer ends here")
      end
      ]]
      local waiter = web:begin("/wait")
      here:becomes(2, "/nginx-wear/leaving")
      local old = web:reload()
      wait.eventually(function() return web:log():find("the timer ends here", 1, true) end, PATIENCE)
      here.tree:delete("/nginx-wear/leaving/" .. here:nodes("/nginx-wear/leaving")[1])
      assert.same({ 200, "true\n" }, { waiter:finish() })
      assert.is_true(nginx.await_end(old), "the old worker is still there")
    end)
  end)

  it("with lua_code_cache off and clients that go away has no thread and no session left", function()
    web = here:nginx { workers = 1,
      http = "lua_shared_dict counts 1m; lua_code_cache off; lua_check_client_abort on; lua_max_running_timers 5;",
      server = [[
        location / { content_by_lua_block {
          local client = assert(require("zklock").connect("@hosts@"))
          local lock = client:mutex("/nginx-wear/off")
          lock:on_lost(function() end)
          client:on_state(function() ngx.sleep(0.01) end) -- a callback that yields
          lock:request(60, function() ngx.sleep(0.01) end) -- a callback that yields
          ngx.shared.counts:incr("begun", 1, 0)
          lock:acquire(60)
          ngx.sleep(20)
        } }
        location /begun { content_by_lua_block { ngx.say(ngx.shared.counts:get("begun") or 0) } }
    ]] }
    local calls = {}
    for i = 1, 100 do
      calls[i] = web:begin("/")
      if i > 10 then
        wait.eventually(function() return tonumber((select(2, web:get("/begun")))) > i - 10 end)
        calls[i - 10]:hang_up()
      end
    end
    for i = 91, 100 do calls[i]:hang_up() end
    local pid = web:workers()[1]
    wait.eventually(function()
      local threads = 0
      for _ in require("lfs").dir(("/proc/%d/task"):format(pid)) do threads = threads + 1 end
      return threads < 12, threads
    end, PATIENCE, "the end of the threads")
    here:becomes(0, "/nginx-wear/off")
    assert.same({ pid }, web:workers())
    check_errors(web)
  end)
end)
