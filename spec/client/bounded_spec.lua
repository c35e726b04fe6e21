-- SPDX-License-Identifier: MIT
--- The ends of things when no server answers: `flush`, `close`, the collector, the end of a script.
--
-- Sessions are so long that libzookeeper itself notices nothing for minutes: an end without a bound of its own is not
-- there within PATIENCE. The bounds themselves are tested with a clock that stands still, and in
-- spec/unit/registry_test.c.

local core = require "zklock.core"
local inspector = require "spec.support.inspector"
local proxy = require "spec.support.proxy"
local queue = require "spec.support.queue"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"
local zklock = require "zklock"

local SESSION = 600 -- seconds
local PATIENCE = wait.PATIENCE
local DARK = { "both", "to_server", "to_client", "stopped" } -- ways of the link, and a server that was stopped

describe("when no server answers,", function()
  local zk, tree, other, dark, hosts, count

  setup(function()
    zk, other = server.shared(), server.start()
    tree = inspector.connect(zk.hosts)
    tree:delete_tree("/bounded")
    dark, hosts, count = {}, { stopped = other.hosts }, 0
    for _, way in ipairs(DARK) do
      if way ~= "stopped" then
        dark[way] = proxy.start(zk.hosts)
        hosts[way] = dark[way].hosts
      end
    end
  end)

  before_each(function() count = count + 1 end)

  local function lights_out()
    for way, each in pairs(dark) do each:black_hole(way) end
    other:pause()
  end

  local function lights_on()
    for _, each in pairs(dark) do each:heal() end
    other:resume()
  end

  after_each(lights_on)

  teardown(function()
    for _, each in pairs(dark) do each:close() end
    other:stop()
    tree:delete_tree("/bounded")
    tree:close()
  end)

  local function path_of(way) return ("/bounded/%d/%s"):format(count, way) end

  local function connect(way)
    return assert(zklock.connect(hosts[way], { session_timeout = SESSION, connect_timeout = PATIENCE }))
  end

  -- ---- flush ------------------------------------------------------------------------------------------------------

  for _, way in ipairs(DARK) do
    it(("flush ends at its deadline, and at once where nothing was released: %s"):format(way), function()
      local client = connect(way)
      local lock = client:mutex(path_of(way))
      assert(lock:acquire(PATIENCE))
      lights_out()
      assert.is_true(client:flush())
      assert.is_true(lock:release())
      assert.same({ nil, "timeout" }, { client:flush(0.1) })
      assert.same({ nil, "timeout" }, { client:flush(0) })
      lights_on()
      assert.is_true(client:flush(PATIENCE))
      client:close()
    end)
  end

  it("flush without a deadline waits until one does", function()
    local crew = worker.start()
    assert(crew:connect(hosts.both, { session_timeout = SESSION, connect_timeout = PATIENCE }))
    local line = queue.at(tree, path_of("worker"))
    assert(crew:acquire(line.path, PATIENCE))
    dark.both:black_hole()
    assert.is_true(crew:release(line.path))
    crew:begin("flush")
    assert.is_false(pcall(wait.eventually, function() return crew:has_answered() end, 0.2))
    assert.equal(1, #line:names())
    dark.both:heal()
    assert.is_true(crew:finish())
    line:becomes(0)
    crew:kill()
  end)

  -- ---- close ------------------------------------------------------------------------------------------------------

  it("close does not wait for one for long, and has answered everybody #slow", function()
    local crew = {}
    for _, way in ipairs(DARK) do
      crew[way] = worker.start()
      assert(crew[way]:connect(hosts[way], { session_timeout = SESSION, connect_timeout = PATIENCE }))
      assert(crew[way]:acquire(path_of(way), PATIENCE))
      assert(crew[way]:acquire(path_of(way) .. "-more", PATIENCE))
    end
    lights_out()
    for _, way in ipairs(DARK) do
      assert.is_true(crew[way]:release(path_of(way) .. "-more"))
      crew[way]:begin("eval", [[
        local path = ...
        local client, heard = worker.client, {}
        local function note(token, err) heard[#heard + 1] = token and "held" or err end
        worker.lock(path):request(nil, note)
        worker.lock(path .. "-more"):request(nil, note)
        assert(client:close())
        return { heard = heard, state = client:state() }
      ]], path_of(way))
    end
    for _, way in ipairs(DARK) do
      assert.same({ heard = { "closed", "closed" }, state = "closed" }, crew[way]:finish())
    end
    for _, way in ipairs(DARK) do crew[way]:kill() end
  end)

  it("close waits until five seconds after it was called", function()
    local client, now = connect "both", core.now
    local dispatcher, called = client.dispatcher, now() - 5
    local await_end, deadlines = dispatcher.await_end, {}
    function dispatcher:await_end(deadline)
      deadlines[#deadlines + 1] = deadline
      await_end(self, deadline)
    end
    lights_out()
    core.now = function() return called end -- the engine's clock goes on: for it, the five seconds are over
    local ok, err = pcall(client.close, client)
    core.now = now
    assert.is_true(ok, err)
    assert.same({ called + 5 }, deadlines)
    assert.equal("closed", client:state())
  end)

  it("close waits for a link that is on its way back, and then leaves nothing behind", function()
    --- How long close took, and the line in which the lock was. Its session outlives the spec's patience; a client with
    --- a longer one looks for a server less often.
    local function close_late(attempt)
      local crew = worker.start()
      assert(crew:connect(hosts.both, { session_timeout = PATIENCE + 10, connect_timeout = PATIENCE }))
      local line = queue.at(tree, path_of("late-" .. attempt))
      assert(crew:acquire(line.path, PATIENCE))
      dark.both:refuse()
      dark.both:cut()
      wait.eventually(function() return crew:state() == "suspended" end)
      crew:begin("eval", [[
        local core = require "zklock.core"
        local began = core.now()
        assert(worker.client:close())
        return core.now() - began
      ]])
      dark.both:heal()
      local took = crew:finish()
      crew:kill()
      return took, line
    end
    for attempt = 1, 20 do -- on a busy machine the link may take longer than the engine waits for it, two seconds
      local took, line = close_late(attempt)
      if took < 2 then return line:becomes(0) end
    end
    error("close never found the link again")
  end)

  -- ---- the collector ----------------------------------------------------------------------------------------------

  it("the collector does not wait, and what was held goes when one does", function()
    local line = queue.at(tree, path_of("both"))
    for _, way in ipairs(DARK) do
      local client = connect(way)
      assert(client:mutex(path_of(way)):acquire(PATIENCE))
      client:mutex(path_of(way)):request(nil, function() end)
      if way == "both" then line:becomes(2) end
    end
    lights_out()
    collectgarbage()
    collectgarbage()
    lights_on()
    line:becomes(0)
  end)

  -- ---- the end of a script ----------------------------------------------------------------------------------------

  -- These end while threads are at work, which is the point; ThreadSanitizer is not to wait for them or complain.
  local UNFINISHED = {
    TSAN_OPTIONS = (os.getenv("TSAN_OPTIONS") or "") .. ":report_thread_leaks=0:atexit_sleep_ms=0",
  }

  for title, ending in pairs {
    ["that just ends"] = "", ["that calls os.exit(0)"] = "os.exit(0)", ["that raises"] = "error('its own')",
  } do
    it(("a script %s does not wait for one for long #slow"):format(title), function()
      local crew = {}
      for _, way in ipairs(DARK) do
        crew[way] = wait.spawn_lua([[
          local zklock = require "zklock"
          local client = assert(zklock.connect(arg[1], { session_timeout = 600 }))
          assert(client:mutex(arg[2]):acquire(60))
          client:mutex(arg[2]):request(nil, print)
          print "in the dark?"
          io.stdout:flush()
          io.read()
        ]] .. ending, { hosts[way], path_of(way) }, { env = UNFINISHED })
        assert.equal("in the dark?", (crew[way]:read_line()))
      end
      lights_out()
      for _, way in ipairs(DARK) do crew[way]:write("yes") end
      for _, way in ipairs(DARK) do
        assert.equal(title == "that raises" and 1 or 0, (crew[way]:wait(PATIENCE)))
      end
    end)
  end
end)
