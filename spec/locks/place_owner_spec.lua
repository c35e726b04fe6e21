-- SPDX-License-Identifier: MIT
--- fair = false: one owner takes the place of its client again and again. #once

local collect = require "spec.support.collect"
local fixture = require "spec.support.fixture"
local places = require "spec.support.place"

local PATIENCE = require("spec.support.wait").PATIENCE
local TIMEOUT = { nil, "timeout" }

describe("with fair = false a lock that one owner takes again and again #once", function()
  local here = fixture.new("/place_owner", { session_timeout = 600 }) -- heartbeats are far apart
  local place = places.new(here)
  local client, path

  setup(function()
    client = here:connect()
    place.client = client
  end)

  before_each(function() path = here.path end)

  it("sends nothing, gets a new turn each time, and counts", function()
    local lock = place:idle()
    place:settles(lock)
    local before = client:stats()
    local last = 0
    for _ = 1, 1000 do
      assert(lock:acquire(PATIENCE))
      assert.is_true(lock:is_held())
      local turn = lock:turn()
      assert.is_true(turn > last)
      last = turn
      assert(lock:release())
    end
    local after = client:stats()
    assert.equal(before.acquired + 1000, after.acquired)
    assert.equal(before.released + 1000, after.released)
    assert.equal(before.held, after.held)
    assert.is_true(after.requests_sent - before.requests_sent < 5)
  end)

  it("is not held in between, and not released twice", function()
    local lock = place:idle()
    place:settles(lock)
    for _ = 1, 3 do
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
      assert.same({ nil, "not owner" }, { lock:release() })
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
      assert.is_false(lock:is_held())
      assert.is_nil(lock:token())
      assert.is_nil(lock:turn())
      assert.equal(0, lock:validity())
    end
  end)

  it("goes to other owners in between", function()
    local lock = place:idle()
    place:settles(lock)
    for _ = 1, 3 do
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
      assert(lock:acquire(PATIENCE, "another"))
      assert.same(TIMEOUT, { lock:acquire(0) })
      assert.is_false(lock:is_held())
      assert(lock:release("another"))
      assert(lock:acquire(PATIENCE))
      assert.same(TIMEOUT, { lock:acquire(0, "another") })
      assert(lock:release())
    end
  end)

  it("is a new hold each time: a guard of a former one releases nothing", function()
    local lock = place:idle()
    place:settles(lock)
    local guard = assert(lock:guard(PATIENCE))
    assert(lock:release())
    assert(lock:acquire(PATIENCE))
    assert.same({ nil, "not owner" }, { guard:release() })
    assert.is_true(lock:is_held())
    assert(lock:release())
  end)

  it("reports to the handle through which the owner took it", function()
    local first = place:idle()
    place:settles(first)
    local second, lost = place:shared(), {}
    first:on_lost(function() lost[#lost + 1] = "first" end)
    second:on_lost(function() lost[#lost + 1] = "second" end)
    assert(first:acquire(PATIENCE))
    assert(first:release())
    assert(second:acquire(PATIENCE))
    here.tree:delete((here:only_node()))
    here:eventually(function() return lost[1] end)
    assert.same({ "second" }, lost)
    assert.same({ nil, "lost" }, { second:release() })
  end)

  it("is lost like any other, and reported once", function()
    local lock, lost = place:idle(), {}
    place:settles(lock)
    lock:on_lost(function(err, _, token) lost[#lost + 1] = { err, token } end)
    for _ = 1, 3 do
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
    end
    local token = assert(lock:acquire(PATIENCE))
    here.tree:delete((here:only_node()))
    here:eventually(function() return lost[1] end)
    assert.same({ nil, "lost" }, { lock:release() })
    assert.is_true(lock:acquire(PATIENCE) > token)
    assert.same({ { "lost", token } }, lost)
    assert(lock:release())
  end)

  it("does not fix options while no owner holds it", function()
    local lock = place:idle()
    place:settles(lock)
    assert(lock:acquire(PATIENCE))
    assert(lock:release())
    local other_options = client:mutex(path, { fair = false, linger = 50 })
    assert(other_options:acquire(PATIENCE))
    assert.is_false(pcall(client.mutex, client, path, { fair = false, linger = 49 }))
    assert(other_options:release())
  end)

  it("leaves nothing in Lua when the place has gone", function()
    local lock = place:idle { linger = 0.05 }
    place:settles(lock)
    assert(lock:acquire(PATIENCE))
    assert(lock:release())
    local holds = setmetatable({ lock.lock_path }, { __mode = "v" })
    here:becomes(0)
    lock = nil -- luacheck: ignore 311
    here:eventually(function()
      collect()
      return not holds[1]
    end)
  end)

  it("is released when its coroutine ends", function()
    local lock = place:idle()
    place:settles(lock)
    local co = coroutine.wrap(function()
      for _ = 1, 3 do
        assert(lock:acquire(PATIENCE))
        assert(lock:release())
        coroutine.yield()
      end
      assert(lock:acquire(PATIENCE))
    end)
    for _ = 1, 4 do co() end
    client:poll()
    assert(lock:acquire(PATIENCE))
    assert(lock:release())
  end)

  it("hears 'closed' after close", function()
    local mine = here:connect()
    local lock = mine:mutex(path, { fair = false, linger = 100 })
    for _ = 1, 20 do
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
    end
    assert(lock:acquire(PATIENCE))
    mine:close()
    assert.same({ nil, "closed" }, { lock:release() })
    assert.same({ nil, "closed" }, { lock:acquire(PATIENCE) })
  end)
end)
