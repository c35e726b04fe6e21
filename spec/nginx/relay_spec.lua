-- SPDX-License-Identifier: MIT
--- Inside nginx, with fair = false: one request after the other takes over the hold of its worker's place.

local fixture = require "spec.support.fixture"
local nginx = require "spec.support.nginx"
local wait = require "spec.support.wait"

if not nginx.is_testable() then
  describe("a hot lock inside nginx", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local PATIENCE = wait.PATIENCE

describe("a hot lock inside nginx", function()
  local here = fixture.new("/nginx_relay", { session_timeout = 600 }) -- heartbeats are far apart
  local other, web

  setup(function() other = here:second_process() end)

  --- One worker, with two locks whose places stay. The shared dictionary has what requests wait for.
  local function start(server)
    web = here:nginx { workers = 1, http = [[
      lua_shared_dict relay 1m;
      init_worker_by_lua_block {
        client = assert(require("zklock").connect("@hosts@", { session_timeout = 600 }))
        hot = client:mutex("@path@", { fair = false, linger = 1000 })
        warm = client:mutex("@path@-warm", { fair = false, linger = 1000 })
        local ffi = require "ffi"
        ffi.cdef [=[
          struct one_descriptor { int fd; short events, revents; };
          int poll(struct one_descriptor *descriptors, unsigned long count, int milliseconds);
        ]=]
        function asks_for_a_turn()
          return ffi.C.poll(ffi.new("struct one_descriptor", client:getfd(), 1, 0), 1, 0) == 1
        end
        function await(name) while not ngx.shared.relay:get(name) do ngx.sleep(0.01) end end
        local function goes_short()
          assert(hot:acquire(60))
          local relay = hot.lock_path.handed.relay
          local is_taken = relay and relay.taker
          assert(hot:release())
          return is_taken
        end
        function await_short_way() -- the client may not watch its node yet
          while not goes_short() do ngx.sleep(0.01) end
          return hot.lock_path.handed.relay
        end
      }
    ]], server = [[
      location /set { content_by_lua_block { ngx.shared.relay:set(ngx.var.args, true) ngx.say("set") } }
      location /cycle { content_by_lua_block {
        local token = assert(hot:acquire(60))
        local turn = hot:turn()
        ngx.say(hot:is_held(), " ", hot:token() == token, " ", hot:release(), " ", hot:release())
        ngx.log(ngx.INFO, turn)
      } }
      location /fast { content_by_lua_block {
        assert(hot:acquire(60))
        ngx.say(hot:release())
      } }
      location /stats { content_by_lua_block {
        local stats = client:stats()
        ngx.say(("held %d waiting %d abandoned %d"):format(stats.held, stats.waiting, stats.abandoned))
      } }
      location /sent { content_by_lua_block { ngx.say(client:stats().requests_sent) } }
      # Whether a hold goes from request to request without a look at the tables of owners.
      location /relays { content_by_lua_block {
        local relay = hot.lock_path.handed.relay
        ngx.say(relay and relay.contender:given_back() and not relay.taker)
      } }
    ]] .. server }
  end

  --- Until the worker's counts are these.
  local function stats(wanted)
    wait.eventually(function()
      local _, body = web:get("/stats")
      return body == wanted .. "\n", body
    end, PATIENCE, wanted)
  end

  --- Until the hold of the place rests.
  local function warm_up()
    wait.eventually(function()
      assert.same({ 200, "true\n" }, { web:get("/fast") })
      local _, body = web:get("/relays")
      return body == "true\n"
    end, PATIENCE, "a hold that goes from request to request")
  end

  --- The next request gets it at once, and nothing is wrong.
  local function ends_well(counts)
    stats(counts)
    assert.same({ 200, "true true true nilnot owner\n" }, { web:get("/cycle") })
    assert.same({ 200, "true\n" }, { web:get("/fast") })
    assert.same({}, web:errors())
  end

  it("goes from request to request without traffic", function()
    start ""
    warm_up()
    local before = tonumber((select(2, web:get("/sent"))))
    for _ = 1, 100 do
      assert.same({ 200, "true\n" }, { web:get("/fast") })
      assert.same({ 200, "true true true nilnot owner\n" }, { web:get("/cycle") })
    end
    assert.is_true(tonumber((select(2, web:get("/sent")))) - before < 5)
    ends_well "held 0 waiting 0 abandoned 0"
  end)

  it("goes the long way while a debug hook is set, which could raise in between", function()
    start [[
      location /hooked { content_by_lua_block {
        local handed = hot.lock_path.handed
        local function hooked(fn)
          debug.sethook(function() end, "", 1000000)
          assert(fn(hot))
          debug.sethook()
        end
        local relay = await_short_way()
        hooked(hot.acquire)
        local rests = handed.relay == relay and relay.contender:given_back()
        assert(hot:release())
        relay = await_short_way()
        assert(hot:acquire(60))
        hooked(hot.release)
        ngx.say(rests, " ", handed.relay == relay)
      } }
    ]]
    warm_up()
    assert.same({ 200, "true false\n" }, { web:get("/hooked") })
    ends_well "held 0 waiting 0 abandoned 0"
  end)

  it("stays where it is if the timeout is none", function()
    start [[
      location /none { content_by_lua_block {
        await_short_way()
        for _, timeout in ipairs { -1, 0 / 0, "1", {} } do
          local ok, err = pcall(hot.acquire, hot, timeout)
          ngx.print(ok, " ", err:match("expected, got .*"), ", ")
        end
        ngx.say(hot:is_held(), " ", hot:acquire() ~= nil, " ", hot:release())
      } }
    ]]
    warm_up()
    local refused = {}
    for i, got in ipairs { "-1", "nan", "string", "table" } do
      refused[i] = "false expected, got " .. got .. ", "
    end
    local code, body = web:get("/none")
    assert.same({ 200, table.concat(refused) .. "false true true\n" }, { code, (body:gsub("got %-nan", "got nan")) })
    ends_well "held 0 waiting 0 abandoned 0"
  end)

  it("is given back when its request ends without a release, also one of two", function()
    start [[
      location /keep { content_by_lua_block { ngx.say(hot:acquire(60) ~= nil) } }
      location /both { content_by_lua_block {
        assert(hot:acquire(60))
        assert(warm:acquire(60))
        ngx.say(warm:release())
      } }
      location /other { content_by_lua_block {
        assert(warm:acquire(60))
        assert(hot:acquire(60))
        ngx.say(warm:release())
      } }
      location /raise { content_by_lua_block { assert(hot:acquire(60)) error "raised on purpose" } }
    ]]
    for i, path in ipairs { "/keep", "/both", "/other" } do
      warm_up()
      assert.same({ 200, "true\n" }, { web:get(path) })
      assert(other:acquire(here.path, PATIENCE)) -- no other request of the worker finds it
      assert(other:release(here.path))
      stats(("held 0 waiting 0 abandoned %d"):format(i))
    end
    ends_well "held 0 waiting 0 abandoned 3"
    warm_up()
    web:get("/raise")
    stats "held 0 waiting 0 abandoned 4"
    assert.same({ 200, "true\n" }, { web:get("/fast") })
  end)

  it("is given back when the client of its request goes away", function()
    start [[
      lua_check_client_abort on;
      location /hold { content_by_lua_block {
        assert(hot:acquire(60))
        ngx.shared.relay:set("held", true)
        ngx.sleep(60)
      } }
      location /held { content_by_lua_block { await "held" ngx.say(hot:acquire(0)) } }
    ]]
    warm_up()
    local call = web:begin("/hold")
    assert.same({ 200, "niltimeout\n" }, { web:get("/held") })
    call:hang_up()
    ends_well "held 0 waiting 0 abandoned 1"
  end)

  it("belongs to one request: others, subrequests among them, get it once that has released it", function()
    start [[
      location /part { content_by_lua_block { ngx.print(tostring(hot:acquire(0)), " ", tostring(hot:is_held())) } }
      location /main { content_by_lua_block {
        assert(hot:acquire(60))
        local closed = ngx.location.capture("/part").body
        assert(hot:release())
        local open = ngx.location.capture("/part").body
        local free = hot:acquire(0) ~= nil -- the subrequest has ended without a release
        ngx.say(closed, ", ", open:find("^%d+ true$"), ", ", free, ", ", hot:release())
      } }
      location /hold { content_by_lua_block {
        assert(hot:acquire(60))
        ngx.shared.relay:set("held", true)
        await "go"
        ngx.say(hot:is_held(), " ", hot:release())
      } }
      location /wait { content_by_lua_block {
        await "held"
        ngx.shared.relay:set("waits", true)
        ngx.say(hot:is_held(), " ", hot:release(), " ", hot:acquire(60) ~= nil, " ", hot:release())
      } }
    ]]
    warm_up()
    assert.same({ 200, "nil false, 1, true, true\n" }, { web:get("/main") })
    warm_up()
    local holder, waiter = web:begin("/hold"), web:begin("/wait")
    stats "held 1 waiting 1 abandoned 1"
    web:get("/set?go")
    assert.same({ 200, "true true\n" }, { holder:finish() })
    assert.same({ 200, "false nil true true\n" }, { waiter:finish() })
    ends_well "held 0 waiting 0 abandoned 1"
  end)

  it("is released in a filter, and is nobody's in the log phase", function()
    start [[
      location /filter {
        access_by_lua_block { assert(hot:acquire(60)) }
        content_by_lua_block { ngx.print(hot:is_held()) }
        header_filter_by_lua_block { ngx.header.released = tostring(hot:is_held()) .. tostring(hot:release()) }
        body_filter_by_lua_block { if ngx.arg[2] then ngx.arg[1] = tostring(hot:is_held()) end }
      }
      location /logged {
        access_by_lua_block { assert(hot:acquire(60)) }
        content_by_lua_block { ngx.say(hot:is_held()) }
        log_by_lua_block { ngx.shared.relay:set("said", tostring(hot:is_held()) .. tostring(select(2, hot:release()))) }
      }
      location /said { content_by_lua_block { await "said" ngx.say(ngx.shared.relay:get("said")) } }
      location /upstream { content_by_lua_block { ngx.say(tostring(select(2, hot:acquire(0)))) } }
      location /proxied {
        access_by_lua_block { assert(hot:acquire(60)) }
        proxy_pass http://127.0.0.1:@port@/upstream;
      }
    ]]
    warm_up()
    local code, body = web:get("/filter")
    assert.same({ 200, "truefalse" }, { code, body })
    stats "held 0 waiting 0 abandoned 0"
    warm_up()
    assert.same({ 200, "true\n" }, { web:get("/logged") })
    assert.same({ 200, "falsenot owner\n" }, { web:get("/said") })
    stats "held 0 waiting 0 abandoned 1"
    warm_up()
    assert.same({ 200, "timeout\n" }, { web:get("/proxied") })
    ends_well "held 0 waiting 0 abandoned 2"
  end)

  it("is one owner's in all light threads of a request, and stays its own when one of them is killed", function()
    start [[
      location /threads { content_by_lua_block {
        local token = assert(hot:acquire(60))
        local thread = ngx.thread.spawn(function() return hot:is_held(), hot:acquire(60), hot:release() end)
        local _, is_held, again, released = ngx.thread.wait(thread)
        ngx.say(is_held, " ", again == token, " ", released, " ", hot:is_held(), " ", hot:release(), " ", hot:is_held())
      } }
      location /killed { content_by_lua_block {
        local thread = ngx.thread.spawn(function() hot:acquire(60) ngx.sleep(60) end)
        assert(ngx.thread.kill(thread))
        ngx.say(hot:is_held())
      } }
      location /by_thread { content_by_lua_block {
        local lock = client:mutex("@path@", { fair = false, linger = 1000, owner = "thread" })
        assert(lock:acquire(60))
        local thread = ngx.thread.spawn(function() return lock:acquire(0), lock:is_held() end)
        local _, token, is_held = ngx.thread.wait(thread)
        ngx.say(tostring(token), " ", is_held, " ", hot:is_held(), " ", lock:release())
      } }
    ]]
    warm_up()
    assert.same({ 200, "true true true true true false\n" }, { web:get("/threads") })
    warm_up()
    assert.same({ 200, "true\n" }, { web:get("/killed") })
    stats "held 0 waiting 0 abandoned 1"
    warm_up()
    assert.same({ 200, "nil false false true\n" }, { web:get("/by_thread") })
    ends_well "held 0 waiting 0 abandoned 1"
  end)

  it("in a timer or a callback is the light thread's, and ends with it", function()
    start [[
      location /timer { content_by_lua_block {
        ngx.timer.at(0, function()
          ngx.shared.relay:set("timer", hot:acquire(60) and "took it" or "failed")
        end)
        await "timer"
        ngx.say(ngx.shared.relay:get("timer"))
      } }
      location /callback { content_by_lua_block {
        client:spawn(function()
          assert(hot:acquire(60))
          ngx.shared.relay:set("callback", true)
          ngx.exit(200)
        end)
        await "callback"
        ngx.say("took it")
      } }
    ]]
    warm_up()
    assert.same({ 200, "took it\n" }, { web:get("/timer") })
    stats "held 0 waiting 0 abandoned 1"
    warm_up()
    assert.same({ 200, "took it\n" }, { web:get("/callback") })
    stats "held 0 waiting 0 abandoned 2"
    assert.same({ 200, "true\n" }, { web:get("/fast") })
  end)

  it("wakes the next caller of the worker without a turn of the loop", function()
    start [[
      location /next { content_by_lua_block {
        local lock = client:mutex("@path@-next", { fair = false, linger = 1000, owner = "thread" })
        local function hand_over()
          assert(lock:acquire(60))
          local thread = ngx.thread.spawn(function()
            assert(lock:acquire(60))
            assert(lock:release())
          end)
          while asks_for_a_turn() do ngx.sleep(0.001) end
          assert(lock:release())
          local asks = asks_for_a_turn()
          ngx.thread.wait(thread)
          return asks
        end
        while hand_over() do end -- something else may ask for one at this moment
        ngx.say("none")
      } }
    ]]
    assert.same({ 200, "none\n" }, { web:get("/next") })
    ends_well "held 0 waiting 0 abandoned 0"
  end)

  it("wakes the next caller by a turn of the loop if memory runs out after the release", function()
    start [[
      location /next { content_by_lua_block {
        local lock, holds = client:mutex("@path@-next", { fair = false, linger = 1000, owner = "thread" }), client.holds
        local function hand_over()
          assert(lock:acquire(60))
          local thread = ngx.thread.spawn(function()
            assert(lock:acquire(60))
            return lock:release()
          end)
          while asks_for_a_turn() do ngx.sleep(0.001) end
          function holds.remove() -- the first step after the release
            holds.remove = nil
            error("not enough memory", 0)
          end
          local _, err = pcall(lock.release, lock)
          local asks = asks_for_a_turn()
          assert(select(2, ngx.thread.wait(thread)))
          return asks and err
        end
        local err
        repeat err = hand_over() until err -- the client may not know yet that its node is there
        ngx.say(err)
      } }
    ]]
    assert.same({ 200, "not enough memory\n" }, { web:get("/next") })
    ends_well "held 0 waiting 0 abandoned 0"
  end)

  it("goes to a request of the worker with a callback, which runs at once", function()
    start [[
      location /ask { content_by_lua_block {
        assert(hot:acquire(60))
        hot:request(60, function(_, _, mine) ngx.shared.relay:set("called", tostring(mine:release())) end)
        while asks_for_a_turn() do ngx.sleep(0.001) end
        ngx.say(hot:release(), " ", asks_for_a_turn())
        await "called"
        ngx.say(ngx.shared.relay:get "called")
      } }
    ]]
    warm_up()
    assert.same({ 200, "true true\ntrue\n" }, { web:get("/ask") })
    ends_well "held 0 waiting 0 abandoned 0"
  end)

  it("is free when a worker that is told to leave has served its last request", function()
    start [[
      location /hold { content_by_lua_block {
        assert(hot:acquire(60))
        ngx.shared.relay:set("held", true)
        await "go"
        ngx.say(hot:is_held())
      } }
      location /held { content_by_lua_block { await "held" ngx.say("held") } }
    ]]
    warm_up()
    local call = web:begin("/hold")
    web:get("/held")
    web:reload()
    web:get("/set?go")
    assert.same({ 200, "true\n" }, { call:finish() })
    wait.eventually(function()
      local code, body = web:get("/fast")
      return code == 200 and body == "true\n"
    end, PATIENCE, "the lock in the next worker")
    assert.same({}, web:errors())
  end)
end)
