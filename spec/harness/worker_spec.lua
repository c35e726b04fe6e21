-- SPDX-License-Identifier: MIT
--- The harness's worker processes, tried without servers.

local folder = require "spec.support.folder"
local judge = require "spec.support.judge"
local resource = require "spec.support.resource"
local worker = require "spec.support.worker"

describe("a worker", function()
  -- A lock that needs no servers: what is tried here is the way there and back.
  local pretended = [[
    local zklock, held = {}, {}
    local lock = {}
    lock.__index = lock
    function lock:on_lost(fn) self.lost = fn end
    function lock:acquire(timeout)
      if timeout == 0 then return nil, "timeout" end
      held[self.path] = (held[self.path] or 4294967296) + 1
      return held[self.path]
    end
    function lock:release() self.lost("lost", "me", 5) return true end
    function lock:validity() return 1.5 end
    local client = {}
    function client.mutex(_, path) return setmetatable({ path = path }, lock) end
    function client.rwlock(_, path)
      local both = client.mutex(_, path)
      return { read = both, write = both }
    end
    function client.poll() return 0 end
    function zklock.connect(hosts, options)
      if hosts == "nowhere" then return nil, "disconnected" end
      options.on_state("connected")
      return client
    end
    package.loaded.zklock = zklock
  ]]
  local other

  before_each(function()
    local path = folder.file("zklock.lua", pretended .. "return zklock")
    other = worker.start { env = { LUA_PATH = path:match("^.*/") .. "?.lua;./?.lua;;" } }
  end)

  after_each(function() other:kill() end)

  it("passes calls and their results", function()
    assert.same({ false, "disconnected" }, { other:connect("nowhere") })
    assert.is_true(other:connect("somewhere", { session_timeout = 3 }))
    assert.same({ nil, "timeout" }, { other:acquire("/a", 0) })
    assert.equal(4294967297, other:acquire("/a"))
    assert.equal(1.5, other:validity("/a"))
    assert.is_true(other:release("/a"))
    assert.same({ { "state", "connected" }, { "lost", "/a", "lost", 5 } }, other:events())
  end)

  it("runs chunks and reports what they raise", function()
    assert.same({ 3, nil, "x" }, { other:eval("local a, b = ... return a + b, nil, 'x'", 1, 2) })
    assert.error_matches(function() other:eval("error('oops')") end, "oops")
    assert.equal(7, other:eval("return 7"))
    assert.equal(5, other:exit(5))
  end)

  it("answers later what was begun, and not while it is stopped", function()
    other:stop()
    other:begin("eval", "return 'late'")
    assert.is_false(other:has_answered())
    other:continue()
    assert.equal("late", other:finish())
  end)

  it("takes its turns at the resource", function()
    local store = resource.start()
    other:connect("somewhere")
    local report = other:contend { path = "/a", rounds = 20, owner = "w", resource = store.address }
    assert.equal(20, report.granted)
    assert.same({ timeout = 2 },
      other:contend({ path = "/a", rounds = 2, owner = "w", resource = store.address, timeout = 0 }).failed)
    assert.equal(20, judge.demand(store:judge()).grants)
    store:close()
  end)

  it("takes its turns by several names, and single steps", function()
    local store = resource.start()
    other:connect("somewhere")
    local order = { path = "read:/a,write:/a", rounds = 4, owner = "w", resource = store.address }
    assert.same({ granted = 4, failed = {} }, other:contend(order))
    assert.is_false(other:step(store.address, "join", 4294967298, "w"))
    assert.is_true(other:step(store.address, "join", 4294967300, "x"))
    assert.is_false(other:step(store.address, "enter", 4294967299, "y"))
    assert.is_true(other:step(store.address, "part", 4294967300, "x"))
    local report = store:judge { faults = true }
    assert.same({ 5, 2 }, { report.grants, report.refusals })
    assert.matches("token 4294967300 of w is also x's", report.violations[1])
    store:close()
  end)
end)
