-- SPDX-License-Identifier: MIT
--- A session moves from one handle of the library to another, in a process that has connections of its own to the same
--- server: those are nobody's business.

local fixture = require "spec.support.fixture"
local resolver = require "spec.support.resolver"
local wait = require "spec.support.wait"

local NAME = "zk.test"
local PATIENCE = wait.PATIENCE

describe("a session that moves to another handle #once", function()
  local here = fixture.new("/parting")
  local links, names, host

  before_each(function()
    links = { here:proxy(), here:proxy() }
    names = resolver.new()
    names:set(NAME, links[1].hosts)
    host = here:worker { env = names.env }
    assert.is_true(host:connect(NAME .. ":2181", { connect_timeout = PATIENCE }))
  end)

  --- A library that opens its sockets without CLOEXEC, as LuaSocket does.
  local function connect_another()
    assert.is_true(host:eval([[
      foreign = assert(require "socket".connect("127.0.0.1", ...))
      foreign:settimeout(0)
      return true
    ]], tonumber(links[1].hosts:match(":(%d+)$"))))
  end

  local function other_is() return host:eval [[return select(2, foreign:receive(1))]] end

  it("leaves other connections of the process to its servers alone", function()
    links[1]:black_hole() -- new links are accepted, and the library's next one waits for an answer
    links[1]:cut()
    connect_another()
    wait.eventually(function() return links[1]:links() == 2 end, PATIENCE, "the library's next link")
    names:set(NAME, links[2].hosts)
    wait.eventually(function() return host:state() == "connected" and #links[2]:sessions() > 0 end, PATIENCE, "a link")
    wait.eventually(function() return links[1]:links() <= 1 end, PATIENCE, "the end of the library's former link")
    assert.equal("timeout", other_is())
  end)
end)
