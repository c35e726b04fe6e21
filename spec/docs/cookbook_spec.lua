-- SPDX-License-Identifier: MIT
--- The recipes of docs/cookbook.md and docs/internals/tokens.md, each run as somebody would who pastes it, with stubs
--- for what is the reader's own.

local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local markdown = require "spec.support.markdown"
local nginx = require "spec.support.nginx"
local wait = require "spec.support.wait"

local page, tokens = markdown.read("docs/cookbook.md"), markdown.read("docs/internals/tokens.md")
local PREAMBLE = page:below("Cookbook")[1].text

describe("a recipe #once", function()
  local here = fixture.new("/shop")

  before_each(function()
    for _, path in ipairs { "/shop", "/accounts" } do here.tree:delete_tree(path) end
  end)

  --- The recipe as a program: what is the reader's own before it, what looks at it behind it. Where it waits for 2 or 5
  --- seconds, it waits for so many; nil: as long as a busy machine may need.
  local function program(title, before, after, seconds)
    local block = (title == tokens.headings[2] and tokens or page):below(title)[1]
    assert.equal("lua", block.language)
    local text = block.text:gsub("(:%l+%()[25]%f[,)]", "%1" .. (seconds or here.patience))
    return PREAMBLE .. (before or "") .. "\n" .. text .. (after or "")
  end

  --- Until the client notices an outage, the servers answer fast enough; from then on nothing is certain.
  local CERTAIN = [[
    local mutex = client.mutex
    client.mutex = function(self, path)
      local lock = mutex(self, path)
      lock.validity = function() return self:state() == "suspended" and 0 or 60 end
      return lock
    end
  ]]

  local function start(...)
    local child = wait.spawn_lua(program(...), {}, { env = { ZOOKEEPER = here.zk.hosts } })
    here:afterwards(function() child:kill() end)
    return child
  end

  local function finish(child)
    local code, signal = child:wait()
    assert.same({ code = 0, signal = 0, stderr = "" }, { code = code, signal = signal, stderr = child:stderr() })
    return child:stdout()
  end

  local function run(...) return finish(start(...)) end

  it("skips the work when another process is at it, and says which", function()
    local title, reindex = "Skip the work when another process is at it", "local function reindex() print 'done' end"
    assert.equal("done\n", run(title, reindex))
    assert(here:connect { identifier = "web\n7" }:mutex("/shop/reindex"):acquire(here.patience))
    assert.equal('skipped: "web\\\n7" is at it\n', run(title, reindex))
  end)

  it("sells the stock, and nothing more", function()
    assert(here.tree:create("/shop/item-42/stock", "20", { parents = true }))
    local children, sold = {}, 0
    for i = 1, 3 do
      children[i] = start("Do not sell more than the stock", nil, [[
        local count = 0
        repeat
          local left, why = sell()
          if left then count = count + 1 end
        until not left
        local _, why = sell()
        print(count, why)
        client:close()
      ]])
    end
    for _, child in ipairs(children) do
      local count, why = finish(child):match("^(%d+)\t(.-)\n$")
      assert.equal("sold out", why)
      sold = sold + tonumber(count)
    end
    assert.equal(20, sold)
    assert.equal("0", (here.tree:get("/shop/item-42/stock")))
  end)

  it("sells nothing when the lock is taken", function()
    assert(here.tree:create("/shop/item-42/stock", "20", { parents = true }))
    assert(here:connect():mutex("/shop/item-42/lock"):acquire(here.patience))
    assert.equal("nil\ttimeout\n", run("Do not sell more than the stock", nil, "print(sell())", 1))
  end)

  it("refuses late writes in a database, all of them or none", function()
    local database = ([[
      local database = assert(require "luasql.sqlite3".sqlite3():connect(%q))
      database:execute "PRAGMA synchronous = OFF"
      assert(database:execute "CREATE TABLE items (id INTEGER PRIMARY KEY, stock INTEGER, token INTEGER DEFAULT 0)")
      assert(database:execute "INSERT INTO items (id, stock) VALUES (42, 2), (43, 1), (44, 9)")
      local function row(id)
        local cursor = database:execute("SELECT stock, token > 0 FROM items WHERE id = " .. id)
        local stock, has_token = cursor:fetch()
        cursor:close()
        return ("%%d %%d"):format(stock, has_token)
      end
    ]]):format(folder.new("cookbook") .. "/database")
    local said = run("Refuse late writes in a database", database, [[
      assert(ok, sold)
      print(sold, row(42), row(43))
      print(select(2, assert(lock:with(5, function(token) return sell(database, token, { 42, 43 }) end))), row(42))
      print(sell(database, 1, { 42, 44 }), row(42), row(44)) -- a late holder
      client:close()
    ]])
    assert.equal("true\t1 1\t0 1\nfalse\t1 1\nfalse\t1 1\t9 0\n", said)
  end)

  it("asks before it prints, and does not print for a former holder", function()
    local said = run("Ask before an act that cannot be undone", [[
      local printer = { write = function(_, label) print(label) end }
    ]], [[
      print(ok, printed)
      print(print_label { path = "/shop/parcels/17", token = 17, label = "late" })
      client:close()
      print(pcall(print_label, { path = "/shop/parcels/17", token = 17, label = "late" }))
    ]])
    assert.equal("parcel 17\ntrue\ttrue\nfalse\n", (said:gsub("false\t[^\n]*nobody can say who holds: closed\n$", "")))
  end)

  describe("for two locks in one transaction", function()
    local TITLE = "Two locks in one transaction"
    local DATABASE = ([[
      local database = assert(require "luasql.sqlite3".sqlite3():connect(%q))
      database:execute "PRAGMA synchronous = OFF"
      local function execute(statement) return assert(database:execute(statement)) end
      execute "CREATE TABLE IF NOT EXISTS items (id INTEGER PRIMARY KEY, stock INTEGER, token INTEGER DEFAULT 0)"
      execute "CREATE TABLE IF NOT EXISTS imports (name TEXT PRIMARY KEY, line INTEGER, token INTEGER DEFAULT 0)"
      execute "DELETE FROM items" execute "DELETE FROM imports"
      execute "INSERT INTO items (id, stock) VALUES (42, 2), (43, 1)"
      execute "INSERT INTO imports (name, line) VALUES ('shop', 0)"
      local function number(select)
        local cursor = execute(select)
        local value = cursor:fetch()
        cursor:close()
        return ("%%d"):format(value)
      end
      local function stored()
        return number "SELECT stock FROM items WHERE id = 42", number "SELECT stock FROM items WHERE id = 43",
          number "SELECT line FROM imports"
      end
      local function list(...)
        local lines, n = { ... }, 0
        return function() n = n + 1 return lines[n] end
      end
      local ONE, TWO = { number = 1, item = 42, amount = 5 }, { number = 2, item = 43, amount = 7 }
    ]]):format(folder.new("cookbook") .. "/database")

    it("stores each line with the tokens of both", function()
      local said = run(TITLE, DATABASE .. "local function lines() return list(ONE, TWO) end", [[
        assert(ok, err)
        print(stored())
        print(number "SELECT MIN(token) > 0 FROM items", number "SELECT token > 0 FROM imports",
          number "SELECT imports.token < MIN(items.token) FROM items, imports")
        client:close()
      ]])
      assert.equal("7\t8\t2\n1\t1\t1\n", said)
    end)

    local LATER = { "items SET token = token + 1000000 WHERE id = 43", "imports SET token = token + 1000000" }
    for _, behind in ipairs(LATER) do
      it("stores nothing of a line when a later holder has been at one row: " .. behind, function()
        local said = run(TITLE, DATABASE .. ([[
          local function lines()
            local next = list(ONE, TWO)
            return function()
              local line = next()
              if line == TWO then
                execute "UPDATE %s"
              end
              return line
            end
          end
          local said, problem = pcall(function()
        ]]):format(behind), [[
          end)
          print(said, problem:match "^[^\n]*", stored())
          client:close()
        ]])
        assert.equal("false\ta later holder has been here\t7\t1\t1\n", said)
      end)
    end

    it("rolls back and raises when the database refuses a statement", function()
      local said = run(TITLE, DATABASE .. [[
        execute "CREATE TRIGGER stop BEFORE UPDATE ON imports BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        local function lines() return list(ONE) end
        local said, problem = pcall(function()
      ]], [[
        end)
        print(said, (problem:find("disk full", 1, true)) ~= nil, stored())
        client:close()
      ]])
      assert.equal("false\ttrue\t2\t1\t0\n", said)
    end)
  end)

  it("fills a cache once, and reads it from then on", function()
    local said = run("Refill a cache that many processes read", [[
      local cache
      local function load_prices() return cache end
      local function fill_prices(token) print("filled", token > 0) cache = { 1, 2 } return cache end
    ]], [[
      print(#assert(prices()), #assert(prices()))
      print(client:stats().acquired) -- read and write, then read
      local calls = 0
      function load_prices() -- empty, until the owner holds write: another process has filled it meanwhile
        calls = calls + 1
        return calls > 1 and { 3 } or nil
      end
      print(#assert(prices()))
      assert(rw.read:acquire(60))
      print(rw.write:acquire(60))
      client:close()
    ]])
    assert.equal("filled\ttrue\n2\t2\n3\n1\nnil\tdeadlock\n", said)
  end)

  it("limits how many processes do something at a time", function()
    local title, printer = "Limit how many processes do something at a time", [[
      local function print_label(what, token) print(what, token > 0) io.stdout:flush() io.read() end
    ]]
    local children = {}
    for i = 1, 3 do children[i] = start(title, printer .. "do ", " end print(client:stats().held)") end
    for _, child in ipairs(children) do assert.equal("order 17\ttrue", child:read_line(here.patience)) end
    local fourth = start(title, printer)
    here:eventually(function() return #(here.tree:children("/shop/printers/leases") or {}) == 4 end, "one who waits")
    assert.equal("", fourth:stdout())
    children[1]:write("")
    assert.equal("order 17\ttrue", fourth:read_line(here.patience))
    assert.equal("0", children[1]:read_line(here.patience))
  end)

  it("locks several keys at once", function()
    local said = run("Lock several keys at once", [[
      local function transfer(...)
        print(client:mutex("/accounts/bob"):acquire(0, "another"))
        print((select("#", ...)))
      end
    ]])
    assert.equal("nil\ttimeout\n4\n", said)
  end)

  it("gives the lock back when a coroutine ends with an error", function()
    local said = run("Give the lock back when a request or a coroutine ends",
      "client:close() client = assert(zklock.connect(os.getenv 'ZOOKEEPER', { on_error = function(text) "
      .. "print((text:match '[^\\n]*$' and text:match 'no paper')) end })) "
      .. "local function write_report() error('no paper', 0) end", [[
      while client:stats().acquired == 0 do client:poll(1) end
      print(client:mutex("/shop/report"):acquire(60) ~= nil)
      client:close()
    ]])
    assert.equal("no paper\ntrue\n", said)
  end)

  it("gives the lock back when a coroutine ends, before anybody finds the coroutine dead", function()
    local said = run("Give the lock back when a request or a coroutine ends", "local function write_report() end", [[
      while client:stats().acquired == 0 do client:poll(1) end
      print(client:mutex("/shop/report"):acquire(60) ~= nil, client:stats().abandoned)
      client:close()
    ]])
    assert.equal("true\t0\n", said)
  end)

  local REACT = "React to a loss, and to somebody who asks for the lock"
  local ROWS = CERTAIN .. [[
    local function rows()
      local n = 0
      return function() n = n + 1 if n <= %s then return n end end
    end
    local function import() require "socket".sleep(0.01) print "imported" io.stdout:flush() end
  ]]

  it("ends after its last row when nothing happens", function()
    assert.equal("imported\nimported\ndone\n", run(REACT, ROWS:format "2"))
  end)

  it("reacts to somebody who asks for the lock", function()
    local child = start(REACT, ROWS:format "math.huge")
    assert.equal("imported", child:read_line(here.patience))
    assert.is_true(here:connect():mutex("/shop/import"):revoke(here.patience))
    assert.matches("\nanother process asks for the lock\n$", "\n" .. finish(child))
  end)

  it("reacts to a loss", function()
    local child = start(REACT, ROWS:format "math.huge")
    assert.equal("imported", child:read_line(here.patience))
    here.tree:delete((here:only_node("/shop/import")))
    assert.matches("\nlost\n$", "\n" .. finish(child))
  end)

  describe("for an outage", function()
    local way
    before_each(function() way = here:proxy() end)

    local function start_behind(...)
      local child = wait.spawn_lua(program(...), {}, { env = { ZOOKEEPER = way.hosts } })
      here:afterwards(function() child:kill() end)
      return child
    end

    local function break_way()
      way:refuse()
      way:cut()
    end

    --- Each row waits for a line of the spec.
    local ROWS_BEHIND = CERTAIN .. [[
      local function rows()
        local n = 0
        return function() n = n + 1 if n <= LAST then return n end end
      end
      io.stdout:setvbuf "line"
      local function export(row)
        print("exported " .. row)
        if row == 1 then
          io.read()
          while client:state() ~= "suspended" do require "socket".sleep(0.01) end
        else
          require "socket".sleep(0.01)
        end
      end
    ]]
    local WAIT = "Wait while the servers are out of reach"

    local function reach_the_outage(last)
      local child = start_behind(WAIT, ("local LAST = %s "):format(last) .. ROWS_BEHIND)
      assert.equal("exported 1", child:read_line(here.patience))
      break_way()
      child:write("\n")
      assert.equal("ZooKeeper: suspended", child:read_line(here.patience))
      return child
    end

    it("waits for the servers, and goes on with the same hold", function()
      local child = reach_the_outage "2"
      way:heal()
      assert.equal("ZooKeeper: connected\nexported 2\ndone\n", finish(child))
    end)

    it("ends when the lock was lost meanwhile", function()
      local child = reach_the_outage "math.huge"
      here.tree:delete((here:only_node("/shop/export")))
      way:heal()
      assert.matches("^ZooKeeper: connected\n.*lost\n$", finish(child))
    end)
  end)

  describe("for a daemon", function()
    local TITLE = "End a daemon on TERM"
    local WORK = "local function work(token) print('works', token > 0) io.stdout:flush() end"

    local function ends(child, code, stderr)
      assert.same({ code, 0 }, { child:wait() })
      assert.equal(stderr, child:stderr())
    end

    for name, number in pairs { TERM = "sigterm", INT = "sigint" } do
      it("gives the lock back at once and ends with 0 on " .. name, function()
        local child = start(TITLE, WORK)
        assert.equal("works\ttrue", child:read_line(here.patience))
        assert.equal(0, require("luv").kill(child.pid, number))
        ends(child, 0, "")
        assert.same({}, here.tree:children("/shop/daemon") or {}) -- an empty directory may be gone
      end)
    end

    it("ends with 0 on TERM while it waits for the lock, and leaves no node", function()
      local holder = here:connect():mutex("/shop/daemon")
      assert(holder:acquire(here.patience))
      local child = start(TITLE, WORK)
      here:becomes(2, "/shop/daemon")
      assert.equal(0, require("luv").kill(child.pid, "sigterm"))
      ends(child, 0, "")
      here:becomes(1, "/shop/daemon")
    end)

    it("ends with 1 when the lock is lost, and when the work fails", function()
      local child = start(TITLE, WORK)
      assert.equal("works\ttrue", child:read_line(here.patience))
      here.tree:delete((here:only_node("/shop/daemon")))
      ends(child, 1, "the lock is lost\n")
      ends(start(TITLE, "local function work() error('no paper', 0) end"), 1, "no paper\n")
    end)
  end)

  it("hands a lock to a longer job, which releases it", function()
    local said = run("Hand a lock to a longer job",
      "local function export(token) print('export', token > 0) client:sleep(0.05) end", [[
      print(lock:is_held(), lock:is_held(job))
      while lock:is_held(job) do client:poll(1) end
      print(lock:acquire(60) ~= nil)
      client:close()
    ]])
    assert.equal("false\ttrue\nexport\ttrue\ntrue\n", said)
  end)
end)

describe("the recipe for nginx", function()
  if not nginx.is_testable() then
    it("is tested under LuaJIT, which is nginx's Lua", function() pending("not this one") end)
    return
  end

  local here = fixture.new("/shop")

  it("handles one request of a user at a time, and frees the lock at the request's end", function()
    local block = page:below("Give the lock back when a request or a coroutine ends")[2]
    assert.equal("nginx", block.language)
    local web = here:nginx { workers = 1, http = [[
      init_worker_by_lua_block {
        local client = assert(require "zklock".connect("@hosts@"))
        package.loaded.locks = { client = client }
        package.loaded.shop = { cart = function()
          local lock = client:mutex("/shop/carts/" .. ngx.md5("ann"):sub(1, 2), { max_waiting = 4 })
          ngx.say(client:stats().held, " ", lock:is_held())
        end }
      }
    ]], server = block.text .. [[
      location = /now { content_by_lua_block { ngx.say(package.loaded.locks.client:stats().held) } }
      location = /asks { content_by_lua_block {
        ngx.req.set_header("Cookie", "user=ann")
        ngx.exec("/cart")
      } }
    ]] }
    assert.equal(403, (web:get("/cart")))
    for _ = 1, 2 do assert.same({ 200, "1 true\n" }, { web:get("/asks") }) end
    here:eventually(function() return select(2, web:get("/now")) == "0\n" end, "the end of the hold")
    assert.same({}, web:errors())
  end)
end)
