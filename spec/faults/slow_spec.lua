-- SPDX-License-Identifier: MIT
--- A machine whose answers take too long for its session timeout: its session lives, but it is never sure of that. It
--- must not keep others from a lock that it cannot be granted.

local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local SESSION, ONE_WAY, PATIENCE = 6, 0.7, wait.PATIENCE
local MOST = SESSION / 8 -- seconds that an answer may take

local function says_reason(why)
  local seconds = why:match("^answers take (%d+%.%d) s; a session of 6 s allows 0%.75 s$")
  assert.is_true(seconds ~= nil and tonumber(seconds) > MOST, why)
end

describe("a link that is too slow for the session timeout #once", function()
  local zk, link, slow, healthy, lines

  before_each(function()
    zk = server.shared()
    link = proxy.start(zk.hosts)
    lines = {}
    slow = assert(zklock.connect(link.hosts, { session_timeout = SESSION, connect_timeout = PATIENCE,
      log = function(level, line) lines[#lines + 1] = level .. ": " .. line end }))
    healthy = assert(zklock.connect(zk.hosts, { session_timeout = SESSION }))
    assert.equal(SESSION, slow:session_timeout())
  end)

  after_each(function()
    link:delay(0)
    slow:close()
    healthy:close()
    link:close()
  end)

  local function warnings()
    local count = 0
    slow:poll()
    for _, line in ipairs(lines) do
      if line:find("^warn: .*answers take") then count = count + 1 end
    end
    return count
  end

  --- From now on nothing is believed of the slow client's session.
  local function slow_down()
    link:delay(ONE_WAY)
    local probe = slow:mutex("/slow/probe")
    if probe:acquire(PATIENCE) then
      wait.eventually(function() return probe:validity() == 0 end, PATIENCE)
      probe:release()
    end
  end

  it("gives its place up, says why, and lets another machine have the lock", function()
    assert(healthy:mutex("/slow/lock"):acquire(PATIENCE))
    slow_down()
    local answer
    slow:mutex("/slow/lock"):request(600, function(...) answer = table.pack(...) end)
    wait.eventually(function()
      slow:poll(0.1)
      return slow:stats().waiting == 1 and #assert(healthy:mutex("/slow/lock"):participants()) == 2
    end, PATIENCE)
    assert(healthy:mutex("/slow/lock"):release())
    assert(healthy:mutex("/slow/lock"):acquire(PATIENCE))
    wait.eventually(function()
      slow:poll(0.1)
      return answer
    end, PATIENCE)
    assert.is_nil(answer[1])
    assert.equal("disconnected", answer[2])
    assert.equal("connected", slow:state())
    assert.equal(1, warnings())
    assert.is_true(slow:stats().latency > MOST)
  end)

  it("is the third result of an acquire, and warned of once", function()
    slow_down()
    for _ = 1, 2 do
      local token, err, why = slow:mutex("/slow/alone"):acquire(600)
      assert.same({ nil, "disconnected" }, { token, err })
      says_reason(why)
    end
    assert.equal(1, warnings())
    link:delay(0)
    assert(slow:mutex("/slow/alone"):acquire(PATIENCE))
    wait.eventually(function()
      assert(slow:mutex("/slow/alone"):release())
      assert(slow:mutex("/slow/alone"):acquire(PATIENCE))
      return slow:stats().latency < MOST / 2
    end, PATIENCE)
  end)

  it("is told to a caller with fair = false, too #flood", function()
    slow_down()
    local token, err, why = slow:mutex("/slow/place", { fair = false }):acquire(600)
    assert.same({ nil, "disconnected" }, { token, err })
    says_reason(why)
  end)

  it("is told to a caller whose client has the node and cannot hand it on, and warned of", function()
    local lock = slow:mutex("/slow/handed", { fair = false })
    assert(lock:acquire(PATIENCE))
    local answer
    lock:request(600, function(...) answer = table.pack(...) end)
    slow_down()
    wait.eventually(function() return lock:validity() == 0 end, PATIENCE)
    assert.same({ nil, "unknown" }, { lock:release() })
    wait.eventually(function()
      slow:poll(0.1)
      return answer
    end, PATIENCE)
    assert.same({ nil, "disconnected" }, { answer[1], answer[2] })
    assert.equal(1, warnings())
  end)

  it("has a latency of 0 before the first answer", function()
    local client = assert(zklock.connect("127.0.0.1:1", { connect_timeout = 0 }))
    assert.equal(0, client:stats().latency)
    client:close()
  end)
end)
