-- SPDX-License-Identifier: MIT
--- The things that the harness keeps for as long as the process lives.
--
-- busted forgets all modules between two spec files. State that must not be forgotten with them (the shared server, the
-- temporary folder, the children) is kept in Lua's registry.

local NAME = "zklock.spec.support"

local registry = debug.getregistry()
registry[NAME] = registry[NAME] or {}

-- luv's loop would go with the first spec file, under whatever the next ones open, if that file opened nothing.
registry[NAME].luv = registry[NAME].luv or require "luv"

--- A table that is the same at every call with this name.
---@param name string
---@return table
return function(name)
  local all = registry[NAME]
  all[name] = all[name] or {}
  return all[name]
end
