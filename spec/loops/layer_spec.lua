-- SPDX-License-Identifier: MIT
--- Past defects between the engine and the script: loops that stop, errors that are no texts, handles that nobody has.

local cqueues = require "cqueues"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local real_loops = require "spec.support.real_loops"
local script = require "spec.support.script"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local SESSION = 30 -- seconds
local PATIENCE = wait.PATIENCE
local yields_across_pcall = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

describe("above the engine", function()
  local here = fixture.new("/layer", { session_timeout = SESSION })
  local zk, tree, other, path, client

  setup(function() zk, tree, other = here.zk, here.tree, here:second_process() end)

  before_each(function() path, client = here.path, here:connect() end)

  local function lose(at)
    local losses = client:stats().lost
    for _, name in ipairs(tree:children(at)) do tree:delete(at .. "/" .. name) end
    wait.eventually(function() return client:stats().lost > losses end, PATIENCE)
  end

  describe("a home in cqueues that is not stepped any more", function()
    local function connect_in(controller)
      local made
      controller:wrap(function()
        made = assert(zklock.connect(zk.hosts, { session_timeout = SESSION, loop = "cqueues" }))
      end)
      wait.eventually(function()
        assert(controller:step(0.02))
        return made
      end)
      return made
    end

    --- A client whose home stands still, with a callback to be called.
    local function stranded(told)
      local home = cqueues.new()
      local made = connect_in(home)
      made:mutex(path):request(PATIENCE, function(...) told[#told + 1] = { ... } end)
      wait.eventually(function() return made:stats().held == 1 end)
      return made, home
    end

    it("does not hold up close() elsewhere, which calls what the home does not", function()
      if not yields_across_pcall then return pending("plain Lua 5.1 calls callbacks at once") end
      local told, closed, steps = {}, nil, 0
      local stray, home = stranded(told)
      local controller = cqueues.new()
      controller:wrap(function() closed = stray:close() end)
      wait.eventually(function()
        steps = steps + 1
        assert(controller:step(0.1))
        return closed
      end, nil, "the end of close()")
      assert.equal(1, #told)
      assert.is_true(steps < 1000, steps)
      assert(home:step(0))
      assert.equal(1, #told)
    end)

    it("is not counted by poll() before it has called", function()
      if not yields_across_pcall then return pending("plain Lua 5.1 calls callbacks at once") end
      local told, polled = {}, nil
      local stray, home = stranded(told)
      local controller = cqueues.new()
      controller:wrap(function()
        polled = stray:poll(2)
        assert.equal(#told, polled)
        stray:close()
      end)
      wait.eventually(function()
        assert(controller:step(0.1))
        return polled
      end)
      assert(controller:loop(10))
      assert.equal(1, #told)
      assert(home:step(0))
    end)
  end)

  describe("what a callback raises", function()
    local FAILING = setmetatable({}, { __tostring = function() error("no text") end })
    local NO_TEXT = setmetatable({}, { __tostring = function() return {} end })
    local SPEAKING = setmetatable({}, { __tostring = function() return "spoken" end })

    --- Callbacks that raise this, and one that does not, are called in that loop.
    local function raise_in(loop, options)
      local told, errors = 0, {}
      client:close()
      options.session_timeout = SESSION
      if loop then options.loop = loop.name end
      if options.on_error then
        options.on_error = function(message) errors[#errors + 1] = message end
      end
      if loop then
        client = nil
        loop.spawn(function() client = here:connect(options) end)
        loop.run(function() return client end)
      else
        client = here:connect(options)
      end
      for i, err in ipairs { FAILING, NO_TEXT, SPEAKING, { code = 1 }, false, "text" } do
        client:mutex(("%s/%d"):format(path, i)):request(PATIENCE, function() error(err, 0) end)
      end
      client:mutex(path .. "/nil"):request(PATIENCE, function() error(nil) end)
      client:mutex(path .. "/good"):request(PATIENCE, function() told = told + 1 end)
      local function is_through() return told == 1 and (#errors == 7 or not options.on_error) end
      if loop and yields_across_pcall then
        loop.run(is_through)
        assert.same({}, loop.errors)
      else
        wait.eventually(function()
          client:poll(0.01)
          return is_through()
        end, PATIENCE)
      end
      assert.is_number((client:mutex(path .. "/other"):acquire(PATIENCE)))
      return errors
    end

    local function check(errors)
      local all = table.concat(errors, "\n")
      for _, message in ipairs(errors) do assert.truthy(message:find("stack traceback", 1, true), message) end
      for _, part in ipairs { "spoken", "error object is a table value", "text" } do
        assert.truthy(all:find(part, 1, true), part)
      end
    end

    it("reaches on_error as text, whatever it is", function()
      check(raise_in(nil, { on_error = true }))
    end)

    for _, make in ipairs(real_loops.all()) do
      local loop = make()
      it("reaches on_error as text, whatever it is, in " .. loop.name, function()
        check(raise_in(loop, { on_error = true }))
      end)
    end

    it("does no harm where stderr is closed", function()
      local stderr, closed = io.stderr, assert(io.tmpfile())
      closed:close()
      io.stderr = closed -- luacheck: ignore 122
      local ok, err = pcall(raise_in, nil, {})
      io.stderr = stderr -- luacheck: ignore 122
      assert(ok, err)
    end)
  end)

  describe("a coroutine that is closed in luv", function()
    local uv = require "luv"
    local NOBODY = "127.0.0.1:1"

    --- So many that are suspended in fn, and closed; their coroutines, weakly.
    local function close_many(n, fn)
      local seen = setmetatable({}, { __mode = "k" })
      for _ = 1, n do
        local thread = coroutine.create(fn)
        assert(coroutine.resume(thread))
        assert.equal("suspended", coroutine.status(thread))
        assert(coroutine.close(thread))
        seen[thread] = true
      end
      return seen
    end

    local function count_of(set)
      collectgarbage()
      collectgarbage()
      local n = 0
      for _ in pairs(set) do n = n + 1 end
      return n
    end

    local cases = {
      participants = function() client:mutex(path):participants(PATIENCE) end,
      flush = function() client:flush(PATIENCE) end,
      revoke = function() client:mutex(path):revoke(PATIENCE) end,
      connect = function() zklock.connect(NOBODY, { loop = "luv", connect_timeout = PATIENCE }) end,
    }
    for name, fn in pairs(cases) do
      it("leaves no waiter in " .. name, function()
        if not coroutine.close then return pending("only Lua 5.4 closes coroutines") end
        client:close()
        client = here:connect { loop = "luv" }
        local many = name == "connect" and 20 or 100
        local seen = close_many(many, fn)
        wait.eventually(function()
          client:poll()
          uv.run("nowait")
          coroutine.wrap(function() client:flush(PATIENCE) end)()
          return count_of(seen) == 0
        end, PATIENCE, "the end of the coroutines")
      end)
    end
  end)

  describe("a handle that nobody has any more", function()
    it("binds no options", function()
      client:semaphore(path, 3)
      local pool = client:semaphore(path, 4)
      local leases = assert(pool:acquire(PATIENCE, 4))
      assert.has_error(function() client:semaphore(path, 5) end,
        "bad argument 'options': other handles of '" .. path .. "' have different options")
      assert.is_true(leases:release())
      local newer = client:semaphore(path, 5)
      assert.is_true(assert(pool:acquire(PATIENCE, 5)):release()) -- the newest count, for all handles
      assert.is_true(assert(newer:acquire(PATIENCE, 5)):release())
    end)

    it("binds them as long as somebody waits", function()
      assert(other:acquire(path, PATIENCE))
      local told
      local request = client:mutex(path, { max_hold = 5 }):request(PATIENCE, function(...) told = { ... } end)
      assert.has_error(function() client:mutex(path, { max_hold = 6 }) end,
        "bad argument 'options': other handles of '" .. path .. "' have different options")
      request:cancel()
      wait.eventually(function()
        client:poll(0.01)
        return told
      end, PATIENCE)
      client:mutex(path, { max_hold = 6 })
      client:rwlock(path .. "-book", { max_hold = 5 })
      client:rwlock(path .. "-book", { max_hold = 6 })
      client:multilock({ path .. "/a", path .. "/b" }, { max_hold = 5 })
      client:multilock({ path .. "/b", path .. "/a" }, { max_hold = 6 })
      assert(other:release(path))
    end)

    it("has its owner hear of a loss, once", function()
      assert(client:mutex(path):acquire(PATIENCE))
      lose(path)
      client:poll()
      collectgarbage()
      collectgarbage()
      assert.same({ nil, "lost" }, { client:mutex(path):release() })
      assert.same({ nil, "not owner" }, { client:mutex(path):release() })
    end)
  end)

  it("owners that are texts and lose, and never ask again, are not remembered for ever", function()
    local lock, held = client:mutex(path), 0
    for i = 1, 1100 do
      client.holds.losses:note(lock.lock_path, "owner " .. i)
    end
    for i = 1, 1100 do
      local released, err = lock:release("owner " .. i)
      assert.is_nil(released)
      if err == "lost" then held = held + 1 end
    end
    assert.equal(1000, held)
    assert(lock:acquire(PATIENCE, "somebody"))
    lose(path)
    assert.same({ nil, "lost" }, { lock:release("somebody") })
    assert.same({ nil, "not owner" }, { lock:release("somebody") })
  end)

  it("a guard of what was lost says so, also when its owner has it more than once", function()
    local lock = client:mutex(path)
    assert(lock:acquire(PATIENCE))
    local guard = assert(lock:guard(PATIENCE))
    lose(path)
    assert.same({ nil, "lost" }, { guard:release() })
    assert.is_true(guard:release())
    assert.same({ nil, "lost" }, { lock:release() })
  end)

  it("connect says that the process has no descriptors left #bare", function()
    local program = folder.file("greedy.lua", [[
      local zklock, files = require "zklock", {}
      repeat files[#files + 1] = io.open "/dev/null" until not files[#files] or #files > 1000 or not io.open "/dev/null"
      local client, err = zklock.connect("127.0.0.1:1", { connect_timeout = 0.1 })
      print(client, err)
    ]])
    local pipe = assert(io.popen(("ulimit -n 64; exec %s %s 2>&1"):format(script.interpreter(), program)))
    local said = pipe:read "*a"
    pipe:close()
    assert.equal("nil\tno descriptors left\n", said)
  end)

  --- A thread takes a gigabyte of addresses, of which there are so many. A sanitizer wants more.
  local function with_room_for(threads, program)
    local pipe = assert(io.popen(("ulimit -s 1048576; ulimit -v %d; exec %s %s %s 2>&1"):format(
      threads * 1048576 + 700000, script.interpreter(), program, zk.hosts)))
    local said = pipe:read "*a"
    pipe:close()
    return said
  end

  if not os.getenv "LD_PRELOAD" then
    it("connect does not end the program that can have few threads more #once", function()
      local program = folder.file("crowded.lua", [[
        local zklock = require "zklock"
        local client, err = zklock.connect(arg[1], { connect_timeout = 2, log = function() end })
        io.write(client and "connected" or err)
        os.exit(0)
      ]])
      local seen = {}
      for threads = 0, 6 do
        local said = with_room_for(threads, program)
        assert.is_true(said == "connected" or said == "no threads left" or said == "disconnected", said)
        seen[said] = true
      end
      assert.same({ true, true }, { seen.connected, seen["no threads left"] })
    end)
  end
end)
