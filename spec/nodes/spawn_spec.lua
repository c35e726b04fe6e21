-- SPDX-License-Identifier: MIT
--- client:spawn.

local fixture = require "spec.support.fixture"

local is_plain_51 = _VERSION == "Lua 5.1" and not rawget(_G, "jit")

describe("client:spawn", function()
  local here = fixture.new("/spawn")
  local client, path, patience

  before_each(function() client, path, patience = here:connect(), here.path, here.patience end)

  it("calls in order, from the next poll, with what it was given", function()
    local calls = {}
    for i = 1, 3 do client:spawn(function(...) calls[#calls + 1] = { ... } end, i, nil, "x") end
    assert.same({}, calls)
    client:poll()
    assert.same({ { 1, nil, "x" }, { 2, nil, "x" }, { 3, nil, "x" } }, calls)
  end)

  it("makes the descriptor readable", function()
    client:poll()
    client:spawn(function() end)
    assert.equal(1, client:poll(patience))
  end)

  it("gives each a coroutine that owns what it takes, and gives it back at its end", function()
    local lock, held = client:mutex(path), nil
    client:spawn(function()
      assert(lock:acquire(patience))
      held = lock:is_held()
    end)
    here:eventually(function() return held ~= nil end, "the lock")
    assert.is_true(held)
    assert.is_false(lock:is_held())
    here:becomes(0)
  end)

  it("lets waits overlap", function()
    if is_plain_51 then return end
    assert(here.tree:create(path, "1", { parents = true }))
    local begun, read = 0, 0
    for _ = 1, 3 do
      client:spawn(function()
        begun = begun + 1
        assert(client:get(path, patience))
        assert.equal(3, begun)
        read = read + 1
      end)
    end
    here:eventually(function() return read == 3 end, "all to be read")
  end)

  it("ends a poll when one that waited has gone on", function()
    if is_plain_51 then return end
    assert(here.tree:create(path, "1", { parents = true }))
    local read = false
    client:spawn(function()
      assert(client:get(path, patience))
      read = true
    end)
    assert.equal(1, client:poll())
    assert.equal(0, client:poll(3600)) -- it would last an hour
    assert.is_true(read)
  end)

  it("tells errors to on_error, and goes on with the others", function()
    local errors, called = {}, false
    local own = here:connect { on_error = function(message) errors[#errors + 1] = message end }
    own:spawn(function() error("this one") end)
    own:spawn(function() called = true end)
    own:poll()
    assert.equal(1, #errors)
    assert.truthy(errors[1]:find("this one", 1, true))
    assert.is_true(called)
  end)

  it("that has not begun at close runs there and hears closed; after it, it raises", function()
    local heard
    client:spawn(function() heard = { client:get(path) } end)
    client:close()
    assert.same({ nil, "closed" }, heard)
    assert.error_matches(function() client:spawn(function() end) end, "the client is closed")
  end)
end)
