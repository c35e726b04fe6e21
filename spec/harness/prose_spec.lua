-- SPDX-License-Identifier: MIT
--- tools/prose.lua, on pages of a few lines.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

describe("tools/prose.lua #once", function()
  local tree

  before_each(function() tree = folder.new("prose") end)
  after_each(function() folder.remove(tree) end)

  local function check(text)
    file.write(tree .. "/page.md", text)
    local one = process.spawn { cwd = tree, env = process.PLAIN, "lua5.4", require("luv").cwd() .. "/tools/prose.lua",
      "page.md" }
    local code = one:wait()
    return code, one:stdout() .. one:stderr()
  end

  local words = ("four "):rep(20)

  it("accepts lines of 100 columns and cells of 160", function()
    assert.same({ 0, "" }, { check(words:sub(1, 99) .. "é\n| " .. ("é"):rep(160) .. " | x |\n") })
  end)

  it("refuses a line of 101 columns, and says which", function()
    assert.same({ 1, "page.md:2: a line must have at most 100 columns, it has 101\n" },
      { check("short\n" .. words .. "x\n") })
  end)

  it("refuses a cell of 161 columns, and says which", function()
    assert.same({ 1, "page.md:1: a cell must have at most 160 columns, it has 161\n" },
      { check("| x | " .. ("x"):rep(161) .. " |\n") })
  end)

  it("looks at the lines after a block", function()
    assert.same({ 0, "" }, { check("```sh\n" .. words .. "x\n```\n") })
    assert.equal(1, (check("```sh\n```\n" .. words .. "x\n")))
  end)

  it("accepts a line that is one word, one link or one picture", function()
    local link = "[" .. words .. "](page.md)"
    assert.same({ 0, "" }, { check(("x"):rep(101) .. "\n" .. link .. "\n- " .. link .. "\n!" .. link .. "\n") })
    assert.equal(1, (check("See " .. link .. "\n")))
  end)
end)
