-- SPDX-License-Identifier: MIT
--- tools/timing.lua: what it refuses in a spec, and what it lets pass.

local folder = require "spec.support.folder"
local process = require "spec.support.process"

local BOUND, SLEEP, PORT = "a time that has passed has an upper bound", "a sleep waits", "a port is drawn"

describe("tools/timing.lua #once", function()
  --- Its output for a spec with these lines, and its exit status.
  local function check(...)
    local specs = folder.new("specs")
    local file = assert(io.open(specs .. "/planted_spec.lua", "w"))
    assert(file:write(table.concat({ ... }, "\n"), "\n"))
    file:close()
    local one = process.spawn { env = process.PLAIN_LUA, "lua5.4", "tools/timing.lua", specs }
    local code = one:wait()
    return one:stdout() .. one:stderr(), code
  end

  local function refuses(what, ...)
    for _, line in ipairs { ... } do
      local said, code = check("local began = wait.now()", line)
      assert.equal(1, code, line)
      assert.truthy(said:find("planted_spec.lua:2: " .. what, 1, true), line .. "\n" .. said)
    end
  end

  it("refuses an upper bound on a time that has passed", function()
    refuses(BOUND, "assert.is_true(wait.now() - began < 2)", "assert.is_true(2 >= wait.now() - began)",
      "assert.is_true((uv.hrtime() - began) / 1e9 <= MOST)", "assert(ready and os.clock() - began < 0.05, 'late')",
      "assert.is_true(math.abs(os.time() - began) < 60)")
    for _, clock in ipairs { "wait.now()", "os.clock()", "socket.gettime()" } do
      local said, code = check("local took = " .. clock .. " - began", "assert.is_true(took >= 1 and took < 9)")
      assert.equal(1, code, clock)
      assert.truthy(said:find("planted_spec.lua:2: " .. BOUND, 1, true), said)
    end
  end)

  it("refuses a sleep that does not say what it times", function()
    refuses(SLEEP, "socket.sleep(0.1)", "uv.sleep(100)", "wait.rest(2 * SESSION)", "os.execute 'sleep 0.2'",
      "loop.poll(function() end, 1.5)", "wait.eventually(function() return wait.now() - began > 3 end)",
      "repeat client:poll() until wait.now() - began > 0.5", "location / { content_by_lua_block { ngx.sleep(0.5) } }")
  end)

  it("refuses to draw a port", function()
    refuses(PORT, 'local listener = socket.bind("127.0.0.1", 0)', 'door:bind("127.0.0.1", 0, 64)')
  end)

  it("lets lower bounds, two moments and rates pass, steps of a loop, and sleeps with a reason", function()
    local said, code = check("local took, since = wait.now() - began, os.time() - 1",
      "assert.is_true(wait.now() - began >= 0.1 and took > SESSION)",
      "assert.is_true(stat.created >= since and stat.created <= os.time() + 1)",
      "assert.is_true(turns <= 20 + 2000 * (wait.now() - began))",
      "local each_second = (naps() - before) / (wait.now() - began)", "assert.is_true(each_second < 60)",
      "repeat socket.sleep(0.005) until held() or wait.now() > deadline",
      "while not told do ngx.sleep(0.01) end", "ngx.sleep(0)", "ngx.sleep(30)", "wait.rest(2) -- a rate is measured",
      'local listener = socket.bind("127.0.0.1", port.free(), 64)')
    assert.equal(0, code, said)
    assert.equal("", said)
  end)

  it("refuses a folder without specs, and passes over spec/support", function()
    local root = folder.new("empty")
    assert(require "lfs".mkdir(root .. "/support"))
    local file = assert(io.open(root .. "/support/wait.lua", "w"))
    file:write "socket.sleep(1)\n"
    file:close()
    local one = process.spawn { env = process.PLAIN_LUA, "lua5.4", "tools/timing.lua", root }
    assert.equal(1, (one:wait()))
    assert.equal(root .. ": no specs\n", one:stdout())
  end)
end)
