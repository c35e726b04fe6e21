-- SPDX-License-Identifier: MIT
--- The contract between zklock and an event loop, with a small loop that keeps it.

local finalizer = require "zklock.base.finalizer"
local collect = require "spec.support.collect"
local inspector = require "spec.support.inspector"
local interpreted = require "spec.support.interpreted"
local select_loop = require "spec.support.select_loop"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"
local zklock = require "zklock"

local NOWHERE = "127.0.0.1:1"
local PATIENCE = wait.PATIENCE

describe("a loop's adapter", function()
  local function copy(changes)
    local adapter = {}
    for name, value in pairs(select_loop.new().adapter) do adapter[name] = value end
    for name, value in pairs(changes) do
      adapter[name] = value
      if value == "missing" then adapter[name] = nil end
    end
    return adapter
  end

  local function connect(loop)
    return pcall(function()
      local client, err = zklock.connect(NOWHERE, { connect_timeout = 0, loop = loop })
      return client, err
    end)
  end

  it("is refused by the name of the field that is wrong", function()
    for field, cases in pairs {
      name = { missing = "missing", [7] = "a number" },
      wait = { missing = "missing", [7] = "a number" },
      wake = { missing = "missing", yes = "a string" },
      watch = { [7] = "a number" }, spawn = { [7] = "a number" },
      settle = { [7] = "a number" }, can_wait = { [true] = "a boolean" },
      unfit = { no = "a string" }, owner = { [7] = "a number" }, report = { [7] = "a number" },
      background = { [1] = "a number" },
    } do
      for value, got in pairs(cases) do
        local ok, err = connect(copy { [field] = value })
        assert.is_false(ok)
        assert.matches("bad argument 'options.loop': the adapter's field '" .. field .. "' must be a ", err)
        assert.matches("is " .. got, err, 1, true)
        assert.matches("^spec/loops/loop_spec.lua:", err)
      end
    end
  end)

  it("of an unknown name is refused with the names that there are", function()
    local ok, err = connect("nonesuch")
    assert.is_false(ok)
    assert.matches("'blocking'", err)
    assert.matches("got 'nonesuch'", err)
  end)

  it("that says it is unfit makes connect raise what it says", function()
    local ok, err = connect(copy { unfit = function() return "not here, but there" end })
    assert.is_false(ok)
    assert.matches("^spec/loops/loop_spec.lua:%d+: not here, but there$", err)
  end)

  it("that cannot wait now makes every waiting call say so, and asks the servers nothing", function()
    local can = true
    local adapter = copy { can_wait = function()
      if can then return true end
      return nil, "cannot wait in phase dinner"
    end }
    local client = assert(zklock.connect(NOWHERE, { connect_timeout = 0, loop = adapter }))
    local lock = client:mutex("/loop/refused")
    can = false
    local refused = { nil, "cannot wait in phase dinner" }
    assert.same(refused, { lock:acquire() })
    assert.same(refused, { lock:acquire(0, "somebody") })
    assert.same(refused, { lock:with(1, error) })
    assert.same(refused, { lock:guard(1) })
    assert.same(refused, { lock:participants(1) })
    assert.same(refused, { client:flush(1) })
    assert.same(refused, { client:poll(1) })
    assert.same(refused, { client:sleep(1) })
    assert.same(refused, { zklock.connect(NOWHERE, { connect_timeout = 1, loop = adapter }) })
    assert.same({ false, nil, 0, 0 }, { lock:is_held(), lock:token(), lock:validity(), (client:poll()) })
    assert.same({ nil, "not owner" }, { lock:release() })
    assert.equal("waiting", lock:request(nil, function() end):state())
    assert.equal(1, client:stats().waiting)
    can = true
    client:close()
  end)

  it("that runs in the background is not waited for", function()
    local adapter = copy { background = true }
    local client = assert(zklock.connect(NOWHERE, { loop = adapter }))
    assert.equal("connecting", client:state())
    assert.is_true(client:close())
    assert.equal("closed", client:state())
  end)
end)

describe("a client in a loop", function()
  local zk, tree, path, loop, client, other, count

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
    other = worker.start()
    assert(other:connect(zk.hosts))
    count = 0
  end)

  before_each(function()
    count = count + 1
    path = "/loop/" .. count
    loop = select_loop.new()
    client = assert(zklock.connect(zk.hosts, { loop = loop.adapter }))
  end)

  after_each(function()
    if client then client:close() end
    assert.same({}, loop.errors)
    assert.same({}, loop.watched)
  end)

  teardown(function()
    other:close()
    other:kill()
    tree:delete_tree("/loop")
    tree:close()
  end)

  it("lets the others run while a coroutine waits", function()
    local lock, inside, most, done = client:mutex(path), 0, 0, 0
    for _ = 1, 20 do
      loop.spawn(function()
        assert(lock:acquire(PATIENCE))
        inside = inside + 1
        most = math.max(most, inside)
        assert(client:mutex(path .. "-2"):acquire(PATIENCE)) -- waits inside, so that others could come in
        assert(client:mutex(path .. "-2"):release())
        inside = inside - 1
        assert(lock:release())
        done = done + 1
      end)
    end
    loop.run(function() return done == 20 or loop.errors[1] end)
    assert.equal(1, most)
    assert.same({ 40, 40 }, { client:stats().acquired, client:stats().released })
  end)

  it("ends a wait at its deadline, also that of one who waits for his own other coroutine", function()
    assert(other:acquire(path, PATIENCE))
    local lock, long, short = client:mutex(path), nil, nil
    loop.spawn(function() long = { lock:acquire(PATIENCE, "me") } end)
    loop.spawn(function() short = { lock:acquire(0.1, "me") } end)
    loop.run(function() return short end)
    assert.same({ nil, "timeout" }, short)
    assert.is_nil(long)
    assert(other:release(path))
    loop.run(function() return long end)
    assert.is_number(long[1])
  end)

  describe("told of a release with another coroutine behind it", function()
    local lock, waiting, came

    --- The first is answered behind a node's create and list, the second behind what those had it ask for.
    local function settle()
      for _ = 1, 2 do assert(client:mutex(path .. "-2"):participants(PATIENCE)) end
    end

    --- The main program holds, and a coroutine waits behind it with a node, or a place, that is watched.
    ---@return table one with `lock`, `waiter`, and `came` once the coroutine has got it
    local function queue_at(its_path, options)
      local one, former = { lock = client:mutex(its_path, options), came = false }, next(loop.waiting)
      assert(one.lock:acquire(PATIENCE))
      loop.spawn(function()
        assert(one.lock:acquire(PATIENCE))
        one.came = true
        assert(one.lock:release())
      end)
      loop.run(function()
        for waiter in pairs(loop.waiting) do one.waiter = waiter ~= former and waiter or one.waiter end
        return one.waiter
      end)
      settle()
      assert.is_false(one.waiter.done)
      return one
    end

    local function queue(options)
      local one = queue_at(path, options)
      lock, waiting, came = one.lock, one.waiter, function() return one.came end
    end

    for name, options in pairs { ["a place"] = { fair = false }, ["a line"] = {} } do
      it("wakes that one before the release returns: in " .. name, function()
        queue(options)
        assert.is_true(lock:release())
        assert.is_true(waiting.done)
        assert.is_false(came()) -- not inside of the release
        assert.equal(1, #loop.due)
        loop.run(came)
      end)
    end

    it("wakes it later if that fails for want of memory, and the release answers all the same", function()
      queue { fair = false }
      local waits = client.waits
      waits.wake = function()
        waits.wake = nil
        error("not enough memory", 0)
      end
      assert.is_true(lock:release())
      assert.is_nil(rawget(waits, "wake"))
      assert.is_false(waiting.done)
      loop.run(came)
    end)

    it("wakes each once, also if whoever is being told releases another one", function()
      local first, second = queue_at(path, { fair = false }), queue_at(path .. "-3", { fair = false })
      local woken, wake = {}, loop.adapter.wake
      function loop.adapter.wake(waiter)
        woken[#woken + 1] = waiter
        if #woken == 1 then assert(second.lock:release()) end
        wake(waiter)
      end
      assert.is_true(first.lock:release())
      assert.is_true(#woken == 2 and woken[1] == first.waiter and woken[2] == second.waiter)
      loop.run(function() return first.came and second.came end)
    end)

    it("by a finalizer, which comes between any two steps, leaves that to the next turn", function()
      if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then return pending("plain 5.1 cannot tell") end
      queue { fair = false }
      local released
      finalizer(lock, function(its_lock) released = its_lock:release() end)
      collectgarbage()
      assert.is_true(released)
      assert.is_false(waiting.done)
      loop.run(came)
    end)

    for name, step in pairs {
      ["before he has"] = { require "zklock.run.waits", "new_waiter" },
      ["before the loop has suspended him"] = { false, "wait" },
    } do
      it("by a finalizer or a hook of him who begins to wait for it, lets him in: " .. name, function()
        lock, came = client:mutex(path, { fair = false }), false
        assert(lock:acquire(PATIENCE, "another owner"))
        settle()
        local class = step[1] or loop.adapter
        local original = class[step[2]]
        class[step[2]] = function(...)
          class[step[2]] = original
          assert(lock:release("another owner"))
          return original(...)
        end
        loop.spawn(function()
          assert(lock:acquire(PATIENCE))
          came = true
        end)
        loop.run(function() return came end)
        assert.equal(original, class[step[2]])
      end)
    end
  end)

  it("runs callbacks without a poll, in coroutines that may wait in its way", function()
    if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then return pending("plain 5.1 does not yield in a pcall") end
    local token, turned
    local request = client:mutex(path):request(PATIENCE, function(granted)
      assert(other:acquire(path .. "-2", PATIENCE))
      loop.spawn(function()
        turned = true -- nobody else could while the callback blocked
        assert(other:release(path .. "-2"))
      end)
      assert(client:mutex(path .. "-2"):acquire(PATIENCE))
      token = granted
    end)
    loop.run(function() return token end)
    assert.is_true(turned)
    loop.run(function() return client:stats().held == 1 end) -- what the callback held, it gave back at its end
    assert(request:release())
  end)

  it("reports the error of a callback and goes on", function()
    if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then return pending("plain 5.1 does not yield in a pcall") end
    local reports, called = {}, false
    loop.adapter.report = function(message) reports[#reports + 1] = message end
    client:mutex(path):request(PATIENCE, function() error("a bad callback") end)
    client:mutex(path .. "-2"):request(PATIENCE, function() called = true end)
    loop.run(function() return called and reports[1] end)
    assert.equal(1, #reports)
    assert.matches("a bad callback", reports[1])
    assert.matches("stack traceback", reports[1])
  end)

  for name, step in pairs { instruction = { "", 1, level = 2 }, call = { "c", 0, level = 3 } } do
    it("calls each callback once though a hook raises in the loop's coroutine, at each " .. name, function()
      if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then return pending("plain 5.1 does not yield in a pcall") end
      local compile = interpreted()
      client:close()
      local told, n, spawn = 0, 0, loop.adapter.spawn
      local raised, called
      client = assert(zklock.connect(zk.hosts, { loop = loop.adapter, on_error = function() told = told + 1 end }))
      --- At the n-th instruction or call of `run` that is in callbacks.lua, but not in the little that catches what is
      --- raised.
      local function with_hook(_, run)
        loop.adapter.spawn = spawn
        return spawn(client, function()
          local thread, left = coroutine.running(), n
          debug.sethook(function()
            local frame = debug.getinfo(step.level, "Sf")
            local is_ours = frame and frame.func ~= run and frame.source:find("callbacks.lua", 1, true)
            if coroutine.running() ~= thread or not is_ours then return end
            left = left - 1
            if left > 0 then return end
            debug.sethook()
            raised = true
            error("the hook", 0)
          end, step[1], step[2])
          run()
          debug.sethook()
        end)
      end
      repeat
        n, raised, called, told = n + 1, false, 0, 0
        loop.adapter.spawn = with_hook
        client:spawn(function() called = called + 1 end)
        loop.run(function()
          return (raised or called == 1) and not next(loop.due) and not client.callbacks:is_pending()
        end)
        assert.same({ raised and 1 or 0, 1 }, { told, called }, n)
      until not raised
      compile()
      assert.is_true(n > (name == "call" and 3 or 15))
    end)
  end

  it("calls each once although a finalizer polls, and has one more called, when it is about to begin one", function()
    if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then return pending("plain 5.1 spawns none") end
    local called, spawn, polled = {}, loop.adapter.spawn, false
    loop.adapter.spawn = nil
    setmetatable(loop.adapter, { __index = function(_, name) -- a step that comes before it, and allocates like others
      if name ~= "spawn" then return nil end
      if not polled then
        polled = true
        client:poll()
        client:spawn(function() called[#called + 1] = "second" end)
      end
      return spawn
    end })
    client:spawn(function() called[#called + 1] = "first" end)
    loop.run(function() return #called > 0 and not client.callbacks:is_pending() and not next(loop.due) end)
    assert.same({ "first", "second" }, called)
    assert.is_true(polled)
  end)

  it("waits as without a loop where nothing can be suspended", function()
    assert(client:mutex(path):acquire(PATIENCE))
    assert.is_true(client:flush(PATIENCE))
    assert.is_true(client:mutex(path):release())
  end)

  it("waits in poll until the loop has run a callback", function()
    local polled, called
    loop.spawn(function() polled = client:poll(PATIENCE) end)
    loop.spawn(function() client:mutex(path):request(PATIENCE, function() called = true end) end)
    loop.run(function() return polled and called end)
    assert.equal(1, polled)
    local late
    loop.spawn(function() late = client:poll(0.05) end)
    loop.run(function() return late end)
    assert.equal(0, late)
  end)

  it("closed in the loop, lets the others run, answers who waits, and ends the watch once", function()
    assert(other:acquire(path, PATIENCE))
    local answer, closed, polled
    loop.spawn(function() answer = { client:mutex(path):acquire() } end)
    loop.spawn(function() polled = { client:poll(PATIENCE) } end)
    loop.spawn(function() closed = client:close() end)
    loop.run(function() return answer and closed and polled end)
    assert.same({ nil, "closed" }, answer)
    assert.same({ 0 }, polled)
    assert.is_true(client:close())
    assert.equal(1, loop.stopped)
    wait.eventually(function() return #tree:children(path) == 1 end)
    assert(other:release(path))
  end)

  it("dropped, is closed, and its watch ends", function()
    local function use()
      loop.spawn(function() assert(client:mutex(path):acquire(PATIENCE)) client = nil end)
      loop.run(function() return not client end)
    end
    use()
    loop.run(function()
      collect()
      return #(tree:children(path) or {}) == 0 and loop.stopped == 1
    end)
  end)

  it("dropped with a request that waits, tells the answer before it is closed", function()
    assert(other:acquire(path, PATIENCE))
    local answer
    local function use()
      client:mutex(path):request(PATIENCE, function(got, err) answer = { got, err } end)
      client = nil
    end
    use()
    for _ = 1, 5 do
      collectgarbage()
      loop.turn()
    end
    assert(other:release(path))
    loop.run(function() return answer end)
    assert.is_number(answer[1])
    loop.run(function()
      collect()
      return loop.stopped == 1
    end)
  end)

  it("gives back what a coroutine that ended held", function()
    local done
    loop.spawn(function() done = client:mutex(path):acquire(PATIENCE) end)
    loop.run(function() return done end)
    loop.spawn(function() done = client:mutex(path):acquire(PATIENCE) and "again" end)
    loop.run(function() return done == "again" end)
    loop.run(function()
      client:poll()
      return client:stats().held == 0
    end)
    assert.equal(2, client:stats().abandoned)
  end)
end)
