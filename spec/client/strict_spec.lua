-- SPDX-License-Identifier: MIT
--- A program whose globals are strict: to read one that is not there raises, and so does to make one. Penlight's
--- `strict` does that, and so does Prosody.

local fixture = require "spec.support.fixture"
local script = require "spec.support.script"

describe("under strict globals", function()
  local here = fixture.new("/strict")

  local PROLOGUE = [[
    local hosts, path, loop = arg[1], arg[2], arg[3]
    -- Other people's modules are not tried here.
    for _, name in ipairs { "cqueues", "cqueues.condition", "luv", "copas", "coxpcall" } do pcall(require, name) end
    setmetatable(_G, {
      __index = function(_, name) error("a read of the global '" .. tostring(name) .. "', which is not there", 2) end,
      __newindex = function(_, name) error("a new global '" .. tostring(name) .. "'", 2) end,
    })
    local zklock = require "zklock"
  ]]

  local function passes(code, loop)
    local child = script.spawn(PROLOGUE .. code, { here.zk.hosts, here.path, loop or "blocking" },
      { env = { LUA_PATH = package.path, LUA_CPATH = package.cpath } }) -- other specs add to them
    local result = script.finish(child)
    assert.same({ 0, "", "good\n" }, { result.code, result.stderr, result.stdout })
  end

  local USE = [[
    local function use()
      local told = {}
      local client = assert(zklock.connect(hosts, { loop = loop, on_error = error,
        on_state = function(state) told[#told + 1] = state end, log = function() end }))
      local rw = client:rwlock(path .. "/rw")
      local locks = { client:mutex(path .. "/mutex"), client:mutex(path .. "/place", { fair = false, linger = 0 }),
        rw.read, rw.write, client:multilock { path .. "/a", path .. "/b" } }
      for _, lock in ipairs(locks) do
        lock:on_lost(print)
        lock:on_revoke(function() end)
        local token = assert(lock:acquire(60))
        assert(lock:acquire(60) == token and lock:release())
        assert(lock:is_held() and lock:validity() > 0 and lock:token() == token and lock:turn() and #lock:nodes() > 0)
        assert(lock:multi({ { "create", path .. "/note", "1" }, { "delete", path .. "/note" } }, 20))
        assert(#lock:participants(60) > 0 and lock:revoke(20) and tostring(lock) ~= "")
        assert(lock:release())
        assert(select(2, lock:with(60, function(_, word) return word end, "word")) == "word")
        local guard = assert(lock:guard(60))
        assert(guard:token() and guard:is_held() and guard:release())
        local answer
        local request = lock:request(60, function(got, err, asked)
          answer = got or err
          asked:release()
        end)
        while not answer do client:poll(0.1) end
        assert(type(answer) == "number" and request:state() == "released")
        lock:guard(60) -- left to the collector
        collectgarbage()
        collectgarbage()
      end
      local pool, leased = client:semaphore(path .. "/pool", 2), nil
      local lease = assert(pool:acquire(60))
      assert(lease:token() and lease:is_held() and #pool:participants(60) == 1 and lease:release())
      pool:request(60, function(got) leased = got:release() end)
      while not leased do client:poll(0.1) end

      local seen, spawned
      assert(client:create(path .. "/node", "1", { parents = true }, 20))
      local watch = client:watch(path .. "/node", function(data) seen = data end)
      assert(client:set(path .. "/node", "2", nil, 20))
      while seen ~= "2" do client:poll(0.1) end
      watch:stop()
      assert(client:get(path .. "/node", 20) == "2" and client:exists(path .. "/node", 20))
      assert(#client:children(path, 60) > 0 and client:sync(60))
      assert(client:multi({ { "check", path .. "/node" } }, 20) and client:delete(path .. "/node", nil, 20))
      client:spawn(function() spawned = locks[1]:acquire(60) end)
      while not spawned do client:poll(0.1) end
      assert(client:flush(60) and client:stats().acquired > 0 and client:session_id() and client:getfd())
      assert(client:session_timeout() and tostring(client) ~= "" and client:close() and #told > 0)
      assert(not pcall(client.mutex, client, "no path") and not pcall(locks[1].acquire, locks[1], "no time"))
      print "good"
    end
  ]]

  it("everything works that there is", function() passes(USE .. "use()") end)

  local RUN = {
    cqueues = [[ local loops = require "cqueues".new() loops:wrap(use) assert(loops:loop()) ]],
    luv = [[
      local running = coroutine.create(use)
      assert(coroutine.resume(running))
      local turning = assert(require "luv".new_timer()) -- where another program would have work
      turning:start(0, 10, function() if coroutine.status(running) == "dead" then turning:close() end end)
      require "luv".run()
    ]],
    copas = [[
      local copas = require "copas"
      copas.autoclose = false
      local done
      copas.addthread(function() use() done = true end)
      while not done do copas.step(0.1) end
    ]],
  }
  for loop, run in pairs(RUN) do
    it("everything works in " .. loop, function()
      if not pcall(require, loop) then return pending(loop .. " is not there for this Lua") end
      passes(USE .. run, loop)
    end)
  end

  it("every module that does not need nginx or HAProxy can be loaded #bare", function()
    passes [[
      local find = io.popen "find lua/zklock -name '*.lua'"
      local count = 0
      for file in find:lines() do
        local name = file:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
        local ok, err = pcall(require, name)
        local loop = name:match "^zklock%.loop%.(.*)"
        local is_host = name:find "openresty" or loop == "haproxy"
        if not ok and not is_host and not (loop and err:find("module '%a+' not found")) then
          io.stderr:write(name, ": ", err, "\n")
        end
        count = count + 1
      end
      assert(count > 20)
      print "good"
    ]]
  end)
end)
