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
    if arg[3] ~= "usual" then
      collectgarbage("setpause", 100)
      collectgarbage("setstepmul", 10000) -- one step is a whole cycle
    end

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

    --- Writes under a hold until it is over: each write that was done was guarded, and the last call says
    --- that nobody holds.
    local function writes(take)
      assert(client:create(path .. "-data", "", { parents = true }))
      local list, written = { { "set", path .. "-data", "x" } }, 0
      for _ = 1, 5 do
        local subject, results, err = take(), nil, nil
        repeat
          results, err = subject:multi(list, 60)
          if results then written = written + 1 end
        until not results
        assert(err == "not owner" or err == "lost", err)
        assert(client:stats().guarded == written)
        client:poll(0)
      end
    end

    local lock = client:mutex(path)
    local pool = client:semaphore(path .. "-pool", 1)

    local function guarded()
      (function() assert(lock:guard(60)) end)() -- dropped without a release
      return lock
    end

    --- Calls fn once for each of its instructions at which a hook lets the collector take the hold.
    local function hooked(take, fn)
      require "spec.support.interpreted" ()
      local at, now = 0, 0
      local function collect()
        now = now + 1
        if now == at then collectgarbage() end
      end
      repeat
        at, now = at + 1, 0
        collectgarbage("stop")
        local subject = take()
        debug.sethook(collect, "", 1)
        local result, err = fn(subject)
        debug.sethook()
        if subject == lock then
          assert(fn ~= lock.acquire or lock:token() == result, "a token of a lock that is not held")
          assert(result or err ~= "lost")
          local _, answer = lock:release()
          assert(answer ~= "lost", "a loss of a hold that was dropped")
        else
          assert(result ~= "lost", "a loss of a lease that was dropped")
        end
        subject = nil
        collectgarbage()
        client:poll(0)
      until now < at
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
    ["lock:acquire"] = "hooked(guarded, lock.acquire)",
    ["lock:validity"] = "hooked(guarded, lock.validity)",
    ["request:state"] = "hooked(requested, function(each) return each:state() end)",
    ["lock:multi"] = "writes(guarded)",
    ["request:nodes"] = "calls(requested, function(each) return each:nodes() end)",
    ["request:multi"] = "writes(requested)",
    ["request:release"] = "calls(requested, function(each) each:release() end)",
  } do
    for _, collector in ipairs { "usual", "busy" } do
      it(("breaks nothing: %s, with a %s collector"):format(title, collector), function()
        local result = wait.run_lua(PROLOGUE .. ending .. "\nclient:close()", here.zk.hosts, here.path, collector)
        assert.same({ 0, "" }, { result.code, result.stderr })
      end)
    end
  end
end)
