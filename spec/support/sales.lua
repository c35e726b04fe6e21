-- SPDX-License-Identifier: MIT
--- A counter in ZooKeeper that the requests of a web server change, each adding 1: the examples in examples/hosts.

local busted = require "busted"

local sales = {}

--- A counter at 0.
---@param here table fixture
---@param root string "/shop/NAME"
function sales.open(here, root)
  here.tree:delete_tree(root)
  for _, path in ipairs { "/shop", root, root .. "/sold" } do here.tree:create(path, "0") end
end

--- Sends `rounds` times so many requests at once. Each answer names another number.
---@param web table daemon
---@param path string
---@return integer count of all requests
function sales.sell(web, path, at_once, rounds)
  local said, count = {}, 0
  for _ = 1, rounds or 1 do
    local calls = {}
    for i = 1, at_once do calls[i] = web:begin(path) end
    for i = 1, at_once do
      local status, body = calls[i]:finish()
      assert(status == 200 and body:find("^sold %d+\n$"), tostring(body) .. web:log())
      assert(not said[body], body)
      said[body], count = true, count + 1
    end
  end
  return count
end

--- So many were sold, and nobody holds or waits.
function sales.are(here, root, count, lock)
  busted.assert.equal(tostring(count), here.tree:get(root .. "/sold"))
  here:becomes(0, root .. "/" .. (lock or "lock"))
end

return sales
