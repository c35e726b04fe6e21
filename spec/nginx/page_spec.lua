-- SPDX-License-Identifier: MIT
--- The page for operators: what it shows, that it asks the servers nothing, and that nothing on it is markup of others.

local dkjson = require "dkjson"
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

local PATIENCE = wait.PATIENCE

local HTTP = [[
  lua_shared_dict metrics @size@;
  init_worker_by_lua_block {
    zklock, metrics = require "zklock", require "zklock.metrics"
    client = assert(zklock.connect("@hosts@"))
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
    ngx.say(assert(held[path]:acquire(60, owner)))
  } }
  location = /strict { content_by_lua_block {
    local class = setmetatable({}, { __index = function(_, name) error("no member " .. tostring(name)) end })
    held.owner = setmetatable({}, class)
    held.strict = client:mutex("@path@/strict")
    assert(held.strict:acquire(60, held.owner))
  } }
  location = /slow { content_by_lua_block {
    ngx.timer.at(0, function() held.slow = client:mutex("@path@", { slow = 0.1 }):request(60, function() end) end)
  } }
  location = /wait { content_by_lua_block {
    ngx.timer.at(0, function() held.waiting = client:mutex("@path@"):request(60, function() end) end)
    ngx.say(ngx.worker.pid())
  } }
  location = /leases { content_by_lua_block {
    ngx.timer.at(0, function()
      for i = 1, 5 do held[i] = assert(client:semaphore("@path@", 5):acquire(60)) end
    end)
  } }
  location = /once { content_by_lua_block {
    local function work() end
    assert(client:once("@path@/done", 3600, work))
    client:once("@path@/done", 3600, work)
    pcall(client.once, client, "@path@/fails", 3600, error)
  } }
  location = /import { content_by_lua_block {
    ngx.timer.at(0, function()
      held.slow = client:mutex("@path@/import", { slow = 0.1 }):request(60, function() end)
    end)
  } }
  location = /many { content_by_lua_block {
    local n = tonumber(ngx.var.arg_n)
    ngx.timer.at(0, function()
      for i = 1, n do held[i] = client:mutex("@path@/many-" .. i):request(60, function() end) end
    end)
  } }
]]

describe("the page for operators", function()
  local here = fixture.new("/nginx-page")
  local web

  local function start(options)
    options = options or {}
    web = here:nginx { http = HTTP, server = SERVER, workers = options.workers or 1,
      values = { size = options.size or "1m", hosts = options.hosts } }
    return web
  end

  local function page(query)
    local status, body = web:get("/locks" .. (query or ""))
    assert.equal(200, status)
    return body
  end

  --- The row of a path, whose text on the page that is, as a list of its cells; nil: it has none.
  local function row_of(body, path)
    for row in body:gmatch("<tr>(.-)</tr>") do
      local list = {}
      for cell in row:gmatch("<td>(.-)</td>") do list[#list + 1] = cell end
      if list[1] == path then return list end
    end
  end

  local function json(query) return assert(dkjson.decode(page("?format=json" .. (query or "")), 1, dkjson.null)) end

  --- Waits until the page has this text.
  local function shows(words)
    return wait.eventually(function()
      local body = page()
      return body:find(words, 1, true) and body, body
    end, PATIENCE, words)
  end

  local function pattern(s) return (s:gsub("%p", "%%%0")) end

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
      local _, states = body:gsub("<tr><td>%d, [%w.-]+:%d+</td><td>1</td><td>connected</td>", "")
      return states == 2, body
    end, PATIENCE, "two workers with a session each")
    local row = assert(row_of(body, here.path), body)
    assert.equal("mutex", row[2])
    assert.matches("^<span>[%w.-]+:%d+</span> %(the reindexer%)$", row[3])
    assert.equal(token, row[4])
    assert.matches("^%d%d:%d%d:%d%d %(%d+%.%d s%)$", row[5])
    assert.matches("^%d+%.%d s$", row[6])
    assert.same({ "", "", "" }, { row[7], row[8], row[9] })
    assert.is_truthy(body:find('http-equiv="refresh"', 1, true))
    assert.is_nil(body:find("<script", 1, true))
    assert.same({}, web:errors())
  end)

  it("shows a path once, with what all workers hold and wait for there, under the names that others see", function()
    start { workers = 4 }
    hold(here.path, "the holder")
    local pids = {}
    wait.eventually(function()
      local _, pid = web:get("/wait")
      pids[pid:match("%d+")] = true
      local count = 0
      for _ in pairs(pids) do count = count + 1 end
      return count > 1
    end, PATIENCE, "waiters in two workers")
    local holder = assert(here:connect():mutex(here.path):participants(PATIENCE))[1].identifier
    local waiting
    wait.eventually(function()
      waiting = {}
      for _, lock in ipairs(json().locks) do
        if lock.state == "waits" then waiting[lock.worker] = true end
      end
      for pid in pairs(pids) do
        if not waiting[holder:match("^(.*:)%d+$") .. pid] then return false end
      end
      return true
    end, PATIENCE, "a wait of each worker")
    local body = page()
    local _, rows = body:gsub("<td>" .. pattern(here.path) .. "</td>", "")
    assert.equal(1, rows)
    local row = row_of(body, here.path)
    assert.equal(("<span>%s</span> (the holder)"):format(holder), row[3])
    assert.is_true(tonumber(row[7]) > 1)
    assert.matches("^<span>[%w.-]+:%d+</span> %(lock:request%), %d in front, next: ", row[9])
    assert.same({}, web:errors())
  end)

  it("says the same as JSON", function()
    start()
    local before = os.time() - 1
    local token = hold(here.path, 'a "quoted" owner\\')
    local other = here:connect { identifier = "db7:4242" }
    assert(other:mutex(here.path .. "/import"):acquire(PATIENCE))
    local front = here:nodes(here.path .. "/import")[1]
    web:get("/import")
    local all
    wait.eventually(function()
      all = json()
      return #all.locks == 2 and all.locks[1].front == "db7:4242" and all.events[1]
        and all.events[1].event:find("db7:4242 holds", 1, true) -- before, a line may name nobody
    end, PATIENCE, "a hold, a wait and a slow wait")
    local names = {}
    for name in pairs(all) do names[#names + 1] = name end
    table.sort(names)
    assert.same({ "clients", "events", "locks" }, names)

    local worker = all.clients[1].worker
    assert.matches("^[%w.-]+:%d+$", worker)
    local timeout, since = all.clients[1].session_timeout, {}
    assert.same({ worker = worker, leaving = false, client = 1, chroot = "", state = "connected",
      session_timeout = timeout, held = 1, waiting = 1, lost = 0, runs = { ran = 0, skipped = 0, failed = 0 } },
      all.clients[1])
    for i, lock in ipairs(all.locks) do
      since[i] = lock.since
      assert.is_true(lock.since >= before and lock.since <= os.time() + 1)
    end
    local validity = all.locks[2].validity
    assert.is_true(validity > 0 and validity <= timeout)
    local null = dkjson.null
    assert.same({ path = here.path .. "/import", kind = "mutex", worker = worker, state = "waits",
      owner = "lock:request", token = null, since = since[1], validity = null, position = 1, front = "db7:4242" },
      all.locks[1])
    assert.same({ path = here.path, kind = "mutex", worker = worker, state = "holds", owner = 'a "quoted" owner\\',
      token = token, since = since[2], validity = validity, position = null, front = null }, all.locks[2])
    local event = all.events[1]
    assert.equal(worker, event.worker)
    assert.is_true(event.time >= before)
    assert.matches("^slow: waiting for " .. pattern(here.path) .. "/import for .* db7:4242 holds ", event.event)
    assert.is_truthy(event.event:find(front, 1, true))
  end)

  it("shows the oldest of several holders in lines, and how many more there are", function()
    start()
    web:get("/leases")
    local body = shows("and 2 more")
    local row = row_of(body, here.path)
    assert.equal("semaphore", row[2])
    assert.matches("^<span><span>[%w.-]+:%d+</span> %(a lease%)<br>.*</span><br>and 2 more$", row[3])
    for i = 3, 6 do
      local _, breaks = row[i]:match("^<span>.*</span>"):gsub("<br>", "")
      assert.equal(2, breaks, row[i])
    end
  end)

  it("filters the paths by a part of a path, owner or process, and shows the filter escaped", function()
    start()
    hold(here.path .. "/apples", "the reindexer")
    hold(here.path .. "/pears", "the \"cook\"")
    local function paths(filter)
      local list = {}
      for i, lock in ipairs(json("&filter=" .. escaped(filter)).locks) do list[i] = lock.path:match("[^/]+$") end
      table.sort(list)
      return table.concat(list, " ")
    end
    assert.equal("apples pears", paths(""))
    assert.equal("apples", paths("/apples"))
    assert.equal("apples", paths("reindexer"))
    assert.equal("pears", paths('the "cook"'))
    assert.equal("apples pears", paths(json().clients[1].worker))
    assert.equal("", paths(".*"))
    local body = page("?filter=" .. escaped('the "cook"'))
    assert.is_nil(row_of(body, here.path .. "/apples"))
    assert.is_truthy(row_of(body, here.path .. "/pears"))
    assert.is_truthy(body:find('name="filter" value="the &quot;cook&quot;"', 1, true), body)
    assert.is_truthy(body:find('href="?filter=the%20%22cook%22&amp;format=json"', 1, true), body)
    body = page("?filter=" .. escaped('"><script>\27'))
    assert.is_truthy(body:find('value="&quot;&gt;&lt;script&gt;\\x1b"', 1, true), body)
    assert.is_truthy(body:find("matches the filter", 1, true), body)
  end)

  it("answers 400 to a format that there is not, and names the argument", function()
    start()
    for query, got in pairs { ["format=xml"] = "xml", ["format="] = "", ["format=%1b%3Cb%3E"] = "\\x1b<b>",
      format = "several, or one without a value" } do
      local status, body = web:get("/locks?" .. query)
      assert.equal(400, status)
      assert.equal("bad argument 'format': json or no format expected, got " .. got .. "\n", body)
    end
  end)

  it("tells the longest paths apart, and filters by their ends", function()
    start()
    local long = here.path .. ("/" .. ("y"):rep(250)):rep(8)
    hold(long .. "/apples", "one")
    hold(long .. "/pears", "another")
    local _, rows = page():gsub('<tr><td><div class="long">', "")
    assert.equal(2, rows)
    for _, filter in ipairs { "/pears", long .. "/pears" } do
      local locks = json("&filter=" .. filter).locks
      assert.equal(1, #locks)
      assert.equal(long .. "/pears", locks[1].path)
    end
  end)

  it("shows what ran, what was skipped and what failed", function()
    start()
    assert.equal(200, (web:get("/once")))
    assert.is_truthy(page():find('<td>2 ran, 1 skipped, <b class="bad">1 failed</b></td>', 1, true))
    assert.same({ ran = 2, skipped = 1, failed = 1 }, json().clients[1].runs)
  end)

  it("stands still on demand, so that somebody can type a filter, and goes on again", function()
    start()
    local body = page("?filter=apples&still=yes")
    assert.is_nil(body:find('http-equiv="refresh"', 1, true))
    assert.is_truthy(body:find('<a href="?filter=apples">go on</a>', 1, true), body)
    assert.is_truthy(body:find('<input type="hidden" name="still" value="yes">', 1, true), body)
    body = page("?filter=apples")
    assert.is_truthy(body:find('http-equiv="refresh"', 1, true))
    assert.is_truthy(body:find('<a href="?filter=apples&amp;still=yes">stand still</a>', 1, true), body)
  end)

  it("breaks a long path between its components only", function()
    start()
    local long = here.path .. "/" .. ("long-word/"):rep(10) .. "end-of-it"
    hold(long, "somebody")
    local body = shows("end-of-it")
    local cell = body:match('<td><div class="long">([^\n]-end%-of%-it</span><wbr>)</div></td>')
    assert.equal(long, (cell:gsub("<span>(.-)</span><wbr>", "%1")))
    assert.is_truthy(cell:find("<span>/long-word</span><wbr>", 1, true), cell)
    assert.is_truthy(body:find("th, td, span { white-space: nowrap; }", 1, true))
  end)

  it("shows who is in front of a waiter without asking the servers", function()
    start()
    local other = here:connect()
    assert(other:mutex(here.path):acquire(PATIENCE))
    web:get("/wait")
    here:becomes(2)
    local front = here:nodes()[1]
    local row = assert(row_of(shows(("1 in front, next: <span>%s</span>"):format(front)), here.path))
    assert.same({ "elsewhere", "1" }, { row[3], row[7] })
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
    local words, body = " s: &lt;b&gt;db7&lt;/b&gt;:4242 holds ", nil
    for try = 1, 20 do -- on a busy machine a wait is slow before the client has listed who holds
      web:get("/slow")
      body = wait.eventually(function()
        local now = page()
        local _, lines = now:gsub("<td>slow</td>", "")
        return (lines >= try or now:find(words, 1, true)) and now, now
      end, PATIENCE, words)
      if body:find(words, 1, true) then break end
    end
    assert.is_truthy(body:find(words, 1, true), body)
    assert.is_truthy(body:find("<td>slow</td><td>waiting for " .. here.path .. " for ", 1, true), body)
    assert.equal("<span>&lt;b&gt;db7&lt;/b&gt;:4242</span>", row_of(shows("4242</span></td>"), here.path)[3])
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

  it("shows thousands of locks, also those of another worker, for which the dictionary has room", function()
    start { workers = 2, size = "32m" }
    web:get("/many?n=2000")
    wait.eventually(function()
      local _, rows = page():gsub("<tr><td>" .. pattern(here.path) .. "/many%-%d+</td>", "")
      return rows == 2000, rows
    end, 3 * PATIENCE, "2000 rows")
    local seen = {} -- each worker has answered, and one of them does not hold
    wait.eventually(function()
      local all = json()
      seen[#all.locks] = true
      return #all.locks == 2000
    end, PATIENCE, "2000 locks")
    assert.same({ [2000] = true }, seen)
    assert.same({}, web:errors())
  end)

  it("shows the oldest of another worker for which there is room, and says how many more there are", function()
    start { workers = 2, size = "256k" }
    hold(here.path .. "/oldest", "the first")
    web:get("/many?n=600")
    local whole, short
    wait.eventually(function()
      local body = page()
      local held = body:match("There are %d+ more: (%d+) held, %d+ waiting%.")
      local _, rows = body:gsub("<tr><td>" .. pattern(here.path), "")
      whole = whole or rows == 601 and not held
      short = short or held and tonumber(held) + rows == 601 and row_of(body, here.path .. "/oldest")
      return whole and short, body
    end, PATIENCE, "both workers' pages")
    assert.matches("the first", short[3])
    assert.is_nil((select(2, web:get("/metrics"))):match("zklock_metrics_errors_total [1-9]"))
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
    local body = shows(here.path .. "/many-150</td>")
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
    --- Waits until the worker that answers says so: the two connect when they can, and write once a second.
    local function answers(path, answer)
      wait.eventually(function() return get(path):find(answer), get(path) end, PATIENCE, path)
    end
    answers("/buy", "^200 sold\n$")
    answers("/health/locks", "^200 connected, valid for %d+%.%d s\n$")
    answers("/health/leader", "^200 leads\n$")
    answers("/metrics", "\nzklock_held{lock=\"leader\"} 1\n")
    assert.matches(" %(client:job%)$", row_of(shows("/monitoring-example/leader"), "/monitoring-example/leader")[3])
    assert.same({}, web:errors())
  end)
end)
