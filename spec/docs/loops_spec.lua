-- SPDX-License-Identifier: MIT
--- The blocks of docs/loops.md, and examples/loops, do what they say.

local file = require "spec.support.file"
local inspector = require "spec.support.inspector"
local queue = require "spec.support.queue"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
require "spec.support.real_loops" -- for where Debian has Copas

describe("the page on event loops", function()
  local zk, tree, env

  setup(function()
    zk = server.shared()
    tree = inspector.connect(zk.hosts)
    env = { ZOOKEEPER = zk.hosts, LUA_PATH = package.path }
  end)

  teardown(function()
    tree:delete_tree("/shop")
    tree:close()
  end)

  local function run(script)
    local child = wait.spawn_lua(script, {}, { env = env })
    local code, signal = child:wait()
    assert.same({ code = 0, signal = 0, stderr = "" }, { code = code, signal = signal, stderr = child:stderr() })
    return child:stdout()
  end

  it("shows the examples", function()
    local text, shown = file.read("docs/loops.md"), {}
    for block in text:gmatch("```lua\n(.-)```") do shown[#shown + 1] = block end
    assert.equal(2, #shown)
    for i, name in ipairs { "in_cqueues", "in_select" } do
      assert.equal(file.shown("examples/loops/" .. name .. ".lua"), shown[i])
    end
  end)

  for _, name in ipairs { "cqueues", "luv", "copas", "select" } do
    it("has an example for " .. name .. " that runs, ends, and leaves no node behind", function()
      assert.matches("^mine, with token %d+\n$", run("examples/loops/in_" .. name .. ".lua"))
      queue.at(tree, "/shop/stock"):becomes(0)
    end)
  end

  it("has an adapter of six lines", function()
    local said = run("examples/loops/six_lines.lua")
    local names = {}
    for name in said:gmatch("(%d) has it, with token %d+\n") do names[#names + 1] = name end
    table.sort(names)
    assert.same({ "1", "2", "3" }, names)
    local adapter = file.read("examples/loops/six_lines.lua"):match("\n(local adapter.-\n)\n")
    assert.equal(6, select(2, adapter:gsub("\n", "")))
    queue.at(tree, "/shop/stock"):becomes(0)
  end)

  it("has a loop of one's own, whose coroutines take turns", function()
    local said = run("examples/loops/own_loop.lua")
    assert.equal("1 has it\n2 has it\n3 has it\n", (said:gsub(", with token %d+", "")))
    queue.at(tree, "/shop/stock"):becomes(0)
  end)

  it("has a job that runs in one of two processes, and in the other when that one loses its lock", function()
    local line = queue.at(tree, "/shop/job")
    local children = {}
    for i = 1, 2 do children[i] = wait.spawn_lua("examples/loops/job.lua", {}, { env = env }) end
    line:becomes(2)
    local function runs_of(child)
      local runs, session, last = 0, nil, nil
      for token, id in child:stdout():gmatch("(%d+) (0x%x+)\n") do
        runs, session, last = runs + 1, id, tonumber(token)
      end
      return runs, session, last
    end
    local function working(least)
      local at
      wait.eventually(function()
        for i, child in ipairs(children) do
          local runs, _, token = runs_of(child)
          if runs > 0 and token > least then at = i end
        end
        return at
      end)
      return at
    end
    local first = working(0)
    local _, session, token = runs_of(children[first])
    assert.equal(0, (runs_of(children[3 - first])))
    tree:delete("/shop/job/" .. line:names()[1])
    assert.equal(3 - first, working(token))
    local _, second = runs_of(children[3 - first])
    assert.not_equal(session, second)
    for _, child in ipairs(children) do
      assert.is_true(child:is_running(), child:stderr())
      child:kill()
    end
  end)
end)
