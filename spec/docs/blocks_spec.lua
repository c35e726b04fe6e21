-- SPDX-License-Identifier: MIT
--- Each block that a page shows, for somebody to paste, is run somewhere. #once

local lfs = require "lfs"
local read = require("spec.support.file").read

--- By page, its blocks in order: the language, and what runs it.
local RUN = {
  ["README.md"] = { "sh: tools/rock.sh", "sh: tools/rock.sh", "lua: spec/docs/example_spec.lua",
    "console: spec/docs/cli_spec.lua", "nginx: spec/nginx/docs_spec.lua" },
  ["CONTRIBUTING.md"] = { "sh: nobody, it is what everybody runs", "sh: likewise" },
  ["docs/loops.md"] = { "lua: spec/docs/loops_spec.lua", "lua: spec/docs/loops_spec.lua" },
  ["docs/coming-from.md"] = { "lua: spec/locks/resty_spec.lua" },
  ["examples/hosts/README.md"] = { "lua: spec/hosts/haproxy_spec.lua" },
  ["docs/openresty.md"] = { "lua: spec/nginx/docs_spec.lua", "nginx: spec/nginx/docs_spec.lua",
    "nginx: spec/nginx/docs_spec.lua", "nginx: spec/nginx/docs_spec.lua", "nginx: spec/nginx/operations_spec.lua",
    "nginx: spec/nginx/operations_spec.lua", "nginx: spec/nginx/operations_spec.lua",
    "nginx: spec/nginx/operations_spec.lua", "sh: tools/rock.sh" },
  ["docs/api-clients.md"] = { "lua: spec/docs/api_spec.lua", "lua: spec/docs/api_spec.lua" },
  ["docs/api-locks.md"] = { "lua: spec/docs/api_spec.lua", "lua: spec/docs/api_spec.lua",
    "lua: spec/docs/api_spec.lua", "lua: spec/docs/api_spec.lua", "lua: spec/docs/api_spec.lua",
    "lua: spec/docs/api_spec.lua", "lua: spec/docs/api_spec.lua", "lua: spec/docs/api_spec.lua" },
  ["docs/api-jobs-nodes.md"] = { "lua: spec/docs/api_spec.lua", "lua: spec/docs/api_spec.lua",
    "lua: spec/docs/api_spec.lua", "lua: spec/docs/api_spec.lua" },
  ["docs/jobs.md"] = { "lua: spec/docs/jobs_spec.lua", "lua: spec/docs/jobs_spec.lua",
    "lua: spec/docs/jobs_spec.lua" },
  ["docs/promises.md"] = { "sql: spec/docs/promises_spec.lua", "lua: spec/docs/promises_spec.lua" },
  ["docs/nodes.md"] = { "lua: spec/docs/nodes_spec.lua", "lua: spec/docs/nodes_spec.lua",
    "lua: spec/docs/nodes_spec.lua" },
  ["docs/tutorial.md"] = { "sh: spec/docs/tutorial_spec.lua", "sh: spec/docs/tutorial_spec.lua",
    "sh: spec/docs/tutorial_spec.lua", "lua: spec/docs/tutorial_spec.lua",
    "console: spec/docs/tutorial_spec.lua", "lua: spec/docs/tutorial_spec.lua",
    "console: spec/docs/tutorial_spec.lua", "console: spec/docs/tutorial_spec.lua",
    "console: spec/docs/tutorial_spec.lua", "console: spec/docs/tutorial_spec.lua",
    "console: spec/docs/tutorial_spec.lua", "console: spec/docs/tutorial_spec.lua",
    "console: spec/docs/tutorial_spec.lua", "lua: spec/docs/tutorial_spec.lua",
    "console: spec/docs/tutorial_spec.lua", "console: spec/docs/tutorial_spec.lua",
    "lua: spec/docs/tutorial_spec.lua", "console: spec/docs/tutorial_spec.lua",
    "console: spec/docs/tutorial_spec.lua", "console: spec/docs/tutorial_spec.lua",
    "lua: spec/docs/tutorial_spec.lua", "console: spec/docs/tutorial_spec.lua" },
  ["docs/cookbook.md"] = { "lua: spec/docs/cookbook_spec.lua", "lua: spec/docs/cookbook_spec.lua",
    "lua: spec/docs/cookbook_spec.lua", "lua: spec/docs/cookbook_spec.lua", "lua: spec/docs/cookbook_spec.lua",
    "lua: spec/docs/cookbook_spec.lua", "lua: spec/docs/cookbook_spec.lua", "lua: spec/docs/cookbook_spec.lua",
    "lua: spec/docs/cookbook_spec.lua", "nginx: spec/docs/cookbook_spec.lua",
    "lua: spec/docs/cookbook_spec.lua", "lua: spec/docs/cookbook_spec.lua", "lua: spec/docs/cookbook_spec.lua",
    "lua: spec/docs/cookbook_spec.lua" },
  ["docs/internals/tokens.md"] = { "lua: spec/docs/cookbook_spec.lua" },
  ["docs/operations.md"] = { "lua: spec/docs/operations_spec.lua", "lua: spec/docs/operations_spec.lua",
    "lua: spec/docs/operations_spec.lua", "sh: spec/docs/operations_spec.lua" },
  ["docs/cli.md"] = { "crontab: spec/docs/cli_spec.lua", "ini: spec/docs/cli_spec.lua",
    "sh: spec/docs/cli_spec.lua", "sh: spec/docs/cli_spec.lua", "sh: spec/docs/cli_spec.lua" },
  ["docs/internals/packaging.md"] = { "sh: tools/deb_check.sh, with each package of its own", "sh: tools/rock.sh" },
  ["docs/monitoring.md"] = { "nginx: spec/docs/monitoring_spec.lua", "lua: spec/docs/monitoring_spec.lua",
    "nginx: spec/docs/monitoring_spec.lua", "nginx: spec/docs/monitoring_spec.lua",
    "yaml: spec/docs/monitoring_spec.lua" },
  ["docs/tls.md"] = { "lua: spec/security/tls_spec.lua" },
  ["docs/secure.md"] = { "sh: spec/docs/servers_spec.lua", "sh: spec/docs/servers_spec.lua",
    "ini: spec/docs/servers_spec.lua", "sh: spec/docs/servers_spec.lua", "sh: spec/docs/servers_spec.lua",
    "sh: spec/docs/servers_spec.lua", "sh: spec/docs/servers_spec.lua", "sh: spec/docs/servers_spec.lua",
    "sh: spec/docs/servers_spec.lua" },
  ["docs/c.md"] = { "sh: spec/library/install_spec.lua", "c: spec/library/install_spec.lua" },
}

local function pages()
  local list = { "README.md", "CONTRIBUTING.md", "SECURITY.md", "examples/hosts/README.md",
    "docs/internals/packaging.md", "docs/internals/tokens.md" }
  for name in lfs.dir("docs") do
    if name:find("%.md$") then list[#list + 1] = "docs/" .. name end
  end
  return list
end

--- The files below a folder.
local function files(folder, list)
  list = list or {}
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    if lfs.attributes(path, "mode") == "file" then
      list[#list + 1] = path
    elseif not name:find("^%.") then
      files(path, list)
    end
  end
  return list
end

--- Values that nginx has decoded, or that a handler can decode: a line feed in one begins a new line of a log.
local DECODED = { "ngx%.var%.uri%f[%W]", "ngx%.var%.document_uri%f[%W]", "get_uri_args", "get_post_args",
  "unescape_uri" }

--- The calls in a text that write into nginx's log something that is decoded.
local function forgeable(text)
  local found = {}
  for name, call in text:gmatch("([%w_.]*%f[%w_]%l+)%s*(%b())") do
    local logs = name == "ngx.log" or name == "print" or name:find("^%l+%.log%.%l+$")
    for _, pattern in ipairs(logs and DECODED or {}) do
      if call:find(pattern) then found[#found + 1] = name .. call end
    end
  end
  return found
end

describe("a page's blocks #once", function()
  it("log nothing that a web user can forge a line with, nor do the examples", function()
    for _, path in ipairs(files("examples", pages())) do assert.same({}, forgeable(read(path)), path) end
  end)

  it("are searched for such log calls", function()
    assert.equal(1, #forgeable 'ngx.log(ngx.WARN, "no lock for ", ngx.var.uri, ": ", f(err))')
    assert.equal(1, #forgeable 'kong.log.warn(ngx.req.get_uri_args().name)')
    assert.equal(0, #forgeable 'ngx.log(ngx.WARN, ngx.var.request_uri) ngx.say(ngx.var.uri)')
  end)

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
