-- SPDX-License-Identifier: MIT
--- More locks in one client than its watches have room for: after a reconnect the library sends all watches in one
--- packet, and servers hang up on one of more than a megabyte, again and again.

local inspector = require "spec.support.inspector"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local SESSION = 40
local MANY_BYTES = 20000000 -- of the nodes: these servers are not started again

describe("more watches than the servers take in one packet", function()
  local zk, faulty, client, other, base
  local count = 0

  setup(function() zk = server.shared() end)

  before_each(function()
    count = count + 1
    base = ("/watches/%d"):format(count)
    faulty = proxy.start(zk.hosts)
    client = assert(zklock.connect(faulty.hosts, { session_timeout = SESSION, node_bytes = MANY_BYTES }))
    other = assert(zklock.connect(zk.hosts, { session_timeout = SESSION, node_bytes = MANY_BYTES }))
  end)

  after_each(function()
    client:close()
    other:close()
    faulty:close()
  end)

  --- So many paths of so many bytes each, in one directory: the servers make few parents.
  local function paths(n, bytes)
    local all = {}
    for i = 1, n do
      local name, path = ("/%04d"):format(i), base
      while bytes - #path - #name > 1 do path = path .. "/" .. ("p"):rep(math.min(200, bytes - #path - #name - 1)) end
      all[i] = path .. name
    end
    return all
  end

  --- Asks for all of them at once; `granted` and `failed` count the answers.
  local function ask(of, list)
    local crowd = { granted = 0, failed = 0, requests = {} }
    for i, path in ipairs(list) do
      crowd.requests[i] = of:mutex(path):request(nil, function(token)
        if token then crowd.granted = crowd.granted + 1 else crowd.failed = crowd.failed + 1 end
      end)
    end
    return crowd
  end

  local function eventually(condition, patience, what)
    wait.eventually(function()
      client:poll(0.05)
      other:poll()
      return condition()
    end, patience, what)
  end

  local function all_granted(crowd, patience)
    eventually(function() return crowd.granted + crowd.failed == #crowd.requests end, patience, "the grants")
    assert.same({ #crowd.requests, 0 }, { crowd.granted, crowd.failed })
  end

  local function all_released(of, crowd, patience)
    for _, request in ipairs(crowd.requests) do assert.is_true(request:release()) end
    assert.is_true(of:flush(patience))
  end

  --- The link goes, and comes back for good: the servers answer requests over it.
  local function cut_and_come_back(patience)
    local state
    assert(client:mutex(base .. "/before"):acquire(patience)) -- all earlier requests have been answered
    assert(client:mutex(base .. "/before"):release())
    local began = wait.now()
    client:on_state(function(new) state = new end)
    faulty:cut()
    eventually(function() return state == "suspended" or state == "connected" end, patience, "the cut")
    assert(client:mutex(base .. "/after"):acquire(patience))
    assert(client:mutex(base .. "/after"):release())
    assert.equal("connected", client:state())
    return wait.now() - began
  end

  --- Every hold has a watch, or is known to have none.
  local function holds_are_watched(n, patience)
    eventually(function() return faulty:counts().getData + client:stats().unwatched >= n end, patience, "the watches")
  end

  local function holds_survive(n, bytes, patience)
    faulty:reset()
    local crowd = ask(client, paths(n, bytes))
    all_granted(crowd, patience)
    holds_are_watched(n, patience)
    local took = cut_and_come_back(patience)
    assert.is_true(faulty:counts().setWatches < 3) -- refused ones would be sent again, in smaller packets
    local stats = client:stats()
    assert.same({ 0, n, 1 }, { stats.lost, stats.held, stats.sessions })
    assert.is_true(stats.unwatched > 0 and stats.unwatched < n)
    all_released(client, crowd, patience)
    assert.equal(0, client:stats().unwatched)
    return took
  end

  --- They wait for a client that holds all the locks over its own link.
  local function waiters_survive(n, bytes, patience)
    local list = paths(n, bytes)
    local holders = ask(other, list)
    all_granted(holders, patience)
    faulty:reset()
    local waiters = ask(client, list)
    eventually(function() return faulty:counts().getChildren2 >= n end, patience, "the lists")
    eventually(function() return faulty:counts().getData + client:stats().unwatched >= n end, patience, "the watches")
    local took = cut_and_come_back(patience)
    assert.is_true(faulty:counts().setWatches < 3) -- refused ones would be sent again, in smaller packets
    assert.same({ 0, n, 1 }, { client:stats().lost, client:stats().waiting, client:stats().sessions })
    all_released(other, holders, patience)
    all_granted(waiters, patience)
    all_released(client, waiters, patience)
    assert.equal(0, client:stats().unwatched)
    return took
  end

  it("lets a client that holds a megabyte of paths reconnect #once #carried", function()
    holds_survive(270, 4000, PATIENCE)
  end)

  it("lets a client that waits at a megabyte of paths reconnect #once #carried", function()
    waiters_survive(270, 4000, PATIENCE)
  end)

  --- Watches the children of as many missing nodes as a client may, then creates them.
  local function watch_children_to_come(bytes)
    local told, tree, all = 0, inspector.connect(zk.hosts), {}
    for _, path in ipairs(paths(200, bytes)) do
      if not client:watch_children(path, function() told = told + 1 end) then break end
      all[#all + 1] = path
    end
    assert.is_true(#all > 50 and #all < 200)
    eventually(function() return told == #all end, PATIENCE, "that they are missing")
    for _, path in ipairs(all) do assert(tree:create(path, "", { parents = true })) end
    eventually(function() return told == 2 * #all end, PATIENCE, "that they are there")
    tree:close()
  end

  it("are not made of the children of nodes that were missing #once #carried", function()
    watch_children_to_come(4000)
    base = base .. "/locks"
    local n = 60
    local crowd = ask(client, paths(n, 4000))
    all_granted(crowd, PATIENCE)
    holds_are_watched(n, PATIENCE)
    faulty:reset()
    cut_and_come_back(PATIENCE)
    assert.equal(1, faulty:counts().setWatches) -- at the first try
    assert.same({ 0, n, 1 }, { client:stats().lost, client:stats().held, client:stats().sessions })
    all_released(client, crowd, PATIENCE)
  end)

  it("do not keep a client for ever from servers that take less than others #once #carried", function()
    local small = server.start { jvm = { "-Djute.maxbuffer=20000" } }
    local link, n = proxy.start(small.hosts), 120
    local one = assert(zklock.connect(link.hosts, { session_timeout = SESSION }))
    local crowd, changed = ask(one, paths(n, 400)), false
    local function becomes(condition, what)
      wait.eventually(function()
        one:poll(0.05)
        return condition()
      end, PATIENCE, what)
    end
    becomes(function() return crowd.granted == n end, "the grants")
    assert(one:watch(base .. "/note", function(data) changed = data == "new" end))
    becomes(function() return link:counts().getData >= n end, "the watches")
    link:cut()
    assert(one:mutex(base .. "/after"):acquire(PATIENCE))
    assert.is_true(link:counts().setWatches > 1)
    assert.same({ 0, n + 1, 1 }, { one:stats().lost, one:stats().held, one:stats().sessions })
    local tree = inspector.connect(small.hosts)
    assert(tree:create(base .. "/note", "new"))
    becomes(function() return changed end, "what changed after that")
    tree:close()
    for _, request in ipairs(crowd.requests) do assert.is_true(request:release()) end
    one:close()
    link:close()
    small:stop()
  end)

  it("are not made of strangers' names #once", function()
    local tree = inspector.connect(zk.hosts)
    local list, nodes = { base .. "/a", base .. "/b" }, {}
    for i, path in ipairs(list) do
      assert(other:mutex(path):acquire(PATIENCE))
      nodes[i] = assert(tree:create(path .. "/" .. ("s"):rep(600000) .. "-lock-", "",
        { ephemeral = true, sequence = true }))
      assert(other:mutex(path):release())
    end
    local waiters = ask(client, list)
    eventually(function() return client:stats().unwatched == 2 end, PATIENCE, "the waits")
    cut_and_come_back(PATIENCE)
    for _, node in ipairs(nodes) do tree:delete(node) end
    all_granted(waiters, PATIENCE)
    tree:close()
  end)

  it("lets a client with 20,000 holds and 20,000 waiters reconnect #flood", function()
    local n, patience = 20000, 10 * PATIENCE
    local began = wait.now()
    local function said(what)
      print(("%s: %.1f s; %d requests, %d not watched"):format(what, wait.now() - began, client:stats().requests_sent,
        client:stats().unwatched))
      began = wait.now()
    end
    local list = paths(2 * n, 24)
    local held, wanted = {}, {}
    for i, path in ipairs(list) do table.insert(i <= n and held or wanted, path) end
    local others = ask(other, wanted)
    all_granted(others, patience)
    said("others hold")
    faulty:reset()
    local holders = ask(client, held)
    all_granted(holders, patience)
    said("we hold")
    local waiters = ask(client, wanted)
    holds_are_watched(2 * n, patience)
    said("we wait")
    cut_and_come_back(patience)
    said("we came back")
    local stats = client:stats()
    assert.same({ 0, n, n, 1 }, { stats.lost, stats.held, stats.waiting, stats.sessions })
    all_released(other, others, patience)
    all_granted(waiters, patience)
    said("waiters were granted")
    all_released(client, holders, patience)
    all_released(client, waiters, patience)
    said("we released")
    assert.equal(0, client:stats().unwatched)
  end)

  it("lets a client with 20,000 holds hear of deletions #flood", function()
    local n, patience = 20000, 10 * PATIENCE
    local list = paths(n, 24)
    local holders = ask(client, list)
    all_granted(holders, patience)
    holds_are_watched(n, patience)
    local tree = inspector.connect(zk.hosts)
    local deleted = 0
    for i = 1, n, 400 do
      for _, name in ipairs(tree:children(list[i])) do
        tree:delete(list[i] .. "/" .. name)
        deleted = deleted + 1
      end
    end
    local began = wait.now()
    eventually(function() return client:stats().lost == deleted end, patience, "the losses")
    print(("%d deletions were heard of after %.1f s"):format(deleted, wait.now() - began))
    tree:close()
    for _, request in ipairs(holders.requests) do request:release() end
    assert.is_true(client:flush(patience))
  end)
end)
