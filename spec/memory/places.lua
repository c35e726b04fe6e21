-- SPDX-License-Identifier: MIT
--- places: what is left in ZooKeeper of the places that clients had.
local places = {}

--- How many nodes of contenders there are at a path and below.
function places.count(tree, path)
  local count = 0
  for _, name in ipairs(tree:children(path) or {}) do
    if name:match "^_c_" then
      count = count + 1
    else
      count = count + places.count(tree, path .. "/" .. name)
    end
  end
  return count
end

return places
