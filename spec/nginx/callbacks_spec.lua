-- SPDX-License-Identifier: MIT
--- Callbacks inside nginx: they run by themselves, each in a light thread, and are no concern of the waits.

local fixture = require "spec.support.fixture"
local nginx = require "spec.support.nginx"
local wait = require "spec.support.wait"

if not nginx.is_testable() then
  describe("a callback inside nginx", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local PATIENCE = wait.PATIENCE

describe("a callback inside nginx", function()
  local here = fixture.new("/nginx-callback")
  local tree, other, web, path

  setup(function() tree, other = here.tree, here:second_process() end)

  before_each(function() path = here.path end)

  -- Everything that a request asks for ends with it: these are made in timers.
  local SEEN = [[
    location /seen { content_by_lua_block { ngx.say(ngx.shared.counts:get("seen") or "nothing") } }
    location /acquire { content_by_lua_block { ngx.say(client:mutex("@path@-free"):acquire(60) ~= nil) } }
  ]]

  local function start(text, http)
    web = here:nginx { workers = 1, http = http, server = SEEN .. text }
  end

  local function becomes(expected)
    wait.eventually(function()
      local _, seen = web:get("/seen")
      return seen == expected .. "\n", seen
    end, PATIENCE, "to see " .. expected)
  end

  it("runs without a poll, after its request, and may wait, while others are granted", function()
    assert(other:acquire(path .. "-second", PATIENCE))
    start [[
      location / { content_by_lua_block { ngx.timer.at(0, function()
        client:mutex("@path@"):request(60, function(token)
          ngx.shared.counts:set("seen", "called")
          while not ngx.shared.counts:get("go on") do ngx.sleep(0.01) end
          ngx.shared.counts:set("seen", "went on")
          local second = client:mutex("@path@-second"):acquire(60)
          ngx.shared.counts:set("seen", ("%s %s"):format(token ~= nil, second ~= nil))
        end)
      end) } }
      location /go-on { content_by_lua_block { ngx.shared.counts:set("go on", true) } }
    ]]
    web:get("/")
    becomes "called"
    assert.same({ 200, "true\n" }, { web:get("/acquire") })
    web:get("/go-on")
    becomes "went on"
    assert.same({ 200, "true\n" }, { web:get("/acquire") })
    assert(other:release(path .. "-second"))
    becomes "true true"
    here:becomes(0, path .. "-second")
    assert.same({}, web:errors())
  end)

  it("that calls ngx.exit or raises hurts nobody else, and its error is in the log", function()
    start [[
      location / { content_by_lua_block { ngx.timer.at(0, function()
        local function ask(i, fn) client:mutex("@path@-" .. i):request(60, fn) end
        for i = 1, 100 do ask(i, function() ngx.exit(0) end) end
        ask("bad", function() error("a bad callback") end)
        for i = 101, 200 do ask(i, function() ngx.shared.counts:incr("seen", 1, 0) end) end
      end) } }
    ]]
    web:get("/")
    becomes "100"
    assert.same({ 200, "true\n" }, { web:get("/acquire") })
    local errors = wait.eventually(function() return web:errors()[1] and web:errors() end, PATIENCE, "an error")
    assert.matches("zklock: error in a callback: .*a bad callback", errors[1])
    local _, count_of_errors = table.concat(errors):gsub("%[error%]", "")
    assert.equal(1, count_of_errors)
  end)

  it("that raises an object hurts nobody else, and the object's text is in the log", function()
    start [[
      location / { content_by_lua_block { ngx.timer.at(0, function()
        local said = setmetatable({}, { __tostring = function() return "a said error" end })
        local unsaid = setmetatable({}, { __tostring = function() error "no text" end })
        for i, object in ipairs { {}, said, unsaid } do
          client:mutex("@path@-" .. i):request(60, function() error(object) end)
        end
        client:watch("@path@", function() error(said) end)
        client:job("@path@-job", function() error(said) end, { pause = 1000, pause_most = 1000 })
        for i = 4, 50 do
          client:mutex("@path@-" .. i):request(60, function() ngx.shared.counts:incr("seen", 1, 0) end)
        end
      end) } }
    ]]
    web:get("/")
    becomes "47"
    local said
    wait.eventually(function()
      said = table.concat(web:errors(), "\n")
      return select(2, said:gsub("zklock: error in a callback:", "")) == 5, said
    end, PATIENCE, "five errors")
    assert.same({ 200, "true\n" }, { web:get("/acquire") })
    assert.equal(3, select(2, said:gsub("callback: a said error", "")))
    assert.is_nil(said:find("aborted", 1, true), said)
  end)

  it("is called once, of more than nginx runs timers, all of which wait", function()
    start([[
      location / { content_by_lua_block { ngx.timer.at(0, function()
        for i = 1, 300 do
          client:mutex("@path@-" .. i):request(60, function(token, _, request)
            ngx.sleep(0.01) -- a callback that yields
            request:release()
            if token then ngx.shared.counts:incr("seen", 1, 0) end
          end)
        end
      end) } }
    ]], nginx.CLIENT .. "lua_max_pending_timers 200; lua_max_running_timers 50;")
    for round = 1, 8 do -- one timer is followed by another meanwhile
      web:get("/")
      becomes(("%d"):format(300 * round))
    end
    assert.same({}, web:errors())
  end)

  describe("of a request that nginx's request made", function()
    local MADE = [[
      location /hold { content_by_lua_block {
        client:mutex("@path@"):request(60, function(token, err, request)
          ngx.shared.counts:set("held", request:is_held() and request:token() == token)
          ngx.shared.counts:set("seen", "called")
          while request:is_held() do ngx.sleep(0.01) end
          ngx.shared.counts:set("seen", ("%s %s %g %s %s"):format(err, request:state(), request:validity(),
            select(2, request:release()), ngx.shared.counts:get("held")))
        end)
        while not ngx.shared.counts:get("leave") do ngx.sleep(0.01) end
      } }
      location /wait { content_by_lua_block {
        local lock, semaphore = client:mutex("@path@"), client:semaphore("@path@-leases", 1)
        local function callback(_, err) ngx.shared.counts:set("seen", err or "granted") end
        lock:request(60, callback)
        semaphore:request(60, callback)
        while not ngx.shared.counts:get("leave") do ngx.sleep(0.01) end
      } }
      location /filter {
        content_by_lua_block { ngx.say("content") }
        header_filter_by_lua_block { client:mutex("@path@-filter"):request(60, function() end) }
        log_by_lua_block { client:mutex("@path@-log"):request(60, function() end) }
      }
      location /leave { content_by_lua_block { ngx.shared.counts:set("leave", true) } }
    ]]

    it("hears of the end of what it holds", function()
      start(MADE)
      local call = web:begin("/hold")
      becomes "called"
      here:becomes(1)
      web:get("/leave")
      call:finish()
      becomes "nil released 0 not owner true"
      here:becomes(0)
      assert.same({}, web:errors())
    end)

    it("is not called when that ends before it is granted, or its client goes away", function()
      assert(other:acquire(path, PATIENCE))
      other:eval("lease = assert(worker.client:semaphore(..., 1):acquire(60))", path .. "-leases")
      start("lua_check_client_abort on;" .. MADE)
      for _, ending in ipairs { "hang_up", "finish" } do
        local call = web:begin("/wait")
        here:becomes(2)
        if ending == "finish" then web:get("/leave") end
        call[ending](call)
        here:becomes(1)
      end
      assert(other:release(path))
      other:eval("lease:release()")
      assert.same({ 200, "true\n" }, { web:get("/acquire") })
      assert.same({ 200, "nothing\n" }, { web:get("/seen") })
      assert.same({}, web:errors())
    end)

    it("is not called when it is granted while nobody could be told, and that ends before", function()
      start [[
        location /compute { content_by_lua_block {
          local before = client:stats().acquired
          client:mutex("@path@"):request(60, function() ngx.shared.counts:set("seen", "called") end)
          repeat until client:stats().acquired > before
        } }
        location /abandoned { content_by_lua_block { ngx.say(client:stats().abandoned) } }
      ]]
      assert.equal(200, (web:get("/compute")))
      wait.eventually(function() return select(2, web:get("/abandoned")) == "1\n" end, PATIENCE)
      here:becomes(0)
      assert.same({ 200, "nothing\n" }, { web:get("/seen") })
      assert.same({}, web:errors())
    end)

    it("that is cancelled when nobody could be told of its grant gives the lock back before cancel returns", function()
      start [[
        location /cancel { content_by_lua_block {
          local before, told = client:stats().acquired
          local request = client:mutex("@path@"):request(60, function(_, err) told = err end)
          repeat until client:stats().acquired > before
          local cancelled, held = request:cancel(), client:stats().held
          while not told do ngx.sleep(0.01) end
          ngx.say(("%s %d %s %s"):format(cancelled, held, told, request:state()))
        } }
      ]]
      assert.same({ 200, "true 0 cancelled failed\n" }, { web:get("/cancel") })
      here:becomes(0)
      assert.same({}, web:errors())
    end)

    it("made in a filter ends with it, too; made in the log phase it ends with nothing", function()
      start(MADE)
      web:get("/filter")
      here:becomes(1, path .. "-log")
      here:becomes(0, path .. "-filter")
      assert.same({}, web:errors())
    end)
  end)

  it("of on_lost is told whose lock was lost", function()
    start [[
      location / { content_by_lua_block {
        local lock = client:mutex("@path@")
        lock:on_lost(function(err, owner, token)
          ngx.shared.counts:set("seen", ("%s %s %s"):format(err, tostring(owner), token))
        end)
        local token = lock:acquire(60)
        ngx.shared.counts:set("seen", "held")
        while lock:is_held() do ngx.sleep(0.01) end
        ngx.say(token, " ", select(2, lock:release()))
      } }
    ]]
    local call = web:begin("/")
    becomes "held"
    assert(tree:delete(path .. "/" .. tree:children(path)[1]))
    local _, body = call:finish()
    local token, err = body:match("(%d+) (%a+)")
    assert.equal("lost", err)
    becomes(("lost an nginx request %s"):format(token))
    assert.same({}, web:errors())
  end)

  it("of on_state and of requests hears of the end, and close takes no time; waiters hear 'closed'", function()
    assert(other:acquire(path, PATIENCE))
    start([[
      location /wait { content_by_lua_block { ngx.say(client:mutex("@path@"):acquire(60)) } }
      location /close { content_by_lua_block {
        client:mutex("@path@"):request(60, function(_, err) ngx.shared.counts:set("seen", err .. " " .. last_state) end)
        ngx.say(client:close(), " ", client:state(), " ", client:close())
      } }
    ]], [[
      lua_shared_dict counts 1m;
      init_worker_by_lua_block {
        last_state = "none"
        client = assert(require("zklock").connect("@hosts@", { on_state = function(state) last_state = state end }))
      }
    ]])
    local waiter = web:begin("/wait")
    here:becomes(2)
    assert.same({ 200, "true closed true\n" }, { web:get("/close") })
    local _, body = waiter:finish()
    assert.equal("nilclosed\n", body)
    becomes "closed closed"
    here:becomes(1)
    assert.same({}, web:errors())
    assert.is_true(nginx.await_end(web:reload()))
  end)

  it("of each of many requests hears 'closed'", function()
    assert(other:acquire(path, PATIENCE))
    start [[
      location / { content_by_lua_block {
        for _ = 1, 200 do
          client:mutex("@path@"):request(60, function(_, err)
            ngx.sleep(0.01) -- a callback that yields
            if err == "closed" then ngx.shared.counts:incr("seen", 1, 0) end
          end)
        end
        client:close()
      } }
    ]]
    web:get("/")
    wait.eventually(function() return select(2, web:get("/seen")) == "200\n" end)
    assert.is_true(nginx.await_end(web:reload()))
    assert.same({}, web:errors())
  end)

  it("ends a poll that waits, and no poll blocks the worker", function()
    start [[
      location /poll { content_by_lua_block { ngx.say(client:poll(20)) } }
      location /ask { content_by_lua_block {
        ngx.timer.at(0, function() client:mutex("@path@"):request(60, function() end) end)
      } }
    ]]
    local call = web:begin("/poll")
    for _ = 1, 3 do assert.same({ 200, "true\n" }, { web:get("/acquire") }) end
    web:get("/ask")
    assert.same({ 200, "1\n" }, { call:finish() })
    assert.same({}, web:errors())
  end)

  it("and waits work for a client that a request made, which later requests share", function()
    start([[
      location / { content_by_lua_block {
        package.loaded.mine = package.loaded.mine or assert(require("zklock").connect("@hosts@"))
        local mine = package.loaded.mine
        local lock = mine:mutex("@path@")
        local token = assert(lock:acquire(60))
        mine:mutex("@path@-2"):request(60, function() ngx.shared.counts:incr("seen", 1, 0) end)
        ngx.say(lock:release())
      } }
    ]], "lua_shared_dict counts 1m;")
    for i = 1, 4 do assert.same({ 200, "true\n" }, { web:get("/") }, i) end
    local old = web:reload()
    assert.is_true(nginx.await_end(old), "the old worker is still there")
    assert.same({}, web:errors())
  end)

  it("is called once, wherever a hook raises in its timer, and keeps the worker for no longer", function()
    start [[
      location / { content_by_lua_block {
        local runner, this, called, left = client.host.runner, coroutine.running(), 0, tonumber(ngx.var.arg_n)
        jit.off()
        jit.flush()
        debug.sethook(function()
          local source = debug.getinfo(2, "S").source
          if coroutine.running() == this or not source:find("openresty/runner.lua", 1, true) then return end
          left = left - 1
          if left > 0 then return end
          debug.sethook()
          error("the hook", 0)
        end, "", 1)
        client:spawn(function() called = called + 1 end)
        local turns = 0
        repeat
          ngx.sleep(0.01) -- a turn
          turns = turns + 1
          if turns > 10 then runner.crew.news:post(1) end -- otherwise it looks after some seconds
        until called > 0 and not runner:is_busy()
        debug.sethook()
        jit.on()
        ngx.say(called)
      } }
    ]]
    local n = 0
    repeat
      n = n + math.random(5)
      assert.same({ 200, "1\n" }, { web:get("/?n=" .. n) }, n)
    until n > 250 -- it begins another callback by then
  end)

  describe("is called soon also after an error", function()
    local function breaks(text)
      local locations = ([[
        location / { content_by_lua_block {
          local host, notifier, semaphore = client.host, client.host.notifier, require "ngx.semaphore"
          require("zklock.openresty.caretaker").remove(host) -- it would find a timer that has ended
          local socket = notifier.socket
          @text@
          client.native:wake()
          repeat ngx.sleep(0.01) until notifier.socket and notifier.socket ~= socket
          client:spawn(function() ngx.shared.counts:incr("seen", 1, 0) end)
        } }
      ]]):gsub("@text@", text)
      start(locations)
      web:get("/")
      becomes "1"
    end

    it("in the light thread that reads", function()
      breaks [[
        local post = semaphore.post
        function semaphore.post(...)
          if not debug.getinfo(2, "S").source:find("notifier.lua", 1, true) then return post(...) end
          semaphore.post = post
          function host.must_look() return notifier.socket == socket end -- at once, not after some seconds
          error("not enough memory", 0)
        end
        function host.must_look() return true end -- so the timer looks soon, not after some seconds
      ]]
    end)

    it("in the timer that takes the events", function()
      breaks [[
        local take = host.take
        function host.take()
          host.take = take
          error("not enough memory", 0)
        end
      ]]
    end)
  end)
end)
