-- SPDX-License-Identifier: MIT
--- docs/internals/packaging.md says which files go where, and its commands are those that are tried. #once

local file = require "spec.support.file"
local json = require "dkjson"
local lfs = require "lfs"
local markdown = require "spec.support.markdown"
local process = require "spec.support.process"

local PAGE = "docs/internals/packaging.md"

local function ok(...)
  local one = process.spawn { env = { LD_PRELOAD = false, MAKEFLAGS = false, MAKELEVEL = false }, ... }
  one:close_input()
  assert.equal(0, one:wait(), one:stdout() .. one:stderr())
  return one:stdout()
end

--- The first cells of the table below a heading.
local function first_cells(title)
  local cells = {}
  local text = file.read(PAGE):match("\n## " .. title .. "\n(.-)\n## ")
  for cell in text:gmatch("\n| `([^`]*)` |") do cells[#cells + 1] = cell end
  return cells
end

describe("the page for packagers #once", function()
  it("lists the files that make install installs", function()
    local major = dofile("lua/zklock/version.lua"):match("^%d+")
    local installed = {}
    local said = ok("make", "-n", "Q=", "install", "DEPS=", "DESTDIR=/stage", "PREFIX=/usr", "LIBDIR=lib/triplet")
    for line in said:gmatch("[^\n]+") do
      local path = not line:find("^mkdir") and line:match("'/stage/usr/([^']*)'$")
      if path then
        installed[#installed + 1] = path:gsub("^lib/triplet/", "LIBDIR/"):gsub("%.so%." .. major .. "$", ".so.N")
      end
    end
    local listed = first_cells("Files")
    table.sort(installed)
    table.sort(listed)
    assert.same(installed, listed)
  end)

  it("says where each Lua file of the rock goes by hand", function()
    local from, to = file.read(PAGE):gsub("%s+", " "):match("all that is below `([^`]*)` to `([^`]*)`")
    local files, others = 0, {}
    for module, path in file.read("rockspec/zklock-scm-1.rockspec"):gmatch('%["([^"]*)"%] = "([^"]*%.lua)"') do
      local there, wanted = path:gsub("^" .. from .. "/", to .. "/"), "share/lua/5.4/" .. module:gsub("%.", "/")
      if there ~= wanted .. ".lua" and there ~= wanted .. "/init.lua" then others[#others + 1] = path end
      files = files + 1
    end
    assert.is_true(files > 0)
    assert.same({}, others)
  end)

  it("names variables that the Makefile has", function()
    local makefiles = file.read("Makefile") .. file.read("tools/make/install.mk") .. file.read("tools/make/compile.mk")
    for _, name in ipairs(first_cells("Make")) do
      local used = makefiles:find("$(" .. name .. ")", 1, true) or makefiles:find("$" .. name .. "[^%w]")
      assert.is_truthy(used, name)
    end
  end)

  it("names Debian's packages", function()
    local control = file.read("debian/control")
    for package in file.read(PAGE):match("\n## Files\n(.-)\n## "):gmatch("| (%l[%l%-]*N?) |\n") do
      local name = package:gsub("N$", dofile("lua/zklock/version.lua"):match("^%d+"))
      assert.is_truthy(control:find("\nPackage: " .. name .. "\n", 1, true), name)
    end
  end)

  it("shows commands for goals and files that exist", function()
    local shown = {}
    for _, block in ipairs(markdown.read(PAGE).blocks) do shown[#shown + 1] = block.text end
    shown = table.concat(shown)
    assert.is_truthy(shown:find("ZOOKEEPER=static", 1, true))
    assert.is_truthy(lfs.attributes(shown:match("rockspec/%S+")))
    ok("make", "-n", "DEPS=", shown:match("\n?make (%S+)"))
  end)
end)

describe("what the language server reads #once", function()
  it("is JSON with its settings", function()
    local contributors = assert(json.decode(file.read(".luarc.json")))
    assert.equal("Lua 5.4", contributors["runtime.version"])
    for _, path in ipairs(contributors["runtime.path"]) do
      assert.is_truthy(lfs.attributes(path:match("^(.-)/?%?") == "" and "." or path:match("^(.-)/?%?")), path)
    end
    local addon = assert(json.decode(file.read("share/luals/zklock/config.json")))
    for key in pairs(addon) do assert.is_truthy(key == "words" or key == "settings", key) end
    for _, text in ipairs { 'local zklock = require "zklock"', "require('zklock.metrics')" } do
      assert.is_truthy(text:find(addon.words[1]), text)
    end
  end)

  it("has the annotated sources for its library", function()
    assert.equal(file.read("lua/zklock/init.lua"), file.read("share/luals/zklock/library/zklock/init.lua"))
  end)
end)
