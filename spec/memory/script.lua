-- SPDX-License-Identifier: MIT
--- The script's memory runs out: in every call each allocation of the Lua state fails in turn, alone and with all that
--- come after it. The call raises or succeeds. Anything left then is given back, and told, by the next calls.

local calls = require "spec.support.calls"
local inspector = require "spec.support.inspector"
local places = require "spec.memory.places"
local scarce = require "scarce"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

-- LuaJIT's compiled code does not survive a failed allocation, whatever it was compiled from: LuaJIT/LuaJIT#1247.
local jit = rawget(_G, "jit")
if jit then jit.off() end

local unpack = table.unpack or unpack -- luacheck: ignore 113

local SESSION = 20 -- seconds
local PATIENCE = wait.PATIENCE

--- After an error Lua 5.4 frees half of its unused room for nested calls. After several errors no room is left: then
--- each call has to allocate its own, and so has each call that ends what it began.
local function give_up_room()
  for _ = 1, 16 do pcall(error) end
end

describe("a script without memory", function()
  local zk, tree, client, other, path, world, number = nil, nil, nil, nil, nil, nil, 0

  local function connect(options)
    options = options or {}
    options.session_timeout = SESSION
    options.on_error = function() world.failed = world.failed + 1 end
    return assert(zklock.connect(zk.hosts, options))
  end

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
    tree:delete_tree("/memory")
    client, other = connect(), connect()
  end)

  before_each(function()
    number = number + 1
    path = ("/memory/%d"):format(number)
    world = calls.new(client, other, path)
  end)

  teardown(function()
    client:close()
    other:close()
    tree:delete_tree("/memory")
    tree:close()
  end)

  --- Calls it once for each allocation.
  local function sweep(call, times)
    local nth, through = 0, false
    local function look(asked, ok, ...)
      collectgarbage("restart")
      through = asked < nth
      if not ok then assert.truthy(tostring((...)):find("not enough memory", 1, true), (...)) end
      if ok and call.good then call.good(...) end
      if call.after then call.after(not ok) end
      world:settle()
    end
    repeat
      nth = nth + 1
      if call.before then call.before() end
      if nth % 32 == 1 then collectgarbage() end
      collectgarbage("stop") -- a finalizer that cannot be called is not called again
      give_up_room()
      local results = { scarce.try(nth, times, call.run) }
      local good, err = pcall(look, unpack(results, 1, 12))
      if not good then error(("%s, allocation %d: %s"):format(call.title, nth, tostring(err)), 0) end
    until through
    assert(client:flush(PATIENCE))
    assert(other:flush(PATIENCE))
    wait.eventually(function() return places.count(tree, path) == 0 end, PATIENCE, "the end of every node")
  end

  --- Calls that the specs of hooks have not.
  local function more()
    local lock, data, runs, subject = world.lock, path .. "-data", nil, nil
    local tell = world:tell()
    assert(tree:create(data, "0", { parents = true }))

    local function begin()
      return client:job(path .. "-job", function() runs = runs + 1 end, { pause = 0, pause_most = 0.1 })
    end

    --- It runs, whatever has failed.
    local function ended()
      world:poll_until(function() return runs > 0 end, "a run")
      assert.is_true(subject:stop(PATIENCE))
    end

    return {
      { title = "read", run = function()
        local got, stat = client:get(data, PATIENCE)
        return got, stat, client:exists(data, PATIENCE), client:children("/memory", PATIENCE)
      end, good = function(got, stat, there, names)
        assert.same({ "0", stat, true }, { got, there, #names > 0 })
      end },
      { title = "write under the lock", before = function() assert(lock:acquire(PATIENCE)) end,
        run = function() return lock:multi({ { "set", data, "0" }, { "check", data } }, PATIENCE), lock:nodes() end,
        good = function(results, nodes) assert.same({ 2, 1 }, { #results, #nodes }) end,
        after = function() assert.is_true(lock:release()) end },
      { title = "read what it may write", before = function()
        subject = client:rwlock(path .. "/book")
        assert(subject.write:acquire(PATIENCE))
      end, run = function() return subject.read:acquire(PATIENCE) end, after = function(failed)
        collectgarbage()
        assert.is_true(subject.write:release())
        assert.same(failed and { nil, "not owner" } or { true }, { subject.read:release() })
      end },
      { title = "acquire in a coroutine that ends", run = function()
        return coroutine.wrap(function() return lock:acquire(PATIENCE) end)()
      end, good = function(token) assert.is_number(token) end },
      { title = "ask", before = function()
        if not world.theirs:is_held() then assert(world.theirs:acquire(PATIENCE)) end
      end, run = function()
        return lock:revoke(PATIENCE), lock:participants(PATIENCE), client:stats(), tostring(client)
      end,
        good = function(asked, list) assert.same({ true, other:session_id() }, { asked, list[1].session }) end },
      { title = "spawn", run = function()
        client:spawn(tell, "spawned")
        client:poll()
      end, good = function() world:all_told(1) end, after = function()
        while client:poll() > 0 do end -- luacheck: ignore 542
        assert.is_true(world.count <= 1)
      end },
      { title = "watch", before = function() subject = nil end, run = function()
        subject = assert(client:watch(data, tell))
        return client:poll(PATIENCE)
      end, after = function()
        if not subject then return end
        world:poll_until(function() return world.count + world.failed > 0 end, "a call")
        subject:stop()
        subject = nil
      end },
      { title = "begin a job", before = function() runs = 0 end, run = begin, good = function(job)
        subject = job
        ended()
      end, once = true },
      { title = "run a job", before = function()
        runs, subject = 0, begin()
        world:has("held", 1)
      end, run = function() client:poll() end, after = ended, once = true },
    }
  end

  for name, times in pairs { ["one allocation"] = 1, ["all memory"] = math.huge } do
    it("leaves nothing behind for the next caller, but for " .. name, function()
      for _, call in ipairs(world:list()) do sweep(call, times) end
    end)

    it("reads, writes, watches and works, but for " .. name, function()
      for _, call in ipairs(more()) do
        if times == 1 or not call.once then sweep(call, times) end
      end
    end)

    it("connects and closes, but for " .. name, function()
      local before, mine = zk:mntr().num_alive_connections, nil
      sweep({ title = "connect", run = function()
        return zklock.connect(zk.hosts, { session_timeout = SESSION, identifier = "me", on_state = function() end,
          auth = { scheme = "digest", credential = "me:secret" } })
      end, good = function(made) assert.is_true(made:close()) end }, times)
      sweep({ title = "close", before = function()
        mine = connect()
        mine:mutex(path):request(nil, world:tell())
      end, run = function() return mine:close() end, after = function()
        assert.is_true(mine:close())
        assert.equal(1, world.count + world.failed)
      end }, times)
      collectgarbage()
      wait.eventually(function() return zk:mntr().num_alive_connections == before end, PATIENCE, "every session's end")
    end)
  end
end)
