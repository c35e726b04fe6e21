-- SPDX-License-Identifier: MIT
--- A Markdown page: its blocks, headings and links, as the specs of the documentation want them.

local read = require("spec.support.file").read

local markdown = {}
markdown.__index = markdown

--- The name under which a heading can be linked to, as GitHub makes it.
---@param title string
---@return string
function markdown.anchor(title)
  return (title:gsub("%[([^%]]*)%]%([^)]*%)", "%1"):lower():gsub("[^%w%s_-]", ""):gsub("%s", "-"))
end

local function new_block(self, language, line)
  local lead = {}
  for i = line - 1, 1, -1 do
    local text = self.lines[i]
    if text == "" and #lead > 0 or text:find("^#") or text:find("^```") then break end
    if text ~= "" then table.insert(lead, 1, text) end
  end
  return { language = language, section = self.headings[#self.headings], lead = table.concat(lead, " "), line = line }
end

local function parse(self)
  local block, body
  for number, line in ipairs(self.lines) do
    local fence = line:match("^```(.*)$")
    if block and fence then
      block.text = table.concat(body, "\n") .. "\n"
      self.blocks[#self.blocks + 1], block = block, nil
    elseif fence then
      block, body = new_block(self, fence, number), {}
    elseif block then
      body[#body + 1] = line
    else
      self.prose[#self.prose + 1] = line
      self.headings[#self.headings + 1] = line:match("^#+ (.*)$")
      for id in line:gmatch('<a id="([^"]+)">') do self.ids[id] = true end
    end
  end
  assert(not block, self.path .. ": a block without an end")
end

---@class markdown.block
---@field language string what stands behind the three backquotes
---@field text string with its last line feed
---@field section string? the heading above
---@field lead string the paragraph before the block, as one line
---@field line integer of the page

---@class markdown
---@field path string
---@field lines string[]
---@field prose string[] the lines that are in no block
---@field headings string[] their texts
---@field ids table<string, true> what `<a id="...">` names
---@field blocks markdown.block[] in the page's order

---@param path string
---@return markdown
function markdown.read(path)
  local self = setmetatable({ path = path, lines = {}, prose = {}, headings = {}, blocks = {}, ids = {} }, markdown)
  for line in read(path):gmatch("([^\n]*)\n") do self.lines[#self.lines + 1] = line end
  parse(self)
  return self
end

--- The blocks below a heading.
---@param title string
---@return markdown.block[]
function markdown:below(title)
  local found = {}
  for _, block in ipairs(self.blocks) do
    if block.section == title then found[#found + 1] = block end
  end
  assert(#found > 0, ("%s has no block below '%s'"):format(self.path, title))
  return found
end

--- Where the page's links lead: `{ "docs/api.md", "nodes" }`, the file as seen from the root of the tree. Addresses of
--- the web are left out.
---@return { [1]: string, [2]: string? }[]
function markdown:links()
  local found, folder = {}, self.path:match("^(.*/)[^/]*$") or ""
  for target in table.concat(self.prose, "\n"):gmatch("%]%(([^)%s]+)%)") do
    if not target:find("^%l+:") then
      local file, anchor = target:match("^([^#]*)#?(.*)$")
      local path = file == "" and self.path or folder .. file
      while path:find("[^/]+/%.%./") do path = path:gsub("[^/]+/%.%./", "", 1) end
      found[#found + 1] = { path, anchor ~= "" and anchor or nil }
    end
  end
  return found
end

--- Whether a link to that heading, or to that `<a id="...">`, finds one.
---@param anchor string
---@return boolean
function markdown:has(anchor)
  for _, title in ipairs(self.headings) do
    if markdown.anchor(title) == anchor then return true end
  end
  return self.ids[anchor] or false
end

return markdown
