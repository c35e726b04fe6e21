-- SPDX-License-Identifier: MIT
--- plot: a list of numbers as text, the time to the right.
local plot = {}

local WIDTH, HEIGHT = 72, 8

--- The largest of each part of the list.
local function columns(list)
  local out, width = {}, math.min(WIDTH, #list)
  for i = 1, width do
    local most = -math.huge
    for j = math.floor((i - 1) * #list / width) + 1, math.floor(i * #list / width) do most = math.max(most, list[j]) end
    out[i] = most
  end
  return out
end

---@return string lines
function plot.draw(title, list)
  if not list or #list == 0 then return title .. ": nothing was seen" end
  local points, top = columns(list), 0
  for _, value in ipairs(points) do top = math.max(top, value) end
  local lines = { ("%s (0 to %.1f)"):format(title, top) }
  for row = HEIGHT, 1, -1 do
    local cells = {}
    for i, value in ipairs(points) do
      cells[i] = math.ceil(value / math.max(top, 1e-9) * HEIGHT) >= row and "#" or " "
    end
    lines[#lines + 1] = "  |" .. table.concat(cells)
  end
  lines[#lines + 1] = "  +" .. ("-"):rep(#points)
  return table.concat(lines, "\n")
end

return plot
