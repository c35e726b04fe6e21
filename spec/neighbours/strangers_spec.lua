-- SPDX-License-Identifier: MIT
--- Pairs that may not share a path, as docs/neighbours.md says. Each of these is a defect of that pair, not something
--- to rely on: should one mend itself, the page must say so.

local neighbour = require "spec.support.neighbour"
local neighbourhood = require "spec.support.neighbourhood"
local server = require "spec.support.server"
local wait = require "spec.support.wait"

local SESSION = 10
local PATIENCE = neighbourhood.PATIENCE

describe("who may not share a path #neighbours", function()
  local there, curator, golang, kazoo, plain, ours

  before_each(function()
    there = neighbourhood.new()
    curator, golang, kazoo, plain, ours =
      neighbour.regulars(there.zk.hosts, "curator", "golang", "kazoo", "kazoo-plain", "lua")
  end)

  --- A release of ours returns when it is on its way, and an acquire that fails gives its node up in the same way: the
  --- servers may delete the node after that.
  after_each(function()
    assert.is_true(ours:flush(PATIENCE))
    assert.same({}, there:nodes())
    there:close()
  end)

  --- The first holds, and the second gets it, too.
  local function both_hold(first, second, name, other)
    assert.is_number((first:acquire(name or there.path)))
    assert.is_number((second:acquire(other or there.path)))
    assert.is_true(first:release(name or there.path))
    assert.is_true(second:release(other or there.path))
    if not first.kind then assert(first:flush(PATIENCE)) end
    if not second.kind then assert(second:flush(PATIENCE)) end
  end

  --- The first holds, and the second waits for it.
  local function the_first_holds(first, second)
    assert.is_number((first:acquire(there.path)))
    assert.same({ nil, "timeout" }, { second:acquire(there.path, 0.3) })
    assert.is_true(first:release(there.path))
    if not first.kind then assert(first:flush(PATIENCE)) end
  end

  it("kazoo's Lock without our pattern does not see us, though we see it", function()
    both_hold(ours, plain)
    the_first_holds(plain, ours)
    the_first_holds(ours, kazoo)
    the_first_holds(kazoo, ours)
  end)

  it("Curator does not see kazoo, though with the pattern kazoo sees Curator", function()
    both_hold(kazoo, curator)
    both_hold(plain, curator)
    both_hold(curator, plain)
    the_first_holds(curator, kazoo)
  end)

  it("kazoo's ReadLock is not seen by our mutex, and its WriteLock is nothing for our read-write lock", function()
    both_hold(kazoo, ours, "read:" .. there.path)
    local another = neighbourhood.new()
    assert.is_number((kazoo:acquire("write:" .. another.path)))
    assert.same({ nil, "wrong kind" }, { ours:acquire("read:" .. another.path, PATIENCE) })
    assert.is_true(kazoo:release("write:" .. another.path))
    another:close()
  end)

  it("Curator's mutex and its read-write lock do not see each other, while we say so", function()
    both_hold(curator, curator, "write:" .. there.path)
    assert.is_number((curator:acquire("write:" .. there.path)))
    assert.same({ nil, "wrong kind" }, { ours:acquire(there.path, PATIENCE) })
    assert.is_true(curator:release("write:" .. there.path))
  end)

  --- Go's Lock fails, and leaves its node in everybody's way until its session ends.
  local function breaks_go(stranger, name)
    assert.is_number((stranger:acquire(name)))
    assert.error_matches(function() golang:acquire(there.path) end, "invalid syntax")
    assert.is_true(stranger:release(name))
    assert.same({ nil, "not owner" }, { golang:release(there.path) })
    assert.same({ nil, "timeout" }, { kazoo:acquire(there.path, 0) })
    assert.is_true(golang:close())
    golang:kill()
    assert.is_number((kazoo:acquire(there.path, PATIENCE)))
    assert.is_true(kazoo:release(there.path))
  end

  it("Go's Lock breaks when it meets kazoo's node", function() breaks_go(kazoo, there.path) end)

  it("Go's Lock breaks when it meets a read-write lock's node", function() breaks_go(ours, "read:" .. there.path) end)

  it("Go's Lock breaks when another lock's path is below its own", function()
    breaks_go(ours, there.path .. "/below")
    assert.is_true(ours:flush(PATIENCE))
    assert.is_true(there.tree:delete(there.path .. "/below"))
  end)

  it("a neighbour without our credential can neither queue nor wait; with it, or with an open ACL, it can", function()
    local us = neighbour.crew(there.zk.hosts, SESSION, "lua")
    there.tree:add_auth("digest", server.SUPER) -- to look into it
    local auth = { scheme = "digest", credential = "we:secret" }
    for _, kind in ipairs { "curator", "golang", "kazoo" } do
      assert.is_true(us:connect(there.zk.hosts, { session_timeout = SESSION, auth = auth }))
      local path = there.path .. "-" .. kind
      local token = assert(us:acquire(path))
      local friend, stranger = neighbour.spawn(kind), neighbour.crew(there.zk.hosts, SESSION, kind)
      friend:finish()
      assert.is_true(friend:connect(there.zk.hosts, { session_timeout = SESSION, digest = "we:secret" }))
      assert.error_matches(function() stranger:acquire(path) end, "[nN]ot? ?[aA]uth")
      friend:begin("acquire", path)
      wait.eventually(function() return #there.tree:children(path) == 2 end, PATIENCE)
      assert.is_true(us:release(path))
      assert.is_true(friend:finish(PATIENCE) > token)
      assert.is_true(friend:release(path))
      us:close()
      assert.is_true(us:connect(there.zk.hosts, { session_timeout = SESSION, auth = auth, acl = "open" }))
      path = path .. "-open"
      token = assert(us:acquire(path))
      stranger:begin("acquire", path)
      wait.eventually(function() return #there.tree:children(path) == 2 end, PATIENCE)
      assert.is_true(us:release(path))
      assert.is_true(stranger:finish(PATIENCE) > token)
      us:close()
      stranger:kill()
      friend:kill()
    end
    us:kill()
  end)
end)
