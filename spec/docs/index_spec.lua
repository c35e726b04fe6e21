-- SPDX-License-Identifier: MIT
--- The pages as a whole: docs/README.md names each, and every link leads somewhere. #once

local lfs = require "lfs"
local markdown = require "spec.support.markdown"

local INDEX = "docs/README.md"

--- The pages below a folder.
local function pages_in(folder, list)
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    if name:find("%.md$") then
      list[#list + 1] = path
    elseif not name:find("^%.") and lfs.attributes(path, "mode") == "directory" then
      pages_in(path, list)
    end
  end
  return list
end

describe("the pages #once", function()
  local docs = pages_in("docs", {})

  it("are all in the index", function()
    local linked = { [INDEX] = true }
    for _, link in ipairs(markdown.read(INDEX):links()) do linked[link[1]] = true end
    for _, path in ipairs(docs) do assert.is_true(linked[path], INDEX .. " does not link to " .. path) end
  end)

  it("are reached from the README through the index", function()
    local linked = {}
    for _, link in ipairs(markdown.read("README.md"):links()) do linked[link[1]] = true end
    assert.is_true(linked[INDEX], "README.md does not link to " .. INDEX)
  end)

  it("link to files and headings that exist", function()
    local list = pages_in("docs", { "ARCHITECTURE.md", "README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md",
      "examples/hosts/README.md" })
    for _, path in ipairs(list) do
      for _, link in ipairs(markdown.read(path):links()) do
        local file, anchor = link[1], link[2]
        assert.is_truthy(lfs.attributes(file), ("%s links to %s, which does not exist"):format(path, file))
        assert.is_true(not anchor or markdown.read(file):has(anchor),
          ("%s links to %s#%s, a heading that does not exist"):format(path, file, tostring(anchor)))
      end
    end
  end)

  it("have the anchors that GitHub gives to headings", function()
    assert.equal("lockon_lost", markdown.anchor "`lock:on_lost`")
    assert.equal("shared-nodes-fair--false", markdown.anchor "Shared nodes (`fair = false`)")
  end)
end)
