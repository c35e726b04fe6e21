-- SPDX-License-Identifier: MIT
--- Asking for a lock back, from one language to another.

local neighbour = require "spec.support.neighbour"
local neighbourhood = require "spec.support.neighbourhood"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = neighbourhood.PATIENCE

local KINDS = {
  { what = "a mutex", name = "%s", enter = "enter", leave = "leave" },
  { what = "a read lock", name = "read:%s", enter = "join", leave = "part" },
  { what = "a write lock", name = "write:%s", enter = "enter", leave = "leave" },
}

describe("between Curator and us revocation #neighbours", function()
  local zk, there, theirs, ours

  setup(function() zk = server.shared() end)

  before_each(function()
    there = neighbourhood.new()
    local a, b, c, d = neighbour.regulars(zk.hosts, "curator", "curator", "lua", "lua")
    theirs, ours = { a, b }, { c, d }
  end)

  after_each(function()
    there:becomes(0)
    there:close()
  end)

  --- Waits until one was asked.
  local function hears(one, name)
    wait.eventually(function()
      for _, event in ipairs(one:events()) do
        if event[1] == "revoke" and event[2] == name then return true end
      end
    end, PATIENCE, "the question")
  end

  local function was_not_asked(one)
    for _, event in ipairs(one:events()) do assert.not_equal("revoke", event[1]) end
  end

  --- One holds and can be asked; another waits, in front of whom a third asks.
  local function gives_it_back(holder, heir, asker, kind)
    local name, rival = kind.name:format(there.path), kind.enter == "join" and "write:" .. there.path
    assert.is_true(holder:on_revoke(name))
    local token = there:goes_in(holder, "holder", name, kind.enter)
    heir:begin("contend", { path = rival or name, rounds = 1, owner = "heir", resource = there.store.address })
    there:becomes(2)
    assert.is_true(asker:revoke(name))
    hears(holder, name)
    there:goes_out(holder, "holder", token, name, kind.leave)
    assert.equal(1, heir:finish(PATIENCE).granted)
    assert.same({ "holder", "heir" }, there:visitors())
    there:judge { grants = 2 }
  end

  for _, kind in ipairs(KINDS) do
    it(("of %s that Curator holds is asked for by us, and heard"):format(kind.what), function()
      gives_it_back(theirs[1], ours[1], ours[2], kind)
    end)

    it(("of %s that we hold is asked for by Curator, and heard"):format(kind.what), function()
      gives_it_back(ours[1], theirs[1], theirs[2], kind)
    end)

    it(("of %s that comes before anybody listens is read, not missed"):format(kind.what), function()
      local name = kind.name:format(there.path)
      assert.is_number((ours[1]:acquire(name)))
      local before = ours[1]:stats().revoked
      assert.is_true(theirs[1]:revoke(name))
      wait.eventually(function() return ours[1]:stats().revoked > before end, PATIENCE)
      ours[1]:poll()
      assert.is_true(ours[1]:on_revoke(name))
      hears(ours[1], name)
      assert.is_true(ours[1]:release(name))
    end)
  end

  it("reaches only who holds, and takes nothing away", function()
    for _, one in ipairs { theirs[1], theirs[2], ours[1], ours[2] } do one:on_revoke(there.path) end
    local token = there:goes_in(theirs[1], "holder")
    theirs[2]:begin("acquire", there.path)
    there:becomes(2)
    assert.is_true(ours[1]:revoke(there.path, PATIENCE))
    hears(theirs[1], there.path)
    assert.is_false(theirs[2]:has_answered())
    there:goes_out(theirs[1], "holder", token)
    assert.is_number((theirs[2]:finish(PATIENCE)))
    was_not_asked(theirs[2])
    was_not_asked(ours[1])
    assert.is_true(theirs[2]:release(there.path))
    assert.is_false(ours[1]:revoke(there.path, PATIENCE)) -- nobody holds it
  end)

  it("is asked of our leases by Curator, while Curator's own leases do not listen", function()
    local name = "semaphore/2:" .. there.path
    assert.is_true(ours[1]:on_revoke(name))
    assert.is_number((ours[1]:acquire(name)))
    assert.is_true(theirs[1]:revoke(name))
    hears(ours[1], name)
    assert.is_true(ours[1]:release(name))
    assert.is_true(ours[1]:flush(PATIENCE))
    assert.is_number((theirs[1]:acquire(name)))
    assert.is_true(ours[1]:revoke(name, PATIENCE))
    assert.is_true(theirs[1]:release(name))
    there:becomes(0, "/leases")
    there.tree:delete(there.path .. "/locks")
    there.tree:delete(there.path .. "/leases")
  end)

  it("leaves a mark of once a mark", function()
    local client = assert(zklock.connect(zk.hosts))
    local mark = there.path .. "/once-2147483647"
    assert.is_true((client:once(there.path, 3600, function() end)))
    assert.is_true(client:flush(PATIENCE)) -- Curator asks the first of its list, which might still be the call's node
    assert.is_true(theirs[1]:revoke(there.path)) -- its list of participants has the mark
    assert.equal("__REVOKE__", (there.tree:get(mark)))
    local ran, left = client:once(there.path, 3600, error)
    assert.is_false(ran)
    assert.is_true(left > 0 and left <= 3600)
    client:close(PATIENCE)
    there.tree:delete(mark)
  end)

  it("is nothing to Go and kazoo, who go on", function()
    local golang, kazoo = neighbour.regulars(zk.hosts, "golang", "kazoo")
    for _, one in ipairs { golang, kazoo } do
      local token = there:goes_in(one, one.kind)
      assert.is_true(ours[1]:revoke(there.path, PATIENCE))
      there:goes_out(one, one.kind, token)
    end
    there:judge { grants = 2 }
  end)
end)
