-- SPDX-License-Identifier: MIT
--- node_bytes: the bytes of the paths of a client's ephemeral nodes are counted, and bounded. #once

local fixture = require "spec.support.fixture"
local metrics = require "zklock.metrics"

local PATIENCE = require("spec.support.wait").PATIENCE
local LOCK = #"/_c_00000000-0000-4000-8000-000000000000-lock-0000000000"
local LEASE = #"/_c_00000000-0000-4000-8000-000000000000-lease-0000000000"

describe("node_bytes #once", function()
  local here = fixture.new("/node-bytes", { session_timeout = 600 }) -- heartbeats are far apart
  local client, path

  before_each(function() path = here.path end)

  local function connect(bytes)
    client = here:connect({ node_bytes = bytes })
    assert(client:sync(PATIENCE)) -- the first heartbeat has been answered
  end

  local function bytes() return client:stats().node_bytes end

  --- A path of so many bytes.
  local function long(length)
    local rest = length - #path - 1
    local components = ("x"):rep(99) .. "/"
    return path .. "/" .. components:rep(math.floor((rest - 1) / 100)) .. ("x"):rep((rest - 1) % 100 + 1)
  end

  local function is_too_big(...)
    local token, err, why = ...
    assert.same({ nil, "too big" }, { token, err })
    assert.truthy(why:find("node_bytes", 1, true), why)
    assert.truthy(why:find(" 1000 ", 1, true), why)
    return why
  end

  --- After the deletes are answered.
  local function count_to(n)
    assert(client:flush(PATIENCE))
    here:eventually(function() return bytes() == n end)
  end

  it("counts a node with its chroot and its number, until it is gone", function()
    connect()
    assert.equal(0, bytes())
    local lock = client:mutex(path)
    assert(lock:acquire(PATIENCE))
    assert.equal(#path + LOCK, bytes())
    local other = here:connect()
    local request = client:mutex(path):request(PATIENCE, function() end) -- one that waits
    assert.equal(2 * (#path + LOCK), bytes())
    assert.is_true(request:cancel())
    assert(lock:release())
    count_to(0)
    other:close()
  end)

  it("refuses the acquire beyond it at once, and says why", function()
    connect(1000)
    local first, second = client:mutex(long(600)), client:mutex(long(300))
    assert(first:acquire(PATIENCE))
    assert.equal(600 + LOCK, bytes())
    local sent = client:stats().requests_sent
    local why = is_too_big(second:acquire(PATIENCE))
    assert.truthy(why:find("have 656 bytes, 356 more", 1, true), why)
    assert.equal(sent, client:stats().requests_sent)
    is_too_big(second:acquire(0))
    is_too_big(second:guard(PATIENCE))
    is_too_big(second:with(PATIENCE, error))
    local answer
    local request = second:request(PATIENCE, function(...) answer = { n = select("#", ...), ... } end)
    here:eventually(function() return answer end)
    assert.equal(4, answer.n)
    is_too_big(answer[1], answer[2], answer[4])
    assert.equal(request, answer[3])
    assert.equal("failed", request:state())
    assert(first:release())
    count_to(0)
    assert(second:acquire(PATIENCE))
    assert.equal(300 + LOCK, bytes())
  end)

  it("counts all paths of a multilock, and the gate and the leases of a semaphore at its acquire", function()
    connect(1000)
    local paths = { long(300), long(301) }
    is_too_big(client:multilock({ paths[1], paths[2], long(302) }):acquire(PATIENCE))
    local both = client:multilock(paths)
    assert(both:acquire(PATIENCE))
    assert.equal(601 + 2 * LOCK, bytes())
    assert(both:release())
    count_to(0)
    local here_at = path .. "/pool"
    local gate, lease = #here_at + #"/locks" + LOCK, #here_at + #"/leases" + LEASE
    local pool = client:semaphore(here_at, 20)
    local fit = math.floor((1000 - gate) / lease)
    is_too_big(pool:acquire(PATIENCE, fit + 1))
    assert.equal(0, bytes())
    local leases = assert(pool:acquire(PATIENCE, fit))
    count_to(fit * lease)
    assert(leases:release())
    count_to(0)
  end)

  it("counts a place once, however many callers it has", function()
    connect(1000)
    local place = client:mutex(long(500), { fair = false })
    assert(place:acquire(PATIENCE))
    local requests, answers = {}, {}
    for i = 1, 5 do requests[i] = place:request(PATIENCE, function(token) answers[i] = token end) end
    assert.equal(500 + LOCK, bytes())
    is_too_big(client:mutex(long(501), { fair = false }):acquire(PATIENCE))
    assert(place:release())
    here:eventually(function() return answers[1] end)
    assert.equal(500 + LOCK, bytes())
    assert(requests[1]:release()) -- until here the collector has not released it
  end)

  it("counts ephemeral nodes that create and multi make, until this client deletes them or finds them gone", function()
    connect(1000)
    local one, two, three = long(300), long(400), path .. "/three"
    assert(client:create(one, "", { ephemeral = true, parents = true }, PATIENCE))
    assert.equal(300, bytes())
    assert.same({ nil, "node exists" }, { client:create(one, "", { ephemeral = true }, PATIENCE) })
    local made = assert(client:create(two, "", { ephemeral = true, sequential = true, parents = true }, PATIENCE))
    assert.equal(410, #made)
    assert.equal(710, bytes())
    is_too_big(client:create(long(291), "", { ephemeral = true }, PATIENCE))
    local results, err, why = client:multi({ { "create", long(291), "", { ephemeral = true } } }, PATIENCE)
    is_too_big(results, err, why)
    assert(client:create(long(291), "", { parents = true }, PATIENCE)) -- not an ephemeral one
    assert(client:multi({ { "delete", made }, { "create", three, "", { ephemeral = true } } }, PATIENCE))
    assert.equal(300 + #three, bytes())
    assert(client:delete(one, nil, PATIENCE))
    assert.equal(#three, bytes())
    here.tree:delete(three) -- by another client
    assert.equal(#three, bytes())
    assert.is_false(client:exists(three, PATIENCE))
    assert.equal(0, bytes())
  end)

  it("counts nothing of a session that has ended", function()
    local way = here:proxy()
    client = here:connect_to(way.hosts, { node_bytes = 1000 })
    local lock = client:mutex(path)
    assert(client:create(long(300), "", { ephemeral = true, parents = true }, PATIENCE))
    assert(lock:acquire(PATIENCE))
    assert.equal(300 + #path + LOCK, bytes())
    way:expire_session(client:session_id())
    here:eventually(function() return client:stats().sessions == 2 end)
    assert.equal(0, bytes())
  end)

  it("is a gauge", function()
    connect()
    local lock = client:mutex(path)
    assert(lock:acquire(PATIENCE))
    local text = metrics.text(client)
    assert.truthy(text:find(("\nzklock_node_bytes %d\n"):format(#path + LOCK), 1, true), text)
    assert(lock:release())
  end)

  it("makes a job tell on_error, and try again", function()
    local errors, ran = {}, 0
    client = here:connect({ node_bytes = 1000, on_error = function(message) errors[#errors + 1] = message end })
    local lock = client:mutex(long(700))
    assert(lock:acquire(PATIENCE))
    local job = client:job(long(400), function() ran = ran + 1 end, { pause = 0.1 })
    here:eventually(function() return #errors > 1 end)
    assert.truthy(errors[1]:find("too big (the paths of", 1, true), errors[1])
    assert(lock:release())
    here:eventually(function() return ran > 0 end)
    job:stop()
  end)
end)
