--- The mutex on a real server: who holds, for how long, and in which order.

local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local inspector = require "spec.support.inspector"
local proxy = require "spec.support.proxy"
local session = require "spec.support.session"
local wait = require "spec.support.wait"
local wire = require "spec.support.wire"
local worker = require "spec.support.worker"
local zklock = require "zklock"

local SESSION = 6 -- seconds
local PATIENCE = 20 -- seconds: what takes milliseconds may take so long on a busy machine
local NAME = "^_c_%x+%-%x+%-4%x+%-8%x+%-%x+%-lock%-%d+$"

describe("a mutex", function()
  local here = fixture.new("/mutex", { session_timeout = SESSION, super = true })
  local zk, tree, client, other, path

  setup(function() zk, tree, client, other = here.zk, here.tree, here:connect(), here:second_process() end)

  before_each(function() path = here.path end)

  --- The other process holds the lock.
  local function taken(at) return assert(other:acquire(at or path, PATIENCE)) end

  --- Runs fn in a coroutine that ends with it; gives what it returns.
  local function in_coroutine(fn)
    local results
    local thread = coroutine.create(function() results = { fn() } end)
    assert(coroutine.resume(thread))
    return (table.unpack or unpack)(results, 1, 4) -- luacheck: ignore 113 143
  end

  --- Runs fn in a coroutine that lives on; `resume()` ends it.
  local function start(fn)
    local thread = coroutine.create(function()
      coroutine.yield(fn())
    end)
    local ok, a, b = coroutine.resume(thread)
    assert(ok, a)
    return thread, a, b
  end

  describe("acquired and released", function()
    it("is held by one process at a time", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      assert.same({ nil, "timeout" }, { other:acquire(path, 0) })
      assert.is_true(lock:release())
      assert.is_number(taken())
      assert.same({ nil, "timeout" }, { lock:acquire(0) })
      assert.is_true(other:release(path))
    end)

    it("is held by one client at a time, also within a process", function()
      local second = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
      assert(client:mutex(path):acquire(PATIENCE))
      assert.same({ nil, "timeout" }, { second:mutex(path):acquire(0) })
      assert.is_false(second:mutex(path):is_held())
      client:mutex(path):release()
      assert(second:mutex(path):acquire(PATIENCE))
      assert.is_true(second:close())
    end)

    it("makes no traffic before it is asked for", function()
      local before = client:stats().requests_sent
      local lock = client:mutex(path)
      assert.equal(path, lock:path())
      assert.is_false(lock:is_held())
      assert.is_nil(lock:token())
      assert.equal(0, lock:validity())
      assert.same({ nil, "not owner" }, { lock:release() })
      assert.equal(before, client:stats().requests_sent)
      assert.is_nil((tree:exists(path)))
    end)

    it("leaves no node behind", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      assert.equal(1, #here:nodes())
      lock:release()
      assert.is_true(client:flush(PATIENCE))
      assert.same({}, here:nodes())
    end)

    it("makes its parents as containers, which the servers clear away", function()
      local faulty = proxy.start(zk.hosts)
      local mine = assert(zklock.connect(faulty.hosts, { session_timeout = SESSION }))
      local lock = mine:mutex(path .. "/a/b")
      assert(lock:acquire(PATIENCE))
      local made = {}
      for _, request in ipairs(faulty:log()) do
        if request.op == "createContainer" then made[request.path] = true end
        assert.is_true(request.op ~= "create" and (request.op ~= "create2" or request.path:find("/_c_") ~= nil))
      end
      for _, parent in ipairs { path, path .. "/a", path .. "/a/b" } do
        assert.is_true(made[parent])
        assert(tree:exists(parent))
      end
      mine:close()
      faulty:close()
    end)

    it("makes its path again when it was deleted meanwhile", function()
      local lock = client:mutex(path .. "/a/b")
      for _ = 1, 3 do
        assert(lock:acquire(PATIENCE))
        lock:release()
        assert.is_true(client:flush(PATIENCE))
        assert.is_true(tree:delete_tree(path))
      end
    end)

    it("names its node as Curator does, for its own session", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      local name = here:nodes()[1]
      assert.matches(NAME, name)
      assert.equal(36, #name:match("^_c_(.*)%-lock%-%d+$"))
      assert.equal(10, #name:match("%d+$"))
      assert.is_true(session.same(client:session_id(), tree:exists(path .. "/" .. name).ephemeralOwner))
      lock:release()
    end)

    it("uses a new name each time", function()
      local lock, seen = client:mutex(path), {}
      for _ = 1, 5 do
        assert(lock:acquire(PATIENCE))
        local guid = here:nodes()[1]:match("^_c_(.*)%-lock%-")
        assert.is_nil(seen[guid])
        seen[guid] = true
        lock:release()
        assert.is_true(client:flush(PATIENCE))
      end
    end)

    it("answers 'not owner' to a release by one who does not hold it", function()
      local lock = client:mutex(path)
      assert.same({ nil, "not owner" }, { lock:release() })
      taken()
      assert.same({ nil, "not owner" }, { lock:release() })
      assert.is_true(other:is_held(path))
      other:release(path)
      assert(lock:acquire(PATIENCE))
      assert.is_true(lock:release())
      assert.same({ nil, "not owner" }, { lock:release() })
    end)
  end)

  describe("reentrancy", function()
    it("gives an owner that holds it the same token, and counts", function()
      local lock = client:mutex(path)
      local token = assert(lock:acquire(PATIENCE))
      assert.equal(token, lock:acquire())
      assert.equal(token, lock:acquire(0))
      assert.is_true(lock:release())
      assert.is_true(lock:release())
      assert.is_true(lock:is_held())
      assert.same({ nil, "timeout" }, { other:acquire(path, 0) })
      assert.is_true(lock:release())
      assert.is_false(lock:is_held())
      assert.same({ nil, "not owner" }, { lock:release() })
      here:becomes(0)
    end)

    it("makes no node and no request", function()
      local faulty = proxy.start(zk.hosts)
      local mine = assert(zklock.connect(faulty.hosts, { session_timeout = 40 }))
      local lock = mine:mutex(path)
      assert(lock:acquire(PATIENCE))
      wait.eventually(function() return mine:flush(PATIENCE) and #here:nodes() == 1 end)
      faulty:black_hole() -- whoever asked now would wait
      for _ = 1, 5 do assert(lock:acquire(PATIENCE)) end
      for _ = 1, 5 do assert.is_true(lock:release()) end
      faulty:heal()
      assert.is_true(lock:is_held())
      assert.equal(1, #here:nodes())
      assert.equal(1, mine:stats().acquired)
      mine:close()
      faulty:close()
      here:becomes(0)
    end)

    it("spans all handles with one path", function()
      local a, b = client:mutex(path), client:mutex(path)
      local token = assert(a:acquire(PATIENCE))
      assert.is_true(b:is_held())
      assert.equal(token, b:token())
      assert.equal(token, b:acquire(0))
      assert.is_true(a:release())
      assert.is_true(a:is_held())
      assert.is_true(b:release())
      assert.is_false(a:is_held())
    end)

    it("does not span paths", function()
      local a, b = client:mutex(path .. "/a"), client:mutex(path .. "/b")
      assert(a:acquire(PATIENCE))
      assert.is_false(b:is_held())
      assert(b:acquire(PATIENCE))
      assert.not_equal(a:token(), b:token())
      assert.is_true(a:release())
      assert.is_true(b:is_held())
      assert.is_true(b:release())
    end)

    it("lets one owner wait twice, and both get the one token", function()
      local lock = client:mutex(path)
      taken()
      local inner
      local signal = client:mutex(path .. "-signal"):request(PATIENCE, function()
        other:begin("release", path)
        inner = { lock:acquire(PATIENCE, "x") }
      end)
      local token = assert(lock:acquire(PATIENCE, "x"))
      other:finish()
      assert.same({ token }, inner)
      assert.is_true(signal:release())
      assert.is_true(lock:release("x"))
      assert.is_true(lock:is_held("x"))
      assert.is_true(lock:release("x"))
      assert.same({ nil, "not owner" }, { lock:release("x") })
      here:becomes(0)
    end)
  end)

  describe("owners", function()
    it("that wait twice wait with two deadlines", function()
      if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then return pending("a callback holds up who polls there") end
      local lock, first = client:mutex(path), nil
      taken()
      local signal = client:mutex(path .. "-signal"):request(PATIENCE, function()
        first = { lock:acquire(3, "x") }
      end)
      here:eventually(function() return signal:state() == "held" and #here:nodes() == 2 end)
      assert.same({ nil, "timeout" }, { lock:acquire(0.1, "x") })
      assert.equal(1, client:stats().waiting, "the first waits on")
      here:eventually(function() return first end)
      assert.same({ nil, "timeout" }, first)
      assert.is_true(signal:release())
      other:release(path)
      assert(lock:acquire(PATIENCE, "x"))
      assert.is_true(lock:release("x"))
    end)

    it("are coroutines: one does not release or enter what another holds", function()
      local lock = client:mutex(path)
      local thread, token = start(function() return lock:acquire(PATIENCE) end)
      assert.is_number(token)
      assert.is_false(lock:is_held())
      assert.is_true(lock:is_held(thread))
      assert.equal(token, lock:token(thread))
      assert.same({ nil, "not owner" }, { lock:release() })
      assert.same({ nil, "timeout" }, { lock:acquire(0) })
      local foreign = { in_coroutine(function() return lock:release() end) }
      assert.same({ nil, "not owner" }, foreign)
      assert.is_true(lock:release(thread))
      assert.is_false(lock:is_held(thread))
    end)

    it("the main program is one", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      assert.same({ nil, "timeout" }, { in_coroutine(function() return lock:acquire(0) end) })
      assert.is_false((in_coroutine(function() return lock:is_held() end)))
      assert.is_true(lock:release())
    end)

    local values = { "a string", "", 7, 0.5, math.huge, true, false, {}, print, function() end,
      coroutine.create(function() end) }
    for i, owner in ipairs(values) do
      it(("can be any value: %d, a %s"):format(i, type(owner)), function()
        local lock, again = client:mutex(path), client:mutex(path)
        local token = assert(lock:acquire(PATIENCE, owner))
        assert.is_true(lock:is_held(owner))
        assert.is_false(lock:is_held())
        assert.is_false(lock:is_held("somebody else"))
        assert.equal(token, again:acquire(0, owner))
        assert.equal(token, again:token(owner))
        assert.is_true(again:validity(owner) > 0)
        assert.same({ nil, "timeout" }, { lock:acquire(0, "somebody else") })
        assert.same({ nil, "not owner" }, { lock:release() })
        assert.same({ nil, "not owner" }, { lock:release("somebody else") })
        assert.is_true(again:release(owner))
        assert.is_true(in_coroutine(function() return lock:release(owner) end))
        assert.same({ nil, "not owner" }, { lock:release(owner) })
      end)
    end

    it("that are numbers are the same when they are equal", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE, 1))
      assert.is_true(lock:is_held(1.0))
      assert.is_false(lock:is_held("1"))
      assert.is_true(lock:release(1.0))
    end)

    it("that came to their end give back what they held", function()
      local lock, before = client:mutex(path), client:stats().abandoned
      in_coroutine(function() return assert(lock:acquire(PATIENCE)) end)
      client:poll()
      here:becomes(0)
      assert.equal(before + 1, client:stats().abandoned)
      assert(lock:acquire(PATIENCE))
      assert.is_true(lock:release())
    end)

    it("that came to their end do not stop the next acquire of the same process", function()
      local lock = client:mutex(path)
      in_coroutine(function() return assert(lock:acquire(PATIENCE)) end)
      assert(lock:acquire(PATIENCE))
      assert.is_true(lock:release())
    end)

    it("that were collected give back what they held", function()
      local lock, before = client:mutex(path), client:stats().abandoned
      start(function() return assert(lock:acquire(PATIENCE)) end)
      assert.equal(1, #here:nodes())
      wait.eventually(function()
        collectgarbage()
        client:poll()
        return #here:nodes() == 0
      end, PATIENCE, "the end of a collected coroutine's node")
      assert.equal(before + 1, client:stats().abandoned)
    end)

    it("hold it also when no handle is left", function()
      assert(client:mutex(path):acquire(PATIENCE, "keeper"))
      assert(client:mutex(path):acquire(0, "keeper"))
      collectgarbage()
      collectgarbage()
      client:poll()
      assert.is_true(client:mutex(path):is_held("keeper"))
      assert.equal(1, #here:nodes())
      assert.is_true(client:mutex(path):release("keeper"))
      assert.is_true(client:mutex(path):release("keeper"))
    end)
  end)

  describe("its token", function()
    it("is an integer, the creation zxid of the lock's node", function()
      local lock = client:mutex(path)
      local token = assert(lock:acquire(PATIENCE))
      assert.equal(0, token % 1)
      if math.type then assert.equal("integer", math.type(token)) end
      assert.equal(tree:exists(path .. "/" .. here:nodes()[1]).czxid, token)
      assert.equal(token, lock:token())
      assert.equal(("%d"):format(token), ("%d"):format(lock:token()))
      lock:release()
      assert.is_nil(lock:token())
    end)

    it("grows with every holder, in whatever process", function()
      local lock, last = client:mutex(path), 0
      for _ = 1, 5 do
        for _, acquire in ipairs { function() return lock:acquire(PATIENCE) end, taken } do
          local token = assert(acquire())
          assert.is_true(token > last)
          last = token
          if lock:is_held() then lock:release() else other:release(path) end
        end
      end
    end)

    it("grows also when the lock's path was made anew and its sequence began again", function()
      local lock = client:mutex(path)
      local first = assert(lock:acquire(PATIENCE))
      lock:release()
      client:flush(PATIENCE)
      tree:delete_tree(path)
      assert.is_true(assert(lock:acquire(PATIENCE)) > first)
      assert.matches("0000000000$", here:nodes()[1])
      lock:release()
    end)
  end)

  describe("its validity", function()
    it("is above 0 and less than the session timeout while it is held", function()
      local lock = client:mutex(path)
      assert.equal(0, lock:validity())
      assert(lock:acquire(PATIENCE))
      local validity = lock:validity()
      assert.is_true(validity > 0 and validity < client:session_timeout())
      assert.equal(0, lock:validity("somebody else"))
      lock:release()
      assert.equal(0, lock:validity())
    end)

    it("runs down, and is renewed while the lock is held", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      for _ = 1, 2 do
        local before = lock:validity()
        wait.eventually(function() return lock:validity() < before end, PATIENCE, "that validity falls")
        local low = lock:validity()
        wait.eventually(function()
          local now = lock:validity()
          if now > low then return true end
          low = now
        end, PATIENCE, "that validity is renewed")
      end
      lock:release()
    end)
  end)

  describe("with()", function()
    it("gives true and what the function returns, and passes it the token and the arguments", function()
      local lock, held = client:mutex(path), nil
      local function inside(token, ...)
        held = lock:is_held() and token == lock:token()
        return select("#", ...), nil, ...
      end
      local results = { n = select("#", lock:with(PATIENCE, inside, "a", nil)) }
      assert.equal(5, results.n)
      assert.same({ true, 2, nil, "a", nil }, { lock:with(PATIENCE, inside, "a", nil) })
      assert.is_true(held)
      assert.is_false(lock:is_held())
      here:becomes(0)
    end)

    it("needs no timeout", function()
      local lock = client:mutex(path)
      assert.same({ true, "x" }, { lock:with(function(token, x) return token and x end, "x") })
      assert.same({ true }, { lock:with(nil, function() end) })
    end)

    it("says why it did not acquire, and does not call the function", function()
      local lock, called = client:mutex(path), false
      taken()
      assert.same({ nil, "timeout" }, { lock:with(0, function() called = true end) })
      other:release(path)
      assert.is_false(called)
    end)

    it("releases when the function raises, and raises the same; a text with the way to where it was raised", function()
      local lock, problem = client:mutex(path), {}
      local ok, err = pcall(lock.with, lock, PATIENCE, function() error(problem) end)
      assert.is_false(ok)
      assert.equal(problem, err)
      assert.is_false(lock:is_held())
      here:becomes(0)
      local function deep_inside() error("a text", 0) end
      ok, err = pcall(lock.with, lock, function() lock:with(function() deep_inside() return 1 end) end)
      assert.is_false(ok)
      assert.matches("^a text\nstack traceback:\n", err)
      assert.matches("in .-'deep_inside'", err)
      assert.equal(1, select(2, err:gsub("stack traceback", "")))
      assert.is_false(lock:is_held())
    end)

    it("is reentrant", function()
      local lock = client:mutex(path)
      assert.same({ true, true, "deep" }, { lock:with(function()
        return lock:with(0, function() return "deep" end)
      end) })
      assert.is_false(lock:is_held())
      assert(lock:acquire(PATIENCE))
      lock:with(0, function() end)
      assert.is_true(lock:is_held())
      lock:release()
    end)
  end)

  describe("guard()", function()
    it("holds until it is released; twice is fine", function()
      local lock = client:mutex(path)
      local guard = assert(lock:guard(PATIENCE))
      assert.is_true(guard:is_held())
      assert.is_true(lock:is_held())
      assert.equal(lock:token(), guard:token())
      assert.is_true(guard:release())
      assert.is_true(guard:release())
      assert.is_false(guard:is_held())
      assert.is_nil(guard:token())
      assert.is_false(lock:is_held())
      here:becomes(0)
    end)

    it("says why it did not acquire", function()
      taken()
      assert.same({ nil, "timeout" }, { client:mutex(path):guard(0) })
      other:release(path)
    end)

    it("counts with the other holds of its owner", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      local guard, second = assert(lock:guard(0)), assert(lock:guard(0))
      guard:release()
      guard:release()
      second:release()
      assert.is_true(lock:is_held())
      assert.is_true(lock:release())
      assert.is_false(lock:is_held())
    end)

    it("releases when it is collected", function()
      local lock, before = client:mutex(path), client:stats().abandoned
      assert(lock:guard(PATIENCE)) -- and dropped
      wait.eventually(function()
        collectgarbage()
        client:poll()
        return #here:nodes() == 0
      end, PATIENCE, "the end of a collected guard's node")
      assert.is_false(lock:is_held())
      assert.equal(before + 1, client:stats().abandoned)
      assert(lock:acquire(PATIENCE))
      assert.is_true(lock:release())
    end)

    it("that was released does not release again when it is collected", function()
      local lock = client:mutex(path)
      local guard = assert(lock:guard(PATIENCE))
      guard:release()
      assert(lock:acquire(PATIENCE))
      guard = nil -- luacheck: ignore 311
      collectgarbage()
      collectgarbage()
      client:poll()
      assert.is_true(lock:is_held())
      assert.is_true(lock:release())
    end)

    it("is closed at the end of its block, also by an error", function()
      if _VERSION ~= "Lua 5.4" then return pending("only Lua 5.4 has to-be-closed variables") end
      local run = assert(load([[
        local lock, patience, problem = ...
        local held
        do
          local guard <close> = assert(lock:guard(patience))
          held = lock:is_held()
        end
        local after = lock:is_held()
        local ok, err = pcall(function()
          local guard <close> = assert(lock:guard(patience))
          error(problem)
        end)
        do local guard <close> = lock:guard(patience) guard:release() end
        return held, after, ok, err
      ]]))
      local lock, problem = client:mutex(path), {}
      assert.same({ true, false, false, problem }, { run(lock, PATIENCE, problem) })
      assert.is_false(lock:is_held())
      here:becomes(0)
    end)
  end)

  describe("request()", function()
    it("answers through poll alone, once, with the token", function()
      local lock, list, callback = client:mutex(path), here.answers()
      local request = lock:request(PATIENCE, callback)
      assert.equal("waiting", request:state())
      assert.is_nil(request:token())
      here:becomes(1)
      assert.same({}, list)
      here:eventually(function() return #list > 0 end, "the answer")
      assert.equal("held", request:state())
      assert.same({ { request:token() } }, list)
      assert.is_true(request:is_held())
      assert.is_true(request:validity() > 0)
      assert.equal(tree:exists(path .. "/" .. here:nodes()[1]).czxid, request:token())
      assert.is_true(request:release())
      assert.equal("released", request:state())
      assert.is_nil(request:token())
      assert.is_false(request:is_held())
      assert.equal(0, request:validity())
      assert.same({ nil, "not owner" }, { request:release() })
      client:flush(PATIENCE)
      client:poll()
      assert.equal(1, #list)
      here:becomes(0)
    end)

    it("is what its callback gets", function()
      local seen = {}
      local lock, semaphore = client:mutex(path), client:semaphore(path .. "-leases", 1)
      local function callback(got, err, request)
        seen[request] = { got ~= nil, err, request:is_held() }
      end
      local held = lock:request(PATIENCE, callback)
      local refused = lock:request(0, callback)
      local lease = semaphore:request(PATIENCE, callback)
      here:eventually(function() return seen[held] and seen[refused] and seen[lease] end, "three answers")
      assert.same({ true, nil, true }, seen[held])
      assert.same({ false, "timeout", false }, seen[refused])
      assert.same({ true, nil, true }, seen[lease])
    end)

    it("is an owner of its own", function()
      local lock, list, callback = client:mutex(path), here.answers()
      assert(lock:acquire(PATIENCE))
      local request = lock:request(0, callback)
      here:eventually(function() return #list > 0 end)
      assert.same({ { nil, "timeout" } }, list)
      assert.equal("failed", request:state())
      lock:release()
      request = lock:request(PATIENCE, callback)
      here:eventually(function() return #list > 1 end)
      assert.is_false(lock:is_held())
      assert.is_true(lock:is_held(request))
      assert.equal(request:token(), lock:token(request))
      assert.same({ nil, "not owner" }, { lock:release() })
      assert.same({ nil, "timeout" }, { lock:acquire(0) })
      assert.is_true(lock:release(request))
      assert.equal("released", request:state())
    end)

    it("fails with 'timeout' when its time is over, and leaves no node", function()
      local lock, list, callback = client:mutex(path), here.answers()
      taken()
      local request = lock:request(0.1, callback)
      assert.equal("waiting", request:state())
      here:eventually(function() return #list > 0 end)
      assert.same({ { nil, "timeout" } }, list)
      assert.equal("failed", request:state())
      assert.same({ nil, "not owner" }, { request:release() })
      here:becomes(1)
      other:release(path)
    end)

    it("that waits is cancelled: its callback hears so from poll, and its node goes", function()
      local lock, list, callback = client:mutex(path), here.answers()
      taken()
      local request = lock:request(nil, callback)
      here:becomes(2)
      request:cancel()
      assert.same({}, list)
      here:eventually(function() return #list > 0 end)
      assert.same({ { nil, "cancelled" } }, list)
      assert.equal("failed", request:state())
      request:cancel()
      client:poll()
      assert.equal(1, #list)
      here:becomes(1)
      other:release(path)
    end)

    it("that is cancelled as soon as it is made never holds", function()
      local lock, list, callback = client:mutex(path), here.answers()
      for i = 1, 20 do
        local request = lock:request(PATIENCE, callback)
        if i > 10 then wait.eventually(function() return #here:nodes() > 0 end) end -- it is granted, but nobody knows
        request:cancel()
        here:eventually(function() return #list == i end)
        if list[i][1] then
          assert.equal("held", request:state())
          assert.is_true(request:release())
        else
          assert.same({ nil, "cancelled" }, list[i])
          assert.equal("failed", request:state())
        end
        assert.is_true(client:flush(PATIENCE))
        here:becomes(0)
      end
      client:poll()
      assert.equal(20, #list)
    end)

    it("that holds stays when it is cancelled", function()
      local lock, list, callback = client:mutex(path), here.answers()
      local request = lock:request(PATIENCE, callback)
      here:eventually(function() return #list > 0 end)
      request:cancel()
      client:poll()
      assert.equal("held", request:state())
      assert.equal(1, #list)
      assert.is_true(request:release())
    end)

    it("that waits is kept alive", function()
      local lock, list, callback = client:mutex(path), here.answers()
      taken()
      lock:request(PATIENCE, callback)
      lock = nil -- luacheck: ignore 311
      here:becomes(2)
      collectgarbage()
      collectgarbage()
      client:poll()
      assert.equal(2, #here:nodes())
      other:release(path)
      here:eventually(function() return #list > 0 end)
      assert.is_number(list[1][1])
      here:eventually(function()
        collectgarbage()
        return #here:nodes() == 0
      end)
    end)

    it("that is dropped while it holds gives back when it is collected", function()
      local lock, list, callback = client:mutex(path), here.answers()
      local before = client:stats().abandoned
      lock:request(PATIENCE, callback)
      here:eventually(function() return #list > 0 end)
      here:eventually(function()
        collectgarbage()
        return #here:nodes() == 0
      end, "the end of a dropped request's node")
      assert.equal(1, #list)
      assert.equal(before + 1, client:stats().abandoned)
    end)

    it("is granted in order of arrival within a process", function()
      local lock, order, requests = client:mutex(path), {}, {}
      taken()
      for i = 1, 10 do
        requests[i] = lock:request(PATIENCE, function(token)
          order[#order + 1] = token and i or "?"
          requests[i]:release()
        end)
      end
      here:becomes(11)
      other:release(path)
      here:eventually(function() return #order == 10 end)
      assert.same({ 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 }, order)
      here:becomes(0)
    end)
  end)

  describe("timeouts", function()
    it("of 0 get a free lock", function()
      local lock = client:mutex(path)
      assert.is_number((lock:acquire(0)))
      assert.is_true(lock:release())
      assert.is_number((lock:acquire(0)))
      assert.is_true(lock:release())
    end)

    it("of 0 do not wait for a holder and leave no node", function()
      local lock, before = client:mutex(path), client:stats().timeouts
      taken()
      for _ = 1, 5 do assert.same({ nil, "timeout" }, { lock:acquire(0) }) end
      assert.equal(before + 5, client:stats().timeouts)
      here:becomes(1)
      other:release(path)
    end)

    it("end a wait, not before and with no node left", function()
      local lock, began = client:mutex(path), wait.now()
      taken()
      assert.same({ nil, "timeout" }, { lock:acquire(0.15) })
      assert.is_true(wait.now() - began >= 0.15)
      here:becomes(1)
      assert.is_true(other:release(path))
      assert(lock:acquire(PATIENCE))
      lock:release()
    end)

    it("may be math.huge or nil", function()
      local lock = client:mutex(path)
      for _, timeout in ipairs { math.huge, false } do
        taken()
        other:begin("eval", [[
          local path, inspector = ..., require "spec.support.inspector"
          local tree = inspector.connect((select(2, ...)))
          require("spec.support.wait").eventually(function() return #tree:children(path) == 2 end)
          tree:close()
          worker.lock(path):release()
        ]], path, zk.hosts)
        assert(lock:acquire(timeout or nil))
        other:finish()
        lock:release()
      end
    end)

    it("that are very large are no mistake", function()
      local lock = client:mutex(path)
      for _, timeout in ipairs { 1e9, 1e18, 1e300 } do
        assert(lock:acquire(timeout))
        lock:release()
      end
    end)
  end)

  describe("its line", function()
    --- Another contender's node, made by hand.
    local function stand_in(name, options)
      options = options or { ephemeral = true, sequence = true }
      options.parents = true
      return assert(tree:create(path .. "/" .. name, "by hand", options))
    end

    it("is strict order of arrival across processes", function()
      local file = folder.file("order", "")
      local crew = {}
      for i = 1, 4 do
        crew[i] = worker.start()
        assert(crew[i]:connect(zk.hosts, { session_timeout = SESSION }))
      end
      local lock = client:mutex(path)
      local expected = {}
      for round = 1, 3 do
        assert(lock:acquire(PATIENCE))
        for place = 1, 4 do
          local i = (place + round) % 4 + 1
          expected[#expected + 1] = ("%d\n"):format(i)
          crew[i]:begin("eval", [[
            local path, file, name = ...
            local lock = worker.lock(path)
            assert(lock:acquire(60))
            local out = assert(io.open(file, "a"))
            out:write(name, "\n")
            out:close()
            lock:release()
          ]], path, file, i)
          wait.eventually(function() return #here:nodes() == place + 1 end)
        end
        lock:release()
        for i = 1, 4 do crew[i]:finish() end
      end
      local written = assert(io.open(file)):read("*a")
      assert.equal(table.concat(expected), written)
      for i = 1, 4 do crew[i]:kill() end
    end)

    local hex = ("0123456789abcdef"):rep(2)
    for language, name in pairs {
      ["kazoo's"] = hex .. "__lock__", ["go-zk's"] = "_c_" .. hex .. "-lock-",
      ["Curator's"] = "_c_01234567-89ab-4def-8123-456789abcdef-lock-",
    } do
      it(("waits for %s nodes"):format(language), function()
        local lock, list, callback = client:mutex(path), here.answers()
        local stranger = stand_in(name)
        assert.same({ nil, "timeout" }, { lock:acquire(0) })
        local request = lock:request(PATIENCE, callback)
        here:becomes(2)
        client:poll()
        assert.same({}, list)
        tree:delete(stranger)
        here:eventually(function() return #list > 0 end)
        assert.is_number(list[1][1])
        request:release()
        here:becomes(0)
      end)

      it(("goes before %s nodes that came later"):format(language), function()
        local lock = client:mutex(path)
        assert(lock:acquire(PATIENCE))
        local stranger = stand_in(name)
        assert.is_true(lock:is_held())
        assert.same({ stranger:match("[^/]*$"), false, false },
          (function(p) return { p.node, p.holder, p.mine } end)(lock:participants(PATIENCE)[2]))
        assert.is_true(lock:release())
        assert.same({ nil, "timeout" }, { lock:acquire(0) })
        tree:delete(stranger)
      end)
    end

    it("waits for a node that is no ephemeral", function()
      local lock = client:mutex(path)
      local stranger = stand_in("_c_" .. hex .. "-lock-", { sequence = true })
      assert.same({ nil, "timeout" }, { lock:acquire(0) })
      tree:delete(stranger)
      assert(lock:acquire(PATIENCE))
      lock:release()
    end)

    it("ignores children that are no lock's, and leaves them alone", function()
      local garbage = { "garbage", "lock-", "x-lock-12", "config", "_c_x-lease-0000000000", "lock-00000x0000",
        "-lock-0000000000x", "_c_" .. hex .. "-lock-" }
      table.sort(garbage)
      for _, name in ipairs(garbage) do stand_in(name, {}) end
      local lock = client:mutex(path)
      assert(lock:acquire(0))
      assert.equal(1, #lock:participants(PATIENCE))
      lock:release()
      assert.is_true(client:flush(PATIENCE))
      assert.same(garbage, tree:children(path))
    end)

    it("can have locks below the lock", function()
      local upper, lower = client:mutex(path), client:mutex(path .. "/below")
      assert(upper:acquire(PATIENCE))
      assert(lower:acquire(PATIENCE))
      assert.is_true(upper:release())
      assert.is_true(lower:is_held())
      assert(upper:acquire(0))
      upper:release()
      lower:release()
    end)

    for _, name in ipairs { "__READ__", "__WRIT__" } do
      it(("with a read-write lock's %s node in it answers 'wrong kind'"):format(name), function()
        local lock, list, callback = client:mutex(path), here.answers()
        local stranger = stand_in("_c_01234567-89ab-4def-8123-456789abcdef-" .. name)
        assert.same({ nil, "wrong kind" }, { lock:acquire(0) })
        assert.same({ nil, "wrong kind" }, { lock:acquire(PATIENCE) })
        local request = lock:request(PATIENCE, callback)
        here:eventually(function() return #list > 0 end)
        assert.same({ { nil, "wrong kind" } }, list)
        assert.equal("failed", request:state())
        here:becomes(1)
        assert(tree:exists(stranger))
        tree:delete(stranger)
        assert(lock:acquire(PATIENCE))
        lock:release()
      end)
    end

    it("below a parent that an ACL closes answers 'access denied'", function()
      local creator = inspector.connect(zk.hosts)
      creator:add_auth("digest", "somebody:else")
      assert(tree:create(path, "", { parents = true }))
      assert(creator:create(path .. "/closed", "", { acl = "creator" }))
      assert(creator:create(path .. "/read", "", { acl = "read" }))
      for _, below in ipairs { "/closed", "/read", "/closed/a", "/read/a/b" } do
        local lock, list, callback = client:mutex(path .. below), here.answers()
        assert.same({ nil, "access denied" }, { lock:acquire(PATIENCE) })
        assert.same({ nil, "access denied" }, { lock:acquire(0) })
        lock:request(PATIENCE, callback)
        here:eventually(function() return #list > 0 end)
        assert.same({ { nil, "access denied" } }, list)
        assert.is_false(lock:is_held())
      end
      assert.same({ nil, "access denied" }, { client:mutex(path .. "/closed"):participants(PATIENCE) })
      assert.equal("connected", client:state())
      creator:close()
    end)

    it("is told by participants, in queue order", function()
      local lock = client:mutex(path)
      assert.same({}, lock:participants(PATIENCE))
      assert(lock:acquire(PATIENCE))
      local stranger = stand_in(hex .. "__lock__")
      local request = lock:request(PATIENCE, function() end)
      here:becomes(3)
      other:begin("acquire", path, PATIENCE)
      here:becomes(4)

      local all = assert(lock:participants(PATIENCE))
      assert.equal(4, #all)
      local last = -1
      for i, one in ipairs(all) do
        local data, stat = tree:get(path .. "/" .. one.node)
        assert.equal(data, one.identifier)
        assert.equal(tonumber((one.node:match("%d+$"))), one.sequence)
        assert.is_true(one.sequence > last)
        last = one.sequence
        assert.is_true(session.same(stat.ephemeralOwner, one.session))
        assert.is_true(math.abs(stat.ctime / 1000 - one.created) < 0.001)
        assert.equal(i == 1, one.holder)
        assert.equal(i == 1 or i == 3, one.mine)
      end
      assert.equal(stranger, path .. "/" .. all[2].node)
      assert.equal("by hand", all[2].identifier)
      assert.equal(wire.normal_hex(client:session_id()), wire.normal_hex(all[1].session))
      assert.is_not.equal(all[1].identifier, all[4].identifier)
      assert.is_true(math.abs(all[1].created - os.time()) < 600)

      tree:delete(stranger)
      lock:release()
      here:eventually(function() return request:state() == "held" end)
      request:release()
      assert.is_number((other:finish()))
      other:release(path)
    end)

    it("of one process hands over without asking the servers", function()
      local faulty = proxy.start(zk.hosts)
      local mine = assert(zklock.connect(faulty.hosts, { session_timeout = 40 }))
      local lock, granted, requests = mine:mutex(path), 0, {}
      local last = assert(lock:acquire(PATIENCE))
      faulty:reset()
      for i = 1, 50 do
        requests[i] = lock:request(PATIENCE, function(token)
          assert(token and token > last)
          granted, last = granted + 1, token
          requests[i]:release()
        end)
      end
      faulty:await("create2", 50)
      here:becomes(51)
      local joining = faulty:counts()
      assert.equal(50, joining.create2)
      -- One list may be in flight, and one more for those who came after it was sent.
      assert.is_true(joining.getChildren + joining.getChildren2 <= 10)

      -- No list of the joining is still on its way: a list comes after all others, and none was sent meanwhile.
      wait.eventually(function()
        local before = faulty:counts().getChildren
        assert(lock:participants(PATIENCE))
        return faulty:counts().getChildren == before + 1
      end, PATIENCE, "no more lists")
      faulty:reset()
      lock:release()
      wait.eventually(function()
        mine:poll(0.05)
        return granted == 50
      end, PATIENCE, "50 grants")
      assert.is_true(mine:flush(PATIENCE))
      local drained = faulty:counts()
      assert.equal(51, drained.delete)
      assert.equal(0, drained.getChildren + drained.getChildren2 + drained.create2 + drained.exists)
      mine:close()
      faulty:close()
      here:becomes(0)
    end)

    it("makes one create, one list and one delete of an acquire and a release", function()
      local faulty = proxy.start(zk.hosts)
      local mine = assert(zklock.connect(faulty.hosts, { session_timeout = 40 }))
      local lock = mine:mutex(path)
      assert(lock:acquire(PATIENCE))
      lock:release()
      mine:flush(PATIENCE)
      faulty:reset()
      for _ = 1, 10 do
        assert(lock:acquire(PATIENCE))
        lock:release()
      end
      mine:flush(PATIENCE)
      local counts = faulty:counts()
      assert.equal(10, counts.create2)
      assert.equal(10, counts.delete)
      assert.equal(10, counts.getChildren + counts.getChildren2)
      assert.equal(0, counts.createContainer)
      mine:close()
      faulty:close()
    end)
  end)

  describe("its options", function()
    it("belong to the path: the same ones are fine", function()
      local lock = client:mutex(path, { fair = true })
      assert.equal(path, client:mutex(path):path())
      assert.equal(path, client:mutex(path, {}):path())
      assert.equal(path, lock:path())
    end)

    it("of later issues raise", function()
      for _, options in ipairs { { fair = false }, { linger = 1 }, { handoffs = 8 } } do
        assert.is_false(pcall(client.mutex, client, path, options))
      end
    end)
  end)
end)
