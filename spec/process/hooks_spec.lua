-- SPDX-License-Identifier: MIT
--- A debug hook that raises, as Ctrl-C and sandboxes do: at each n-th instruction, and at each call and return, of what
--- a script asks for. A hold that it never heard of is given back: when it is collected, or by a call after a second.
--- A release gives back, and all are told once.

local Hold = require "zklock.holds.hold"
local core = require "zklock.core"
local fixture = require "spec.support.fixture"
local host = require "spec.support.host"
local places = require "spec.memory.places"
local wait = require "spec.support.wait"

-- Compiled code does not look for hooks.
local jit = rawget(_G, "jit")
if jit then jit.off() end

local SESSION = 30 -- seconds
local PATIENCE = wait.PATIENCE
local HOOKED = "the hook"
--- Of how many places one is tried, on average: `HOOKS=1` tries all, as `make slow` does.
local STEP = tonumber(os.getenv "HOOKS") or 29

describe("an error that a hook raises", function()
  local here = fixture.new("/hooks", { session_timeout = SESSION })
  local tree, client, other, path, lock, told, hooked, errors

  local function listen() told, hooked = {}, 0 end
  local function tell(a, b) told[#told + 1] = { a, b } end -- not the request: it is to be collected

  setup(function()
    tree, other = here.tree, here:connect()
    client = here:connect { on_error = function(message)
      if message:find(HOOKED, 1, true) then
        hooked = hooked + 1 -- LuaJIT's hooks are for all coroutines: this one came into a callback that had begun
      else
        errors[#errors + 1] = message
      end
    end }
  end)

  before_each(function()
    path = here.path
    lock, errors = client:mutex(path), {}
    listen()
  end)

  --- So many hold, and nobody waits, once what is nobody's is collected.
  local function holds(n)
    collectgarbage()
    local stats = client:stats()
    assert.same({ held = n, waiting = 0 }, { held = stats.held, waiting = stats.waiting })
  end

  --- ... as soon as what is nobody's is collected.
  local function comes_to_hold(n)
    wait.eventually(function()
      local stats = client:stats()
      if stats.held == n and stats.waiting == 0 then return true end
      collectgarbage()
      client:poll()
    end, PATIENCE, "the end of all that nobody has")
  end

  local function poll_until(condition, what)
    return wait.eventually(function()
      client:poll()
      return condition()
    end, PATIENCE, what)
  end

  local function engine_has(name, n)
    wait.eventually(function() return client:stats()[name] == n end, PATIENCE, name)
  end

  local function rest()
    assert(client:flush(PATIENCE))
    assert(other:flush(PATIENCE))
    wait.eventually(function() return places.count(tree, path) == 0 end, PATIENCE, "the end of every node")
  end

  local kinds = {}

  --- At the n-th instruction from now on, once. Coroutines that begin meanwhile have no hook, but with LuaJIT.
  function kinds.instruction(n)
    debug.sethook(function()
      debug.sethook()
      error(HOOKED, 0)
    end, "", n)
  end

  --- At the n-th instruction, counted one by one: what begins to count anew does not help.
  kinds["counted instruction"] = function(n)
    debug.sethook(function()
      n = n - 1
      if n > 0 then return end
      debug.sethook()
      error(HOOKED, 0)
    end, "", 1)
  end

  function kinds.call(n)
    debug.sethook(function()
      n = n - 1
      if n > 0 then return end
      debug.sethook()
      error(HOOKED, 0)
    end, "c")
  end

  kinds["return"] = function(n)
    debug.sethook(function()
      n = n - 1
      if n > 0 then return end
      debug.sethook()
      error(HOOKED, 0)
    end, "r")
  end

  --- `fn(...)` with such a hook. Where it raised after fn had returned, nothing is known of it.
  local function try(kind, n, fn, ...)
    local ok, value, err, known
    pcall(function(...)
      kinds[kind](n)
      ok, value, err = pcall(fn, ...)
      debug.sethook()
      known = true
    end, ...)
    debug.sethook()
    if not known then return false end -- what there was is nobody's
    if not ok then assert.truthy(tostring(value):find(HOOKED, 1, true), value) end
    return true, ok, value, err
  end

  --- How many of them there are before fn begins.
  local function early(kind)
    local function busy()
      local sum = 0
      for i = 1, 50 do sum = sum + math.abs(i) end
      return sum
    end
    for n = 1, math.huge do
      if try(kind, n, busy) then return n - 1 end
    end
  end

  --- `before()` prepares; `run()` gives the function that is tried and its arguments; `after(ok, value, err)` looks.
  local function sweep(title, call)
    for kind in pairs(kinds) do
      it(("%s, at each %s"):format(title, kind), function()
        local is_rare = kind == "call" or kind == "return"
        local step = is_rare and math.ceil(STEP / 5) or STEP
        local first = early(kind)
        local n, through, tried = first + (is_rare and 1 or math.random(math.min(step, 3))), false, 0
        while not through do
          if call.before then call.before() end
          local known, ok, value, err = try(kind, n, call.run())
          through = ok or not known
          if through and not known then
            if call.undo then call.undo() end
            pcall(call.after, true)
            collectgarbage()
          else
            local good, why = pcall(call.after, ok or false, value, err)
            if not good then error(("%s %d: %s"):format(kind, n, tostring(why)), 0) end
            tried = tried + 1
          end
          n = n + math.random(2 * step - 1)
        end
        assert.same({}, errors)
        rest()
        assert.is_true(tried > 0 or kind == "return") -- LuaJIT has few of these
      end)
    end
  end

  describe("into acquiring", function()
    local function check_hold(ok)
      holds(ok and 1 or 0)
      assert.same(ok and { true } or { nil, "not owner" }, { lock:release() })
    end

    local function undo() lock:release() end

    sweep("a free lock gives it back", {
      run = function() return lock.acquire, lock, PATIENCE end,
      after = check_hold,
      undo = undo,
    })

    local kept
    for who, title in pairs { [false] = "what it has just given back", somebody = "a place that is idle" } do
      sweep(title .. " gives it back", {
        before = function()
          kept = client:mutex(path .. "/hot", { fair = false, linger = 1000 })
          for _ = 1, 2 do
            assert(kept:acquire(PATIENCE))
            assert(kept:release())
          end
        end,
        run = function() return kept.acquire, kept, PATIENCE, who or nil end,
        after = function(ok)
          holds(ok and 1 or 0)
          assert.same(ok and { true } or { nil, "not owner" }, { kept:release(who or nil) })
          holds(0)
        end,
        undo = function() kept:release(who or nil) end,
      })
    end

    sweep("in vain leaves nothing behind", {
      before = function()
        if not other:mutex(path):is_held() then assert(other:mutex(path):acquire(PATIENCE)) end
      end,
      run = function() return lock.acquire, lock, 0.001 end,
      after = function(ok, value)
        holds(0)
        if not ok then return end
        assert.is_nil(value)
        assert(other:mutex(path):release())
      end,
      undo = function() assert(other:mutex(path):release()) end,
    })

    sweep("again takes back that one count", {
      before = function() assert(lock:acquire(PATIENCE)) end,
      run = function() return lock.acquire, lock, PATIENCE end,
      after = function(ok)
        holds(1)
        if ok then assert.is_true(lock:release()) end
        assert.is_true(lock:release())
        assert.same({ nil, "not owner" }, { lock:release() })
        holds(0)
      end,
      undo = function() assert.is_true(lock:release()) end,
    })

    sweep("with a guard gives it back", {
      run = function() return lock.guard, lock, PATIENCE end,
      after = function(ok, guard)
        if ok and guard then
          holds(1)
          assert.is_true(guard:is_held())
          assert.is_true(guard:release())
        end
        comes_to_hold(0)
      end,
    })

    sweep("for a function gives it back", {
      run = function() return lock.with, lock, PATIENCE, function() end end,
      after = function() comes_to_hold(0) end,
    })

    sweep("leases gives them back", {
      run = function()
        local pool = client:semaphore(path .. "/pool", 2)
        return pool.acquire, pool, PATIENCE, 2
      end,
      after = function(ok, lease)
        if ok and lease then
          assert.is_true(lease:is_held())
          assert.is_true(lease:release())
        end
        comes_to_hold(0)
      end,
    })
  end)

  --- An error comes between the grant and the return, and nothing is collected.
  local function leave_behind()
    local hand_out = Hold.hand_out
    finally(function()
      Hold.hand_out = hand_out
      collectgarbage("restart")
    end)
    collectgarbage("stop")
    Hold.hand_out = function() error(HOOKED, 0) end
    assert.same({ false, HOOKED }, { pcall(lock.acquire, lock, PATIENCE) })
    Hold.hand_out = hand_out
    assert.equal(1, client:stats().held)
  end

  it("takes nothing from the next owner of a place", function()
    lock = client:mutex(path .. "/place", { fair = false, linger = 1000 })
    leave_behind()
    for _ = 1, 5 do assert(client:exists(path, PATIENCE)) end -- the client has heard that nobody waits there
    assert(lock:acquire(PATIENCE))
    assert.is_true(lock:release())
    assert.is_true(lock:release()) -- what it has not received
    local next_owner = coroutine.create(function()
      coroutine.yield(lock:acquire(PATIENCE))
      coroutine.yield(lock:is_held())
      assert(lock:release())
    end)
    assert.is_number(select(2, coroutine.resume(next_owner)))
    collectgarbage()
    assert.same({ true, true }, { coroutine.resume(next_owner) })
    assert.same({ true }, { coroutine.resume(next_owner) })
  end)

  it("leaves a hold that ends with a collection, and then is nobody's", function()
    leave_behind()
    local abandoned = client:stats().abandoned
    holds(0)
    assert.equal(abandoned + 1, client:stats().abandoned)
    assert.same({ nil, "not owner" }, { lock:release() })
    assert.is_number((lock:acquire(PATIENCE)))
    assert.is_true(lock:release())
  end)

  local takers = { collector = collectgarbage }

  takers["later call"] = function()
    wait.eventually(function()
      client:stats()
      return lock:hold_of_caller().contender:count() == 1
    end, PATIENCE, "one count")
  end

  for taker, take in pairs(takers) do
    it("leaves to another call what that has received; the rest goes to a " .. taker, function()
      leave_behind()
      assert.is_number((lock:acquire(PATIENCE)))
      take()
      assert.is_true(lock:release())
      assert.same({ nil, "not owner" }, { lock:release() })
    end)
  end

  it("leaves a hold that a later call gives back, without the collector", function()
    leave_behind()
    local abandoned = client:stats().abandoned
    wait.eventually(function() return client:stats().held == 0 end, PATIENCE, "the end of the hold")
    assert.equal(abandoned + 1, client:stats().abandoned)
    assert.is_number((lock:acquire(PATIENCE)))
    assert.is_true(lock:release())
  end)

  it("leaves a hold that goes to a waiter of this client", function()
    leave_behind()
    local waiter = coroutine.wrap(function() return lock:acquire(PATIENCE), lock:release() end)
    local token, released = waiter()
    assert.is_number(token)
    assert.is_true(released)
    assert.equal(0, client:stats().held)
  end)

  it("comes again when the lock is handed out, as it was set", function()
    local seen = 0
    local function hook() seen = seen + 1 end
    for _, case in ipairs { { "crl", 0 }, { "", 1 }, { "", 3 }, { "r", 1000 } } do
      debug.sethook(hook, case[1], case[2])
      local acquired = pcall(lock.acquire, lock, PATIENCE)
      local before = seen
      local fn, mask, n = debug.gethook()
      debug.sethook()
      assert.same({ true, hook, case[1], case[2] }, { acquired, fn, mask, n })
      assert.is_true(seen > before or n > 1, case[1])
      assert.is_true(lock:release())
    end
  end)

  it("does not come before a function that gives something has returned", function()
    local hasty, seen
    local function give() return core.hand_over(function() return "given" end) end
    local function hook(event)
      hasty = hasty or event:find("return", 1, true) and debug.getinfo(2, "f").func == give
      seen = seen + 1
    end
    for _, mask in ipairs { "crl", "r" } do
      seen = 0
      debug.sethook(hook, mask)
      local got = give()
      local before, now = seen, debug.gethook()
      debug.sethook()
      assert.same({ "given", hook, true }, { got, now, jit ~= nil or seen > before })
      assert.falsy(hasty)
    end
  end)

  it("comes in a thread that its host makes just then, too", function()
    local result = host.run({ [[
      local client = assert(require "zklock".connect(arg[1], { session_timeout = 30 }))
      local lock = client:mutex(arg[2])
      local seen = 0
      debug.sethook(function() seen = seen + 1 end, "crl", 1)
      handlers = {
        { "main", function() return lock:acquire(60) end },
        { "new", function() for i = 1, 10 do math.abs(i) end end },
        { "main", function()
          local before = seen
          assert(lock:release())
          print(seen > before)
        end },
      }
    ]] }, { here.zk.hosts, path })
    assert.same({ 0, "true\n", "" }, { result.code, result.stdout, result.stderr })
  end)

  describe("into releasing", function()
    sweep("a lock leaves it held or free, as its owner finds", {
      before = function() assert(lock:acquire(PATIENCE)) end,
      run = function() return lock.release, lock end,
      after = function()
        local released, err = lock:release()
        if not released then assert.equal("not owner", err) end
        holds(0)
      end,
    })

    local lease
    sweep("a lease leaves it to be released again", {
      before = function() lease = assert(client:semaphore(path .. "/pool", 2):acquire(PATIENCE)) end,
      run = function() return lease.release, lease end,
      after = function()
        assert.is_true(lease:release())
        holds(0)
      end,
    })

    local guard
    sweep("a guard leaves it to be released again, and takes nothing but its own", {
      before = function()
        assert(lock:acquire(PATIENCE))
        guard = assert(lock:guard(PATIENCE))
      end,
      run = function() return guard.release, guard end,
      after = function()
        assert.is_true(guard:release())
        holds(1)
        assert.is_true(lock:release())
        holds(0)
      end,
    })
  end)

  describe("into requesting", function()
    sweep("makes one that is told once, or none", {
      run = function() return lock.request, lock, PATIENCE, tell end,
      after = function(ok, request)
        if ok and request then
          poll_until(function() return #told > 0 end, "an answer")
          assert.same({ request:token() }, { told[1][1] })
          assert.is_true(request:release())
        end
        comes_to_hold(0)
        if ok == not request then return listen() end -- nobody knows whether there is one
        assert.equal(ok and 1 or 0, #told)
        listen()
      end,
    })
  end)

  describe("into polling", function()
    local requests

    --- So many callbacks were called, each once.
    local function all_told(n)
      poll_until(function() return #told + hooked >= n end, "all callbacks")
      client:poll()
      assert.is_true(#told == n or #told == n - hooked, #told)
      listen()
    end

    sweep("tells grants and failures once", {
      before = function()
        requests = {}
        assert(other:mutex(path .. "/taken"):acquire(PATIENCE))
        for i = 1, 3 do
          requests[i] = client:mutex(("%s/%d"):format(path, i)):request(PATIENCE, function(...) tell(i, ...) end)
          client:mutex(path .. "/taken"):request(0.001, function(...) tell(i, ...) end)
        end
        engine_has("held", 3)
        engine_has("waiting", 0)
      end,
      run = function() return client.poll, client end,
      after = function()
        all_told(6)
        for _, request in ipairs(requests) do assert.is_true(request:release()) end
        assert(other:mutex(path .. "/taken"):release())
        holds(0)
      end,
    })

    sweep("tells a loss and a revocation once", {
      before = function()
        local lost, asked = client:mutex(path .. "/lost"), client:mutex(path .. "/asked")
        lost:on_lost(function() tell("lost") end)
        asked:on_revoke(function() tell("asked") end)
        assert(lost:acquire(PATIENCE))
        assert(asked:acquire(PATIENCE))
        requests = { lost, asked, losses = client:stats().lost, revoked = client:stats().revoked }
        assert(other:mutex(path .. "/asked"):revoke(PATIENCE))
        for _, name in ipairs(tree:children(path .. "/lost")) do tree:delete(path .. "/lost/" .. name) end
        engine_has("lost", requests.losses + 1)
        engine_has("revoked", requests.revoked + 1)
      end,
      run = function() return client.poll, client end,
      after = function()
        all_told(2)
        assert.same({ nil, "lost" }, { requests[1]:release() })
        assert.is_true(requests[2]:release())
        holds(0)
      end,
    })

    -- In plain Lua 5.1 a callback that waits keeps the others waiting.
    if _VERSION ~= "Lua 5.1" or jit then sweep("wakes callbacks that wait", {
      before = function()
        assert(other:mutex(path):acquire(PATIENCE))
        for i = 1, 2 do
          client:mutex(path .. "/free" .. i):request(PATIENCE, function()
            tell(lock:acquire(PATIENCE))
            lock:release()
          end)
        end
        poll_until(function() return client:stats().waiting == 2 end, "waiting callbacks")
        assert(other:mutex(path):release())
        client:flush(PATIENCE)
      end,
      run = function() return client.poll, client end,
      after = function()
        all_told(2)
        comes_to_hold(0)
      end,
    }) end
  end)
end)
