--- How the pages are laid out: lines, table cells, and links to a section. #once

local lfs = require "lfs"
local read = require("spec.support.file").read

local COLUMNS, CELL = 100, 160 -- characters; a cell of 160 takes two lines of a screen
--- Pages that are still to be rewritten, and the one that bench/contest/report.lua writes.
local EXEMPT = { ["docs/design.md"] = true, ["docs/contest.md"] = true }

local function pages()
  local list = { "README.md", "SECURITY.md" }
  for name in lfs.dir("docs") do
    if name:find("%.md$") then list[#list + 1] = "docs/" .. name end
  end
  table.sort(list)
  return list
end

local function length_of(text) return select(2, text:gsub("[^\128-\191]", "")) end

--- The lines of a page outside of its code blocks, with their numbers.
local function lines_of(text)
  local number, is_code, line = 0, false, nil
  local following = (text .. "\n"):gmatch("([^\n]*)\n")
  return function()
    repeat
      line, number = following(), number + 1
      local is_fence = line and line:find("^%s*```")
      if is_fence then is_code = not is_code end
    until not line or not (is_code or is_fence)
    return line and number, line
  end
end

--- What is too long in a page.
local function too_long(text)
  local found = {}
  for number, line in lines_of(text) do
    if line:find("^|") then
      for cell in line:gmatch("|%s*([^|]-)%s*%f[|]") do
        if length_of(cell) > CELL then found[#found + 1] = ("line %d: a cell of %d"):format(number, length_of(cell)) end
      end
    elseif length_of(line) > COLUMNS and line:find("%s%S+%s") and not line:find("^!%[") then
      found[#found + 1] = ("line %d: %d columns"):format(number, length_of(line))
    end
  end
  return found
end

--- The anchors of a page's headings, as GitHub makes them.
local function anchors_of(text)
  local found, count = {}, {}
  for _, line in lines_of(text) do
    local title = line:match("^#+ (.*)$")
    if title then
      local anchor = title:gsub("%[([^%]]*)%]%b()", "%1"):lower():gsub("[^%w_ %-\128-\255]", ""):gsub(" ", "-")
      local before = count[anchor] or 0
      count[anchor] = before + 1
      found[before == 0 and anchor or ("%s-%d"):format(anchor, before)] = true
    end
  end
  return found
end

--- The links of a page whose section is not there.
local function broken(page)
  local found, folder = {}, page:match("^(.*/)") or ""
  for target in read(page):gmatch("%]%(([^)%s]+)%)") do
    local path, anchor = target:match("^([^#:]*)#(.+)$")
    if path then
      local there = path == "" and page or (folder .. path):gsub("[^/]+/%.%./", "")
      if not lfs.attributes(there) or not anchors_of(read(there))[anchor] then found[#found + 1] = target end
    end
  end
  return found
end

describe("a page #once", function()
  for _, page in ipairs(pages()) do
    if not EXEMPT[page] then
      it("has lines of 100 columns and short cells: " .. page, function()
        assert.same({}, too_long(read(page)))
      end)
    end

    it("links to sections that are there: " .. page, function() assert.same({}, broken(page)) end)
  end

  it("is searched for long lines and cells, outside of its code", function()
    local wide = ("word "):rep(30)
    assert.same({ "line 2: 150 columns" }, too_long("short\n" .. wide))
    assert.same({ "line 1: a cell of 199" }, too_long("| a | " .. ("word "):rep(40) .. "|"))
    assert.same({}, too_long("```\n" .. wide .. "\n```"))
    assert.same({}, too_long("[link]: " .. ("x"):rep(120)))
    assert.same({}, too_long(("ü "):rep(50)))
  end)

  it("has the anchors that GitHub gives it", function()
    assert.same({ ["lockon_lost"] = true, ["shared-nodes-fair--false"] = true, ["a"] = true, ["a-1"] = true },
      anchors_of("## `lock:on_lost`\n# Shared nodes (`fair = false`)\n# A\n```\n# code\n```\n# a\n"))
  end)
end)
