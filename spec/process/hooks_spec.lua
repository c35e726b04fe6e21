-- SPDX-License-Identifier: MIT
--- A debug hook that raises, as Ctrl-C and sandboxes do: at each n-th instruction, and at each call and return, of what
--- a script asks for. A hold that it never heard of is given back: when it is collected, or by a call after a second.
--- And a hook that comes between two steps of the client, and calls it.

local Callbacks = require "zklock.run.callbacks"
local Hold = require "zklock.holds.hold"
local Log = require "zklock.run.log"
local Waits = require "zklock.run.waits"
local Watch = require "zklock.nodes.watch"
local calls = require "spec.support.calls"
local core = require "zklock.core"
local fixture = require "spec.support.fixture"
local host = require "spec.support.host"
local interpreted = require "spec.support.interpreted"
local owner = require "zklock.owners.owner"
local places = require "spec.memory.places"
local raising_hook = require "spec.support.raising_hook"
local wait = require "spec.support.wait"

local jit = rawget(_G, "jit")

local unpack = table.unpack or unpack -- luacheck: ignore 113

local SESSION = 30 -- seconds
local PATIENCE = wait.PATIENCE
local HOOKED = "the hook"
--- Of how many places one is tried, on average: `HOOKS=1` tries all, as `make slow` does.
local STEP = tonumber(os.getenv "HOOKS") or 29

describe("an error that a hook raises", function()
  local here = fixture.new("/hooks", { session_timeout = SESSION })
  local client, path, lock, world, errors, compile

  setup(function()
    compile = interpreted()
    client = here:connect { on_error = function(message)
      if message:find(HOOKED, 1, true) then
        world.failed = world.failed + 1 -- LuaJIT's hooks are for all coroutines: this one came into a callback
      else
        errors[#errors + 1] = message
      end
    end }
  end)

  teardown(function() compile() end)

  before_each(function()
    path, errors = here.path, {}
    world = calls.new(client, here:connect(), path)
    lock = world.lock
  end)

  --- So many hold, and nobody waits, once what is nobody's is collected.
  local function holds(n)
    collectgarbage()
    local stats = client:stats()
    assert.same({ held = n, waiting = 0 }, { held = stats.held, waiting = stats.waiting })
  end

  local function raise()
    debug.sethook()
    error(HOOKED, 0)
  end

  --- How a hook counts: by itself, so that nothing begins to count anew; or Lua does. Coroutines that begin meanwhile
  --- have no hook, but with LuaJIT.
  local MASKS = { ["counted instruction"] = "", call = "c", ["return"] = "r" }

  --- Raises at the n-th of that kind from now on, once.
  local function arm(kind, n)
    local mask = MASKS[kind]
    if not mask then return debug.sethook(raise, "", n) end
    debug.sethook(function()
      n = n - 1
      if n == 0 then raise() end
    end, mask, mask == "" and 1 or 0)
  end

  --- Calls fn. `failed` is nil where the hook raised after fn had returned, or never.
  local function try(kind, n, fn)
    local results
    local over = pcall(function()
      arm(kind, n)
      results = { pcall(fn) }
      debug.sethook()
    end)
    debug.sethook()
    if not over then return nil end
    if not results[1] then assert.truthy(tostring(results[2]):find(HOOKED, 1, true), results[2]) end
    return not results[1], results
  end

  --- How many of them there are before fn begins.
  local function early(kind)
    local n, function_has_begun = 0, false
    repeat
      n = n + 1
      try(kind, n, function() function_has_begun = true end)
    until function_has_begun
    return n - 1
  end

  local function sweep(kind, call)
    local is_rare = kind == "call" or kind == "return"
    local step, tried, n = is_rare and math.ceil(STEP / 5) or STEP, 0, early(kind) + 1
    local failed
    repeat
      local results
      if call.before then call.before() end
      failed, results = try(kind, n, call.run)
      local ok, why = pcall(function()
        if failed == false and call.good then call.good(unpack(results, 2, 9)) end
        results = nil
        if call.after then call.after(failed) end
        world:settle()
      end)
      if not ok then error(("%s %d: %s"):format(kind, n, tostring(why)), 0) end
      if failed then tried = tried + 1 end
      n = n + math.random(2 * step - 1)
    until not failed
    assert.same({}, errors)
    assert.is_true(tried > 0 or kind == "return") -- LuaJIT has few of these
  end

  for _, kind in ipairs { "instruction", "counted instruction", "call", "return" } do
    it("leaves nothing behind for the next caller, at each " .. kind, function()
      for _, call in ipairs(world:list()) do
        local ok, why = pcall(sweep, kind, call)
        if not ok then error(call.title .. ": " .. tostring(why), 0) end
      end
      assert(client:flush(PATIENCE))
      wait.eventually(function() return places.count(here.tree, path) == 0 end, PATIENCE, "the end of every node")
    end)
  end

  it("ends the wait into which it comes, at once", function()
    assert(world.theirs:acquire(PATIENCE))
    local dispatcher = client.dispatcher
    finally(function()
      dispatcher.prepare_sleep = nil
      collectgarbage("restart")
    end)
    collectgarbage("stop")
    dispatcher.prepare_sleep = function() error(HOOKED, 0) end
    assert.same({ false, HOOKED }, { pcall(lock.acquire, lock, PATIENCE) })
    assert.equal(0, client:stats().waiting)
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

  it("reaches the program if a signal sets it while a release hands the lock to the next caller here", function()
    local place, answers = client:mutex(path .. "/next", { fair = false, linger = 1000 }), {}
    assert(place:acquire(PATIENCE))
    for _ = 1, 5 do assert(client:exists(path, PATIENCE)) end -- the client has heard that nobody waits there
    place:request(PATIENCE, function(token, _, request)
      answers[#answers + 1] = token
      request:release()
    end)
    local tell = client.callbacks.tell
    function client.callbacks.tell(...)
      client.callbacks.tell = tell
      debug.sethook(function()
        debug.sethook()
        error(HOOKED, 0)
      end, "", 1)
      return tell(...)
    end
    assert.same({ false, HOOKED }, { pcall(place.release, place) })
    assert.same({ nil, "not owner" }, { place:release() })
    wait.eventually(function()
      client:poll(0.05)
      return answers[1]
    end, PATIENCE, "the answer")
    assert.equal(1, #answers)
  end)

  it("ends the wait of a request that it cancels, or leaves that as it was", function()
    local n, raised = 0
    repeat
      n = n + 1
      assert(world.theirs:acquire(PATIENCE))
      local err
      local request = lock:request(PATIENCE, function(_, why) err = why end)
      raised = raising_hook.call("zklock/request.lua", n, request.cancel, request)
      client:poll()
      if err == nil then -- that is as it was
        assert(world.theirs:release())
        wait.eventually(function()
          client:poll()
          return request:state() == "held"
        end, PATIENCE, "the grant")
        assert.is_true(request:release())
      else
        assert.equal("cancelled", err)
        assert(world.theirs:release())
      end
    until not raised
    assert.is_true(n > 3)
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
end)

--- A profiler's may; HAProxy's lets other tasks do so.
describe("a hook that uses the client", function()
  local here = fixture.new("/hooks-inside", { session_timeout = SESSION })
  local client

  before_each(function() client = here:connect() end)

  for title, who in pairs { ["in its own"] = false, ["in another's"] = "somebody" } do
    it("lets a coroutine in that begins to wait, " .. title .. " name, for what it releases", function()
      local lock, n, token = client:mutex(here.path, { fair = false, linger = 1000 }), 0, nil
      for _ = 1, 5 do assert(client:exists("/", PATIENCE)) end -- the client has heard that nobody waits there
      repeat
        n = n + 1
        assert(lock:acquire(PATIENCE, "another"))
        local overslept = false
        local alarm = Waits.new_alarm(function() overslept = true end)
        client.waits:ring_at(core.now() + PATIENCE, alarm)
        coroutine.wrap(raising_hook.interrupt)("zklock/run/dispatcher.lua", n, function()
          assert(lock:release("another"))
        end, function()
          token = lock:acquire(1, who or nil)
          if token then assert(lock:release(who or nil)) end
        end)
        client.waits:call_off(alarm)
        assert.is_false(overslept)
      until not token -- the hook came after the sleep, or never
      assert.is_true(n > 20)
      lock:release("another")
    end)
  end

  it("comes in code that LuaJIT has compiled before, too", function()
    local function count()
      local sum = 0
      for i = 1, 1000 do sum = sum + i % 7 end
      return sum
    end
    for _ = 1, 100 do count() end
    assert.is_true(raising_hook.call("hooks_spec.lua", 1000, count))
  end)

  it("leaves an alarm that it sets, too, set once", function()
    local waits, moment, n, came = client.waits, core.now() + 1000, 0
    repeat
      n = n + 1
      local alarm = Waits.new_alarm(function() end)
      local function ring() waits:ring_at(moment, alarm) end
      came = raising_hook.interrupt("zklock/run/waits.lua", n, ring, ring)
      waits:call_off(alarm)
      for _, waiter in ipairs(waits.deadlines.list) do assert.not_equal(alarm, waiter) end
    until not came
    assert.is_true(n > 3)
  end)

  it("wakes by an alarm that it sets while a later one is set", function()
    local waits, n, came = client.waits, 0
    repeat
      n = n + 1
      local rung = {}
      local later = Waits.new_alarm(function() rung.later = true end)
      came = raising_hook.interrupt("zklock/run/waits.lua", n, function()
        waits:ring_at(core.now() + 0.01, Waits.new_alarm(function() rung.sooner = true end))
      end, waits.ring_at, waits, core.now() + PATIENCE, later)
      while came and not rung.sooner do
        client.native:wait(math.huge)
        client:poll()
      end
      waits:call_off(later)
      assert.is_nil(rung.later)
    until not came
    assert.is_true(n > 3)
  end)

  it("may take an alarm that is due while it is set", function()
    local waits, n, came = client.waits, 0
    repeat
      n = n + 1
      local rung, ok, err = 0, nil, nil
      local alarm = Waits.new_alarm(function() rung = rung + 1 end)
      came = raising_hook.interrupt("zklock/run/waits.lua", n, function() client:poll() end, function()
        ok, err = pcall(waits.ring_at, waits, core.now(), alarm)
      end)
      assert.is_true(ok, err)
      client:poll()
      assert.equal(1, rung)
    until not came
    assert.is_true(n > 3)
  end)

  it("loses no callback, and calls none twice, if it queues one while another one is queued", function()
    local called, n, came = {}, 0
    local function spawn(number) client:spawn(function() called[#called + 1] = number end) end
    repeat
      n = n + 1
      came = raising_hook.interrupt(".lua", n, function() spawn(2 * n) end, spawn, 2 * n - 1)
      repeat until client:poll() == 0
      table.sort(called)
      assert.same(came and { 2 * n - 1, 2 * n } or { 2 * n - 1 }, called)
      called = {}
    until not came
    assert.is_true(n > 20)
  end)

  it("loses no callback to two errors in a row", function()
    local create, n, raised = coroutine.create, 0
    finally(function() coroutine.create = create end) -- luacheck: ignore 122
    local compile = interpreted()
    repeat
      n, raised = n + 1, false
      local called, left, thread = 0, n + 1, nil
      --- The first comes before the callback's function has begun, and the second n instructions later.
      local function hook()
        if debug.getinfo(2, "S").source:sub(-#"run/callbacks.lua") ~= "run/callbacks.lua" or not thread or
          left == n + 1 and coroutine.running() ~= thread then return end
        left = left - 1
        if left == 0 then
          debug.sethook()
          raised = true
        end
        if left == 0 or left == n then error(raising_hook.TEXT, 0) end
      end
      function coroutine.create(fn) -- luacheck: ignore 122
        coroutine.create = create -- luacheck: ignore 122
        thread = create(fn)
        debug.sethook(thread, hook, "", 1)
        return thread
      end
      client:spawn(function() called = called + 1 end)
      pcall(function()
        debug.sethook(hook, "", 1)
        client:poll()
      end)
      debug.sethook()
      repeat until client:poll() == 0
      assert.equal(1, called, n)
    until not raised
    compile()
    assert.is_true(n > 3)
  end)

  it("calls a callback once if it polls as that begins", function()
    local n, came = 0
    repeat
      n = n + 1
      local called = 0
      client:spawn(function() called = called + 1 end)
      came = raising_hook.interrupt("zklock/run/callbacks.lua", n, function() client:poll() end, client.poll, client)
      repeat until client:poll() == 0
      assert.equal(1, called)
    until not came
    assert.is_true(n > 3)
  end)

  it("resumes a callback once if it polls as that goes on", function()
    local failed, n, came = {}, 0
    local theirs = here:connect { on_error = function(message) failed[#failed + 1] = message end }
    repeat
      n = n + 1
      local ended = 0
      theirs:spawn(function()
        theirs:sleep(0)
        ended = ended + 1
      end)
      theirs:poll()
      came = raising_hook.interrupt("zklock/run/waits.lua", n, function() theirs:poll() end, theirs.poll, theirs)
      wait.eventually(function()
        theirs:poll()
        return ended > 0
      end, PATIENCE)
      assert.same({ 1, {} }, { ended, failed })
    until not came
    assert.is_true(n > 3)
  end)

  it("leaves a lock to the callback that has it, if that gets it while the request is cancelled", function()
    local lock, n, came = client:mutex(here.path), 0
    repeat
      n = n + 1
      local token, err, cancelled
      local request = lock:request(PATIENCE, function(...) token, err = ... end)
      wait.eventually(function() return client:stats().held == 1 end, PATIENCE, "the grant")
      came = raising_hook.interrupt("zklock/request.lua", n, function() client:poll() end,
        function() cancelled = request:cancel() end)
      client:poll()
      assert.equal(cancelled and "cancelled" or nil, err)
      assert.same({ not cancelled, not cancelled }, { token ~= nil, request:is_held() })
      if token then assert.is_true(request:release()) end
    until not came
    assert.is_true(n > 3)
  end)

  it("ends each wait in poll, if it ends them, too", function()
    local callbacks, n, came = client.callbacks, 0
    repeat
      n = n + 1
      local pollers = {}
      for i = 1, 3 do
        pollers[i] = Waits.new_waiter()
        callbacks.pollers[pollers[i]] = true
      end
      came = raising_hook.interrupt("zklock/run/waits.lua", n, function() callbacks:tell_pollers() end,
        callbacks.tell_pollers, callbacks)
      for _, poller in ipairs(pollers) do assert.same({ true, true }, { poller.done, poller.told }) end
      assert.is_nil(next(callbacks.pollers))
    until not came
    assert.is_true(n > 3)
  end)

  it("ends each sleep that began before, if it lets others begin meanwhile", function()
    local n, came = 0
    repeat
      n = n + 1
      local set, all = Waits.new_set(), {}
      local function begin(count)
        for _ = 1, count do
          all[#all + 1] = Waits.new_waiter()
          set[all[#all]] = true
        end
      end
      begin(10)
      came = raising_hook.interrupt("zklock/run/waits.lua", n, function() begin(100) end, Waits.wake_all,
        { wake = function(_, waiter) waiter.done = true end }, set)
      for i = 1, 10 do assert.is_true(all[i].done) end
    until not came
    assert.is_true(n > 3)
  end)

  it("leaves the list of the holds that no call has received in order", function()
    local holds, n, came = client.holds, 0
    local function expect() holds:expect { is_unreceived = function() return false end } end
    local function take() holds:received(holds.granted[holds.count]) end
    for _, case in ipairs { { expect, take }, { take, expect }, { expect, holds.sweep }, { holds.sweep, expect },
      { holds.sweep, take }, { holds.sweep, holds.sweep } } do
      repeat
        n = n + 1
        for _ = 1, 3 do expect() end
        came = raising_hook.interrupt("zklock/holds/client_holds.lua", n, function()
          if case[2] == take then expect() end
          case[2](holds)
        end, case[1], holds)
        for _ = 1, 3 do holds:sweep() end
        assert.equal(0, holds.count)
      until not came
      n = 0
    end
  end)

  for _, by in ipairs { "a hook", "a finalizer" } do
    it("leaves in that list what is to stay there, if it ends another one: " .. by, function()
      local holds, n, came = client.holds, 0
      local function expect(is_nobodys, forgo)
        local hold, stands = {}, true
        function hold.is_unreceived() return stands end
        function hold.is_nobodys() return is_nobodys end
        function hold.forgo()
          stands = false
          if forgo then forgo() end
        end
        holds:expect(hold)
        return function() stands = false end
      end
      local function sweep() holds:sweep() end
      repeat
        n = n + 1
        expect(true, by == "a finalizer" and sweep)
        local receive = expect(false)
        came = by == "a hook" and raising_hook.interrupt(".lua", n, sweep, sweep)
        if not came then sweep() end
        assert.equal(1, holds.count)
        receive()
        sweep()
        assert.equal(0, holds.count)
      until not came
    end)
  end

  it("leaves a callback where it has queued it, if that is to be put back", function()
    local fifo, entries = core.fifo(), {}
    for i = 1, 3 do
      entries[i] = { _next = false, _number = 0 }
      fifo:append(entries[i])
    end
    assert.is_true(fifo:remove(entries[1]))
    assert.is_false(fifo:remove(entries[1]))
    fifo:append(entries[1])
    for i = 1, 3 do fifo:put_back(entries[i]) end
    for _, i in ipairs { 2, 3, 1 } do
      assert.equal(entries[i], fifo:first())
      assert.is_true(fifo:remove(entries[i]))
    end
    assert.is_false(fifo:first())
    for i = 1, 2 do fifo:put_back(entries[i]) end
    for _, i in ipairs { 2, 1 } do assert.is_true(fifo:remove(entries[i])) end
  end)

  it("leaves a place with the caller that takes it over while owners are checked", function()
    local lock, relays, n, came = client:mutex(here.path, { fair = false, linger = 1000 }), client.holds.relays, 0
    repeat
      n = n + 1
      wait.eventually(function()
        assert(lock:acquire(PATIENCE))
        assert(lock:release())
        return lock.handed.relay
      end, PATIENCE, "a place that rests")
      local hold, token = lock.handed.relay
      assert(core.take_over(hold.contender, nil, hold.whose, owner.main)) -- the first of its two steps
      came = raising_hook.interrupt("zklock/holds/relays.lua", n, function()
        token = core.again(hold.contender, nil, true)
      end, relays.reap, relays, math.huge)
      assert.equal(token ~= nil, lock:is_held())
      if token then assert.is_true(lock:release()) end
    until not came
    assert.is_true(n > 1)
  end)

  it("leaves an owner its next hold if it takes that while the former one ends", function()
    local lock, n, came = client:mutex(here.path), 0
    repeat
      n = n + 1
      assert(lock:acquire(PATIENCE))
      local hold, token = lock:hold_of_caller()
      came = raising_hook.interrupt("zklock/holds/lock_path.lua", n, function()
        hold:finish("abandoned")
        token = lock:acquire(PATIENCE)
      end, hold.finish, hold, "abandoned")
      assert.equal(token ~= nil, lock:is_held())
      if token then assert.is_true(lock:release()) end
    until not came
  end)

  it("leaves the lines of a trace in order, to one coroutine at a time, and loses none", function()
    local n, came = 0
    repeat
      n = n + 1
      local got, lines, mine, left = {}, {}
      local function listen(_, line)
        got[#got + 1] = line
        if #got > 1 or coroutine.running() == mine then return end
        left = coroutine.running()
        coroutine.yield()
      end
      local function take() return lines[1] and "debug", table.remove(lines, 1), true end
      local log = Log.new({ callbacks = client.callbacks, native = { take_log = take } }, listen, "debug")
      log:event()
      client:poll() -- there is no line yet
      lines = { "one", "two" }
      mine = coroutine.create(function()
        return raising_hook.interrupt("zklock/run/log.lua", n, function()
          lines[#lines + 1] = "three"
          log:event()
          client:poll()
        end, log.record.fn, log)
      end)
      came = select(2, assert(coroutine.resume(mine)))
      if left then
        assert.same({ "one" }, got)
        assert(coroutine.resume(left))
      end
      client:poll()
      assert.same({ "one", "two", came and "three" or nil }, got)
    until not came
    assert.is_true(n > 10)
  end)

  --- A trace of these lines.
  local function trace(lines, listen)
    local function take() return lines[1] and "debug", table.remove(lines, 1), true end
    return Log.new({ callbacks = client.callbacks, native = { take_log = take } }, listen, "debug")
  end

  it("goes on with a long trace if it polls while the next turn is queued", function()
    local n, came = 0
    repeat
      n = n + 1
      local lines, got = {}, 0
      local log = trace(lines, function() got = got + 1 end)
      log:event()
      client:poll() -- there is no line yet
      for i = 1, 300 do lines[i] = "line" end -- more than one turn hands over
      came = raising_hook.interrupt("zklock/run/callbacks.lua", n, function() client:poll() end, log.record.fn, log)
      log:event()
      client:poll()
      assert.equal(300, got)
    until not came
    assert.is_true(n > 3)
  end)

  it("leaves a trace to one coroutine if it begins to hand it over while an event comes", function()
    local n, came = 0
    repeat
      n = n + 1
      local got, left = {}
      local log = trace({ "one", "two" }, function(_, line)
        got[#got + 1] = line
        if #got > 1 then return end
        left = coroutine.running()
        coroutine.yield()
      end)
      came = raising_hook.interrupt("zklock/run/log.lua", n, function()
        log:event()
        client:poll()
      end, log.event, log)
      client:poll()
      assert.same({ "one" }, got)
      assert(coroutine.resume(left))
      assert.same({ "one", "two" }, got)
    until not came
    assert.is_true(n > 3)
  end)

  --- A watch whose node has `node.state`, which has been read once.
  local function watch(node, fn)
    local taken
    local view = { told = function() end }
    function view.take()
      if node.error and #node.error > 0 then error(table.remove(node.error), 0) end
      local is_new = node.state ~= taken
      taken = node.state
      return is_new, taken
    end
    local watched = assert(Watch.new({
      callbacks = client.callbacks,
      dispatcher = { enter = function() end, keep = function() end },
      native = { look_at = function() return view end, unusable = function() end },
      loop = {},
    }, here.path, false, fn))
    watched:event()
    client:poll()
    return watched
  end

  it("leaves a watch the state that comes as its callback ends", function()
    local n, came = 0
    repeat
      n = n + 1
      local node, got = {}
      local watched = watch(node, function(state) got = state end)
      node.state = 1
      came = raising_hook.interrupt("zklock/nodes/watch.lua", n, function()
        node.state = 2
        watched:event()
      end, watched.record.fn, watched)
      client:poll()
      assert.equal(came and 2 or 1, got)
    until not came
    assert.is_true(n > 3)
  end)

  local function one_at_a_time(least, errors, act)
    if _VERSION == "Lua 5.1" and not jit then return pending("this Lua cannot suspend fn") end
    local main, n, came = coroutine.running(), 0
    client = here:connect { on_error = function() end }
    repeat
      n = n + 1
      local node, inside, most = {}, 0, 0
      local watched = watch(node, function()
        inside = inside + 1
        most = math.max(most, inside)
        if coroutine.running() ~= main then coroutine.yield() end
        inside = inside - 1
      end)
      node.state, node.error = 1, { errors }
      local function tell(state)
        node.state = state
        watched:event()
        client:poll()
      end
      came = raising_hook.interrupt("zklock/nodes/watch.lua", n, function()
        tell(2)
        act()
      end, watched.record.fn, watched)
      for state = 3, 5 do tell(state) end
      assert.is_true(most >= least and most <= 1)
    until not came
    assert.is_true(n > 3)
  end

  it("leaves a watch one callback at a time, also after an error", function()
    one_at_a_time(1, "not enough memory", function() end)
  end)

  it("leaves a watch one callback at a time if it polls and then raises", function()
    one_at_a_time(0, nil, function() error(raising_hook.TEXT, 0) end) -- 0: raised before the watch knew of a callback
  end)

  it("leaves a callback that it queues again its arguments", function()
    local callbacks, record, got, n, came = client.callbacks, Callbacks.new_call(false, false), {}, 0
    local function callback(argument) got[#got + 1] = argument end
    local function tell() callbacks:tell_again(record, callback, "argument") end
    Callbacks.revoke(record)
    repeat
      n = n + 1
      tell()
      came = raising_hook.interrupt("zklock/run/callbacks.lua", n, tell, client.poll, client)
      client:poll()
    until not came
    for _, argument in ipairs(got) do assert.equal("argument", argument) end
    assert.is_true(#got >= n and n > 20)
  end)
end)
