-- SPDX-License-Identifier: MIT
--- The blocks of docs/openresty.md, and the plugins that it links to, in an nginx: as they stand, but for the places of
--- the servers, the tree, and the upstream.

local files = require "spec.support.file"
local folder = require "spec.support.folder"
local lfs = require "lfs"
local nginx = require "spec.support.nginx"

local read, write, replace = files.read, files.write, files.replace

local page = {}

--- A name for each block, in the page's order.
local NAMES = {
  nginx = { "http", "orders", "buy", "checkout", "page", "health", "main" },
  lua = { "locks" },
}

--- The page's blocks by their names.
---@return table<string, string>
function page.blocks()
  local text, named = read("docs/openresty.md"), {}
  for language, names in pairs(NAMES) do
    local count = 0
    for block in text:gmatch("\n```" .. language .. "\n(.-)```") do
      count = count + 1
      named[assert(names[count], "a block without a name: " .. block)] = block
    end
    assert(count == #names, ("%d blocks of %s, %d names"):format(count, language, #names))
  end
  return named
end

--- A tree as `luarocks --tree` makes it.
local function tree()
  local root = folder.new("tree")
  for _, name in ipairs { "/share", "/share/lua", "/lib", "/lib/lua", "/lib/lua/5.1" } do lfs.mkdir(root .. name) end
  assert(lfs.link(nginx.tree() .. "/lua", root .. "/share/lua/5.1", true))
  assert(lfs.link(nginx.build() .. "/zklock", root .. "/lib/lua/5.1/zklock", true))
  return root
end

---@class page.options
---@field hosts string of the servers
---@field locations string? more of them: `/upstream` is the upstream
---@field shop string? the module `shop`
---@field changes table<string, string[]>? by block: what is replaced, and by what
---@field http string? more for http {}
---@field workers integer? 1

--- Starts nginx with all blocks.
---@param options page.options
function page.start(options)
  local blocks = page.blocks()
  for _, name in ipairs { "kong", "apisix" } do blocks[name] = read("examples/nginx/plugins/" .. name .. ".lua") end
  for name, change in pairs(options.changes or {}) do blocks[name] = replace(blocks[name], change[1], change[2]) end
  local dir = folder.new("lua")
  for _, name in ipairs { "kong", "apisix" } do write(("%s/%s.lua"):format(dir, name), blocks[name]) end
  write(dir .. "/locks.lua", replace(blocks.locks, "zk1:2181,zk2:2181,zk3:2181", options.hosts))
  write(dir .. "/shop.lua", options.shop or "return {}")
  local http = replace(blocks.http, "/etc/nginx/lua/", dir .. "/"):gsub("/opt/zklock", tree())
  return nginx.start { workers = options.workers or 1, package_path = "", package_cpath = "", main = blocks.main,
    http = "lua_shared_dict counts 1m; lua_shared_dict pages 32m;" .. http .. (options.http or ""),
    server = replace(blocks.orders, "http://127.0.0.1:8080", "http://127.0.0.1:@port@/upstream") .. blocks.buy
      .. blocks.checkout .. blocks.page .. blocks.health .. (options.locations or "") }
end

return page
