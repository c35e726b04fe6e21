-- SPDX-License-Identifier: MIT
--- `log_level`: which lines the function of `log` gets; and the trace, a line for each change of a state.

local proxy = require "spec.support.proxy"
local read = require("spec.support.file").read
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local PATIENCE = wait.PATIENCE
local PAGE = "docs/internals/tracing.md"

describe("the trace #once", function()
  local client, link, lines

  --- A client whose trace is kept; `hear(level, line)` is called for each line besides.
  local function connect(hosts, options, hear)
    lines = {}
    options.session_timeout = 4
    options.log_level = options.log_level or "debug"
    options.log = function(level, line)
      lines[#lines + 1] = { level = level, text = line }
      if hear then hear(level, line) end
    end
    client = assert(zklock.connect(hosts, options))
    return client
  end

  --- How many of its lines match; only those of a level, if one is given.
  local function count(pattern, level)
    local found = 0
    for _, line in ipairs(lines) do
      if line.text:find(pattern) and (not level or line.level == level) then found = found + 1 end
    end
    return found
  end

  local function says(pattern, times)
    wait.eventually(function()
      client:poll(0.05)
      return count(pattern) >= (times or 1)
    end, PATIENCE)
  end

  --- The text of the page's n-th block.
  local function block(n)
    local found = 0
    for body in read(PAGE):gmatch("\n```text\n(.-)\n```") do
      found = found + 1
      if found == n then return body end
    end
  end

  --- Without what differs from run to run: the version, moments, names of nodes, tokens, ports.
  local function plain(text)
    return (text:gsub("zklock %d+%.%d+%.%d+", "zklock VERSION"):gsub("%d+%.%d+ ", "T ")
      :gsub("_c_[%x-]+%-lock%-%d+", "NODE"):gsub("token %d+", "token N")
      :gsub("127%.0%.0%.1:%d+", "SERVER"):gsub(" %d+%.%d s", " N s"):gsub("suspended: [^\n]*", "suspended: REASON"))
  end

  --- The lines so far, as the page shows them.
  local function shown(is_kept)
    local list = {}
    for _, line in ipairs(lines) do
      if not line.text:find("ZOO_", 1, true) and (not is_kept or is_kept(line.text)) then
        list[#list + 1] = ("%-5s  %s"):format(line.level, line.text)
      end
    end
    return table.concat(list, "\n")
  end

  before_each(function() link = proxy.start(server.shared().hosts) end)

  after_each(function()
    if client then client:close() end
    client = nil
    link:close()
  end)

  it("of an acquire and a release reads as " .. PAGE .. " shows", function()
    connect(server.shared().hosts .. "/trace-" .. link.port, {})
    local lock = client:mutex("/shop/item-42")
    assert(lock:acquire(PATIENCE))
    assert(lock:release())
    says("-> OVER NONE")
    assert.equal(plain(block(1)), plain(shown()))
  end)

  it("of a session that expires reads as " .. PAGE .. " shows", function()
    connect(link.hosts .. "/trace-" .. link.port, {})
    assert(client:mutex("/shop/item-42"):acquire(PATIENCE))
    says("-> HELD THERE")
    lines = {}
    link:refuse()
    link:cut()
    wait.eventually(function() return client:state() == "suspended" end, PATIENCE)
    link:expire_session(client:session_id())
    link:heal()
    says("EXPIRED %-> CONNECTED")
    assert.equal(plain(block(2)), plain(shown(function(line)
      return not line:find("link of a session", 1, true) and not line:find("the session was valid", 1, true)
        and not line:find("watch on the own node", 1, true) and not line:find("lost: ", 1, true)
    end)))
  end)

  it("is told only at level debug, warnings only from level warn on", function()
    local path = "/trace/level_" .. link.port
    for _, level in ipairs { "warn", "error" } do
      connect(link.hosts, { log_level = level })
      assert(client:mutex(path):acquire(PATIENCE))
      link:cut()
      wait.eventually(function() return client:state() == "connected" end, PATIENCE)
      link:expire_session(client:session_id())
      says("^lost: " .. path .. " %(token %d+%)$")
      assert.equal(1, count("^lost: ", "error"))
      local said = shown()
      -- the watch on the own node may have told the loss before the session's end came
      assert.equal(1 + count("^session expired after .*; locks held: 1$", "error"), count(".", "error"), said)
      assert.equal(0, count(".", "debug"))
      assert.equal(level == "warn", count("^suspended: ", "warn") > 0)
      assert.equal(level == "warn", count(".", "warn") > 0)
      client:close()
    end
  end)

  it("comes in order, with the warnings in between #carried", function()
    connect(link.hosts, {})
    link:cut()
    says("^connected again")
    local order = {}
    for _, line in ipairs(lines) do
      order[#order + 1] = line.text:match("^(suspended): ") or line.text:match("^connected again")
        or line.text:match(" session: (CONNECTED %-> SUSPENDED)")
        or line.text:match(" session: (SUSPENDED %-> CONNECTED)")
    end
    assert.same({ "CONNECTED -> SUSPENDED", "suspended", "connected again", "SUSPENDED -> CONNECTED" }, order)
  end)

  it("never has the session's id or a credential", function()
    connect(link.hosts, { auth = { scheme = "digest", credential = "someone:hush-hush" } })
    local id = client:session_id():sub(3)
    assert(client:mutex("/trace/secret-" .. link.port):acquire(PATIENCE))
    link:cut()
    says("^connected again")
    for _, line in ipairs(lines) do
      if not line.text:find("ZOO_", 1, true) then assert.is_nil(line.text:find(id, 1, true), line.text) end
      assert.is_nil(line.text:find("hush", 1, true), line.text)
    end
  end)

  it("shows what would move the cursor in a path as bytes", function()
    connect(link.hosts, {})
    assert(client:mutex("/trace/\226\128\174gnp.exe"):acquire(PATIENCE))
    says([[^%d+%.%d+ contender %d+: .* /trace/\xe2\x80\xaegnp%.exe/_c_]])
  end)

  it("says how many lines are missing when nobody has polled", function()
    connect(link.hosts, {})
    says("session: CONNECTING %-> CONNECTED")
    lines = {}
    local lock = client:mutex("/trace/flood", { fair = false })
    for _ = 1, 3000 do
      assert(lock:acquire(PATIENCE))
      assert(lock:release())
    end
    says("caller %d+: HELD %-> OVER", 500)
    local missing = 0
    repeat
      local before = #lines
      client:poll(0.1)
    until #lines == before
    for _, line in ipairs(lines) do missing = missing + (tonumber(line.text:match("^(%d+) lines are missing")) or 0) end
    assert.is_true(missing > 1000, tostring(missing))
    assert.is_true(missing + #lines > 6000, tostring(#lines))
    assert.matches("caller %d+: HELD %-> OVER %(released%) /trace/flood$", lines[#lines].text)
  end)

  it("goes on after an error in the function", function()
    local errors = {}
    local fail = true
    connect(link.hosts, { on_error = function(message) errors[#errors + 1] = message end }, function()
      if fail then
        fail = false
        error("the first line")
      end
    end)
    says("session: CONNECTING %-> CONNECTED")
    assert.equal(1, #errors)
    assert.matches("the first line", errors[1])
  end)

  it("is bounded when the function itself takes locks", function()
    local depth, deepest = 0, 0
    connect(link.hosts, {}, function()
      if not client then return end
      depth = depth + 1
      deepest = math.max(deepest, depth)
      client:mutex("/trace/inside"):acquire(0)
      client:poll(0)
      depth = depth - 1
    end)
    assert(client:mutex("/trace/outside"):acquire(PATIENCE))
    for _ = 1, 5 do client:poll(0.01) end
    assert.equal(1, deepest)
  end)

  it("needs a function in log", function()
    for _, log in ipairs { false, "none" } do
      local ok, err = pcall(zklock.connect, "127.0.0.1:1", { log_level = "debug", log = log == false and false or nil })
      assert.is_false(ok)
      assert.matches("bad argument 'options.log_level': only valid with a function in options.log", err)
    end
  end)
end)
