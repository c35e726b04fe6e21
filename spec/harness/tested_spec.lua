-- SPDX-License-Identifier: MIT
--- tools/tested.lua, and the two variables by which a run tests another server and another library.

local classpath = require "spec.support.classpath"
local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local PATIENCE = require("spec.support.wait").PATIENCE

describe("a run of tests #once", function()
  local at

  before_each(function() at = folder.new("tested") end)
  after_each(function() folder.remove(at) end)

  local function run(env, ...)
    env.LD_PRELOAD, env.LUA_PATH, env.LUA_INIT = false, "./?.lua;;", false
    local one = process.spawn { env = env, "lua5.4", ... }
    assert.equal(0, (one:wait(PATIENCE)), one:stderr())
    return one:stdout()
  end

  local function tested(env) return run(env, "tools/tested.lua", "build/zklock") end

  it("names the server and the library, and where they are", function()
    local version = "%d+%.%d+%.%d+"
    local said = tested {}
    assert.matches("^server   " .. version .. "[^\n]*: /%S+\nlibrary  " .. version .. ": /%S+\n$", said)
    assert.truthy(said:find(classpath, 1, true), said)
  end)

  it("names those that the environment asks for", function()
    local library = assert(tested({}):match("\nlibrary [^:]+: (%S+)"))
    assert.is_true(os.execute(("cp '%s' '%s/'"):format(library, at)))
    local jars = at .. ":" .. classpath
    local said = tested { ZOOKEEPER_CLASSPATH = jars, LD_LIBRARY_PATH = at }
    assert.truthy(said:find(": " .. jars .. "\n", 1, true), said)
    assert.truthy(said:find(": " .. at .. "/", 1, true), said)
  end)

  it("says so if there is no server", function()
    assert.matches("^server   unknown version: ", tested { ZOOKEEPER_CLASSPATH = at })
  end)

  it("starts the server that the environment asks for", function()
    file.write(at .. "/start.lua", [[
      local zk = require("spec.support.server").start()
      io.write(require("spec.support.file").read(("/proc/%d/cmdline"):format(zk.pid)))
      zk:stop()
    ]])
    local jars = at .. ":" .. classpath
    local said = run({ ZOOKEEPER_CLASSPATH = jars }, at .. "/start.lua")
    assert.truthy(said:find("\0-cp\0" .. jars .. "\0", 1, true), said)
  end)
end)
