-- A stock in a file: what is left, and the last token that changed it. Read and written with a pause between (a
-- payment), so that two at once would sell the same item. It refuses whoever comes with an older token.
local shop = {}

local folder = os.getenv("SHOP") or ngx.config.prefix() .. "shop"

local function read()
  local file = assert(io.open(folder .. "/stock"))
  local left, token = file:read("*n", "*n")
  file:close()
  return left, token
end

local function write(left, token)
  local file = assert(io.open(folder .. "/stock", "w"))
  file:write(("%d %d\n"):format(left, token))
  file:close()
end

--- A new sale.
function shop.open(left)
  write(left, 0)
  ngx.say("open")
end

--- Sells one; called with the lock's token.
function shop.sell(token)
  local left = read()
  ngx.sleep(0.001) -- the payment
  local _, newest = read()
  if token < newest then return "somebody later has been here" end
  if left == 0 then return "sold out" end
  write(left - 1, token)
  return "yours, number " .. left
end

--- What is left.
shop.left = read

return shop
