-- SPDX-License-Identifier: MIT
--- LuaJIT and plain Lua 5.1 have one folder for C modules, lib/lua/5.1: a module that was built for one of them works
--- in the other.

local fixture = require "spec.support.fixture"
local script = require "spec.support.script"

local OTHERS = { ["5.1"] = "luajit", luajit = "5.1" }
local own = script.version()
local other = OTHERS[own]

if not other then
  describe("a module built for another Lua", function()
    it("is tried under Lua 5.1 and LuaJIT", function() pending("not this one") end)
  end)
  return
end

--- package.cpath with the other one's build folder.
local function path_to_other()
  local own_folder = ("/%s/?.so"):format(own):gsub("%p", "%%%0")
  return (package.cpath:gsub(own_folder, ("/%s/?.so"):format(other)))
end

describe("a module that was built for " .. other .. ", in " .. own .. ",", function()
  local here = fixture.new("/shared_module")

  local file

  setup(function()
    for template in path_to_other():gmatch "[^;]+" do
      local name = template:gsub("%?", "zklock/core")
      local found = not file and name:find("/" .. other .. "/", 1, true) and io.open(name)
      if found then
        found:close()
        file = name
      end
    end
  end)

  local function passes(code)
    if not file then return pending("no module was built for " .. other) end
    local child = script.spawn([[
      local hosts, path = arg[1], arg[2]
      local zklock = require "zklock"
      local maps = io.open("/proc/self/maps")
      assert(maps:read("*a"):find("/" .. arg[3] .. "/zklock/core.so", 1, true), "another module was loaded")
      maps:close()
      local client = assert(zklock.connect(hosts))
      local lock = client:mutex(path)
    ]] .. code .. [[
      client:close()
      print "good"
    ]], { here.zk.hosts, here.path, other }, { env = { LUA_CPATH = path_to_other() } })
    local result = script.finish(child)
    assert.same({ 0, "", "good\n" }, { result.code, result.stderr, result.stdout })
  end

  it("takes locks, and tells the main program from coroutines", function()
    passes [[
      assert(lock:acquire(60) and lock:acquire(60) and lock:release())
      local inner = coroutine.wrap(function()
        local held = lock:is_held()
        coroutine.yield(held)
        local another = client:mutex(path .. "/another")
        assert(another:acquire(60))
        coroutine.yield(another)
      end)
      assert(inner() == false)
      local another = inner()
      assert(lock:is_held() and lock:release() and not another:is_held())
      assert(not pcall(inner, inner()))
      assert(another:acquire(60), "its holder has ended")
    ]]
  end)

  it("loses nothing to a debug hook that raises, in the main program and in a coroutine", function()
    passes [[
      require "spec.support.interpreted" ()
      local function interrupt(count)
        return function()
          debug.sethook(function() debug.sethook() error("interrupted", 0) end, "", count)
          local token = lock:acquire(60)
          debug.sethook()
          return token
        end
      end
      for count = 1, 400, 3 do
        local ok, token = pcall(interrupt(count))
        if ok and token then assert(lock:release()) end
        local thread = coroutine.create(interrupt(count))
        coroutine.resume(thread)
        debug.sethook()
      end
      collectgarbage()
      collectgarbage()
      assert(lock:acquire(60) and lock:release() and client:flush(60))
      assert(client:stats().held == 0)
    ]]
    if file then here:nothing_is_left() end
  end)
end)
