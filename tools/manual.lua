-- SPDX-License-Identifier: MIT
--- Keeps share/zklock.3, the manual of the C library, in step with csrc/zklock.h and csrc/zklock_host.h, whose comments
--- it consists of. share/zklock.in.3 is the frame.
---   * Each function, struct and enum has a comment of its own, or the words of its members.
--- usage: lua5.4 tools/manual.lua [--write]     in the root of the tree; with --write it writes the manual

package.path = "./?.lua;" .. package.path
local header = require "tools.header"

local FRAME, MANUAL = "share/zklock.in.3", "share/zklock.3"

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read("a")
end

local function escaped(line)
  return (line:gsub("\\", "\\e"):gsub("^([.'])", "\\&%1"))
end

--- A sentence in lines of 76 columns at most; no line begins or ends inside of `words`.
local function wrapped(sentence)
  local lines, line = {}, ""
  sentence = sentence:gsub("`[^`]*`", function(quoted) return (quoted:gsub(" ", "\1")) end)
  for word in sentence:gmatch("%S+") do
    if #line + #word > 75 then
      lines[#lines + 1], line = line, ""
    end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return (table.concat(lines, "\n"):gsub("\1", " "))
end

--- Prose in mdoc: a line for each sentence; a line break in `text` ends a paragraph.
local function prose(text)
  local lines = {}
  for paragraph in text:gmatch("[^\n]+") do
    if #lines > 0 then lines[#lines + 1] = ".Pp" end
    local broken = paragraph:gsub("([%w)`\"]%.) (%u)", "%1\n%2"):gsub("([?!]) (%u)", "%1\n%2")
      :gsub("(%.%.%.) (%u)", "%1\n%2"):gsub("(%.) (%d)", "%1\n%2"):gsub("(%.) (`)", "%1\n%2")
    for sentence in broken:gmatch("[^\n]+") do
      for line in wrapped(sentence):gmatch("[^\n]+") do
        lines[#lines + 1] = (escaped(line):gsub("`([^`]+)`", "\\fI%1\\fP"))
      end
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

local function literal(text)
  local lines = {}
  for line in (text .. "\n"):gmatch("(.-)\n") do
    lines[#lines + 1] = (line:gsub("\\", "\\e"):gsub("^([.'])", "\\&%1"))
  end
  return ".Bd -literal\n" .. table.concat(lines, "\n") .. "\n.Ed\n"
end

--- The type and the parameters of a function, as mdoc's .Ft and .Fo.
local function prototype(item)
  local kind, name, parameters = header.declaration(item):match("^(.-)([%w_]+)(%b());$")
  local lines = { ".Ft " .. kind:gsub("%s+$", ""), ".Fo " .. name }
  for parameter in parameters:sub(2, -2):gmatch("[^,]+") do
    lines[#lines + 1] = ('.Fa "%s"'):format(parameter:gsub("^%s+", ""))
  end
  lines[#lines + 1] = ".Fc"
  return table.concat(lines, "\n") .. "\n"
end

local function capital(text) return text:sub(1, 1):upper() .. text:sub(2) end

local FORMS = {
  section = function(item)
    local title, rest = item.name:match("^(.-): (.*)$")
    title = title or item.name
    return (".Ss %s\n"):format(capital(title)) .. (rest and prose(capital(rest) .. ".") or "")
  end,
  ["function"] = function(item)
    return ".Pp\n" .. prototype(item) .. ".Bd -ragged -offset indent\n" .. prose(item.comment) .. ".Ed\n"
  end,
  struct = function(item)
    return (item.comment and ".Pp\n" .. prose(item.comment) or "") .. literal(item.text)
  end,
}
for _, what in ipairs { "enum", "type", "constant", "defaults" } do FORMS[what] = FORMS.struct end

local function items_of(name)
  local parts = {}
  for _, item in ipairs(header.read(name)) do
    if item.what == "function" and not item.comment then
      error(("%s has no comment in csrc/%s"):format(item.name, name), 0)
    end
    parts[#parts + 1] = FORMS[item.what](item)
  end
  return (table.concat(parts):gsub("(%.Ss [^\n]*\n)%.Pp\n", "%1"))
end

local function about(name)
  local text = header.text(name):match("\n/%*(.-)%*/")
  local paragraphs = {}
  for paragraph in (text:gsub("\n %* ?", "\n") .. "\n\n"):gmatch("(.-)\n\n") do
    paragraphs[#paragraphs + 1] = (paragraph:gsub("%s+", " "):gsub("^ ", ""))
  end
  return prose(table.concat(paragraphs, "\n")):gsub("\n$", "")
end

local function manual()
  local text = read(FRAME)
  for mark, part in pairs {
    ["@ABOUT@"] = about(header.PROMISED), ["@ITEMS@\n"] = items_of(header.PROMISED),
    ["@HOST_ABOUT@"] = about(header.HOST), ["@HOST_ITEMS@\n"] = items_of(header.HOST),
  } do
    text = text:gsub(mark, (part:gsub("%%", "%%%%")))
  end
  return text
end

local ok, text = pcall(manual)
if not ok then
  print(text)
  os.exit(false)
end
if arg[1] == "--write" then
  local file <close> = assert(io.open(MANUAL, "w"))
  file:write(text)
elseif read(MANUAL) ~= text then
  print(("%s is not what the headers say: `make abi` writes it"):format(MANUAL))
  os.exit(false)
end
