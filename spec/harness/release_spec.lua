-- SPDX-License-Identifier: MIT
--- `make release`, in scratch clones of this repository: what it makes, and that a release that fails leaves nothing.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local lfs = require "lfs"
local process = require "spec.support.process"
local uv = require "luv"

local VERSION = "77.1.0" -- above every real one
local ENV = { GIT_CONFIG_GLOBAL = "/dev/null", GIT_CONFIG_SYSTEM = "/dev/null", GIT_DIR = false, GIT_WORK_TREE = false,
  GIT_INDEX_FILE = false, LD_PRELOAD = false, MAKEFLAGS = false, MAKELEVEL = false, LUA_PATH = false,
  LUA_CPATH = false }
local LIMIT = 1800 -- seconds

describe("make release #flood", function()
  local place, clone, has_history

  local function run(...)
    local one = process.spawn { env = ENV, cwd = clone, ... }
    local code = one:wait(LIMIT)
    return code, one:stdout() .. one:stderr()
  end

  local function git(...)
    local code, said = run("git", ...)
    assert.equal(0, code, said)
    return (said:gsub("\n$", ""))
  end

  local function release(test, version)
    return run("make", "DEPS=", "release", "VERSION=" .. (version or VERSION), "RELEASE_TEST=" .. test)
  end

  before_each(function()
    local top = process.spawn { "git", "rev-parse", "--git-dir", env = ENV }
    has_history = top:wait() == 0
    if not has_history then return end
    place = folder.new("release")
    clone = place
    git("clone", "-q", "file://" .. uv.cwd(), place .. "/zklock")
    clone = place .. "/zklock"
    git("checkout", "-q", "-B", "main")
    git("config", "user.name", "A Maintainer")
    git("config", "user.email", "maintainer@example.com")
  end)

  after_each(function() if has_history then folder.remove(place) end end)

  local function test(name, fn)
    it(name, function()
      if not has_history then return pending("git finds no repository here: nothing to release") end
      fn()
    end)
  end

  test("tags the version and packs it, after the tests have passed in a clone", function()
    local before = git("rev-parse", "HEAD")
    local code, said = release("lua5.4 tools/version.lua && pwd && git show --stat")
    assert.equal(0, code, said)
    assert.matches("\n/[^\n]*/zklock%-release%.[^\n]*/zklock\ncommit [^\n]*\n.*\n +release: 77%.1%.0\n", said)
    assert.equal(before, git("rev-parse", "HEAD^"))
    assert.equal("main", git("symbolic-ref", "--short", "HEAD"))
    assert.equal(git("rev-parse", "HEAD"), git("rev-parse", "v" .. VERSION .. "^{commit}"))
    assert.equal("tag", git("cat-file", "-t", "v" .. VERSION))
    assert.equal("", git("status", "--porcelain"))
    assert.equal("A Maintainer", git("log", "-1", "--format=%an"))
    assert.equal(VERSION, dofile(clone .. "/lua/zklock/version.lua"))

    local made = {}
    for name in lfs.dir(clone .. "/build/release") do
      if not name:find("^%.") then made[#made + 1] = name end
    end
    table.sort(made)
    local machine = io.popen("uname -m"):read("l")
    assert.same({ "SHA256SUMS", ("zklock-%s-1.linux-%s.rock"):format(VERSION, machine),
      ("zklock-%s-1.rockspec"):format(VERSION), ("zklock-%s-1.src.rock"):format(VERSION),
      ("zklock-%s.tar.gz"):format(VERSION) }, made)
    clone = clone .. "/build/release"
    code, said = run("sha256sum", "-c", "SHA256SUMS")
    assert.equal(0, code, said)
    assert.equal(4, select(2, said:gsub(": OK\n", "")))

    -- packed once more, elsewhere and by somebody else: the same bytes
    local sums = file.read(clone .. "/SHA256SUMS")
    clone = place .. "/zklock"
    local command = "umask 077 && mkdir ../again && TZ=Asia/Tokyo tools/pack.sh " .. VERSION .. " ../again"
    code, said = run("sh", "-c", command)
    assert.equal(0, code, said)
    assert.equal(sums, file.read(place .. "/again/SHA256SUMS"))
    clone = clone .. "/build/release"

    -- the source rock is what is built and documented
    code, said = run("unzip", "-Z1", made[4])
    assert.equal(0, code, said)
    local others = {}
    for path in said:gmatch("[^\n]+") do
      local name = path:match("^zklock/(.*)$") or ""
      local known = name:find("^[%u_]+%.md$") or name == "LICENSE" or name == "Makefile" or name:find("^csrc/")
        or name:find("^lua/") or name:find("^docs/") or name:find("^examples/") or name:find("^share/")
        or name:find("^rockspec/") or name:find("^tools/make/") or path:find("^zklock%-[^/]*%.rockspec$")
      if not known then others[#others + 1] = name end
    end
    table.sort(others)
    assert.same({ "bench/contest/contest.mk", "tools/source.sh", "tools/tls.patch", "tools/tls.sh" }, others)

    -- the tarball is the tag's tree
    assert.equal(0, (run("tar", "-xzf", made[5])))
    clone = clone .. "/zklock-" .. VERSION
    assert.same({ 0, "" }, { run("lua5.4", "tools/version.lua") })
    assert.same({ 0, "" }, { run("lua5.4", "tools/rockspec.lua") })
    assert.is_nil(lfs.attributes(clone .. "/.git"))
  end)

  test("leaves neither commit, tag nor packages behind, if the tests fail or leave files", function()
    local before = git("rev-parse", "HEAD")
    assert.equal(0, (run("mkdir", "-p", "build/release")))
    file.write(clone .. "/build/release/former", "")
    for test_command, why in pairs {
      ["echo one test fails; exit 1"] = "the tests fail",
      ["echo >litter"] = "the tests leave files behind: ?? litter",
    } do
      local code, said = release(test_command)
      assert.not_equal(0, code)
      assert.is_truthy(said:find(why, 1, true), said)
      assert.equal(before, git("rev-parse", "HEAD"))
      assert.equal("", git("tag", "--list", "v" .. VERSION))
      assert.equal("", git("status", "--porcelain"))
      assert.same({ 0, "build/release/former\n" }, { run("find", "build/release", "-type", "f") })
    end
  end)

  test("refuses a version that is none or that is there, and a tree with changes, before it tests anything", function()
    local function refuses(why, version)
      local code, said = release("echo tested", version)
      assert.not_equal(0, code)
      assert.is_truthy(said:find(why, 1, true), said)
      assert.is_nil(said:find("\ntested", 1, true), said)
    end
    refuses("VERSION=MAJOR.MINOR.PATCH expected", "")
    refuses("bad argument VERSION: MAJOR.MINOR.PATCH expected, got v1", "v1")
    refuses("0.0.1 is older than", "0.0.1")
    git("tag", "v" .. VERSION)
    refuses("there is a tag v" .. VERSION .. " already")
    git("tag", "-d", "v" .. VERSION)
    file.write(clone .. "/new", "")
    refuses("changes that are not committed")
    assert.is_truthy(os.remove(clone .. "/new"))
    git("checkout", "-q", "--detach")
    refuses("no branch is checked out")
  end)
end)
