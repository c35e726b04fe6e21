-- SPDX-License-Identifier: MIT
--- The engine's memory runs out, with real servers: in a client's life each allocation of our C code fails in turn, on
--- whatever thread. A call raises or succeeds, what happens behind the scenes is tried again, and nothing is left.
--- libzookeeper's own allocations are let alone: it asserts that they succeed.

local inspector = require "spec.support.inspector"
local places = require "spec.memory.places"
local scarce = require "scarce"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local unpack = table.unpack or unpack -- luacheck: ignore 113

local SESSION = 60 -- seconds: what is left behind stays
local PATIENCE = wait.PATIENCE
local ROW = 3 -- failures one after the other, at most
local NO_MEMORY = "not enough memory"
local STRANGER = "_c_00000000-0000-4000-8000-000000000000-lock-"

describe("an engine without memory", function()
  local zk, tree, path, raised

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
    tree:delete_tree("/engine")
  end)

  after_each(function() scarce.engine(0) end)

  teardown(function()
    tree:delete_tree("/engine")
    tree:close()
  end)

  --- Calls `fn`, and again when it raises for want of memory: soon there is some.
  local function again(fn, tries)
    local ok, value = pcall(fn)
    if ok then return value end
    assert.truthy(tostring(value):find(NO_MEMORY, 1, true), value)
    raised = raised + 1
    assert.is_true((tries or 1) <= ROW)
    return again(fn, (tries or 1) + 1)
  end

  local function becomes(count, what)
    wait.eventually(function() return places.count(tree, path) == count end, PATIENCE, what)
  end

  local function poll_until(client, condition)
    wait.eventually(function()
      client:poll()
      return condition()
    end, PATIENCE)
  end

  local function connect()
    return again(function()
      return assert(zklock.connect(zk.hosts .. "/engine", { session_timeout = SESSION, connect_timeout = PATIENCE,
        log = function() end, auth = { scheme = "digest", credential = "me:secret" }, acl = "open" }))
    end)
  end

  local function acquire(lock)
    return again(function() return assert(lock:acquire(PATIENCE)) end)
  end

  --- Each result of a call must be the right one, whichever allocation failed before. `at`: the path for this client.
  local function alone(at)
    local told = {}
    local function tell(...) told[#told + 1] = { ... } end
    local client = connect()
    local lock = client:mutex(at)
    local token = acquire(lock)
    assert.equal(token, lock:token())
    local list = again(function() return assert(lock:participants(PATIENCE)) end)
    assert.same({ 1, client:session_id() }, { #list, list[1].session })
    assert.is_true(lock:release())
    assert.is_true(again(function() return client:flush(PATIENCE) end))

    local stranger = assert(tree:create(path .. "/" .. STRANGER, "", { ephemeral = true, sequence = true }))
    local request = again(function() return lock:request(PATIENCE, tell) end)
    becomes(2, "a waiter")
    assert.is_nil((again(function() return (lock:acquire(0.001)) end)))
    tree:delete(stranger)
    poll_until(client, function() return #told > 0 end)
    assert.is_true(told[1][1] > token)
    assert.is_true(request:release())

    acquire(lock)
    again(function() return lock:request(nil, tell) end)
    assert.is_true(client:close())
    assert.equal(2, #told)
    assert.same({ nil, "closed" }, { told[2][1], told[2][2] })
  end

  local function together(at)
    local client = connect()
    local both = client:rwlock(at .. "/book")
    local token = acquire(both.write)
    assert.equal(token, acquire(both.read))
    assert.is_true(both.write:release())
    assert.is_true(both.read:release())

    local pool, answers = client:semaphore(at .. "/pool", 2), {}
    local leases = again(function() return assert(pool:acquire(PATIENCE, 2)) end)
    again(function() return pool:request(PATIENCE, function(got, err) answers[#answers + 1] = { got, err } end) end)
    assert.is_true(leases:release())
    poll_until(client, function() return #answers > 0 end)
    local lease, err = unpack(answers[1], 1, 2)
    if lease then assert.is_true(lease:release()) else assert.equal(NO_MEMORY, err) end

    local all, revoked = client:multilock { at .. "/a", at .. "/b" }, 0
    all:on_revoke(function() revoked = revoked + 1 end)
    acquire(all)
    assert.is_true(again(function() return client:mutex(at .. "/b"):revoke(PATIENCE) end))
    poll_until(client, function() return revoked > 0 end)
    assert.is_true(all:release())
    assert.is_true(again(function() return client:flush(PATIENCE) end))
    assert.same({ 1, 1 }, { revoked, #answers })
    assert.equal(0, client:stats().lost)
    assert.is_true(client:close())
  end

  --- Asks again when it is raised, or told, that there was no memory. A call that raised may have been done.
  local function ask(fn, tries)
    local ok, value, more = pcall(fn)
    local err = ok and (value == nil and more) or not ok and value
    if not err or not tostring(err):find(NO_MEMORY, 1, true) then
      assert.is_true(ok, value)
      return value, more
    end
    raised = raised + 1
    assert.is_true((tries or 1) <= ROW)
    return ask(fn, (tries or 1) + 1)
  end

  local function done(fn, already)
    local value, err = ask(fn)
    assert.is_true(value ~= nil or err == already, err)
  end

  --- Each read shows what was written, and the watch what is there at last.
  local function with_nodes(at)
    local client = connect()
    local above = at .. "/nodes"
    local node, seen = above .. "/x", nil
    done(function() return client:create(node, "1", { parents = true }, PATIENCE) end, "node exists")
    assert.equal("1", (ask(function() return client:get(node, PATIENCE) end)))
    local watch = again(function()
      return assert(client:watch(node, function(data, stat) seen = data or stat end))
    end)
    done(function() return client:set(node, "2", nil, PATIENCE) end)
    assert.equal(1, (ask(function() return client:exists(node, PATIENCE) end)).length)
    local ops = { { "set", node, "3" }, { "create", above .. "/y", "" }, { "check", node } }
    done(function() return client:multi(ops, PATIENCE) end, "node exists")
    assert.is_true((ask(function() return client:sync(PATIENCE) end)))
    assert.same({ "x", "y" }, (ask(function() return client:children(above, PATIENCE) end)))
    poll_until(client, function() return seen == "3" end)

    local lock = client:mutex(at .. "/lock")
    acquire(lock)
    done(function() return lock:multi({ { "set", node, "4" } }, PATIENCE) end)
    assert.equal(1, #again(function() return lock:nodes() end))
    assert.is_true(lock:release())
    poll_until(client, function() return seen == "4" end)
    again(function() watch:stop() return true end)
    done(function() return client:delete(node, nil, PATIENCE) end, "no node")
    assert.is_false((ask(function() return client:exists(node, PATIENCE) end)))
    assert.is_true(client:close())
    assert.equal("4", seen)
  end

  --- Every `step`-th allocation fails, and so many in a row.
  local function sweep(name, live, step, times)
    local asked
    raised = 0
    for nth = 1, math.huge, step do
      local at = ("/%s-%d-%d"):format(name, times, nth)
      path = "/engine" .. at
      scarce.engine(nth, times)
      local good, err = pcall(live, at)
      asked = scarce.engine_asked()
      scarce.engine(0)
      if not good then error(("allocation %d: %s"):format(nth, tostring(err)), 0) end
      becomes(0, "the end of every node")
      if asked < nth then break end
    end
    assert.is_true(asked > 50 and raised > 5)
  end

  for name, case in pairs { alone = { alone, 1 }, together = { together, 5 }, nodes = { with_nodes, 3 } } do
    local live, step = unpack(case)

    it(("lives on %s, whichever allocation fails"):format(name), function() sweep(name, live, step, 1) end)

    it(("lives on %s, when some in a row fail"):format(name), function() sweep(name, live, ROW * step, ROW) end)
  end
end)
