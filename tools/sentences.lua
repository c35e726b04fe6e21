-- SPDX-License-Identifier: MIT
-- A sentence names its actor or its subject: none begins with Who, Whom or What, unless it is a question. Looks at the
-- prose of Markdown pages without their titles, and at the comments of other files. It leaves out texts in quotes.
-- usage: lua5.4 tools/sentences.lua FILE...

local failed = false

--- Looks at one paragraph: its lines without the marks of comments, and the number of the first.
local function judge(path, first, lines)
  local text = (table.concat(lines, "\n") .. "\n"):gsub("`[^`]*`", function(quote) return quote:gsub("[^\n]", "x") end)
    :gsub('"[^"]*"', function(quote) return quote:gsub("[^\n]", "x") end)
  local from = 1
  while true do
    local start, stop = text:find("[.:;!?*|]%)?%s+Wh[oa]m?t?%s", from)
    if from == 1 and text:find "^Wh[oa]m?t?%s" then start, stop = 1, 4 end
    if not start then return end
    from = stop
    local word = text:sub(start, stop):match "Wh%a+"
    if (word == "Who" or word == "Whom" or word == "What") and text:match("[.?!]", stop) ~= "?" then
      local _, ends = text:sub(1, text:find("Wh", start, true)):gsub("\n", "")
      print(("%s:%d: a sentence begins with %s"):format(path, first + ends, word))
      failed = true
    end
  end
end

--- For each kind of file, a reader of its lines. It returns the prose of a line, nil if there is none; whether a
--- paragraph ends with this line; and whether one begins with it.
local function after(mark)
  return function() return function(line) return line:match("^%s*" .. mark .. "+%s+(.*)$") end end
end

local function of_c()
  local inside = false
  return function(line)
    local text = line
    if not inside then
      text = line:match "/%*+%s*(.*)$" or line:match "//%s+(.*)$"
      if not text then return nil end
      inside = line:find("/*", 1, true) ~= nil
    end
    local last = text:find("*/", 1, true)
    if last then inside, text = false, text:sub(1, last - 1) end
    return (text:gsub("^%s*%*%s*", ""):gsub("^%-+%s*", "")), last ~= nil
  end
end

local function of_page()
  local in_block = false
  return function(line)
    if line:find "^%s*```" then in_block = not in_block return nil end
    if in_block or line:find "^#" or line:find "^%s*$" then return nil end
    local item = line:match "^%s*[-*] +(.*)$" or line:match "^%s*%d+%. +(.*)$"
    return item or line:match "^%s*>?%s*(.*)$", line:find "^|" ~= nil, item ~= nil
  end
end

local READERS = { md = of_page, c = of_c, h = of_c, lua = after "%-%-", sh = after "#", mk = after "#" }

local function check(path)
  local reader = READERS[path:match "%.(%a+)$"] or READERS.mk
  local prose, lines, first, number = reader(), {}, 1, 0
  local function finish()
    if #lines > 0 then judge(path, first, lines) end
    lines = {}
  end
  for line in io.lines(path) do
    number = number + 1
    local text, is_last, is_new = prose(line)
    if text and text:find "^SPDX" then text = nil end
    if is_new or not text or not text:find "%S" then finish() end
    if text and text:find "%S" then
      if #lines == 0 then first = number end
      lines[#lines + 1] = text
    end
    if is_last then finish() end
  end
  finish()
end

for _, path in ipairs(arg) do
  check(path)
end
os.exit(not failed)
