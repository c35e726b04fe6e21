-- SPDX-License-Identifier: MIT
--- The client on a real server: its session, its descriptor, its counters.

local fixture = require "spec.support.fixture"
local lfs = require "lfs"
local proxy = require "spec.support.proxy"
local session = require "spec.support.session"
local socket = require "socket"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE

describe("a client", function()
  local here = fixture.new("/client")
  local zk, tree, client, errors, other, path

  setup(function() zk, tree, other = here.zk, here.tree, here:second_process() end)

  before_each(function()
    path, errors = here.path, {}
    client = here:connect { on_error = function(message) errors[#errors + 1] = message end }
    client:poll()
  end)

  local function granted_requests(n, callback) return here:granted_requests(client, n, callback) end

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

  it("has loaded what only plain Lua 5.1 needs there alone", function()
    local is_plain = _VERSION == "Lua 5.1" and rawget(_G, "jit") == nil
    assert.equal(is_plain, package.loaded["zklock.base.lua51"] ~= nil)
  end)

  it("has threads that leave all signals to the script's own, but for those of their own faults", function()
    if os.getenv("TSAN_OPTIONS") then return pending("ThreadSanitizer has a thread of its own, which blocks all") end
    local threads = 0
    local function is_blocked(mask, signal) return math.floor(mask / 2 ^ (signal - 1)) % 2 == 1 end
    for task in lfs.dir(("/proc/%d/task"):format(other.pid)) do
      if tonumber(task) and tonumber(task) ~= other.pid then
        local status = assert(io.open(("/proc/%d/task/%s/status"):format(other.pid, task)))
        local mask = tonumber(status:read("*a"):match("SigBlk:%s*%x*(%x%x%x%x%x%x%x%x)"), 16)
        status:close()
        for _, signal in ipairs { 1, 2, 10, 14, 15, 17 } do -- HUP INT USR1 ALRM TERM CHLD
          assert.is_true(is_blocked(mask, signal))
        end
        for _, signal in ipairs { 4, 7, 8, 11 } do assert.is_false(is_blocked(mask, signal)) end -- ILL BUS FPE SEGV
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
      wait.eventually(function() -- heartbeats go on
        local seen, sent = faulty:counts().total, mine:stats().requests_sent
        return seen == sent, ("%d of %d"):format(seen, sent)
      end)
      mine:close()
      faulty:close()
    end)
  end)
end)
