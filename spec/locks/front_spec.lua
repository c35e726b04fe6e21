-- SPDX-License-Identifier: MIT
--- The data that the page for operators has on the nodes in front of a waiter: `contender:front()`. #once

local fixture = require "spec.support.fixture"

describe("the nodes in front of a waiter #once", function()
  local here = fixture.new("/front")
  local client, other

  before_each(function() client, other = here:connect(), here:connect() end)

  --- The client's view of each of its waits, in order of arrival: the sequence of the next node, how many there
  --- are, and whether that one is its own.
  local function fronts()
    local list, count = client.holds:list()
    local found = {}
    for i = 1, count do
      local node, ahead, is_own = list[i].contender:front()
      if ahead then found[#found + 1] = { node and tonumber(node:match("%d+$")), ahead, is_own } end
    end
    return found
  end

  it("are all nodes of a mutex that came before", function()
    assert(other:mutex(here.path):acquire(here.patience))
    for i = 2, 3 do
      here:ask(client:mutex(here.path))
      here:becomes(i)
    end
    here:eventually(function() return #fronts() == 2 end)
    assert.same({ { 0, 1, false }, { 1, 2, true } }, fronts())
  end)

  it("have the holder's identifier once a slow wait has read it, while it is first", function()
    local holder = here:connect { identifier = "db7:4242" }
    assert(holder:mutex(here.path):acquire(here.patience))
    here:ask(other:mutex(here.path))
    here:becomes(2)
    local lines, note = here.notes()
    client = here:connect { log = function(_, line) if line:find("db7:4242", 1, true) then note(line) end end }
    here:ask(client:mutex(here.path, { slow = 1 })) -- its node is there by then
    local function first()
      local list = client.holds:list()
      return select(4, list[1].contender:front())
    end
    here:becomes(3)
    here:eventually(function() return first() == "db7:4242" and #lines > 0 end)
    assert.equal(1, #lines)
    assert(holder:mutex(here.path):release())
    here:becomes(2)
    here:eventually(function() return first() == "" end)
  end)

  it("are the writers for a reader, and all nodes for a writer", function()
    local theirs, ours = other:rwlock(here.path), client:rwlock(here.path)
    assert(theirs.read:acquire(here.patience))
    here:ask(theirs.write)
    here:becomes(2)
    here:ask(theirs.read)
    here:becomes(3)
    here:ask(ours.read)
    here:becomes(4)
    here:ask(ours.write)
    here:becomes(5)
    here:eventually(function() return #fronts() == 2 end)
    assert.same({ { 1, 1, false }, { 3, 4, true } }, fronts())
  end)

  it("are those of the line where a multilock waits, and of a place its own node; a holder has none", function()
    assert(client:mutex(here.path):acquire(here.patience))
    assert(other:multilock { here.path .. "/a", here.path .. "/b" }:acquire(here.patience))
    here:ask(client:multilock { here.path .. "/a", here.path .. "/b" })
    local place = client:mutex(here.path .. "/place", { fair = false })
    assert(place:acquire(here.patience))
    here:ask(place)
    here:becomes(2, here.path .. "/a")
    assert.same({ { 0, 1, false }, { 0, 1, true } }, fronts())
  end)
end)
