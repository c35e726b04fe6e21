-- SPDX-License-Identifier: MIT
--- Writes of nginx's workers into their shared dictionary: with one in Lua that forgets nothing, as if the clock
--- had been set back.

local Store = require "zklock.metrics.store"
local core = require "zklock.core"
local tally = require "zklock.metrics.tally"

describe("the store of the metrics #once", function()
  local now, later, store

  local function dictionary()
    local values = {}
    local dict = {}
    function dict:get(key) return values[key] end -- luacheck: ignore 212
    function dict:safe_set(key, value) -- luacheck: ignore 212
      values[key] = value
      return true
    end
    function dict:get_keys() -- luacheck: ignore 212
      local keys = {}
      for key in pairs(values) do keys[#keys + 1] = key end
      return keys
    end
    return dict
  end

  setup(function()
    now, later = core.now, 0
    core.now = function() return 1000 + later end
  end)

  teardown(function() core.now = now end)

  before_each(function() later, store = 0, Store.new(dictionary()) end)

  it("shows nothing of a worker that was killed, also if the clock was set back", function()
    store:put("gauges", "0|7", "1 zklock_held|")
    store:put("part", "0|7", "two\nlines")
    assert.same({ ["0|7"] = "1 zklock_held|" }, store:read().gauges)
    assert.same({ ["0|7"] = "two\nlines" }, store:read().part)
    later = 5.5
    assert.same({ {}, {} }, { store:read().gauges, store:read().part })
  end)

  it("lets an age grow between two writes of a worker, and nothing else", function()
    store:put("gauges", "0|7", '2.5 zklock_oldest_wait_seconds|lock="a"\n7 zklock_oldest_hold_seconds|lock="a"\n'
      .. '0 zklock_oldest_hold_seconds|lock="b"\n3 zklock_waiting|lock="a"')
    later = 1.5
    store:put("gauges", "1|8", '5 zklock_oldest_wait_seconds|lock="a"')
    later = 4.5
    local gauges = tally.read(store:read(), 0).gauges
    assert.equal(8, gauges.zklock_oldest_wait_seconds['lock="a"'])
    assert.equal(11.5, gauges.zklock_oldest_hold_seconds['lock="a"'])
    assert.equal(0, gauges.zklock_oldest_hold_seconds['lock="b"'])
    assert.equal(3, gauges.zklock_waiting['lock="a"'])
  end)

  it("skips what other code has written among its numbers", function()
    local dict = dictionary()
    store = Store.new(dict)
    for _, key in ipairs { "x", "", "a|b|c", "zklock_acquisitions_total", "other_total||" } do
      dict:safe_set("zklock|count|" .. key, 1)
    end
    dict:safe_set('zklock|count|zklock_acquisitions_total||lock="a"', "many")
    dict:safe_set('zklock|count|zklock_acquisitions_total||lock="b"', 2)
    local counters = tally.read(store:read(), 0).counters
    assert.is_nil(counters.zklock_acquisitions_total['lock="a"'])
    assert.equal(2, counters.zklock_acquisitions_total['lock="b"'])
    assert.is_nil(counters.other_total)
  end)

  it("keeps the largest of several moments", function()
    for _, value in ipairs { 5, 7, 6 } do store:raise("zklock_x|latest|", value) end
    later = 3600
    assert.same({ ["zklock_x|latest|"] = 7 }, store:read().count)
  end)
end)
