-- SPDX-License-Identifier: MIT
--- A server that refuses for now what has waited in it for too long (THROTTLEDOP).

local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local LOCKS, PATIENCE = 64, 600

describe("a server that throttles", function()
  local zk, client

  setup(function()
    zk = server.start { jvm = { "-Dzookeeper.throttled_op_wait_time=5", "-Dzookeeper.request_throttle_max_requests=1",
      "-Dzookeeper.request_throttle_stall_time=20" } }
    client = assert(zklock.connect(zk.hosts, { session_timeout = 60 }))
  end)

  teardown(function()
    client:close()
    zk:kill()
  end)

  local function throttled()
    return tonumber(assert(zk:four_letter("mntr")):match("zk_throttled_ops%s+(%d+)"))
  end

  --- All locks in one go, at new paths: returns how many requests the server has refused meanwhile.
  local function burst(name)
    local before, requests, tokens, errors = throttled(), {}, 0, {}
    for i = 1, LOCKS do
      requests[i] = client:mutex(("/%s/%d"):format(name, i)):request(PATIENCE, function(token, err)
        if token then tokens = tokens + 1 else errors[#errors + 1] = err end
      end)
    end
    wait.eventually(function()
      client:poll(0.1)
      return tokens + #errors == LOCKS
    end, PATIENCE)
    assert.same({}, errors)
    for _, request in ipairs(requests) do assert(request:release()) end
    assert(client:flush(PATIENCE))
    return throttled() - before
  end

  it("grants all the locks that a client asks for in one go", function()
    local bursts = 0
    repeat
      bursts = bursts + 1
    until burst("burst-" .. bursts) > 0
  end)
end)
