-- SPDX-License-Identifier: MIT
--- A process that forks while it holds: its child hears 'forked' and leaves the parent's session and locks alone.

local fixture = require "spec.support.fixture"
local host = require "spec.support.host"
local zklock = require "zklock"

local PATIENCE = require("spec.support.wait").PATIENCE

-- To LeakSanitizer a child has lost the memory that belongs to threads which it does not have.
local SANITIZER = os.getenv("ASAN_OPTIONS")
local OPTIONS = { env = SANITIZER and { ASAN_OPTIONS = SANITIZER .. ":detect_leaks=0" } }

describe("a forked child", function()
  local here = fixture.new("/fork")
  local zk, path

  setup(function() zk = here.zk end)

  before_each(function() path = here.path end)

  -- It holds by acquire, by a guard, by a request and by a coroutine, and one request waits.
  local PROLOGUE = [[
    local zklock = require "zklock"
    local hosts, path = arg[1], arg[2]
    local client = assert(zklock.connect(hosts, { session_timeout = 60 }))
    local lock = client:mutex(path)
    local token = assert(lock:acquire(60))
    local guard = assert(client:mutex(path .. "-guarded"):guard(60))
    local function nothing() end
    local held = client:mutex(path .. "-requested"):request(60, nothing)
    while held:state() ~= "held" do client:poll(1) end
    local owner = coroutine.create(function()
      assert(client:mutex(path .. "-owned"):acquire(60))
      coroutine.yield()
    end)
    assert(coroutine.resume(owner))
    local heard = {}
    local waiting = lock:request(60, function(got, err) heard[#heard + 1] = { got, err } end)
    local id = client:session_id()
    --- The child runs `fn` and ends at once, if `fn` does not end it otherwise.
    local function in_child(fn, how)
      local child = assert(host.fork(how))
      if child ~= 0 then return child end
      fn()
      host.exit(0)
    end
  ]]
  local EPILOGUE = [[
    print("parent", host.wait(child))
    print(lock:is_held(), lock:token() == token, guard:is_held(), held:state())
    print(client:state(), client:session_id() == id)
    print(#heard, waiting:state(), client:mutex(path .. "-owned"):is_held(owner))
    print(lock:release(), guard:release(), held:release())
    while #heard == 0 do client:poll(1) end
    print(#heard, heard[1][1] > token, waiting:release(), client:flush(60), client:close())
  ]]
  local WELL = "parent\t0\n"
    .. "true\ttrue\ttrue\theld\nconnected\ttrue\n"
    .. "0\twaiting\ttrue\ntrue\ttrue\ttrue\n1\ttrue\ttrue\ttrue\ttrue\n"

  local function run(code)
    local result = host.run({ PROLOGUE .. code .. EPILOGUE }, { zk.hosts, path }, OPTIONS)
    assert.equal("", result.stderr)
    assert.equal(0, result.code)
    here:becomes(0)
    return result.stdout
  end

  it("hears 'forked' from every call", function()
    assert.equal([[
forked
nil	forked
nil	forked
nil	forked
nil	forked
nil	forked
nil	forked
nil	forked
nil	forked
nil	forked
nil	forked
nil	forked
nil	forked
false	nil	0
false	nil	nil	forked
failed	nil	nil	forked
failed	false	nil	forked
nil	forked
false	nil	0
true
]] .. WELL, run [[
      local child = in_child(function()
        print(client:state())
        print(client:session_id())
        print(client:session_timeout())
        print(client:stats())
        print(require("zklock.metrics").text(client))
        print(lock:acquire(60))
        print(lock:acquire(0, "somebody"))
        print(lock:release())
        print(lock:with(5, print))
        print(lock:guard(5))
        print(lock:participants(5))
        print(client:flush(5))
        print(client:sleep(5))
        print(lock:is_held(), lock:token(), lock:validity())
        print(guard:is_held(), guard:token(), guard:release())
        print(held:state(), held:token(), held:release())
        print(waiting:state(), waiting:cancel(), waiting:release())
        local fresh = client:mutex(path .. "-new")
        print(fresh:acquire(60))
        print(fresh:is_held(), fresh:token(), fresh:validity())
        print(client:close())
      end)
    ]])
  end)

  -- pthread_atfork notices none of these. A child of theirs finds malloc's locks as they were: so nothing may be under
  -- way. A hold's watch goes out half a second after the grant at most, and the next heartbeat after ten.
  for _, how in ipairs { "_Fork", "clone" } do
    it(("of %s holds nothing, hears 'forked' and leaves the parent's locks alone"):format(how), function()
      if os.getenv("TSAN_OPTIONS") then return pending("ThreadSanitizer knows no other fork than fork") end
      assert.equal("forked\nfalse\tnil\t0\nnil\tforked\nnil\tforked\nfailed\tnil\n" .. WELL, run(([[
        local sent
        repeat
          sent = client:stats().requests_sent
          client:sleep(0.7)
        until client:stats().requests_sent == sent
        local child = in_child(function()
          print(client:state())
          print(lock:is_held(), lock:token(), lock:validity())
          print(lock:release())
          print(lock:acquire(60))
          print(held:state(), held:token())
        end, "%s")
      ]]):format(how)))
    end)
  end

  it("leaves its parent's place alone, which goes on without traffic", function()
    assert.equal("nil\tforked\nnil\tforked\nfalse\tnil\nparent\t0\ntrue\ttrue\ttrue\n" .. WELL, run [[
      local hot = client:mutex(path .. "-hot", { fair = false, linger = 100 })
      local hot_token = assert(hot:acquire(60))
      for _ = 1, 20 do assert(hot:release() and hot:acquire(60)) end
      assert(hot:release())
      local child = in_child(function()
        print(hot:acquire(60))
        print(hot:release())
        print(hot:is_held(), hot:turn())
      end)
      print("parent", host.wait(child))
      print(hot:acquire(0) == hot_token, hot:turn() > 21, hot:release())
      child = in_child(function() end)
    ]])
  end)

  it("hears 'forked' from poll for what it asks, and nothing of what its parent asked", function()
    assert.equal("asked\n1\tnil\tforked\tfailed\t0\n" .. WELL, run [[
      local child = in_child(function()
        local a, b
        local request = lock:request(5, function(...) a, b = ... end)
        print "asked"
        print(client:poll(5), a, b, request:state(), #heard)
      end)
    ]])
  end)

  it("that was made while its parent waits hears 'forked' from that wait", function()
    assert.equal("child\tnil\tforked\n" .. WELL, run [[
      local child, got, err
      client:mutex(path .. "-free"):request(60, function() child = host.fork() end)
      while not child do got, err = lock:acquire(0.2, "another") end -- callbacks run in here
      if child == 0 then
        print("child", got, err)
        host.exit(0)
      end
    ]])
  end)

  it("can make a client of its own", function()
    if os.getenv("TSAN_OPTIONS") then return pending("ThreadSanitizer wants no new threads in a forked child") end
    assert.equal("nil\ttimeout\ntrue\ttrue\n" .. WELL, run [[
      local child = in_child(function()
        local mine = assert(zklock.connect(hosts))
        print(mine:mutex(path):acquire(0))
        print(mine:mutex(path .. "-own"):acquire(60) ~= nil, mine:close())
      end)
    ]])
  end)

  for title, ending in pairs {
    ["close()"] = { "client:close() client:close() os.exit(0)", "0" },
    ["os.exit(0)"] = { "os.exit(0)", "0" },
    ["os.exit(0, true)"] = { "os.exit(0, true)", "0" },
    ["the collector"] = { "lock, client, guard, held, waiting = nil collectgarbage() os.exit(0)", "0" },
    ["the end of an owner"] = { "coroutine.resume(owner) lock:acquire(1) client:poll(0.01) os.exit(0)", "0" },
    ["an error, and the end of its Lua"] = { "error('uncaught')", "1" },
    ["a signal"] = { "host.die()", "nil\t9" },
  } do
    it(("that ends by %s leaves the parent's session and locks alone"):format(title), function()
      local result = host.run({ PROLOGUE .. "local child = in_child(function() " .. ending[1] .. " end)" .. EPILOGUE },
        { zk.hosts, path }, OPTIONS)
      assert.same({ 0, (WELL:gsub("parent\t0", "parent\t" .. ending[2])) }, { result.code, result.stdout })
      here:becomes(0)
    end)
  end

  it("may come at any moment of the library's threads", function()
    assert.equal("40 children\n" .. WELL, run [[
      local function nothing_to_do() end
      local endings = {
        function() client:close() end,
        function() os.exit(0) end,
        function() lock, guard, held = nil collectgarbage() end,
        function() client:poll(0.01) lock:acquire(1) lock:release() end,
      }
      local child, well, turns = nil, 0, 0
      for i = 1, 40 do
        for k = 1, 5 do -- under way while the child is made
          local request
          request = client:mutex(path .. "-busy-" .. k):request(60, function()
            turns = turns + 1
            request:release()
          end)
        end
        child = in_child(endings[i % #endings + 1])
        if host.wait(child) == 0 then well = well + 1 end
        client:poll()
      end
      while turns < 200 do client:poll(1) end
      print(well .. " children")
      child = in_child(nothing_to_do)
    ]])
  end)

  it("that lives on when its parent is killed does not keep the parent's locks #slow", function()
    local code = PROLOGUE:gsub("session_timeout = 60", "session_timeout = 2") .. [[
      in_child(function()
        print("child")
        io.stdout:flush()
        io.read()
        print("still here", client:state())
        io.stdout:flush()
        io.read()
      end)
      while true do client:poll(60) end
    ]]
    local parent = host.spawn({ code }, { zk.hosts, path }, OPTIONS)
    assert.equal("child", parent:read_line(PATIENCE))
    here:becomes(2)
    parent:signal("sigkill")
    here:becomes(0)
    parent:write("")
    assert.equal("still here\tforked", parent:read_line(PATIENCE))
    parent:kill()
    local client = assert(zklock.connect(zk.hosts))
    assert.is_number((client:mutex(path):acquire(PATIENCE)))
    client:close()
  end)
end)
