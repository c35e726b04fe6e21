-- SPDX-License-Identifier: MIT
-- A plugin for APISIX: apisix/plugins/orders-lock.lua. `locks` is the module of docs/openresty.md.
local core = require "apisix.core"
local plugin = { version = 0.1, priority = 900, name = "orders-lock", schema = { type = "object" } }

function plugin.check_schema(conf) return core.schema.check(plugin.schema, conf) end

function plugin.init() require "locks" end -- in each worker

function plugin.access()
  ngx.req.read_body()
  local token, err = require("locks").orders:acquire(5)
  if not token then
    core.log.warn("no lock for ", ngx.var.request_uri, ": ", err)
    return 503
  end
  ngx.req.set_header("X-Lock-Token", ("%d"):format(token))
end

function plugin.header_filter() require("locks").orders:release() end

return plugin
