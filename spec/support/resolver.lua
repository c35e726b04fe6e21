-- SPDX-License-Identifier: MIT
--- Host names that a spec gives their meaning, and changes it while a process runs.
--
-- The process is started with `resolver.env`; there, names that end in ".test" are looked up in a file (resolver.c).

local preload = require "spec.support.preload"

local resolver = {}
resolver.__index = resolver

local function save(self)
  local lines = {}
  for name, addresses in pairs(self.names) do lines[#lines + 1] = name .. " " .. addresses .. "\n" end
  preload.write(self.env.RESOLVER_NAMES, table.concat(lines))
end

--- Knows no name yet.
function resolver.new()
  local library, place = preload.build("resolver")
  local self = setmetatable({ names = {} }, resolver)
  self.env = { LD_PRELOAD = library, RESOLVER_NAMES = place .. "/names", RESOLVER_LOG = place .. "/log" }
  preload.write(self.env.RESOLVER_LOG, "")
  save(self)
  return self
end

--- From now on the name means these addresses.
---@param name string ending in ".test"
---@param addresses string? "127.0.0.1:PORT[,...]"; nil: the name is unknown
function resolver:set(name, addresses)
  self.names[name] = addresses
  save(self)
end

--- How often a name was looked up so far.
function resolver:lookups(name)
  local count = 0
  for line in io.lines(self.env.RESOLVER_LOG) do
    if line == name then count = count + 1 end
  end
  return count
end

return resolver
