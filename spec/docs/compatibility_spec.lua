-- SPDX-License-Identifier: MIT
--- docs/compatibility.md and docs/internals/platforms.md name what is there: specs, all Luas and machines of the
--- Makefile, what the sources use. #once

local file = require "spec.support.file"
local lfs = require "lfs"

local pages = file.read("docs/compatibility.md") .. "\n" .. file.read("docs/internals/platforms.md")

--- Calls fn with the text of each C source below the folder.
local function each_source(folder, fn)
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    if name:find("%.c$") then
      fn(file.read(path))
    elseif not name:find("^%.") and lfs.attributes(path, "mode") == "directory" then
      each_source(path, fn)
    end
  end
end

--- The rows of the tables below that heading: each a list of cells.
local function rows(title)
  local text = (pages .. "\n## "):match("\n## " .. title .. "\n(.-)\n## ")
  local found = {}
  for line in assert(text, title):gmatch("\n(|[^\n]*)") do
    local cells = {}
    for cell in line:gmatch("|%s*([^|]-)%s*%f[|]") do cells[#cells + 1] = cell end
    if not line:find("^| %-%-%-") then found[#found + 1] = cells end
  end
  table.remove(found, 1) -- the heads
  assert.is_true(#found > 2, title)
  return found
end

local function words_of(name, path)
  return assert(file.read(path):match("\n" .. name .. " = ([^\n]*)"), name):gmatch("%S+")
end

describe("the page on compatibility #once", function()
  it("names specs that exist", function()
    local count = 0
    for path in pages:gmatch("`(spec/[^`]*)`") do
      assert.is_truthy(lfs.attributes(path), path)
      count = count + 1
    end
    assert.is_true(count > 4)
  end)

  it("has each Lua of make test and make test-all, and says who tries it", function()
    for lua in words_of("LUAS", "Makefile") do
      local name = lua == "luajit" and "LuaJIT 2.1" or lua
      assert.is_truthy(pages:find("\n| " .. name:gsub("%p", "%%%0") .. "[^\n]*`make test[-al]*`"), name)
    end
  end)

  it("has each platform of make platforms, and no other", function()
    local tried = {}
    for _, row in ipairs(rows "Machines and C libraries") do
      local name = row[2]:match("^musl") or row[1]:match("^%w+")
      if row[4] == "`make platforms`" then tried[name] = true end
    end
    for name in words_of("PLATFORMS", "tools/make/platforms.mk") do
      assert.is_true(tried[name], name)
      tried[name] = nil
    end
    assert.same({}, tried)
  end)

  it("has each unit test that is left out", function()
    for name in words_of("LEFT_OUT_qemu", "tools/make/platforms.mk") do
      assert.is_truthy(pages:find("`" .. name .. "` in qemu-user", 1, true), name)
      assert.is_truthy(lfs.attributes("spec/unit/" .. name .. ".c") or name:find("^fuzz_"), name)
    end
  end)

  it("names parts of Linux that the sources use", function()
    local sources = {}
    each_source("csrc", function(text) sources[#sources + 1] = text end)
    local all = table.concat(sources)
    for _, row in ipairs(rows "What is Linux only") do
      for part in row[1]:gmatch("`([^`]*)`") do
        local text = part:gsub("PID/task/TID", "%%d/task/%%s")
        assert.is_truthy(all:find(text, 1, true), part)
      end
    end
  end)
end)
