--- The client on a real server: its session, its callbacks, its descriptor, its counters.

local fixture = require "spec.support.fixture"
local lfs = require "lfs"
local proxy = require "spec.support.proxy"
local session = require "spec.support.session"
local socket = require "socket"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local SESSION = 6 -- seconds
local PATIENCE = 20

describe("a client", function()
  local here = fixture.new("/client", { session_timeout = SESSION })
  local zk, tree, client, errors, other, path

  setup(function() zk, tree, other = here.zk, here.tree, here:second_process() end)

  before_each(function()
    path, errors = here.path, {}
    client = here:connect { on_error = function(message) errors[#errors + 1] = message end }
    client:poll()
  end)

  --- Requests of free locks, whose grants have arrived but whose callbacks have not run.
  local function granted_requests(n, callback)
    local requests = {}
    local before = client:stats().acquired
    for i = 1, n do requests[i] = client:mutex(path .. "/" .. i):request(PATIENCE, callback) end
    wait.eventually(function() return client:stats().acquired == before + n end)
    return requests
  end

  describe("its session", function()
    it("is one that the servers know by the same id", function()
      local id = client:session_id()
      assert.matches("^0x%x+$", id)
      local found = false
      for sid in assert(zk:four_letter("cons")):gmatch("sid=(0x%x+)") do
        found = found or session.same(sid, id)
      end
      assert.is_true(found)
    end)

    it("is told as 'connected', then 'closed'", function()
      assert.equal("connected", client:state())
      assert.is_true(client:close())
      assert.equal("closed", client:state())
    end)

    it("is not the session of another client", function()
      local second = assert(zklock.connect(zk.hosts))
      assert.is_false(session.same(client:session_id(), second:session_id()))
      second:close()
    end)

    it("outlives its link: suspended, then connected again", function()
      local states, faulty = {}, proxy.start(zk.hosts)
      local function listen(state) states[#states + 1] = state end
      local mine = assert(zklock.connect(faulty.hosts, { session_timeout = 20, on_state = listen }))
      local id = mine:session_id()
      local lock = mine:mutex(path)
      local token = assert(lock:acquire(PATIENCE))
      faulty:refuse()
      faulty:cut()
      wait.eventually(function() return mine:state() == "suspended" end)
      assert.equal(id, mine:session_id())
      assert.equal(token, lock:token())
      faulty:heal()
      wait.eventually(function() return mine:state() == "connected" end)
      assert.equal(id, mine:session_id())
      assert.equal(token, lock:token())
      assert.is_true(lock:release())
      assert.is_true(mine:flush(PATIENCE))
      assert.equal(1, mine:stats().sessions)
      mine:close()
      if states[1] == "connecting" then table.remove(states, 1) end
      assert.same({ "connected", "suspended", "connected", "closed" }, states)
      faulty:close()
    end)
  end)

  describe("its state's listener", function()
    it("is replaced and removed by on_state()", function()
      local first, second = {}, {}
      local mine = assert(zklock.connect(zk.hosts, { on_state = function(s) first[#first + 1] = s end }))
      mine:poll()
      local heard = #first
      assert.is_true(heard > 0)
      mine:on_state(function(s) second[#second + 1] = s end)
      mine:close()
      assert.equal(heard, #first)
      assert.same({ "closed" }, second)

      mine = assert(zklock.connect(zk.hosts, { on_state = function(s) first[#first + 1] = s end }))
      mine:poll()
      heard = #first
      mine:on_state(nil)
      mine:close()
      assert.equal(heard, #first)
    end)

    it("is called from poll, not from anywhere else", function()
      local states, faulty = {}, proxy.start(zk.hosts)
      local mine = assert(zklock.connect(faulty.hosts, { session_timeout = 20 }))
      mine:poll()
      mine:on_state(function(state) states[#states + 1] = state end)
      faulty:refuse()
      faulty:cut()
      wait.eventually(function() return mine:state() == "suspended" end)
      assert.same({}, states)
      wait.eventually(function() return mine:poll(0.02) > 0 end)
      assert.same({ "suspended" }, states)
      mine:close()
      faulty:close()
    end)
  end)

  describe("poll()", function()
    it("without a timeout, or with 0, does not wait", function()
      assert.equal(0, client:poll())
      assert.equal(0, client:poll(0))
    end)

    it("waits as long as it is told to, if nothing comes", function()
      local began = wait.now()
      assert.equal(0, client:poll(0.1))
      assert.is_true(wait.now() - began >= 0.1)
    end)

    it("comes back as soon as it ran something", function()
      local ran = 0
      local request = client:mutex(path):request(PATIENCE, function() ran = ran + 1 end)
      assert.equal(1, client:poll(math.huge))
      assert.equal(1, ran)
      assert.is_true(request:release())
    end)

    it("gives the number of callbacks that it ran", function()
      local ran, sum = 0, 0
      for i = 1, 5 do client:mutex(path .. "/" .. i):request(PATIENCE, function() ran = ran + 1 end) end
      wait.eventually(function()
        sum = sum + client:poll(0.02)
        return ran == 5
      end)
      assert.equal(5, sum)
      assert.equal(0, client:poll())
    end)

    it("runs only what was queued when it began", function()
      client:close()
      local ran = 0
      local function again()
        ran = ran + 1
        if ran < 6 then client:mutex(path):request(0, again) end
      end
      client:mutex(path):request(0, again)
      for i = 1, 6 do
        assert.equal(1, client:poll())
        assert.equal(i, ran)
      end
      assert.equal(0, client:poll())
    end)

    it("alone runs callbacks: calls that do not wait run none", function()
      local ran = 0
      local lock = client:mutex(path .. "/free")
      local requests = granted_requests(2, function() ran = ran + 1 end)
      lock:is_held()
      lock:validity()
      lock:token()
      lock:release()
      client:state()
      client:stats()
      client:session_id()
      client:mutex(path .. "/new"):path()
      client:getfd()
      requests[3] = lock:request(PATIENCE, function() ran = ran + 1 end)
      requests[3]:cancel()
      assert.equal(0, ran)
      wait.eventually(function()
        client:poll()
        return ran == 3
      end)
    end)

    it("is done by calls that wait, too", function()
      local ran = 0
      local requests = granted_requests(2, function() ran = ran + 1 end)
      local lock = client:mutex(path .. "/free")
      assert(other:acquire(path .. "/free", PATIENCE))
      assert.same({ nil, "timeout" }, { lock:acquire(0.2) })
      assert.equal(2, ran)
      other:release(path .. "/free")
      assert.is_true(requests[1]:release())
    end)
  end)

  describe("a callback", function()
    it("runs in a coroutine of its own, which is the default owner and gives back what it held", function()
      local threads, held = {}, {}
      local lock = client:mutex(path .. "/inner")
      for i = 1, 2 do
        local request = granted_requests(1, function()
          threads[i] = coroutine.running()
          local token = lock:acquire(PATIENCE)
          held[i] = token ~= nil and lock:is_held() and lock:is_held(threads[i])
        end)[1]
        here:eventually(function() return held[i] ~= nil end)
        assert.is_true(held[i])
        assert.is_false(lock:is_held())
        assert.is_true(request:release())
      end
      assert.equal("thread", type(threads[1]))
      assert.not_equal(threads[1], threads[2])
      assert.not_equal(threads[1], (coroutine.running()))
      here:eventually(function() return client:stats().abandoned == 2 end)
      here:becomes(0, path .. "/inner")
    end)

    it("may wait, and meanwhile the others run", function()
      local wanted, order = path .. "/wanted", {}
      assert(other:acquire(wanted, PATIENCE))
      local first = client:mutex(path .. "/1"):request(PATIENCE, function()
        order[#order + 1] = "begins to wait"
        local lock = client:mutex(wanted)
        local token = lock:acquire(PATIENCE)
        order[#order + 1] = token and "has waited" or "failed"
        lock:release()
      end)
      wait.eventually(function() return client:stats().held == 1 end)
      local second = client:mutex(path .. "/2"):request(PATIENCE, function()
        order[#order + 1] = "another"
        other:release(wanted)
      end)
      here:eventually(function() return #order == 3 end)
      assert.same({ "begins to wait", "another", "has waited" }, order)
      assert.is_true(first:release())
      assert.is_true(second:release())
    end)

    -- Plain Lua 5.1 cannot yield across pcall: there a callback that waits holds up who polls.
    local can_yield = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

    it("may wait for a lock for which another callback waits", function()
      if not can_yield then return pending("not in plain Lua 5.1") end
      local lock, order = client:mutex(path .. "/wanted"), {}
      granted_requests(3, function()
        assert(lock:acquire(PATIENCE))
        order[#order + 1] = #order + 1
        lock:release()
      end)
      here:eventually(function() return #order == 3 end)
      assert.same({}, errors)
    end)

    it("may wait for a lock for which the call that polls waits", function()
      if not can_yield then return pending("not in plain Lua 5.1") end
      local wanted, got = path .. "/wanted", nil
      local lock = client:mutex(wanted)
      assert(other:acquire(wanted, PATIENCE))
      granted_requests(1, function()
        other:begin("release", wanted)
        got = lock:acquire(PATIENCE)
        lock:release()
      end)
      local token = lock:acquire(PATIENCE)
      other:finish()
      assert.is_number(token)
      assert.is_true(lock:release())
      here:eventually(function() return got end, "the callback's turn")
      assert.is_true(got > token)
    end)

    it("that raises is reported with its traceback, and the others run", function()
      local ran = 0
      local requests = granted_requests(3, function()
        ran = ran + 1
        error("this went wrong")
      end)
      here:eventually(function() return ran == 3 end)
      assert.equal(3, #errors)
      for _, message in ipairs(errors) do
        assert.matches("client_spec%.lua:%d+: this went wrong", message)
        assert.matches("stack traceback:.*client_spec%.lua", message)
      end
      assert.equal("held", requests[1]:state())
      assert.equal("connected", client:state())
    end)

    it("that raises something else than a text is reported, too", function()
      local request = granted_requests(1, function() error({}) end)
      here:eventually(function() return #errors == 1 end)
      assert.equal("string", type(errors[1]))
      assert.is_true(request[1]:release())
    end)

    local broken = [[
      local zklock = require "zklock"
      local client = assert(zklock.connect(arg[1], %s))
      local done
      local request = client:mutex(arg[2]):request(20, function() done = true error("nobody catches this") end)
      while not done do client:poll(1) end
      request:release()
      client:close()
      print("went on")
    ]]

    it("that raises is printed to stderr, if nobody else wants to know", function()
      local result = wait.run_lua(broken:format("nil"), zk.hosts, path)
      assert.same({ 0, "went on\n" }, { result.code, result.stdout })
      assert.matches("nobody catches this", result.stderr)
      assert.matches("stack traceback", result.stderr)
    end)

    it("that raises is printed to stderr, if on_error raises as well", function()
      local handler = "{ on_error = function() error('nor this') end }"
      local result = wait.run_lua(broken:format(handler), zk.hosts, path)
      assert.same({ 0, "went on\n" }, { result.code, result.stdout })
      assert.matches("nobody catches this", result.stderr)
      assert.matches("nor this", result.stderr)
    end)
  end)

  -- A signal that one of them took would run the script's handler on that thread.
  it("has threads that leave all signals to the script's own", function()
    local threads = 0
    for task in lfs.dir(("/proc/%d/task"):format(other.pid)) do
      if tonumber(task) and tonumber(task) ~= other.pid then
        local status = assert(io.open(("/proc/%d/task/%s/status"):format(other.pid, task)))
        local mask = tonumber(status:read("*a"):match("SigBlk:%s*%x*(%x%x%x%x%x%x%x%x)"), 16)
        status:close()
        for _, signal in ipairs { 1, 2, 10, 14, 15, 17 } do -- HUP INT USR1 ALRM TERM CHLD
          assert.equal(1, math.floor(mask / 2 ^ (signal - 1)) % 2)
        end
        threads = threads + 1
      end
    end
    assert.is_true(threads >= 3) -- the library's two, and ours
  end)

  describe("its descriptor", function()
    local function is_readable(fd, timeout)
      local handle = { getfd = function() return fd end, dirty = function() return false end }
      return socket.select({ handle }, nil, timeout or 0)[1] == handle
    end

    it("is readable while poll has work", function()
      local fd, ran = client:getfd(), 0
      client:poll()
      assert.is_false(is_readable(fd))
      local requests = granted_requests(2, function() ran = ran + 1 end)
      assert.is_true(is_readable(fd, PATIENCE))
      assert.equal(fd, client:getfd())
      here:eventually(function() return ran == 2 end)
      wait.eventually(function()
        client:poll()
        return not is_readable(fd)
      end)
      assert.is_true(requests[2]:release())
    end)

    it("wakes a host's own loop for everything that is to come", function()
      local fd, ran, lock = client:getfd(), 0, client:mutex(path)
      for i = 1, 20 do
        local request = lock:request(PATIENCE, function() ran = ran + 1 end)
        while ran < i do
          assert.is_true(is_readable(fd, PATIENCE))
          client:poll()
        end
        request:release()
      end
    end)

    it("stays readable while callbacks have queued more", function()
      local fd, ran = client:getfd(), 0
      assert(client:mutex(path):acquire(PATIENCE, "somebody"))
      client:mutex(path):request(0, function()
        client:mutex(path):request(0, function() ran = ran + 1 end)
      end)
      wait.eventually(function()
        assert.is_true(is_readable(fd, PATIENCE))
        client:poll()
        return ran == 1
      end, PATIENCE)
      client:close()
      assert.equal(-1, client:getfd())
    end)

    it("is offered to cqueues as well", function()
      assert.equal(client:getfd(), client:pollfd())
      assert.equal("r", client:events())
      assert.is_nil((client:timeout()))
    end)
  end)

  describe("flush()", function()
    it("returns when the servers have confirmed every release", function()
      for _ = 1, 5 do
        for i = 1, 5 do assert(client:mutex(path .. "/" .. i):acquire(PATIENCE)) end
        for i = 1, 5 do assert.is_true(client:mutex(path .. "/" .. i):release()) end
        assert.is_true(client:flush(PATIENCE))
        for i = 1, 5 do assert.same({}, here:nodes(path .. "/" .. i)) end
      end
    end)

    it("is done at once when nothing was released", function()
      assert.is_true(client:flush(PATIENCE))
      assert(client:mutex(path):acquire(PATIENCE))
      assert.is_true(client:flush(PATIENCE))
    end)

    it("does not wait for what is still held", function()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      assert(client:mutex(path .. "/other"):acquire(PATIENCE))
      lock:release()
      assert.is_true(client:flush())
      assert.is_true(client:mutex(path .. "/other"):is_held())
    end)

    it("says 'timeout' while the answer is missing, 'disconnected' without a server", function()
      local faulty = proxy.start(zk.hosts)
      local mine = assert(zklock.connect(faulty.hosts, { session_timeout = 20 }))
      local lock = mine:mutex(path)
      assert(lock:acquire(PATIENCE))
      faulty:black_hole()
      assert.is_true(lock:release())
      assert.same({ nil, "timeout" }, { mine:flush(0.1) })
      assert.same({ nil, "timeout" }, { mine:flush(0) })
      faulty:refuse()
      faulty:cut()
      wait.eventually(function() return mine:state() == "suspended" end)
      assert.equal("disconnected", (select(2, mine:flush(0.1))))
      faulty:heal()
      assert.is_true(mine:flush(PATIENCE))
      assert.same({}, here:nodes())
      mine:close()
      faulty:close()
    end)
  end)

  describe("its counters", function()
    local NAMES = { "acquired", "released", "timeouts", "lost", "revoked", "abandoned", "sessions", "requests_sent",
      "waiting", "held" }

    --- How the counters have changed, those that have.
    local function changes(before)
      local list, now = {}, client:stats()
      for _, name in ipairs(NAMES) do
        if now[name] ~= before[name] then list[name] = now[name] - before[name] end
      end
      list.requests_sent = nil
      return list
    end

    it("begin at 0, with one session", function()
      local stats = client:stats()
      for _, name in ipairs(NAMES) do
        assert.equal("number", type(stats[name]))
        if name ~= "requests_sent" then assert.equal(name == "sessions" and 1 or 0, stats[name]) end
      end
    end)

    it("count acquired, held, released", function()
      local before, lock = client:stats(), client:mutex(path)
      assert(lock:acquire(PATIENCE))
      assert.same({ acquired = 1, held = 1 }, changes(before))
      lock:release()
      assert.is_true(client:flush(PATIENCE))
      assert.same({ acquired = 1, released = 1 }, changes(before))
    end)

    it("count waiting, and timeouts", function()
      local before, lock = client:stats(), client:mutex(path)
      assert(other:acquire(path, PATIENCE))
      local request = lock:request(PATIENCE, function() end)
      assert.same({ waiting = 1 }, changes(before))
      assert.same({ nil, "timeout" }, { lock:acquire(0) })
      assert.same({ waiting = 1, timeouts = 1 }, changes(before))
      request:cancel()
      here:eventually(function() return request:state() == "failed" end)
      assert.same({ timeouts = 1 }, changes(before))
      other:release(path)
    end)

    it("count what was abandoned", function()
      local before, lock = client:stats(), client:mutex(path)
      assert(coroutine.resume(coroutine.create(function() assert(lock:acquire(PATIENCE)) end)))
      client:poll()
      here:becomes(0)
      local now = changes(before)
      assert.same({ 1, 1, nil, nil }, { now.acquired, now.abandoned, now.held, now.waiting })
    end)

    it("count what was lost", function()
      local before, lock = client:stats(), client:mutex(path)
      assert(lock:acquire(PATIENCE))
      assert.is_true(tree:delete(path .. "/" .. here:nodes()[1]))
      here:eventually(function() return client:stats().lost == 1 end)
      assert.same({ acquired = 1, lost = 1 }, changes(before))
    end)

    it("count the requests sent", function()
      local faulty = proxy.start(zk.hosts)
      local mine = assert(zklock.connect(faulty.hosts, { session_timeout = 40 }))
      local lock = mine:mutex(path)
      for _ = 1, 3 do
        assert(lock:acquire(PATIENCE))
        lock:release()
      end
      assert.is_true(mine:flush(PATIENCE))
      assert.equal(faulty:counts().total, mine:stats().requests_sent)
      mine:close()
      faulty:close()
    end)
  end)
end)
