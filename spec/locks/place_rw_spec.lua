-- SPDX-License-Identifier: MIT
--- fair = false: the two sides of a read-write lock have places of their own. #once

local fixture = require "spec.support.fixture"
local places = require "spec.support.place"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE

describe("with fair = false a read-write lock #once", function()
  local here = fixture.new("/place_rw", { session_timeout = 600 })
  local place = places.new(here)
  local client, other, path

  setup(function()
    client, other = here:connect(), here:connect()
    place.client = client
  end)

  before_each(function() path = here.path end)

  --- Both sides at the spec's path.
  local function both(options) return client:rwlock(path, place.options(options)) end

  it("has its readers together on one node, without traffic", function()
    local read = both({ stint = 3600 }).read -- within a stint it looks for others
    local token = assert(read:acquire(PATIENCE, 1))
    wait.eventually(function() -- its own node is watched by then
      local handed = client:stats().handed
      assert.equal(token, read:acquire(PATIENCE, 2))
      assert(read:release(2))
      return client:stats().handed > handed
    end, PATIENCE)
    assert.is_true(place:requests_of(function()
      for who = 2, 500 do assert.equal(token, read:acquire(PATIENCE, who)) end
    end) < 5)
    assert.equal(1, #here:nodes())
    for who = 1, 500 do assert(read:release(who)) end
  end)

  it("has its writers take turns", function()
    local write = both().write
    local token = assert(write:acquire(PATIENCE, 1))
    local _, answers = here:ask(write)
    assert(write:release(1))
    here:eventually(function() return answers[1] end)
    assert.equal(token, answers[1][1])
  end)

  it("lets a writer of its client in after its readers, and the next readers after that", function()
    local lock, order = both { stint = 0 }, {}
    assert(lock.read:acquire(PATIENCE, "first"))
    local function ask(side, name)
      return side:request(PATIENCE, function(token, err, request)
        order[#order + 1] = token and name or err
        request:release()
      end)
    end
    ask(lock.write, "writer")
    here:becomes(2)
    assert(lock.read:participants(PATIENCE)) -- the directory's watch fires before the answer,
    assert(lock.read:participants(PATIENCE)) -- and the list that follows is answered before the next
    for i = 1, 3 do ask(lock.read, "reader " .. i) end
    assert(lock.read:release("first"))
    here:eventually(function() return #order == 4 end)
    assert.same({ "writer", "reader 1", "reader 2", "reader 3" }, order)
  end)

  it("lets a writer of another client in, and notices it within a stint", function()
    local lock = both { stint = 0.2 }
    local stop = false
    assert(lock.read:acquire(PATIENCE, 0))
    local function again(token, err, request)
      if not token then error(err) end
      if not stop then lock.read:request(PATIENCE, again) end
      request:release()
    end
    lock.read:request(PATIENCE, again)
    local _, answers = here:ask(other:rwlock(path).write)
    here:becomes(2)
    assert(lock.read:release(0))
    here:eventually(function() return answers[1] end)
    assert.is_number(answers[1][1])
    stop = true
  end)

  it("gives a read under a write its token and turn, and the writers' place goes with the write", function()
    local lock = both()
    local token = assert(lock.write:acquire(PATIENCE, "me"))
    assert.equal(token, lock.read:acquire(PATIENCE, "me"))
    assert.equal(lock.write:turn("me"), lock.read:turn("me"))
    local _, answers = here:ask(lock.write)
    assert(lock.write:release("me"))
    assert.is_true(client:flush(PATIENCE))
    client:poll(0.05)
    assert.same({}, answers)
    assert(lock.read:release("me"))
    here:eventually(function() return answers[1] end)
    assert.is_true(answers[1][1] > token)
  end)

  it("lets callers read beside a write that goes on as a read, on its node", function()
    local lock = both()
    local token = assert(lock.write:acquire(PATIENCE, "me"))
    assert.equal(token, lock.read:acquire(PATIENCE, "me"))
    local request, answers = here:ask(lock.read)
    here:becomes(3)
    assert(lock.read:participants(PATIENCE)) -- answered behind the create, so the client knows its node
    assert.is_false(request:is_held())
    assert(lock.write:release("me"))
    here:eventually(function() return answers[1] end)
    assert.equal(token, answers[1][1])
    assert.equal(lock.read:turn("me") + 1, request:turn())
    here:becomes(1)
    assert(lock.read:release("me"))
    assert(request:release())
  end)

  it("reports a loss to each of its readers once", function()
    local read, lost = both().read, {}
    read:on_lost(function(_, who) lost[#lost + 1] = who end)
    for who = 1, 3 do assert(read:acquire(PATIENCE, who)) end
    here.tree:delete((here:only_node()))
    here:eventually(function() return #lost == 3 end)
    table.sort(lost)
    assert.same({ 1, 2, 3 }, lost)
    for who = 1, 3 do assert.same({ nil, "lost" }, { read:release(who) }) end
    assert.is_number(read:acquire(PATIENCE, 1))
  end)

  it("lets a dropped reader go alone", function()
    local read = both().read
    local token = assert(read:acquire(PATIENCE, 1))
    assert(read:guard(PATIENCE, 2))
    collectgarbage()
    collectgarbage()
    client:poll()
    assert.equal(token, read:acquire(PATIENCE, 3))
    assert(read:release(1))
    assert(read:release(3))
  end)
end)
