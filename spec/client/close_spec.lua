-- SPDX-License-Identifier: MIT
--- How a client ends: by close, by a script's end in whatever way, and by the collector.

local collect = require "spec.support.collect"
local fixture = require "spec.support.fixture"
local proxy = require "spec.support.proxy"
local script = require "spec.support.script"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local SESSION = 600 -- seconds: what goes "at once" goes long before the servers would let it go
local PATIENCE = wait.PATIENCE

describe("the end of a client", function()
  local here = fixture.new("/close", { session_timeout = SESSION })
  local zk, tree, client, other, path

  setup(function() zk, tree, other = here.zk, here.tree, here:second_process() end)

  before_each(function() path, client = here.path, here:connect() end)

  --- The sessions that the server knows, as a set. It lists them by the moment at which they expire, and may miss one
  --- that is heard of meanwhile: a second list has that.
  local function sessions()
    local set = {}
    for _ = 1, 2 do
      for id in assert(zk:four_letter("dump")):match("^(.-)ephemeral"):gmatch("\t(0x%x+)") do set[id] = true end
    end
    return set
  end

  --- Waits until there is no session but those that were there before.
  local function no_session_but(before)
    return wait.eventually(function()
      collect()
      for id in pairs(sessions()) do
        if not before[id] then return false end
      end
      return true
    end, PATIENCE, "the end of a session")
  end

  describe("by close()", function()
    it("frees at once what it held", function()
      assert(client:mutex(path):acquire(PATIENCE))
      assert(client:mutex(path .. "/more"):acquire(PATIENCE))
      other:begin("acquire", path, PATIENCE)
      here:becomes(3)
      assert.is_true(client:close())
      assert.is_number((other:finish()))
      assert.is_true(other:release(path))
      assert.same({}, tree:children(path .. "/more"))
    end)

    it("is the answer to an owner whose acquire would be a deadlock before", function()
      local both = client:rwlock(path)
      assert(both.read:acquire(PATIENCE))
      assert.is_true(client:close())
      assert.same({ nil, "closed" }, { both.write:acquire(0) })
    end)

    it("ends the session", function()
      local id = client:session_id()
      assert.is_truthy(zk:four_letter("dump"):find(id, 1, true))
      client:close()
      assert.same({ nil, "closed" }, { client:session_id() })
      wait.eventually(function() return not zk:four_letter("dump"):find(id, 1, true) end)
    end)

    -- libzookeeper hangs up on answers that are on their way, and what it had still to say is lost with them.
    it("ends the session also when answers are on their way", function()
      local crowd, ids = client:mutex(path), {}
      for _ = 1, 100 do crowd:request(nil, function() end) end
      here:becomes(100)
      for i = 1, 5 do
        local mine = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
        for _ = 1, 50 do mine:mutex(path):participants(1e-6) end -- over before the answer, which comes all the same
        ids[i] = mine:session_id()
        assert.is_true(mine:close())
      end
      wait.eventually(function()
        local living = zk:four_letter("dump")
        for _, id in ipairs(ids) do
          if living:find(id, 1, true) then return false end
        end
        return true
      end, PATIENCE, "the sessions' end")
    end)

    it("answers every request with 'closed' before it returns", function()
      local list, callback = here.answers()
      assert(other:acquire(path, PATIENCE))
      local requests = {}
      for i = 1, 5 do requests[i] = client:mutex(path):request(nil, callback) end
      here:becomes(6)
      client:close()
      assert.equal(5, #list)
      for i = 1, 5 do
        assert.same({ nil, "closed" }, list[i])
        assert.equal("failed", requests[i]:state())
      end
      here:becomes(1)
      assert.equal(0, client:poll())
      assert.equal(5, #list)
      other:release(path)
    end)

    it("answers who waits with 'closed', when a callback closes the client", function()
      local list, closed = {}, nil
      assert(other:acquire(path, PATIENCE))
      client:mutex(path):request(nil, function(got, err) list[#list + 1] = { got, err } end)
      client:mutex(path .. "-free"):request(PATIENCE, function() closed = client:close() end)
      assert.same({ nil, "closed" }, { client:mutex(path):acquire() })
      assert.is_true(closed)
      assert.same({ { nil, "closed" } }, list)
      here:becomes(1)
      other:release(path)
    end)

    it("runs the callbacks of what was answered before", function()
      local list, callback = here.answers()
      client:mutex(path):request(PATIENCE, callback)
      here:becomes(1)
      assert.same({}, list)
      client:close()
      assert.equal(1, #list)
      here:becomes(0)
    end)

    it("may come twice", function()
      assert.is_true(client:close())
      assert.is_true(client:close())
      assert.equal("closed", client:state())
    end)

    it("is no loss", function()
      local list, callback = here.answers()
      local lock = client:mutex(path)
      lock:on_lost(callback)
      assert(lock:acquire(PATIENCE))
      client:close()
      client:poll()
      assert.same({}, list)
      assert.equal(0, client:stats().lost)
    end)

    it("leaves handles whose calls answer 'closed'", function()
      local list, callback = here.answers()
      local lock = client:mutex(path)
      assert(lock:acquire(PATIENCE))
      local guard = assert(client:mutex(path .. "/guarded"):guard(PATIENCE))
      local held = client:mutex(path .. "/requested"):request(PATIENCE, callback)
      wait.eventually(function()
        client:poll(0.02)
        return held:state() == "held"
      end)
      client:close()
      for _, handle in ipairs { lock, client:mutex(path), client:mutex(path .. "/new") } do
        assert.same({ nil, "closed" }, { handle:acquire() })
        assert.same({ nil, "closed" }, { handle:acquire(0, "somebody") })
        assert.same({ nil, "closed" }, { handle:release() })
        assert.same({ nil, "closed" }, { handle:guard(1) })
        assert.same({ nil, "closed" }, { handle:with(error) })
        assert.same({ nil, "closed" }, { handle:participants() })
        assert.is_false(handle:is_held())
        assert.is_nil(handle:token())
        assert.equal(0, handle:validity())
      end
      assert.same({ nil, "closed" }, { client:flush() })
      assert.equal(0, client:poll())
      assert.equal(0, client:poll(math.huge))
      assert.equal("number", type(client:stats().acquired))
      assert.equal(0, client:stats().held)

      assert.is_false(guard:is_held())
      assert.is_nil(guard:token())
      assert.is_nil(held:token())
      assert.not_equal("held", held:state())
      assert.same({ nil, "closed" }, { held:release() })

      local late = client:mutex(path):request(PATIENCE, callback)
      assert.equal(1, #list)
      assert.equal(1, client:poll())
      assert.same({ nil, "closed" }, list[2])
      assert.equal("failed", late:state())
      late:cancel()
      assert.equal(0, client:poll())
    end)

    it("ends a client that is still connecting", function()
      local faulty = proxy.start(zk.hosts)
      faulty:black_hole()
      local list, callback = here.answers()
      local mine = assert(zklock.connect(faulty.hosts, { connect_timeout = 0 }))
      mine:mutex(path):request(nil, callback)
      assert.is_true(mine:close())
      assert.same({ { nil, "closed" } }, list)
      assert.equal("closed", mine:state())
      faulty:close()
    end)

    it("comes at the end of the client's block", function()
      if not script.has_close() then return pending("this Lua has no to-be-closed variables") end
      local run = assert(load([[
        local zklock, hosts, path = ...
        local mine <close> = assert(zklock.connect(hosts, { session_timeout = 600 }))
        assert(mine:mutex(path):acquire(60))
        return mine
      ]]))
      assert.equal("closed", run(zklock, zk.hosts, path):state())
      here:becomes(0)
    end)
  end)

  describe("by the collector", function()
    it("frees at once what it held and waited for", function()
      local function use()
        local mine = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
        assert(mine:mutex(path):acquire(PATIENCE))
        mine:mutex(path):request(nil, function() end)
        here:becomes(2)
      end
      local before = sessions()
      use()
      wait.eventually(function()
        collect()
        return #here:nodes() == 0
      end, PATIENCE, "the end of a collected client's nodes")
      no_session_but(before)
    end)

    it("comes also while its callbacks wait", function()
      if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then
        return pending("in plain Lua 5.1 a callback that waits holds up who polls")
      end
      assert(other:acquire(path, PATIENCE))
      local function use()
        local mine = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
        mine:mutex(path .. "-free"):request(PATIENCE, function() mine:mutex(path):acquire(PATIENCE) end)
        mine:mutex(path .. "-free"):request(PATIENCE, function() end)
        wait.eventually(function()
          mine:poll(0.01)
          return #here:nodes() == 2
        end)
      end
      use()
      wait.eventually(function()
        collect()
        return #here:nodes() == 1 and #tree:children(path .. "-free") == 0
      end, PATIENCE, "the end of a collected client's nodes")
      assert.is_true(other:release(path))
    end)

    it("does not come while a lock of the client is in use", function()
      local function use() return assert(zklock.connect(zk.hosts, { session_timeout = SESSION })):mutex(path) end
      local lock = use()
      assert(lock:acquire(PATIENCE))
      collectgarbage()
      collectgarbage()
      assert.is_true(lock:is_held())
      assert.is_true(lock:release())
    end)
  end)

  it("leaves no descriptor open, also while the client is still referred to", function()
    local function open_files()
      local open = 0
      for _ in require("lfs").dir("/proc/self/fd") do open = open + 1 end
      return open
    end
    local closed, before = {}, nil
    for i = 1, 10 do
      local mine = assert(zklock.connect(zk.hosts))
      assert(mine:mutex(path):acquire(PATIENCE))
      assert(mine:close())
      assert(mine:close())
      assert.equal(-1, mine:getfd())
      assert.equal(0, mine:poll())
      assert.same({ nil, "closed" }, { mine:mutex(path):acquire(0) })
      closed[i] = mine
      before = before or open_files()
    end
    assert.is_true(open_files() <= before) -- less, when what specs before this one have left was collected meanwhile
    assert.equal(10, #closed)
  end)

  describe("by the end of its script", function()
    local PROLOGUE = [[
      zklock = require "zklock"
      client = assert(zklock.connect(arg[1], { session_timeout = 600 }))
      lock = client:mutex(arg[2])
    ]]

    local HOLDS = [[
      assert(lock:acquire(60))
      io.stdout:write(require("spec.support.loop").now())
      io.stdout:flush()
    ]]

    local AT_MOST = 1 -- seconds, for which a process waits for its servers at its end

    --- Runs the script, and once more at another path if the second was over: then it may have left its session.
    ---@return table result
    ---@return string path
    ---@return table before the sessions
    local function ends(ending)
      local result, at, before
      local tries = 0
      wait.eventually(function()
        tries = tries + 1
        at = ("%s/%d"):format(path, tries)
        here:nodes(at) -- with a new session, if that of a minute ago is over
        before = sessions()
        result = wait.run_lua(PROLOGUE .. HOLDS .. ending, zk.hosts, at)
        local began, ended = tonumber(result.stdout), wait.now()
        local may_have_left = began and ended > began + AT_MOST
        return not may_have_left, result.stderr
      end, PATIENCE, "a script that ends within its second")
      return result, at, before
    end

    for title, ending in pairs {
      ["that just ends"] = "",
      ["that closes its client"] = "client:close()",
      ["that calls os.exit(0)"] = "os.exit(0)",
      ["that calls os.exit(0, true)"] = "os.exit(0, true)",
      ["that ends inside a coroutine that holds"] =
        "lock:release() thread = coroutine.wrap(function() lock:acquire(60) coroutine.yield() end) thread()",
      ["that has more clients"] =
        "second = assert(zklock.connect(arg[1])) assert(second:mutex(arg[2] .. '-2'):acquire(60))",
      ["that still waits in a request"] = "lock:request(nil, print)",
      ["that calls os.exit(0) in a callback"] =
        "client:mutex(arg[2] .. '-2'):request(60, function() os.exit(0) end) while true do client:poll(60) end",
      ["that calls os.exit(0, true) in a callback"] =
        "client:mutex(arg[2] .. '-2'):request(60, function() os.exit(0, true) end) while true do client:poll(60) end",
      ["that dropped it before"] = "lock, client = nil collectgarbage() collectgarbage()",
    } do
      it(("frees at once what it held: %s"):format(title), function()
        local result, at, before = ends(ending)
        assert.same({ 0, "" }, { result.code, result.stderr })
        assert.is_number(tonumber(result.stdout))
        here:becomes(0, at)
        no_session_but(before)
      end)
    end

    it("frees at once what it held: that raises an error", function()
      local result, at = ends "error('an uncaught one')"
      assert.equal(1, result.code)
      assert.matches("an uncaught one", result.stderr)
      here:becomes(0, at)
    end)

    -- Plain Lua 5.1 interrupts its main program only, and does not say what that is.
    local interrupts_coroutines = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

    --- Runs a script that waits for a held lock, interrupts it there, and gives its process.
    local function interrupt(code)
      assert(other:acquire(path, PATIENCE))
      local child = wait.spawn_lua(PROLOGUE .. code, { zk.hosts, path })
      here:becomes(2)
      -- LuaJIT has one hook for all coroutines: it must not meet the callback's before that waits.
      if code:find("waits") then assert.equal("waits", child:read_line(PATIENCE)) end
      child:signal("sigint")
      return child
    end

    for title, code in pairs {
      ["acquire"] = "lock:acquire()",
      ["with"] = "lock:with(print)",
      ["guard"] = "lock:guard(3600)",
      ["poll"] = "lock:request(nil, print) client:poll(math.huge)",
      ["a callback's acquire"] = "client:mutex(arg[2] .. '-free'):request(nil, function() lock:acquire() end) "
        .. "while client:poll(3600) do print('waits') io.stdout:flush() end",
      ["a coroutine's acquire"] = "coroutine.wrap(function() lock:acquire() end)()",
    } do
      it(("by Ctrl-C in %s ends it, and its node goes at once"):format(title), function()
        if title:find("^a c") and not interrupts_coroutines then return pending("not in plain Lua 5.1") end
        local child = interrupt(code)
        assert.equal(1, (child:wait(PATIENCE)))
        assert.matches("interrupted!", child:stderr())
        here:becomes(1)
        other:release(path)
      end)
    end

    for _, name in ipairs { "TERM", "HUP", "INT", "QUIT" } do
      it(("by SIG%s, when that was asked for, ends it and leaves nothing"):format(name), function()
        assert(other:acquire(path, PATIENCE))
        local known = { [here:nodes()[1]] = true }
        local function waits_anew() -- the node of the wait before may still be there
          wait.eventually(function()
            for _, node in ipairs(here:nodes()) do
              if not known[node] then
                known[node] = true
                return true
              end
            end
          end, PATIENCE, "a new node")
        end
        local child = wait.spawn_lua(PROLOGUE .. [[
          zklock.interrupt_on("HUP", "TERM", "QUIT")
          zklock.interrupt_on("INT")
          assert(client:mutex(arg[2] .. "-held"):acquire(60))
          for _ = 1, 2 do print(pcall(lock.acquire, lock)) io.stdout:flush() end
          lock:acquire()
        ]], { zk.hosts, path })
        for _ = 1, 2 do
          waits_anew()
          child:signal("sig" .. name:lower())
          assert.matches("^false\t.*interrupted: " .. name .. "$", (child:read_line(PATIENCE)))
        end
        waits_anew()
        child:signal("sig" .. name:lower())
        assert.equal(1, (child:wait(PATIENCE)))
        assert.matches("interrupted: " .. name, child:stderr())
        here:becomes(1)
        wait.eventually(function() return #tree:children(path .. "-held") == 0 end, PATIENCE)
        other:release(path)
      end)
    end

    it("by a signal that was asked for wants a name, and one that it knows", function()
      for _, bad in ipairs { "KILL", "SIGTERM", 15, {} } do
        local ok, message = pcall(zklock.interrupt_on, bad)
        assert.is_false(ok)
        assert.matches("bad argument 'name'", message)
      end
      assert.is_false((pcall(zklock.interrupt_on)))
      assert.matches("'name 2'", select(2, pcall(zklock.interrupt_on, "TERM", "ABRT")))
    end)

    it("by Ctrl-C just before a coroutine waits ends it, too", function()
      if not interrupts_coroutines then return pending("not in plain Lua 5.1") end
      assert(other:acquire(path, PATIENCE))
      local result = wait.run_lua(PROLOGUE .. [[
        local uv = require "luv"
        coroutine.wrap(function()
          uv.kill(uv.os_getpid(), "sigint")
          lock:acquire()
        end)()
      ]], zk.hosts, path)
      assert.equal(1, result.code)
      assert.matches("interrupted!", result.stderr)
      here:becomes(1)
      other:release(path)
    end)

    it("can be averted in a coroutine, which may wait again before the main program has heard of it", function()
      if not interrupts_coroutines then return pending("not in plain Lua 5.1") end
      assert(other:acquire(path, PATIENCE))
      local result = wait.run_lua(PROLOGUE .. [[
        local uv = require "luv"
        coroutine.wrap(function()
          print(pcall(function()
            uv.kill(uv.os_getpid(), "sigint")
            lock:acquire()
          end))
          print(lock:acquire(0.05))
        end)()
      ]], zk.hosts, path)
      assert.matches("^false\t[^\n]*interrupted!\nnil\ttimeout\n$", result.stdout)
      here:becomes(1)
      other:release(path)
    end)

    it("can be averted: a script that catches Ctrl-C goes on, and no node is left", function()
      local child = interrupt [[
        print(pcall(lock.acquire, lock))
        io.stdout:flush()
        io.read()
        print(lock:acquire(0))
        io.stdout:flush()
        io.read()
        print(lock:acquire(60) ~= nil, lock:release())
      ]]
      assert.matches("^false\t.*interrupted!$", child:read_line(PATIENCE))
      here:becomes(1)
      child:write("")
      assert.equal("nil\ttimeout", child:read_line(PATIENCE))
      other:release(path)
      child:write("")
      assert.equal("true\ttrue", child:read_line(PATIENCE))
      assert.equal(0, (child:wait(PATIENCE)))
      here:becomes(0)
    end)

    it("is not needed to end the wait of an acquire into which a hook raised, wherever that was", function()
      local result = wait.run_lua([[
        if jit then jit.off() end
        local hosts, path, patience = arg[1], arg[2], 20
        local zklock = require "zklock"

        local function is_inside(acquire)
          local level, frame = 3, debug.getinfo(3, "f")
          while frame and frame.func ~= acquire do
            level = level + 1
            frame = debug.getinfo(level, "f")
          end
          return frame ~= nil
        end

        --- Raises after n instructions, if acquire is running then. Also gives whether there were so many.
        local function attempt(lock, n)
          local reached = false
          local ok = pcall(function()
            debug.sethook(function()
              debug.sethook()
              reached = true
              if is_inside(lock.acquire) then error("hooked", 0) end
            end, "", n)
            lock:acquire(patience)
            debug.sethook()
          end)
          debug.sethook()
          return ok, reached
        end

        local client, lock
        local function renew()
          if client then client:close() end
          client = assert(zklock.connect(hosts, { session_timeout = 600 }))
          lock = client:mutex(path)
        end
        renew()
        local n, short, wrong = 0, 0, {}
        repeat
          n = n + 1
          local ok, reached = attempt(lock, n)
          short = reached and 0 or short + 1 -- an acquire that sleeps once more takes more instructions
          if ok then assert(lock:is_held()) end
          if lock:is_held() then lock:release() end -- raised when it was granted already
          collectgarbage()
          collectgarbage()
          client:poll()
          local stats = client:stats()
          if stats.held + stats.waiting > 0 then
            wrong[#wrong + 1] = n
            renew()
          end
        until short == 5 or #wrong == 5
        print(#wrong == 0 and "nobody waits" or "somebody waits, raised at " .. table.concat(wrong, ", "))
        client:close()
      ]], zk.hosts, path)
      assert.same({ 0, "nobody waits\n", "" }, { result.code, result.stdout, result.stderr })
      here:becomes(0)
    end)
  end)
end)
