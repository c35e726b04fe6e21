-- SPDX-License-Identifier: MIT
--- tools/rockspec.lua, on a tree of two modules: what it refuses, and what `make rockspec` writes.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local SCM, RELEASE = "rockspec/zklock-scm-1.rockspec", "rockspec/zklock-0.1.0-1.rockspec"

describe("tools/rockspec.lua #once", function()
  local tree

  local function run(...)
    local one = process.spawn { cwd = tree, env = process.PLAIN, ... }
    local code = one:wait()
    return code, one:stdout() .. one:stderr()
  end

  local function check(...)
    return run("lua5.4", "tools/rockspec.lua", ...)
  end

  local function write(path, text)
    file.write(tree .. "/" .. path, text)
  end

  local function edit(path, old, new)
    write(path, file.replace(file.read(tree .. "/" .. path), old, new))
  end

  before_each(function()
    tree = folder.new("rockspec")
    run("mkdir", "-p", "tools", "lua/zklock/base", "rockspec")
    write("tools/rockspec.lua", file.read "tools/rockspec.lua")
    write("lua/zklock/version.lua", 'return "0.1.0"\n')
    write("lua/zklock/init.lua", "")
    write("lua/zklock/base/init.lua", "")
    write(SCM, file.read(SCM))
    assert.same({ 0, "" }, { check "--write" })
  end)

  after_each(function() folder.remove(tree) end)

  it("accepts what it has written", function()
    assert.same({ 0, "" }, { check() })
  end)

  it("lists each module under its name", function()
    local rockspec = {}
    assert(loadfile(tree .. "/" .. SCM, "t", rockspec))()
    assert.same({ zklock = "lua/zklock/init.lua", ["zklock.base"] = "lua/zklock/base/init.lua",
      ["zklock.version"] = "lua/zklock/version.lua" }, rockspec.build.install.lua)
  end)

  it("gives a release the sources of its tag", function()
    local scm, release = {}, {}
    assert(loadfile(tree .. "/" .. SCM, "t", scm))()
    assert(loadfile(tree .. "/" .. RELEASE, "t", release))()
    assert.same({ "0.1.0-1", "v0.1.0" }, { release.version, release.source.tag })
    release.version, release.source.tag = "scm-1", nil
    assert.same(scm, release)
  end)

  local function refuses(...)
    local code, said = check()
    assert.equal(1, code)
    for _, expected in ipairs { ... } do assert.is_truthy(said:find(expected, 1, true), said) end
  end

  it("refuses a module that no rockspec lists", function()
    write("lua/zklock/new.lua", "")
    refuses(SCM .. " differs", RELEASE .. " differs")
    assert.same({ 0, "" }, { check "--write" })
    assert.same({ 0, "" }, { check() })
  end)

  it("refuses a listed module that is not there", function()
    run("rm", "lua/zklock/init.lua")
    refuses(SCM .. " differs")
  end)

  it("refuses a release that differs from scm-1 in more than version and tag", function()
    edit(RELEASE, "lua >= 5.1", "lua >= 5.2")
    refuses(RELEASE .. " differs")
  end)

  it("refuses the rockspec of a former version, and replaces it", function()
    write("lua/zklock/version.lua", 'return "0.2.0"\n')
    refuses("rockspec/zklock-0.1.0-1.rockspec is not", "rockspec/zklock-0.2.0-1.rockspec is missing")
    assert.same({ 0, "" }, { check "--write" })
    assert.same({ 0, "" }, { check() })
  end)
end)
