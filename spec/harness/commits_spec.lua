-- SPDX-License-Identifier: MIT
--- tools/commits.lua, in scratch repositories: which messages it refuses, and where it has no history to look at.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local TOOL = "tools/commits.lua"
local GOOD = "lines: ask once\n\nTwo lists were asked for in one step.\n"

-- Neither the user's configuration nor a repository around this one takes part.
local ENV = { GIT_CONFIG_GLOBAL = "/dev/null", GIT_CONFIG_SYSTEM = "/dev/null", GIT_DIR = false, GIT_WORK_TREE = false,
  GIT_INDEX_FILE = false, GIT_AUTHOR_NAME = "A", GIT_AUTHOR_EMAIL = "a@example.com", GIT_COMMITTER_NAME = "A",
  GIT_COMMITTER_EMAIL = "a@example.com", LD_PRELOAD = false }

describe("the check of commit messages #once", function()
  local tree

  local function run(cwd, ...)
    local one = process.spawn { env = ENV, cwd = cwd, ... }
    local code = one:wait()
    return code, one:stdout() .. one:stderr()
  end

  local function git(...)
    local code, said = run(tree, "git", ...)
    assert.equal(0, code, said)
    return said
  end

  local function commit(message, ...)
    git("commit", "-q", "--allow-empty", "--cleanup=verbatim", "-m", message, ...)
  end

  local function check(cwd)
    return run(cwd or tree, "lua5.4", TOOL)
  end

  before_each(function()
    tree = folder.new("commits")
    assert.equal(0, (run(tree, "mkdir", "tools")))
    file.write(tree .. "/" .. TOOL, file.read(TOOL))
    git("init", "-q", "-b", "main")
    commit("a sentence from before the check")
    git("add", ".")
    commit("the commit that adds the check")
  end)

  after_each(function() folder.remove(tree) end)

  it("accepts a history that keeps the rules", function()
    commit(GOOD)
    commit("lines, spec/unit: ask once\n\nWhy.")
    commit(("n"):rep(5) .. ": " .. ("é"):rep(65) .. "\n\nSeventy-two columns, and more bytes.")
    assert.same({ 0, "" }, { check() })
  end)

  local refused = {
    ["has no area"] = { "ask once\n\nWhy.", "`area: effect`" },
    ["has an area without an effect"] = { "lines:\n\nWhy.", "`area: effect`" },
    ["is a sentence with a colon"] = { "A create is lost, so: ask again\n\nWhy.", "`area: effect`" },
    ["has a subject of 73 columns"] = { "lines: " .. ("x"):rep(66) .. "\n\nWhy.", "at most 72 columns, it has 73" },
    ["has no blank line"] = { "lines: ask once\nWhy.", "blank line" },
    ["has no body"] = { "lines: ask once", "say why" },
    ["has trailers for a body"] = { "lines: ask once\n\nSigned-off-by: A <a@example.com>", "say why" },
  }
  for title, one in pairs(refused) do
    it("refuses a commit that " .. title, function()
      commit(one[1])
      commit(GOOD)
      local code, said = check()
      assert.equal(1, code)
      local hash = git("rev-parse", "HEAD~1"):sub(1, 10)
      local line = said:match "^[^\n]*"
      assert.is_truthy(line:find(hash, 1, true) and line:find(one[2], 1, true), said)
      assert.equal(said, line .. "\n")
    end)
  end

  it("exempts merge commits, and looks at what they merge", function()
    git("checkout", "-q", "-b", "side")
    commit("lines: ask once")
    git("checkout", "-q", "main")
    commit(GOOD)
    git("merge", "-q", "--no-ff", "-m", "Merge branch 'side'", "side")
    local code, said = check()
    assert.equal(1, code)
    assert.is_nil(said:find("Merge", 1, true), said)
    assert.is_truthy(said:find("lines: ask once", 1, true), said)
  end)

  it("leaves alone a branch that began before the check", function()
    git("checkout", "-q", "-b", "side", "HEAD~1")
    commit("another sentence from before the check")
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "Merge branch 'side'", "side")
    assert.same({ 0, "" }, { check() })
  end)

  it("says that it skips a shallow clone", function()
    commit("lines: ask once")
    local clone = folder.new("shallow")
    git("clone", "-q", "--depth", "1", "file://" .. tree, clone)
    assert.same({ 0, "skipped: the clone is shallow\n" }, { check(clone) })
    folder.remove(clone)
  end)

  it("says that it skips a tree without a repository", function()
    assert.equal(0, (run(tree, "rm", "-rf", ".git")))
    assert.same({ 0, "skipped: git finds no repository here\n" }, { check() })
  end)

  it("says that it skips a copy inside of another repository", function()
    local inner = tree .. "/vendor"
    assert.equal(0, (run(tree, "mkdir", "-p", inner .. "/tools")))
    file.write(inner .. "/" .. TOOL, file.read(TOOL))
    git("add", ".")
    commit("vendored")
    assert.same({ 0, "skipped: the repository is another project's\n" }, { check(inner) })
  end)
end)
