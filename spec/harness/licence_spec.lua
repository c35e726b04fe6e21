-- SPDX-License-Identifier: MIT
--- tools/licence.lua, in a scratch repository: which files must name their licence, and what it writes.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local TOOL = "tools/licence.lua"
local ENV = { GIT_CONFIG_GLOBAL = "/dev/null", GIT_CONFIG_SYSTEM = "/dev/null", GIT_DIR = false, GIT_WORK_TREE = false,
  GIT_INDEX_FILE = false, GIT_CEILING_DIRECTORIES = "/", LD_PRELOAD = false }

describe("the check of licence lines #once", function()
  local tree

  local function run(...)
    local one = process.spawn { env = ENV, cwd = tree, ... }
    local code = one:wait()
    return code, one:stdout() .. one:stderr()
  end

  local function write(path, text)
    file.write(tree .. "/" .. path, text)
  end

  before_each(function()
    tree = folder.new("licence")
    assert.equal(0, (run("mkdir", "tools")))
    write(TOOL, file.read(TOOL))
    assert.same({ 0, "" }, { run("git", "init", "-q") })
  end)

  after_each(function() folder.remove(tree) end)

  it("accepts lines 1 and 2, and pages and pictures without one", function()
    write("a.c", "/* SPDX-License-Identifier: MIT */\nint a;\n")
    write("b.sh", "#!/bin/sh\n# SPDX-License-Identifier: MIT\n")
    write("c.md", "# A page\n")
    write("d.svg", "<svg/>\n")
    assert.same({ 0, "" }, { run("lua5.4", TOOL) })
  end)

  it("refuses new files without the line, with another licence, and with the line too late", function()
    write("a.c", "int a;\n")
    write("b.lua", "-- SPDX-License-Identifier: Apache-2.0\n")
    write("c.h", "\n\n/* SPDX-License-Identifier: MIT */\n")
    write("d.py", "")
    local code, said = run("lua5.4", TOOL)
    assert.equal(1, code)
    for _, name in ipairs { "a.c", "b.lua", "c.h", "d.py" } do
      assert.is_truthy(("\n" .. said):find("\n" .. name .. ": the first line must be `", 1, true), said)
    end
    assert.equal(4, select(2, said:gsub("\n", "")))
  end)

  it("asks about a file of a kind that it does not know", function()
    write("a.rs", "// SPDX-License-Identifier: MIT\n")
    assert.same({ 1, "a.rs: a new kind of file: tools/licence.lua must know how its comments are written\n" },
      { run("lua5.4", TOOL) })
  end)

  it("writes the lines, below the first one where that has a meaning", function()
    write("a.c", "int a;\n")
    write("b.sh", "#!/bin/sh\nexit\n")
    assert.same({ 0, "" }, { run("lua5.4", TOOL, "--write") })
    assert.equal("/* SPDX-License-Identifier: MIT */\nint a;\n", file.read(tree .. "/a.c"))
    assert.equal("#!/bin/sh\n# SPDX-License-Identifier: MIT\nexit\n", file.read(tree .. "/b.sh"))
    assert.same({ 0, "" }, { run("lua5.4", TOOL) })
  end)

  it("is skipped outside of a repository", function()
    assert.equal(0, (run("rm", "-rf", ".git")))
    assert.same({ 0, "skipped: git finds no repository here\n" }, { run("lua5.4", TOOL) })
  end)
end)
