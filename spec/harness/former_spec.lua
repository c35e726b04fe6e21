-- SPDX-License-Identifier: MIT
--- tools/former.sh, in scratch repositories: which version it builds, and where it says that there is none.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local TOOL = "tools/former.sh"
local ENV = { GIT_CONFIG_GLOBAL = "/dev/null", GIT_CONFIG_SYSTEM = "/dev/null", GIT_DIR = false, GIT_WORK_TREE = false,
  GIT_INDEX_FILE = false, GIT_CEILING_DIRECTORIES = "/", GIT_AUTHOR_NAME = "A", GIT_AUTHOR_EMAIL = "a@example.com",
  GIT_COMMITTER_NAME = "A", GIT_COMMITTER_EMAIL = "a@example.com", LD_PRELOAD = false }

describe("tools/former.sh #once", function()
  local tree

  local function run(...)
    local one = process.spawn { env = ENV, cwd = tree, ... }
    local code = one:wait()
    return code, one:stdout(), one:stderr()
  end

  local function git(...)
    local code, _, said = run("git", ...)
    assert.equal(0, code, said)
  end

  --- A commit whose module is a file with that text, with a tag or without.
  local function commit(text, tag)
    file.write(tree .. "/text", text)
    git("add", ".")
    git("commit", "-q", "-m", text)
    if tag then git("tag", tag) end
  end

  local function built()
    local code, out, said = run(TOOL, "build/former")
    assert.equal(0, code, said)
    return file.read(out:gsub("\n", "") .. "/build/5.4/zklock/core.so")
  end

  before_each(function()
    tree = folder.new("former")
    assert.equal(0, (run("mkdir", "tools")))
    assert.equal(0, (run("cp", require("luv").cwd() .. "/" .. TOOL, "tools")))
    file.write(tree .. "/Makefile", "build/5.4/zklock/core.so:\n\tmkdir -p $(@D) && cp text $@\n")
    file.write(tree .. "/.gitignore", "/build/\n")
    git("init", "-q", "-b", "main")
  end)

  after_each(function() folder.remove(tree) end)

  it("builds the latest release below the present commit, and keeps what it has built", function()
    commit("nine", "v0.9.0")
    commit("ten", "v0.10.0")
    commit("a release that is made right now", "v1.0.0")
    assert.equal("ten", built())
    file.write(tree .. "/Makefile", "no Makefile at all")
    assert.equal("ten", built())
    git("checkout", "-q", "-f", "main")
    commit("one more")
    assert.equal("a release that is made right now", built())
  end)

  it("takes no tag of another branch, and none that is no release", function()
    commit("nine", "v0.9.0")
    git("checkout", "-q", "-b", "other")
    commit("elsewhere", "v3.0.0")
    git("checkout", "-q", "main")
    commit("an experiment", "experiment")
    commit("present")
    assert.equal("nine", built())
  end)

  it("fails with what make says, if that version does not build", function()
    file.write(tree .. "/Makefile", "build/5.4/zklock/core.so:\n\techo no compiler >&2; false\n")
    commit("broken", "v0.9.0")
    commit("present")
    local code, out, said = run(TOOL, "build/former")
    assert.same({ 1, "" }, { code, out })
    assert.is_truthy(said:find("no compiler", 1, true), said)
  end)

  it("ends with 3 where there is no history", function()
    commit("present")
    local code, out, said = run(TOOL, "build/former")
    assert.same({ 3, "" }, { code, out })
    assert.matches("^skipped: the clone is shallow: it has no commit %x+\n$", said)
    assert.equal(0, (run("rm", "-rf", ".git")))
    assert.same({ 3, "", "skipped: git finds no repository of zklock here\n" }, { run(TOOL, "build/former") })
    assert.is_nil(require("lfs").attributes(tree .. "/build"))
  end)
end)
