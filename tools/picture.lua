-- SPDX-License-Identifier: MIT
-- Draws what a program shows on a terminal as an SVG, for a page. Bold, red and green are kept; of a line that is drawn
-- again and again (`\r\27[K`) the last state stands. Blocks and rules are rectangles, so no font can shift them.
-- usage: PROGRAM | lua5.4 tools/picture.lua TITLE >FILE     `make picture` draws docs/demo.svg

local CELL, LINE, MARGIN, BASE = 8.4, 19, 16, 14 -- pixels; BASE: from a line's top to its letters' feet
local PAPER, INK, DIM = "#1b1f27", "#d8dee9", "#434c5e"
local COLOURS = { ["1;31"] = "#ff7b72", ["1;32"] = "#7ee787", ["1"] = "#ffffff" }
local ESCAPES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

local function escaped(text)
  return (text:gsub('[&<>"]', ESCAPES))
end

--- A line's pieces: each has a text, its place in columns, and the codes of its colour.
local function pieces(line)
  local list, column, code = {}, 0, ""
  for text, command in (line:gsub("\27%[0?m", "\27[m") .. "\27[m"):gmatch "([^\27]*)\27%[([%d;]*)m" do
    if text ~= "" then
      list[#list + 1] = { text = text, column = column, code = code }
      column = column + utf8.len(text)
    end
    code = command
  end
  return list, column
end

local out = {}
local function emit(...)
  out[#out + 1] = string.format(...)
end

local function rectangle(column, count, top, height, colour)
  emit('<rect x="%.1f" y="%d" width="%.1f" height="%d" fill="%s"/>', MARGIN + column * CELL, top, count * CELL, height,
    colour)
end

local SHAPES = { ["█"] = { 2, LINE - 4, INK }, ["░"] = { 2, LINE - 4, DIM }, ["─"] = { LINE // 2, 1, DIM } }

--- Draws a run of letters, or a run of one shape.
local function draw_run(run, column, top, code)
  local shape = SHAPES[run:match(utf8.charpattern)]
  local count = utf8.len(run)
  if shape then return rectangle(column, count, top + shape[1], shape[2], shape[3]) end
  emit('<text x="%.1f" y="%d" textLength="%.1f"%s>%s</text>', MARGIN + column * CELL, top + BASE, count * CELL,
    COLOURS[code] and (' fill="%s" font-weight="bold"'):format(COLOURS[code]) or "", escaped(run))
end

local function draw_piece(piece, top)
  local run, kind, column = "", nil, piece.column
  local function finish() -- a picture keeps no blanks in a row: what stands between them gets a place of its own
    local rest, place = run, column
    while rest:find "%S" do
      local blanks = #rest:match "^ *"
      local words = rest:sub(blanks + 1)
      words = (words:match "^(.-)  " or words):match "^(.-) ?$"
      draw_run(words, place + blanks, top, piece.code)
      rest, place = rest:sub(blanks + #words + 1), place + blanks + utf8.len(words)
    end
    column, run = column + utf8.len(run), ""
  end
  for _, code in utf8.codes(piece.text) do
    local letter = utf8.char(code)
    local of = SHAPES[letter] and letter or "text"
    if of ~= kind then finish() end
    run, kind = run .. letter, of
  end
  finish()
end

local lines, width = {}, 0
for line in io.read("a"):gsub("\r\n", "\n"):gmatch "([^\n]*)\n" do
  lines[#lines + 1] = line:match "^.*\r\27%[K(.*)$" or line
end
while lines[1] and not lines[1]:find "%S" do table.remove(lines, 1) end
while #lines > 0 and not lines[#lines]:find "%S" do lines[#lines] = nil end
assert(#lines > 0, "nothing came in")
for i, line in ipairs(lines) do
  local list, columns = pieces(line)
  for _, piece in ipairs(list) do draw_piece(piece, MARGIN + (i - 1) * LINE) end
  width = math.max(width, columns)
end
local w, h = math.ceil(2 * MARGIN + width * CELL), 2 * MARGIN + #lines * LINE
io.write(([[
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-size="14" fill="%s"
  font-family="ui-monospace, 'DejaVu Sans Mono', Menlo, Consolas, monospace">
<title>%s</title>
<rect width="%d" height="%d" rx="8" fill="%s"/>
]]):format(w, h, w, h, INK, escaped(arg[1] or "A terminal"), w, h, PAPER), table.concat(out, "\n"), "\n</svg>\n")
