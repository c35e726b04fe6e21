-- SPDX-License-Identifier: MIT
--- loop = "haproxy" in a real HAProxy, with examples/hosts/haproxy.

local daemon = require "spec.support.daemon"
local fixture = require "spec.support.fixture"
local file = require "spec.support.file"
local lfs = require "lfs"
local folder = require "spec.support.folder"
local port = require "spec.support.port"
local process = require "spec.support.process"
local sales = require "spec.support.sales"
local uv = require "luv"
local wait = require "spec.support.wait"

local TREE, ROOT = uv.cwd(), "/shop/haproxy"
local CFG, SHOP = "examples/hosts/haproxy/haproxy.cfg", TREE .. "/examples/hosts/haproxy/shop.lua"

--- The directives that find zklock, before HAProxy loads a file.
local PATHS = ([[
  nbthread 2
  lua-prepend-path @/lua/?.lua
  lua-prepend-path @/lua/?/init.lua
  lua-prepend-path @/build/5.3/?.so cpath
]]):gsub("@", TREE)

--- A backend that works for a moment, and counts how many requests it has at a time: it has one thread.
local BACKEND = [[
local inside, most = 0, 0
core.register_service("work", "http", function(applet)
  inside = inside + 1
  most = math.max(most, inside)
  core.msleep(applet.path == "/slow" and 3000 or 5)
  inside = inside - 1
  local body = ("together %d\n"):format(most)
  applet:set_status(200)
  applet:add_header("content-length", tostring(#body))
  applet:start_response()
  applet:send(body)
end)
]]

daemon.describe("haproxy", "haproxy", "in HAProxy #once #bare", function(program)
  if not lfs.attributes("build/5.3/zklock/core.so") then
    return it("needs the module for Lua 5.3", function() pending("skipped: make build LUAS=5.3 makes it") end)
  end
  local here = fixture.new(ROOT)
  local LOCK, BEHIND = ROOT .. "/counter", ROOT .. "/backend"

  before_each(function() sales.open(here, ROOT) end)

  --- Its configuration, in a folder of its own.
  ---@param options { lua: string?, directives: string?, load: string?, backend: integer? } `lua` instead of the
  ---  example's, `directives` besides: "@" is the folder
  local function configure(options)
    local at, number = folder.new("haproxy"), port.free()
    local cfg = file.read(CFG):gsub("127%.0%.0%.1:8080", "127.0.0.1:" .. number)
    cfg = cfg:gsub("127%.0%.0%.1:8081", "127.0.0.1:" .. (options.backend or 1))
    local script = SHOP
    if options.lua then
      script = at .. "/spec.lua"
      file.write(script, options.lua)
    end
    cfg = cfg:gsub("  lua%-load%-per%-thread shop%.lua\n", function()
      local directives = (options.directives or ""):gsub("@", at)
      return PATHS .. directives .. ("  %s %s\n"):format(options.load or "lua-load-per-thread", script)
    end)
    cfg = cfg:gsub("\n  bind [^\n]+\n", function(bind) return bind .. (options.frontend or "") end)
    file.write(at .. "/haproxy.cfg", cfg)
    return at, number
  end

  local function start(options)
    options = options or {}
    local at, number = configure(options)
    local one = daemon.start { folder = at, port = number, env = { ZOOKEEPER = here.zk.hosts },
      command = { program, options.mode or "-db", "-f", at .. "/haproxy.cfg" } }
    return here:closes(one, one.stop)
  end

  local function start_backend()
    local at, number = folder.new("backend"), port.free()
    file.write(at .. "/work.lua", BACKEND)
    file.write(at .. "/haproxy.cfg", ([[
global
  nbthread 1
  lua-load %s/work.lua
defaults
  mode http
  timeout client 30s
  timeout server 30s
  timeout connect 5s
frontend work
  bind 127.0.0.1:%d
  http-request use-service lua.work
]]):format(at, number))
    local one = daemon.start { folder = at, port = number, command = { program, "-db", "-f", at .. "/haproxy.cfg" } }
    return here:closes(one, one.stop)
  end

  local function sell(web, at_once, rounds) return sales.sell(web, "/sell", at_once, rounds) end
  local function is_sold(count) sales.are(here, ROOT, count, "counter") end

  it("sells exactly once per request, in two threads with a Lua state each", function()
    local web = start()
    is_sold(sell(web, 20, 6))
    assert.is_nil(web:log():find("zklock", 1, true), web:log())
  end)

  it("sells exactly once per request, in two threads that share a Lua state", function()
    local web = start { load = "lua-load" }
    is_sold(sell(web, 20, 2))
    assert.is_nil(web:log():find("zklock", 1, true), web:log())
  end)

  it("sells exactly once per request when HAProxy suspends scripts all the time #flood", function()
    local web = start { directives = "  tune.lua.forced-yield 7\n" }
    is_sold(sell(web, 12, 8))
  end)

  --- How often the threads of a process went to sleep.
  local function naps(pid)
    local count = 0
    for name in function(scan) return (uv.fs_scandir_next(scan)) end, uv.fs_scandir(("/proc/%d/task"):format(pid)) do
      local text = file.read(("/proc/%d/task/%s/status"):format(pid, name))
      count = count + tonumber(text:match("\nvoluntary_ctxt_switches:%s*(%d+)"))
    end
    return count
  end

  it("does not poll while requests wait", function()
    local web = start()
    sell(web, 4)
    local other = here:second_process()
    assert(other:acquire(LOCK, here.patience))
    local calls = {}
    for i = 1, 10 do calls[i] = web:begin("/sell") end
    here:becomes(11, LOCK)
    local before, began = naps(web.pid), wait.now()
    wait.rest(2) -- a rate is measured
    local each_second = (naps(web.pid) - before) / (wait.now() - began)
    assert.is_true(each_second < 60, each_second .. " naps a second") -- ten that look every 5 ms have 2000
    assert(other:release(LOCK))
    for i = 1, 10 do assert.equal(200, (calls[i]:finish())) end
    is_sold(14)
  end)

  it("ends a wait at its deadline", function()
    local web = start { lua = file.replace(file.read(SHOP), ":with(5, sell)", ":with(2, sell)") }
    local other = here:second_process()
    assert(other:acquire(LOCK, here.patience))
    assert.same({ 503, "busy: timeout\n" }, { web:get("/sell") })
    here:becomes(1, LOCK)
    assert(other:release(LOCK))
    here:becomes(0, LOCK)
  end)

  --- SIGUSR2, which the master ignores until its first worker runs.
  local function reload(web)
    wait.eventually(function()
      local caught = file.read(("/proc/%d/status"):format(web.pid)):match("\nSigCgt:%s*(%x+)")
      return tonumber(caught:sub(-3, -3), 16) >= 8 -- signal 12 is bit 11
    end, here.patience, "a master that hears SIGUSR2")
    web:signal("sigusr2")
  end

  it("reloaded three times under load, sells exactly once per request, and no old worker stays", function()
    local web = start { mode = "-W", directives = "  stats socket @/stats expose-fd listeners\n" }
    local function workers() return web:children() end
    local old, sold = {}, 0
    for _ = 1, 3 do
      local before = workers()
      for _, pid in ipairs(before) do old[#old + 1] = pid end
      local calls = {}
      for i = 1, 20 do calls[i] = web:begin("/sell") end
      reload(web)
      for i = 1, 20 do
        local status, body = calls[i]:finish()
        assert.equal(200, status, tostring(body) .. web:log())
        sold = sold + 1
      end
      wait.eventually(function()
        for _, pid in ipairs(workers()) do
          local is_new = true
          for _, known in ipairs(before) do is_new = is_new and pid ~= known end
          if is_new then return true end
        end
      end, here.patience, "a new worker: " .. web:log())
      sold = sold + sell(web, 20)
    end
    wait.eventually(function()
      for _, pid in ipairs(old) do
        if daemon.is_there(pid) then return false, "old workers: " .. web:log() end
      end
      return true
    end, here.patience, "the end of the old workers")
    is_sold(sold)
    assert.is_nil(web:log():find("runtime error", 1, true), web:log())
  end)

  it("lets an old worker go although a task of it waits for ever", function()
    local web = start { mode = "-W", directives = "  stats socket @/stats expose-fd listeners\n", lua = [[
local zklock = require "zklock"
core.register_task(function()
  local client = assert(zklock.connect(os.getenv("ZOOKEEPER")))
  assert(client:mutex("/shop/haproxy/leader"):acquire())
  core.sleep(1000)
end)
core.register_service("sell", "http", function() end)
core.register_action("take", { "http-req" }, function() end)
core.register_action("give", { "http-res" }, function() end)
]] }
    here:becomes(2, "/shop/haproxy/leader")
    local old = web:children()
    reload(web)
    wait.eventually(function() return not daemon.is_there(old[1]) end, here.patience, "the end of the old worker")
    here:becomes(2, "/shop/haproxy/leader") -- the new one's
  end)

  it("says in lua-load, which runs before HAProxy forks, that a client belongs elsewhere", function()
    local at = configure { lua = 'require("zklock").connect("127.0.0.1:1")' }
    local child = process.spawn { program, "-c", "-f", at .. "/haproxy.cfg" }
    local code = child:wait(here.patience)
    assert.equal(1, code)
    assert.matches("cannot be called while HAProxy reads its configuration", child:stderr())
  end)

  it("keeps a lock while the backend works, and gives it back whatever becomes of the request", function()
    local backend = start_backend()
    local web = start { backend = backend.port }
    local calls = {}
    for i = 1, 20 do calls[i] = web:begin("/") end
    for i = 1, 20 do assert.same({ 200, "together 1\n" }, { calls[i]:finish() }) end
    here:becomes(0, BEHIND)
    local gone = web:begin("/slow")
    here:becomes(1, BEHIND)
    gone:hang_up()
    here:becomes(0, BEHIND)
    assert.equal(200, (web:get("/")))
    backend:stop()
    assert.equal(503, (web:get("/")))
    here:becomes(0, BEHIND)
  end)

  it("takes one who has gone away while he waited out of the line", function()
    local web = start { backend = port.free() }
    local other = here:second_process()
    assert(other:acquire(BEHIND, here.patience))
    local gone = web:begin("/")
    here:becomes(2, BEHIND)
    gone:hang_up()
    here:becomes(1, BEHIND)
    assert(other:release(BEHIND))
  end)

  it("refuses to wait in a coroutine that HAProxy has not made", function()
    local web = start { lua = [[
local zklock = require "zklock"
local client
core.register_service("sell", "http", function(applet)
  client = client or assert(zklock.connect(os.getenv("ZOOKEEPER")))
  local said
  if applet.path == "/sell" then
    local acquire = coroutine.wrap(function() return client:mutex("/shop/haproxy/counter"):acquire(5) end)
    said = table.concat({ select(2, acquire()) }, "; ")
  end
  applet:set_status(200)
  applet:add_header("content-length", tostring(#said))
  applet:start_response()
  applet:send(said)
end)
core.register_action("take", { "http-req" }, function() end)
core.register_action("give", { "http-res" }, function() end)
]] }
    local _, body = web:get("/sell")
    assert.matches("^cannot wait in phase coroutine; HAProxy resumes only", body)
  end)

  it("calls back: requests, losses, without a poll", function()
    local web = start { lua = [[
local zklock = require "zklock"
local client, said, request
core.register_service("sell", "http", function(applet)
  if not client then
    client = assert(zklock.connect(os.getenv("ZOOKEEPER")))
    local lock = client:mutex("/shop/haproxy/counter")
    lock:on_lost(function(err) said = err end)
    request = lock:request(60, function(token) client:sleep(0.01) said = token and "held" end)
  end
  local body = request and tostring(said)
  applet:set_status(200)
  applet:add_header("content-length", tostring(#body))
  applet:start_response()
  applet:send(body)
end)
core.register_action("take", { "http-req" }, function() end)
core.register_action("give", { "http-res" }, function() end)
]], directives = "  nbthread 1\n" }
    local function says(what)
      wait.eventually(function()
        local _, body = web:get("/sell")
        return body == what, body
      end, here.patience)
    end
    says("held")
    here.tree:delete(here:only_node(LOCK))
    says("lost")
  end)

  it("keeps nothing of polls that have ended before their time", function()
    local web = start { lua = [[
local zklock = require "zklock"
local client, before
local function kilobytes()
  collectgarbage()
  collectgarbage()
  return collectgarbage "count"
end
core.register_service("sell", "http", function(applet)
  if not client then
    client = assert(zklock.connect(os.getenv("ZOOKEEPER"), { connect_timeout = 20 }))
    before = kilobytes()
    for _ = 1, 1000 do
      client:spawn(function() end)
      client:poll(3600)
    end
  end
  local body = ("%.0f"):format(kilobytes() - before)
  applet:set_status(200)
  applet:add_header("content-length", tostring(#body))
  applet:start_response()
  applet:send(body)
end)
core.register_action("take", { "http-req" }, function() end)
core.register_action("give", { "http-res" }, function() end)
]], directives = "  nbthread 1\n" }
    wait.eventually(function()
      local _, body = web:get("/sell")
      return tonumber(body) and tonumber(body) < 500, body
    end, here.patience)
  end)

  it("gives back what a request holds that the script has dropped", function()
    local web = start { lua = [[
local zklock = require "zklock"
local client, said
core.register_service("sell", "http", function(applet)
  if not client then
    client = assert(zklock.connect(os.getenv("ZOOKEEPER")))
    client:mutex("/shop/haproxy/counter"):request(60, function(token) said = token and "held" end)
  end
  local body = tostring(said)
  applet:set_status(200)
  applet:add_header("content-length", tostring(#body))
  applet:start_response()
  applet:send(body)
end)
core.register_action("take", { "http-req" }, function() end)
core.register_action("give", { "http-res" }, function() end)
]], directives = "  nbthread 1\n" }
    wait.eventually(function()
      local _, body = web:get("/sell")
      return body == "held", body
    end, here.patience)
    here:becomes(0, LOCK)
  end)

  it("works with the page's adapter that polls", function()
    local block = file.read("examples/hosts/README.md"):match("```lua\n(local adapter = .-)```")
    local web = start { lua = block .. file.replace(file.read(SHOP), '"127.0.0.1:2181")', '"", { loop = adapter })') }
    is_sold(sell(web, 10, 2))
  end)

  it("drops a converter that waits, and gives back its place #flood", function()
    local web = start { lua = file.read(SHOP) .. [[
core.register_fetches("wait", function() connected():mutex("/shop/haproxy/fetch"):acquire(5) end)
core.register_action("look", { "http-req" }, function() end)
]], directives = "", frontend = "  http-request set-var(txn.x) lua.wait if { path /fetch }\n" }
    web:get("/fetch")
    wait.eventually(function() return web:log():find("yield", 1, true), web:log() end, here.patience)
    here:becomes(0, "/shop/haproxy/fetch")
    is_sold(sell(web, 4))
  end)

  it("works in a chroot without directories to write to", function()
    if uv.getuid() ~= 0 then return pending("skipped: only root may change the root") end
    local empty = folder.new("root")
    local web = start { directives = ("  chroot %s\n  uid 65534\n  gid 65534\n"):format(empty) }
    is_sold(sell(web, 10, 2))
    assert.is_nil(web:log():find("zklock", 1, true), web:log())
  end)
end)
