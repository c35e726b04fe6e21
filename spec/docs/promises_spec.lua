-- SPDX-License-Identifier: MIT
--- The token at the resource: what docs/promises.md shows, run with a database and two processes.

local read = require("spec.support.file").read
local folder = require "spec.support.folder"
local inspector = require "spec.support.inspector"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"

local PATIENCE = wait.PATIENCE

describe("the page of promises", function()
  local page = read("docs/promises.md")
  local schema, example = page:match("```sql\n(.-)```"), page:match("```lua\n(.-)```")

  it("is linked from the README", function()
    assert.is_truthy(read("README.md"):find("](docs/promises.md)", 1, true))
  end)

  -- Items 42 and 43 are sold alike, but 43 by a statement that does not compare the token.
  local SHOP = [[
    local zklock_path, file, example = ...
    local environment = require "luasql.sqlite3".sqlite3()
    local database = assert(environment:connect(file, 10000))
    database:execute("PRAGMA synchronous = OFF") -- it need not survive a power cut
    local compile = loadstring or load
    local sell = assert(compile(example .. "\nreturn sell"))()
    local unguarded, changes = example:gsub(" AND token <= :token", "")
    assert(changes == 1, "the example compares the token once")
    local sell_unguarded = assert(compile(unguarded .. "\nreturn sell"))()
    shop = { path = zklock_path }
    function shop.acquire(timeout)
      shop.token = assert(worker.lock(shop.path):acquire(timeout))
      return shop.token
    end
    function shop.sell() return sell(database, 42, shop.token), sell_unguarded(database, 43, shop.token) end
    function shop.row(id)
      local cursor = assert(database:execute(("SELECT stock, token FROM items WHERE id = %d"):format(id)))
      local stock, token = cursor:fetch()
      cursor:close()
      return tonumber(stock), tonumber(token)
    end
    function shop.execute(sql) return assert(database:execute(sql)) end
  ]]

  it("keeps its word: who wakes up late sells nothing #slow", function()
    if not pcall(require, "luasql.sqlite3") then return pending("no LuaSQL for SQLite 3 for this Lua") end
    local zk, path, file = server.shared(), "/promises/shop", folder.new("shop") .. "/database"
    local sleeper, other = worker.start(), worker.start()
    assert(sleeper:connect(zk.hosts, { session_timeout = 1, connect_timeout = PATIENCE }))
    assert(other:connect(zk.hosts, { session_timeout = PATIENCE, connect_timeout = PATIENCE }))
    other:eval(SHOP, path, file, example)
    other:eval("shop.execute(...)", schema)
    other:eval("shop.execute('INSERT INTO items (id, stock) VALUES (42, 10), (43, 10)')")
    sleeper:eval(SHOP, path, file, example)

    local old = sleeper:eval("return shop.acquire(60)")
    assert.same({ true, true }, { sleeper:eval("return shop.sell()") })
    assert.same({ true, true }, { sleeper:eval("return shop.sell()") }, "a holder writes as often as it likes")
    sleeper:stop()
    local new = other:eval("return shop.acquire(60)")
    assert.is_true(new > old)
    assert.same({ true, true }, { other:eval("return shop.sell()") })
    sleeper:continue()
    assert.same({ false, true }, { sleeper:eval("return shop.sell()") })

    assert.same({ 7, new }, { other:eval("return shop.row(42)") })
    assert.same({ 6, old }, { other:eval("return shop.row(43)") }, "without the comparison the late one sells, too")
    assert.same({ true, true }, { other:eval("return shop.sell()") })
    for _, one in ipairs { sleeper, other } do
      one:close()
      one:kill()
    end
    local tree = inspector.connect(zk.hosts)
    wait.eventually(function() return #(tree:children(path) or {}) == 0 end, PATIENCE, "the end of every node")
    tree:delete_tree("/promises")
    tree:close()
  end)
end)
