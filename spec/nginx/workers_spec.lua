-- SPDX-License-Identifier: MIT
--- The life of nginx's workers: how they begin, are reloaded, killed, and leave; what each phase may do.

local fixture = require "spec.support.fixture"
local inspector = require "spec.support.inspector"
local lfs = require "lfs"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local uv = require "luv"

if not nginx.is_testable() then
  describe("a worker of nginx", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local SESSION = 600 -- seconds: what is free within PATIENCE was given back
local PATIENCE = wait.PATIENCE

describe("a worker of nginx", function()
  local here = fixture.new("/nginx-life", { session_timeout = SESSION })
  local tree, other, web, path

  setup(function() tree, other = here.tree, here:second_process() end)

  before_each(function() path = here.path end)

  --- Starts nginx with a client; "@path@" is the spec's.
  local function start(options)
    web = here:nginx(options)
    return web
  end

  local COUNT = [[
      location /count { content_by_lua_block {
        local lock, counts = client:mutex("@path@"), ngx.shared.counts
        local token, err = lock:acquire(60)
        if not token then return ngx.exit(503) end
        local n = counts:get("n") or 0
        ngx.sleep(0.001) -- a holder
        counts:set("n", n + 1)
        counts:incr("made", 1, 0)
        ngx.say(n)
      } }
      location /sum { content_by_lua_block {
        ngx.say(ngx.shared.counts:get("n"), " ", ngx.shared.counts:get("made"))
      } }
      location /hold { content_by_lua_block {
        assert(client:mutex("@path@"):acquire(60))
        while not ngx.shared.counts:get("leave") do ngx.sleep(0.01) end
        ngx.say("held by ", ngx.worker.pid())
      } }
      location /leave { content_by_lua_block { ngx.shared.counts:set("leave", true) } }
      location /quick { content_by_lua_block { ngx.say(client:mutex("@path@-quick"):acquire(60) ~= nil) } }
  ]]

  describe("that is reloaded", function()
    it("under load serves every request, counts exactly and leaves, without an error", function()
      start { server = COUNT }
      local wrk = process.spawn { "wrk", "-t2", "-c40", "-d4s", web.url .. "/count" }
      local old = {}
      for _ = 1, 3 do
        wait.rest(0.7) -- under load
        for _, pid in ipairs(web:reload()) do old[#old + 1] = pid end
      end
      assert.equal(0, (wrk:wait()))
      local report = wrk:stdout()
      assert.is_nil(report:match("Non%-2xx[^\n]*"))
      assert.is_true(nginx.await_end(old), "the old workers are still there")
      here:becomes(0)
      local _, body = web:get("/sum")
      local n, made = body:match("(%d+) (%d+)")
      assert.is_true(tonumber(made) > 10)
      assert.equal(made, n)
      assert.same({}, web:errors())
    end)

    it("lets its requests wait, be granted and finish, gives back what they held, and leaves", function()
      start { server = COUNT, workers = 1 }
      local holder = web:begin("/hold")
      here:becomes(1)
      local waiters = {}
      for i = 1, 15 do waiters[i] = web:begin("/count") end
      here:becomes(16)
      local old = web:reload()
      assert.same({ 200, "true\n" }, { web:get("/quick") }) -- by the new one
      assert.equal(16, #here:nodes())
      web:get("/leave")
      local _, body = holder:finish()
      assert.equal(("held by %d\n"):format(old[1]), body)
      for i = 1, 15 do assert.equal(200, (waiters[i]:finish())) end
      assert.is_true(nginx.await_end(old), "the old worker is still there")
      here:becomes(0)
      assert.same({}, web:errors())
    end)

    it("hears of the end of a request that holds nothing: it leaves after the last one", function()
      start { workers = 1, server = COUNT .. [[
        location /stay { content_by_lua_block {
          assert(client:mutex("@path@"):acquire(60))
          assert(client:mutex("@path@"):release())
          local mine = client.host.visits:here()
          local visit = getmetatable(mine)
          local event = visit.event
          function visit:event(...)
            if self == mine and ngx.worker.exiting() then ngx.shared.counts:set("heard", true) end
            return event(self, ...)
          end
          ngx.shared.counts:set("stays", true)
          while client.host.notifier.kept do ngx.sleep(0.01) end
          ngx.shared.counts:set("stays alone", true)
          while not ngx.shared.counts:get("leave") do ngx.sleep(0.01) end
        } }
        location /look { content_by_lua_block { ngx.say(ngx.shared.counts:get(ngx.unescape_uri(ngx.var.args))) } }
      ]] }
      for _ = 1, 2 do assert.same({ 200, "true\n" }, { web:get("/quick") }) end
      local call = web:begin("/stay")
      local function has(what) return select(2, web:get("/look?" .. what)) == "true\n" end
      wait.eventually(function() return has "stays" end)
      local old = web:reload()
      wait.eventually(function() return has "stays%20alone" end)
      web:get("/leave")
      assert.equal(200, (call:finish()))
      assert.is_true(nginx.await_end(old), "the old worker is still there")
      assert.is_true(has "heard")
      assert.same({}, web:errors())
    end)

    it("can begin new waits in requests that it still has", function()
      start { workers = 1, server = [[
        location / { content_by_lua_block {
          local counts = ngx.shared.counts
          counts:set("here", true)
          while not ngx.worker.exiting() do ngx.sleep(0.01) end
          local tokens = 0
          for i = 1, 3 do
            local lock = client:mutex("@path@")
            tokens = tokens + (lock:acquire(60) and 1 or 0)
            lock:release()
            ngx.sleep(0.05) -- between two turns
          end
          ngx.say(tokens)
        } }
        location /here { content_by_lua_block { ngx.say(ngx.shared.counts:get("here")) } }
      ]] }
      local call = web:begin("/")
      wait.eventually(function() return select(2, web:get("/here")) == "true\n" end)
      local old = web:reload()
      assert.same({ 200, "3\n" }, { call:finish() })
      assert.is_true(nginx.await_end(old), "the old worker is still there")
      assert.same({}, web:errors())
    end)

    it("while idle leaves at once, and what it held in its own name is free at once", function()
      start { workers = 2, server = [[
        location /take { content_by_lua_block { ngx.say(client:mutex("@path@"):acquire(60, "worker") ~= nil) } }
        location /ask { content_by_lua_block {
          ngx.timer.at(0, function() client:mutex("@path@"):request(nil, function() end) end)
          ngx.say("asked")
        } }
      ]] }
      assert.same({ 200, "true\n" }, { web:get("/take") })
      assert.same({ 200, "asked\n" }, { web:get("/ask") })
      here:becomes(2)
      local old = web:reload()
      assert.is_true(nginx.await_end(old), "the old workers are still there")
      here:becomes(0)
      assert.same({}, web:errors())
    end)

    it("gives up the places that it keeps for nobody when it is told to leave, with requests under way", function()
      start { workers = 1, server = [[
        location / { content_by_lua_block {
          local lock = client:mutex("@path@", { fair = false, linger = 1000 })
          assert(lock:acquire(60))
          lock:release()
          ngx.shared.counts:set("here", true)
          while not ngx.shared.counts:get("leave") do ngx.sleep(0.01) end
          ngx.say(lock:acquire(60) ~= nil, " ", lock:release())
        } }
        location /here { content_by_lua_block { ngx.say(ngx.shared.counts:get("here")) } }
        location /leave { content_by_lua_block { ngx.shared.counts:set("leave", true) ngx.say("left") } }
      ]] }
      local call = web:begin("/")
      wait.eventually(function() return select(2, web:get("/here")) == "true\n" end)
      here:becomes(1)
      local old = web:reload()
      here:becomes(0)
      assert.is_true(nginx.are_there(old), "the old worker has left") -- else that would have freed it
      assert.same({ 200, "left\n" }, { web:get("/leave") })
      assert.same({ 200, "true true\n" }, { call:finish() })
      assert.is_true(nginx.await_end(old), "the old worker is still there")
      here:becomes(0)
      assert.same({}, web:errors())
    end)

    it("with a worker_shutdown_timeout leaves then, and its requests' places are free", function()
      start { server = COUNT, workers = 1, main = "worker_shutdown_timeout 1s;" }
      assert(other:acquire(path, PATIENCE))
      local waiter = web:begin("/hold")
      here:becomes(2)
      local old = web:reload()
      assert.is_true(nginx.await_end(old), "the old worker is still there")
      here:becomes(1)
      assert.is_nil((waiter:finish()))
      assert(other:release(path))
      assert.same({}, web:errors())
    end)
  end)

  for _, quiet in ipairs { false, true } do
    it(quiet and "with log = false logs nothing" or "logs a loss and each change for the worse", function()
      local mine = server.start()
      start { workers = 1, http = ([[
        lua_shared_dict counts 1m;
        init_worker_by_lua_block {
          client = assert(require("zklock").connect("%s"%s))
        }
      ]]):format(mine.hosts, quiet and ", { log = false }" or ""), server = [[
        location /take { content_by_lua_block { ngx.say(client:mutex("/logged"):acquire(60, "worker")) } }
        location /state { content_by_lua_block { ngx.say(client:state(), " ", client:stats().lost) } }
      ]] }
      local _, token = web:get("/take")
      mine:kill()
      wait.eventually(function() return select(2, web:get("/state")) == "suspended 0\n" end)
      mine:start()
      wait.eventually(function() return select(2, web:get("/state")):match("^connected") end)
      local inside = inspector.connect(mine.hosts)
      for _, name in ipairs(inside:children("/logged") or {}) do inside:delete("/logged/" .. name) end
      inside:close()
      wait.eventually(function() return select(2, web:get("/state")) == "connected 1\n" end)
      local function is_logged(text)
        for line in web:log():gmatch("[^\n]+") do
          if line:find("[warn]", 1, true) and line:find(text, 1, true) then return true end
        end
        return false
      end
      local lost = ("zklock: lost: /logged (token %s)"):format(token:sub(1, -2))
      wait.eventually(function() return quiet or is_logged(lost) end)
      assert.equal(not quiet, is_logged("zklock: suspended: "))
      assert.equal(not quiet, is_logged("zklock: connected again after "))
      assert.equal(not quiet, is_logged(" (client 1)"))
      assert.equal(not quiet, is_logged("zklock: lost"))
      mine:stop()
    end)
  end

  for title, how in pairs { ["is told to quit"] = "sigquit", ["is told to end"] = "sigterm" } do
    it(("that %s gives back what it held at once"):format(title), function()
      start { workers = 2, server = [[
        location /take { content_by_lua_block { ngx.say(client:mutex("@path@"):acquire(60, "worker") ~= nil) } }
      ]] }
      assert.same({ 200, "true\n" }, { web:get("/take") })
      here:becomes(1)
      uv.kill(web.pid, how)
      assert.is_true(nginx.await_end { web.pid })
      here:becomes(0)
      assert.same({}, web:errors())
    end)
  end

  it("that is killed keeps its locks until its session times out; the others go on", function()
    local session = 4 -- seconds
    start { server = COUNT, workers = 2, values = { session = session } }
    local holder = web:begin("/hold")
    here:becomes(1)
    local began = wait.now()
    local owner = tonumber((tree:get(path .. "/" .. tree:children(path)[1])):match(":(%d+)$"))
    local found
    for _, pid in ipairs(web:workers()) do found = found or pid == owner end
    assert.is_true(found, "its node names it")
    local token = { other:acquire(path, 0) }
    assert.same({ nil, "timeout" }, token)
    nginx.kill_worker(owner)
    assert.is_nil((holder:finish()))
    assert.equal(1, #here:nodes())
    assert.is_number(other:acquire(path, PATIENCE))
    assert.is_true(wait.now() - began > session / 2, "not before")
    assert(other:release(path))
    for _ = 1, 4 do assert.equal(200, (web:get("/count"))) end
    for _, line in ipairs(web:errors()) do assert.matches("exited on signal 9", line) end
  end)

  it("that is another user than root works as well", function()
    if uv.getuid() ~= 0 then return pending("only root can start it as another") end
    local shared = assert(uv.fs_mkdtemp(uv.os_tmpdir() .. "/zklock-shared-XXXXXX"))
    local function run(...)
      local command = { ... }
      command.env = process.PLAIN
      assert.equal(0, (process.spawn(command):wait()))
    end
    run("cp", "-r", "lua", "build/luajit/zklock", shared)
    run("chmod", "-R", "a+rX", shared)
    start { server = COUNT, user = "nobody nogroup", tree = shared, build = shared }
    local ok, err = pcall(function()
      local calls = {}
      for i = 1, 20 do calls[i] = web:begin("/count") end
      for i = 1, 20 do assert.equal(200, (calls[i]:finish())) end
      assert.same({ 200, "20 20\n" }, { web:get("/sum") })
      local old = web:reload()
      assert.is_true(nginx.await_end(old))
      assert.same({}, web:errors())
      for _, pid in ipairs(web:workers()) do -- a new one is root's until it has begun
        wait.eventually(function() return lfs.attributes("/proc/" .. pid, "uid") ~= 0 end, PATIENCE, "another user")
      end
    end)
    run("rm", "-rf", shared)
    assert(ok, err)
  end)

  it("with lua_code_cache off serves 400 requests, each with a client whose locks end with it #slow", function()
    start { http = "lua_shared_dict counts 1m; lua_code_cache off;", server = [[
      location / { content_by_lua_block {
        local zklock, counts = require "zklock", ngx.shared.counts
        local client = assert(zklock.connect("@hosts@", { connect_timeout = 5 }))
        local name = ("/%d"):format(ngx.var.args % 8)
        assert(client:mutex("@path@" .. name):acquire(60))
        local n = counts:get(name) or 0
        ngx.sleep(0)
        counts:set(name, n + 1)
        if ngx.var.args % 10 == 0 then
          ngx.timer.at(0, function()
            if client:mutex("@path@/timer"):acquire(60) then counts:incr("timers", 1, 0) end
          end)
        end
      } }
      location /sum { content_by_lua_block {
        local sum = ngx.shared.counts:get("timers")
        for i = 0, 7 do sum = sum + ngx.shared.counts:get("/" .. i) end
        ngx.say(sum)
      } }
    ]] }
    local curl = process.spawn { "curl", "-s", "-o", "/dev/null", "-w", "%{http_code}\n", "--parallel",
      "--parallel-max", "20", ("%s/?[1-400]"):format(web.url) }
    local before = web:workers()
    assert.equal(0, (curl:wait(300)))
    local _, served = curl:stdout():gsub("200\n", "")
    assert.equal(400, served)
    wait.eventually(function() return select(2, web:get("/sum")) == "440\n" end, PATIENCE, "the last timer's turn")
    for i = 0, 7 do here:becomes(0, path .. "/" .. i) end
    here:becomes(0, path .. "/timer")
    assert.same(before, web:workers())
    assert.same({}, web:errors())
    -- The remains of each request are gone: its threads, its descriptors.
    wait.eventually(function()
      local most = 0
      for _, pid in ipairs(web:workers()) do
        for _, kind in ipairs { "task", "fd" } do
          local scan, entries = uv.fs_scandir(("/proc/%d/%s"):format(pid, kind)), 0
          while uv.fs_scandir_next(scan) do entries = entries + 1 end
          most = math.max(most, entries)
        end
      end
      return most < 60, most
    end, PATIENCE, "the end of the requests' clients")
    local old = web:reload()
    assert.is_true(nginx.await_end(old), "the old workers are still there")
    assert.same({}, web:errors())
  end)

  it("gives back a lease that a timer has dropped when that is collected, or when it leaves", function()
    start { workers = 1, server = [[
      location /take { content_by_lua_block {
        local held
        assert(ngx.timer.at(0, function() held = client:semaphore("@path@", 2):acquire(60):is_held() end))
        while not held do ngx.sleep(0.001) end
        ngx.say(held)
      } }
      location /held { content_by_lua_block { ngx.say(client:stats().held) } }
      location /collect { content_by_lua_block { collectgarbage() collectgarbage() } }
    ]] }
    assert.same({ 200, "true\n" }, { web:get("/take") })
    wait.eventually(function()
      web:get("/collect")
      return select(2, web:get("/held")) == "0\n"
    end)
    here:becomes(0, path .. "/leases")
    assert.same({ 200, "true\n" }, { web:get("/take") })
    assert.same({}, web:errors())
    web:stop("sigquit")
    web = nil
    here:becomes(0, path .. "/leases")
  end)

  describe("in the phase", function()
    local ASK = [[
      local function try(name)
        local lock = client:mutex("@path@-" .. name)
        local token, err, advice = lock:acquire(60)
        local _, _, of_leases = client:semaphore("@path@-leases", 1):acquire(0.5)
        local _, _, of_with = lock:with(5, function() end)
        if not token and not (advice .. of_leases .. of_with):find("lock:request.*lock:request.*lock:request") then
          err = err .. " without advice"
        end
        local request = client:mutex("@path@-requested"):request(5, function() end)
        local asked = request:state()
        request:cancel()
        local held, _, why = lock:is_held(), lock:release()
        for _, seconds in ipairs { 0, 0.01 } do
          local slept, unslept = client:sleep(seconds)
          assert(token and slept == true or not token and slept == nil and unslept == err, unslept)
        end
        return ("%s: %s %s %s %s;"):format(name, token and "token" or err, held, tostring(why), asked)
      end
    ]]
    local REFUSED = "%s: cannot wait in phase %s false not owner waiting;"
    local GRANTED = "%s: token true nil waiting;"

    it("that can be suspended acquires; elsewhere it says so, and the rest works", function()
      start { workers = 1, http = [[
        lua_shared_dict counts 1m;
        init_worker_by_lua_block {
          zklock = require "zklock"
          client = assert(zklock.connect("@hosts@"))
          ]] .. ASK .. [[
          at_init_worker = try("init_worker")
          connected_late = select(2, zklock.connect("@hosts@", { connect_timeout = 1 }))
          ngx.timer.at(0, function() ngx.shared.counts:set("timer", try("timer")) end)
        }
      ]], server = [[
        set_by_lua_block $seen { ]] .. ASK .. [[ return try("set") }
        location / {
          rewrite_by_lua_block { ]] .. ASK .. [[ ngx.ctx.seen = ngx.var.seen .. try("rewrite") }
          access_by_lua_block { ]] .. ASK .. [[ ngx.ctx.seen = ngx.ctx.seen .. try("access") }
          content_by_lua_block { ]] .. ASK .. [[
            local seen = ngx.ctx.seen .. try("content")
            local counts = ngx.shared.counts
            while not counts:get("timer") do ngx.sleep(0.01) end
            ngx.say(at_init_worker, connected_late, ";", counts:get("timer"), seen)
          }
          header_filter_by_lua_block { ]] .. ASK .. [[ ngx.shared.counts:set("header_filter", try("header_filter")) }
          body_filter_by_lua_block { ]] .. ASK .. [[ ngx.shared.counts:set("body_filter", try("body_filter")) }
          log_by_lua_block { ]] .. ASK .. [[ ngx.shared.counts:set("log", try("log")) }
        }
        location /after { content_by_lua_block {
          local counts = ngx.shared.counts
          ngx.say(counts:get("header_filter"), counts:get("body_filter"), counts:get("log"))
        } }
      ]] }
      local _, body = web:get("/")
      assert.equal(REFUSED:format("init_worker", "init_worker") .. "cannot wait in phase init_worker;"
        .. GRANTED:format("timer") .. REFUSED:format("set", "set")
        .. GRANTED:format("rewrite") .. GRANTED:format("access") .. GRANTED:format("content") .. "\n", body)
      wait.eventually(function()
        _, body = web:get("/after")
        return not body:find("nil\n$")
      end)
      assert.equal(REFUSED:format("header_filter", "header_filter") .. REFUSED:format("body_filter", "body_filter")
        .. REFUSED:format("log", "log") .. "\n", body)
      assert.same({}, web:errors())
    end)

    it("header_filter, body_filter and log a lock of the request is released and looked at", function()
      start { workers = 1, server = [[
        location /header {
          content_by_lua_block { assert(client:mutex("@path@"):acquire(60)) ngx.say("content") }
          header_filter_by_lua_block {
            local lock = client:mutex("@path@")
            ngx.header.seen = ("%s %s %s"):format(lock:is_held(), lock:token() ~= nil, lock:release())
          }
          log_by_lua_block { ngx.shared.counts:set("log", select(2, client:mutex("@path@"):release())) }
        }
        location /seen { content_by_lua_block { ngx.say(ngx.shared.counts:get("log")) } }
      ]] }
      local curl = process.spawn { "curl", "-si", web.url .. "/header" }
      curl:wait()
      assert.matches("[Ss]een: true true true", curl:stdout())
      here:becomes(0)
      wait.eventually(function() return select(2, web:get("/seen")) == "not owner\n" end)
      assert.same({}, web:errors())
    end)

    it("content interrupt_on raises: workers give back what they have when they leave", function()
      start { workers = 1, server = [[
        location / { content_by_lua_block { ngx.say(tostring(select(2, pcall(zklock.interrupt_on, "TERM")))) } }
      ]] }
      assert.matches("zklock.interrupt_on does not work inside nginx", select(2, web:get("/")))
    end)

    it("init connect raises, and says where to put it", function()
      local ok, err = pcall(start, { http = [[
        init_by_lua_block { require("zklock").connect("@hosts@") }
      ]] })
      assert.is_false(ok)
      assert.matches("init_by_lua%(nginx.conf:%d+%):1: zklock.connect cannot be called in init_by_lua", err)
      assert.matches("call it in init_worker_by_lua", err)
    end)
  end)
end)
