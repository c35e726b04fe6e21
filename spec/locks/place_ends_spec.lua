--- What ends a place of fair = false although somebody of its client waits: all that is not a release. #once

local fixture = require "spec.support.fixture"
local places = require "spec.support.place"

local PATIENCE = 30

describe("a place with fair = false ends #once", function()
  local here = fixture.new("/place_ends", { session_timeout = 6, patience = PATIENCE })
  local place = places.new(here)
  local client

  setup(function()
    client = here:connect()
    place.client = client
  end)

  --- Somebody here waits when `ends` ends a hold: what he gets.
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

  --- Raises below a call that holds, when somebody waits: what was held, and what he gets.
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

  it("with an error out of with", function()
    local inside, after = after_error_in(function(lock, fn) lock:with(PATIENCE, fn) end)
    assert.is_true(after > inside)
  end)

  it("with an error out of two of them, one in the other", function()
    local inside, after = after_error_in(function(lock, fn)
      lock:with(PATIENCE, function() lock:with(PATIENCE, fn) end)
    end)
    assert.is_true(after > inside)
  end)

  it("with an error out of the block of a guard", function()
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

  it("but not with what went well: with hands on", function()
    local lock = place:shared()
    local inside, answers
    assert(lock:with(PATIENCE, function(token)
      inside = token
      _, answers = here:ask(lock)
    end))
    here:eventually(function() return answers[1] end)
    assert.equal(inside, answers[1][1])
  end)

  it("with a loss, which is told once", function()
    local lock, lost = place:shared(), {}
    lock:on_lost(function(err, who) lost[#lost + 1] = { err, who } end)
    local token = assert(lock:acquire(PATIENCE, "me"))
    handed_after(lock, token, function() here.tree:delete((here:only_node())) end)
    assert.same({ { "lost", "me" } }, lost)
  end)
end)
