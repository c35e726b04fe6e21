-- SPDX-License-Identifier: MIT
-- A stock: read and written with a pause between (a payment), so that two at once would sell the same item.
local ledger = require "ledger"

local shop = {}

--- A new sale.
function shop.open(left)
  ledger.set("stock", left)
  ngx.say("open")
end

--- Sells one; called with the lock's token, which it shows before it reads, too: else one who was stopped could still
--- write between our read and our write.
function shop.sell(token)
  local left, late = ledger.take("stock", token)
  if not left then return late end
  if left == 0 then return "sold out" end
  ngx.sleep(0.001) -- the payment
  local _, too_late = ledger.take("stock", token, function() return left - 1 end)
  return too_late or "yours, number " .. left
end

--- The items that are left.
function shop.left()
  return ledger.read("stock")
end

return shop
