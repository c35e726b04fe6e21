-- SPDX-License-Identifier: MIT
--- Owners with metamethods: zklock tells two owners apart by identity, and calls nothing of theirs.

local fixture = require "spec.support.fixture"

local PATIENCE = require("spec.support.wait").PATIENCE

describe("an owner with metamethods", function()
  local here = fixture.new("/owner_traps")
  local client, lock

  before_each(function()
    client = here:connect()
    lock = client:mutex(here.path)
  end)

  --- A metatable in which every metamethod raises.
  local function traps(class)
    local meta = { __metatable = class }
    for _, name in ipairs { "eq", "index", "newindex", "call", "tostring", "len", "lt", "le", "concat", "unm", "add",
      "pairs", "ipairs", "hash", "name" } do
      meta["__" .. name] = function() error("zklock called __" .. name, 0) end
    end
    return meta
  end

  local function nobody_holds()
    -- A request that was granted at the moment of its cancel is given back by the next poll.
    here:eventually(function()
      local stats = client:stats()
      return stats.held == 0 and stats.waiting == 0
    end, "the end of all holds")
    here:nothing_is_left()
  end

  --- Everything that takes an owner.
  local function use(who, stranger)
    local told = {}
    lock:on_lost(function(err, whose) told[#told + 1] = err == "lost" and rawequal(whose, who) end)
    lock:on_revoke(function(whose) told[#told + 1] = rawequal(whose, who) end)

    local token = assert(lock:acquire(PATIENCE, who))
    assert.equal(token, (lock:acquire(PATIENCE, who)))
    assert.is_true(lock:release(who))
    assert.is_true(lock:is_held(who))
    assert.is_true(lock:validity(who) > 0)
    assert.equal(token, lock:token(who))
    assert.equal(0, lock:turn(who))
    assert.equal(1, #lock:nodes(who))
    assert.same({}, lock:multi({}, PATIENCE, who))

    assert.is_false(lock:is_held())
    assert.is_false(lock:is_held(stranger))
    assert.same({ nil, "not owner" }, { lock:release() })
    assert.same({ nil, "not owner" }, { lock:release(stranger) })
    assert.same({ nil, "timeout" }, { lock:acquire(0, stranger) })
    assert.same({ nil, "timeout" }, { lock:acquire(0) })
    assert.is_true(lock:is_held(who))

    assert.is_true(lock:revoke(PATIENCE))
    here:eventually(function() return #told == 1 end)
    assert.is_true(lock:release(who))

    assert(lock:acquire(PATIENCE, who))
    here.tree:delete(here:only_node())
    here:eventually(function() return #told == 2 end)
    assert.same({ true, true }, told)
    assert.same({ nil, "lost" }, { lock:release(who) })
    assert.same({ nil, "not owner" }, { lock:release(who) })

    local guard = assert(lock:guard(PATIENCE, who))
    assert.is_true(guard:release())
    assert.is_true(lock:request(PATIENCE, function() end):cancel())
    nobody_holds()
  end

  it("can hold and release although each of its metamethods raises", function()
    local meta = traps()
    use(setmetatable({}, meta), setmetatable({}, meta))
  end)

  it("is not mistaken for the zklock object whose class it shows", function()
    local request = lock:request(PATIENCE, function() end)
    local meta = traps(getmetatable(request))
    request:cancel()
    use(setmetatable({}, meta), setmetatable({}, meta))
  end)

  it("is neither the main program nor another owner although its __eq says so", function()
    local meta = { __eq = function() return true end }
    use(setmetatable({}, meta), setmetatable({}, meta))
  end)

  it("leaves no lock behind if its __eq raises during the grant", function()
    for _, fair in ipairs { true, false } do
      local place = client:mutex(here.path, fair and {} or { fair = false, linger = 0 })
      local who = setmetatable({}, traps())
      for _ = 1, 2 do
        assert.is_number((place:acquire(PATIENCE, who)))
        assert.is_true(place:release(who))
      end
      assert(client:flush(PATIENCE))
      nobody_holds()
    end
  end)

  it("is not mistaken for the coroutine that waits", function()
    local who = setmetatable({}, traps())
    local done = false
    client:spawn(function()
      assert(lock:acquire(PATIENCE, who))
      assert(lock:release(who))
      done = true
    end)
    here:eventually(function() return done end)
    nobody_holds()
  end)

  it("may be LuaJIT's cdata, the null pointer and one whose __eq raises among them", function()
    local ok, ffi = pcall(require, "ffi")
    if not ok then return pending("this Lua has no ffi") end
    local struct = ffi.metatype("struct { int number; }", traps())
    use(struct(), struct())
    use(ffi.new("void *"), ffi.new("void *"))
    use(ffi.new("double", 0 / 0), 1)
  end)
end)

describe("a handle that is called with a dot", function()
  local lock_of = getmetatable

  it("raises for any value, before and after the first use of a lock", function()
    local here = require("spec.support.server").shared()
    local client = assert(require("zklock").connect(here.hosts))
    local lock = client:mutex("/owner_traps/dot")
    local liar = setmetatable({}, { __metatable = setmetatable({}, { __eq = function() return true end }) })
    for _ = 1, 2 do
      for _, name in ipairs { "acquire", "release", "is_held", "token", "validity" } do
        for _, wrong in ipairs { false, 0, "", {}, liar, lock_of(lock) } do
          local ok, err = pcall(lock[name], wrong)
          assert.is_false(ok)
          assert.matches("call it with a colon, lock:" .. name .. "%(%.%.%.%), on a zklock.Lock; got", err)
        end
        local ok, err = pcall(lock[name])
        assert.is_false(ok)
        assert.matches("got nil", err)
      end
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
    end
    client:close()
  end)
end)
