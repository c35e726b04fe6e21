-- SPDX-License-Identifier: MIT
--- The contents of the memory of a process of ours.

local memory = {}

local LARGEST = 2 ^ 30 -- bytes of a mapping; larger are a sanitizer's

--- How often a text is in what the process may write to.
---@param pid integer
---@param text string
---@return integer
function memory.count(pid, text)
  local found, pattern = 0, text:gsub("%p", "%%%0")
  local bytes = assert(io.open(("/proc/%d/mem"):format(pid), "rb"))
  for line in assert(io.open(("/proc/%d/maps"):format(pid))):lines() do
    local from, to = line:match("^(%x+)%-(%x+) rw")
    local first = from and tonumber(from, 16)
    local size = from and tonumber(to, 16) - first
    if from and size < LARGEST and bytes:seek("set", first) then
      local _, count = (bytes:read(size) or ""):gsub(pattern, "")
      found = found + count
    end
  end
  bytes:close()
  return found
end

return memory
