-- SPDX-License-Identifier: MIT
--- The longest hold: ended on time, also when the host never comes back to look.

local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE

describe("max_hold", function()
  local here = fixture.new("/max_hold")
  local client, other, path, lock

  before_each(function()
    path = here.path
    client, other = here:connect(), here:connect()
    lock = client:mutex(path, { max_hold = 0.5 })
  end)

  it("releases in time while the script hangs in a loop, and its next release answers 'lost'", function()
    local request
    local token = assert(lock:acquire(PATIENCE))
    local losses = {}
    lock:on_lost(function(...) losses[#losses + 1] = { ... } end)
    local granted
    request = other:mutex(path):request(PATIENCE, function(t) granted = t end)
    local polls = 0
    repeat -- the first client's host never comes back to it
      other:poll(0.05)
      polls = polls + 1
    until granted or polls > PATIENCE / 0.05
    assert.is_true(granted > token)
    assert.is_false(lock:is_held())
    assert.equal(0, lock:validity())
    assert.is_nil(lock:token())
    assert.same({ nil, "lost" }, { lock:release() })
    assert.same({ nil, "not owner" }, { lock:release() })
    client:poll()
    assert.equal(1, #losses)
    assert.equal("lost", losses[1][1])
    assert.equal(token, losses[1][3])
    assert.equal(1, client:stats().lost)
    request:release()
  end)

  it("bounds validity", function()
    local long = here:connect({ session_timeout = 600 }):mutex(path .. "/long", { max_hold = 60 })
    assert(long:acquire(PATIENCE))
    assert.is_true(long:validity() <= 60)
    assert.is_true(long:is_held())
    assert(long:release())
  end)

  it("is not prolonged by a reentrant acquire", function()
    local mine, brief
    wait.eventually(function()
      mine = here:connect()
      brief = mine:mutex(path, { max_hold = 0.5 })
      local token = assert(brief:acquire(PATIENCE))
      wait.eventually(function() return brief:validity() < 0.3 end)
      if brief:acquire(PATIENCE) == token then return true end
      mine:close() -- a slow machine comes too late
    end)
    assert.is_true(brief:validity() < 0.3)
    wait.eventually(function() return mine:stats().lost == 1 end) -- the keeper comes when its time is over
    assert.same({ nil, "lost" }, { brief:release() })
    assert.same({ nil, "not owner" }, { brief:release() })
  end)

  it("leaves a shorter hold alone", function()
    wait.eventually(function() -- a slow machine may need longer than max_hold
      assert(lock:acquire(PATIENCE))
      return lock:release()
    end)
    assert.is_true(client:flush(PATIENCE))
    local lost = client:stats().lost
    wait.rest(0.6) -- max_hold passes
    assert.equal(lost, client:stats().lost)
  end)

  it("ends the hold even if it is shorter than the clock's grain", function()
    local brief = client:mutex(path .. "/brief", { max_hold = 4e-10 })
    brief:acquire(PATIENCE)
    wait.eventually(function() return client:stats().lost == 1 end)
    assert.is_false(brief:is_held())
    assert(other:mutex(path .. "/brief"):acquire(PATIENCE))
  end)

  it("ends each acquire of its owner, also if one of them is released before the engine has seen the end", function()
    local own = client:mutex(path .. "/own")
    for _ = 1, 50 do -- the engine's thread may be faster
      assert(own:acquire(PATIENCE, "me"))
      assert(own:acquire(PATIENCE, "me"))
      assert.is_not_nil(own:bound(4e-10, "me"))
      assert.same({ nil, "lost" }, { own:release("me") })
      assert.same({ nil, "not owner" }, { own:release("me") })
    end
  end)

  it("belongs to the path", function()
    assert(client:mutex(path, { max_hold = 0.5 }):acquire(PATIENCE))
    assert.has_error(function() client:mutex(path) end,
      "bad argument 'options': other handles of '" .. path .. "' have different options")
    assert.equal(path, client:mutex(path, { max_hold = 0.5 }):path())
  end)
end)
