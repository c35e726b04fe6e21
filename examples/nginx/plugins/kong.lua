-- SPDX-License-Identifier: MIT
-- A plugin for Kong: kong/plugins/orders-lock/handler.lua. `locks` is the module of docs/openresty.md.
local OrdersLock = { PRIORITY = 900, VERSION = "1.0.0" }

function OrdersLock:init_worker() require "locks" end

function OrdersLock:access()
  ngx.req.read_body()
  local token, err = require("locks").orders:acquire(5)
  if not token then
    kong.log.warn("no lock for ", ngx.var.request_uri, ": ", err)
    return kong.response.exit(503)
  end
  ngx.req.set_header("X-Lock-Token", ("%d"):format(token))
end

function OrdersLock:header_filter() require("locks").orders:release() end

return OrdersLock
