-- SPDX-License-Identifier: MIT
--- The Makefile's account of itself: which goals there are, and which of them install packages.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"
local uv = require "luv"

-- Those that a user calls to see something run: they bring what they need.
local INSTALL = { "demo", "test", "test-all", "steady", "nightly", "neighbours", "tls", "chaos", "keeper", "soak",
  "soak-lua", "slow", "random", "sim", "costs", "recorder", "coverage", "mutants", "model", "fuzz", "bare", "lint",
  "asan", "tsan", "bench", "instructions", "duel", "screenshot", "contest", "release", "picture", "platforms", "deb",
  "deb-check", "image" }
-- Those that do what they say, and what single files are.
local LEAVE_ALONE = { "help", "build", "install", "install-lib", "uninstall", "abi", "hosts", "unit",
  "neighbour_programs", "contest-spec", "libzookeeper", "format", "rock", "rockspec", "clean",
  "build/5.4/zklock/core.so", "build/luajit/host", "build/unit/timer_test", "build/asan/5.4/zklock/core.so" }

-- Those that begin with the server and the library that they try.
local TOLD = { test = true, ["test-all"] = true, steady = true, nightly = true, chaos = true, keeper = true,
  recorder = true }

local function make(...)
  local one = process.spawn { env = { MAKEFLAGS = false, MAKELEVEL = false }, "make", ... }
  local code = one:wait()
  return one:stdout() .. one:stderr(), code
end

local function text_of_makefiles()
  local texts = { file.read("Makefile") }
  for name in texts[1]:gmatch("\ninclude (%S+)") do texts[#texts + 1] = file.read(name) end
  assert.is_true(#texts > 2)
  return table.concat(texts)
end

local function goals()
  local found = {}
  for names in text_of_makefiles():gmatch("%.PHONY:([^\n]*)") do
    for name in names:gmatch("%S+") do found[#found + 1] = name end
  end
  assert.is_true(#found > 10)
  return found
end

describe("the Makefile #once", function()
  for _, goal in ipairs(INSTALL) do
    it("has packages installed before " .. goal .. ", and none with DEPS=", function()
      local said, code = make("-n", goal)
      assert.equal(0, code, said)
      assert.equal("tools/deps.sh " .. goal, said:match("tools/deps%.sh [%l-]+"), said)
      said, code = make("-n", goal, "DEPS=")
      assert.equal(0, code, said)
      assert.is_nil(said:find("deps.sh", 1, true), said)
      assert.equal(TOLD[goal], said:find("tools/tested.lua", 1, true) and true, said)
    end)
  end

  for _, goal in ipairs(LEAVE_ALONE) do
    it("installs nothing for " .. goal, function()
      local said, code = make("-n", "-B", goal, "B=" .. (goal:match("^build/asan") or "build"), "LUAS=5.4 luajit",
        "LUA_INCDIR=/usr/include/lua5.4")
      assert.equal(0, code, said)
      assert.is_nil(said:find("deps.sh", 1, true), said)
    end)
  end

  it("takes Lua 5.5 in where it is installed", function()
    local at = folder.new("latest")
    local function commands()
      local one = process.spawn { env = { MAKEFLAGS = false, MAKELEVEL = false, PKG_CONFIG_PATH = at,
        PATH = at .. ":" .. os.getenv("PATH") }, "make", "-n", "-B", "build" }
      assert.equal(0, (one:wait()), one:stderr())
      return one:stdout()
    end
    file.write(at .. "/lua5.5.pc", "Name: Lua\nDescription: Lua\nVersion: 5.5.0\nCflags: -DHEADERS_OF_5_5\n")
    file.write(at .. "/lua5.5", "#!/bin/sh\nexec false\n")
    assert(uv.fs_chmod(at .. "/lua5.5", 493))
    assert.is_nil(commands():find("build/5.5", 1, true))
    file.write(at .. "/lua5.5", '#!/bin/sh\nexec lua5.4 "$@"\n')
    local said = commands()
    assert.matches("%-DHEADERS_OF_5_5[^\n]* %-o build/5%.5/", said)
    assert.truthy(said:find("LD build/5.5/zklock/core.so", 1, true), said)
    folder.remove(at)
  end)

  it("takes CFLAGS from the environment", function()
    local one = process.spawn { env = { MAKEFLAGS = false, MAKELEVEL = false, CFLAGS = "-O1 -DMINE" },
      "make", "-n", "-B", "Q=", "build/unit/timer_test" }
    assert.equal(0, one:wait())
    local said = one:stdout()
    assert.is_truthy(said:find(" -O1 -DMINE ", 1, true), said)
    assert.is_nil(said:find(" -O2 ", 1, true), said)
  end)

  it("tells of every goal in its help", function()
    local help = make()
    for _, goal in ipairs(goals()) do
      local told = help:find("make " .. goal:gsub("%-", "%%-") .. "%f[^%w_-]")
      assert.is_truthy(goal == "help" or told, goal .. " is not in make help")
    end
  end)

  it("is tried above with every goal there is", function()
    local tried = { deps = true }
    for _, list in ipairs { INSTALL, LEAVE_ALONE } do
      for _, goal in ipairs(list) do tried[goal] = true end
    end
    for _, goal in ipairs(goals()) do assert.is_true(tried[goal], goal .. " is not tried") end
  end)

  it("hands on the words of a call as they are", function()
    local said = make("-n", "contest")
    assert.is_truthy(said:find(" QUICK= AGAIN= ", 1, true), said)
    said = make("-n", "contest", "QUICK=1", "AGAIN=lots")
    assert.is_truthy(said:find(" QUICK=1 AGAIN=lots ", 1, true), said)
  end)

  it("has no variable that is called like a goal", function()
    local makefiles = "\n" .. text_of_makefiles()
    for _, goal in ipairs(goals()) do
      assert.is_nil(makefiles:find("\n" .. goal .. " *[:?+]?="), goal .. " is a variable, too")
      assert.is_nil(makefiles:find("\ndefine " .. goal .. "\n"), goal .. " is a macro, too")
    end
  end)
end)
