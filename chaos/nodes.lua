-- SPDX-License-Identifier: MIT
--- The nodes of a lock's callers at a path, wherever its kind puts them.

local nodes = {}

-- A semaphore has its nodes one level lower.
local DIRECTORIES = { "/locks", "/leases", "" }

--- The directories that there may be nodes in, the path's own as the last.
---@return string[]
function nodes.directories(path)
  local list = {}
  for i, name in ipairs(DIRECTORIES) do list[i] = path .. name end
  return list
end

--- All nodes below a path: { path =, directory = }.
---@param tree table of `spec.support.inspector`
---@return table[]? nodes
---@return string? err
function nodes.list(tree, path)
  local list = {}
  for _, directory in ipairs(nodes.directories(path)) do
    local names, err = tree:children(directory)
    if not names and err ~= "NONODE" then return nil, err end
    for _, name in ipairs(names or {}) do
      if name:find("^_c_") then list[#list + 1] = { path = directory .. "/" .. name, directory = directory } end
    end
  end
  return list
end

return nodes
