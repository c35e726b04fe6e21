-- SPDX-License-Identifier: MIT
--- Everything but a release ends a place of fair = false, even while a caller of its client waits. #once

local fixture = require "spec.support.fixture"
local places = require "spec.support.place"

local PATIENCE = require("spec.support.wait").PATIENCE

describe("a place with fair = false ends #once", function()
  local here = fixture.new("/place_ends")
  local place = places.new(here)
  local client

  setup(function()
    client = here:connect()
    place.client = client
  end)

  --- A caller waits while `ends` ends a hold; returns what that caller gets.
  local _
  local function handed_after(lock, token, ends)
    local answers
    _, answers = here:ask(lock)
    ends()
    here:eventually(function() return answers[1] end)
    assert.is_true(assert(answers[1][1]) > token)
  end

  it("with max_hold", function()
    local lock = place:shared { max_hold = 0.3 }
    local token = assert(lock:acquire(PATIENCE))
    handed_after(lock, token, function() end)
    assert.same({ nil, "lost" }, { lock:release() })
  end)

  it("with a coroutine that returns", function()
    local lock, token = place:shared(), nil
    local co = coroutine.wrap(function() token = assert(lock:acquire(PATIENCE)) end)
    co()
    handed_after(lock, token, function() client:poll() end)
  end)

  it("with a guard that is collected", function()
    local lock = place:shared()
    local guard = assert(lock:guard(PATIENCE))
    local token = guard:token()
    handed_after(lock, token, function()
      guard = nil -- luacheck: ignore 311
      collectgarbage()
      collectgarbage()
    end)
  end)

  it("with a request that is dropped", function()
    local lock, token = place:shared(), nil
    lock:request(PATIENCE, function(got) token = got end)
    here:eventually(function() return token end)
    handed_after(lock, token, function()
      collectgarbage()
      collectgarbage()
    end)
  end)

  --- Raises inside a call that holds, while a caller waits; returns the hold, and what that caller gets.
  local function after_error_in(hold)
    local lock = place:shared()
    local inside, answers
    assert.is_false(pcall(hold, lock, function(token)
      inside = token
      _, answers = here:ask(lock)
      error("no")
    end))
    here:eventually(function() return answers[1] end)
    return inside, answers[1][1]
  end

  it("with an error in the function of with", function()
    local inside, after = after_error_in(function(lock, fn) lock:with(PATIENCE, fn) end)
    assert.is_true(after > inside)
  end)

  it("with an error in nested calls of with", function()
    local inside, after = after_error_in(function(lock, fn)
      lock:with(PATIENCE, function() lock:with(PATIENCE, fn) end)
    end)
    assert.is_true(after > inside)
  end)

  it("with an error in the block of a guard", function()
    local released = assert(place:shared():guard(PATIENCE))
    local close = getmetatable(released).__close
    assert(released:release())
    local inside, after = after_error_in(function(lock, fn)
      local guard = assert(lock:guard(PATIENCE)) -- as `local guard <close>`, which not every Lua has
      local ok, err = pcall(fn, guard:token())
      close(guard, err)
      assert(ok, err)
    end)
    assert.is_true(after > inside)
  end)

  it("but not after a call of with that succeeds: the next caller takes it over", function()
    local lock = place:shared()
    local inside, answers
    assert(lock:with(PATIENCE, function(token)
      inside = token
      _, answers = here:ask(lock)
    end))
    here:eventually(function() return answers[1] end)
    assert.equal(inside, answers[1][1])
  end)

  it("with a loss, which the listener hears of once", function()
    local lock, lost = place:shared(), {}
    lock:on_lost(function(err, who) lost[#lost + 1] = { err, who } end)
    local token = assert(lock:acquire(PATIENCE, "me"))
    handed_after(lock, token, function() here.tree:delete((here:only_node())) end)
    assert.same({ { "lost", "me" } }, lost)
  end)
end)
