-- SPDX-License-Identifier: MIT
--- The numbers of all workers in one scrape: over reloads, kills, and in a dictionary that is too small.

local fixture = require "spec.support.fixture"
local nginx = require "spec.support.nginx"
local prometheus = require "spec.support.prometheus"
local replace = require("spec.support.file").replace
local uv = require "luv"
local wait = require "spec.support.wait"

if not nginx.is_testable() then
  describe("metrics in nginx", function()
    it("are tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local PATIENCE = wait.PATIENCE

--- In http {}: each worker shares a client.
local SHARED = [[
  lua_shared_dict metrics 1m;
  lua_shared_dict counts 1m;
  init_worker_by_lua_block {
    zklock, metrics = require "zklock", require "zklock.metrics"
    client = assert(zklock.connect("@hosts@"))
    metrics.share(client, ngx.shared.metrics)
  }
]]

--- The dictionary has no room from the beginning.
local FULL = [[
  init_by_lua_block {
    local size, n = 1024, 0
    while size >= 8 do
      n = n + 1
      if not ngx.shared.metrics:safe_add("filler" .. n, ("x"):rep(size)) then size = size / 2 end
    end
  }
]]

local SERVED = [[
  location = /metrics { content_by_lua_block { metrics.serve(ngx.shared.metrics) } }
  location = /locks { content_by_lua_block { metrics.page(ngx.shared.metrics) } }
  location = /take { content_by_lua_block {
    local lock = client:mutex("@path@/" .. (ngx.var.arg_path or "a"), { max_waiting = 100 })
    assert(lock:acquire(60))
    assert(lock:release())
    ngx.say(ngx.worker.pid())
  } }
  location = /hold { content_by_lua_block {
    local lock = client:mutex("@path@/held")
    assert(lock:acquire(60))
    while not ngx.shared.counts:get("leave") do ngx.sleep(0.01) end
    ngx.say(ngx.worker.pid())
  } }
  location = /named { content_by_lua_block {
    local named = assert(zklock.connect("@hosts@"))
    metrics.share(named, ngx.shared.metrics)
    assert(named:mutex("@path@/named", { name = "report" }):acquire(60))
    metrics.serve(ngx.shared.metrics)
    named:close()
    package.loaded.closed = named
  } }
  location = /share { content_by_lua_block { metrics.share(require "closed", ngx.shared.metrics) } }
  location = /fillers { content_by_lua_block {
    local n = 0
    for _, key in ipairs(ngx.shared.metrics:get_keys(0)) do n = n + (key:find("^filler") and 1 or 0) end
    ngx.say(n)
  } }
  location = /empty { content_by_lua_block {
    for _, key in ipairs(ngx.shared.metrics:get_keys(0)) do
      if key:find("^filler") then ngx.shared.metrics:delete(key) end
    end
  } }
  location = /evict { content_by_lua_block {
    local dict = ngx.shared.metrics
    for n = 1, 2000 do dict:set("filler" .. n, ("x"):rep(1024)) end
    for n = 1, 2000 do dict:delete("filler" .. n) end
  } }
  location = /leave { content_by_lua_block { ngx.shared.counts:set("leave", true) } }
]]

describe("metrics in nginx", function()
  local here = fixture.new("/nginx-metrics")
  local web

  local function start(options)
    options = options or {}
    options.http, options.server = options.http or SHARED, options.server or SERVED
    web = here:nginx(options)
    return web
  end

  local function scrape()
    local status, body = web:get("/metrics")
    assert.equal(200, status)
    local parsed, found = prometheus.parse(body), {}
    for name, value in body:gmatch("\n(zklock_[^\n]*) (%S+)") do found[name] = tonumber(value) end
    return found, parsed
  end

  local ACQUIRED = 'zklock_acquisitions_total{lock="",result="acquired"}'
  local HELD = 'zklock_held{lock=""}'

  --- Waits until the scrape says so; fails if a counter falls meanwhile.
  local last
  local function becomes(name, value)
    wait.eventually(function()
      local found = scrape()
      for each, before in pairs(last or {}) do
        local is_counter = each:find("_total", 1, true) or each:find("_bucket", 1, true) or each:find("_count", 1, true)
        if is_counter then assert.is_true((found[each] or 0) >= before, each .. " has fallen") end
      end
      last = found
      return found[name] == value, ("%s: %s"):format(name, tostring(found[name]))
    end, PATIENCE, ("%s %d"):format(name, value))
  end

  before_each(function() last = nil end)

  local CONNECTED = 'zklock_clients{state="connected"}'

  local function take(n)
    for _ = 1, n do assert.equal(200, (web:get("/take"))) end
  end

  it("show all workers in one scrape, of Prometheus' type", function()
    start()
    take(40)
    becomes(ACQUIRED, 40)
    becomes(CONNECTED, 2)
    becomes(HELD, 0)
    assert.equal(0, last.zklock_metrics_errors_total)
    local link = web:begin("/metrics").link
    local head = {}
    repeat head[#head + 1] = link:receive("*l") until head[#head] == ""
    link:close()
    assert.is_truthy(table.concat(head, "\n"):find("Content-Type: text/plain; version=0.0.4; charset=utf-8", 1, true))
    assert.same({}, web:errors())
  end)

  it("never fall over reloads, lose nothing, and count a hold of an old worker for as long as it lasts", function()
    start()
    local holder = web:begin("/hold")
    becomes(HELD, 1)
    local old, deadline
    for i = 1, 3 do
      take(10)
      local pids = web:reload()
      old, deadline = old or pids, deadline or wait.now() + 6 -- a key lives for 5 seconds
      becomes(ACQUIRED, 10 * i + 1)
    end
    wait.eventually(function() return wait.now() > deadline end) -- a key lives for 5 seconds
    becomes(HELD, 1)
    web:get("/leave")
    holder:finish()
    assert.is_true(nginx.await_end(old), "the old workers are still there")
    becomes(HELD, 0)
    becomes(ACQUIRED, 31)
    becomes(CONNECTED, 2)
    assert.same({}, web:errors())
  end)

  it("keep the gauges of a name, at 0, when its client is closed, and count no closed client twice", function()
    start { workers = 1 }
    local _, body = web:get("/named")
    assert.is_truthy(body:find('\nzklock_held{lock="report"} 1\n', 1, true))
    becomes('zklock_held{lock="report"}', 0)
    assert.equal(0, last['zklock_waiting{lock="report"}'])
    assert.equal(1, last['zklock_hold_seconds_count{lock="report"}'])
    for _ = 1, 3 do assert.equal(200, (web:get("/share"))) end -- its counts are in the dictionary already
    becomes('zklock_acquisitions_total{lock="report",result="acquired"}', 1)
    assert.same({}, web:errors())
  end)

  it("never fall when a worker is killed, whose gauges go", function()
    start { workers = 1 }
    take(10)
    local call = web:begin("/hold")
    becomes(HELD, 1)
    becomes(ACQUIRED, 11)
    nginx.kill_worker(web:workers()[1])
    call:hang_up()
    becomes(HELD, 0)
    becomes(ACQUIRED, 11)
    becomes(CONNECTED, 1)
  end)

  it("lose nothing when a worker is terminated, which runs no timer any more", function()
    start { workers = 1 }
    local pid = web:workers()[1]
    take(10)
    uv.kill(pid, "sigterm")
    assert.is_true(nginx.await_end { pid })
    becomes(ACQUIRED, 10)
    becomes(HELD, 0)
  end)

  it("count what a dictionary has no room for, evict nothing, and show what was refused once there is room", function()
    start { workers = 1, http = FULL .. SHARED:gsub("metrics 1m", "metrics 32k") }
    local _, fillers = web:get("/fillers")
    take(10)
    local found
    wait.eventually(function()
      found = scrape()
      return found.zklock_metrics_errors_total > 0
    end, PATIENCE)
    assert.equal(0, found[ACQUIRED])
    assert.equal(fillers, select(2, web:get("/fillers")))
    web:get("/empty")
    becomes(ACQUIRED, 10)
    assert.is_true(last.zklock_metrics_errors_total >= found.zklock_metrics_errors_total)
    assert.same({}, web:errors())
  end)

  it("give 100 names of locks a label, in all workers together, and count each event once", function()
    local share = "metrics.share(client, ngx.shared.metrics)"
    start { http = replace(SHARED:gsub("metrics 1m", "metrics 4m"), share, share .. [[
      ngx.timer.at(0, function()
        for i = 1, 70 do
          local lock = client:mutex("@path@/" .. i, { name = ngx.worker.pid() .. "\"" .. i })
          assert(lock:acquire(60))
          assert(lock:release())
        end
      end) ]]) }
    local parsed
    wait.eventually(function()
      parsed = select(2, scrape())
      local sum = parsed:sum("zklock_hold_seconds_count")
      return sum == 140, tostring(sum)
    end, PATIENCE)
    local count = 0
    for _, one in ipairs(parsed.series) do
      if one.name == "zklock_wait_seconds_count" then count = count + 1 end
    end
    assert.equal(102, count) -- with "" and "other"
    assert.equal(40, parsed:value("zklock_acquisitions_total", { lock = "other", result = "acquired" }))
    assert.equal(140, parsed:sum("zklock_acquisitions_total", { result = "acquired" }))
    assert.equal(0, parsed:value("zklock_metrics_errors_total"))
    assert.same({}, web:errors())
  end)

  it("count numbers that another user of the dictionary has evicted", function()
    start { workers = 1 }
    take(3)
    becomes(ACQUIRED, 3)
    assert.equal(0, last.zklock_metrics_errors_total)
    web:get("/evict")
    last = nil
    wait.eventually(function() return scrape().zklock_metrics_errors_total > 0 end, PATIENCE)
  end)

  it("are refused with the name of the argument that is wrong", function()
    start { workers = 1, server = [[
      location / { content_by_lua_block {
        local dict = ngx.shared.metrics
        for _, call in ipairs {
          function() metrics.share({}, dict) end, function() metrics.share(client, ngx.shared.nothing) end,
          function() metrics.serve() end, function() metrics.page("metrics") end, function() metrics.serve {} end,
        } do
          ngx.say(select(2, pcall(call)))
        end
      } }
    ]] }
    local _, body = web:get("/")
    local lines = {}
    for line in body:gmatch("[^\n]+") do lines[#lines + 1] = line:match("bad argument.*") or line end
    assert.same({
      "bad argument 'client': zklock.Client expected, got table",
      "bad argument 'dict': ngx.shared.NAME expected, got nil: http {} needs `lua_shared_dict NAME 1m;`",
      "bad argument 'dict': ngx.shared.NAME expected, got nil: http {} needs `lua_shared_dict NAME 1m;`",
      "bad argument 'dict': ngx.shared.NAME expected, got string",
      "bad argument 'dict': ngx.shared.NAME expected, got table",
    }, lines)
  end)

  it("touch nothing shared in init_by_lua, where they raise", function()
    start { workers = 1, http = [[
      lua_shared_dict metrics 1m;
      init_by_lua_block {
        metrics = require "zklock.metrics"
        _, why = pcall(metrics.share, {}, ngx.shared.metrics)
        keys = #ngx.shared.metrics:get_keys(0)
      }
    ]], server = "location / { content_by_lua_block { ngx.say(keys, why) } }" }
    local _, body = web:get("/")
    assert.matches("^0metrics.share cannot be called in init_by_lua", body)
  end)
end)
