-- SPDX-License-Identifier: MIT
-- The output of a shell command.
return function(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("a")
  pipe:close()
  return text
end
