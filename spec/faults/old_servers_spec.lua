-- SPDX-License-Identifier: MIT
--- Servers that do not know an operation, because they are older. A present one behind a proxy stands for them; the
--- proxy makes the operation unknown. docs/compatibility.md says which versions that means. #once

local fixture = require "spec.support.fixture"

describe("a server that does not know #once #zookeeper", function()
  local here = fixture.new("/old", { session_timeout = 30 })
  local old, client

  --- The operations that the client asked for at that path.
  local function asked_for(path)
    local ops = {}
    for _, request in ipairs(old:log()) do
      if request.path == path then ops[request.op] = (ops[request.op] or 0) + 1 end
    end
    return ops
  end

  before_each(function() old = here:proxy() end)

  it("containers gets plain parents, and is not asked for a container again", function()
    old:forget_how("createContainer")
    client = here:connect_to(old.hosts)
    local lock = client:mutex(here.path .. "/a/b")
    assert(lock:acquire(here.patience))
    for _, parent in ipairs { "", "/a", "/a/b" } do
      assert.is_number(asked_for(here.path .. parent).create2)
      assert.is_truthy(here.tree:exists(here.path .. parent))
    end
    assert.is_true(lock:release())
    assert.is_true(client:flush(here.patience))
    local tries = old:counts().createContainer
    assert.is_true(tries > 0)
    assert(client:mutex(here.path .. "/c"):acquire(here.patience))
    assert.equal(tries, old:counts().createContainer)
    local made = { client:create(here.path .. "/d", "", { container = true }, here.patience) }
    assert.same({ nil, "zookeeper: UNIMPLEMENTED" }, { made[1], made[2] })
  end)

  it("create2 gets a plain create, and is not asked for create2 again", function()
    old:forget_how("create2")
    client = here:connect_to(old.hosts)
    local lock = client:mutex(here.path .. "/a")
    local token = assert(lock:acquire(here.patience))
    assert.equal(token, select(2, here:only_node(here.path .. "/a")).czxid)
    assert.is_true(lock:release())
    local tries = old:counts().create2
    assert.is_true(tries > 0)
    assert(lock:acquire(here.patience))
    assert(client:create(here.path .. "/d", "", nil, here.patience))
    assert.equal(tries, old:counts().create2)
    assert.equal(1, client:stats().sessions) -- such a server carries it on
  end)

  it("removeWatches leaves a watch until it fires, and is not asked to remove another one", function()
    old:forget_how("removeWatches")
    client = here:connect_to(old.hosts)
    local seen, note = here.notes()
    for i = 1, 3 do
      local path = ("%s/%d"):format(here.path, i)
      assert(here.tree:create(path, "", { parents = true }))
      local watch = client:watch(path, note)
      here:hear(seen, i)
      watch:stop()
      here:eventually(function() return (client:get(path, nil, here.patience)) end, "an answer behind that")
    end
    assert.equal(1, old:counts().removeWatches)
    assert.equal(1, client:stats().sessions) -- such a server carries it on
  end)
end)
