-- SPDX-License-Identifier: MIT
--- A session that is carried on by another handle of the library, while the servers may still hear of the former one.

local ensemble = require "spec.support.ensemble"
local proxy = require "spec.support.proxy"
local resolver = require "spec.support.resolver"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"
local zklock = require "zklock"

local NAME = "zk.test"
local SESSION = 10 -- seconds
local PATIENCE = wait.PATIENCE

describe("a session that moves from handle to handle #slow #once", function()
  local three, links, names, other, direct

  setup(function()
    three = ensemble.start()
    names = resolver.new()
  end)

  before_each(function()
    links = {}
    for n, one in ipairs(three.servers) do links[n] = proxy.start(one.hosts) end
    names:set(NAME, links[1].hosts)
    other = worker.start { env = names.env }
    direct = assert(zklock.connect(three.hosts, { session_timeout = 30, connect_timeout = PATIENCE }))
  end)

  after_each(function()
    direct:close()
    other:kill()
    for _, link in ipairs(links) do link:close() end
  end)

  teardown(function() three:close() end)

  -- A handle that is connected tells the servers to end its session when it is closed. Its link may deliver that late.
  it("is not believed in when a former handle has ended it", function()
    local path, next_token = "/carried"
    assert.is_true(other:connect(NAME .. ":2181", { session_timeout = SESSION, connect_timeout = PATIENCE, acl = "open",
      auth = { scheme = "digest", credential = "a:b" } }))
    assert(other:acquire(path, PATIENCE))
    local request = direct:mutex(path):request(nil, function(token) next_token = token end)
    wait.eventually(function() return #direct:mutex(path):participants(PATIENCE) == 2 end)
    links[2]:hold_before("auth")
    names:set(NAME, links[2].hosts)
    links[1]:refuse()
    links[1]:cut()
    links[2]:await("auth", 1, PATIENCE) -- the second handle is connected, and waits for its credentials to be taken
    names:set(NAME, links[3].hosts)
    wait.eventually(function() return other:state() == "connected" end, PATIENCE, "a link")
    wait.eventually(function() return other:is_held(path) or other:stats().lost == 1 end, PATIENCE, "what became of it")
    links[3]:black_hole("to_client") -- so that bad news is late
    links[2]:heal()
    local began = wait.now()
    wait.eventually(function()
      direct:poll(0.02)
      assert.is_true(not next_token or not other:is_held(path), "two sure holders")
      return next_token or wait.now() > began + SESSION
    end, PATIENCE)
    request:cancel()
  end)
end)
