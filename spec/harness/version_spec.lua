-- SPDX-License-Identifier: MIT
--- tools/version.lua, on a copy of the files that name the version: what it refuses, and what it writes.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local TRUTH, HEADER, CHANGELOG = "lua/zklock/version.lua", "csrc/zklock.h", "CHANGELOG.md"
local ABI, MANUAL = "share/zklock.abi", "share/zklock.3"
local CONTROL, DEBIAN = "debian/control", "debian/changelog"
local PRESENT = dofile(TRUTH)
local UNRELEASED = "# Changelog\n\n## [Unreleased]\n\nThe first release will be 1.0.0. "
  .. "Until then the tree calls itself 0.1.0.\n\n### Added\n\n- A lock.\n"

local ENTRY = "zklock (%s) unstable; urgency=medium\n\n  * News.\n\n -- the authors <a@example.com>  %s\n"

describe("tools/version.lua #once", function()
  local tree

  local function run(...)
    local one = process.spawn { cwd = tree, env = process.PLAIN, ... }
    local code = one:wait()
    return code, one:stdout() .. one:stderr()
  end

  local function version(...) return run("lua5.4", "tools/version.lua", ...) end
  local function read(path) return file.read(tree .. "/" .. path) end
  local function write(path, text) file.write(tree .. "/" .. path, text) end

  before_each(function()
    tree = folder.new("version")
    run("mkdir", "-p", "tools/make", "csrc", "lua/zklock", "rockspec", "share", "debian")
    for _, path in ipairs { "tools/version.lua", "tools/rockspec.lua", "tools/make/version.mk",
      "rockspec/zklock-scm-1.rockspec" } do
      write(path, file.read(path))
    end
    write(TRUTH, file.read(TRUTH):gsub('return "[^"]*"', 'return "0.1.0"'))
    for _, path in ipairs { HEADER, MANUAL } do
      write(path, (file.read(path):gsub('(#define ZKL_VERSION) "[^"]*"', '%1 "0.1.0"')))
    end
    write(CHANGELOG, UNRELEASED)
    write(ABI, "# A list\nsoname libzklock.so.0\nconstant A 1\nfunction 0.1 int zkl_a(void);\n")
    write(CONTROL, "Package: libzklock0\n\nPackage: libzklock-dev\nDepends: libzklock0 (= ${binary:Version})\n")
    write(DEBIAN, ENTRY:format("0.1.0", "Sat, 28 Nov 2026 00:00:00 +0000"))
  end)

  after_each(function() folder.remove(tree) end)

  it("accepts a tree before its first release, and after each release", function()
    assert.same({ 0, "" }, { version() })
    for _, number in ipairs { "1.0.0", "1.0.1", "1.10.0", "1.10.0", "2.0.0" } do
      assert.same({ 0, "" }, { version(number) })
      assert.same({ 0, "" }, { version() })
      assert.same({ 0, "" }, { run("lua5.4", "tools/rockspec.lua") })
    end
  end)

  it("writes the version wherever it is named", function()
    assert.same({ 0, "" }, { version "1.0.0" })
    assert.equal("1.0.0", dofile(tree .. "/" .. TRUTH))
    for _, path in ipairs { HEADER, MANUAL } do
      assert.is_truthy(read(path):find('\n#define ZKL_VERSION "1.0.0"\n', 1, true), path)
    end
    local rockspec = {}
    assert(loadfile(tree .. "/rockspec/zklock-1.0.0-1.rockspec", "t", rockspec))()
    assert.same({ "1.0.0-1", "v1.0.0" }, { rockspec.version, rockspec.source.tag })
    assert.equal(("# Changelog\n\n## [Unreleased]\n\n## [1.0.0] - %s\n\n### Added\n\n- A lock.\n")
      :format(os.date "!%Y-%m-%d"), read(CHANGELOG))
    assert.equal("# A list\nsoname libzklock.so.1\nconstant A 1\nfunction 1.0 int zkl_a(void);\n", read(ABI))
    assert.equal("Package: libzklock1\n\nPackage: libzklock-dev\nDepends: libzklock1 (= ${binary:Version})\n",
      read(CONTROL))
    local first = ENTRY:format("1.0.0", os.date "!%a, %d %b %Y")
    assert.equal(first:sub(1, -2), read(DEBIAN):sub(1, #first - 1))
    local former = "\n" .. ENTRY:format("0.1.0", "Sat, 28 Nov 2026 00:00:00 +0000")
    assert.equal(former, read(DEBIAN):sub(-#former))
    write("Makefile", "include tools/make/version.mk\nall:\n\t@echo $(ZKL_VERSION) $(ZKL_SOVERSION)\n")
    assert.same({ 0, "1.0.0 1\n" }, { run("make", "-s") })
  end)

  it("gives a release one heading, however often it is written", function()
    for _ = 1, 2 do assert.same({ 0, "" }, { version "1.0.0" }) end
    assert.equal(1, select(2, read(CHANGELOG):gsub("## %[1%.0%.0%]", "")))
    assert.equal(1, select(2, read(DEBIAN):gsub("zklock %(1%.0%.0%)", "")))
  end)

  it("refuses a C header and a changelog of another version", function()
    for path, edit in pairs { [HEADER] = { '"0.1.0"', '"0.2.0"' }, [MANUAL] = { '"0.1.0"', '"0.2.0"' },
      [CHANGELOG] = { "itself 0.1.0", "itself 0.2.0" }, [DEBIAN] = { "(0.1.0)", "(0.2.0)" } } do
      local before = read(path)
      write(path, file.replace(before, edit[1], edit[2]))
      assert.same({ 1, ("%s has version 0.2.0, %s has 0.1.0: run lua5.4 tools/version.lua VERSION\n")
        :format(path, TRUTH) }, { version() })
      write(path, before)
    end
    write(ABI, "# A list\nsoname libzklock.so.1\n")
    assert.same({ 1, ABI .. " has the soname libzklock.so.1, " .. TRUTH
      .. " the version 0.1.0: run lua5.4 tools/version.lua VERSION\n" }, { version() })
    write(ABI, "# A list\nsoname libzklock.so.0\n")
    write(CONTROL, "Package: libzklock1\n")
    assert.same({ 1, CONTROL .. " names libzklock1, " .. TRUTH
      .. " has the version 0.1.0: run lua5.4 tools/version.lua VERSION\n" }, { version() })
    write(CHANGELOG, "# Changelog\n\n## [Unreleased]\n\n## [0.3.0] - 2026-01-01\n\n## [0.1.0] - 2025-01-01\n")
    assert.equal(1, (version()))
  end)

  it("refuses what is no version, and one that is older, and writes nothing then", function()
    assert.same({ 0, "" }, { version "1.0.0" })
    local before = read(TRUTH) .. read(HEADER) .. read(CHANGELOG)
    for _, number in ipairs { "", "1", "1.0", "v1.0.0", "1.0.0-rc1", "01.0.0", "1.00.0", "1.0.0 ", "1.0.x" } do
      local code, said = version(number)
      assert.same({ 1, "tools/version.lua: bad argument VERSION: MAJOR.MINOR.PATCH expected, got " .. number .. "\n" },
        { code, said })
    end
    assert.same({ 1, "tools/version.lua: bad argument VERSION: 0.9.9 is older than 1.0.0\n" }, { version "0.9.9" })
    assert.equal(before, read(TRUTH) .. read(HEADER) .. read(CHANGELOG))
  end)

  it("refuses a version that is older than the functions of the ABI", function()
    assert.same({ 0, "" }, { version "1.0.0" })
    write(ABI, read(ABI) .. "function 1.1 int zkl_b(void);\n")
    assert.same({ 1, "tools/version.lua: bad argument VERSION: 1.0.1 is older than 1.1.0, the first with all functions "
      .. "in share/zklock.abi\n" }, { version "1.0.1" })
    assert.equal("1.0.0", dofile(tree .. "/" .. TRUTH))
    assert.same({ 0, "" }, { version "1.2.0" })
    assert.truthy(read(ABI):find("function 1.0 int zkl_a(void);\nfunction 1.1 int zkl_b(void);\n", 1, true))
    assert.same({ 0, "" }, { version "2.0.0" })
    assert.truthy(read(ABI):find("function 2.0 int zkl_a(void);\nfunction 2.0 int zkl_b(void);\n", 1, true))
  end)
end)

describe("the version of this tree #once", function()
  it("is that of the module and of the command line", function()
    assert.equal("zklock " .. PRESENT, require("zklock")._VERSION)
  end)
end)
