--- The read-write lock on a real server: readers together, a writer alone, a writer that goes on as a reader.

local inspector = require "spec.support.inspector"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = 20 -- seconds
local SESSION = 6

describe("a read-write lock", function()
  local zk, tree, client, other, path, here, there
  local count = 0

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
    client = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
    other = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
  end)

  before_each(function()
    count = count + 1
    path = ("/rwlock/%d"):format(count)
    here, there = client:rwlock(path), other:rwlock(path)
  end)

  teardown(function()
    client:close()
    other:close()
    tree:close()
  end)

  local function nodes()
    local names = tree:children(path) or {}
    table.sort(names, function(a, b) return a:match("%d+$") < b:match("%d+$") end)
    return names
  end

  --- Asks from the other client; returns the request and the list that its answer comes to.
  local function ask(lock, timeout)
    local heard = {}
    local request = lock:request(timeout or PATIENCE, function(got, err) heard[#heard + 1] = { got, err } end)
    return request, heard
  end

  local function hear(heard)
    return wait.eventually(function()
      client:poll()
      other:poll(0.01)
      return heard[1]
    end, PATIENCE)
  end

  local function empty()
    assert(client:flush(PATIENCE))
    assert(other:flush(PATIENCE))
    assert.same({}, nodes())
  end

  it("says where it is, and that its sides are locks", function()
    assert.equal(path, here:path())
    assert.equal(path, here.read:path())
    assert.equal("zklock.RwLock (" .. path .. ")", tostring(here))
    assert.equal("zklock.Lock (" .. path .. ")", tostring(here.write))
  end)

  it("lets readers hold together, with growing tokens", function()
    local a, b = assert(here.read:acquire(PATIENCE)), assert(there.read:acquire(PATIENCE))
    assert.is_true(b > a)
    assert.is_true(here.read:is_held() and there.read:is_held())
    for _, name in ipairs(nodes()) do assert.matches("^_c_[%x-]+%-__READ__%d+$", name) end
    assert.is_true(here.read:release())
    assert.is_true(there.read:release())
    empty()
  end)

  it("lets a writer hold alone", function()
    local token = assert(here.write:acquire(PATIENCE))
    assert.matches("^_c_[%x-]+%-__WRIT__%d+$", nodes()[1])
    assert.same({ nil, "timeout" }, { there.read:acquire(0) })
    assert.same({ nil, "timeout" }, { there.write:acquire(0) })
    local reader, heard = ask(there.read)
    assert.is_true(here.write:release())
    assert.is_true(hear(heard)[1] > token)
    assert.same({ nil, "timeout" }, { here.write:acquire(0) })
    reader:release()
    empty()
  end)

  it("keeps the order: a reader does not pass a writer that waits", function()
    assert(here.read:acquire(PATIENCE))
    local writer, written = ask(there.write)
    wait.eventually(function() return #nodes() == 2 end)
    local late, read = ask(here.read)
    wait.eventually(function() return #nodes() == 3 end)
    assert.equal("waiting", writer:state())
    assert.equal("waiting", late:state())
    assert.is_true(here.read:release())
    assert.is_number(hear(written)[1])
    assert.equal("waiting", late:state())
    writer:release()
    assert.is_number(hear(read)[1])
    late:release()
    empty()
  end)

  it("lets all readers behind a writer in together when it leaves", function()
    assert(here.write:acquire(PATIENCE))
    local requests, heard = {}, {}
    for i = 1, 5 do requests[i], heard[i] = ask((i % 2 == 0 and here or there).read) end
    wait.eventually(function() return #nodes() == 6 end)
    assert.is_true(here.write:release())
    for i = 1, 5 do assert.is_number(hear(heard[i])[1]) end
    for i = 1, 5 do
      assert.equal("held", requests[i]:state())
      requests[i]:release()
    end
    empty()
  end)

  it("is reentrant for its owner on both sides", function()
    for _, side in ipairs { here.read, here.write } do
      local token = assert(side:acquire(PATIENCE))
      assert.equal(token, side:acquire(0))
      assert.is_true(side:release())
      assert.is_true(side:is_held())
      assert.is_true(side:release())
      assert.same({ nil, "not owner" }, { side:release() })
    end
    empty()
  end)

  it("keeps its sides apart: who holds read does not hold write", function()
    assert(here.read:acquire(PATIENCE))
    assert.is_false(here.write:is_held())
    assert.is_nil(here.write:token())
    assert.same({ nil, "not owner" }, { here.write:release() })
    here.read:release()
  end)

  it("answers 'deadlock' at once to a reader who asks for write, and the read is kept", function()
    assert(here.read:acquire(PATIENCE))
    assert.same({ nil, "deadlock" }, { here.write:acquire() })
    assert.same({ nil, "deadlock" }, { client:rwlock(path).write:acquire(0) })
    assert.is_true(here.read:is_held())
    assert.equal(1, #nodes())
    assert.is_true(here.read:release())
    assert(here.write:acquire(PATIENCE))
    assert.is_true(here.write:release())
  end)

  it("is no deadlock for another owner of the same process", function()
    assert(here.read:acquire(PATIENCE, "a"))
    assert.same({ nil, "timeout" }, { here.write:acquire(0, "b") })
    assert.same({ nil, "timeout" }, { here.write:acquire(0.1, "b") })
    here.read:release("a")
    assert(here.write:acquire(PATIENCE, "b"))
    here.write:release("b")
    empty()
  end)

  describe("whose writer takes read", function()
    local token

    before_each(function()
      token = assert(here.write:acquire(PATIENCE))
    end)

    it("gives it the write's token, on a node with the write's sequence", function()
      assert.equal(token, here.read:acquire(PATIENCE))
      assert.equal(token, here.read:token())
      local names = nodes()
      assert.equal(2, #names)
      assert.equal(names[1]:match("%d+$"), names[2]:match("%d+$"))
      assert.equal(token, here.write:acquire(0))
      for _, side in ipairs { here.write, here.write, here.read } do assert.is_true(side:release()) end
      empty()
    end)

    it("keeps it when write is given back, and no writer that waited slips in", function()
      local writer, written = ask(there.write)
      wait.eventually(function() return #nodes() == 2 end)
      assert.equal(token, here.read:acquire(PATIENCE))
      assert.is_true(here.write:release())
      assert(client:flush(PATIENCE))
      assert.is_true(here.read:is_held())
      assert.equal(token, here.read:token())
      other:poll(0.2)
      assert.equal("waiting", writer:state())
      assert.same({ nil, "deadlock" }, { here.write:acquire(0) })
      assert.is_true(here.read:release())
      assert.is_true(hear(written)[1] > token)
      writer:release()
      empty()
    end)

    it("does not let a writer of its own process slip in either", function()
      local writer, written = ask(here.write)
      wait.eventually(function() return #nodes() == 2 end)
      assert.equal(token, here.read:acquire(PATIENCE))
      assert.is_true(here.write:release())
      assert(client:flush(PATIENCE))
      client:poll(0.1)
      assert.equal("waiting", writer:state())
      assert.is_true(here.read:release())
      assert.is_number(hear(written)[1])
      writer:release()
      empty()
    end)

    it("lets readers that waited in beside it", function()
      local reader, read = ask(there.read)
      wait.eventually(function() return #nodes() == 2 end)
      assert(here.read:acquire(PATIENCE))
      assert.is_true(here.write:release())
      assert.is_true(hear(read)[1] > token)
      assert.is_true(here.read:is_held())
      reader:release()
      here.read:release()
      empty()
    end)

    it("tells of the loss of each", function()
      local losses = {}
      local function listen(side) side:on_lost(function(...) losses[#losses + 1] = { ... } end) end
      listen(here.read)
      listen(here.write)
      assert(here.read:acquire(PATIENCE))
      for _, name in ipairs(nodes()) do tree:delete(path .. "/" .. name) end
      wait.eventually(function()
        client:poll(0.05)
        return #losses == 2
      end)
      for _, side in ipairs { here.read, here.write } do
        assert.is_false(side:is_held())
        assert.same({ nil, "lost" }, { side:release() })
      end
      assert.equal("lost", losses[1][1])
      assert.equal(token, losses[1][3])
      empty()
    end)
  end)

  it("shows who reads and who writes", function()
    assert(here.read:acquire(PATIENCE))
    assert(there.read:acquire(PATIENCE))
    local writer = ask(there.write)
    wait.eventually(function() return #nodes() == 3 end)
    local late = ask(here.read)
    wait.eventually(function() return #nodes() == 4 end)
    local list = assert(here.write:participants(PATIENCE))
    local kinds, holders, mine = {}, {}, {}
    for i, p in ipairs(list) do kinds[i], holders[i], mine[i] = p.kind, p.holder, p.mine end
    assert.same({ "read", "read", "write", "read" }, kinds)
    assert.same({ true, true, false, false }, holders)
    assert.same({ true, false, false, true }, mine)
    late:cancel()
    writer:cancel()
    here.read:release()
    there.read:release()
    hear { true }
    empty()
  end)

  it("has options that belong to the path", function()
    assert(here.read:acquire(PATIENCE))
    assert.has_error(function() client:rwlock(path, { max_hold = 1 }) end,
      "bad argument 'options' (other handles of '" .. path .. "' have other ones)")
    assert(here.read:release())
    assert.has_error(function() client:mutex(path) end,
      "bad argument 'path' ('" .. path .. "' is in use as a rwlock)")
    assert.has_error(function() client:rwlock("no slash") end)
    local mutex = client:mutex(path .. "-mutex")
    assert.has_error(function() client:rwlock(path .. "-mutex") end,
      "bad argument 'path' ('" .. path .. "-mutex' is in use as a mutex)")
    assert.equal(path .. "-mutex", mutex:path())
  end)

  it("and a mutex of other clients at one path answer 'wrong kind', whoever came first", function()
    assert(here.read:acquire(PATIENCE))
    local third = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
    local foreign = third:mutex(path)
    assert.same({ nil, "wrong kind" }, { foreign:acquire(PATIENCE) })
    here.read:release()
    assert(client:flush(PATIENCE))
    assert(foreign:acquire(PATIENCE))
    assert.same({ nil, "wrong kind" }, { here.read:acquire(PATIENCE) })
    assert.same({ nil, "wrong kind" }, { here.write:acquire(PATIENCE) })
    assert.is_true(foreign:release())
    third:close()
    empty()
  end)

  it("never lets a writer in beside anybody, however many contend", function()
    local held, done, most, rounds = {}, 0, 0, 60
    local function count_of(side)
      local n = 0
      for _, what in pairs(held) do n = n + (what == side and 1 or 0) end
      return n
    end
    for i = 1, rounds do
      local side = i % 3 == 0 and "write" or "read"
      local request
      request = (i % 2 == 0 and here or there)[side]:request(PATIENCE, function(granted)
        assert(granted)
        held[request] = side
        local readers, writers = count_of("read"), count_of("write")
        assert(writers == 0 or (writers == 1 and readers == 0))
        most = math.max(most, readers)
      end)
    end
    local failures = {}
    client.handle_error = function(message) failures[#failures + 1] = message end
    other.handle_error = client.handle_error
    wait.eventually(function()
      client:poll(0.005)
      other:poll(0.005)
      local request = next(held) -- the others hold on, so that an overlap would be seen
      if request then
        held[request] = nil
        request:release()
        done = done + 1
      end
      return done == rounds or #failures > 0
    end, PATIENCE)
    client.handle_error, other.handle_error = nil, nil
    assert.same({}, failures)
    assert.is_true(most > 1)
    empty()
  end)
end)
