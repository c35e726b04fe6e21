-- SPDX-License-Identifier: MIT
--- Somebody deletes the nodes that locks are made of: the holder's, a waiter's, their directory, the whole tree.

local fixture = require "spec.support.fixture"
local judge = require "spec.support.judge"
local kinds = require "spec.support.kinds"
local proxy = require "spec.support.proxy"
local resource = require "spec.support.resource"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"

local SESSION = 30 -- seconds: longer than anything here takes
local PATIENCE = wait.PATIENCE

describe("an operator", function()
  local here = fixture.new("/operator", { session_timeout = SESSION })
  local tree, faulty, client, direct, lock, path, losses

  setup(function() tree, faulty = here.tree, here:proxy() end)

  before_each(function()
    path = here.path .. "/a/lock"
    client, direct = here:connect_to(faulty.hosts), here:connect()
    lock, losses = client:mutex(path), {}
    lock:on_lost(function(...) losses[#losses + 1] = { ... } end)
  end)

  local function remove(place) assert.is_true(tree:delete(path .. "/" .. here:nodes(path)[place])) end

  local function directory() assert.is_true(tree:delete_tree(path)) end

  local function whole_tree() assert.is_true(tree:delete_tree("/operator")) end

  --- Waiters, one after another in the line; each that is served notes its number and releases.
  local function waiters(...)
    local order, before = {}, #here:nodes(path)
    for i, who in ipairs { ... } do
      local request
      request = who:mutex(path):request(PATIENCE, function(token, err)
        order[#order + 1] = token and i or err
        request:release()
      end)
      here:becomes(before + i, path)
    end
    return order
  end

  ---@param sessions integer? of the client
  local function nothing_is_left(sessions)
    assert.is_true(client:flush(PATIENCE))
    assert.is_true(direct:flush(PATIENCE))
    assert.same({}, here:nodes(path))
    for one, expected in pairs { [client] = sessions or 1, [direct] = 1 } do
      local stats = one:stats()
      assert.same({ expected, 0, 0 }, { stats.sessions, stats.held, stats.waiting })
    end
  end

  --- The holder has heard, once, and the next in line is served.
  local function holder_is_told(token)
    here:eventually(function() return #losses > 0 end, "the loss")
    assert.same({ { "lost", "me", token } }, losses)
    assert.is_false(lock:is_held("me"))
    assert.equal(0, lock:validity("me"))
    assert.same({ nil, "lost" }, { lock:release("me") })
  end

  it("who deletes the holder's node, however early or late, is noticed", function()
    for hold = 1, 4 do
      faulty:reset()
      local token = assert(lock:acquire(PATIENCE, "me"))
      if hold > 2 then
        faulty:await("getData") -- the watch on it
        assert(client:mutex(path .. "/b"):participants(PATIENCE)) -- is answered by now
      end
      remove(1)
      here:eventually(function() return #losses == hold end, "the loss")
      assert.same({ "lost", "me", token }, losses[hold])
      assert.same({ nil, "lost" }, { lock:release("me") })
    end
    nothing_is_left()
  end)

  --- Before the client has heard of it, or just after: then the release answers "lost".
  for name, kind in pairs(kinds) do
    it("who deletes a node just before the release is reported once, of a " .. name, function()
      local at = here.path .. "/kind"
      local ours, directory_of_hold = kind.open.ours(client, at), kind.holding(at)[1]
      if ours.on_lost then ours:on_lost(function(...) losses[#losses + 1] = { ... } end) end
      local request = ours:request(PATIENCE, function(got, err)
        assert(not err, err)
        losses.of = got -- a lease that nobody has any more is given back
        if kind.leases then got:on_lost(function(...) losses[#losses + 1] = { ... } end) end
      end, kind.leases)
      here:eventually(function() return request:state() == "held" end, "the hold")
      assert.is_true(tree:delete(directory_of_hold .. "/" .. here:nodes(directory_of_hold)[1]))
      request:release()
      here:eventually(function() return #losses > 0 end, "the loss")
      assert(client:flush(PATIENCE))
      client:poll()
      assert.equal(1, #losses)
      assert.same({ 1, 0, "lost" }, { client:stats().lost, client:stats().held, request:state() })
    end)
  end

  it("who deletes the holder's node lets the next one in", function()
    local token = assert(lock:acquire(PATIENCE, "me"))
    local order = waiters(direct, client)
    remove(1)
    here:eventually(function() return #order == 2 end, "the others' turns")
    assert.same({ 1, 2 }, order)
    holder_is_told(token)
    nothing_is_left()
  end)

  it("who deletes a waiter's node sends it to the end of the line", function()
    assert(lock:acquire(PATIENCE, "me"))
    local order = waiters(direct, client, direct)
    for _ = 1, 2 do -- now the first, then the second
      local name = here:nodes(path)[2]
      remove(2)
      wait.eventually(function()
        local names = here:nodes(path)
        return #names == 4 and names[2] ~= name
      end, PATIENCE, "a new node")
    end
    assert.same({}, order)
    assert.is_true(lock:is_held("me"))
    assert.is_true(lock:release("me"))
    here:eventually(function() return #order == 3 end, "the waiters' turns")
    assert.same({ 3, 1, 2 }, order)
    nothing_is_left()
  end)

  for what, delete in pairs { ["the lock's directory"] = directory, ["the whole tree"] = whole_tree } do
    it("who deletes " .. what .. " ends the hold, and those who wait are served", function()
      local token = assert(lock:acquire(PATIENCE, "me"))
      local order = waiters(direct, client, direct, client)
      delete()
      here:eventually(function() return #order == 4 end, "the waiters' turns")
      table.sort(order)
      assert.same({ 1, 2, 3, 4 }, order)
      holder_is_told(token)
      assert.is_true(assert(lock:acquire(PATIENCE, "me")) > token)
      assert.is_true(lock:release("me"))
      nothing_is_left()
    end)

    it("who deletes " .. what .. " while the link is down is noticed when it is up again", function()
      local token = assert(lock:acquire(PATIENCE, "me"))
      local order = waiters(client, client)
      faulty:refuse()
      faulty:cut()
      wait.eventually(function() return client:state() == "suspended" end)
      delete()
      local between = assert(direct:mutex(path):acquire(PATIENCE))
      assert.is_true(between > token)
      faulty:heal()
      holder_is_told(token)
      here:becomes(3, path)
      client:poll()
      assert.same({}, order)
      assert.is_true(direct:mutex(path):release())
      here:eventually(function() return #order == 2 end, "the waiters' turns")
      nothing_is_left(proxy.NATURE == "keeper" and 2 or 1)
    end)
  end

  --- A node of the same name, but nobody's.
  local function replace(place)
    local name = path .. "/" .. here:nodes(path)[place]
    assert.is_true(tree:delete(name))
    assert(tree:create(name, "by hand"))
  end

  it("who puts a node of the same name in the holder's place does not make it hold", function()
    local token = assert(lock:acquire(PATIENCE, "me"))
    replace(1)
    holder_is_told(token)
    assert.is_true(assert(lock:acquire(PATIENCE, "me")) > token)
    assert.is_true(lock:release("me"))
    nothing_is_left()
  end)

  it("who puts a node of the same name in a waiter's place does not stop it", function()
    local token = assert(direct:mutex(path):acquire(PATIENCE))
    local order = waiters(client)
    replace(2)
    assert.is_true(direct:mutex(path):release())
    here:eventually(function() return #order == 1 end, "the waiter's turn")
    assert.same({ 1 }, order)
    assert.is_true(assert(lock:acquire(PATIENCE, "me")) > token)
    assert.is_true(lock:release("me"))
    nothing_is_left()
  end)

  it("who goes on deleting the tree keeps nobody out for ever, and lets nobody spoil the resource #slow", function()
    local target, crew = resource.start(), {}
    for i = 1, 3 do
      crew[i] = worker.start()
      assert(crew[i]:connect(here:hosts(), { session_timeout = SESSION }))
      crew[i]:begin("eval", [[
        local path, address, owner = ...
        local writer, lock, granted = require("spec.support.resource").open(address), worker.lock(path), 0
        for _ = 1, 100 do
          local token, err
          writer:ask(owner)
          repeat
            token, err = lock:acquire(60)
            assert(token or err == "lost", err) -- before it could be told that it was granted
          until token
          local inside = writer:enter(token, owner)
          for _ = 1, 5 do inside = inside and writer:write(token, owner) end
          inside = inside and writer:leave(token, owner)
          local released
          released, err = lock:release()
          assert(released or err == "lost", err)
          granted = granted + 1
        end
        assert(worker.client:flush(60))
        writer:close()
        return granted
      ]], path, target.address, "worker-" .. i)
    end
    local rounds, deleted = 0, 0 -- many nodes are gone before it comes to them
    wait.eventually(function()
      for _, name in ipairs(here:nodes(path)) do
        if tree:delete(path .. "/" .. name) then deleted = deleted + 1 end
      end
      if rounds % 2 == 0 then whole_tree() end
      rounds = rounds + 1
      for i = 1, 3 do
        if not crew[i]:has_answered() then return false end
      end
      return true
    end, 3 * PATIENCE, "the end of every turn")
    local lost = 0
    for i = 1, 3 do
      assert.equal(100, crew[i]:finish())
      lost = lost + crew[i]:stats().lost
    end
    assert.is_true(lost > 0 or deleted < 10)
    judge.demand(target:judge { faults = true, grants = 1 })
    assert.same({}, here:nodes(path))
    for i = 1, 3 do crew[i]:kill() end
    target:close()
  end)
end)
