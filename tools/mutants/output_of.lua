-- SPDX-License-Identifier: MIT
-- What a command of the shell says.
return function(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read("a")
  pipe:close()
  return text
end
