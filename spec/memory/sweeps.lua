-- SPDX-License-Identifier: MIT
--- Sweeps over the allocations of a Lua state: in a call each allocation fails in turn, alone and with all that come
--- after it. `prepare` is for the describe that it is called in; before each spec it sets `client`, `other`, `path` and
--- `lock`, a mutex of `client` at `path`.

local assert = require "luassert"
local busted = require "busted"
local inspector = require "spec.support.inspector"
local places = require "spec.memory.places"
local scarce = require "scarce"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

-- LuaJIT's compiled code does not survive a failed allocation, whatever it was compiled from: LuaJIT/LuaJIT#1247.
local jit = rawget(_G, "jit")
if jit then jit.off() end

local NO_MEMORY = "not enough memory"

local sweeps = {
  SESSION = 20, -- seconds
  PATIENCE = wait.PATIENCE,
  --- The calls of `tell`, with three arguments each; `count` of them.
  told = {},
  --- How often `on_error` of a client was called.
  errors = 0,
}

local PATIENCE, told = sweeps.PATIENCE, sweeps.told

--- Hears a few answers, without allocating anything for them.
function sweeps.listen()
  told.count, sweeps.errors = 0, 0
  for i = 1, 4 do told[i] = { false, false, false } end
end

function sweeps.tell(a, b, c)
  told.count = told.count + 1
  local answer = told[told.count]
  answer[1], answer[2], answer[3] = a, b, c
end

function sweeps.connect(options)
  options = options or {}
  options.session_timeout = sweeps.SESSION
  options.on_error = function() sweeps.errors = sweeps.errors + 1 end
  return assert(zklock.connect(sweeps.zk.hosts, options))
end

function sweeps.prepare()
  local count = 0

  busted.setup(function()
    sweeps.zk = server.shared()
    sweeps.tree = inspector.connect(sweeps.zk.hosts)
    sweeps.tree:delete_tree("/memory")
    sweeps.client, sweeps.other = sweeps.connect(), sweeps.connect()
  end)

  busted.before_each(function()
    count = count + 1
    sweeps.path = ("/memory/%d"):format(count)
    sweeps.lock = sweeps.client:mutex(sweeps.path)
    sweeps.listen()
  end)

  busted.teardown(function()
    sweeps.client:close()
    sweeps.other:close()
    sweeps.tree:delete_tree("/memory")
    sweeps.tree:close()
  end)
end

--- Every node is gone.
function sweeps.rest()
  assert(sweeps.client:flush(PATIENCE))
  assert(sweeps.other:flush(PATIENCE))
  wait.eventually(function() return places.count(sweeps.tree, sweeps.path) == 0 end, PATIENCE, "the end of every node")
end

--- So many hold, and nobody waits, once what is nobody's is collected.
function sweeps.holds(n)
  collectgarbage()
  local stats = sweeps.client:stats()
  assert.same({ held = n, waiting = 0 }, { held = stats.held, waiting = stats.waiting })
end

function sweeps.poll_until(condition, what)
  return wait.eventually(function()
    sweeps.client:poll()
    return condition()
  end, PATIENCE, what)
end

--- Until the engine has so many to tell of; nobody is told.
function sweeps.engine_has(name, n)
  wait.eventually(function() return sweeps.client:stats()[name] == n end, PATIENCE, name)
end

--- The other client holds the lock.
function sweeps.taken()
  local theirs = sweeps.other:mutex(sweeps.path)
  if not theirs:is_held() then assert(theirs:acquire(PATIENCE)) end
end

--- After an error Lua 5.4 frees half of its unused room for nested calls. After several errors no room is left: then
--- each call of `run` has to allocate its own, and so has each call that undoes it.
function sweeps.give_up_room()
  for _ = 1, 16 do pcall(error) end
end

--- `before()` prepares; `run()` is tried; `after(ok, ...)` looks, with run's results or what it raised.
function sweeps.sweep(title, call)
  for name, times in pairs { ["but for one allocation"] = 1, ["but for all memory"] = not call.once and math.huge } do
    if times then busted.it(("%s, %s"):format(title, name), function()
      local nth, through = 0, false
      local function look(asked, ok, ...)
        collectgarbage("restart")
        through = asked < nth
        local good, err = pcall(function(...)
          if not ok then assert.truthy(tostring((...)):find(NO_MEMORY, 1, true), (...)) end
          call.after(ok, ...)
        end, ...)
        if not good then error(("allocation %d: %s"):format(nth, tostring(err)), 0) end
      end
      while not through do
        nth = nth + 1
        if call.before then call.before() end
        if nth % 32 == 1 then collectgarbage() end
        collectgarbage("stop") -- a finalizer that cannot be called is not called again
        if not call.roomy then sweeps.give_up_room() end
        look(scarce.try(nth, times, call.run))
      end
      sweeps.rest()
    end) end
  end
end

return sweeps
