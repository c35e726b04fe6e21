-- SPDX-License-Identifier: MIT
--- The line at a mutex: its order, and its cost.

local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local inspector = require "spec.support.inspector"
local proxy = require "spec.support.proxy"
local session = require "spec.support.session"
local wait = require "spec.support.wait"
local wire = require "spec.support.wire"
local worker = require "spec.support.worker"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE

describe("a mutex", function()
  local here = fixture.new("/line", { super = true })
  local zk, tree, client, other, path

  setup(function() zk, tree, client, other = here.zk, here.tree, here:connect(), here:second_process() end)

  before_each(function() path = here.path end)

  describe("its line", function()
    --- Another contender's node, made by hand.
    local function stand_in(name, options)
      options = options or { ephemeral = true, sequence = true }
      options.parents = true
      return assert(tree:create(path .. "/" .. name, "by hand", options))
    end

    it("is strict order of arrival across processes", function()
      local file = folder.file("order", "")
      local crew = {}
      for i = 1, 4 do
        crew[i] = worker.start()
        assert(crew[i]:connect(here:hosts()))
      end
      local lock = client:mutex(path)
      local expected = {}
      for round = 1, 3 do
        assert(lock:acquire(PATIENCE))
        for place = 1, 4 do
          local i = (place + round) % 4 + 1
          expected[#expected + 1] = ("%d\n"):format(i)
          crew[i]:begin("eval", [[
            local path, file, name = ...
            local lock = worker.lock(path)
            assert(lock:acquire(60))
            local out = assert(io.open(file, "a"))
            out:write(name, "\n")
            out:close()
            lock:release()
          ]], path, file, i)
          wait.eventually(function() return #here:nodes() == place + 1 end)
        end
        lock:release()
        for i = 1, 4 do crew[i]:finish() end
      end
      local written = assert(io.open(file)):read("*a")
      assert.equal(table.concat(expected), written)
      for i = 1, 4 do crew[i]:kill() end
    end)

    local hex = ("0123456789abcdef"):rep(2)
    for language, name in pairs {
      ["kazoo's"] = hex .. "__lock__", ["go-zk's"] = "_c_" .. hex .. "-lock-",
      ["Curator's"] = "_c_01234567-89ab-4def-8123-456789abcdef-lock-",
    } do
      it(("waits for %s nodes"):format(language), function()
        local lock, list, callback = client:mutex(path), here.answers()
        local stranger = stand_in(name)
        assert.same({ nil, "timeout" }, { lock:acquire(0) })
        local request = lock:request(PATIENCE, callback)
        here:becomes(2)
        client:poll()
        assert.same({}, list)
        tree:delete(stranger)
        here:eventually(function() return #list > 0 end)
        assert.is_number(list[1][1])
        request:release()
        here:becomes(0)
      end)

      it(("goes before %s nodes that came later"):format(language), function()
        local lock = client:mutex(path)
        assert(lock:acquire(PATIENCE))
        local stranger = stand_in(name)
        assert.is_true(lock:is_held())
        assert.same({ stranger:match("[^/]*$"), false, false },
          (function(p) return { p.node, p.holder, p.mine } end)(lock:participants(PATIENCE)[2]))
        assert.is_true(lock:release())
        assert.same({ nil, "timeout" }, { lock:acquire(0) })
        tree:delete(stranger)
      end)
    end

    it("waits for a node that is not ephemeral", function()
      local lock = client:mutex(path)
      local stranger = stand_in("_c_" .. hex .. "-lock-", { sequence = true })
      assert.same({ nil, "timeout" }, { lock:acquire(0) })
      tree:delete(stranger)
      assert(lock:acquire(PATIENCE))
      lock:release()
    end)

    it("ignores children that belong to no lock, and leaves them alone", function()
      local garbage = { "garbage", "lock-", "x-lock-12", "config", "_c_x-lease-0000000000", "lock-00000x0000",
        "-lock-0000000000x", "_c_" .. hex .. "-lock-" }
      table.sort(garbage)
      for _, name in ipairs(garbage) do stand_in(name, {}) end
      local lock = client:mutex(path)
      assert(lock:acquire(0))
      assert.equal(1, #lock:participants(PATIENCE))
      lock:release()
      assert.is_true(client:flush(PATIENCE))
      assert.same(garbage, tree:children(path))
    end)

    it("can have locks below the lock", function()
      local upper, lower = client:mutex(path), client:mutex(path .. "/below")
      assert(upper:acquire(PATIENCE))
      assert(lower:acquire(PATIENCE))
      assert.is_true(upper:release())
      assert.is_true(lower:is_held())
      assert(upper:acquire(0))
      upper:release()
      lower:release()
    end)

    for _, name in ipairs { "__READ__", "__WRIT__" } do
      it(("with a read-write lock's %s node in it answers 'wrong kind'"):format(name), function()
        local lock, list, callback = client:mutex(path), here.answers()
        local stranger = stand_in("_c_01234567-89ab-4def-8123-456789abcdef-" .. name)
        assert.same({ nil, "wrong kind" }, { lock:acquire(0) })
        assert.same({ nil, "wrong kind" }, { lock:acquire(PATIENCE) })
        local request = lock:request(PATIENCE, callback)
        here:eventually(function() return #list > 0 end)
        assert.same({ { nil, "wrong kind" } }, list)
        assert.equal("failed", request:state())
        here:becomes(1)
        assert(tree:exists(stranger))
        tree:delete(stranger)
        assert(lock:acquire(PATIENCE))
        lock:release()
      end)
    end

    it("below a parent that an ACL closes answers 'access denied'", function()
      local creator = inspector.connect(zk.hosts)
      creator:add_auth("digest", "somebody:else")
      assert(tree:create(path, "", { parents = true }))
      assert(creator:create(path .. "/closed", "", { acl = "creator" }))
      assert(creator:create(path .. "/read", "", { acl = "read" }))
      for _, below in ipairs { "/closed", "/read", "/closed/a", "/read/a/b" } do
        local lock, list, callback = client:mutex(path .. below), here.answers()
        assert.same({ nil, "access denied" }, { lock:acquire(PATIENCE) })
        assert.same({ nil, "access denied" }, { lock:acquire(0) })
        lock:request(PATIENCE, callback)
        here:eventually(function() return #list > 0 end)
        assert.same({ { nil, "access denied" } }, list)
        assert.is_false(lock:is_held())
      end
      assert.same({ nil, "access denied" }, { client:mutex(path .. "/closed"):participants(PATIENCE) })
      assert.equal("connected", client:state())
      creator:close()
    end)

    it("is listed by participants, in queue order", function()
      local lock, before = client:mutex(path), os.time()
      assert.same({}, lock:participants(PATIENCE))
      assert(lock:acquire(PATIENCE))
      local stranger = stand_in(hex .. "__lock__")
      local request = lock:request(PATIENCE, function() end)
      here:becomes(3)
      other:begin("acquire", path, PATIENCE)
      here:becomes(4)

      local all = assert(lock:participants(PATIENCE))
      assert.equal(4, #all)
      local last = -1
      for i, one in ipairs(all) do
        local data, stat = tree:get(path .. "/" .. one.node)
        assert.equal(data, one.identifier)
        assert.equal(tonumber((one.node:match("%d+$"))), one.sequence)
        assert.is_true(one.sequence > last)
        last = one.sequence
        assert.is_true(session.same(stat.ephemeralOwner, one.session))
        assert.is_true(math.abs(stat.ctime / 1000 - one.created) < 0.001)
        assert.equal(i == 1, one.holder)
        assert.equal(i == 1 or i == 3, one.mine)
      end
      assert.equal(stranger, path .. "/" .. all[2].node)
      assert.equal("by hand", all[2].identifier)
      assert.equal(wire.normal_hex(client:session_id()), wire.normal_hex(all[1].session))
      assert.is_not.equal(all[1].identifier, all[4].identifier)
      assert.is_true(all[1].created >= before - 1 and all[1].created <= os.time() + 1)

      tree:delete(stranger)
      lock:release()
      here:eventually(function() return request:state() == "held" end)
      request:release()
      assert.is_number((other:finish()))
      other:release(path)
    end)

    it("hands over within a process without asking the servers", function()
      local faulty = proxy.start(zk.hosts)
      local mine = assert(zklock.connect(faulty.hosts, { session_timeout = 600 })) -- a heartbeat may be a delete
      local lock, granted, requests = mine:mutex(path), 0, {}
      local last = assert(lock:acquire(PATIENCE))
      faulty:reset()
      faulty:black_hole("to_client") -- however slowly they come, all join while the first list is on its way
      for i = 1, 50 do
        requests[i] = lock:request(PATIENCE, function(token)
          assert(token and token > last)
          granted, last = granted + 1, token
          requests[i]:release()
        end)
      end
      faulty:await(proxy.CREATE, 50, PATIENCE)
      faulty:heal()
      here:becomes(51)
      local joining = faulty:counts()
      assert.equal(50, joining[proxy.CREATE])
      -- One list may be in flight, and one more for the callers that came after it was sent.
      assert.is_true(joining.getChildren2 <= 10)

      -- No list of the joining is still on its way: a list comes after all others, and none was sent meanwhile.
      wait.eventually(function()
        local before = faulty:counts().getChildren2
        assert(lock:participants(PATIENCE))
        return faulty:counts().getChildren2 == before + 1
      end, PATIENCE, "no more lists")
      faulty:reset()
      lock:release()
      wait.eventually(function()
        mine:poll(0.05)
        return granted == 50
      end, PATIENCE, "50 grants")
      assert.is_true(mine:flush(PATIENCE))
      local drained = faulty:counts()
      assert.is_true(drained.delete + drained.multi <= 51) -- some may have gone in one transaction
      assert.equal(0, drained.getChildren2 + drained[proxy.CREATE] + drained.exists)
      mine:close()
      faulty:close()
      here:becomes(0)
    end)

    it("sends one transaction and one delete for an acquire and a release #zookeeper", function()
      local faulty = proxy.start(zk.hosts)
      local mine = assert(zklock.connect(faulty.hosts, { session_timeout = 600 })) -- a heartbeat may be a delete
      local lock = mine:mutex(path)
      assert(lock:acquire(PATIENCE))
      lock:release()
      mine:flush(PATIENCE)
      faulty:reset()
      for _ = 1, 10 do
        assert(lock:acquire(PATIENCE))
        lock:release()
      end
      mine:flush(PATIENCE)
      local counts = faulty:counts()
      assert.same({ 10, 10, 0, 0 }, { counts.multi, counts.delete, counts.create2, counts.getChildren2 })
      assert.equal(0, counts.createContainer)
      mine:close()
      faulty:close()
    end)
  end)
end)
