--- Host names that a spec gives their meaning, and changes it while a process runs.
--
-- The process is started with `resolver.env`; there, names that end in ".test" are looked up in a file (resolver.c).

local uv = require "luv"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local resolver = {}
resolver.__index = resolver

local SOURCE = "spec/support/resolver.c"

local function write(path, text)
  local file = assert(io.open(path .. ".new", "w"))
  file:write(text)
  file:close()
  assert(uv.fs_rename(path .. ".new", path)) -- at no moment is it half there
end

local function save(self)
  local lines = {}
  for name, addresses in pairs(self.names) do lines[#lines + 1] = name .. " " .. addresses .. "\n" end
  write(self.env.RESOLVER_NAMES, table.concat(lines))
end

--- Builds the library that is preloaded.
function resolver.new()
  local place = folder.new("resolver")
  local library = place .. "/resolver.so"
  local cc = process.spawn { "cc", "-shared", "-fPIC", "-O1", "-o", library, SOURCE, env = process.PLAIN }
  if cc:wait(60) ~= 0 then error("cannot build " .. SOURCE .. ": " .. cc:stderr(), 2) end
  local before = os.getenv("LD_PRELOAD") -- a sanitizer's, which has to be the first
  local self = setmetatable({ names = {} }, resolver)
  self.env = {
    RESOLVER_NAMES = place .. "/names", RESOLVER_LOG = place .. "/log",
    LD_PRELOAD = (before and before .. ":" or "") .. library,
  }
  write(self.env.RESOLVER_LOG, "")
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
