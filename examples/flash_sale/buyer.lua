-- SPDX-License-Identifier: MIT
-- One buyer: sells item 42 until there is none left.
--
--   lua5.4 buyer.lua NUMBER DATABASE [HOSTS]      with HOSTS: one at a time, by a lock in ZooKeeper
--
-- It reports on stdout: `paying TIME` when it has read the stock, `sold` when it has written it back, or why it could
-- not.

local here = arg[0]:match("^(.*)/") or "."
package.path = here .. "/?.lua;" .. package.path
local uv = require "luv"
local shop = require "shop"

local number, database, hosts = arg[1], arg[2], arg[3]
local item = shop.open(database)
math.randomseed(os.time() + number)

local function report(...)
  print(string.format(...))
  io.flush()
end

-- Read, pay, write: right as long as nobody else does the same meanwhile. True if there was one left.
local function sell(token)
  local now = uv.hrtime()
  local stock = item:stock(token)
  if stock == 0 then
    return false
  end
  report("paying %d", now)
  uv.sleep(math.random(10, 30)) -- the bank's answer
  local ok, refused = item:sell(stock - 1, number, token)
  report(ok and "sold" or refused)
  return true
end

if hosts then
  local zklock = require "zklock"
  local client = assert(zklock.connect(hosts, {
    session_timeout = 2, connect_timeout = 20, identifier = "buyer " .. number,
  }))
  local lock = client:mutex("/flash-sale/item-42")
  local ok, sold
  repeat
    ok, sold = lock:with(30, sell)
    -- If it ran, but perhaps not alone, the shop has decided whether it sold something.
    assert(ok or sold == "lost" or sold == "unknown", sold)
  until ok and not sold
  client:close()
else
  repeat until not sell()
end
