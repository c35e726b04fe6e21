-- SPDX-License-Identifier: MIT
--- Lua states whose memory runs out and that end there: whatever they had goes with them.

local inspector = require "spec.support.inspector"
local scarce = require "scarce"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
require "zklock" -- keeps the allocator of those states in the process

local PATIENCE = wait.PATIENCE
local NO_MEMORY = "not enough memory"

-- LuaJIT's compiled code does not survive a failed allocation, whatever it was compiled from: LuaJIT/LuaJIT#1247.
-- The third argument is a function: from its call on allocations count.
local HEAD = [[
  if rawget(_G, "jit") then jit.off() end
  local hosts, path, begin = ...
]]

local LIFE = HEAD .. [[
  local zklock = require "zklock"
  begin()
  local told = 0
  local client = assert(zklock.connect(hosts, { session_timeout = 60, on_error = function() end }))
  local lock = client:mutex(path)
  lock:on_lost(print)
  assert(lock:acquire(20))
  local more = client:mutex(path .. "-more")
  local request = more:request(20, function() told = told + 1 end)
  more:request(20, function() told = told + 1 end)
  while told == 0 do client:poll(20) end
  local guard = client:mutex(path .. "-guard"):guard(20)
  assert(lock:participants(20))
  coroutine.wrap(function() assert(client:mutex(path .. "-coroutine"):acquire(20)) end)()
  assert(lock:acquire(20) == lock:token() and guard:token())
  return request:state()
]]

local LOADING = HEAD .. [[
  begin()
  return require("zklock")._VERSION
]]

--- Opens the C module, and once more if that failed.
local OPENING = HEAD .. [[
  local open
  for template in package.cpath:gmatch("[^;]+") do
    open = open or package.loadlib((template:gsub("%?", "zklock/core")), "luaopen_zklock_core")
  end
  begin()
  local ok, err = pcall(open)
  local core = ok and err or open()
  assert(core.now() > 0 and core.identity():find(":"))
  if not ok then error(err, 0) end
  return "open"
]]

describe("a Lua state without memory", function()
  local zk, tree

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
    tree:delete_tree("/states")
  end)

  teardown(function()
    tree:delete_tree("/states")
    tree:close()
  end)

  --- Every `step`-th allocation fails, until one state lives to its end and returns `result`.
  ---@return integer count of allocations in a whole life
  local function sweep(code, step, result, times)
    for nth = 1, math.huge, step do
      local asked, ok, text = scarce.live(code, nth, times, zk.hosts, ("/states/%d"):format(nth))
      if asked < nth then
        assert.same({ true, result }, { ok, text })
        return asked
      elseif not ok and not text:find(NO_MEMORY, 1, true) then
        error(("allocation %d: %s"):format(nth, text), 0)
      end
    end
  end

  it("opens the C module again, if that failed at any allocation", function()
    assert.is_true(sweep(OPENING, 1, "open", 1) > 50)
  end)

  for name, times in pairs { ["for want of one allocation"] = 1, ["for want of all"] = math.huge } do
    it("may end while it loads zklock, " .. name, function()
      assert.is_true(sweep(LOADING, 97, "zklock " .. dofile "lua/zklock/version.lua", times) > 500)
    end)

    it("gives back what it had where it ends, " .. name, function()
      local sessions = zk:mntr().num_alive_connections
      assert.is_true(sweep(LIFE, 5, "held", times) > 100)
      wait.eventually(function() return zk:mntr().num_alive_connections == sessions end, PATIENCE, "the sessions' end")
      for _, directory in ipairs(tree:children("/states") or {}) do
        local nodes, err = tree:children("/states/" .. directory)
        -- The servers delete directories that are empty.
        assert.same({}, nodes or err == "NONODE" and {} or err)
      end
    end)
  end
end)
