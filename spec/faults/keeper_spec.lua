-- SPDX-License-Identifier: MIT
--- ClickHouse Keeper's habits, which a proxy has before a ZooKeeper server. docs/compatibility.md says which versions
--- have which of them. #once

local fixture = require "spec.support.fixture"

describe("behind Keeper's habits #once", function()
  local here = fixture.new("/keeper", { session_timeout = 30 })
  local keeper, lines

  before_each(function()
    keeper = here:proxy()
    lines = {}
  end)

  local function connect(habits)
    keeper:act_as_keeper(habits or {})
    return here:connect_to(keeper.hosts, { log = function(_, line) lines[#lines + 1] = line end })
  end

  local function warnings(client)
    client:poll()
    local count = 0
    for _, line in ipairs(lines) do
      if line:find("the servers make no container nodes", 1, true) then count = count + 1 end
    end
    return count
  end

  --- The directories are plain nodes: they stay when they are empty.
  local function has_plain_parents(client)
    local lock = client:mutex(here.path .. "/a/b")
    assert(lock:acquire(here.patience))
    assert.is_true(lock:release())
    assert.is_true(client:flush(here.patience))
    for _, parent in ipairs { "", "/a", "/a/b" } do
      assert.is_truthy(here.tree:exists(here.path .. parent))
    end
    local tries = keeper:counts().createContainer
    assert.is_true(tries > 0)
    assert(client:mutex(here.path .. "/c"):acquire(here.patience))
    assert.equal(tries, keeper:counts().createContainer)
    assert.equal(1, warnings(client))
  end

  it("that refuse containers a lock gets plain parents, with one warning", function()
    has_plain_parents(connect { createContainer = "refuse" })
  end)

  it("that hang up at containers a lock gets plain parents, with one warning", function()
    has_plain_parents(connect { createContainer = "cut" })
    assert.is_true(keeper:counts().createContainer >= 2) -- a heartbeat may have been on its way, too
  end)

  it("a connection that breaks once at a container does not count", function()
    local client = connect()
    keeper:cut_before("createContainer")
    assert(client:mutex(here.path .. "/a"):acquire(here.patience))
    assert.equal(0, keeper:pending())
    keeper:cut_before("createContainer")
    assert(client:mutex(here.path .. "/b"):acquire(here.patience))
    assert.equal(0, keeper:pending())
    assert.equal(0, warnings(client))
  end)

  it("a session that was silently replaced is a loss that is told", function()
    local client = connect()
    local lock, heard = client:mutex(here.path .. "/held"), {}
    lock:on_lost(function(err, _, token) heard[#heard + 1] = { err, token } end)
    local token = assert(lock:acquire(here.patience))
    local id = client:session_id()
    keeper:cut()
    here:eventually(function() return heard[1] end, "the loss")
    assert.same({ "lost", token }, heard[1])
    assert.same({ nil, "lost" }, { lock:release() })
    assert.equal(0, lock:validity())
    here:eventually(function() return client:state() == "connected" end, "another session")
    assert.not_equal(id, client:session_id())
    assert.equal(1, client:stats().lost)
    keeper:expire_session(id) -- Keeper would wait for its timeout
    assert.is_true(assert(lock:acquire(here.patience)) > token)
  end)

  it("a waiter queues anew in its next session, and does not reconnect again and again", function()
    local holder, client = here:connect(), connect()
    local lock = holder:mutex(here.path .. "/line")
    assert(lock:acquire(here.patience))
    local request, heard = here:ask(client:mutex(here.path .. "/line"), 10 * here.patience)
    here:becomes(2, here.path .. "/line")
    local id = client:session_id()
    keeper:reset()
    keeper:cut()
    here:eventually(function() return client:session_id() ~= id and client:state() == "connected" end,
      "another session")
    keeper:expire_session(id)
    here:becomes(2, here.path .. "/line")
    assert.same({}, heard)
    assert.is_true(lock:release())
    assert.is_number(here:hear(heard)[1])
    assert.is_true(request:release())
    assert.equal(0, keeper:counts().setWatches) -- of the session that is gone
    assert.equal(2, client:stats().sessions)
  end)

  it("a watch is set again in the next session", function()
    local client, seen = connect(), {}
    assert(here.tree:create(here.path, "1", { parents = true }))
    client:watch(here.path, function(data) seen[#seen + 1] = data end)
    here:eventually(function() return seen[1] == "1" end, "the node")
    keeper:cut()
    here:eventually(function() return client:stats().sessions == 2 end, "another session")
    assert(here.tree:set(here.path, "2"))
    here:eventually(function() return seen[#seen] == "2" end, "the change")
    assert.equal(0, keeper:counts().setWatches)
  end)

  it("semaphores, read-write locks and multilocks are granted", function()
    local client = connect { createContainer = "refuse" }
    local rw = client:rwlock(here.path .. "/rw")
    assert(rw.write:acquire(here.patience))
    assert.is_true(rw.write:release())
    local lease = assert(client:semaphore(here.path .. "/pool", 2):acquire(here.patience))
    assert.is_true(lease:release())
    local both = client:multilock { here.path .. "/1", here.path .. "/2" }
    assert(both:acquire(here.patience))
    assert.is_true(both:release())
    assert.is_true(client:flush(here.patience))
  end)
end)
