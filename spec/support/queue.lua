-- SPDX-License-Identifier: MIT
--- The queue at a lock's path, as the servers have it.

local wait = require "spec.support.wait"

local queue = {}
queue.__index = queue

--- "at once", on a busy machine; seconds. Sessions in specs that count nodes last longer, so that what is gone in time
--- was deleted, and not ended with its session.
local PATIENCE = wait.PATIENCE

--- The queue at `path`, seen through an inspector.
function queue.at(tree, path) return setmetatable({ tree = tree, path = path }, queue) end

--- Its names, in the order in which they came.
---@return string[]
function queue:names()
  local names = self.tree:children(self.path) or {}
  table.sort(names, function(a, b) return a:match("%d+$") < b:match("%d+$") end)
  return names
end

--- Waits until so many are in it.
function queue:becomes(n)
  return wait.eventually(function()
    local names = self:names()
    return #names == n, ("%d: %s"):format(#names, table.concat(names, " "))
  end, PATIENCE, ("a queue of %d at %s"):format(n, self.path))
end

--- The first in it: its name and its Stat; nil when nobody is there.
function queue:first()
  local name = self:names()[1]
  if not name then return nil end
  return name, (self.tree:exists(self.path .. "/" .. name))
end

--- Whether a node of it is still there.
function queue:has(name) return self.tree:exists(self.path .. "/" .. name) ~= nil end

return queue
