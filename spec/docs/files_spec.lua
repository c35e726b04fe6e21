--- Pages that tell a contributor where to go: each file that they name is there.

local lfs = require "lfs"
local read = require("spec.support.file").read

local PAGES = { "CONTRIBUTING.md", "docs/design.md", "README.md", "docs/promises.md", "docs/security.md" }
local ROOTS = { csrc = true, lua = true, spec = true, docs = true, chaos = true, bench = true, soak = true,
  tools = true, examples = true, rockspec = true }

--- What a page says in backquotes that is a path of this tree, without those that have a NAME in them.
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
    assert.is_true(#named("CONTRIBUTING.md") > 40 and #named("docs/design.md") > 8 and #links("README.md") > 5)
  end)

  it("the README leads to CONTRIBUTING.md", function()
    assert.is_truthy(read("README.md"):find("](CONTRIBUTING.md)", 1, true))
  end)
end)
