-- SPDX-License-Identifier: MIT
--- Watches: the latest state of a node, over everything that happens.

local fixture = require "spec.support.fixture"
local interpreted = require "spec.support.interpreted"
local session = require "spec.support.session"
local wait = require "spec.support.wait"
local zklock = require "zklock"

describe("a watch", function()
  local here = fixture.new("/watch", { super = true })
  local client, path

  before_each(function() client, path = here:connect(), here.path end)

  local function make(data, at) assert(here.tree:create(at or path, data, { parents = true })) end
  local function set(data, at) assert(here.tree:set(at or path, data)) end

  --- The values that its function was called with: data or "no node", in order; and the watch.
  local function watch(of, at)
    local seen = { stats = {} }
    local one = assert((of or client):watch(at or path, function(data, stat)
      seen[#seen + 1] = data or stat
      seen.stats[#seen] = data and stat or false
    end))
    return seen, one
  end

  local function watch_children(of)
    local seen = {}
    local one = assert((of or client):watch_children(path, function(names, stat)
      seen[#seen + 1] = names and table.concat(names, " ") or stat
    end))
    return seen, one
  end

  local function becomes(seen, last)
    here:eventually(function() return seen[#seen] == last end, "the watch to tell of " .. last)
  end

  it("tells what is there now, and after each change", function()
    make("1")
    local seen = watch()
    becomes(seen, "1")
    set("2")
    becomes(seen, "2")
    set("3")
    becomes(seen, "3")
    assert.same({ "1", "2", "3" }, { seen[1], seen[2], seen[3] })
    assert.equal(2, seen.stats[3].version)
  end)

  it("tells all the same what a hook has kept its callback from telling", function()
    make("0")
    local create, n, raised, latest = coroutine.create, 0
    local compile = interpreted()
    local patient = here:connect { on_error = function() end }
    local function tell(data) latest = data end
    assert(patient:watch(path, tell))
    -- At the n-th instruction of the callback's coroutine that is not the listener's own, and then at none any more.
    local function with_hook(fn)
      local thread = create(fn)
      local left = n
      local function hook()
        local function runs(level, what) return (debug.getinfo(level + 1, "f") or {}).func == what end
        if coroutine.running() ~= thread or runs(2, tell) or runs(3, xpcall) then return end
        left = left - 1
        if left > 0 then return end
        debug.sethook(thread)
        raised = true
        error("the hook", 0)
      end
      debug.sethook(thread, hook, "", 1)
      return thread
    end
    repeat
      n, raised = n + 1, false
      set(tostring(n))
      coroutine.create = with_hook -- luacheck: ignore 122
      wait.eventually(function()
        pcall(patient.poll, patient)
        return raised or latest == tostring(n)
      end, here.patience, "a callback to begin")
      coroutine.create = create -- luacheck: ignore 122
      debug.sethook()
      wait.eventually(function()
        patient:poll()
        return latest == tostring(n)
      end, here.patience, ("the watch to tell after instruction %d"):format(n))
    until not raised
    compile()
    assert.is_true(n > 20)
  end)

  it("calls one function at a time, also if a hook polls before the call", function()
    make("0")
    local create, n, came = coroutine.create, 0
    local compile = interpreted()
    local other = here:connect()
    local inside, most, calls, is_over = 0, 0, 0, false
    assert(other:watch(path, function()
      inside, calls = inside + 1, calls + 1
      most = math.max(most, inside)
      for _ = 1, 100 do -- in Lua 5.1 it cannot be suspended in the hook
        if not is_over then assert(other:exists(path, here.patience)) end
      end
      inside = inside - 1
    end))
    local function change()
      set("changed")
      for _ = 1, 3 do assert(other:exists(path, here.patience)) end -- it knows of the change by then
    end
    -- At the n-th instruction of the callback's coroutine, and then at none any more.
    local function with_hook(fn)
      coroutine.create = create -- luacheck: ignore 122
      local thread = create(fn)
      local left = n
      debug.sethook(thread, function()
        left = left - 1
        if left > 0 or coroutine.running() ~= thread then return end
        debug.sethook(thread)
        came = inside == 0
        change()
        change()
      end, "", 1)
      return thread
    end
    repeat
      n, came, calls, is_over = n + 1, false, 0, false
      coroutine.create = with_hook -- luacheck: ignore 122
      set(tostring(n))
      wait.eventually(function()
        other:poll()
        return calls > 0
      end, here.patience, "the call")
      coroutine.create = create -- luacheck: ignore 122
      debug.sethook()
      is_over = true
      wait.eventually(function()
        other:poll()
        return inside == 0
      end, here.patience, "its end")
    until not came
    compile()
    assert.equal(1, most)
    assert.is_true(n > 20)
  end)

  local ENDS = {
    closed = coroutine.close and function(kept) coroutine.close(kept.thread) end,
    dropped = function(kept)
      kept.thread = nil
      collectgarbage()
    end,
  }
  for name, finish in pairs(ENDS) do
    it("tells on when the coroutine that its callback waited in was " .. name, function()
      if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then return end -- a callback cannot be suspended there
      make("1")
      local seen, kept = {}, {}
      assert(client:watch(path, function(data)
        seen[#seen + 1] = data
        if data ~= "1" then return end
        kept.thread = coroutine.running()
        coroutine.yield()
      end))
      becomes(seen, "1")
      set("2")
      for _ = 1, 2 do assert(client:sync(here.patience)) end -- behind the watch, and behind what that had it read
      client:poll()
      assert.same({ "1" }, seen)
      finish(kept)
      set("3")
      becomes(seen, "3")
    end)
  end

  it("tells of a node that is not there, is made, deleted, and made again", function()
    local seen = watch()
    becomes(seen, "no node")
    make("1")
    becomes(seen, "1")
    here.tree:delete(path)
    becomes(seen, "no node")
    make("1")
    becomes(seen, "1")
    assert.same({ "no node", "1", "no node", "1" }, { seen[1], seen[2], seen[3], seen[4] })
  end)

  it("of children tells of those that come and go, and of their parent", function()
    local seen = watch_children()
    becomes(seen, "no node")
    make("")
    becomes(seen, "")
    make("", path .. "/b")
    becomes(seen, "b")
    make("", path .. "/a")
    becomes(seen, "a b")
    set("x")
    here.tree:delete(path .. "/b")
    becomes(seen, "a")
    here.tree:delete(path .. "/a")
    here.tree:delete(path)
    becomes(seen, "no node")
  end)

  it("makes one request for each change", function()
    make("1")
    local rare = here:connect { session_timeout = 600 }
    assert(rare:sync(here.patience)) -- the first heartbeat has been answered, and the next one comes minutes later
    local seen = watch(rare)
    becomes(seen, "1")
    local before = rare:stats().requests_sent
    set("2")
    becomes(seen, "2")
    assert.equal(before + 1, rare:stats().requests_sent)
  end)

  it("calls one at a time, with the latest state", function()
    if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then return end -- there a callback that waits waits for all
    make("1")
    local inside, most, seen = 0, 0, {}
    assert(client:watch(path, function(data)
      inside = inside + 1
      most = math.max(most, inside)
      seen[#seen + 1] = data
      if data == "1" then assert(client:mutex(path .. "/lock"):acquire(here.patience)) end
      inside = inside - 1
    end))
    local holder = here:second_process()
    assert(holder:acquire(path .. "/lock", here.patience))
    here:eventually(function() return #seen == 1 end, "the first call")
    for i = 2, 9 do set(("%d"):format(i)) end
    client:poll(0.05)
    assert.same({ "1" }, seen)
    assert(holder:release(path .. "/lock"))
    becomes(seen, "9")
    assert.equal(1, most)
    assert.is_true(#seen <= 4) -- what was known at the release, what was being read, the last
  end)

  it("goes on over a cut, a new session, and one that nobody can carry on", function()
    local way = here:proxy()
    local far = here:connect_to(way.hosts)
    make("1")
    local seen, names = watch(far), watch_children(far)
    becomes(seen, "1")
    becomes(names, "")
    way:refuse()
    way:cut()
    set("2")
    make("", path .. "/x")
    way:heal()
    becomes(seen, "2")
    becomes(names, "x")
    local victim = way:sessions()[#way:sessions()]
    way:refuse()
    way:cut()
    session.expire(here.zk.hosts, victim)
    set("3")
    here.tree:delete(path .. "/x")
    way:heal()
    becomes(seen, "3")
    becomes(names, "")
    here:eventually(function() return far:stats().sessions == 2 end, "another session")
    set("4")
    becomes(seen, "4")
    for i = 2, #seen do assert.is_true(seen[i] > seen[i - 1], table.concat(seen, " ")) end
  end)

  it("of a node that may not be read from the beginning says so", function()
    assert(here.tree:create(path, "1", { parents = true, acl = { { perms = 30, scheme = "world", id = "anyone" } } }))
    becomes(watch(), "access denied")
  end)

  it("that is stopped is not called any more, also from inside itself", function()
    make("1")
    local seen, one = watch()
    becomes(seen, "1")
    local other, calls = nil, 0
    other = assert(client:watch(path, function()
      calls = calls + 1
      other:stop()
    end))
    here:eventually(function() return calls == 1 end, "the call")
    one:stop()
    one:stop()
    local last = watch()
    set("2")
    becomes(last, "2")
    assert.same({ "1" }, { seen[1], seen[2] })
    assert.equal(1, calls)
  end)

  it("leaves no watch behind at the server when it is stopped", function()
    make("1")
    local function watches() return tonumber(here.zk:mntr().watch_count) end
    local before = watches()
    local seen, one = watch()
    local names, two = watch_children()
    local nobody, three = watch(nil, path .. "/none")
    becomes(seen, "1")
    becomes(names, "")
    becomes(nobody, "no node")
    assert.equal(before + 3, watches())
    one:stop()
    two:stop()
    three:stop()
    here:eventually(function() return watches() == before end, "the server to forget them")
  end)

  it("of a lock's directory goes on when the lock takes its own watch back", function()
    local pool = client:semaphore(path, 1)
    local seen = {}
    assert(client:watch_children(path .. "/leases", function(names, err) seen[#seen + 1] = names and #names or err end))
    local first = assert(pool:acquire(here.patience))
    assert.same({ nil, "timeout" }, { pool:acquire(0.2) }) -- it watches the directory, and takes that back
    becomes(seen, 1)
    first:release()
    becomes(seen, 0)
    local second = assert(pool:acquire(here.patience))
    becomes(seen, 1)
    second:release()
    becomes(seen, 0)
  end)

  it("beside another one at the same path goes on when that is stopped", function()
    make("1")
    local seen, one = watch()
    local others = watch()
    becomes(seen, "1")
    becomes(others, "1")
    one:stop()
    set("2")
    becomes(others, "2")
  end)

  it("is called from poll only, and its errors are told to on_error", function()
    make("1")
    local errors, calls = {}, 0
    local own = here:connect { on_error = function(message) errors[#errors + 1] = message end }
    assert(own:watch(path, function()
      calls = calls + 1
      error("oh", 0)
    end))
    here:eventually(function() return calls == 1 end, "the call")
    set("2")
    here:eventually(function() return calls == 2 end, "the next")
    assert.equal(2, #errors)
    assert.truthy(errors[1]:find("oh", 1, true))
  end)

  it("after close is called no more, and none begins", function()
    make("1")
    local own = here:connect()
    local seen = watch(own)
    own:close()
    assert.same({}, { seen[1] })
    assert.same({ nil, "closed" }, { own:watch(path, print) })
    assert.same({ nil, "closed" }, { own:watch_children(path, print) })
  end)

  it("that nobody has any more goes on", function()
    make("1")
    local seen = (watch())
    becomes(seen, "1")
    for _ = 1, 3 do collectgarbage() end
    set("2")
    becomes(seen, "2")
  end)

  it("is one too many when the bytes are used up, and one that is stopped makes room", function()
    local deaf = zklock.connect("127.0.0.1:1", { connect_timeout = 0 })
    local long, watches = "/" .. ("x"):rep(250) .. "/" .. ("y"):rep(250) .. "/" .. ("z"):rep(200), {}
    local err
    repeat
      watches[#watches + 1], err = deaf:watch(long .. #watches, print)
    until err
    assert.equal("too many watches", err)
    assert.is_true(#watches > 500 and #watches < 1000)
    watches[1]:stop()
    assert.is_table((deaf:watch(long .. 0, print)))
    assert.equal("too many watches", select(2, deaf:watch_children(long .. 0, print)))
    deaf:close()
  end)

  it("refuses what is no path and no function", function()
    local WRONG = {
      { "bad argument 'path'", function() client:watch("x", print) end },
      { "bad argument 'fn'", function() client:watch("/x") end },
      { "bad argument 'path'", function() client:watch_children("/x/", print) end },
      { "bad argument 'fn'", function() client:watch_children("/x", 1) end },
      { "call it with a colon", function() client.watch("/x", print) end },
    }
    for _, wrong in ipairs(WRONG) do
      local ok, err = pcall(wrong[2])
      assert.is_false(ok)
      assert.truthy(err:find(wrong[1], 1, true) and err:find("watch_spec.lua:", 1, true), err)
    end
  end)
end)
