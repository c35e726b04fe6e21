-- SPDX-License-Identifier: MIT
--- tools/sentences.lua, on files of a few lines.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

describe("tools/sentences.lua #once", function()
  local tree

  before_each(function() tree = folder.new("sentences") end)
  after_each(function() folder.remove(tree) end)

  local function check(name, text)
    file.write(tree .. "/" .. name, text)
    local one = process.spawn { cwd = tree, env = process.PLAIN, "lua5.4",
      require("luv").cwd() .. "/tools/sentences.lua", name }
    local code = one:wait()
    return code, one:stdout() .. one:stderr()
  end

  local function refuses(name, place, text)
    assert.same({ 1, ("%s:%d: a sentence begins with What\n"):format(name, place) }, { check(name, text) })
  end

  it("refuses the beginning of a comment", function()
    refuses("a.c", 2, "int a;\n/* What a is. */\n")
    refuses("a.h", 2, "/* SPDX-License-Identifier: MIT */\n/* What a is. */\n")
    refuses("a.lua", 2, "-- SPDX-License-Identifier: MIT\n--- What a is.\n")
    refuses("a.sh", 1, "# What a is.\n")
    refuses("Makefile", 1, "# What a is.\n")
  end)

  it("refuses the beginning of a later sentence, and says in which line", function()
    refuses("a.c", 2, "/* One is\n * long. What is two. */\n")
    refuses("a.lua", 2, "-- One ends here.\n-- What is two.\n")
    refuses("a.md", 4, "One.\n\n- Two.\n- What is three.\n")
    refuses("a.md", 3, "| a | b |\n| --- | --- |\n| one | What is two. |\n")
  end)

  it("accepts questions, titles, quotes, blocks, code, and the middle of a sentence", function()
    assert.same({ 0, "" }, { check("a.md", "# What it is\n\nWhat is it? He says: \"What is it.\" Ask for\n" ..
      "What `What it is.`\n```\nWhat it is.\n```\nOne.\n") })
    assert.same({ 0, "" }, { check("a.lua", "-- The name of\n-- What: a thing.\nprint 'a. What is b.'\n") })
    assert.same({ 0, "" }, { check("a.c", "char *s = \"a. What is b.\"; /* it says\n * What */\n") })
  end)

  it("refuses Who and Whom, too", function()
    assert.same({ 1, "a.md:1: a sentence begins with Who\na.md:1: a sentence begins with Whom\n" },
      { check("a.md", "Who waits. Whom it waits for.\n") })
  end)
end)
