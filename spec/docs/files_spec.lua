-- SPDX-License-Identifier: MIT
--- The Markdown pages: each file of the tree that a page names or links to exists.

local lfs = require "lfs"
local read = require("spec.support.file").read

-- bench/contest/page.md is the template of docs/internals/contest.md.
local SKIPPED = { build = true, [".git"] = true, ["bench/contest/page.md"] = true }

--- The Markdown pages of the tree.
local function pages_below(folder, found)
  for name in lfs.dir(folder) do
    local path = (folder == "." and "" or folder .. "/") .. name
    local mode = not name:find "^%.%.?$" and not SKIPPED[path] and lfs.attributes(path, "mode")
    if mode == "directory" then pages_below(path, found) end
    if mode == "file" and name:find "%.md$" then found[#found + 1] = path end
  end
  return found
end

local PAGES = pages_below(".", {})
table.sort(PAGES)

local ROOTS = { csrc = true, lua = true, spec = true, docs = true, chaos = true, bench = true,
  tools = true, examples = true, rockspec = true, fuzz = true, model = true, soak = true }

--- The paths of this tree that a page has in backquotes, without those that have a NAME in them.
local function named(page)
  local found = {}
  for word in read(page):gmatch("`([%w_./-]+)`") do
    local root = word:match("^(%l+)/")
    if ROOTS[root] and not word:find("NAME", 1, true) then found[#found + 1] = word end
  end
  return found
end

--- Where its links lead that are no addresses.
local function links(page)
  local found, folder = {}, page:match("^(.*/)[^/]*$") or ""
  for target in read(page):gmatch("%]%(([^)]+)%)") do
    local path = not target:find("^%l+:") and target:match("^[^#]+")
    if path then found[#found + 1] = folder .. path end
  end
  return found
end

describe("a page's files #once", function()
  for _, page in ipairs(PAGES) do
    it("are there: " .. page, function()
      for _, path in ipairs(named(page)) do
        assert.is_truthy(lfs.attributes(path), page .. " names " .. path .. ", which is not there")
      end
      for _, path in ipairs(links(page)) do
        assert.is_truthy(lfs.attributes(path), page .. " links to " .. path .. ", which is not there")
      end
    end)
  end

  it("are found in the pages", function()
    assert.is_true(#PAGES > 15 and #named("CONTRIBUTING.md") > 30 and #links("README.md") > 5)
  end)

  it("the README leads to CONTRIBUTING.md", function()
    assert.is_truthy(read("README.md"):find("](CONTRIBUTING.md)", 1, true))
  end)
end)
