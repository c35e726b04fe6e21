-- SPDX-License-Identifier: MIT
--- The page for operators: what it shows, that it asks the servers nothing, and that nothing on it is markup of others.

local fixture = require "spec.support.fixture"
local monitoring = require "spec.support.monitoring"
local nginx = require "spec.support.nginx"
local wait = require "spec.support.wait"

if not nginx.is_testable() then
  describe("the page for operators", function()
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
  end)
  return
end

local PATIENCE = 30

local HTTP = [[
  lua_shared_dict metrics @size@;
  init_worker_by_lua_block {
    zklock, metrics = require "zklock", require "zklock.metrics"
    client = assert(zklock.connect("@hosts@", { session_timeout = 6 }))
    metrics.share(client, ngx.shared.metrics)
    held = {}
  }
]]

local SERVER = [[
  location = /locks { content_by_lua_block { metrics.page(ngx.shared.metrics) } }
  location = /metrics { content_by_lua_block { metrics.serve(ngx.shared.metrics) } }
  location = /sent { content_by_lua_block { ngx.say(client:stats().requests_sent) } }
  location = /hold { content_by_lua_block {
    local path, owner = ngx.unescape_uri(ngx.var.arg_path), ngx.unescape_uri(ngx.var.arg_owner or "somebody")
    held[path] = client:mutex(path)
    ngx.say(assert(held[path]:acquire(20, owner)))
  } }
  location = /strict { content_by_lua_block {
    local class = setmetatable({}, { __index = function(_, name) error("no member " .. tostring(name)) end })
    held.owner = setmetatable({}, class)
    held.strict = client:mutex("@path@/strict")
    assert(held.strict:acquire(20, held.owner))
  } }
  location = /slow { content_by_lua_block {
    ngx.timer.at(0, function() held.slow = client:mutex("@path@", { slow = 0.1 }):request(60, function() end) end)
  } }
  location = /wait { content_by_lua_block {
    ngx.timer.at(0, function() held.waiting = client:mutex("@path@"):request(60, function() end) end)
  } }
  location = /many { content_by_lua_block {
    local n = tonumber(ngx.var.arg_n)
    ngx.timer.at(0, function()
      for i = 1, n do held[i] = client:mutex("@path@/many-" .. i):request(20, function() end) end
    end)
  } }
]]

describe("the page for operators", function()
  local here = fixture.new("/nginx-page", { session_timeout = 6, patience = PATIENCE })
  local web

  local function start(options)
    options = options or {}
    web = here:nginx { http = HTTP, server = SERVER, workers = options.workers or 1,
      values = { size = options.size or "1m", hosts = options.hosts } }
    return web
  end

  local function page()
    local status, body = web:get("/locks")
    assert.equal(200, status)
    return body
  end

  --- Waits until the page has this text.
  local function shows(words)
    return wait.eventually(function()
      local body = page()
      return body:find(words, 1, true) and body, body
    end, PATIENCE, words)
  end

  local function escaped(s) return (s:gsub("[^%w]", function(c) return ("%%%02x"):format(c:byte()) end)) end

  local function hold(path, owner)
    local status, token = web:get(("/hold?path=%s&owner=%s"):format(escaped(path), escaped(owner)))
    assert.equal(200, status)
    return token:match("%d+")
  end

  it("shows each worker's clients, and what they hold, with owner, token and validity", function()
    start { workers = 2 }
    local token = hold(here.path, "the reindexer")
    local body = shows("the reindexer")
    wait.eventually(function()
      body = page()
      local _, workers = body:gsub("<h2>Worker %d, process %d+</h2>", "")
      local _, states = body:gsub("<td>connected</td>", "")
      return workers == 2 and states == 2, body
    end, PATIENCE, "two workers with a session each")
    local row = assert(body:match("<tr><td>holds</td>.-</tr>"))
    for _, words in ipairs { "<td>" .. here.path .. "</td>", "<td>mutex</td>", "<td>the reindexer</td>",
      "<td>" .. token .. "</td>" } do
      assert.is_truthy(row:find(words, 1, true), row)
    end
    assert.matches("valid for %d+%.%d s", row)
    assert.matches("<td>20%d%d%-%d%d%-%d%d %d%d:%d%d:%d%d %(%d+%.%d s%)</td>", row)
    assert.is_truthy(body:find('http-equiv="refresh"', 1, true))
    assert.is_nil(body:find("<script", 1, true))
    assert.same({}, web:errors())
  end)

  it("shows who is in front of a waiter without asking the servers", function()
    start()
    local other = here:connect()
    assert(other:mutex(here.path):acquire(PATIENCE))
    web:get("/wait")
    here:becomes(2)
    local front = here:nodes()[1]
    local row = shows("1, next " .. front):match("<tr><td>waits</td>.-</tr>")
    assert.is_truthy(row:find("<td>" .. here.path .. "</td>", 1, true), row)
    local function sent() return tonumber((select(2, web:get("/sent")))) end
    -- Heartbeats go on: the page must not add to them. 40 pages would add 40 at least.
    local before = sent()
    for _ = 1, 40 do page() end
    assert.is_true(sent() - before < 40)
  end)

  it("shows slow waits among the events, and the holder that they have read, escaped", function()
    start()
    local other = here:connect { identifier = "<b>db7</b>:4242" }
    assert(other:mutex(here.path):acquire(PATIENCE))
    web:get("/slow")
    local body = shows("<td>slow</td>")
    local told = assert(body:match("<td>slow</td><td>waiting for (.-)</td>"))
    assert.equal(here.path .. " for ", told:sub(1, #here.path + 5))
    assert.is_truthy(told:find(" s: &lt;b&gt;db7&lt;/b&gt;:4242 holds ", 1, true), told)
    assert.is_truthy(shows("; first: &lt;b&gt;db7&lt;/b&gt;:4242</td>"))
    assert.is_nil(body:find("<b>db7", 1, true))
  end)

  it("escapes paths and owners", function()
    start()
    local path = here.path .. "/<script>alert('1')</script>&amp;\"\xe2\x80\xae\xe2\x80\x8b"
    path = path:gsub("</", "<")
    hold(path, "\"><img src=x onerror=alert(2)>\27[31m\nnext")
    local body = shows("&lt;script&gt;")
    local safe = "&lt;script&gt;alert(&#39;1&#39;)&lt;script&gt;&amp;amp;&quot;\\xe2\\x80\\xae\\xe2\\x80\\x8b"
    assert.is_truthy(body:find(safe, 1, true), body)
    assert.is_truthy(body:find("&quot;&gt;&lt;img src=x onerror=alert(2)&gt;\\x1b[31m\\x0anext", 1, true), body)
    for _, bad in ipairs { "<script", "<img", "\27" } do assert.is_nil(body:find(bad, 1, true), bad) end
  end)

  it("shows owners of a class that raises for members that it lacks, and never breaks a scrape", function()
    start()
    assert.equal(200, (web:get("/strict")))
    assert.is_truthy(page():find(here.path .. "/strict", 1, true))
    assert.equal(200, (web:get("/metrics"))) -- while the page is wanted
    assert.same({}, web:errors())
  end)

  it("shows the 100 oldest, and says how many more there are", function()
    start()
    hold(here.path .. "/oldest", "the first")
    web:get("/many?n=150")
    local body = shows("There are 51 more: ")
    wait.eventually(function()
      body = page()
      local _, rows = body:gsub("<tr><td>holds</td>", "")
      return rows == 100 and body:find("There are 51 more: 51 held, 0 waiting.", 1, true), body
    end, PATIENCE)
    assert.is_truthy(body:find("the first", 1, true))
  end)

  it("shows losses and suspensions, and where it stands then", function()
    local way = here:proxy()
    start { hosts = way.hosts }
    hold(here.path, "somebody")
    here.tree:delete(here:only_node())
    local body = shows("<td>lost</td>")
    assert.is_truthy(body:find(("<td>lost</td><td>%s (token "):format(here.path), 1, true), body)
    assert.is_nil(body:find("<td>state</td>", 1, true)) -- a session that comes up is no event
    way:refuse()
    way:cut()
    body = shows("<td>state</td><td>suspended</td>")
    assert.is_truthy(body:find('<b class="bad">suspended</b>', 1, true), body)
    way:heal()
    body = shows("<td>state</td><td>connected</td>")
    assert.is_true(body:find("<td>connected</td>", 1, true) < body:find("<td>state</td>", 1, true))
    local latest = body:find("<td>state</td><td>connected</td>", 1, true)
    assert.is_true(latest < body:find("<td>state</td><td>suspended</td>", 1, true)) -- the newest first
  end)

  it("says that the dictionary is too small, and still shows the worker that serves it", function()
    start { size = "12k" }
    web:get("/many?n=150")
    local body = shows("There are 50 more")
    assert.matches("The shared dictionary has refused %d+ writes", body)
    assert.same({}, web:errors())
  end)

  it("is served by the example, beside health answers of a worker and of the machine", function()
    web = monitoring.example { hosts = here.zk.hosts }
    here:closes(web, web.stop)
    local function get(path)
      local status, body = web:get(path)
      return ("%s %s"):format(tostring(status), body)
    end
    assert.equal("200 sold\n", get("/buy"))
    assert.matches("^200 connected, valid for %d+%.%d s\n$", get("/health/locks"))
    wait.eventually(function() return get("/health/leader") == "200 leads\n", get("/health/leader") end, PATIENCE)
    assert.matches("\nzklock_held{lock=\"leader\"} 1\n", get("/metrics"))
    shows("/monitoring-example/leader")
    assert.same({}, web:errors())
  end)
end)
