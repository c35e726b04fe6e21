-- SPDX-License-Identifier: MIT
--- client:check: does the holder at a path have this token now?

local fixture = require "spec.support.fixture"
local port = require "spec.support.port"
local zklock = require "zklock"

local NAN = 0 / 0

describe("client:check", function()
  local here = fixture.new("/check", { super = true })
  local asker, client, path

  setup(function() asker, client = here:connect(), here:connect() end)

  before_each(function() path = here.path end)

  local function check(token, at) return asker:check(at or path, token, here.patience) end

  it("says whether the holder of a mutex has this token", function()
    assert.is_false(check(17)) -- there is no such path
    local lock = client:mutex(path)
    local token = assert(lock:acquire(here.patience))
    assert.is_true(check(token))
    assert.is_true(client:check(path, token, here.patience))
    assert.is_false(check(token - 1))
    assert.is_false(check(token + 1))
    assert.is_false(check(0))
    lock:release()
    assert(client:flush(here.patience))
    assert.is_false(check(token))
  end)

  it("is false for a waiter, and for a holder that has gone", function()
    local lock, next_token = client:mutex(path), nil
    local token = assert(lock:acquire(here.patience))
    local request = asker:mutex(path):request(here.patience, function(got) next_token = got end)
    here:becomes(2)
    local waits
    for _, one in ipairs(assert(lock:participants(here.patience))) do
      if not one.holder then waits = assert(client:exists(path .. "/" .. one.node, here.patience)).czxid end
    end
    assert.is_true(check(token))
    assert.is_false(check(waits))
    lock:release()
    while not next_token do asker:poll(1) end
    assert.equal(waits, next_token)
    assert.is_false(check(token))
    assert.is_true(check(next_token))
    request:release()
  end)

  it("is false at once for what this client has released", function()
    local lock = client:mutex(path)
    for _ = 1, 10 do
      local token = assert(lock:acquire(here.patience))
      lock:release()
      assert.is_false(client:check(path, token, here.patience))
    end
  end)

  it("is true for a reentrant hold until its last release", function()
    local lock = client:mutex(path)
    local token = assert(lock:acquire(here.patience))
    assert(lock:acquire(here.patience))
    lock:release()
    assert.is_true(check(token))
    lock:release()
    assert(client:flush(here.patience))
    assert.is_false(check(token))
  end)

  it("knows both sides of a read-write lock", function()
    local ours, theirs = client:rwlock(path), here:connect():rwlock(path)
    local first, second = assert(ours.read:acquire(here.patience)), assert(theirs.read:acquire(here.patience))
    assert.is_true(check(first))
    assert.is_true(check(second))
    ours.read:release()
    theirs.read:release()
    local token = assert(ours.write:acquire(here.patience))
    assert.is_true(check(token))
    assert.equal(token, (assert(ours.read:acquire(here.patience))))
    assert.is_true(check(token))
    ours.write:release()
    assert(client:flush(here.patience))
    assert.equal(token, ours.read:token())
    assert.is_false(check(token)) -- the read is kept
    ours.read:release()
  end)

  it("knows the leases of a semaphore, and of several the first one's token", function()
    local pool = client:semaphore(path, 3)
    local two, one = assert(pool:acquire(here.patience, 2)), assert(pool:acquire(here.patience))
    assert.is_true(check(two:token()))
    assert.is_true(check(one:token()))
    local token = two:token()
    two:release()
    assert(client:flush(here.patience))
    assert.is_false(check(token))
    assert.is_true(check(one:token()))
    one:release()
  end)

  it("checks each path of a multilock", function()
    local a, b = path .. "/a", path .. "/b"
    local both = client:multilock { a, b }
    local token = assert(both:acquire(here.patience))
    assert.is_true(check(token, a))
    assert.is_true(check(token, b))
    assert.is_false(check(token))
    both:release()
  end)

  it("is true while a client keeps its place, also between two callers", function()
    local lock = client:mutex(path, { fair = false, linger = 3600 })
    local token = assert(lock:acquire(here.patience))
    lock:release()
    assert.is_true(check(token))
    assert.equal(token, (assert(lock:acquire(here.patience))))
    assert.is_true(check(token))
    lock:release()
    assert(client:flush(here.patience)) -- it gives the place up
    assert.is_false(check(token))
  end)

  it("does not judge by max_hold or by validity", function()
    local link = here:proxy()
    local far = here:connect_to(link.hosts)
    local lock = far:mutex(path, { max_hold = 0.2 })
    local token = assert(lock:acquire(here.patience))
    link:black_hole()
    while lock:validity() > 0 do far:poll(0.05) end
    assert.is_true(check(token)) -- the delete cannot reach the servers
    link:heal()
    here:becomes(0)
    assert.is_false(check(token))
  end)

  it("is false for a holder whose session has ended, although it has not heard of that", function()
    local link = here:proxy()
    local far = here:connect_to(link.hosts)
    local token = assert(far:mutex(path):acquire(here.patience))
    assert.is_true(check(token))
    link:black_hole() -- it hears nothing any more
    link:expire_session(far:session_id())
    assert.is_false(check(token))
    local lock = client:mutex(path)
    local next_token = assert(lock:acquire(here.patience))
    assert.is_false(check(token))
    assert.is_true(check(next_token))
    lock:release()
  end)

  it("answers without a server, after close, and where an ACL forbids to look", function()
    local closed = { { perms = 4, scheme = "world", id = "anyone" } }
    assert(here.tree:create(path, "", { parents = true, acl = closed }))
    assert.same({ nil, "access denied" }, { check(17) })
    local nobody = "127.0.0.1:" .. port.free()
    local far = here:closes(assert(zklock.connect(nobody, { connect_timeout = 0 })))
    assert.same({ nil, "disconnected", "connection refused: " .. nobody }, { far:check(path, 17, 0.3) })
    assert.equal("disconnected", (select(2, far:check(path, 17, 0))))
    far:close()
    assert.same({ nil, "closed" }, { far:check(path, 17) })
  end)

  it("tries once with a timeout of 0", function()
    local lock = client:mutex(path)
    local token = assert(lock:acquire(here.patience))
    assert.is_true(asker:check(path, token, 0))
    assert.is_false(asker:check(path, token + 1, 0))
    lock:release()
  end)

  it("names a bad argument", function()
    local function refused(name, ...)
      local ok, message = pcall(asker.check, asker, ...)
      assert.is_false(ok)
      assert.truthy(message:find("'" .. name .. "'", 1, true), message)
    end
    for _, bad in ipairs { "/", "x", "", 7, true, path .. "/x-lock-0000000001", "/zookeeper" } do
      refused("path", bad, 1)
    end
    refused("path", nil, 1)
    for _, bad in ipairs { -1, 1.5, NAN, math.huge, 2 ^ 63, "17", true, {} } do refused("token", path, bad) end
    refused("token", path)
    for _, bad in ipairs { -1, NAN, "5", true } do refused("timeout", path, 17, bad) end
    assert.has_error(function() asker.check(path, 17) end)
  end)

  it("sends a barrier, two lists, and one request for the holder", function()
    local lock = client:mutex(path)
    local token = assert(lock:acquire(here.patience))
    local idle = here:connect { session_timeout = 60 }
    local least = math.huge
    for _ = 1, 3 do -- a heartbeat may come between
      local before = idle:stats().requests_sent
      assert.is_true(idle:check(path, token, here.patience))
      least = math.min(least, idle:stats().requests_sent - before)
    end
    assert.equal(5, least)
    lock:release()
  end)
end)
