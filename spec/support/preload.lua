-- SPDX-License-Identifier: MIT
--- Small libraries that are preloaded into a process to stand between it and the C library.

local folder = require "spec.support.folder"
local process = require "spec.support.process"

local preload = {}

--- Compiles a source of spec/support.
---@param name string "resolver" for spec/support/resolver.c
---@return string value for LD_PRELOAD
---@return string folder for what the library reads and writes
function preload.build(name)
  local place = folder.new(name)
  local source, library = ("spec/support/%s.c"):format(name), ("%s/%s.so"):format(place, name)
  local cc = process.spawn { "cc", "-shared", "-fPIC", "-O1", "-Wall", "-o", library, source, env = process.PLAIN }
  if cc:wait(60) ~= 0 then error(("cannot build %s: %s"):format(source, cc:stderr()), 2) end
  local before = os.getenv("LD_PRELOAD") -- a sanitizer's, which has to be the first
  return (before and before .. ":" or "") .. library, place
end

--- Writes a file that a library may read at any moment: at none is it half there.
function preload.write(path, text)
  local file = assert(io.open(path .. ".new", "w"))
  file:write(text)
  file:close()
  assert(os.rename(path .. ".new", path))
end

return preload
