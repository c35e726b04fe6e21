-- SPDX-License-Identifier: MIT
--- A release with validity 0: it gives back, and answers "unknown".

local fixture = require "spec.support.fixture"
local kinds = require "spec.support.kinds"
local wait = require "spec.support.wait"

local SESSION = 2 -- seconds
local PATIENCE = wait.PATIENCE

describe("a release with validity 0", function()
  local here = fixture.new("/uncertain", { session_timeout = SESSION })
  local client, faulty, direct, lock, losses

  setup(function() direct, faulty = here:connect { session_timeout = 30 }, here:proxy() end)

  before_each(function()
    client = here:connect_to(faulty.hosts, { connect_timeout = PATIENCE })
    lock = client:mutex(here.path)
    local note
    losses, note = here.notes()
    lock:on_lost(note)
  end)

  after_each(function()
    assert.is_true(client:close())
    faulty:heal()
  end)

  --- Nothing comes through any more, until nobody can say whether the session lives. The client does not poll.
  ---@param meanwhile fun()? as soon as nothing comes through
  local function forsake(hold, meanwhile)
    faulty:black_hole()
    if meanwhile then meanwhile() end
    wait.eventually(function() return hold:validity() == 0 end, PATIENCE, "the end of validity")
  end

  --- Somebody else holds it, and gives it back.
  local function overtake()
    assert(direct:mutex(here.path):acquire(PATIENCE))
    assert.is_true(direct:mutex(here.path):release())
    assert.is_true(direct:flush(PATIENCE))
  end

  --- The client finds out that its session has ended.
  local function find_out()
    faulty:refuse()
    faulty:cut()
    faulty:heal()
    here:eventually(function() return client:state() == "connected" end, "a new session")
  end

  it("answers 'unknown' when another one has held meanwhile, and the loss is told later", function()
    local token = assert(lock:acquire(PATIENCE))
    forsake(lock)
    overtake()
    assert.same({ nil, "unknown" }, { lock:release() })
    assert.same({ nil, "not owner" }, { lock:release() })
    assert.same({ 1, 0 }, { client:stats().released, client:stats().lost })
    assert.same({}, losses)
    find_out()
    here:eventually(function() return #losses == 1 end, "news of the loss")
    assert.same({ "lost", token }, { losses[1][1], losses[1][3] })
    assert.same({ 1, 1 }, { client:stats().released, client:stats().lost })
    assert.same({ nil, "not owner" }, { lock:release() })
    assert.is_true(client:flush(PATIENCE))
  end)

  it("gives back, and no loss is told when the session has survived #carried", function()
    assert(lock:acquire(PATIENCE))
    faulty:black_hole("to_client") -- the servers hear us, and keep the session
    wait.eventually(function() return lock:validity() == 0 end, PATIENCE, "the end of validity")
    assert.same({ nil, "unknown" }, { lock:release() })
    faulty:heal()
    assert.is_true(client:flush(PATIENCE))
    here:becomes(0)
    client:poll()
    assert.same({}, losses)
    assert.same({ 1, 0 }, { client:stats().released, client:stats().lost })
  end)

  it("answers true when validity is above 0 again #carried", function()
    assert(lock:acquire(PATIENCE))
    faulty:black_hole("to_client")
    wait.eventually(function() return lock:validity() == 0 end, PATIENCE, "the end of validity")
    faulty:heal()
    here:eventually(function() return lock:validity() > 0 end, "validity")
    assert.is_true(lock:release())
  end)

  it("of an inner acquire takes one count off, and answers for its moment", function()
    assert(lock:acquire(PATIENCE))
    assert(lock:acquire(PATIENCE))
    assert(lock:acquire(PATIENCE))
    assert.is_true(lock:release())
    forsake(lock)
    assert.same({ nil, "unknown" }, { lock:release() })
    assert.equal(0, client:stats().released)
    assert.same({ nil, "unknown" }, { lock:release() })
    assert.equal(1, client:stats().released)
    assert.same({ nil, "not owner" }, { lock:release() })
  end)

  it("answers 'lost' when max_hold is over", function()
    -- On a busy machine a short session may be in doubt before max_hold is over: then the answer is "unknown".
    local lasting = here:connect_to(faulty.hosts, { session_timeout = 60, connect_timeout = PATIENCE })
    local short = lasting:mutex(here.path, { max_hold = 1 })
    assert(short:acquire(PATIENCE))
    assert(short:acquire(PATIENCE))
    forsake(short)
    assert.same({ nil, "lost" }, { short:release() })
    assert.same({ nil, "not owner" }, { short:release() })
  end)

  it("answers 'unknown' again to a guard whose release was cut short by an error, and the loss is told", function()
    local guard = assert(lock:guard(PATIENCE))
    forsake(lock)
    overtake()
    local holds = client.holds
    function holds.remove()
      holds.remove = nil
      error("not enough memory", 0)
    end
    assert.same({ false, "not enough memory" }, { pcall(guard.release, guard) })
    assert.same({ nil, "unknown" }, { guard:release() })
    assert.is_true(guard:release())
    find_out()
    here:eventually(function() return #losses == 1 end, "news of the loss")
  end)

  it("of `with` answers 'unknown' and the results of fn", function()
    local ran = { lock:with(PATIENCE, function()
      forsake(lock)
      overtake()
      return "done", nil, 3
    end) }
    assert.same({ nil, "unknown", "done", nil, 3 }, ran)
    find_out()
    here:eventually(function() return #losses == 1 end, "news of the loss")
  end)

  it("of a guard answers 'unknown', and a second one true", function()
    local guard = assert(lock:guard(PATIENCE))
    forsake(lock)
    assert.same({ nil, "unknown" }, { guard:release() })
    assert.is_true(guard:release())
    overtake()
    find_out()
    here:eventually(function() return #losses == 1 end, "news of the loss")
  end)

  it("of a request changes its state from 'released' to 'lost' when the loss is known", function()
    local request = here:ask(lock)
    here:eventually(function() return request:state() == "held" end)
    forsake(request)
    overtake()
    assert.same({ nil, "unknown" }, { request:release() })
    assert.equal("released", request:state())
    assert.same({ nil, "not owner" }, { request:release() })
    find_out()
    here:eventually(function() return request:state() == "lost" end, "the loss")
    assert.same({ nil, "not owner" }, { request:release() })
    assert.equal(request, losses[1][2])
  end)

  it("tells nothing after close", function()
    assert(lock:acquire(PATIENCE))
    forsake(lock)
    assert.same({ nil, "unknown" }, { lock:release() })
    faulty:refuse()
    faulty:cut()
    faulty:heal()
    client:close()
    client:poll()
    assert.same({}, losses)
    assert.equal(0, client:stats().lost)
  end)

  it("of a node that an operator has deleted is a loss when the only delete finds no node", function()
    assert(lock:acquire(PATIENCE))
    local node = here:only_node()
    forsake(lock, function() assert.is_true(here.tree:delete(node)) end) -- the session's end deletes it, too
    assert.same({ nil, "unknown" }, { lock:release() })
    faulty:heal()
    here:eventually(function() return #losses == 1 end, "news of the loss")
    assert.equal(1, client:stats().lost)
  end)

  it("keeps the node for this client's waiters, who get it when validity is above 0", function()
    local place = client:mutex(here.path, { fair = false })
    local token = assert(place:acquire(PATIENCE))
    local request = here:ask(place)
    client:poll()
    faulty:black_hole("to_client")
    wait.eventually(function() return place:validity() == 0 end, PATIENCE, "the end of validity")
    assert.same({ nil, "unknown" }, { place:release() })
    client:poll()
    assert.equal("waiting", request:state())
    faulty:heal()
    here:eventually(function() return request:state() == "held" end, "the grant")
    assert.is_true(request:validity() > 0)
    if request:token() == token then assert.equal(0, client:stats().lost) end
  end)

  it("answers 'unknown' for every kind of lock", function()
    local holds = {}
    for kind, of in pairs(kinds) do
      local handle = of.open.ours(client, here.path .. "/" .. kind)
      local got = assert(handle:acquire(PATIENCE, of.leases))
      local hold = of.leases and got or handle
      hold:on_lost(function() losses[kind] = (losses[kind] or 0) + 1 end)
      holds[kind] = hold
    end
    for _, hold in pairs(holds) do forsake(hold) end
    for kind, hold in pairs(holds) do
      assert.same({ nil, "unknown" }, { hold:release() }, kind)
      assert.is_false(hold:is_held(), kind)
    end
    local all, count = {}, 0
    for kind, of in pairs(kinds) do
      all[kind], count = 1, count + 1
      for _, directory in ipairs(of.directories(here.path .. "/" .. kind)) do here:becomes(0, directory) end
    end
    find_out()
    here:eventually(function()
      for kind in pairs(kinds) do
        if not losses[kind] then return nil, kind end
      end
      return true
    end, "news of each loss")
    assert.same(all, losses)
    assert.same({ count, count }, { client:stats().released, client:stats().lost })
  end)
end)
