-- SPDX-License-Identifier: MIT
--- The log lines about a session, for people who look after the machine.

local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE

describe("the log #once", function()
  local client, link, lines, sources

  local function connect(hosts, options)
    lines, sources = {}, {}
    options.log = function(_, line, source)
      lines[#lines + 1] = line
      sources[source] = (sources[source] or 0) + 1
    end
    client = assert(zklock.connect(hosts, options))
    return client
  end

  local function says(pattern)
    return wait.eventually(function()
      client:poll(0.05)
      for _, line in ipairs(lines) do
        if line:find(pattern) then return true, line:match(pattern) end
      end
      return nil, table.concat(lines, "\n")
    end, PATIENCE, pattern)
  end

  local function count(pattern)
    local found = 0
    for _, line in ipairs(lines) do
      if line:find(pattern) then found = found + 1 end
    end
    return found
  end

  before_each(function() link = proxy.start(server.shared().hosts) end)

  after_each(function()
    client:close()
    link:close()
  end)

  it("says that the server closed the connection, and after how long there was one again", function()
    connect(link.hosts, {})
    link:hang_up()
    says("^suspended: the server closed the connection: 127%.0%.0%.1:%d+$")
    says("^connected again after %d+%.%d s$")
  end)

  it("says that a connection was reset", function()
    connect(link.hosts, {})
    link:desert()
    says("^suspended: connection reset by peer: 127%.0%.0%.1:%d+$")
    says("^connected again after %d+%.%d s$")
  end)

  it("says how long an expired session had no answer, and how many locks it held", function()
    connect(link.hosts, {})
    assert(client:mutex("/log/held"):acquire(PATIENCE))
    link:refuse()
    link:cut()
    wait.eventually(function() return client:state() == "suspended" end, PATIENCE)
    link:expire_session(client:session_id())
    link:heal()
    says("^session expired after %d+%.%d s without an answer; locks held: 1$")
    says("^connected again after %d+%.%d s$")
  end)

  it("warns when somebody ends a session whose validity is still above 0", function()
    connect(link.hosts, { session_timeout = 10 })
    local lock = client:mutex("/log/valid")
    assert(lock:acquire(PATIENCE))
    assert.is_true(lock:validity() > 5)
    link:expire_session(client:session_id())
    local _, seconds = says("^the session was valid for another (%d+%.%d) s: its timeout of 10 s is less than two ticks"
      .. " of the servers, or it was a local session %(localSessionsEnabled%) and has changed its server,"
      .. " or somebody has ended it$")
    assert.is_true(tonumber(seconds) > 0 and tonumber(seconds) < 10, seconds)
    assert.same({ nil, "lost" }, { lock:release() })
  end)

  it("says once that no server was reached for a session timeout", function()
    connect("127.0.0.1:1", { session_timeout = 1, connect_timeout = 0 })
    says("^no server was reached for 1 s: connection refused: 127%.0%.0%.1:1$")
  end)

  it("has only our lines of an outage, unless the level is debug", function()
    connect("127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", { session_timeout = 1, connect_timeout = 0 })
    says("^no server was reached for 1 s: ")
    assert.same({ zklock = 1 }, sources, table.concat(lines, "\n"))
    client:close()
    connect("127.0.0.1:1,127.0.0.1:2,127.0.0.1:3", { session_timeout = 1, connect_timeout = 0, log_level = "debug" })
    says("^no server was reached for 1 s: ")
    assert.is_true(sources.zookeeper > 1)
  end)

  it("says once in a minute that a connection breaks", function()
    local suspended, connected = 0, 0
    connect(link.hosts, { on_state = function(state)
      if state == "suspended" then suspended = suspended + 1 end
      if state == "connected" then connected = connected + 1 end
    end })
    for i = 1, 3 do
      wait.eventually(function()
        client:poll(0.05)
        return connected == i
      end, PATIENCE)
      link:cut()
      wait.eventually(function()
        client:poll(0.05)
        return suspended == i
      end, PATIENCE)
    end
    assert.equal(1, count("^suspended: "))
    assert.is_true(count("^connected again") <= 1)
  end)

  it("never has the session's id, which is as good as its password", function()
    connect(link.hosts, {})
    local id = client:session_id():sub(3)
    link:cut()
    says("^connected again after")
    for _, line in ipairs(lines) do
      if not line:find("ZOO_", 1, true) then assert.is_nil(line:find(id, 1, true), line) end
    end
  end)

  it("is told by name why a list of servers with spaces is refused", function()
    connect(link.hosts, {})
    for _, hosts in ipairs { "zk1:2181, zk2:2181", "zk1:2181 zk2:2181" } do
      local ok, err = pcall(zklock.connect, hosts)
      assert.is_false(ok)
      assert.truthy(err:find("bad argument 'hosts': commas without white space expected between servers, got '"
        .. hosts, 1, true), err)
    end
  end)
end)
