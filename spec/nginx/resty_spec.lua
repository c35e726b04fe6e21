-- SPDX-License-Identifier: MIT
--- resty.zklock inside nginx: phases, requests that end, timers, and workers that exclude each other.

local fixture = require "spec.support.fixture"
local nginx = require "spec.support.nginx"
local wait = require "spec.support.wait"

if not nginx.is_testable() then
  describe("resty.zklock inside nginx", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local PATIENCE = wait.PATIENCE

describe("resty.zklock inside nginx", function()
  local here = fixture.new("/nginx-resty")
  local web

  local HTTP = [[
    lua_shared_dict counts 1m;
    init_worker_by_lua_block {
      resty_lock = require "resty.zklock"
      client = assert(resty_lock.setup("@hosts@", { session_timeout = 600 }))
      function new(exptime)
        return assert(resty_lock:new("counts", { prefix = "@path@", timeout = 60, exptime = exptime or 600 }))
      end
    }
  ]]

  local SERVER = [[
    location /sale { content_by_lua_block {
      local counts, lock = ngx.shared.counts, new()
      local elapsed = assert(lock:lock("sale"))
      assert(counts:incr("inside", 1, 0) == 1, "two inside")
      ngx.sleep(0.001) -- others get the chance to come in, too
      counts:incr("inside", -1)
      counts:incr("sold", 1, 0)
      ngx.say(elapsed >= 0, " ", lock:unlock())
    } }
    location /sold { content_by_lua_block { ngx.print(ngx.shared.counts:get("sold")) } }

    location /phases {
      set_by_lua_block $tried { return select(2, new():lock("key")) }
      rewrite_by_lua_block {
        ngx.ctx.lock = new()
        ngx.ctx.elapsed = assert(ngx.ctx.lock:lock("key"))
      }
      content_by_lua_block { ngx.say(ngx.var.tried, ", ", ngx.ctx.elapsed) }
      log_by_lua_block { ngx.shared.counts:set("phases", ngx.ctx.lock:unlock()) }
    }
    location /logged { content_by_lua_block { ngx.print(ngx.shared.counts:get("phases") or "no") } }

    location /keep { content_by_lua_block {
      kept = new()
      ngx.print(assert(kept:lock("key")))
    } }
    location /kept { content_by_lua_block { ngx.print(kept:unlock()) } }
    location /drop { content_by_lua_block {
      assert(new():lock("dropped"))
      ngx.print("dropped")
    } }
    location /collect { content_by_lua_block {
      collectgarbage()
      ngx.print(client:stats().held)
    } }
    location /timer { content_by_lua_block {
      local lock, counts = new(), ngx.shared.counts
      assert(lock:lock("timed"))
      ngx.timer.at(0, function() counts:set("timer", lock:unlock()) end)
      while not counts:get("timer") do ngx.sleep(0.01) end
      ngx.print(counts:get("timer"))
    } }
    location /killed { content_by_lua_block {
      local mine = new()
      local thread = ngx.thread.spawn(function() return mine:lock("key") end)
      ngx.sleep(0)
      ngx.thread.kill(thread)
      ngx.print(mine:lock("other"), " ", mine:unlock())
    } }
  ]]

  local function start(workers) web = here:nginx { http = HTTP, server = SERVER, workers = workers } end

  local function get(uri)
    local code, body = web:get(uri)
    assert.equal(200, code, table.concat(web:errors(), "\n"))
    return body
  end

  local function becomes(expected, uri)
    wait.eventually(function()
      local body = get(uri)
      return body == expected, body
    end, PATIENCE, uri)
  end

  it("lets one request of all workers in", function()
    start(2)
    local calls = {}
    for i = 1, 60 do calls[i] = web:begin("/sale") end
    for _, call in ipairs(calls) do assert.equal("true 1\n", select(2, call:finish())) end
    assert.equal("60", get("/sold"))
  end)

  it("waits where nginx can, and is given back in any phase", function()
    start(1)
    assert.equal("cannot wait in phase set, 0\n", get("/phases"))
    becomes("1", "/logged")
  end)

  it("outlives the request, for another one to unlock", function()
    start(1)
    assert.equal("0", get("/keep"))
    here:becomes(1, here.path .. "/key")
    assert.equal("1", get("/kept"))
  end)

  it("ends when the object is collected", function()
    start(1)
    assert.equal("dropped", get("/drop"))
    becomes("0", "/collect")
  end)

  it("is given back by a timer", function()
    start(1)
    assert.equal("1", get("/timer"))
  end)

  it("goes on behind a light thread that was killed", function()
    start(1)
    local client = here:connect()
    assert(client:mutex(here.path .. "/key"):acquire(PATIENCE))
    assert.equal("0 1", get("/killed"))
    assert(client:mutex(here.path .. "/key"):release())
    wait.eventually(function() return #here:nodes(here.path .. "/key") == 0 end, PATIENCE, "no node")
  end)
end)
