-- SPDX-License-Identifier: MIT
--- The blocks of docs/openresty.md, and examples/nginx, do what they say.

local files = require "spec.support.file"
local folder = require "spec.support.folder"
local inspector = require "spec.support.inspector"
local nginx = require "spec.support.nginx"
local page = require "spec.support.openresty_page"
local process = require "spec.support.process"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local socket = require "socket"
local uv = require "luv"
local wait = require "spec.support.wait"

if not nginx.is_testable() then
  describe("the page on OpenResty", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local PATIENCE = wait.PATIENCE
--- Seconds of a session that nothing here ends.
local LONG = 30
local SHOP = [[
  local shop, left = {}, 5
  function shop.sell(token)
    left = left - 1
    return ("%d left, token %s"):format(left, token > 0)
  end
  return shop
]]
local read, write, replace = files.read, files.write, files.replace

describe("the page on OpenResty", function()
  local zk, tree, web
  local machines = {}

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
  end)

  after_each(function()
    while machines[1] do table.remove(machines):stop() end
  end)

  local function keep(machine)
    machines[#machines + 1] = machine
    return machine
  end

  teardown(function()
    tree:delete_tree("/shop")
    tree:delete_tree("/nginx-example")
    tree:close()
  end)

  --- nginx with the blocks of docs/openresty.md, and an upstream.
  local function paste(upstream, options)
    options = options or {}
    options.hosts, options.locations, options.shop = zk.hosts, upstream, SHOP
    web = keep(page.start(options))
  end

  it("has the block that the README shows", function()
    assert.is_truthy(read("README.md"):find("```nginx\n" .. page.blocks().orders .. "```", 1, true))
  end)

  it("shows a client, an upstream and a handler that work as they stand", function()
    paste [[
      location /upstream { content_by_lua_block {
        local counts = ngx.shared.counts
        if counts:incr("inside", 1, 0) > 1 then counts:set("together", true) end
        ngx.sleep(0.02) -- a holder
        counts:incr("inside", -1)
        ngx.say(ngx.var.http_x_lock_token, " ", counts:get("together"))
      } }
    ]]
    local calls, tokens = {}, {}
    for i = 1, 5 do calls[i] = web:begin("/orders") end
    for i = 1, 5 do
      local status, body = calls[i]:finish()
      assert.equal(200, status)
      local token = body:match("^(%d+) nil\n$")
      assert.is_string(token)
      assert.is_nil(tokens[token])
      tokens[token] = true
    end
    assert.same({ 200, "4 left, token true\n" }, { web:get("/buy") })
    wait.eventually(function() return #tree:children("/shop/orders") == 0 end)
    assert.same({}, web:errors())
  end)

  it("shows an upstream in which nobody else is while one is at work, also when clients go away", function()
    paste [[
      location /upstream {
        lua_check_client_abort off;
        content_by_lua_block {
          local counts = ngx.shared.counts
          if counts:incr("inside", 1, 0) > 1 then counts:incr("together", 1, 0) end
          local number = counts:incr("begun", 1, 0)
          while (counts:get("done") or 0) < number do ngx.sleep(0.01) end
          counts:incr("inside", -1)
          counts:incr("served", 1, 0)
        }
      }
      location /done { content_by_lua_block { ngx.shared.counts:incr("done", 1, 0) } }
      location /seen { content_by_lua_block {
        local counts = ngx.shared.counts
        ngx.say(("inside %d together %d served %d"):format(counts:get("inside") or 0, counts:get("together") or 0,
          counts:get("served") or 0))
      } }
    ]]
    local function seen(pattern)
      return wait.eventually(function()
        local _, body = web:get("/seen")
        return body:match(pattern), body
      end, PATIENCE, pattern)
    end
    local call = web:begin("/orders")
    for i = 1, 6 do -- a browser that reloads
      seen("inside 1 together 0 served " .. i - 1)
      call:hang_up()
      call = web:begin("/orders")
      wait.eventually(function() return #tree:children("/shop/orders") == 2 end, PATIENCE, "a request that waits")
      seen("inside 1 together 0 served " .. i - 1)
      web:get("/done")
    end
    web:get("/done")
    assert.equal(200, (call:finish()))
    seen "inside 0 together 0 served 7"
    assert.same({}, web:errors())
  end)

  --- Sends a request as it is, all or a part of it.
  local function send(text)
    local link = assert(socket.connect("127.0.0.1", web.port))
    link:settimeout(PATIENCE)
    assert(link:send(text))
    return link
  end

  it("serves others while one client sends its body slowly to the upstream block", function()
    paste "location /upstream { content_by_lua_block { ngx.req.read_body() ngx.say(ngx.req.get_body_data()) } }"
    local slow = send "POST /orders HTTP/1.0\r\nHost: localhost\r\nContent-Length: 3\r\n\r\na"
    for _ = 1, 3 do assert.equal(200, (web:get("/orders"))) end
    slow:send("bc")
    assert.matches("^HTTP/1.1 200 .*\r\n\r\nabc\n$", (slow:receive("*a")))
    slow:close()
    assert.same({}, web:errors())
  end)

  it("serves others while one client reads the upstream block's answer slowly", function()
    local size = 64 * 1024 * 1024 -- more than sockets take
    paste(([[ location /upstream { content_by_lua_block {
      if ngx.var.http_big then ngx.print(("x"):rep(%d)) else ngx.say("small") end
    } } ]]):format(size))
    local slow = send "GET /orders HTTP/1.0\r\nHost: localhost\r\nBig: yes\r\n\r\n"
    assert.equal("HTTP/1.1 200 OK", (slow:receive("*l"))) -- and no more for now
    for _ = 1, 3 do assert.same({ 200, "small\n" }, { web:get("/orders") }) end
    local answer = slow:receive("*a")
    assert.equal(size, #answer:match("\r\n\r\n(.*)$"))
    slow:close()
    assert.same({}, web:errors())
  end)

  it("logs a request without a lock in one line, whatever its path says", function()
    paste("location /upstream { return 200; }", { changes = { orders = { "acquire(5)", "acquire(0)" } } })
    wait.eventually(function() return web:get("/orders") == 200 end) -- there is a session, and the directory
    local other = inspector.connect(zk.hosts)
    other:create("/shop/orders/_c_00000000-0000-0000-0000-000000000000-lock-", "", { ephemeral = true,
      sequence = true })
    assert.equal(503, (web:get("/orders/%0a2026/01/01%2000:00:00%20[alert]%201%231:%20forged")))
    other:close()
    assert.matches("no lock for /orders/%%0a2026/01/01%%20[^\n]*forged", web:log())
    assert.is_nil(web:log():find("\n2026/01/01 00:00:00 [alert]", 1, true))
  end)

  describe("and its example", function()
    local dir, port

    local function example(options)
      options = options or {}
      port = require("spec.support.port").free()
      local prefix = folder.new("example")
      dir = prefix .. "/shop"
      assert(uv.fs_mkdir(dir, 448)) -- 0700
      for _, name in ipairs { "locks.lua", "ledger.lua", "shop.lua", "job.lua" } do
        write(prefix .. "/" .. name, read("examples/nginx/" .. name))
      end
      if options.fast then -- sessions, and steps of the job, that a spec can wait for
        local connect = '"127.0.0.1:2181")'
        write(prefix .. "/locks.lua", replace(read("examples/nginx/locks.lua"), connect,
          ("%s, { session_timeout = %d })"):format(connect:sub(1, -2), options.session or 3)))
        write(prefix .. "/job.lua", replace(read("examples/nginx/job.lua"), "every = 1, longest = 2",
          "every = 0.05, longest = 0.2"))
        write(prefix .. "/shop.lua", replace(read("examples/nginx/shop.lua"), "ngx.sleep(0.001)", ([[
          while not io.open("%s/paid") do ngx.sleep(0.01) end
        ]]):format(options.shop or dir)))
      end
      local conf = read("examples/nginx/nginx.conf"):gsub("127%.0%.0%.1:8080", "127.0.0.1:" .. port)
      conf = replace(conf, "with(5, ", "with(60, ") -- a busy machine
      conf = replace(conf, '"$prefix/?.lua;;"', ('"$prefix/?.lua;%s/lua/?.lua;%s/lua/?/init.lua;;"'):format(
        nginx.tree(), nginx.tree()))
      conf = replace(conf, "lua_check_client_abort", ('lua_package_cpath "%s/?.so;;"; lua_check_client_abort'):format(
        nginx.build()))
      if uv.getuid() == 0 then conf = "user root;\n" .. conf end -- our folders are ours alone
      return keep(nginx.start { conf = conf, prefix = prefix, port = port,
        env = { ZOOKEEPER = options.hosts or zk.hosts, SHOP = options.shop } })
    end

    it("sells exactly what is there", function()
      web = example()
      web:get("/open?100")
      local curl = process.spawn { "curl", "-s", "--parallel", "--parallel-max", "40", web.url .. "/buy?[1-130]" }
      assert.equal(0, (curl:wait()))
      local seen, out = {}, 0
      for line in curl:stdout():gmatch("[^\n]+") do
        local number = line:match("^yours, number (%d+)$")
        if number then
          assert.is_nil(seen[number], "sold twice")
          seen[number] = true
        else
          assert.equal("sold out", line)
          out = out + 1
        end
      end
      assert.equal(30, out)
      assert.same({ 200, "0\n" }, { web:get("/left") })
      assert.same({}, web:errors())
    end)

    it("writes only to a folder below its own, which nobody else can have made", function()
      for _, name in ipairs { "nginx.conf", "locks.lua", "ledger.lua", "shop.lua", "job.lua" } do
        assert.is_nil(read("examples/nginx/" .. name):find("/tmp", 1, true), name)
      end
      web = example()
      web:get("/open?1")
      for _, name in ipairs { "nginx.pid", "stock" } do assert.is_table(uv.fs_stat(dir .. "/" .. name), name) end
    end)

    it("runs its job on one worker of two machines, and on another when that one leaves", function()
      web = example()
      local shop = dir
      local second = example { shop = shop }
      local function lines()
        local list = {}
        local file = io.open(shop .. "/job")
        for line in file and file:lines() or function() end do
          local token, pid = line:match("(%d+) (%d+)")
          list[#list + 1] = { token = tonumber(token), pid = tonumber(pid) }
        end
        if file then file:close() end
        return list
      end
      wait.eventually(function() return #lines() >= 3 end, PATIENCE)
      local first = lines()[1]
      for _, line in ipairs(lines()) do assert.same(first, line) end
      local function of(machine)
        for _, pid in ipairs(machine:workers()) do
          if pid == first.pid then return machine end
        end
      end
      local machine = of(web) or of(second)
      assert.is_true(nginx.await_end(machine:reload()))
      wait.eventually(function()
        local list = lines()
        return list[#list].token > first.token
      end, PATIENCE)
      local newest = 0
      for _, line in ipairs(lines()) do
        assert.is_true(line.token >= newest)
        newest = line.token
      end
      assert.same({}, machine:errors())
    end)

    local function lines_of(shop)
      local list = {}
      local file = io.open(shop .. "/job")
      for line in file and file:lines() or function() end do
        local token, pid = line:match("(%d+) (%d+)")
        list[#list + 1] = { token = tonumber(token), pid = tonumber(pid) }
      end
      if file then file:close() end
      return list
    end

    local function newest_of(shop)
      local list = lines_of(shop)
      return list[#list].token
    end

    --- Nobody has worked after one with a larger token had.
    local function check(list)
      local newest = 0
      for _, line in ipairs(list) do
        assert.is_true(line.token >= newest, "a stale write")
        newest = line.token
      end
    end

    local function go_on(pids)
      for _, pid in ipairs(pids) do uv.kill(pid, "sigcont") end
    end

    local function is_stopped(pid)
      return read(("/proc/%d/stat"):format(pid)):match("%) (%a)") == "T"
    end

    --- Stops workers outside of that shop's ledger, whose file lock would keep the workers of all machines waiting.
    local function stop_outside(pids, shop)
      wait.eventually(function()
        for _, pid in ipairs(pids) do
          uv.kill(pid, "sigstop")
          wait.eventually(function() return is_stopped(pid) end, PATIENCE, "the worker's stop")
        end
        local ended = os.execute(("flock -n '%s/ledger' true"):format(shop))
        if ended == 0 or ended == true then return true end
        go_on(pids)
      end, PATIENCE, "a moment without a file lock")
    end

    --- The job is at work in one machine; `strike(pids, shop)` takes that away, `heal` gives it back.
    local function takes_over(strike, heal, hosts)
      web = example { fast = true, hosts = hosts }
      local shop = dir
      wait.eventually(function() return #lines_of(shop) >= 2 end, PATIENCE)
      local first = lines_of(shop)[1]
      local second = example { fast = true, session = LONG, shop = shop }
      local others = {}
      for _, pid in ipairs(second:workers()) do others[pid] = true end
      strike({ first.pid }, shop)
      local function others_work(more)
        local count = 0
        for _, line in ipairs(lines_of(shop)) do count = count + (others[line.pid] and 1 or 0) end
        return count > more
      end
      -- All workers of the first machine may have their turn before, those that are not hit.
      wait.eventually(function() return newest_of(shop) > first.token end, PATIENCE)
      heal { first.pid }
      if hosts then wait.eventually(function() return others_work(3) end, PATIENCE) end
      local count = #lines_of(shop)
      wait.eventually(function() return #lines_of(shop) > count + 10 end, PATIENCE)
      check(lines_of(shop))
    end

    --- A sale has begun in one machine; `strike` takes the lock from it in the midst of its payment, `heal` lets it go
    --- on when another has begun. Then both are paid.
    local function is_overtaken(strike, heal, options)
      web = example(options)
      local shop = dir
      local second = example { fast = true, session = LONG, shop = shop }
      web:get("/open?10")
      local function token()
        return tonumber(read(shop .. "/stock"):match("^%d+ (%d+)\n") or 0)
      end
      local function pays(before)
        wait.eventually(function() return token() > before end, PATIENCE, "a payment")
        return token()
      end
      local late = web:begin("/buy")
      local first = pays(0)
      strike(web:workers(), shop)
      local next_one = second:begin("/buy")
      pays(first)
      heal(web:workers())
      write(shop .. "/paid", "")
      assert.same({ 200, "somebody later has been here\n" }, { late:finish() })
      assert.same({ 200, "yours, number 10\n" }, { next_one:finish() })
      assert.same({ 200, "9\n" }, { second:get("/left") })
      assert.same({}, web:errors())
    end

    it("does not sell twice when a sale was stopped in the midst of its payment and another has begun", function()
      is_overtaken(stop_outside, go_on, { fast = true })
    end)

    it("does not sell twice when a sale was cut off in the midst of its payment and another has begun", function()
      local relay = proxy.start(zk.hosts)
      is_overtaken(function() relay:black_hole() end, function() end, { fast = true, hosts = relay.hosts })
      relay:close()
    end)

    it("does not go on with its job when it was stopped and another has it", function()
      takes_over(stop_outside, go_on)
    end)

    it("does not go on with its job when it is cut off and another has it", function()
      local relay = proxy.start(zk.hosts)
      takes_over(function() relay:black_hole() end, function() end, relay.hosts)
      relay:close()
    end)
  end)
end)
