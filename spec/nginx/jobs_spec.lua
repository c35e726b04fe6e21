-- SPDX-License-Identifier: MIT
--- Jobs and client:once() inside nginx.

local fixture = require "spec.support.fixture"
local nginx = require "spec.support.nginx"
local wait = require "spec.support.wait"
local uv = require "luv"

if not nginx.is_testable() then
  describe("a job inside nginx", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local SESSION = 600 -- seconds: nothing here waits for it
local PATIENCE = wait.PATIENCE

describe("a job inside nginx", function()
  local here = fixture.new("/nginx-jobs")
  local web

  --- nginx whose workers begin a job in init_worker; `fn` is its function.
  local function start(fn, options)
    options = options or {}
    options.http = [[
      lua_shared_dict counts 1m;
      init_worker_by_lua_block {
        zklock = require "zklock"
        client = assert(zklock.connect("@hosts@", { session_timeout = ]] .. SESSION .. [[ }))
        local counts = ngx.shared.counts
        local function fn(token, hold)
]] .. fn .. [[
        end
        job = assert(client:job("@path@", fn, { pause = 0.01 }))
      }
    ]]
    options.server = (options.server or "") .. [[
      location /pid { content_by_lua_block { ngx.print(ngx.shared.counts:get("pid") or "nobody") } }
      location /count { content_by_lua_block { ngx.print(ngx.shared.counts:get(ngx.var.arg_of) or 0) } }
      location /state { content_by_lua_block { ngx.print(job:state()) } }
      location /timers { content_by_lua_block { ngx.print(ngx.timer.running_count()) } }
      location /quick { content_by_lua_block { ngx.print("quick") } }
      location /stop { content_by_lua_block { ngx.print(tostring(job:stop(20)), " ", job:state()) } }
      location /holder { content_by_lua_block { ngx.print(tostring(assert(job:holder(20)).mine)) } }
    ]]
    web = here:nginx(options)
    return web
  end

  --- Notes its worker, and sleeps until it should return.
  local LOOP = [[
    assert(counts:incr("inside", 1, 0) == 1, "two inside")
    counts:set("pid", ngx.worker.pid())
    counts:incr("runs", 1, 0)
    local ok, err = true, nil
    while ok do ok, err = hold:sleep(3600) end
    counts:set("err", err)
    counts:incr("inside", -1)
    counts:set("pid", nil)
  ]]

  local function get(uri)
    local code, body = web:get(uri)
    assert.equal(200, code)
    return body
  end

  local function runs_in()
    return wait.eventually(function()
      return tonumber(get("/pid")), table.concat(web:errors(), "\n")
    end, PATIENCE, "a worker that runs it")
  end

  it("runs in one worker of all, from init_worker on", function()
    start(LOOP, { workers = 3 })
    local pid = runs_in()
    here:becomes(3)
    for _ = 1, 5 do assert.equal(pid, runs_in()) end
    assert.equal("1", get("/count?of=runs"))
    assert.same({}, web:errors())
  end)

  it("moves to another worker when nginx is reloaded, long before its session would end", function()
    start(LOOP, { workers = 2 })
    local pid = runs_in()
    here:becomes(2)
    for _ = 1, 3 do
      local old = web:reload()
      local new = wait.eventually(function()
        local now = tonumber(get("/pid"))
        return now ~= pid and now
      end, PATIENCE, "another worker")
      assert.is_true(nginx.await_end(old), "the old workers are still there")
      assert.equal("stopped", get("/count?of=err"))
      here:becomes(2)
      pid = new
    end
    assert.same({}, web:errors())
  end)

  it("needs no running timer more than its client", function()
    start("hold:sleep(3600)", { workers = 1 })
    local function needs_two()
      wait.eventually(function() return get("/timers") == "2", get("/timers") end, PATIENCE, "two running timers")
    end
    wait.eventually(function() return get("/state") == "running" end, PATIENCE)
    needs_two()
    assert.equal("true stopped", get("/stop"))
    needs_two()
    assert.same({}, web:errors())
  end)

  it("goes on in another worker when its worker is killed and its node is gone", function()
    start([[
      counts:set("pid", ngx.worker.pid())
      hold:sleep(3600)
    ]], { workers = 2 })
    local pid = runs_in()
    here:becomes(2)
    local node = here:nodes()[1]
    uv.kill(pid, "sigkill")
    here.tree:delete(here.path .. "/" .. node) -- its session lasts
    wait.eventually(function() return runs_in() ~= pid end, PATIENCE, "another worker")
  end)

  it("leaves the requests of its worker alone if its function ignores what hold:sleep returns", function()
    start([[
      counts:set("running", 1)
      while not counts:get("leave") do
        hold:sleep(3600)
        counts:incr("turns", 1, 0)
      end
    ]], { workers = 1, server = [[
      location /begin_to_stop { content_by_lua_block { ngx.print(tostring(select(2, job:stop(0)))) } }
      location /leave { content_by_lua_block { ngx.shared.counts:set("leave", true) } }
    ]] })
    wait.eventually(function() return get("/count?of=running") == "1" end, PATIENCE)
    assert.equal("timeout", get("/begin_to_stop"))
    local function turns() return tonumber(get("/count?of=turns")) end
    wait.eventually(function() return turns() > 20 end, PATIENCE)
    local before, began = turns(), wait.now()
    for _ = 1, 21 do get("/quick") end
    local done, most = turns() - before, 20 + 2000 * (wait.now() - began)
    assert.is_true(done <= most, ("%d turns, more than one in each millisecond"):format(done))
    get("/leave")
    wait.eventually(function() return get("/state") == "stopped" end, PATIENCE)
    assert.same({}, web:errors())
  end)

  it("stops, and tells who holds it", function()
    start(LOOP, { workers = 1 })
    runs_in()
    assert.equal("true", get("/holder"))
    assert.equal("true stopped", get("/stop"))
    here:becomes(0)
    assert.equal("stopped", get("/count?of=err"))
    assert.same({}, web:errors())
  end)

  it("that a worker which exits has not given back is not taken by a worker that exits", function()
    start([[
      counts:set("pid", ngx.worker.pid())
      counts:incr("runs", 1, 0)
      while not counts:get("leave") do hold:sleep(0.01) end
    ]], { workers = 1, server = [[
      location /leave { content_by_lua_block { ngx.shared.counts:set("leave", true) } }
    ]] })
    local pid = runs_in()
    local old = web:reload()
    here:becomes(2) -- the new worker waits: the function goes on in the old one
    assert.equal(tostring(pid), get("/pid"))
    get("/leave")
    wait.eventually(function() return tonumber(get("/pid")) ~= pid end, PATIENCE)
    assert.is_true(nginx.await_end(old), "the old worker is still there")
    assert.same({}, web:errors())
  end)

  it("goes on when nginx has ended its function", function()
    start([[
      if counts:incr("runs", 1, 0) == 1 then ngx.exit(ngx.ERROR) end
      counts:set("pid", ngx.worker.pid())
      hold:sleep(3600)
    ]], { workers = 1 })
    runs_in()
    assert.equal("2", get("/count?of=runs"))
    local told = false
    for _, line in ipairs(web:errors()) do
      told = told or line:find("nginx has ended the function", 1, true) ~= nil
    end
    assert.is_true(told, table.concat(web:errors(), "\n"))
  end)

  it("reports an error in its function to nginx's log", function()
    start([[
      if counts:incr("runs", 1, 0) == 1 then error("boom") end
      counts:set("pid", ngx.worker.pid())
      hold:sleep(3600)
    ]], { workers = 1 })
    runs_in()
    assert.truthy(table.concat(web:errors(), "\n"):find("boom", 1, true))
  end)

  it("that a request begins goes on after it", function()
    start("hold:sleep(3600)", { workers = 1, server = [[
      location /begin { content_by_lua_block {
        local counts = ngx.shared.counts
        assert(client:job("@path@-other", function(_, hold)
          counts:incr("other", 1, 0)
          hold:sleep(0.01)
        end, { pause = 0 }))
      } }
    ]] })
    get("/begin")
    wait.eventually(function() return tonumber(get("/count?of=other")) > 5 end, PATIENCE)
    assert.same({}, web:errors())
  end)

  it("is waited for by close() in a request", function()
    start([[
      counts:set("pid", ngx.worker.pid())
      local ok, err = hold:sleep(3600)
      hold:multi { { "create", "@path@-last", err } }
      counts:set("err", err)
    ]], { workers = 1, server = [[
      location /close { content_by_lua_block {
        ngx.print(tostring(client:close()), " ", ngx.shared.counts:get("err"), " ", job:state())
      } }
    ]] })
    runs_in()
    assert.equal("true stopped stopped", get("/close"))
    assert.equal("stopped", (here.tree:get(here.path .. "-last")))
    here.tree:delete(here.path .. "-last")
    here:becomes(0)
    assert.same({}, web:errors())
  end)

  it("has client:once() beside it, which belongs to the request", function()
    start("hold:sleep(3600)", { workers = 1, server = [[
      location /once { content_by_lua_block {
        local done, more = client:once("@path@-once", 3600, function(_, hold) return tostring(hold:sleep(0.01)) end)
        ngx.print(tostring(done), " ", type(more))
      } }
    ]] })
    assert.equal("true string", get("/once"))
    assert.equal("false number", get("/once"))
    here.tree:delete_tree(here.path .. "-once")
    assert.same({}, web:errors())
  end)
end)
