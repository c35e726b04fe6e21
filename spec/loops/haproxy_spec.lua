-- SPDX-License-Identifier: MIT
--- loop = "haproxy" where another coroutine runs between two steps. HAProxy's functions are replaced; spec/hosts has
--- the real ones.

local core = require "zklock.core"
local raising_hook = require "spec.support.raising_hook"

local ADAPTER = "lua/zklock/loop/haproxy.lua"

describe("the adapter for HAProxy", function()
  local tasks, sleep, former

  before_each(function()
    tasks, former = {}, rawget(_G, "core")
    rawset(_G, "core", {
      register_task = function(fn) tasks[#tasks + 1] = fn end,
      sleep = function() sleep() end,
      get_info = function() return { Stopping = 0 } end,
    })
  end)

  after_each(function() rawset(_G, "core", former) end)

  it("has a caretaker for a client that begins while the former one's ends", function()
    local n, came = 0
    repeat
      n, tasks = n + 1, {}
      local adapter, is_kept = dofile(ADAPTER), false
      local function begin() return adapter.watch({ native = {} }, function() end) end
      local stop = begin()
      local tend = tasks[2]
      sleep = stop
      came = raising_hook.interrupt(ADAPTER, n, function()
        local stop_second = begin()
        sleep = function()
          is_kept = true
          stop()
          stop_second()
        end
      end, tend)
      assert.is_true(not came or is_kept or tasks[4] == tend)
    until not came
    assert.is_true(n > 3)
  end)

  it("loses no callback for which there is no memory at first", function()
    local hap, adapter, client = rawget(_G, "core"), dofile(ADAPTER), { native = { wake = function() end } }
    local register, called, said, naps = hap.register_task, {}, {}, 0
    local stop = adapter.watch(client, function() end)
    for i = 1, 2 do adapter.spawn(client, function() called[#called + 1] = i end) end
    function hap.register_task(fn)
      if naps < 2 then error("not enough memory", 0) end
      register(fn)
    end
    function hap.log(_, line) said[#said + 1] = line end
    function hap.msleep() naps = naps + 1 end
    stop()
    tasks[1]() -- the listener's, which ends
    for i = 3, #tasks do tasks[i]() end -- behind the listener and the caretaker
    assert.same({ 1, 2 }, called)
    assert.same({ "zklock: callbacks wait: not enough memory", "zklock: callbacks wait: not enough memory" }, said)
  end)

  it("does not listen if the wait's time comes while it connects its bell", function()
    local function nothing() end
    local left, listened = 1, false
    local waiter = { done = false, left = function() return left end }
    rawget(_G, "core").msleep = function() left = 0 end
    rawget(_G, "core").tcp = function()
      local function connect()
        tasks[1]() -- the one that rings in time
        return true
      end
      local function receive()
        listened, waiter.done = true, true
        return "!"
      end
      return { connect = connect, receive = receive, close = nothing }
    end
    local bell = { ring = nothing, drop = nothing }
    function bell.path() return "" end
    function bell.answer() return true end
    package.loaded["zklock.core"] = setmetatable({ bell = function() return bell end }, { __index = core })
    local adapter = dofile(ADAPTER)
    package.loaded["zklock.core"] = core
    adapter.wait(nil, waiter)
    assert.equal(0, left)
    assert.is_false(listened)
  end)
end)
