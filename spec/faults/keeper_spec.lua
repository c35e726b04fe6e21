-- SPDX-License-Identifier: MIT
--- ClickHouse Keeper, and servers of an unknown kind: a proxy gives a ZooKeeper server their habits.
--- docs/compatibility.md says which versions have which of them. #once

local fixture = require "spec.support.fixture"

local here = fixture.new("/keeper", { session_timeout = 30 })
local between, lines

local function connect(nature, habits)
  between, lines = here:proxy(), {}
  between:become(nature, habits)
  return here:connect_to(between.hosts, { log = function(_, line) lines[#lines + 1] = line end })
end

local function warnings(client, text)
  client:poll()
  local count = 0
  for _, line in ipairs(lines) do
    if line:find(text, 1, true) then count = count + 1 end
  end
  return count
end

local PLAIN = "directories of locks are plain nodes, which stay when they are empty"

--- How many sessions it cost to get them.
local function gets_locks(client)
  local lock = client:mutex(here.path .. "/a/b")
  for _ = 1, 3 do
    assert(lock:acquire(here.patience))
    assert.is_true(lock:release())
  end
  assert.is_true(client:flush(here.patience))
  return client:stats().sessions
end

--- The directories are plain nodes: they stay when they are empty.
local function has_plain_parents(client)
  gets_locks(client)
  for _, parent in ipairs { "", "/a", "/a/b" } do
    assert.is_truthy(here.tree:exists(here.path .. parent))
  end
  local tries = between:counts().createContainer
  assert(client:mutex(here.path .. "/c"):acquire(here.patience))
  assert.equal(tries, between:counts().createContainer)
  assert.equal(1, warnings(client, PLAIN))
  return tries
end

describe("on ClickHouse Keeper #once", function()
  it("a lock is granted by create, a read of its node, and the list", function()
    local client = connect "keeper"
    assert.equal(1, gets_locks(client))
    local lock = client:mutex(here.path .. "/a/b")
    between:reset()
    local token = assert(lock:acquire(here.patience))
    local path, stat = here:only_node(here.path .. "/a/b")
    assert.equal(stat.czxid, token)
    local mine = {}
    for _, request in ipairs(between:log()) do
      if (request.path or ""):find(here.path .. "/a/b", 1, true) == 1 then
        mine[#mine + 1] = request.op .. (request.path == path and " node" or "")
      end
    end
    table.sort(mine)
    assert.same({ "create", "getChildren2", "getData node" }, mine)
    assert.equal(0, between:counts().multi)
  end)

  it("a client asks for nothing that Keeper does not know, and says so once", function()
    local client = connect "keeper"
    assert.equal(0, has_plain_parents(client))
    local counts = between:counts()
    assert.equal(0, counts.create2 + counts.removeWatches + counts.setWatches + counts.multi)
    assert.equal(1, warnings(client, "the servers are ClickHouse Keeper's: "))
    assert.equal(1, client:stats().sessions)
  end)

  it("a container is refused, and costs no lock", function()
    local client = connect "keeper"
    local lock = client:mutex(here.path .. "/held")
    assert(lock:acquire(here.patience))
    local made = { client:create(here.path .. "/d", "", { container = true }, here.patience) }
    assert.same({ nil, "zookeeper: UNIMPLEMENTED" }, { made[1], made[2] })
    assert.is_true(lock:release())
    assert.equal(1, client:stats().sessions)
  end)

  it("a node is made with its Stat, and a watch that leaves costs no lock", function()
    local client = connect "keeper"
    local made, stat = assert(client:create(here.path, "1", { parents = true }, here.patience))
    assert.equal(here.path, made)
    assert.equal(here.tree:exists(here.path).czxid, stat.czxid)
    local heard = {}
    local watch = client:watch(here.path, function(data) heard[#heard + 1] = data end)
    here:eventually(function() return heard[1] end, "the node")
    watch:stop()
    assert(client:get(here.path, nil, here.patience))
    assert.equal(0, between:counts().removeWatches)
    assert.equal(1, client:stats().sessions)
  end)

  it("an answer that was lost between the create and the read leaves one node", function()
    local client = connect "keeper"
    local lock = client:mutex(here.path .. "/a")
    assert(lock:acquire(here.patience))
    assert.is_true(lock:release())
    assert.is_true(client:flush(here.patience))
    between:lose_reply "getData"
    local former = client:session_id()
    local token = assert(lock:acquire(here.patience))
    assert.equal(0, between:pending())
    between:expire_session(former) -- Keeper would wait for its timeout
    here:becomes(1, here.path .. "/a")
    assert.equal(select(2, here:only_node(here.path .. "/a")).czxid, token)
  end)

  it("a session is not carried on, even if the next one has its number", function()
    local client, heard = connect "zookeeper", {}
    local lock = client:mutex(here.path .. "/held")
    lock:on_lost(function(err) heard[#heard + 1] = err end)
    assert(lock:acquire(here.patience))
    local id = client:session_id()
    between:become("keeper", { forgets_sessions = false, setWatches = false })
    between:cut()
    here:eventually(function() return heard[1] end, "the loss")
    assert.equal("lost", heard[1])
    here:eventually(function() return client:state() == "connected" end, "a session")
    assert.equal(id, client:session_id())
  end)

  it("semaphores, read-write locks and multilocks are granted", function()
    local client = connect "keeper"
    local rw = client:rwlock(here.path .. "/rw")
    assert(rw.write:acquire(here.patience))
    assert.is_true(rw.write:release())
    local lease = assert(client:semaphore(here.path .. "/pool", 2):acquire(here.patience))
    assert.is_true(lease:release())
    for _ = 1, 2 do
      local both = client:multilock { here.path .. "/1", here.path .. "/2" }
      assert(both:acquire(here.patience))
      assert.is_true(both:release())
    end
    assert.is_true(client:flush(here.patience))
    assert.equal(1, client:stats().sessions)
  end)
end)

describe("on servers of an unknown kind #once", function()
  it("that refuse containers a lock gets plain parents, with one warning", function()
    has_plain_parents(connect("stranger", { createContainer = "refuse" }))
    assert.equal(0, between:counts().multi) -- nobody has compared what they write into its answer
  end)

  it("that hang up at containers a lock gets plain parents, with one warning", function()
    -- a heartbeat may have been on its way, too
    assert.is_true(has_plain_parents(connect("stranger", { createContainer = "cut" })) >= 2)
    assert.equal(0, between:counts().multi)
  end)

  it("that hang up at create2 a lock is granted by a plain create", function()
    local client = connect("stranger", { create2 = "cut" })
    gets_locks(client)
    local counts = between:counts()
    assert.is_true(counts.create2 >= 2)
    assert.is_true(counts.create >= 3)
    assert.equal(0, counts.multi)
  end)

  it("a connection that breaks once at a container does not count", function()
    local client = connect "stranger"
    between:cut_before("createContainer")
    assert(client:mutex(here.path .. "/a"):acquire(here.patience))
    assert.equal(0, between:pending())
    between:cut_before("createContainer")
    assert(client:mutex(here.path .. "/b"):acquire(here.patience))
    assert.equal(0, between:pending())
    assert.equal(0, warnings(client, PLAIN))
  end)

  it("a session that was silently replaced is a loss that is told", function()
    local client = connect "stranger"
    local lock, heard = client:mutex(here.path .. "/held"), {}
    lock:on_lost(function(err, _, token) heard[#heard + 1] = { err, token } end)
    local token = assert(lock:acquire(here.patience))
    local id = client:session_id()
    between:cut()
    here:eventually(function() return heard[1] end, "the loss")
    assert.same({ "lost", token }, heard[1])
    assert.same({ nil, "lost" }, { lock:release() })
    assert.equal(0, lock:validity())
    here:eventually(function() return client:state() == "connected" end, "another session")
    assert.not_equal(id, client:session_id())
    assert.equal(1, client:stats().lost)
    between:expire_session(id) -- Keeper would wait for its timeout
    assert.is_true(assert(lock:acquire(here.patience)) > token)
  end)

  it("a waiter queues anew in its next session, and does not reconnect again and again", function()
    local holder, client = here:connect(), connect "stranger"
    local lock = holder:mutex(here.path .. "/line")
    assert(lock:acquire(here.patience))
    local request, heard = here:ask(client:mutex(here.path .. "/line"), 10 * here.patience)
    here:becomes(2, here.path .. "/line")
    local id = client:session_id()
    between:reset()
    between:cut()
    here:eventually(function() return client:session_id() ~= id and client:state() == "connected" end,
      "another session")
    between:expire_session(id)
    here:becomes(2, here.path .. "/line")
    assert.same({}, heard)
    assert.is_true(lock:release())
    assert.is_number(here:hear(heard)[1])
    assert.is_true(request:release())
    assert.equal(0, between:counts().setWatches) -- of the session that is gone
    assert.equal(2, client:stats().sessions)
  end)

  it("a watch is set again in the next session", function()
    local client, seen = connect "stranger", {}
    assert(here.tree:create(here.path, "1", { parents = true }))
    client:watch(here.path, function(data) seen[#seen + 1] = data end)
    here:eventually(function() return seen[1] == "1" end, "the node")
    between:cut()
    here:eventually(function() return client:stats().sessions == 2 end, "another session")
    assert(here.tree:set(here.path, "2"))
    here:eventually(function() return seen[#seen] == "2" end, "the change")
    assert.equal(0, between:counts().setWatches)
  end)
end)
