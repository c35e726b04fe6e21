-- SPDX-License-Identifier: MIT
--- Answers that no sane server gives: what comes in is looked at before it is believed. They are unknown answers, as if
--- they had been lost: whether the request was done is asked again.

local fixture = require "spec.support.fixture"
local proxy = require "spec.support.proxy"
local wait = require "spec.support.wait"
local wire = require "spec.support.wire"

local SESSION, PATIENCE = 30, wait.PATIENCE

--- The stat of a node that is there, as far as anybody looks.
local STAT = wire.long(77) .. wire.long(77) .. ("\0"):rep(68 - 16)

--- A transaction's answer: so many nodes made, at these paths.
local function made(...)
  local parts = {}
  for i = 1, select("#", ...) do
    parts[i] = wire.int(wire.ops.create) .. wire.bool(false) .. wire.int(0) .. wire.buffer((select(i, ...)))
  end
  return table.concat(parts) .. wire.int(-1) .. wire.bool(true) .. wire.int(-1)
end

describe("a corrupt answer #once", function()
  local here = fixture.new("/corrupt")
  local tree, faulty, host, path

  setup(function()
    tree, faulty = here.tree, here:proxy()
    assert(tree:create("/corrupt"))
  end)

  before_each(function()
    path = here.path
    for _, below in ipairs { "", "/a", "/b" } do assert(tree:create(path .. below)) end
    host = here:worker() -- what crashes is this process
    assert(host:connect(faulty.hosts, { session_timeout = SESSION, connect_timeout = PATIENCE }))
  end)

  local function nodes(below)
    local names = {}
    for _, name in ipairs(tree:children(path .. (below or ""))) do
      if name:find("lock-", 1, true) then names[#names + 1] = name end
    end
    return names
  end

  local function check_holds(name, ...)
    assert.is_number((host:acquire(name, PATIENCE)))
    assert.equal(0, faulty:pending()) -- it came
    for _, below in ipairs { ... } do assert.equal(1, #nodes(below)) end
    assert.is_true(host:release(name))
    assert.is_true(host:flush(PATIENCE))
    for _, below in ipairs { ... } do assert.same({}, nodes(below)) end
  end

  local function check_survives_create(created, stat)
    faulty:forge_reply(proxy.CREATE, wire.buffer(created) .. (stat or STAT))
    check_holds(path, "")
  end

  it("to a create: an empty path", function() check_survives_create("") end)
  it("to a create: a path without a slash", function() check_survives_create("nonsense") end)
  it("to a create: a path without a name", function() check_survives_create(path .. "/") end)
  it("to a create: another directory", function() check_survives_create("/elsewhere/x-lock-0000000000") end)
  it("to a create: another name", function() check_survives_create(path .. "/x-lock-0000000000") end)

  it("to a create: our name with a number that is none", function()
    for _, number in ipairs { "00000000x7", "9999999999", " 000000007", "+000000007", "000000007/", "-00000000\0" } do
      faulty:forge_reply(proxy.CREATE, { "lock%-" .. ("%d"):rep(10), "lock-" .. number })
      check_holds(path, "")
    end
  end)

  it("to a create: a node that was never made", function()
    check_survives_create(path .. "/", ("\0"):rep(68))
  end)

  local function check_survives_list(body)
    faulty:forge_reply("getChildren2", body)
    check_holds(path, "")
  end

  it("to a list: null children", function() check_survives_list(wire.int(2) .. wire.int(-1) .. wire.int(-1)) end)
  it("to a list: less than none #bare", function() check_survives_list(wire.int(-7)) end)
  it("to a list: a node that is elsewhere", function()
    assert(tree:create(path .. "/a/x-lock--000000001"))
    -- besides /a, /b and our node
    check_survives_list { "^" .. wire.int(3) .. "(.*)$", wire.int(4) .. "%1" .. wire.buffer("a/x-lock--000000001") }
    assert(tree:delete(path .. "/a/x-lock--000000001"))
  end)

  local function check_survives_batch(body)
    faulty:forge_reply("multi", body)
    check_holds(("multilock:%s/a+%s/b"):format(path, path), "/a", "/b")
  end

  it("to a transaction: fewer results than operations", function()
    local client = here:connect_to(faulty.hosts, { session_timeout = SESSION })
    local checked = wire.int(wire.ops.check) .. wire.bool(false) .. wire.int(0)
    local over = wire.int(-1) .. wire.bool(true) .. wire.int(-1)
    for _, body in ipairs { over, checked .. over } do
      faulty:forge_reply("multi", body)
      local ops = { { "check", path }, { "check", path .. "/a" } }
      assert.same({ nil, "unknown" }, { client:multi(ops, PATIENCE) })
      assert.equal(0, faulty:pending())
      assert.same({ true, true }, (client:multi(ops, PATIENCE)))
    end
  end)

  --- The moment of a write, which is also the token of the nodes that were made with it.
  local function forge_moment(moment)
    local set = wire.int(wire.ops.setData) .. wire.bool(false) .. wire.int(0)
    faulty:forge_reply("multi", { "(" .. set .. ("."):rep(8) .. ")" .. ("."):rep(8), "%1" .. moment })
  end

  it("to a transaction: a write at no moment", function()
    local client = here:connect_to(faulty.hosts, { session_timeout = SESSION })
    for _, moment in ipairs { ("\0"):rep(8), ("\255"):rep(8) } do
      forge_moment(moment)
      assert.same({ nil, "unknown" }, { client:multi({ { "set", path, "x" } }, PATIENCE) })
      assert.equal(0, faulty:pending())

      forge_moment(moment)
      local name = ("multilock:%s/a+%s/b"):format(path, path)
      local token = host:acquire(name, PATIENCE)
      assert.equal(0, faulty:pending())
      assert.equal(tree:exists(("%s/a/%s"):format(path, nodes("/a")[1])).czxid, token)
      assert.is_true(host:release(name))
      assert.is_true(host:flush(PATIENCE))
    end
  end)

  it("to a transaction: no paths", function() check_survives_batch(made()) end)
  it("to a transaction: one path too few", function() check_survives_batch(made(path .. "/a/x-lock-0000000000")) end)
  it("to a transaction: empty paths", function() check_survives_batch(made("", "")) end)
  it("to a transaction: paths without a slash", function() check_survives_batch(made("x", "y")) end)
  it("to a transaction: paths that are too long", function()
    check_survives_batch(made(path .. "/a/" .. ("x"):rep(5000), path .. "/b/" .. ("x"):rep(5000)))
  end)
end)
