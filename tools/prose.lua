-- SPDX-License-Identifier: MIT
-- Checks how Markdown pages are laid out: a line has at most 100 columns, and a cell of a table at most 160.
-- Exempt from the first are tables, blocks of code, and lines that are one word or one link, which nobody can wrap.
-- usage: lua5.4 tools/prose.lua FILE...

local LINE, CELL = 100, 160

local failed = false
local function complain(...)
  failed = true
  print(string.format(...))
end

local function columns(text)
  return utf8.len(text) or #text
end

--- Whether a line has no place to wrap: after the mark of a list it is one word, or one link or picture.
local function is_solid(line)
  local text = line:gsub("^%s*[-*]%s+", ""):gsub("^%s+", "")
  return not text:find "%s" or text:find "^!?%[[^%]]*%]%([^)]*%)[.,:;]?$"
end

--- The cells of a table's row. A `\|` is part of a cell.
local function cells(row)
  local text = row:gsub("\\|", "  "):gsub("^|", "")
  return text:gmatch "%s*(.-)%s*|"
end

local function check(path)
  local in_block, number = false, 0
  for line in io.lines(path) do
    number = number + 1
    if line:find "^%s*```" then
      in_block = not in_block
    elseif not in_block and line:find "^|" then
      for cell in cells(line) do
        if columns(cell) > CELL then
          complain("%s:%d: a cell must have at most %d columns, it has %d", path, number, CELL, columns(cell))
        end
      end
    elseif not in_block and columns(line) > LINE and not is_solid(line) then
      complain("%s:%d: a line must have at most %d columns, it has %d", path, number, LINE, columns(line))
    end
  end
end

for _, path in ipairs(arg) do
  check(path)
end
os.exit(not failed)
