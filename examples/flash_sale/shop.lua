-- SPDX-License-Identifier: MIT
-- The shop's database: the stock of item 42, and the orders for it.

local luasql = require "luasql.sqlite3"

local shop = {}
shop.__index = shop

local BUSY = 10000 -- ms that SQLite waits for another process's write

local function execute(self, sql, ...)
  return assert(self.connection:execute(sql:format(...)))
end

local function number(self, sql)
  local cursor = execute(self, sql)
  local value = cursor:fetch()
  cursor:close()
  return math.tointeger(value) or 0
end

function shop.open(path)
  local environment = luasql.sqlite3()
  local self = setmetatable({ environment = environment, connection = assert(environment:connect(path, BUSY)) }, shop)
  execute(self, "PRAGMA synchronous = OFF") -- it need not survive a power cut
  return self
end

function shop.create(path, stock)
  local self = shop.open(path)
  execute(self, "PRAGMA journal_mode = WAL"):close()
  execute(self, "CREATE TABLE items (id INTEGER PRIMARY KEY, stock INTEGER NOT NULL, token INTEGER NOT NULL)")
  execute(self, "CREATE TABLE orders (id INTEGER PRIMARY KEY, buyer INTEGER NOT NULL, token INTEGER NOT NULL)")
  execute(self, "INSERT INTO items VALUES (42, %d, 0)", stock)
  return self
end

-- The items that are left. The shop notes the token of a caller: from here on it refuses one with a smaller token, so
-- that nobody who wakes up late writes between this read and the write that follows it.
function shop:stock(token)
  if token then
    execute(self, "UPDATE items SET token = %d WHERE id = 42 AND token < %d", token, token)
  end
  return number(self, "SELECT stock FROM items WHERE id = 42")
end

-- Writes the stock and the order, or neither. The shop remembers the greatest fencing token that it has seen, and
-- refuses a buyer who comes with a smaller one: that one held the lock once, slept, and does not know that it is gone.
function shop:sell(stock, buyer, token)
  token = token or 0
  execute(self, "BEGIN IMMEDIATE")
  local changed = execute(self, "UPDATE items SET stock = %d, token = %d WHERE id = 42 AND token <= %d", stock, token,
    token)
  if changed == 0 then
    execute(self, "ROLLBACK")
    return nil, "refused: the lock has been given to somebody else"
  end
  execute(self, "INSERT INTO orders (buyer, token) VALUES (%d, %d)", buyer, token)
  execute(self, "COMMIT")
  return true
end

function shop:sold()
  return number(self, "SELECT count(*) FROM orders")
end

function shop:close()
  self.connection:close()
  self.environment:close()
end

return shop
