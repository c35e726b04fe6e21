-- SPDX-License-Identifier: MIT
--- The containers of the Lua library that are in C, so that no hook comes in the middle of a change.

local core = require "zklock.core"

local ROUNDS = 300

describe("a heap of waiters", function()
  local function new_waiter() return { _heap = false, _rank = false, _moment = 0 } end

  --- Each knows its position, and is due no sooner than the one above it.
  local function is_in_order(heap)
    local list = heap.list
    assert.equal(heap.count, #list)
    for place, waiter in ipairs(list) do
      local is_here = waiter._rank == place and waiter._heap == heap
      assert(is_here and (place == 1 or list[math.floor(place / 2)]._moment <= waiter._moment), place)
    end
  end

  it("gives them back in the order of their moments, whatever is added and removed", function()
    local heap, all, present = core.heap(), {}, 0
    for i = 1, 40 do all[i] = new_waiter() end
    for _ = 1, ROUNDS do
      local waiter = all[math.random(#all)]
      present = present - (waiter._heap and 1 or 0)
      if math.random(3) > 1 then
        heap:add(waiter, math.random(20))
        present = present + 1
      else
        core.call_off(waiter)
      end
      assert.equal(present, heap.count)
      is_in_order(heap)
    end
    local former = 0
    while heap.count > 0 do
      local moment = heap:next()
      assert.is_true(moment >= former)
      assert.is_nil(heap:take(moment - 0.5))
      local waiter = heap:take(moment)
      assert.same({ false, false, moment }, { waiter._heap, waiter._rank, waiter._moment })
      is_in_order(heap)
      former = moment
    end
    assert.same({}, { heap:next(), heap:take(math.huge) })
  end)

  it("takes a waiter out of another heap", function()
    local one, other, waiter = core.heap(), core.heap(), new_waiter()
    one:add(waiter, 1)
    other:add(waiter, 2)
    assert.same({ 0, 1 }, { one.count, other.count })
    assert.equal(waiter, other:take(2))
  end)
end)

describe("a queue of calls", function()
  local fifo, call

  before_each(function()
    fifo = core.fifo()
    call = { _next = false, _number = 0, begun = false, count = 3, "one", nil, "three" }
  end)

  it("hands the arguments of one that begins over, and forgets them", function()
    assert.same({ "one", nil, "three" }, { fifo:begin(call) })
    assert.same({ true, false, false, false }, { call.begun, call[1], call[2], call[3] })
  end)

  it("queues one again that has begun, and no other one", function()
    fifo:again(call, "fn", "again")
    assert.same({ false, "one" }, { fifo:first(), call[1] })
    call.begun = true
    fifo:again(call, "fn", "again")
    assert.equal(call, fifo:first())
    assert.same({ false, "fn", "again" }, { call.begun, call.fn, call[1] })
    fifo:forget(call)
    assert.equal("again", call[1])
    assert.is_true(fifo:remove(call))
    call.begun = true
    fifo:forget(call)
    assert.same({ false, false, false }, { call[1], call[2], call[3] })
  end)
end)
