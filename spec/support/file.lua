-- SPDX-License-Identifier: MIT
--- Files as texts.

local file = {}

---@return string text; raises when it cannot be read
function file.read(path)
  local one = assert(io.open(path, "rb"))
  local text = one:read("*a")
  one:close()
  return text
end

--- A source file as a page shows it: without the line that names its licence.
function file.shown(path)
  return (file.read(path):gsub("^%-%- SPDX%-License%-Identifier: [^\n]*\n", ""))
end

function file.write(path, text)
  local one = assert(io.open(path, "wb"))
  assert(one:write(text))
  one:close()
end

--- The text with its one `old` replaced; raises when there is none.
function file.replace(text, old, new)
  local at, last = text:find(old, 1, true)
  assert(at, "there is no " .. old)
  return text:sub(1, at - 1) .. new .. text:sub(last + 1)
end

return file
