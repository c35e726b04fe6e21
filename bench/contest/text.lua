-- SPDX-License-Identifier: MIT
--- Tables and lists as text.

local text = {}

local function width(cell) return utf8.len(cell) or #cell end

--- With aligned columns and without marks, for the terminal.
function text.plain(header, rows)
  local all, widths, lines = { header, table.unpack(rows) }, {}, {}
  for n, row in ipairs(all) do
    local copy = {}
    for i, cell in ipairs(row) do
      copy[i] = cell:gsub("[%*`]", "")
      widths[i] = math.max(widths[i] or 0, width(copy[i]))
    end
    all[n] = copy
  end
  for n, row in ipairs(all) do
    local parts = {}
    for i, cell in ipairs(row) do parts[i] = cell .. (" "):rep(widths[i] - width(cell)) end
    lines[n] = (table.concat(parts, "  "):gsub("%s+$", ""))
  end
  return table.concat(lines, "\n")
end

function text.markdown(header, rows)
  local lines = { "| " .. table.concat(header, " | ") .. " |", "|" .. (" --- |"):rep(#header) }
  for _, row in ipairs(rows) do
    local cells = {}
    for i = 1, #header do cells[i] = row[i] or "" end
    lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  return table.concat(lines, "\n")
end

function text.list(items)
  local lines = {}
  for i, item in ipairs(items) do lines[i] = "- " .. item end
  return table.concat(lines, "\n")
end

--- Whose advice each peer's program follows.
function text.manuals(list)
  local lines = {}
  for i, peer in ipairs(list) do lines[i] = ("- %s: <%s>"):format(peer.title, peer.manual) end
  return (table.concat(lines, "\n"):gsub("<api.md>", "[the interface](../api.md)"))
end

local WIDTH = 100

--- A paragraph or a list's item, which goes on below its text.
local function wrap_line(line)
  local indent, lines, rest = line:match("^%- ") and "  " or "", {}, ""
  for word in line:gmatch("%S+") do
    if rest:find("%S") and #rest + 1 + #word > WIDTH then
      lines[#lines + 1] = rest
      rest = indent .. word
    else
      rest = rest == "" and word or rest .. " " .. word
    end
  end
  lines[#lines + 1] = rest
  return table.concat(lines, "\n")
end

--- A page whose long lines are wrapped, except those of tables, and whose paragraphs are one empty line apart.
function text.wrap(page)
  local wrapped = page:gsub("[^\n]+", function(line)
    if width(line) > WIDTH and not line:find("^|") then return wrap_line(line) end
  end)
  return (wrapped:gsub("\n\n\n+", "\n\n"))
end

return text
