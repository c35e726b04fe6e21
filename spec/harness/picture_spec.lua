-- SPDX-License-Identifier: MIT
--- tools/picture.lua, with a few lines of a terminal.

local file = require "spec.support.file"
local process = require "spec.support.process"

describe("tools/picture.lua #once", function()
  local function draw(shown, title)
    local one = process.spawn { "lua5.4", "tools/picture.lua", title or "a title", env = process.PLAIN }
    one:write(shown)
    one:close_input()
    local code = one:wait()
    return code, one:stdout(), one:stderr()
  end

  --- The letters, one text a line, and how many rectangles besides the paper.
  local function seen(shown)
    local code, svg, said = draw(shown)
    assert.equal(0, code, said)
    local texts = {}
    for text in svg:gmatch "<text[^>]*>([^<]*)</text>" do texts[#texts + 1] = text end
    return texts, select(2, svg:gsub("<rect ", "")) - 1, svg
  end

  it("draws each line, and of one that is drawn again the last state", function()
    assert.same({ "first", "at last" }, (seen "\n first\r\n\r\27[Kone\r\27[Ktwo\r\27[Kat last\n\n"))
  end)

  it("gives words that are far apart a place of their own", function()
    local texts, _, svg = seen "  a bit   on the right\n"
    assert.same({ "a bit", "on the right" }, texts)
    assert.is_truthy(svg:find(('x="%.1f"'):format(16 + 2 * 8.4), 1, true), svg)
    assert.is_truthy(svg:find(('x="%.1f"'):format(16 + 10 * 8.4), 1, true), svg)
  end)

  it("draws blocks and rules as rectangles", function()
    local texts, count = seen "██░ 1\n──\n"
    assert.same({ { "1" }, 3 }, { texts, count })
  end)

  it("keeps colours, and escapes what XML would take for its own", function()
    local texts, _, svg = seen "\27[1;31m<b>&\27[0m \27[1mbold\27[m plain\n"
    assert.same({ "&lt;b&gt;&amp;", "bold", "plain" }, texts)
    assert.equal(2, select(2, svg:gsub('font%-weight="bold"', "")))
    assert.is_truthy(select(2, draw("x\n", '<i>"')):find("<title>&lt;i&gt;&quot;</title>", 1, true))
  end)

  it("fails when nothing comes in", function()
    assert.not_equal(0, (draw "\n\n"))
  end)

  it("has drawn the picture of the README, in which nothing is oversold with the lock", function()
    local svg = file.read "docs/demo.svg"
    assert.matches('fill="#ff7b72"[^>]*>%d+</text>\n<text [^>]*fill="#7ee787"[^>]*>0</text>', svg)
    assert.is_truthy(file.read "README.md":find("](docs/demo.svg)", 1, true))
  end)

  it("has drawn the picture of zklock run, which waits for the holder that zklock who has shown", function()
    local svg = file.read "docs/images/run.svg"
    assert.matches(" lock holds db7:4242<", svg)
    assert.matches(">waiting for /deploy/shop: 2nd of 2, held by db7:4242, 7 s</text>\n</svg>", svg)
    assert.is_truthy(file.read "docs/cli.md":find("](images/run.svg)", 1, true))
  end)
end)
