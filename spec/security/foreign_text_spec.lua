-- SPDX-License-Identifier: MIT
--- Text that others have written does nothing but be read, where people read it.

local check = require "zklock.base.check"
local hidden = require "spec.support.hidden"
local metrics = require "zklock.metrics"
local server = require "spec.support.server"
local text = require "zklock.base.text"
local zklock = require "zklock"

local FORGED = "/shop/x\r\n2026/11/22 [error] forged\27[2J\155\127\226\128\174gpj.exe\194\155\0"

--- Nothing in it moves a cursor, ends a line or turns the direction of writing.
local function is_plain(message)
  for _, bad in ipairs { "[%z\1-\31\127]", "\226\128[\142\143\168-\174]", "\226\129[\166-\175]", "\216\156",
    "\194[\128-\159]", "\239\187\191" } do
    assert.is_nil(message:find(bad), (("%q"):format(message)))
  end
end

describe("foreign text", function()
  it("is shown as it is where it is plain, in any script", function()
    for _, plain in ipairs { "", "/shop/item-42", "d\195\164mmern", "\224\174\164\224\174\174", "\240\159\142\137",
      "\215\169\215\156", "a b~" } do
      assert.equal(plain, text.shown(plain))
      assert.equal(plain, text.escape(plain))
    end
  end)

  it("is spelled as bytes where it would do something", function()
    for raw, spelled in pairs {
      ["\n"] = "\\x0a", ["\r"] = "\\x0d", ["\0"] = "\\x00", ["\127"] = "\\x7f", ["\27[31mred"] = "\\x1b[31mred",
      ["\226\128\174x"] = "\\xe2\\x80\\xaex", ["\226\129\166"] = "\\xe2\\x81\\xa6", ["\216\156"] = "\\xd8\\x9c",
      ["\194\155"] = "\\xc2\\x9b", ["\155"] = "\\x9b", ["\239\187\191"] = "\\xef\\xbb\\xbf",
      ["\243\160\129\129"] = "\\xf3\\xa0\\x81\\x81", -- a tag: it has no look at all
      ["\195"] = "\\xc3", ["\195\195\164"] = "\\xc3\195\164", ["\192\138"] = "\\xc0\\x8a", -- an overlong newline
      ["\224\128\138"] = "\\xe0\\x80\\x8a", ["\237\160\128"] = "\\xed\\xa0\\x80",
      ["\244\144\128\128"] = "\\xf4\\x90\\x80\\x80",
    } do
      assert.equal(spelled, text.shown(raw))
      assert.equal(spelled, text.escape(raw))
    end
  end)

  it("is spelled where nobody sees it", function()
    assert.equal(hidden.spelled, text.escape(hidden.raw))
    assert.equal(hidden.spelled, text.shown(hidden.raw, 1000))
  end)

  it("is spelled in labels of metrics, but for the newline, which Prometheus spells", function()
    local client = assert(zklock.connect(server.shared().hosts))
    assert(client:mutex("/foreign/label", { name = "a\226\128\139\27b\tc\n" }):with(60, function() end))
    local page = metrics.text(client)
    assert.truthy(page:find('{lock="a\\\\xe2\\\\x80\\\\x8b\\\\x1bb\tc\\n",result="acquired"} 1', 1, true), page)
    client:close()
  end)

  it("is cut at 100 bytes, between characters", function()
    assert.equal(("x"):rep(100), text.shown(("x"):rep(100)))
    assert.equal(("x"):rep(100) .. "...", text.shown(("x"):rep(101)))
    assert.equal("x" .. ("\195\164"):rep(49) .. "...", text.shown("x" .. ("\195\164"):rep(200)))
    assert.equal(("\\x1b"):rep(25) .. "...", text.shown(("\27"):rep(1000000)))
    assert.equal(1000, #text.escape(("x"):rep(1000)))
  end)

  it("of any bytes is plain afterwards", function()
    math.randomseed(20261122)
    for _ = 1, 2000 do
      local bytes = {}
      for i = 1, math.random(0, 40) do bytes[i] = string.char(math.random(0, 255)) end
      local raw = table.concat(bytes)
      is_plain(text.escape(raw))
      is_plain(text.shown(raw))
      assert.equal(text.escape(raw), text.escape(text.escape(raw))) -- it is plain by now
    end
  end)

  it("is plain in the message of every misuse that repeats it", function()
    local client = assert(zklock.connect(server.shared().hosts, { connect_timeout = 0 }))
    local bidi = "/shop/\226\128\174cod"
    assert(client:mutex(bidi):acquire(60)) -- what is in use keeps its options
    local calls = {
      function() client:mutex(FORGED) end,
      function() client:mutex("/a/" .. FORGED .. "x-lock-0000000000") end,
      function() client:mutex("/\226\128\174x-lock-0000000000") end,
      function() client:rwlock(bidi) end, -- in use as a mutex
      function() client:mutex(bidi, { max_hold = 7 }) end,
      function() client:multilock { bidi, bidi } end,
      function() client:multilock { bidi, bidi .. "/below" } end,
      function() client:mutex("/a", { [FORGED] = 1 }) end,
      function() zklock.connect("127.0.0.1:1", { [FORGED] = 1 }) end,
      function() zklock.connect("127.0.0.1:1", { acl = FORGED }) end,
      function() zklock.connect("127.0.0.1:1", { loop = FORGED }) end,
      function() zklock.connect("127.0.0.1:\27[2J") end,
      function() zklock.connect("a\226\128\174\n b:1") end,
      function() zklock.connect("127.0.0.1:1/a\27//b") end,
    }
    for i, call in ipairs(calls) do
      local ok, message = pcall(call)
      assert.is_false(ok, i)
      is_plain(message)
      assert.is_true(#message < 400, message)
      assert.is_truthy(message:find("\\x", 1, true) or message:find("NUL", 1, true), message)
    end
    for _, object in ipairs { client:mutex(bidi), client:rwlock(bidi .. "2"), client:semaphore(bidi .. "3", 1),
      client:multilock { bidi .. "4", bidi .. "5" } } do
      is_plain(tostring(object))
    end
    assert.equal(bidi, client:mutex(bidi):path()) -- what is asked for is what was said
    client:close()
  end)

  it("is raw in what participants tells: bytes are for programs", function()
    local client = assert(zklock.connect(server.shared().hosts, { identifier = "me\27[2J\n" }))
    local lock = client:mutex("/foreign/raw")
    assert(lock:acquire(60))
    assert.equal("me\27[2J\n", lock:participants(60)[1].identifier)
    client:close()
  end)

  it("does not make the checks themselves fail", function()
    for _, value in ipairs { FORGED, "\0", ("\27"):rep(100000) } do
      assert.is_false((pcall(check.path, value, "path")))
    end
  end)
end)
