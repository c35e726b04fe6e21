-- SPDX-License-Identifier: MIT
--- Many locks of one client at once: what it writes travels together, and each caller fares as if it were alone.

local fixture = require "spec.support.fixture"
local proxy = require "spec.support.proxy"
local wait = require "spec.support.wait"

local unpack = table.unpack or unpack -- luacheck: ignore 143 113
local PATIENCE = wait.PATIENCE
local MANY = 64
local FAR, NEAR = 0.1, 0.02 -- seconds each way
local CLOSED = { { perms = 1, scheme = "world", id = "anyone" } } -- for reading only

describe("many locks of one client", function()
  local here = fixture.new("/batches", { session_timeout = 30, super = true })
  local tree, faulty, client, paths

  setup(function() tree, faulty = here.tree, here:proxy() end)

  --- A client behind the proxy, and so many paths whose directories it knows.
  ---@param data string? what is in the directories
  local function prepare(count, data)
    client, paths = here:connect_to(faulty.hosts), {}
    for i = 1, count do paths[i] = ("%s/%d"):format(here.path, i) end
    for _, path in ipairs(paths) do
      if data then assert(tree:create(path, data, { parents = true })) end
      assert(client:mutex(path):acquire(PATIENCE))
      assert(client:mutex(path):release())
    end
    assert(client:flush(PATIENCE))
    faulty:reset()
  end

  --- Moves the servers so far away; the client knows it then, and gathers for some milliseconds: a slow Lua, too, asks
  --- for many locks meanwhile.
  ---@param delay number seconds each way
  local function know(delay)
    faulty:delay(delay)
    for _ = 1, 3 do
      assert(client:mutex(paths[1]):acquire(PATIENCE))
      assert(client:mutex(paths[1]):release())
      assert(client:flush(PATIENCE))
    end
    faulty:reset()
  end

  --- Asks for all of them in one go.
  ---@return table[] list { request =, path =, token =, err =, turn = }: the last three once it is answered
  local function ask(list)
    local asked, turns = {}, 0
    for i, path in ipairs(list) do
      local one = { path = path }
      asked[i] = one
      one.request = client:mutex(path):request(PATIENCE, function(token, err)
        turns = turns + 1
        one.token, one.err, one.turn = token, err, turns
      end)
    end
    return asked
  end

  local function are_answered(asked)
    here:eventually(function()
      for _, one in ipairs(asked) do
        if not one.turn then return false end
      end
      return true
    end, "all answers")
  end

  --- Each is granted but those in `errors`, which has what they get instead, by path.
  local function are_granted(asked, errors)
    are_answered(asked)
    for _, one in ipairs(asked) do
      assert.same({ one.path, errors and errors[one.path] }, { one.path, one.err })
    end
  end

  local function release(asked)
    for _, one in ipairs(asked) do
      if one.token then assert(one.request:release()) end
    end
    assert(client:flush(PATIENCE))
  end

  local function take_all(list)
    local asked = ask(list or paths)
    are_granted(asked)
    return asked
  end

  --- Takes all of them: no answer comes before all is sent, and nothing is sent once an answer has come.
  ---@param op string the last request of each lock
  local function take_in_one_round_trip(op)
    faulty:black_hole("to_client")
    local asked = ask(paths)
    faulty:await(op, #paths, PATIENCE)
    faulty:black_hole("to_server")
    faulty:heal("to_client")
    are_granted(asked)
    faulty:heal()
    return asked
  end

  --- Each path has the one node that its holder has.
  local function each_has_its_node(asked)
    for _, one in ipairs(asked) do
      local _, stat = here:only_node(one.path)
      assert.equal(stat.czxid, one.token)
    end
  end

  local function nothing_is_left()
    for _, path in ipairs(paths) do here:nothing_is_left(path) end
    assert.same({ 0, 0 }, { client:stats().held, client:stats().waiting })
  end

  --- How many transactions the servers do meanwhile.
  local function transactions(fn)
    local before = tree:set(here.root, "").mzxid
    fn()
    return tree:set(here.root, "").mzxid - before - 1
  end

  describe("asked for in one go", function()
    it("take two requests and one round trip when there is one #zookeeper", function()
      prepare(1)
      release(take_in_one_round_trip("multi"))
      local counts = faulty:counts()
      assert.same({ 0, 0, 1, 1 }, { counts.create2, counts.getChildren2, counts.delete, counts.multi })
    end)

    it("take three requests and one round trip when there is one, in a directory with data #zookeeper", function()
      prepare(1, "data")
      release(take_in_one_round_trip("getChildren2"))
      local counts = faulty:counts()
      assert.same({ 1, 1, 1, 0 }, { counts.create2, counts.getChildren2, counts.delete, counts.multi })
      assert.equal("data", (tree:get(paths[1])))
    end)

    it("take two requests as a multilock #zookeeper", function()
      prepare(4)
      local all = client:multilock(paths)
      local token = assert(all:acquire(PATIENCE))
      for _, path in ipairs(paths) do
        local _, stat = here:only_node(path)
        assert.equal(stat.czxid, token)
      end
      assert(all:release())
      assert(client:flush(PATIENCE))
      local counts = faulty:counts()
      assert.same({ 0, 0, 0, 2 }, { counts.create2, counts.getChildren2, counts.delete, counts.multi })
    end)

    it("are listed as a multilock where the directory has data or another caller", function()
      prepare(2, "data")
      local third = here.path .. "/third"
      assert(client:mutex(third):acquire(PATIENCE))
      assert(client:mutex(third):release())
      local other = here:connect():mutex(third)
      assert(other:acquire(PATIENCE))
      faulty:reset()
      local asked = client:multilock({ paths[1], paths[2], third }):request(PATIENCE, function() end)
      faulty:await("getChildren2", 3, PATIENCE)
      assert.equal("waiting", asked:state())
      assert(other:release())
      here:eventually(function() return asked:state() == "held" end)
      for _, path in ipairs(paths) do assert.equal("data", (tree:get(path))) end
      assert(asked:release())
    end)

    it("take few requests #zookeeper", function()
      prepare(MANY)
      know(FAR)
      local asked
      wait.eventually(function()
        faulty:reset()
        asked = take_all()
        local counts = faulty:counts()
        release(asked)
        local sent = counts.multi + counts.create2 + counts.getChildren2
        return sent <= MANY / 4, tostring(sent)
      end, PATIENCE, ("%d requests for so many locks"):format(MANY / 4))
    end)

    it("take few transactions #zookeeper", function()
      prepare(MANY)
      know(FAR)
      -- On a busy machine the script may stand still while it asks, longer than the client gathers.
      local asked, creates, deletes
      wait.eventually(function()
        creates = transactions(function() asked = take_all() end)
        each_has_its_node(asked)
        deletes = transactions(function() release(asked) end)
        nothing_is_left()
        return creates <= MANY / 4 and deletes <= MANY / 4, ("%d and %d"):format(creates, deletes)
      end, PATIENCE, ("%d transactions for so many creates, and for so many deletes,"):format(MANY / 4))
    end)

    it("are granted in one round trip #once #zookeeper", function()
      prepare(MANY, "data")
      release(take_in_one_round_trip("getChildren2"))
    end)

    it("grow the token of each path from holder to holder", function()
      prepare(8)
      local last = {}
      for _ = 1, 5 do
        local asked = take_all()
        each_has_its_node(asked)
        for _, one in ipairs(asked) do
          assert.is_true(one.token > (last[one.path] or 0))
          last[one.path] = one.token
        end
        for _, one in ipairs(asked) do assert(one.request:release()) end
      end
      assert(client:flush(PATIENCE))
      nothing_is_left()
    end)

    it("keep the order of two callers of one path, who have different tokens", function()
      prepare(16)
      local list = {}
      for i = 1, 32 do list[i] = paths[(i - 1) % 16 + 1] end
      local asked = ask(list)
      here:eventually(function()
        for i = 1, 16 do
          if asked[i].token then asked[i].request:release() end
        end
        return asked[32].turn and true
      end, "the second callers")
      are_granted(asked)
      for i = 1, 16 do
        assert.is_true(asked[i].turn < asked[i + 16].turn)
        assert.is_true(asked[i].token < asked[i + 16].token)
      end
      release { unpack(asked, 17) }
      nothing_is_left()
    end)

    it("serve readers, writers and semaphores, too", function()
      prepare(1)
      local heard, callback = here.answers()
      local all = {}
      for i = 1, 16 do
        local path = ("%s/mixed-%d"):format(here.path, i)
        all[#all + 1] = client:rwlock(path .. "/rw").read:request(PATIENCE, callback)
        all[#all + 1] = client:rwlock(path .. "/rw").read:request(PATIENCE, callback)
        all[#all + 1] = client:rwlock(path .. "/other").write:request(PATIENCE, callback)
        all[#all + 1] = client:semaphore(path .. "/pool", 2):request(PATIENCE, callback)
        all[#all + 1] = client:mutex(path .. "/place", { fair = false, linger = 0 }):request(PATIENCE, callback)
      end
      here:hear(heard, #all)
      for i, answer in ipairs(heard) do assert.is_truthy(answer[1], ("%d: %s"):format(i, tostring(answer[2]))) end
      for _, one in ipairs(all) do assert(one:release()) end
      assert(client:flush(PATIENCE))
      for i = 1, 16 do
        local path = ("%s/mixed-%d"):format(here.path, i)
        for _, name in ipairs { "/rw", "/other", "/pool/locks", "/pool/leases", "/place" } do
          here:nothing_is_left(path .. name)
        end
      end
    end)
  end)

  describe("while their writes are on their way", function()
    local others

    before_each(function()
      prepare(16)
      know(NEAR)
      others = { unpack(paths, 2) }
    end)

    --- Asks for all of them; `fn` runs while the batch is held up.
    local function meddle_with_creates(fn, errors)
      faulty:hold_before(proxy.TAKE)
      local asked = ask(paths)
      wait.eventually(function() return faulty:is_holding() end, PATIENCE)
      fn()
      faulty:heal()
      are_granted(asked, errors)
      return asked
    end

    --- Gives all of them back likewise.
    local function meddle_with_deletes(fn)
      local asked = take_all()
      faulty:hold_before(proxy.DROP)
      for _, one in ipairs(asked) do assert(one.request:release()) end
      wait.eventually(function() return faulty:is_holding() end, PATIENCE)
      fn()
      faulty:heal()
      assert(client:flush(PATIENCE))
    end

    it("are all granted when somebody deletes a directory", function()
      local asked = meddle_with_creates(function() assert(tree:delete(paths[7])) end)
      each_has_its_node(asked)
      release(asked)
      nothing_is_left()
    end)

    it("are all granted when somebody deletes all their directories", function()
      local asked = meddle_with_creates(function()
        for _, path in ipairs(others) do assert(tree:delete(path)) end -- the first one was sent alone
      end)
      each_has_its_node(asked)
      release(asked)
      nothing_is_left()
    end)

    it("are all granted but the one whose directory admits nobody any more", function()
      local closed = paths[7]
      local asked = meddle_with_creates(function() assert(tree:set_acl(closed, CLOSED)) end,
        { [closed] = "access denied" })
      release(asked)
      assert(tree:set_acl(closed, "open"))
      nothing_is_left()
    end)

    it("are all given back when somebody deletes a node", function()
      meddle_with_deletes(function()
        local node = here:only_node(paths[7])
        assert(tree:delete(node))
      end)
      nothing_is_left()
      release(take_all())
    end)

    it("are all given back when somebody deletes all nodes and directories", function()
      meddle_with_deletes(function()
        for _, path in ipairs(paths) do assert(tree:delete_tree(path)) end
      end)
      for _, path in ipairs(paths) do assert.is_nil((tree:children(path))) end
      release(take_all())
    end)

    it("leave nothing behind of those that are cancelled", function()
      faulty:hold_before(proxy.TAKE)
      local asked = ask(paths)
      wait.eventually(function() return faulty:is_holding() end, PATIENCE)
      for i = 2, 16, 2 do asked[i].request:cancel() end
      faulty:heal()
      local errors = {}
      for i = 2, 16, 2 do errors[paths[i]] = "cancelled" end
      are_granted(asked, errors)
      release(asked)
      nothing_is_left()
    end)

    it("do not wait for one whose path fails again and again", function()
      local closed = paths[2] -- the first create of a burst is on its way at once, and the others gather behind it
      assert(tree:set_acl(closed, CLOSED))
      local function burst()
        local asked = ask(paths)
        are_granted(asked, { [closed] = "access denied" })
        release(asked)
      end
      burst() -- the first refusal costs its whole batch
      faulty:reset()
      for _ = 1, 8 do burst() end
      local sent = ""
      for _, entry in ipairs(faulty:log()) do
        if (entry.path or ""):find(closed .. "/", 1, true) then sent = sent .. entry.op .. " " end
      end
      assert.equal((proxy.CREATE .. " "):rep(8), sent) -- in no batch, which it would make fail
      assert(tree:set_acl(closed, "open"))
      nothing_is_left()
    end)

    for _, fault in ipairs { "cut_before", "cut_after", "lose_reply" } do
      for n = 1, 2 do
        it(("survive %s of multi %d #carried"):format(fault, n), function()
          faulty:delay(0.01)
          faulty[fault](faulty, "multi", n)
          local asked = take_all()
          each_has_its_node(asked)
          release(asked)
          local again = take_all()
          each_has_its_node(again)
          release(again)
          nothing_is_left()
          assert.equal(0, faulty:pending())
        end)
      end
    end
  end)
end)
