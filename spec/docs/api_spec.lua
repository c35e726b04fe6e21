-- SPDX-License-Identifier: MIT
--- The examples of the pages that docs/api.md lists, run in order as one program.

local file = require "spec.support.file"
local fixture = require "spec.support.fixture"

local PAGES = { "docs/api-clients.md", "docs/api-locks.md", "docs/api-jobs-nodes.md" }

--- The names that the pages' examples take for granted.
local BEFORE = [[
local zklock = require "zklock"
local client = assert(zklock.connect("127.0.0.1:2181"))
local lock = client:mutex("/shop/stock")
local pool = client:semaphore("/shop/printers", 3)
assert(client:create("/shop/orders/next", "17", { parents = true }, 5))
]]

describe("the reference", function()
  local here = fixture.new("/shop")

  it("has examples that run, and that leave no lock held", function()
    local program, count = { BEFORE }, 0
    for _, page in ipairs(PAGES) do
      for block in file.read(page):gmatch("\n```lua\n(.-)\n```") do
        program[#program + 1], count = "do\n" .. block .. "\nend\n", count + 1
      end
    end
    program[#program + 1] = "local stats = client:stats()\nclient:close()\nreturn stats"
    assert.equal(14, count)
    local text = table.concat(program):gsub("127%.0%.0%.1:2181", here.zk.hosts)
    local printed, print_before = {}, print
    rawset(_G, "print", function(line) printed[#printed + 1] = line end)
    local ok, stats = pcall(assert((loadstring or load)(text, "=docs/api"))) -- luacheck: ignore 113
    rawset(_G, "print", print_before)
    assert.is_true(ok, stats)
    assert.same({ "a step of two seconds is safe", "the next order is 18" }, printed)
    assert.equal(0, stats.held)
    assert.equal(stats.acquired, stats.released)
    assert.equal("to be paid", (here.tree:get("/shop/orders/17")))
  end)
end)
