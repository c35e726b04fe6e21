-- SPDX-License-Identifier: MIT
--- resty.zklock on a real server, outside of nginx: results, arguments, paths, and the end of a hold.

local collect = require "spec.support.collect"
local file = require "spec.support.file"
local fixture = require "spec.support.fixture"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE
--- Plain Lua 5.1 cannot yield across pcall: there a callback that waits holds up the caller that polls.
local can_park = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil
local MANY = 10 * PATIENCE -- seconds: no hold of a spec lasts so long

describe("resty.zklock", function()
  local here = fixture.new("/resty", { session_timeout = 30 })
  local resty, client, other

  setup(function() other = here:second_process() end)

  --- The module keeps its client, so each spec loads it anew.
  local function reload()
    package.loaded["resty.zklock"] = nil
    resty = require "resty.zklock"
  end

  before_each(function()
    reload()
    client = here:closes(assert(resty.setup(here.zk.hosts, { session_timeout = 30 })), nil, "client")
  end)

  local function object(opts)
    local all = { prefix = here.path, timeout = PATIENCE, exptime = MANY }
    for name, value in pairs(opts or {}) do all[name] = value end
    return assert(resty:new("unused", all))
  end

  local function is_free(key)
    local path = here.path .. "/" .. key
    return other:acquire(path, 0) ~= nil and other:release(path)
  end

  local function becomes_free(key)
    here:eventually(function() return is_free(key) end, "the lock of " .. key)
  end

  local function raises(message, fn, ...)
    local ok, err = pcall(fn, ...)
    assert.is_false(ok)
    assert.matches(message, err, 1, true)
    assert.matches("resty_spec", err, 1, true) -- the place of the call
  end

  it("needs a client, and has one", function()
    raises("resty.zklock has been set up already", function() resty.setup(here.zk.hosts) end)
    reload()
    assert.same({ nil, "not set up" }, { resty:new("locks") })
  end)

  it("tells why there is no client, and may be set up again", function()
    reload()
    local ok, err = pcall(function() return (resty.setup("nowhere:port")) end)
    assert.is_false(ok)
    assert.matches("^spec/locks/resty_spec%.lua:%d+: bad argument 'hosts'", err)
    here:closes(assert(resty.setup(here.zk.hosts)), nil, "client")
  end)

  it("locks and unlocks", function()
    local lock = object()
    assert.equal(0, lock:lock("key"))
    assert.is_false(is_free("key"))
    assert.equal(1, lock:unlock())
    assert.same({ nil, "unlocked" }, { lock:unlock() })
    becomes_free("key")
    assert.equal(0, lock:lock("another"))
    assert.equal(1, lock:unlock())
  end)

  it("holds one lock for each object", function()
    local one, two = object(), object { timeout = 0 }
    assert.equal(0, one:lock("key"))
    assert.same({ nil, "locked" }, { one:lock("key") })
    assert.same({ nil, "locked" }, { one:lock("another") })
    assert.same({ nil, "timeout" }, { two:lock("key") })
    assert.same({ nil, "unlocked" }, { two:unlock() })
    assert.equal(0, two:lock("another"))
    assert.equal(1, one:unlock())
    assert.equal(1, two:unlock())
  end)

  --- Asks in a coroutine.
  ---@return any[][] heard the results, once they are there
  local function asked(lock, key)
    local heard, note = here.notes()
    client:spawn(function() note(lock:lock(key)) end)
    here:eventually(function() return client:stats().waiting == 1 end, "the wait")
    return heard
  end

  it("says for how long it had to wait for a caller of this worker", function()
    if not can_park then return pending("not in plain Lua 5.1") end
    local one, two = object(), object()
    assert.equal(0, one:lock("key"))
    local heard = asked(two, "key")
    assert.equal(1, one:unlock())
    assert.is_true(here:hear(heard)[1] > 0)
    assert.equal(1, two:unlock())
  end)

  it("says for how long it had to wait for another machine", function()
    if not can_park then return pending("not in plain Lua 5.1") end
    local lock, path = object(), here.path .. "/key"
    assert(other:acquire(path, PATIENCE))
    local heard = asked(lock, "key")
    here:becomes(2, path)
    local same = client:mutex(path, { fair = false })
    for _ = 1, 2 do assert(same:participants(PATIENCE)) end -- the client has seen its place by now
    assert.is_true(other:release(path))
    assert.is_true(here:hear(heard)[1] > 0)
    assert.equal(1, lock:unlock())
  end)

  it("gives one of two callers with one object the lock", function()
    if not can_park then return pending("not in plain Lua 5.1") end
    local lock = object()
    local heard, note = here.notes()
    for _ = 1, 2 do
      client:spawn(function() note(lock:lock("key")) end)
    end
    here:eventually(function() return #heard == 1 and client:stats().waiting == 1 end, "one answer")
    assert.same({ { 0 } }, heard)
    assert.equal(1, lock:unlock())
    assert.is_true(here:hear(heard, 2)[1] > 0)
    assert.equal(1, lock:unlock())
  end)

  it("gives the second of two locks for one object back", function()
    if not can_park then return pending("not in plain Lua 5.1") end
    local lock, path = object(), here.path .. "/key"
    assert(other:acquire(path, PATIENCE))
    local heard = asked(lock, "key")
    assert.equal(0, lock:lock("another"))
    assert.is_true(other:release(path))
    assert.same({ nil, "locked" }, here:hear(heard))
    becomes_free("key")
    assert.equal(1, lock:unlock())
  end)

  describe("ends a hold", function()
    it("after exptime, also if the program does nothing", function()
      local lock = object { exptime = 0.2 }
      assert.equal(0, lock:lock("key"))
      assert(other:acquire(here.path .. "/key", PATIENCE))
      assert.same({ nil, "lost" }, { lock:expire() })
      assert.same({ nil, "lost" }, { lock:unlock() })
      assert.same({ nil, "unlocked" }, { lock:unlock() })
      other:release(here.path .. "/key")
    end)

    it("of one object, and not of another one with the same key", function()
      local short, long = object { exptime = 0.2 }, object()
      assert.equal(0, short:lock("key"))
      assert.is_number(long:lock("key"))
      assert.same({ nil, "lost" }, { short:unlock() })
      assert.is_false(is_free("key"))
      assert.equal(1, long:unlock())
    end)

    it("later or sooner, as expire says", function()
      local lock = object { exptime = 2 }
      assert.equal(0, lock:lock("key"))
      assert.is_true(lock:expire(MANY))
      client:sleep(2.1) -- its first end is over
      assert.is_false(is_free("key"))
      assert.is_true(lock:expire(0.1))
      assert(other:acquire(here.path .. "/key", PATIENCE))
      assert.same({ nil, "lost" }, { lock:unlock() })
      assert.same({ nil, "unlocked" }, { lock:expire(1) })
      other:release(here.path .. "/key")
    end)

    it("after which the object locks again", function()
      local lock = object { exptime = 1 }
      assert.equal(0, lock:lock("key"))
      assert(other:acquire(here.path .. "/key", PATIENCE))
      assert.equal(0, lock:lock("another"))
      assert.is_true(lock:expire(MANY))
      assert.equal(1, lock:unlock())
      other:release(here.path .. "/key")
    end)

    it("when the object is collected", function()
      local lock = object()
      assert.equal(0, lock:lock("key"))
      lock = nil -- luacheck: ignore 311
      here:eventually(function()
        collect()
        return is_free("key")
      end, "the lock")
    end)
  end)

  it("cuts timeout to exptime", function()
    local holder = object()
    assert.equal(0, holder:lock("key"))
    assert.same({ nil, "timeout" }, { object { timeout = MANY, exptime = 0.1 }:lock("key") })
    assert.equal(1, holder:unlock())
  end)

  it("spells keys, and the name of the dictionary", function()
    local lock = assert(resty:new("my locks/é", { exptime = MANY }))
    for key, name in pairs { ["a-b_C9"] = "a-b_C9", ["a/../b.c"] = "a%2F%2E%2E%2Fb%2Ec", ["%\0\255"] = "%25%00%FF",
      [12] = "12", ["zookeeper"] = "zookeeper", [true] = "true" } do
      assert.equal(0, lock:lock(key))
      local path = "/resty-lock/my%20locks%2F%C3%A9/" .. name
      assert.equal(1, #here:nodes(path))
      assert.equal(1, lock:unlock())
      assert(client:flush(PATIENCE))
    end
    here.tree:delete_tree("/resty-lock")
  end)

  it("refuses what is no key", function()
    local lock = object()
    assert.same({ nil, "nil key" }, { lock:lock() })
    assert.same({ nil, "empty key" }, { lock:lock("") })
    assert.same({ nil, "key too long" }, { lock:lock(("/"):rep(86)) })
    assert.equal(0, lock:lock(("/"):rep(85)))
    assert.equal(1, lock:unlock())
    local got, err = lock:lock("x-lock-0000000001")
    assert.is_nil(got)
    assert.matches("could be the name of a lock's node", err, 1, true)
  end)

  it("refuses arguments by name", function()
    raises("'dict_name'", function() resty:new() end)
    raises("'opts.timeout'", function() resty:new("d", { timeout = -1 }) end)
    raises("'opts.exptime'", function() resty:new("d", { exptime = 0 }) end)
    raises("'opts.prefix'", function() resty:new("d", { prefix = "locks" }) end)
    raises("unknown option 'expire'", function() resty:new("d", { expire = 1 }) end)
    raises("'dict_name'", function() resty:new(("/"):rep(86)) end)
    raises("'exptime'", function() object():expire(-1) end)
    raises("lock:lock", function() object().lock("key") end)
    assert(resty:new("d", { step = 0.001, ratio = 2, max_step = 0.5 }))
  end)

  it("works as docs/coming-from.md shows", function()
    reload()
    local block = file.read("docs/coming-from.md"):match("\n```lua\n(.-)\n```"):gsub("127%.0%.0%.1:2181", here.zk.hosts)
    local changed = block:gsub("assert%(resty_lock%.setup(%b())%)", "local client = assert(resty_lock.setup%1)")
    local compile = rawget(_G, "loadstring") or load
    local elapsed, ok, made = assert(compile(changed .. "\nreturn elapsed, ok, client", "=docs/coming-from.md"))()
    here:closes(made, nil, "client")
    assert.same({ 0, 1 }, { elapsed, ok })
    here.tree:delete_tree("/resty-lock")
  end)

  it("tells what the client tells", function()
    local lock = object()
    assert.equal(0, lock:lock("key"))
    client:close()
    assert.same({ nil, "closed" }, { lock:unlock() })
    assert.same({ nil, "closed" }, { lock:lock("key") })
  end)
end)
