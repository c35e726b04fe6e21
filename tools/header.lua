-- SPDX-License-Identifier: MIT
--- Reads the public headers, csrc/zklock.h and csrc/zklock_host.h: their sections, types, constants and functions, in
--- order, for tools/abi.lua and tools/manual.lua.

local header = {}

---@class header.item
---@field what "section"|"enum"|"struct"|"type"|"constant"|"defaults"|"function"
---@field name string
---@field comment string? in one line; of a section its text below the title
---@field text string the source, with the comments that are inside
---@field members string[]? of an enum its names, of a struct its fields
---@field types table<string, string>? of a struct the declaration of each field's type

local function words(text)
  return (text:gsub("%s*\n%s*%*?%s*", " "):gsub("%s+", " "):gsub("^%s+", ""):gsub("%s+$", ""))
end

local function without_comments(text) return (text:gsub("/%*.-%*/", " ")) end

--- The names that the body of a struct declares, and the type of each.
local function fields_of(body)
  local found, types = {}, {}
  for declaration in without_comments(body):gsub("%b[]", ""):gmatch("[^;]+") do
    local pointer = declaration:match("%(%*([%w_]+)%)%s*%(")
    if pointer then
      found[#found + 1] = pointer
      types[pointer] = words(declaration:gsub("%(%*[%w_]+%)", "(*)"))
    elseif declaration:find("%S") then
      local first, base = true, declaration:match("^[^,]*"):gsub("[%s*]*[%w_]+%s*$", "")
      for part in declaration:gmatch("[^,]+") do
        local name = part:match("([%w_]+)%s*$")
        assert(name and (not first or part:find("[%w_]+[%s*]+[%w_]+%s*$")), "a field that is not understood: " .. part)
        local stars = part:match("(%**)%s*[%w_]+%s*$")
        found[#found + 1], first = name, false
        types[name] = words(base .. " " .. stars)
      end
    end
  end
  return found, types
end

local function names_of(body)
  local found = {}
  for name in without_comments(body):gmatch("[%w_]+") do found[#found + 1] = name end
  return found
end

--- One statement of the header, or nil for what has no meaning to a program: guards and includes.
local function item_of(text)
  for _, what in ipairs { "enum", "struct" } do
    local body, name = text:match("^typedef " .. what .. " [%w_]+ (%b{}) ([%w_]+);")
    if body then
      local members, types = (what == "enum" and names_of or fields_of)(body:sub(2, -2))
      return { what = what, name = name, members = members, types = types }
    end
  end
  if text:find("^typedef ") then
    return { what = "type", name = assert(without_comments(text):match("([%w_]+)%s*;%s*$"), text) }
  end
  if text:find("^ZKL_API ") then
    return { what = "function", name = assert(text:match("([%w_]+)%("), text) }
  end
  local defaults = text:match("^#define (ZKL_[%w_]+_DEFAULTS) ")
  if defaults then return { what = "defaults", name = defaults } end
  local name = text:match("^#define (ZKL_[%w_]+) %S")
  if name and name ~= "ZKL_API" then return { what = "constant", name = name } end
  return nil
end

--- The end of the statement that begins at `from`: behind a directive's line, or behind the semicolon outside of
--- braces, with a comment that follows on that line.
local function end_of(text, from)
  if text:find("^#", from) then return assert(text:find("[^\\]\n", from)) + 1 end
  local at = from
  while true do
    local mark = assert(text:find("[;{/]", at), "an unfinished statement: " .. text:sub(from, from + 60))
    local char = text:sub(mark, mark)
    if char == ";" then break end
    if char == "{" then
      at = select(2, assert(text:find("%b{}", mark))) + 1
    else
      at = select(2, assert(text:find("/%*.-%*/", mark))) + 1
    end
    from = mark
  end
  return (text:find("\n", text:find(";", at, true), true))
end

--- All items of a header's text; what is not understood raises an error.
---@param text string
---@return header.item[] items
function header.items(text)
  local items, at, pending = {}, 1, nil
  text = text:gsub('#ifdef __cplusplus\n.-#endif\n', "")
  while true do
    at = text:find("%S", at)
    if not at then return items end
    local comment, behind = text:match("^/%*%s*(.-)%s*%*/()", at)
    if comment then
      local title = comment:match("^%-%-%-%-%s*(.-)%s*%-%-%-%-$")
      if title then items[#items + 1] = { what = "section", name = words(title), text = "" } end
      pending = not title and text:find("^\n%S", behind) and words((comment:gsub("\n%s*%*%s*\n", "\n * \1\n"))) or nil
      if pending then pending = pending:gsub(" ?\1 ?", "\n") end
      at = behind
    else
      local stop = end_of(text, at)
      local source = text:sub(at, stop - 1)
      local item = item_of(source)
      if item then
        item.text, item.comment = source, pending
        items[#items + 1] = item
      else
        assert(source:find("^#") or source:find('^extern "C"'), "not understood: " .. source)
      end
      pending, at = nil, stop
    end
  end
end

--- A declaration in one line, without comments and ZKL_API.
---@param item header.item
---@return string
function header.declaration(item)
  return words(without_comments(item.text):gsub("^ZKL_API ", ""))
end

--- Promised to programs in C, and not: what only hosts of event loops need.
header.PROMISED, header.HOST = "zklock.h", "zklock_host.h"

---@param name string header.PROMISED or header.HOST
---@return string text
function header.text(name)
  local file = assert(io.open("csrc/" .. name))
  local text = file:read("*a")
  file:close()
  return text
end

---@param name string header.PROMISED or header.HOST
---@return header.item[] items
function header.read(name) return header.items(header.text(name)) end

return header
