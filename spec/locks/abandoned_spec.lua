-- SPDX-License-Identifier: MIT
--- Owners that end without a release: the client releases their holds and waits, and counts them.

local collect = require "spec.support.collect"
local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"

local SESSION = 600 -- seconds: nothing here waits for the servers to end a session
local PATIENCE = wait.PATIENCE
--- Plain Lua 5.1 cannot yield across pcall: there a callback that waits holds up the caller that polls.
local can_park = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

describe("an abandoned lock", function()
  local here = fixture.new("/abandoned", { session_timeout = SESSION })
  local client, other, lock, path, errors

  setup(function() other = here:second_process() end)

  before_each(function()
    path, errors = here.path, {}
    client = here:connect { on_error = function(message) errors[#errors + 1] = message end }
    lock = client:mutex(path)
  end)

  after_each(function() assert.same({}, errors) end)

  --- Polls and collects until n were given back, and looks at the servers that they really were.
  local function given_back(n, at)
    wait.eventually(function()
      collect()
      client:poll(0.01)
      return client:stats().abandoned >= n and #here:nodes(at) == 0
    end, PATIENCE, ("%d given back"):format(n))
    local stats = client:stats()
    assert.same({ n, 0, 0 }, { stats.abandoned, stats.held, stats.waiting })
  end

  it("is released after its owner has raised an error", function()
    local thread = coroutine.create(function()
      assert(lock:acquire(PATIENCE))
      error("in the middle")
    end)
    assert.is_false((coroutine.resume(thread)))
    given_back(1)
    assert.is_false(lock:is_held(thread))
    assert.same({ nil, "not owner" }, { lock:release(thread) })
  end)

  it("is released after its owner was closed", function()
    if not coroutine.close then return pending("only Lua 5.4 closes coroutines") end
    local thread = coroutine.create(function()
      assert(lock:acquire(PATIENCE))
      coroutine.yield()
    end)
    assert(coroutine.resume(thread))
    client:poll()
    assert.is_true(lock:is_held(thread))
    assert.is_true(coroutine.close(thread))
    given_back(1)
  end)

  it("is released with all other holds of the owner, of any kind and count", function()
    local thread = coroutine.create(function()
      for _ = 1, 3 do assert(lock:acquire(PATIENCE)) end
      assert(lock:guard(PATIENCE))
      local guard = assert(client:mutex(path .. "/guarded"):guard(PATIENCE))
      assert(client:mutex(path .. "/more"):acquire(PATIENCE))
      coroutine.yield(guard)
    end)
    local _, guard = coroutine.resume(thread)
    coroutine.resume(thread)
    given_back(3, path .. "/guarded")
    assert.is_false(guard:is_held())
    assert.is_nil(guard:token())
    assert.same({ "guarded", "more" }, here:nodes())
    assert.same({}, here:nodes(path .. "/more"))
  end)

  it("goes to the next waiter, in this process and in others", function()
    local tokens = {}
    local thread = coroutine.create(function()
      tokens[1] = lock:acquire(PATIENCE)
      coroutine.yield()
    end)
    coroutine.resume(thread)
    other:begin("acquire", path, PATIENCE)
    here:becomes(2)
    local request = lock:request(PATIENCE, function(token) tokens[3] = token end)
    here:becomes(3)
    coroutine.resume(thread)
    client:poll()
    tokens[2] = other:finish(PATIENCE)
    assert.is_nil(tokens[3])
    assert.is_true(other:release(path))
    here:eventually(function() return tokens[3] end)
    assert.is_true(tokens[1] < tokens[2] and tokens[2] < tokens[3])
    assert.is_true(request:release())
    assert.equal(1, client:stats().abandoned)
  end)

  it("is released for each of hundreds of collected owners, and keeps none of them alive", function()
    local many, seen = 100, setmetatable({}, { __mode = "k" })
    local function hold(i)
      local thread = coroutine.create(function()
        assert(client:mutex(path .. "/" .. i):acquire(PATIENCE))
        coroutine.yield()
      end)
      assert(coroutine.resume(thread))
      seen[thread] = true
    end
    for i = 1, many do hold(i) end
    assert.equal(many, client:stats().acquired)
    wait.eventually(function()
      collect()
      client:poll()
      return client:stats().abandoned == many
    end)
    assert.is_true(client:flush(PATIENCE))
    for i = 1, many do assert.same({}, here:nodes(path .. "/" .. i)) end
    collectgarbage()
    collectgarbage()
    assert.is_nil((next(seen)))
  end)

  it("ends the waits of other coroutines for the same owner", function()
    local thread = coroutine.create(function() coroutine.yield() end)
    coroutine.resume(thread)
    assert(other:acquire(path, PATIENCE))
    local alarm = client:mutex(path .. "-alarm"):request(PATIENCE, function() coroutine.resume(thread) end)
    assert.same({ nil, "cancelled" }, { lock:acquire(PATIENCE, thread) })
    assert.equal("dead", coroutine.status(thread))
    here:becomes(1)
    assert.is_true(other:release(path))
    assert.is_true(alarm:release())
    given_back(1)
  end)

  -- A callback may wait: then its coroutine sleeps, and another may end it.
  it("is released after a waiting callback was closed, and no error is reported", function()
    if not coroutine.close then return pending("only Lua 5.4 closes coroutines") end
    local thread, answered
    assert(other:acquire(path, PATIENCE))
    local seen = setmetatable({}, { __mode = "k" })
    client:mutex(path .. "-first"):request(PATIENCE, function()
      thread = coroutine.running()
      seen[thread] = true
      answered = { lock:acquire(PATIENCE) }
    end)
    here:eventually(function() return #here:nodes() == 2 end, "the callback's wait")
    assert.is_true(coroutine.close(thread))
    thread = nil
    here:eventually(function() return #here:nodes() == 1 end, "the end of its node")
    assert.is_true(other:release(path))
    given_back(2) -- the wait, and the request that was dropped
    assert.is_nil(answered)
    collectgarbage()
    collectgarbage()
    assert.is_nil((next(seen)))
  end)

  it("loses only the guard's count when a guard is dropped", function()
    assert(lock:acquire(PATIENCE))
    assert(lock:guard(PATIENCE)) -- and dropped
    for _ = 1, 3 do collectgarbage() end
    client:poll()
    assert.is_true(lock:is_held())
    assert.equal(1, #here:nodes())
    assert.is_true(lock:release())
    assert.same({ nil, "not owner" }, { lock:release() })
    assert.is_true(client:flush(PATIENCE))
    given_back(0)
  end)

  -- More leases than a poll looks at: some of the calls go on before the client has looked at their owner.
  it("is released, not lost, when its lease is collected during a guarded write", function()
    if not can_park then return pending("not in plain Lua 5.1") end
    local proxy, many = here:proxy(), 100
    local cut_off = here:connect_to(proxy.hosts, { session_timeout = SESSION })
    local pool, leases, requests = cut_off:semaphore(path, many), {}, {}
    for i = 1, many do
      requests[i] = pool:request(PATIENCE, function(lease) leases[#leases + 1] = lease end)
    end
    here:eventually(function() return #leases == many end, "the leases")
    proxy:refuse()
    proxy:cut()
    here:eventually(function() return cut_off:state() ~= "connected" end, "the end of the link")
    local begun, answers = 0, {}
    for i = 1, many do
      cut_off:mutex(path .. "/" .. i):request(0, function()
        begun = begun + 1
        local results, err = requests[i]:multi({ { "delete", path .. "/none" } }, PATIENCE)
        answers[#answers + 1] = results and "done" or err
      end)
    end
    here:eventually(function() return begun == many end, "the calls")
    assert.same({}, answers)
    leases = {}
    wait.eventually(function()
      collect()
      cut_off:poll(0.01)
      return #answers == many
    end, PATIENCE, "the answers")
    local states = {}
    for _, request in ipairs(requests) do states[request:state()] = (states[request:state()] or 0) + 1 end
    assert.same({ released = many }, states)
  end)

  it("is released once for each dropped guard and request", function()
    local granted = 0
    for i = 1, 10 do
      assert(client:mutex(path .. "/guard-" .. i):guard(PATIENCE))
      client:mutex(path .. "/request-" .. i):request(PATIENCE, function() granted = granted + 1 end)
    end
    here:eventually(function() return granted == 10 end)
    given_back(20, path .. "/request-10")
    assert.is_true(client:flush(PATIENCE))
    for _, name in ipairs(here:nodes()) do assert.same({}, here:nodes(path .. "/" .. name)) end
    assert.equal(20, client:stats().acquired)
    assert.equal(20, client:stats().released)
  end)
end)
