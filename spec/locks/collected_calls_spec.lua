-- SPDX-License-Identifier: MIT
--- Calls inside which the collector takes the hold that they are about. Under ASan (`make asan`) a call that still used
--- it ends the script.

local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"

describe("a hold that the collector takes inside a call", function()
  local here = fixture.new("/collected")

  local PROLOGUE = [[
    local client = assert(require("zklock").connect(arg[1]))
    local path = arg[2]
    local list = { { "delete", path .. "/none" } }
    collectgarbage("setpause", 100)
    collectgarbage("setstepmul", 10000) -- one step is a whole cycle

    --- Calls fn until the hold is over; each call begins with another distance to the next cycle.
    local function calls(take, fn)
      for distance = 1, 30 do
        collectgarbage()
        collectgarbage("stop")
        local subject = take()
        local junk = {}
        for i = 1, distance do junk[i] = { i } end
        collectgarbage("restart") -- a cycle begins with one of the next allocations
        local ends = 0
        while ends < 1000 and fn(subject) do ends = ends + 1 end
        subject, junk = nil, nil
        client:poll(0)
      end
    end

    local lock = client:mutex(path)
    local pool = client:semaphore(path .. "-pool", 1)

    local function guarded()
      (function() assert(lock:guard(60)) end)() -- dropped without a release
      return lock
    end

    local function requested()
      local done
      local request = pool:request(60, function(lease) done = lease:token() end) -- keeps no lease
      repeat client:poll(1) until done
      return request
    end
  ]]

  for title, ending in pairs {
    ["lock:nodes"] = "calls(guarded, function(each) return each:nodes() end)",
    ["lock:multi"] = "calls(guarded, function(each) return select(2, pcall(each.multi, each, list, 60)) end)",
    ["request:nodes"] = "calls(requested, function(each) return each:nodes() end)",
    ["request:multi"] = "calls(requested, function(each) return select(2, pcall(each.multi, each, list, 60)) end)",
    ["request:release"] = "calls(requested, function(each) pcall(each.release, each) end)",
  } do
    it("breaks nothing: " .. title, function()
      local result = wait.run_lua(PROLOGUE .. ending .. "\nclient:close()", here.zk.hosts, here.path)
      assert.same({ 0, "" }, { result.code, result.stderr })
    end)
  end
end)
