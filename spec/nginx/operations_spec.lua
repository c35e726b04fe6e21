-- SPDX-License-Identifier: MIT
--- The blocks of docs/openresty.md for operators of nginx: an outage, a hot cache entry, health, old workers, and the
--- plugins for Kong and APISIX.

local inspector = require "spec.support.inspector"
local nginx = require "spec.support.nginx"
local page = require "spec.support.openresty_page"
local server = require "spec.support.server"
local wait = require "spec.support.wait"

if not nginx.is_testable() then
  describe("the page on OpenResty, for operators,", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local PATIENCE = wait.PATIENCE

describe("the page on OpenResty, for operators,", function()
  local zk, web

  setup(function() zk = server.shared() end)

  after_each(function()
    if web then web:stop() end
    web = nil
  end)

  teardown(function()
    local tree = inspector.connect(zk.hosts)
    tree:delete_tree("/shop")
    tree:close()
  end)

  local function paste(options)
    options.hosts = options.hosts or zk.hosts
    web = page.start(options)
  end

  --- Waits until a location answers so.
  local function answers(path, status, pattern)
    return wait.eventually(function()
      local got, body = web:get(path)
      return got == status and body:find(pattern or "") ~= nil, ("%s %s"):format(got, body)
    end, PATIENCE, ("%d of %s"):format(status, path))
  end

  describe("during an outage of ZooKeeper", function()
    local mine
    before_each(function() mine = server.start() end)
    after_each(function() mine:stop() end)

    local SHOP = [[ return { checkout = function()
      local lock = require("locks").orders
      if require("locks").client:state() ~= "connected" then return ngx.say("without a lock") end
      ngx.say(lock:acquire(5) ~= nil)
    end } ]]

    it("answers 503 at once, without asking for a lock, and goes on after it", function()
      paste { hosts = mine.hosts, shop = SHOP }
      answers("/checkout", 200, "^true\n$")
      answers("/health/locks", 200, "^connected held=0 waiting=0 lost=0\n$")
      mine:kill()
      answers("/checkout", 503)
      local call = web:begin("/checkout")
      local answer = call.link:receive("*a")
      call:hang_up()
      assert.matches("\r\n[Rr]etry%-[Aa]fter: 2\r\n", answer)
      answers("/health/locks", 503, "^suspended ")
      assert.matches("no lock for /checkout: ZooKeeper is suspended", web:log())
      mine:start()
      answers("/checkout", 200, "^true\n$")
    end)

    it("lets the request go on without a lock where it fails open", function()
      paste { hosts = mine.hosts, shop = SHOP, changes = { checkout = { "return ngx.exit(503)", "return" } } }
      answers("/checkout", 200, "^true\n$")
      mine:kill()
      answers("/checkout", 200, "^without a lock\n$")
    end)
  end)

  it("fills a hot cache entry once at a time, and serves the stale page meanwhile", function()
    paste {
      shop = [[ return { render = function(uri)
        local counts = ngx.shared.counts
        local number = counts:incr("rendered", 1, 0)
        while number > 1 and not counts:get("go") do ngx.sleep(0.01) end
        return ("%s, number %d"):format(uri, number)
      end } ]],
      changes = { page = { "page, 10)", "page, 0.001)" } },
      locations = [[
        location /rendered { content_by_lua_block { ngx.say(ngx.shared.counts:get("rendered") or 0) } }
        location /go { content_by_lua_block { ngx.shared.counts:set("go", true) ngx.say("go") } }
      ]],
    }
    assert.same({ 200, "/page/a, number 1" }, { web:get("/page/a") })
    local filler
    wait.eventually(function() -- until the entry is stale
      filler = filler or web:begin("/page/a")
      if not filler:is_answered() then return select(2, web:get("/rendered")) == "2\n" end
      filler:finish()
      filler = nil
    end, PATIENCE)
    for _ = 1, 20 do assert.same({ 200, "/page/a, number 1" }, { web:get("/page/a") }) end
    assert.same({ 200, "2\n" }, { web:get("/rendered") })
    web:get("/go")
    assert.same({ 200, "/page/a, number 2" }, { filler:finish() })
    assert.same({}, web:errors())
  end)

  it("answers 503 without a stale page where one waits already", function()
    paste {
      shop = [[ return { render = function()
        ngx.shared.counts:set("rendering", true)
        while not ngx.shared.counts:get("go") do ngx.sleep(0.01) end
        return "a page"
      end } ]],
      locations = [[
        location /stats { content_by_lua_block {
          ngx.say(tostring(ngx.shared.counts:get("rendering")), require("locks").client:stats().waiting)
        } }
        location /go { content_by_lua_block { ngx.shared.counts:set("go", true) ngx.say("go") } }
      ]],
    }
    local filler = web:begin("/page/b")
    answers("/stats", 200, "^true0\n$")
    local waiter = web:begin("/page/b")
    answers("/stats", 200, "^true1\n$")
    assert.equal(503, (web:get("/page/b")))
    assert.matches("no page for /page/b: busy", web:log())
    web:get("/go")
    assert.same({ 200, "a page" }, { filler:finish() })
    assert.same({ 200, "a page" }, { waiter:finish() })
  end)

  it("bounds the time of an old worker", function()
    local blocks = page.blocks()
    assert.matches("^worker_shutdown_timeout %d+s;\n$", blocks.main)
    assert.is_true(tonumber(blocks.main:match("%d+")) > tonumber(blocks.orders:match("proxy_read_timeout (%d+)s")))
    paste { shop = "return { checkout = function() ngx.sleep(300) end }", http = "",
      changes = { main = { blocks.main:match("%d+"), "1" } } }
    answers("/health/locks", 200)
    local call = web:begin("/checkout")
    answers("/health/locks", 200)
    local old = web:reload()
    assert.is_true(nginx.await_end(old), "the old worker is still there")
    call:finish()
  end)

  for title, harness in pairs {
    Kong = [[
      location /plugin {
        access_by_lua_block {
          rawset(_G, "kong", { log = { warn = function(...) ngx.log(ngx.WARN, ...) end },
            response = { exit = ngx.exit } })
          require("kong"):init_worker()
          require("kong"):access()
        }
        header_filter_by_lua_block { require("kong"):header_filter() }
        proxy_pass http://127.0.0.1:@port@/upstream;
      }
    ]],
    APISIX = [[
      location /plugin {
        access_by_lua_block {
          package.loaded["apisix.core"] = {
            log = { warn = function(...) ngx.log(ngx.WARN, ...) end },
            schema = { check = function(schema) return schema.type == "object" end },
          }
          local plugin = require "apisix"
          assert(plugin.check_schema {})
          plugin.init()
          local status = plugin.access()
          if status then return ngx.exit(status) end
        }
        header_filter_by_lua_block { require("apisix").header_filter() }
        proxy_pass http://127.0.0.1:@port@/upstream;
      }
    ]],
  } do
    it("shows a plugin for " .. title .. " that holds the lock until the upstream's headers", function()
      paste {
        locations = harness .. [[
          location /upstream { content_by_lua_block {
            ngx.say(ngx.var.http_x_lock_token, " ", require("locks").client:stats().held)
          } }
        ]],
      }
      assert.matches("^%d+ 1\n$", select(2, web:get("/plugin")))
      answers("/health/locks", 200, "held=0")
      assert.same({}, web:errors())
    end)

    it("shows a plugin for " .. title .. " that answers 503 without a lock", function()
      local options = { locations = harness .. "location /upstream { return 200; }" }
      options.changes = { [title:lower()] = { "acquire(5)", "acquire(0, 'another')" } }
      options.locations = options.locations .. [[
        location /take { content_by_lua_block { ngx.say(require("locks").orders:acquire(60, "somebody") ~= nil) } }
      ]]
      paste(options)
      assert.same({ 200, "true\n" }, { web:get("/take") })
      assert.equal(503, (web:get("/plugin")))
      assert.matches("no lock for /plugin: timeout", web:log())
    end)
  end
end)
