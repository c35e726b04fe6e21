-- SPDX-License-Identifier: MIT
--- Inside nginx, on a real server: requests wait without blocking their worker, and own what they hold.

local fixture = require "spec.support.fixture"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local wait = require "spec.support.wait"

if not nginx.is_testable() then
  describe("inside nginx", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local PATIENCE = wait.PATIENCE

describe("inside nginx", function()
  local here = fixture.new("/nginx", { session_timeout = 30 }) -- a release with validity 0 would answer "unknown"
  local other, web, path

  setup(function() other = here:second_process() end)

  before_each(function() path = here.path end)

  --- Starts nginx with a client; "@path@" is the spec's.
  local function start(options)
    web = here:nginx(options)
    return web
  end

  it("a request acquires, holds and releases", function()
    start { server = [[
      location / { content_by_lua_block {
        local lock = client:mutex("@path@")
        local token = assert(lock:acquire(60))
        ngx.say(lock:is_held(), " ", lock:token() == token, " ", lock:release(), " ", lock:release())
      } }
    ]] }
    assert.same({ 200, "true true true nilnot owner\n" }, { web:get("/") })
    assert.same({}, web:errors())
  end)

  it("a request is granted also when an error was raised into telling it", function()
    start { server = [[
      location / { content_by_lua_block {
        local waits = client.waits
        local wake = waits.wake
        function waits.wake()
          waits.wake = wake
          error("not enough memory", 0)
        end
        ngx.say(client:mutex("@path@"):acquire(60) ~= nil, " ", waits.wake == wake)
      } }
    ]] }
    assert.same({ 200, "true true\n" }, { web:get("/") })
    assert.truthy(web:errors()[1]:find("not enough memory", 1, true))
  end)

  -- A counter that is read and written with a pause between, so that two inside at once lose a count; `made` is exact.
  local COUNT = [[
      location /count { content_by_lua_block {
        local lock, counts = client:mutex("@path@"), ngx.shared.counts
        local token, err = lock:acquire(60)
        if not token then return ngx.exit(503) end
        if token < (counts:get("token") or 0) then counts:incr("stale", 1, 0) end
        counts:set("token", token)
        local n = counts:get("n") or 0
        ngx.sleep(0)
        counts:set("n", n + 1)
        counts:incr("made", 1, 0)
        assert(lock:release())
        ngx.say(n)
      } }
      location /sum { content_by_lua_block {
        local counts = ngx.shared.counts
        local function get(name) return counts:get(name) or 0 end
        ngx.say(("n %d made %d stale %d"):format(get("n"), get("made"), get("stale")))
      } }
  ]]

  local function sum()
    local _, body = web:get("/sum")
    local n, made, stale = body:match("n (%d+) made (%d+) stale (%d+)")
    return tonumber(n), tonumber(made), tonumber(stale)
  end

  it("40 clients at once count exactly, over two workers", function()
    start { server = COUNT }
    local urls = ("%s/count?[1-300]"):format(web.url)
    local curl = process.spawn { "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}\n", "--parallel",
      "--parallel-max", "40", urls }
    assert.equal(0, (curl:wait()))
    local _, served = curl:stdout():gsub("200\n", "")
    assert.equal(300, served)
    assert.same({ 300, 300, 0 }, { sum() })
    local wrk = process.spawn { "wrk", "-t2", "-c40", "-d2s", web.url .. "/count" }
    assert.equal(0, (wrk:wait()))
    assert.is_nil(wrk:stdout():match("Non%-2xx"))
    wait.eventually(function() -- nginx has served the last requests, whose clients went away
      local n, made, stale = sum()
      return #here:nodes() == 0 and made > 300 and n == made and stale == 0, ("%d %d %d"):format(n, made, stale)
    end, PATIENCE, "an exact count")
    assert.same({}, web:errors())
  end)

  it("a lock taken in access is held while the upstream answers: five requests at once, never two inside", function()
    start { server = [[
      location / {
        access_by_lua_block { assert(client:mutex("@path@"):acquire(60)) }
        proxy_pass http://127.0.0.1:@port@/inside;
        log_by_lua_block {
          if client:mutex("@path@"):is_held() then ngx.shared.counts:incr("held in log", 1, 0) end
        }
      }
      location /inside { content_by_lua_block {
        local counts = ngx.shared.counts
        local n = counts:incr("inside", 1, 0)
        if n > 1 then counts:incr("together", 1, 0) end
        ngx.sleep(0.05) -- a holder
        counts:incr("inside", -1)
        counts:incr("served", 1, 0)
      } }
      location /sum { content_by_lua_block {
        local counts = ngx.shared.counts
        ngx.say(counts:get("served"), " ", counts:get("together"), " ", counts:get("held in log"))
      } }
    ]] }
    assert(other:acquire(path, PATIENCE))
    local calls = {}
    for i = 1, 5 do calls[i] = web:begin("/") end
    here:becomes(6)
    assert(other:release(path))
    for i = 6, 10 do calls[i] = web:begin("/") end -- whose coroutines may be those of former ones
    for i = 1, 10 do assert.equal(200, (calls[i]:finish())) end
    here:becomes(0)
    assert.same({ 200, "10 nil nil\n" }, { web:get("/sum") })
    assert.same({}, web:errors())
  end)

  it("1,000 waiting requests on one lock are all served", function()
    start { server = COUNT }
    assert(other:acquire(path, PATIENCE))
    local calls = {}
    for i = 1, 1000 do calls[i] = web:begin("/count") end
    here:becomes(1001)
    assert(other:release(path))
    for i = 1, 1000 do assert.equal(200, (calls[i]:finish(120))) end
    assert.same({ 1000, 1000, 0 }, { sum() })
    assert.same({}, web:errors())
  end)

  describe("the owner", function()
    local OWNER = [[
      location /stats { content_by_lua_block {
        local stats = client:stats()
        ngx.say(("held %d waiting %d abandoned %d"):format(stats.held, stats.waiting, stats.abandoned))
      } }
    ]]
    local WITH_SPECS = { package_path = 'lua_package_path "@tree@/?.lua;@tree@/lua/?.lua;@tree@/lua/?/init.lua;;";' }
    local function start_one(text, options)
      options = options or {}
      options.workers = 1
      options.server = OWNER .. text
      return start(options)
    end

    local function stats(expected)
      wait.eventually(function()
        local _, body = web:get("/stats")
        return body == expected .. "\n", body
      end, PATIENCE, expected)
    end

    it("is the request, so that two of one worker exclude each other", function()
      start_one [[
        location /hold { content_by_lua_block {
          assert(client:mutex("@path@"):acquire(60))
          while not ngx.shared.counts:get("leave") do ngx.sleep(0.01) end
        } }
        location /try { content_by_lua_block { ngx.say(tostring(client:mutex("@path@"):acquire(0))) } }
        location /leave { content_by_lua_block { ngx.shared.counts:set("leave", true) } }
      ]]
      local holder = web:begin("/hold")
      here:becomes(1)
      for _ = 1, 5 do assert.same({ 200, "nil\n" }, { web:get("/try") }) end
      web:get("/leave")
      holder:finish()
      stats "held 0 waiting 0 abandoned 1"
      assert.not_equal("nil\n", select(2, web:get("/try")))
    end)

    it("is the request in all its phases, after ngx.exec, and in its light threads", function()
      start_one [[
        location / {
          rewrite_by_lua_block { ngx.ctx.token = assert(client:mutex("@path@"):acquire(60)) }
          access_by_lua_block {
            local lock = client:mutex("@path@")
            assert(lock:is_held() and lock:token() == ngx.ctx.token)
            local thread = ngx.thread.spawn(function() return lock:is_held() and lock:acquire(0) end)
            local _, token = ngx.thread.wait(thread)
            assert(token == ngx.ctx.token)
            local wrapped = coroutine.wrap(function() return lock:is_held() end)
            assert(wrapped())
          }
          content_by_lua_block { ngx.exec("/next") }
        }
        location /next {
          content_by_lua_block {
            local lock = client:mutex("@path@")
            ngx.say(tostring(ngx.ctx.token), " ", lock:is_held(), " ", lock:release(), " ", lock:release(), " ",
              select(2, lock:release()))
          }
          header_filter_by_lua_block { ngx.header.held = tostring(client:mutex("@path@"):is_held()) }
        }
      ]]
      assert.same({ 200, "nil true true true not owner\n" }, { web:get("/") })
      stats "held 0 waiting 0 abandoned 0"
      assert.same({}, web:errors())
    end)

    for title, ending in pairs {
      ["that ends"] = "ngx.say('bye')",
      ["whose handler raises an error"] = "error('a bad handler')",
      ["that exits"] = "ngx.exit(403)",
      ["that went to another location"] = "ngx.exec('/elsewhere')",
    } do
      it(("gives back at once what a request held %s"):format(title), function()
        start_one([[
          location /hold { content_by_lua_block { assert(client:mutex("@path@"):acquire(60)) ]] .. ending .. [[ } }
          location /elsewhere { return 200 "elsewhere"; }
        ]])
        for i = 1, 3 do
          web:get("/hold")
          here:becomes(0)
          stats("held 0 waiting 0 abandoned " .. i)
        end
        local _, body = pcall(web.log, web)
        assert.equal(title:find("error") and 3 or 0, select(2, body:gsub("%[error%]", "")))
      end)
    end

    describe("that is a subrequest", function()
      local PARTS = [[
        location /part { content_by_lua_block {
          local token = assert(client:mutex("@path@"):acquire(60))
          ngx.say(token)
        } }
        location /early {
          rewrite_by_lua_block { assert(client:mutex("@path@"):acquire(60)) }
          content_by_lua_block { ngx.exit(204) }
        }
        location /elsewhere { content_by_lua_block {
          assert(client:mutex("@path@"):acquire(60))
          ngx.exec("/part")
        } }
        location /redirected {
          rewrite_by_lua_block { assert(client:mutex("@path@"):acquire(60)) }
          content_by_lua_block { ngx.exec("/gif") }
        }
        location /gif { empty_gif; }
        location /captured { content_by_lua_block {
          local lock, tokens = client:mutex("@path@"), {}
          for i, part in ipairs { "/part", "/early", "/elsewhere" } do
            local answer = ngx.location.capture(part)
            local release, err = lock:release()
            local token, why = lock:acquire(0)
            tokens[i] = ("%d %s %s %s"):format(answer.status, tostring(release), err, tostring(why or token ~= nil))
            assert(lock:release())
          end
          local lines = { ngx.location.capture_multi { { "/early" }, { "/early" }, { "/part" } } }
          tokens[4] = ("%d %s"):format(#lines, lines[3].body:find("^%d+\n$"))
          local redirected = ngx.location.capture("/redirected")
          tokens[5] = ("%d %s"):format(redirected.status, redirected.body:sub(1, 3))
          ngx.say(table.concat(tokens, "; "))
          ngx.flush()
          while not ngx.shared.counts:get("leave") do ngx.sleep(0.01) end
        } }
        location /leave { content_by_lua_block { ngx.shared.counts:set("leave", true) } }
        location /authorized {
          auth_request /early;
          content_by_lua_block {
            ngx.say("passed")
            ngx.flush()
            while not ngx.shared.counts:get("leave") do ngx.sleep(0.01) end
          }
        }
        location /later { content_by_lua_block {
          while not ngx.shared.counts:get("leave") do ngx.sleep(0.01) end
        } }
        location /included {
          ssi on;
          default_type text/html;
          content_by_lua_block {
            ngx.header.content_type = "text/html"
            ngx.print('<!--#include virtual="/part" -->then<!--#include virtual="/later" -->')
          }
        }
      ]]

      it("gives back what it held when it ends, not with its main request: captured ones", function()
        start_one(PARTS)
        local call = web:begin("/captured")
        stats "held 0 waiting 0 abandoned 7"
        web:get("/leave")
        local _, body = call:finish()
        assert.same("200 nil not owner true; 204 nil not owner true; 200 nil not owner true; 3 1; 200 GIF\n", body)
        assert.same({}, web:errors())
      end)

      it("gives back what it held when it ends, also after errors into the first calls of others", function()
        start_one([[
          location /interrupted { content_by_lua_block {
            local visits, raising_hook = client.host.visits, require "spec.support.raising_hook"
            local raised = raising_hook.call("openresty/visits.lua", tonumber(ngx.var.arg_n), visits.here, visits)
            ngx.print(raised and "raised " or "done ", client:mutex("@path@/next"):acquire(60) ~= nil)
          } }
          location /part { content_by_lua_block { assert(client:mutex("@path@"):acquire(60)) } }
          location /main { content_by_lua_block {
            local lock, answer = client:mutex("@path@"), ngx.location.capture("/interrupted?n=" .. ngx.var.arg_n)
            ngx.location.capture("/part")
            ngx.print(answer.body, " ", lock:acquire(0) and lock:release())
          } }
        ]], WITH_SPECS)
        local n, body = 0
        repeat
          n = n + 1
          -- Each request then begins where a former one was that has ended well.
          assert.same({ 200, "done true true" }, { web:get("/main?n=" .. math.huge) })
          body = select(2, web:get("/main?n=" .. n))
          assert.truthy(body:find(" true true$"), ("%d: %s"):format(n, body))
        until body:find "done"
        assert.is_true(n > 50)
        nginx.await_end(web:reload()) -- nobody is left to stay for
        assert.same({}, web:errors())
      end)

      for name, abandoned in pairs { ["/authorized"] = 1, ["/included"] = 1 } do
        it("gives back what it held when it ends: of " .. name, function()
          start_one(PARTS)
          local call = web:begin(name)
          stats("held 0 waiting 0 abandoned " .. abandoned)
          here:becomes(0)
          web:get("/leave")
          assert.equal(200, (call:finish()))
          stats("held 0 waiting 0 abandoned " .. abandoned)
          assert.same({}, web:errors())
        end)
      end

      it("is captured also when it has used two clients and goes elsewhere", function()
        web = here:nginx { workers = 1, http = [[
          init_worker_by_lua_block {
            zklock = require "zklock"
            client = assert(zklock.connect("@hosts@"))
            second = assert(zklock.connect("@hosts@"))
          }
        ]], server = [[
          location /elsewhere { content_by_lua_block { ngx.say("from elsewhere") } }
          location /part { content_by_lua_block {
            assert(client:mutex("@path@"):acquire(60))
            assert(second:mutex("@path@-2"):acquire(60))
            ngx.exec("/elsewhere")
          } }
          location / { content_by_lua_block {
            assert(client:mutex("@path@-3"):acquire(60))
            local answer = ngx.location.capture("/part")
            ngx.say("captured: ", answer.body)
          } }
        ]] }
        assert.same({ 200, "captured: from elsewhere\n\n" }, { web:get("/") })
        here:becomes(0)
        here:becomes(0, here.path .. "-2")
        assert.same({}, web:errors())
      end)

      it("and hangs up while it waits leaves the line with its main request", function()
        start_one("lua_check_client_abort on;" .. PARTS)
        assert(other:acquire(path, PATIENCE))
        local calls = { web:begin("/captured"), web:begin("/authorized"), web:begin("/included") }
        here:becomes(4)
        for _, call in ipairs(calls) do call:hang_up() end
        here:becomes(1)
        assert(other:release(path))
        for _ = 1, 3 do assert.equal(200, (web:get("/part"))) end
      end)
    end)

    it("that hangs up while it waits leaves the line at once, and while it holds gives it back", function()
      start_one([[
        lua_check_client_abort on;
        location /hold { content_by_lua_block { assert(client:mutex("@path@"):acquire(60)) ngx.sleep(3600) } }
      ]])
      local holder = web:begin("/hold")
      here:becomes(1)
      local waiter = web:begin("/hold")
      here:becomes(2)
      local last = web:begin("/hold")
      here:becomes(3)
      waiter:hang_up()
      here:becomes(2)
      holder:hang_up()
      stats "held 1 waiting 0 abandoned 2"
      last:hang_up()
      here:becomes(0)
      stats "held 0 waiting 0 abandoned 3"
      assert.same({}, web:errors())
    end)

    describe("whose light thread was killed", function()
      local KILLED = [[
        location /killed { content_by_lua_block {
          local ways = {
            mutex = function() client:mutex("@path@"):acquire() end,
            named = function() client:mutex("@path@"):acquire(nil, "somebody") end,
            guard = function() client:mutex("@path@"):guard() end,
            thread = function() client:mutex("@path@", { owner = "thread" }):acquire() end,
            lease = function() client:semaphore("@path@-leases", 1):acquire() end,
          }
          local counts = ngx.shared.counts
          local thread = ngx.thread.spawn(ways[ngx.var.args])
          while not counts:get("kill") do ngx.sleep(0.01) end
          assert(ngx.thread.kill(thread))
          for _ = 1, 5 do ngx.thread.spawn(function() ngx.sleep(0) end) end -- whose coroutine may be that one
          counts:set("killed", true)
          while not counts:get("leave") do ngx.sleep(0.01) end
          ngx.say(client:mutex("@path@"):is_held())
        } }
        location /set { content_by_lua_block { ngx.shared.counts:set(ngx.var.args, true) ngx.say("set") } }
        # From now on nobody looks from time to time.
        location /blind { content_by_lua_block { client.host.visits.desert = function() end } }
        location /is { content_by_lua_block { ngx.say(tostring(ngx.shared.counts:get(ngx.var.args))) } }
      ]]

      local function kill(way, is_blind)
        start_one(KILLED)
        if is_blind then web:get("/blind") end
        local call = web:begin("/killed?" .. way)
        stats "held 0 waiting 1 abandoned 0"
        if way ~= "lease" then here:becomes(2) end
        web:get("/set?kill")
        wait.eventually(function() return select(2, web:get("/is?killed")) == "true\n" end)
        return call
      end

      local function finish(call)
        stats "held 0 waiting 0 abandoned 1"
        web:get("/set?leave")
        assert.same({ 200, "false\n" }, { call:finish() })
        here:becomes(0)
        assert.same({}, web:errors())
      end

      for _, way in ipairs { "mutex", "named", "guard" } do
        it("while it waited leaves the line when its turn comes: " .. way, function()
          assert(other:acquire(path, PATIENCE))
          local call = kill(way, true)
          here:becomes(2)
          assert(other:release(path))
          here:becomes(0)
          assert(other:acquire(path, PATIENCE)) -- which the request has not
          assert(other:release(path))
          finish(call)
        end)
      end

      it("while it waited for a lease takes none", function()
        other:eval("lease = assert(worker.client:semaphore(..., 1):acquire(60))", path .. "-leases")
        local call = kill("lease", true)
        other:eval("lease:release()")
        here:becomes(0, path .. "-leases/leases")
        finish(call)
      end)

      for _, way in ipairs { "mutex", "named", "thread" } do
        it("while it waited leaves the line before its turn comes: " .. way, function()
          assert(other:acquire(path, PATIENCE))
          local call = kill(way)
          here:becomes(1)
          assert(other:release(path))
          finish(call)
        end)
      end
    end)

    it("that hangs up while it waits in another's name, or for a lease, leaves the line at once", function()
      start_one([[
        lua_check_client_abort on;
        location /name { content_by_lua_block { client:mutex("@path@"):acquire(60, "shop") } }
        location /lease { content_by_lua_block { client:semaphore("@path@-leases", 1):acquire(60) } }
      ]])
      assert(other:acquire(path, PATIENCE))
      other:eval("lease = assert(worker.client:semaphore(..., 1):acquire(60))", path .. "-leases")
      for i, kind in ipairs { "/name", "/lease" } do
        local waiting = web:begin(kind)
        stats(("held 0 waiting 1 abandoned %d"):format(i - 1))
        waiting:hang_up()
        stats(("held 0 waiting 0 abandoned %d"):format(i))
      end
      assert(other:release(path))
      other:eval("lease:release()")
      assert.same({}, web:errors())
    end)

    it("gives back its leases, when it ends or its client hangs up", function()
      start_one([[
        lua_check_client_abort on;
        location /leave { content_by_lua_block {
          package.loaded.lease = assert(client:semaphore("@path@", 1):acquire(60))
        } }
        location /request { content_by_lua_block {
          client:semaphore("@path@", 1):request(60, function(got) package.loaded.lease = got end)
          while not package.loaded.lease do ngx.sleep(0.001) end
        } }
        location /stay { content_by_lua_block {
          package.loaded.lease = assert(client:semaphore("@path@", 1):acquire(60))
          ngx.sleep(60)
        } }
        location /drop { content_by_lua_block {
          ngx.say(package.loaded.lease:is_held(), " ", package.loaded.lease:release() or "not held")
          package.loaded.lease = nil
        } }
        location /timer { content_by_lua_block {
          ngx.timer.at(0, function() package.loaded.lease = assert(client:semaphore("@path@", 1):acquire(60)) end)
        } }
      ]])
      for i, how in ipairs { "/leave", "/request" } do
        assert.equal(200, (web:get(how)))
        stats(("held 0 waiting 0 abandoned %d"):format(i))
        assert.same({ 200, "false not held\n" }, { web:get("/drop") })
      end
      local call = web:begin("/stay")
      stats "held 1 waiting 0 abandoned 2"
      call:hang_up()
      stats "held 0 waiting 0 abandoned 3"
      here:becomes(0, path .. "/leases")
      web:get("/timer") -- it outlives that one
      stats "held 1 waiting 0 abandoned 3"
      assert.same({ 200, "true true\n" }, { web:get("/drop") })
      assert.same({}, web:errors())
    end)

    it("in a timer is the light thread, and what it held is free when it or the timer ends", function()
      start_one([[
        location /timer { content_by_lua_block {
          local results = {}
          ngx.timer.at(0, function()
            local lock = client:mutex("@path@")
            local token = assert(lock:acquire(60))
            local _, inner, err = ngx.thread.wait(ngx.thread.spawn(function()
              local got, why = lock:acquire(0)
              assert(client:mutex("@path@-2"):acquire(60)) -- it ends without giving it back
              return got, why
            end))
            local second = client:mutex("@path@-2"):acquire(60)
            results[1] = ("%s %s %s %s"):format(tostring(inner), err, lock:token() == token, second ~= nil)
          end)
          while not results[1] do ngx.sleep(0.01) end
          ngx.say(results[1])
        } }
      ]])
      for i = 1, 3 do
        assert.same({ 200, "nil timeout true true\n" }, { web:get("/timer") })
        stats("held 0 waiting 0 abandoned " .. 3 * i)
      end
      here:becomes(0)
    end)

    describe("with owner = 'thread'", function()
      local THREADS = [[
        location /both { content_by_lua_block {
          local lock = client:mutex("@path@", { owner = "thread" })
          local inside, most, tokens = 0, 0, {}
          local function work(_, token)
            inside = inside + 1
            most = math.max(most, inside)
            ngx.sleep(0.01) -- a holder
            inside = inside - 1
            tokens[#tokens + 1] = token or lock:token()
          end
          local ways = {
            function() assert(lock:acquire(60)) work() assert(lock:acquire(0)) lock:release() lock:release() end,
            function() assert(lock:with(60, function(token) work(nil, token) end)) end,
            function() local guard = assert(lock:guard(20)) work(nil, guard:token()) assert(guard:release()) end,
            function() assert(lock:acquire(60)) work() end, -- it ends, and with that its hold
          }
          local threads = {}
          for round = 1, 2 do
            for _, way in ipairs(ways) do threads[#threads + 1] = ngx.thread.spawn(way) end
          end
          for _, thread in ipairs(threads) do assert(ngx.thread.wait(thread)) end
          ngx.say(most, " ", #tokens, " ", lock:is_held(), " ", client:mutex("@path@"):acquire(60) ~= nil)
        } }
        location /access {
          access_by_lua_block {
            assert(client:mutex("@path@", { owner = "thread" }):acquire(60))
            assert(client:mutex("@path@-request"):acquire(60))
          }
          content_by_lua_block {
            local lock = client:mutex("@path@", { owner = "thread" })
            ngx.say(lock:is_held(), " ", client:mutex("@path@-request"):is_held(), " ", lock:acquire(60) ~= nil)
          }
        }
        location /proxied {
          access_by_lua_block { assert(client:mutex("@path@", { owner = "thread" }):acquire(60)) }
          proxy_pass http://127.0.0.1:@port@/upstream;
        }
        location /upstream { content_by_lua_block {
          ngx.say(client:mutex("@path@"):acquire(60) ~= nil)
        } }
        location /interrupted { content_by_lua_block {
          local visits, raising_hook = client.host.visits, require "spec.support.raising_hook"
          local lock, visit = client:mutex("@path@", { owner = "thread" }), visits:here()
          local function take()
            lock:acquire(60)
            client:mutex("@path@-request"):acquire(60)
          end
          --- Raises at each instruction of fn in turn. Then the visit ends, and the request goes on with it.
          local function interrupt(fn, ...)
            local n, raised = 0
            repeat
              n = n + 1
              if fn ~= take then take() end
              raised = raising_hook.call("openresty/visits.lua", n, fn, ...)
              client.host:must_look()
              visit:finish()
              assert(not visit.owner and not visit.owners and not visits.threaded[visit])
              visit.is_over = false
            until not raised
            return n > 20
          end
          ngx.say(interrupt(take), " ", interrupt(visit.finish, visit))
        } }
        location /named { content_by_lua_block {
          local lock = client:mutex("@path@", { owner = "thread" })
          assert(lock:acquire(60, "me"))
          ngx.thread.wait(ngx.thread.spawn(function() ngx.say(lock:is_held("me"), " ", lock:release("me")) end))
        } }
      ]]

      it("is the light thread: two of one request exclude each other, in each way to take it", function()
        start_one(THREADS)
        assert.same({ 200, "1 8 false true\n" }, { web:get("/both") })
        assert.same({ 200, "true true\n" }, { web:get("/named") })
        here:becomes(0)
        assert.same({}, web:errors())
      end)

      it("ends with its request also after an error at its beginning or its end", function()
        start_one(THREADS, WITH_SPECS)
        assert.same({ 200, "true true\n" }, { web:get("/interrupted") })
        here:becomes(0)
        here:becomes(0, path .. "-request")
        assert.same({}, web:errors())
      end)

      it("ends with the phase: the upstream can take it", function()
        start_one(THREADS)
        assert.same({ 200, "false true true\n" }, { web:get("/access") })
        assert.same({ 200, "true\n" }, { web:get("/proxied") })
        here:becomes(0)
        assert.same({}, web:errors())
      end)
    end)

    it("is the present request, after hundreds of others, forgotten also if no address comes again", function()
      start_one [[
        location /hold { content_by_lua_block {
          assert(client:mutex("@path@/long"):acquire(60))
          ngx.say("held")
          ngx.flush()
          while not ngx.shared.counts:get("leave") do ngx.sleep(0.01) end
          ngx.say(client:mutex("@path@/long"):is_held())
        } }
        location /take { content_by_lua_block {
          local visits, owners = client.host.visits, package.loaded.seen_here or {}
          package.loaded.seen_here = owners
          local here, owner = visits:here(), visits:owner(true)
          assert(not owners[owner], "one that another request was")
          owners[owner] = true
          ngx.say(client:mutex("@path@/long"):is_held(), " ", client:mutex("@path@"):acquire(60) ~= nil)
          if ngx.var.args == "moves" then
            visits.list[here.address], visits.list[-ngx.shared.counts:incr("made", 1, 0)] = nil, here
          end
        } }
        location /kept { content_by_lua_block {
          local count = 0
          for _ in pairs(client.host.visits.list) do count = count + 1 end
          ngx.say(count)
        } }
        location /leave { content_by_lua_block { ngx.shared.counts:set("leave", true) } }
      ]]
      local call = web:begin("/hold")
      stats "held 1 waiting 0 abandoned 0"
      for i = 1, 200 do
        assert.same({ 200, "false true\n" }, { web:get(i % 2 == 0 and "/take?moves" or "/take") })
      end
      stats "held 1 waiting 0 abandoned 200"
      local _, kept = web:get("/kept")
      assert.is_true(tonumber(kept) < 80, kept)
      web:get("/leave")
      local _, body = call:finish()
      assert.equal("held\ntrue\n", body)
      stats "held 0 waiting 0 abandoned 201"
      assert.same({}, web:errors())
    end)

    it("is heard of at its end only if it has something to give back", function()
      start_one [[
        location /watch { content_by_lua_block {
          local visit = getmetatable(client.host.visits:here())
          local event = visit.event
          function visit:event(...)
            ngx.shared.counts:incr("heard", 1, 0)
            return event(self, ...)
          end
        } }
        location /cycle { content_by_lua_block {
          for _, lock in ipairs { client:mutex("@path@"), client:mutex("@path@-place", { fair = false }) } do
            for _, owner in ipairs { false, "shop" } do
              assert(lock:acquire(60, owner or nil))
              assert(lock:acquire(0, owner or nil))
              assert(lock:release(owner or nil))
              assert(lock:release(owner or nil))
            end
          end
        } }
        location /keep { content_by_lua_block {
          local lock = client:mutex("@path@")
          local way = ngx.var.args
          local function granted() ngx.shared.counts:set(way, true) end
          if way == "request" then
            lock:request(60, granted)
          elseif way == "timer" then
            ngx.timer.at(0, function() if lock:acquire(60) then granted() end end)
          else
            if way == "thread" then lock = client:mutex("@path@", { owner = "thread" }) end
            if way == "place" then
              lock = client:mutex("@path@-place", { fair = false })
              for _ = 1, 2 do assert(lock:acquire(60) and lock:release()) end -- it rests: the next one takes it over
            end
            if lock:acquire(60) then granted() end
          end
          while not ngx.shared.counts:get(way) do ngx.sleep(0.01) end
          ngx.say(true)
        } }
        location /long_ago { content_by_lua_block { client.host.looked = 0 } }
        location /looked { content_by_lua_block {
          client.host.visits:here()
          ngx.say(client.host.looked > 0)
        } }
        location /heard { content_by_lua_block {
          local list, count = client.host.visits.list, 0
          client.host:tend()
          for _ in pairs(list) do count = count + 1 end
          ngx.say(ngx.shared.counts:get("heard") or 0, " ", count)
        } }
      ]]
      web:get("/watch")
      for _ = 1, 20 do assert.equal(200, (web:get("/cycle"))) end
      local _, body = web:get("/heard")
      local heard, kept = body:match("^(%d+) (%d+)\n$")
      assert.is_true(tonumber(heard) <= 2, heard) -- the timers are kept from the second request on
      assert.equal("0", kept)
      web:get("/long_ago")
      assert.same({ 200, "true\n" }, { web:get("/looked") }) -- for events that others have
      for i, way in ipairs { "owner", "thread", "timer", "request", "place" } do
        assert.same({ 200, "true\n" }, { web:get("/keep?" .. way) })
        stats("held 0 waiting 0 abandoned " .. i)
        local now
        wait.eventually(function()
          now = select(2, web:get("/heard")):match("^%d+")
          return tonumber(now) > tonumber(heard)
        end, PATIENCE, way)
        heard = now
      end
      assert.same({}, web:errors())
    end)

    it("can be any value, and then outlives the request", function()
      start_one [[
        location /take { content_by_lua_block { ngx.say(tostring(client:mutex("@path@"):acquire(60, "shop"))) } }
        location /give { content_by_lua_block { ngx.say(client:mutex("@path@"):release("shop")) } }
      ]]
      local _, token = web:get("/take")
      assert.same({ 200, token }, { web:get("/take") })
      assert.same({ 200, "true\n" }, { web:get("/give") })
      here:becomes(1)
      assert.same({ 200, "true\n" }, { web:get("/give") })
      here:becomes(0)
    end)
  end)
end)
