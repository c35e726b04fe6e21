--- What the harness keeps for as long as the process lives.
--
-- busted forgets all modules between two spec files. What must not be forgotten with them (the shared server, the
-- temporary folder, the children) is kept in Lua's registry.

local NAME = "zklock.spec.support"

local registry = debug.getregistry()
registry[NAME] = registry[NAME] or {}

--- A table that is the same at every call with this name.
---@param name string
---@return table
return function(name)
  local all = registry[NAME]
  all[name] = all[name] or {}
  return all[name]
end
