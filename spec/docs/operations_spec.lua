-- SPDX-License-Identifier: MIT
--- The blocks of docs/operations.md, run in order as one program against a server that is stopped meanwhile.

local fixture = require "spec.support.fixture"
local markdown = require "spec.support.markdown"
local server = require "spec.support.server"
local socket = require "socket"

local page = markdown.read("docs/operations.md")

describe("docs/operations.md", function()
  local zk
  local here = fixture.new("/operations", { server = function()
    zk = server.start()
    return zk
  end })

  before_each(function()
    if not zk.process:is_running() then zk:start() end
  end)

  teardown(function() zk:stop() end)

  local seconds -- that an acquire waits, instead of two: a busy machine may need more
  before_each(function() seconds = here.patience end)

  --- Runs the blocks. Returns their client, their functions, and the warnings.
  local function run()
    local program = { "local LOG, SECONDS = ... " }
    for _, block in ipairs(page:below("When ZooKeeper is down")) do program[#program + 1] = block.text end
    program[#program + 1] = "return { client = client, sell_closed = sell_closed, fill_open = fill_open }"
    local text, count = table.concat(program):gsub("127%.0%.0%.1:2181", zk.hosts)
    assert.equal(1, count)
    text = text:gsub("io%.stderr:write(%b())", "LOG%1"):gsub("acquire%(2%)", "acquire(SECONDS())")
    local logged, compile = {}, loadstring or load -- luacheck: ignore 113
    local function log(...) logged[#logged + 1] = table.concat { ... } end
    local shown = assert(compile(text, "=docs/operations.md"))(log, function() return seconds end)
    return here:closes(shown.client, nil, "client"), shown, logged
  end

  it("fails closed and open while the server is stopped, and works again behind that", function()
    local client, shown, logged = run()
    local calls = 0
    local function work(token)
      calls = calls + 1
      return token and "sold" or "filled"
    end
    assert.same({ true, "sold" }, { shown.sell_closed(work) })
    assert.same({ true, "filled" }, { shown.fill_open(work) })
    assert.equal(2, calls)

    zk:kill()
    here:eventually(function() return client:state() == "suspended" end, "the client's notice")
    seconds = 0.2
    local ok, why
    here:eventually(function()
      ok, why = shown.sell_closed(work)
      return ok or why:find("connection refused", 1, true), why
    end, "a try to connect")
    assert.is_false(ok)
    assert.equal(2, calls)
    assert.same({ false, "no fill" }, { shown.fill_open(function() error("no fill", 0) end) })
    assert.same({ true, "filled" }, { shown.fill_open(work) })
    assert.equal(3, calls)

    zk:start()
    seconds = here.patience
    here:eventually(function() return client:state() == "connected" end, "the client's return")
    assert.same({ true, "sold" }, { shown.sell_closed(work) })
    assert.same({ true, "filled" }, { shown.fill_open(work) })
    here:eventually(function() return table.concat(logged, "\n"):find("connected again", 1, true) end, "a warning")
  end)

  it("keeps a caller out of a cache that another process fills, also while it fails open", function()
    local _, shown = run()
    assert(here:connect():mutex("/shop/cache"):acquire(here.patience))
    seconds = 1
    assert.same({ false, "timeout" }, { shown.fill_open(function() error("nobody calls this") end) })
  end)

  it("reports the error of the work, and gives the lock back", function()
    local client, shown = run()
    for _, name in ipairs { "sell_closed", "fill_open" } do
      local ok, err = shown[name](function() error("no work", 0) end)
      assert.same({ false, "no work" }, { ok, err })
    end
    assert.equal(0, client:stats().held)
  end)

  it("names rows of mntr and counters that exist", function()
    local stats = here:connect():stats()
    local rows = zk:mntr()
    local of_leaders = { synced_followers = true }
    local section, count = nil, { rows = 0, counters = 0 }
    for _, line in ipairs(page.lines) do
      section = line:match("^##+ (.*)$") or section
      if section == "The servers" then
        for name in (line:match("^| (`[^|]+) |") or ""):gmatch("`zk_([%l_]+)`") do
          count.rows = count.rows + 1
          assert.is_true(rows[name] ~= nil or of_leaders[name], name .. " is no row of mntr")
        end
      elseif section == "The clients" then
        for name in line:gmatch("`([%l_]+)`") do
          count.counters = count.counters + 1
          assert.is_number(stats[name], name .. " is not in client:stats()")
        end
      end
    end
    assert.is_true(count.rows > 8 and count.counters > 4)
  end)

  it("asks a server as the page does", function()
    local word, host = page:below("The servers")[1].text:match("^echo (%l+) | nc (%S+) 2181\n$")
    local link = assert(socket.connect(host, zk.port))
    link:send(word .. "\n")
    assert.is_truthy(link:receive("*a"):find("zk_server_state", 1, true))
    link:close()
  end)
end)
