-- SPDX-License-Identifier: MIT
--- Several locks that are held all or none, on a real server.

local fixture = require "spec.support.fixture"
local proxy = require "spec.support.proxy"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE

describe("a multilock", function()
  local here = fixture.new("/multilock")
  local tree, client, other, base, paths

  setup(function() tree, client, other = here.tree, here:connect(), here:connect() end)

  before_each(function()
    base = here.path
    paths = { base .. "/a", base .. "/b", base .. "/c" }
  end)

  local function nodes()
    local all = {}
    for _, path in ipairs(paths) do
      for _, name in ipairs(tree:children(path) or {}) do all[#all + 1] = path .. "/" .. name end
    end
    return all
  end

  local function empty()
    assert(client:flush(PATIENCE))
    assert(other:flush(PATIENCE))
    assert.same({}, nodes())
  end

  it("holds all its paths, with the transaction's zxid as its token", function()
    local all = client:multilock(paths)
    local token = assert(all:acquire(PATIENCE))
    assert.equal(3, #nodes())
    for _, node in ipairs(nodes()) do
      assert.matches("/_c_[%x-]+%-lock%-%d+$", node)
      assert.equal(token, tree:exists(node).czxid)
    end
    assert.equal(token, all:token())
    assert.is_true(all:is_held())
    assert.is_true(all:validity() > 0)
    for _, path in ipairs(paths) do assert.same({ nil, "timeout" }, { other:mutex(path):acquire(0) }) end
    assert.equal(token, all:acquire(0)) -- reentrant
    assert.is_true(all:release())
    assert.is_true(all:is_held())
    assert.is_true(all:release())
    empty()
    assert.is_true(assert(other:mutex(paths[2]):acquire(PATIENCE)) > token)
    other:mutex(paths[2]):release()
  end)

  it("of one path differs from one of two paths that join to the same text", function()
    local one = client:multilock { base .. "/x " .. base .. "/y" }
    local two = client:multilock { base .. "/x", base .. "/y" }
    assert.same({ base .. "/x", base .. "/y" }, { two:path() })
    assert(one:acquire(PATIENCE))
    assert(other:mutex(base .. "/x"):acquire(PATIENCE))
    assert.is_false(two:is_held())
    assert.same({ nil, "timeout" }, { two:acquire(0) })
    assert.is_true(one:release())
    assert.is_true(other:mutex(base .. "/x"):release())
    empty()
  end)

  it("may have more paths than Lua 5.1 and LuaJIT pass in a call", function()
    local many = {}
    for i = 1, 8010 do many[i] = ("%s/%d"):format(base, i) end
    local all = client:multilock(many)
    assert.matches("^zklock.Lock %(" .. base, tostring(all))
    local ok, first = pcall(all.path, all)
    if ok then assert.equal(base .. "/1", first) else assert.matches("too many results to unpack", first) end
    assert.same({ nil, "not owner" }, { all:release() })
  end)

  it("is identified by its set of paths, with any legal characters", function()
    local odd = { " ", "  ", ",", ", ", ": ", "|", "\\0", "%s", "all ", "\194\160", "'\"", " /", "/ " }
    local handles, by_set = {}, {}
    math.randomseed(20)
    for _ = 1, 2000 do
      local chosen = {}
      for i = 1, math.random(3) do
        local name = ("%s/%d%s"):format(base, i, odd[math.random(#odd)]:gsub("/ $", "/x "))
        for _ = 2, math.random(3) do name = name .. "." .. odd[math.random(#odd)]:gsub("/", "") .. base end
        if name:sub(-1) ~= "/" and not name:find("//", 1, true) then chosen[#chosen + 1] = name end
      end
      if #chosen > 0 then
        local lock = client:multilock(chosen)
        table.sort(chosen)
        assert.same(chosen, { lock:path() })
        handles[#handles + 1] = lock
        by_set[table.concat(chosen, "\0")] = true
      end
    end
    local sets, seen = 0, 0
    for _ in pairs(by_set) do sets = sets + 1 end
    local known = {}
    for _, lock in ipairs(handles) do
      if not known[lock.lock_path] then known[lock.lock_path], seen = true, seen + 1 end
    end
    assert.equal(sets, seen)
  end)

  it("leaves the data of its directories alone", function()
    for _, path in ipairs(paths) do assert(tree:create(path, "theirs", { parents = true })) end
    local before = select(2, assert(tree:get(paths[1])))
    local mutex = client:mutex(paths[1])
    assert(mutex:acquire(PATIENCE))
    local sequence = tonumber(nodes()[1]:match("%d+$"))
    assert.is_true(mutex:release())
    local all = client:multilock(paths)
    local token = assert(all:acquire(PATIENCE))
    assert.equal(3, #nodes()) -- nothing else stays
    for _, node in ipairs(nodes()) do assert.equal(token, tree:exists(node).czxid) end
    assert.is_true(tonumber(nodes()[1]:match("%d+$")) > sequence)
    for _, path in ipairs(paths) do
      local data, stat = tree:get(path)
      assert.equal("theirs", data)
      assert.equal(0, stat.version)
      assert.equal(stat.czxid, stat.mzxid)
    end
    assert.equal(before.mzxid, tree:exists(paths[1]).mzxid)
    assert.is_true(all:release())
    empty()
  end)

  it("is taken without the right to delete", function()
    for _, path in ipairs(paths) do
      assert(tree:create(path, "", { parents = true, acl = { { perms = 23, scheme = "world", id = "anyone" } } }))
    end
    local all = client:multilock(paths)
    local token = assert(all:acquire(PATIENCE))
    for _, node in ipairs(nodes()) do assert.equal(token, tree:exists(node).czxid) end
    assert.is_true(all:release())
    assert.same({ nil, "access denied" }, { client:flush(PATIENCE) })
    for _, path in ipairs(paths) do assert(tree:set_acl(path, "open")) end
    wait.eventually(function() return client:flush(PATIENCE) end) -- a delete on its way may still be denied
    empty()
  end)

  it("is not granted while one of its paths is held", function()
    local b = other:mutex(paths[2])
    assert(b:acquire(PATIENCE))
    local all = client:multilock(paths)
    assert.same({ nil, "timeout" }, { all:acquire(0) })
    assert.same({ nil, "timeout" }, { all:acquire(0.1) })
    local request, heard = here:ask(all)
    wait.eventually(function() return #nodes() == 4 end)
    assert.equal("waiting", request:state())
    assert.same({ nil, "timeout" }, { other:mutex(paths[1]):acquire(0) }) -- its place in the queue
    b:release()
    assert.is_number(here:hear(heard)[1])
    request:release()
    empty()
  end)

  it("is the same lock for the same paths in another order", function()
    local all = client:multilock(paths)
    local same = client:multilock { paths[3], paths[1], paths[2] }
    local token = assert(all:acquire(PATIENCE))
    assert.equal(token, same:acquire(0))
    assert.is_true(same:release())
    assert.is_true(same:release())
    assert.same({ paths[1], paths[2], paths[3] }, { same:path() })
    empty()
  end)

  it("does not wait for another one that waits for it, in whatever order they name their paths", function()
    local done, rounds = 0, 40
    local orders = { { paths[1], paths[2] }, { paths[3], paths[2] }, { paths[3], paths[1] }, paths }
    local held = {}
    for i = 1, rounds do
      local from = i % 2 == 0 and client or other
      local names = orders[i % 4 + 1]
      local request
      request = from:multilock(names):request(PATIENCE, function(token)
        assert(token)
        held[request] = names
      end)
    end
    wait.eventually(function()
      client:poll(0.005)
      other:poll(0.005)
      local taken = {}
      for _, names in pairs(held) do
        for _, path in ipairs(names) do
          assert.is_nil(taken[path])
          taken[path] = true
        end
      end
      local request = next(held)
      if request then
        held[request] = nil
        request:release()
        done = done + 1
      end
      return done == rounds
    end, PATIENCE)
    empty()
  end)

  it("answers 'deadlock' at once to an owner that holds one of its paths through another lock", function()
    local all, some, a = client:multilock(paths), client:multilock { paths[1], paths[2] }, client:mutex(paths[1])
    assert(a:acquire(PATIENCE))
    assert.same({ nil, "deadlock" }, { all:acquire() })
    a:release()
    assert(all:acquire(PATIENCE))
    assert.same({ nil, "deadlock" }, { a:acquire() })
    assert.same({ nil, "deadlock" }, { some:acquire() })
    assert.same({ nil, "timeout" }, { a:acquire(0, "somebody else") })
    all:release()
    assert(some:acquire(PATIENCE))
    assert.same({ nil, "deadlock" }, { all:acquire(0) })
    some:release()
    empty()
  end)

  it("is lost as a whole when one of its nodes is deleted", function()
    local all = client:multilock(paths)
    local losses = {}
    all:on_lost(function(...) losses[#losses + 1] = { ... } end)
    local token = assert(all:acquire(PATIENCE))
    wait.eventually(function() -- the watches on its own nodes
      local b = nodes()[2]
      return b and client:stats().requests_sent > 0
    end)
    tree:delete(nodes()[2])
    wait.eventually(function()
      client:poll(0.02)
      return #losses == 1
    end, PATIENCE)
    assert.equal("lost", losses[1][1])
    assert.equal(token, losses[1][3])
    assert.is_false(all:is_held())
    assert.same({ nil, "lost" }, { all:release() })
    empty()
  end)

  it("lists the holders and waiters at each path", function()
    local all = client:multilock(paths)
    assert(all:acquire(PATIENCE))
    local request = here:ask(other:mutex(paths[2]))
    wait.eventually(function() return #nodes() == 4 end)
    local list = assert(all:participants(PATIENCE))
    local seen = {}
    for i, p in ipairs(list) do seen[i] = ("%s %s %s"):format(p.path:sub(-1), tostring(p.holder), tostring(p.mine)) end
    assert.same({ "a true true", "b true true", "b false false", "c true true" }, seen)
    request:cancel()
    all:release()
    empty()
  end)

  it("has options of its own, and shares no path with another kind", function()
    local mutex = client:mutex(paths[1], { max_hold = 5 })
    local all = client:multilock(paths, { max_hold = 1 })
    assert(all:acquire(PATIENCE))
    assert.has_error(function() client:multilock(paths) end,
      "bad argument 'options': other handles of these paths have different options")
    assert.is_true(all:validity() <= 1)
    all:release()
    assert.equal(paths[1], mutex:path())
    local rw = client:rwlock(base .. "/rw")
    assert.has_error(function() client:multilock { paths[1], base .. "/rw" } end,
      "bad argument 'path': '" .. base .. "/rw' is in use as a rwlock")
    assert.equal(base .. "/rw", rw:path())
  end)

  for what, bad in pairs {
    ["no table"] = "/a",
    ["an empty list"] = {},
    ["a table that is no list"] = { a = "/a" },
    ["a path that is none"] = { "/a", "b" },
    ["a number"] = { "/a", 7 },
    ["a path twice"] = { "/a", "/b", "/a" },
    ["a path below another"] = { "/a", "/a/b" },
  } do
    it("raises for " .. what, function()
      local ok, err = pcall(client.multilock, client, bad)
      assert.is_false(ok)
      assert.matches("bad argument 'paths", err)
    end)
  end

  describe("behind a link that fails", function()
    local faulty, cut

    before_each(function()
      faulty = proxy.start(here.zk.hosts)
      cut = assert(zklock.connect(faulty.hosts))
      assert(cut:multilock(paths):acquire(PATIENCE)) -- the directories
      assert(cut:multilock(paths):release())
      assert(cut:flush(PATIENCE))
    end)

    after_each(function()
      cut:close()
      faulty:close()
    end)

    it("enters all queues once even if the answer was lost", function()
      faulty:lose_reply("multi")
      local token = assert(cut:multilock(paths):acquire(PATIENCE))
      assert.equal(3, #nodes())
      for _, node in ipairs(nodes()) do assert.equal(token, tree:exists(node).czxid) end
      assert.is_true(cut:multilock(paths):release())
      assert(cut:flush(PATIENCE))
      empty()
    end)

    it("answers 'too big' if one request cannot hold all paths, and the link stays", function()
      local named = assert(zklock.connect(faulty.hosts, { identifier = ("i"):rep(1024) }))
      local many = {}
      faulty:reset()
      for i = 1, 900 do many[i] = ("%s/%s%d"):format(base, ("m"):rep(60), i) end
      local id = named:session_id()
      for _, timeout in ipairs { 0, 1, math.huge } do
        assert.same({ nil, "too big" }, { named:multilock(many):acquire(timeout) })
      end
      assert.equal(id, named:session_id())
      assert.equal("connected", named:state())
      assert.equal(0, faulty:counts().multi)
      assert(named:multilock(paths):acquire(PATIENCE)) -- the longest identifier fits
      named:close()
    end)

    it("closes, with the transaction on its way into a black hole, and nothing crashes", function()
      faulty:black_hole()
      local heard = {}
      cut:multilock(paths):request(nil, function(got, err) heard[#heard + 1] = { got, err } end)
      assert.is_true(cut:close())
      assert.same({ { nil, "closed" } }, heard)
      faulty:heal()
      wait.eventually(function() return #nodes() == 0 end, PATIENCE)
    end)
  end)
end)
