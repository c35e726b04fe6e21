-- SPDX-License-Identifier: MIT
--- The read-write lock on a real server: readers together, a writer alone, a writer that goes on as a reader.

local fixture = require "spec.support.fixture"
local select_loop = require "spec.support.select_loop"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE

describe("a read-write lock", function()
  local here = fixture.new("/rwlock")
  local client, other, path, ours, theirs

  setup(function() client, other = here:connect(), here:connect() end)

  before_each(function()
    path = here.path
    ours, theirs = client:rwlock(path), other:rwlock(path)
  end)

  it("returns its path, and its sides are locks", function()
    assert.equal(path, ours:path())
    assert.equal(path, ours.read:path())
    assert.equal("zklock.RwLock (" .. path .. ")", tostring(ours))
    assert.equal("zklock.Lock (" .. path .. ")", tostring(ours.write))
  end)

  it("lets readers hold together, with growing tokens", function()
    local a, b = assert(ours.read:acquire(PATIENCE)), assert(theirs.read:acquire(PATIENCE))
    assert.is_true(b > a)
    assert.is_true(ours.read:is_held() and theirs.read:is_held())
    for _, name in ipairs(here:nodes()) do assert.matches("^_c_[%x-]+%-__READ__%d+$", name) end
    assert.is_true(ours.read:release())
    assert.is_true(theirs.read:release())
    here:nothing_is_left()
  end)

  it("lets a writer hold alone", function()
    local token = assert(ours.write:acquire(PATIENCE))
    assert.matches("^_c_[%x-]+%-__WRIT__%d+$", here:nodes()[1])
    assert.same({ nil, "timeout" }, { theirs.read:acquire(0) })
    assert.same({ nil, "timeout" }, { theirs.write:acquire(0) })
    local reader, heard = here:ask(theirs.read)
    assert.is_true(ours.write:release())
    assert.is_true(here:hear(heard)[1] > token)
    assert.same({ nil, "timeout" }, { ours.write:acquire(0) })
    reader:release()
    here:nothing_is_left()
  end)

  it("keeps the order: a reader does not pass a writer that waits", function()
    assert(ours.read:acquire(PATIENCE))
    local writer, written = here:ask(theirs.write)
    here:becomes(2)
    local late, read = here:ask(ours.read)
    here:becomes(3)
    assert.equal("waiting", writer:state())
    assert.equal("waiting", late:state())
    assert.is_true(ours.read:release())
    assert.is_number(here:hear(written)[1])
    assert.equal("waiting", late:state())
    writer:release()
    assert.is_number(here:hear(read)[1])
    late:release()
    here:nothing_is_left()
  end)

  it("lets all readers behind a writer in together when it leaves", function()
    assert(ours.write:acquire(PATIENCE))
    local requests, heard = {}, {}
    for i = 1, 5 do requests[i], heard[i] = here:ask((i % 2 == 0 and ours or theirs).read) end
    here:becomes(6)
    assert.is_true(ours.write:release())
    for i = 1, 5 do assert.is_number(here:hear(heard[i])[1]) end
    for i = 1, 5 do
      assert.equal("held", requests[i]:state())
      requests[i]:release()
    end
    here:nothing_is_left()
  end)

  it("is reentrant for its owner on both sides", function()
    for _, side in ipairs { ours.read, ours.write } do
      local token = assert(side:acquire(PATIENCE))
      assert.equal(token, side:acquire(0))
      assert.is_true(side:release())
      assert.is_true(side:is_held())
      assert.is_true(side:release())
      assert.same({ nil, "not owner" }, { side:release() })
    end
    here:nothing_is_left()
  end)

  it("is reentrant for a reader where no call can wait, also after the latest reader has left", function()
    local loop, can = select_loop.new(), true
    function loop.adapter.can_wait()
      if can then return true end
      return nil, "cannot wait in phase dinner"
    end
    local readers, done = here:connect({ loop = loop.adapter }):rwlock(path).read, false
    loop.spawn(function()
      local token = assert(readers:acquire(PATIENCE, "first"))
      assert(readers:acquire(PATIENCE, "latest"))
      assert(readers:release "latest")
      can = false
      assert.equal(token, readers:acquire(0, "first"))
      can, done = true, true
    end)
    loop.run(function() return done or loop.errors[1] end)
    assert.same({}, loop.errors)
  end)

  it("keeps its sides apart: an owner that holds read does not hold write", function()
    assert(ours.read:acquire(PATIENCE))
    assert.is_false(ours.write:is_held())
    assert.is_nil(ours.write:token())
    assert.same({ nil, "not owner" }, { ours.write:release() })
    ours.read:release()
  end)

  it("answers 'deadlock' at once to a reader who asks for write, and the read is kept", function()
    assert(ours.read:acquire(PATIENCE))
    assert.same({ nil, "deadlock" }, { ours.write:acquire() })
    assert.same({ nil, "deadlock" }, { client:rwlock(path).write:acquire(0) })
    assert.is_true(ours.read:is_held())
    assert.equal(1, #here:nodes())
    assert.is_true(ours.read:release())
    assert(ours.write:acquire(PATIENCE))
    assert.is_true(ours.write:release())
  end)

  it("does not answer 'deadlock' to another owner of the same process", function()
    assert(ours.read:acquire(PATIENCE, "a"))
    assert.same({ nil, "timeout" }, { ours.write:acquire(0, "b") })
    assert.same({ nil, "timeout" }, { ours.write:acquire(0.1, "b") })
    ours.read:release("a")
    assert(ours.write:acquire(PATIENCE, "b"))
    ours.write:release("b")
    here:nothing_is_left()
  end)

  describe("whose writer takes read", function()
    local token

    before_each(function()
      token = assert(ours.write:acquire(PATIENCE))
    end)

    it("gives it the write's token, on a node with the write's sequence", function()
      assert.equal(token, ours.read:acquire(PATIENCE))
      assert.equal(token, ours.read:token())
      local names = here:nodes()
      assert.equal(2, #names)
      assert.equal(names[1]:match("%d+$"), names[2]:match("%d+$"))
      assert.equal(token, ours.write:acquire(0))
      for _, side in ipairs { ours.write, ours.write, ours.read } do assert.is_true(side:release()) end
      here:nothing_is_left()
    end)

    it("keeps read when it releases write, and no waiting writer gets in between", function()
      local writer, written = here:ask(theirs.write)
      here:becomes(2)
      assert.equal(token, ours.read:acquire(PATIENCE))
      assert.is_true(ours.write:release())
      assert(client:flush(PATIENCE))
      assert.is_true(ours.read:is_held())
      assert.equal(token, ours.read:token())
      other:poll(0.2)
      assert.equal("waiting", writer:state())
      assert.same({ nil, "deadlock" }, { ours.write:acquire(0) })
      assert.is_true(ours.read:release())
      assert.is_true(here:hear(written)[1] > token)
      writer:release()
      here:nothing_is_left()
    end)

    it("does not let a writer of its own process in between either", function()
      local writer, written = here:ask(ours.write)
      here:becomes(2)
      assert.equal(token, ours.read:acquire(PATIENCE))
      assert.is_true(ours.write:release())
      assert(client:flush(PATIENCE))
      client:poll(0.1)
      assert.equal("waiting", writer:state())
      assert.is_true(ours.read:release())
      assert.is_number(here:hear(written)[1])
      writer:release()
      here:nothing_is_left()
    end)

    it("lets waiting readers in beside it", function()
      local reader, read = here:ask(theirs.read)
      here:becomes(2)
      assert(ours.read:acquire(PATIENCE))
      assert.is_true(ours.write:release())
      assert.is_true(here:hear(read)[1] > token)
      assert.is_true(ours.read:is_held())
      reader:release()
      ours.read:release()
      here:nothing_is_left()
    end)

    it("reports the loss of each", function()
      local losses = {}
      local function listen(side) side:on_lost(function(...) losses[#losses + 1] = { ... } end) end
      listen(ours.read)
      listen(ours.write)
      assert(ours.read:acquire(PATIENCE))
      for _, name in ipairs(here:nodes()) do here.tree:delete(path .. "/" .. name) end
      wait.eventually(function()
        client:poll(0.05)
        return #losses == 2
      end)
      for _, side in ipairs { ours.read, ours.write } do
        assert.is_false(side:is_held())
        assert.same({ nil, "lost" }, { side:release() })
      end
      assert.equal("lost", losses[1][1])
      assert.equal(token, losses[1][3])
      here:nothing_is_left()
    end)
  end)

  it("lists readers and writers", function()
    assert(ours.read:acquire(PATIENCE))
    assert(theirs.read:acquire(PATIENCE))
    local writer = here:ask(theirs.write)
    here:becomes(3)
    local late = here:ask(ours.read)
    here:becomes(4)
    local list = assert(ours.write:participants(PATIENCE))
    local kinds, holders, mine = {}, {}, {}
    for i, p in ipairs(list) do kinds[i], holders[i], mine[i] = p.kind, p.holder, p.mine end
    assert.same({ "read", "read", "write", "read" }, kinds)
    assert.same({ true, true, false, false }, holders)
    assert.same({ true, false, false, true }, mine)
    late:cancel()
    writer:cancel()
    ours.read:release()
    theirs.read:release()
    here:hear { true }
    here:nothing_is_left()
  end)

  it("has options that belong to the path", function()
    assert(ours.read:acquire(PATIENCE))
    assert.has_error(function() client:rwlock(path, { max_hold = 1 }) end,
      "bad argument 'options': other handles of '" .. path .. "' have different options")
    assert(ours.read:release())
    assert.has_error(function() client:mutex(path) end,
      "bad argument 'path': '" .. path .. "' is in use as a rwlock")
    assert.has_error(function() client:rwlock("no slash") end)
    local mutex = client:mutex(path .. "-mutex")
    assert.has_error(function() client:rwlock(path .. "-mutex") end,
      "bad argument 'path': '" .. path .. "-mutex' is in use as a mutex")
    assert.equal(path .. "-mutex", mutex:path())
  end)

  it("and a mutex of another client at one path answer 'wrong kind', in either order", function()
    assert(ours.read:acquire(PATIENCE))
    local third = assert(zklock.connect(here.zk.hosts))
    local foreign = third:mutex(path)
    assert.same({ nil, "wrong kind" }, { foreign:acquire(PATIENCE) })
    ours.read:release()
    assert(client:flush(PATIENCE))
    assert(foreign:acquire(PATIENCE))
    assert.same({ nil, "wrong kind" }, { ours.read:acquire(PATIENCE) })
    assert.same({ nil, "wrong kind" }, { ours.write:acquire(PATIENCE) })
    assert.is_true(foreign:release())
    third:close()
    here:nothing_is_left()
  end)

  it("never lets a writer in beside another holder, however many contend", function()
    local held, done, most, rounds = {}, 0, 0, 60
    local function count_of(side)
      local n = 0
      for _, what in pairs(held) do n = n + (what == side and 1 or 0) end
      return n
    end
    for i = 1, rounds do
      local side = i % 3 == 0 and "write" or "read"
      local request
      request = (i % 2 == 0 and ours or theirs)[side]:request(PATIENCE, function(granted)
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
    here:nothing_is_left()
  end)
end)
