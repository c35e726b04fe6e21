--- Each block that a page shows, for somebody to paste, is run somewhere. #once

local lfs = require "lfs"
local read = require("spec.support.file").read

--- By page, its blocks in order: the language, and what runs it.
local RUN = {
  ["README.md"] = { "lua: spec/docs/example_spec.lua", "sh: the Makefile", "lua: spec/docs/example_spec.lua",
    "sql: spec/docs/promises_spec.lua", "sh: tools/rock.sh" },
  ["CONTRIBUTING.md"] = { "sh: nobody, it is what everybody runs", "sh: likewise" },
  ["docs/loops.md"] = { "lua: spec/docs/loops_spec.lua", "lua: spec/docs/loops_spec.lua",
    "lua: spec/docs/loops_spec.lua", "lua: spec/docs/loops_spec.lua" },
  ["docs/openresty.md"] = { "sh: tools/rock.sh", "lua: spec/nginx/docs_spec.lua", "nginx: spec/nginx/docs_spec.lua",
    "nginx: spec/nginx/docs_spec.lua", "nginx: spec/nginx/docs_spec.lua", "sql: spec/docs/promises_spec.lua" },
  ["docs/promises.md"] = { "sql: spec/docs/promises_spec.lua", "lua: spec/docs/promises_spec.lua" },
  ["docs/nodes.md"] = { "lua: spec/docs/nodes_spec.lua", "lua: spec/docs/nodes_spec.lua",
    "lua: spec/docs/nodes_spec.lua" },
  ["docs/tls.md"] = { "lua: spec/security/tls_spec.lua" },
}

local function pages()
  local list = { "README.md", "CONTRIBUTING.md", "SECURITY.md" }
  for name in lfs.dir("docs") do
    if name:find("%.md$") then list[#list + 1] = "docs/" .. name end
  end
  return list
end

describe("a page's blocks #once", function()
  it("are run, each of them", function()
    local found = {}
    for _, page in ipairs(pages()) do
      for language in ("\n" .. read(page)):gmatch("\n```(%l+)\n.-\n```%f[\n%z]") do
        if language ~= "mermaid" then -- a drawing
          found[page] = found[page] or {}
          table.insert(found[page], language)
        end
      end
    end
    local expected = {}
    for page, blocks in pairs(RUN) do
      expected[page] = {}
      for i, how in ipairs(blocks) do expected[page][i] = how:match("^%l+") end
    end
    assert.same(expected, found)
  end)

  it("are run by what reads their page", function()
    for page, blocks in pairs(RUN) do
      for _, how in ipairs(blocks) do
        local path = how:match(": (%l+/%S+)$")
        if path then assert.is_truthy(read(path):find(page, 1, true), path .. " does not read " .. page) end
      end
    end
  end)
end)
