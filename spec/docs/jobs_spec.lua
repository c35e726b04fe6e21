-- SPDX-License-Identifier: MIT
--- The blocks of docs/jobs.md, each run as somebody would who pastes it.

local fixture = require "spec.support.fixture"
local markdown = require "spec.support.markdown"
local wait = require "spec.support.wait"

local page = markdown.read("docs/jobs.md")

describe("the page of jobs #once", function()
  local here = fixture.new("/jobs")

  before_each(function() here.tree:delete_tree("/jobs") end)

  --- Its session has so many seconds, else 10.
  local function program(title, session)
    local block = page:below(title)[1]
    assert.equal("lua", block.language)
    local connected = ('"%s", { session_timeout = %d }'):format(here.zk.hosts, session or 10)
    return (block.text:gsub('"127%.0%.0%.1:2181"', connected))
  end

  local function run(text, ...)
    local child = wait.spawn_lua(text, { ... })
    here:afterwards(function() child:kill() end)
    return child
  end

  local function start(title, ...) return run(program(title), ...) end

  local function finish(child)
    local code, signal = child:wait()
    assert.same({ 0, 0, "" }, { code, signal, child:stderr() })
    return child:stdout()
  end

  it("runs a feed on one machine, and another one takes over", function()
    local feed = "One machine at a time"
    local first = run(program(feed, 2)) -- that the servers soon give up
    assert.matches("^begins with token %d+$", (first:read_line()))
    local second = start(feed, "1000")
    here:becomes(2, "/jobs/feed")
    first:signal("kill")
    assert.matches("^begins with token %d+$", (second:read_line()))
    second:kill()
    here.tree:delete_tree("/jobs")
    assert.matches("^begins with token %d+\nends: stopped\n$", finish(start(feed, "1")))
  end)

  it("runs a summary once in five minutes", function()
    local title = "Every five minutes, on whichever machine"
    assert.matches("^a summary with token %d+\n$", finish(start(title, "1")))
    assert.equal("", finish(start(title, "1")))
  end)

  it("runs a report once an hour", function()
    local title = "Once an hour, on whichever machine"
    assert.matches("^written with token %d+\n$", finish(start(title)))
    assert.matches("^another machine did it; next time in 3%d%d%d s at most\n$", finish(start(title)))
  end)
end)
