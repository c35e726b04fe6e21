-- SPDX-License-Identifier: MIT
--- The Lua files and the C module are of one version, or loading them fails.

local folder = require "spec.support.folder"
local process = require "spec.support.process"
local uv = require "luv"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local VERSION = zklock._VERSION:match("^zklock (.+)$")

describe("require 'zklock'", function()
  --- Runs a script that loads zklock after `before`, and prints what that raised.
  local function load_after(before)
    return wait.run_lua(before .. [[

      local ok, err = pcall(require, "zklock")
      print(ok, err)
    ]]).stdout
  end

  --- A copy of the Lua files, of that version.
  local function other_files(version)
    local tree = folder.new("version")
    assert.equal(0, (process.spawn({ "cp", "-r", uv.cwd() .. "/lua", tree, env = process.PLAIN }):wait()))
    local file = assert(io.open(tree .. "/lua/zklock/version.lua", "w"))
    file:write(("return %q;\n"):format(version))
    file:close()
    return ("package.path = %q .. package.path"):format(tree .. "/lua/?.lua;" .. tree .. "/lua/?/init.lua;")
  end

  it("takes Lua files and a C module of the same version", function()
    assert.matches("^true", load_after(other_files(VERSION)))
  end)

  it("raises when the Lua files are newer than the C module, names both and says what to do", function()
    local told = ("false\tzklock: the Lua files are of version 99.1.2, the C module zklock.core is of version %s. "
      .. "Install both from the same version, then start the process again: a C module that is loaded stays loaded\n")
      :format(VERSION)
    assert.equal(told, load_after(other_files("99.1.2")))
  end)

  it("raises when the C module is from before there were versions, and lacks functions", function()
    assert.matches("^false\tzklock: the Lua files are of version .*, the C module zklock.core is of version unknown%.",
      load_after [[package.preload["zklock.core"] = function() return {} end]])
  end)
end)
