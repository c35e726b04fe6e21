-- SPDX-License-Identifier: MIT
--- lock:why and request:why: a line about a wait, from what the client knows already.

local fixture = require "spec.support.fixture"

describe("why", function()
  local here = fixture.new("/why", { session_timeout = 60 })
  local client, other, path

  setup(function() client, other = here:connect(), here:connect() end)

  before_each(function() path = here.path end)

  local function ask(lock) return lock:request(here.patience, function() end) end

  --- Waits until it says so.
  local function says(request, pattern)
    here:eventually(function()
      request.client:poll()
      local why = request:why()
      return why and why:find(pattern), why
    end)
  end

  it("names the position and the node in front, and sends nothing", function()
    local lock = other:mutex(path)
    assert(lock:acquire(here.patience))
    local first = ask(client:mutex(path))
    here:becomes(2)
    local second = ask(client:mutex(path))
    here:becomes(3)
    says(first, "^second of %d, behind _c_[%x-]+%-lock%-0000000000; it has waited for [%d.]+ s$")
    says(second, "^third of 3, behind a caller of this client, which waits, too; it has waited for [%d.]+ s$")
    local before = client:stats().requests_sent
    local least = math.huge
    for _ = 1, 3 do -- a heartbeat may come between
      for _ = 1, 1000 do assert(first:why() and second:why()) end
      least = math.min(least, client:stats().requests_sent - before)
      before = client:stats().requests_sent
    end
    assert.equal(0, least)
    second:cancel()
    first:cancel()
    assert.is_nil(first:why())
    lock:release()
  end)

  it("says for how long another caller of this client has held", function()
    local lock = client:mutex(path)
    assert(lock:acquire(here.patience))
    local request = ask(client:mutex(path))
    says(request, "^second of 2, behind a caller of this client, which has held for [%d.]+ s "
      .. "%(valid for %d+%.%d s more%)")
    assert.is_nil(lock:why())
    lock:release()
    while request:state() == "waiting" do client:poll(1) end
    assert.is_nil(request:why())
    request:release()
  end)

  it("names the holder, if a warning has read who that is, and spells what a terminal must not see", function()
    local named = here:connect { identifier = "db7:4242\27[2J" }
    local listener = here:connect { log = function() end }
    assert(named:mutex(path):acquire(here.patience))
    local request = ask(listener:mutex(path, { slow = 0.05 }))
    says(request, "^second of 2, behind db7:4242\\x1b%[2J; ")
  end)

  it("says since when no server is in reach, and why", function()
    local link = here:proxy()
    local far = here:connect_to(link.hosts)
    assert(other:mutex(path):acquire(here.patience))
    local request = ask(far:mutex(path))
    here:becomes(2)
    link:refuse()
    link:cut()
    says(request, "^suspended for [%d.]+ s: ")
    link:heal()
    says(request, "^second of 2, behind ")
  end)

  it("knows places, semaphores and multilocks", function()
    local shared = client:mutex(path .. "/place", { fair = false })
    assert(shared:acquire(here.patience))
    says(ask(client:mutex(path .. "/place", { fair = false })), "^another caller of this client has its turn; ")
    local pool = client:semaphore(path .. "/pool", 1)
    local lease = assert(pool:acquire(here.patience))
    says(ask(pool), "^waits for a lease: 2 are taken or asked for, of 1 permits; ")
    says(ask(pool), "^behind others that take leases; ")
    local one = other:mutex(path .. "/b")
    assert(one:acquire(here.patience))
    says(ask(client:multilock { path .. "/a", path .. "/b" }), "^second of 2, behind _c_")
    one:release()
    lease:release()
  end)

  it("is asked of an owner that waits #once", function()
    assert(other:mutex(path):acquire(here.patience))
    local lock, ended = client:mutex(path), nil
    local owner = {}
    client:spawn(function() ended = { lock:acquire(here.patience, owner) } end)
    here:eventually(function()
      client:poll()
      return (lock:why(owner) or ""):find("^second of 2")
    end)
    assert.is_nil(lock:why())
    assert.is_nil(lock:why("another"))
    other:mutex(path):release()
    while not ended do client:poll(1) end
    assert.is_nil(lock:why(owner))
    lock:release(owner)
    local ok, message = pcall(lock.why, lock, 0 / 0)
    assert.is_false(ok)
    assert.truthy(message:find("bad argument 'owner'", 1, true))
  end)
end)
