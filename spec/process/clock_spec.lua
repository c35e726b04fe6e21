-- SPDX-License-Identifier: MIT
--- The wall clock is set a day ahead or back: nothing happens.

local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"
local wall_clock = require "spec.support.wall_clock"

local SESSION = 10 -- seconds: six heartbeats
local PATIENCE = wait.PATIENCE
local DAY = 86400

describe("a wall clock that jumps #slow", function()
  local here = fixture.new("/clock")
  local faulty, client, clock, other, path

  setup(function() faulty, client, clock = here:proxy(), here:connect { session_timeout = 30 }, wall_clock.new() end)

  before_each(function()
    path = here.path
    clock:set(0)
    other = here:worker { env = clock.env }
    assert.is_true(other:connect(faulty.hosts, { session_timeout = SESSION, connect_timeout = PATIENCE }))
  end)

  --- Sets the other process's clock; it sees that.
  local function jump(days)
    clock:set(days)
    local ahead = other:eval("return os.time()") - os.time()
    assert.equal(days, math.floor(ahead / DAY + 0.5))
  end

  local function a_few_heartbeats()
    faulty:reset()
    faulty:await("sync", 2)
  end

  local function nothing_happened(...)
    local states = {}
    for _, event in ipairs(other:events()) do states[#states + 1] = event[2] end
    assert.same({ ... }, states)
    assert.equal("connected", other:state())
    local stats = other:stats()
    assert.same({ 1, 0 }, { stats.sessions, stats.lost })
  end

  it("takes no lock away and gives no longer trust", function()
    local token = assert(other:acquire(path, PATIENCE))
    nothing_happened("connected")
    for _, days in ipairs { 1, -1, 1 } do
      jump(days)
      local validity = other:validity(path)
      assert.is_true(validity > 0 and validity < SESSION, validity)
      a_few_heartbeats()
      validity = other:validity(path)
      assert.is_true(validity > 0 and validity < SESSION, validity)
      assert.is_true(other:is_held(path))
      assert.equal(token, other:token(path))
      assert.same({ nil, "timeout" }, { client:mutex(path):acquire(0) })
      nothing_happened()
    end
    assert.is_true(other:release(path))
    assert.is_true(other:flush(PATIENCE))
    assert.same({}, here.tree:children(path))
  end)

  it("ends no wait early, and none late", function()
    assert(client:mutex(path):acquire(PATIENCE))
    for _, days in ipairs { 1, -1 } do
      jump(0)
      other:begin("acquire", path, 600)
      wait.eventually(function() return #here.tree:children(path) == 2 end, PATIENCE)
      clock:set(days)
      a_few_heartbeats()
      assert.is_false(other:has_answered())
      assert.is_true(client:mutex(path):release())
      assert.is_number((other:finish(PATIENCE)))
      assert.is_true(other:release(path))
      assert(client:mutex(path):acquire(PATIENCE))

      clock:set(0)
      other:begin("acquire", path, 0.3)
      clock:set(days)
      assert.same({ nil, "timeout" }, { other:finish(PATIENCE) })
      clock:set(0)
      other:begin("poll", 0.2)
      clock:set(days)
      assert.is_number(other:finish(PATIENCE))
    end
    assert.is_true(client:mutex(path):release())
    other:begin("close")
    clock:set(1)
    assert.is_true(other:finish(PATIENCE))
    assert.same({}, here.tree:children(path))
  end)

  it("neither ends max_hold nor puts it off", function()
    other:lock(path, { max_hold = 600 })
    assert(other:acquire(path, PATIENCE))
    jump(1)
    a_few_heartbeats()
    assert.is_true(other:is_held(path))
    nothing_happened("connected")
    other:lock(path .. "-short", { max_hold = 1 })
    local token = assert(other:acquire(path .. "-short", PATIENCE))
    jump(-1)
    assert.is_true(assert(client:mutex(path .. "-short"):acquire(PATIENCE)) > token)
    assert.is_false(other:is_held(path .. "-short"))
    assert.is_true(other:is_held(path))
  end)
end)
