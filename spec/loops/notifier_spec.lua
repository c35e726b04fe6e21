-- SPDX-License-Identifier: MIT
--- client:notifier, for loops that watch no descriptors, with an adapter over LuaSocket's Unix sockets.

local blocking = require "zklock.loop.blocking"
local fixture = require "spec.support.fixture"
local lfs = require "lfs"
local script = require "spec.support.script"
local socket = require "socket"
local wait = require "spec.support.wait"
local unix = require "socket.unix"

describe("a client's notifier #once", function()
  local here = fixture.new("/notifier")

  local function connect_to(notifier)
    local link = unix.stream and unix.stream() or unix()
    assert(link:connect(notifier:path()))
    return link
  end

  it("is a socket that only we can reach, and that is gone once we have", function()
    local notifier = assert(here:connect():notifier())
    local path = notifier:path()
    assert.equal("socket", lfs.attributes(path, "mode"))
    assert.equal("rwx------", lfs.attributes(path:match("^(.*)/"), "permissions"))
    local link = connect_to(notifier)
    assert.is_true(notifier:answer())
    assert.is_nil(lfs.attributes(path:match("^(.*)/")))
    link:close()
    notifier:drop()
    assert.has_error(function() notifier:path() end)
    notifier:drop()
  end)

  it("refuses another process of ours", function()
    local notifier = assert(here:connect():notifier())
    local child = script.spawn([[
      local unix = require "socket.unix"
      local link = unix.stream and unix.stream() or unix()
      assert(link:connect(arg[1]))
      print "connected"
      io.flush()
      io.read()
    ]], { notifier:path() })
    assert.equal("connected", (child:read_line(here.patience)))
    local ok, why = notifier:answer()
    assert.is_nil(ok)
    assert.is_string(why)
    child:kill()
  end)

  it("gets a byte for news, and the end of the stream when it is dropped", function()
    local client, other = here:connect(), here:second_process()
    local notifier = assert(client:notifier())
    local link = connect_to(notifier)
    assert(notifier:answer())
    client:poll()
    link:settimeout(0)
    while link:receive(1) do client:poll() end
    assert(other:acquire(here.path, here.patience))
    local told
    client:mutex(here.path):request(here.patience, function(token) told = token end)
    here:becomes(2)
    assert(other:release(here.path))
    link:settimeout(here.patience)
    while not told do
      assert.equal("!", (link:receive(1)))
      client:poll()
    end
    notifier:drop()
    link:settimeout(here.patience)
    local data, err
    repeat data, err = link:receive(1) until not data
    assert.equal("closed", err)
    link:close()
  end)

  it("goes on when the one that it has replaced is dropped", function()
    local client = here:connect()
    local former = assert(client:notifier())
    local former_link = connect_to(former)
    assert(former:answer())
    local notifier = assert(client:notifier())
    local link = connect_to(notifier)
    assert(notifier:answer())
    former:drop()
    client:poll()
    link:settimeout(0)
    while link:receive(1) do client:poll() end
    client:spawn(function() end)
    link:settimeout(here.patience)
    assert.equal("!", (link:receive(1)))
    notifier:drop()
    former_link:close()
    link:close()
  end)

  it("wakes those who wait in a loop that has no other descriptor", function()
    local link, ready, waiting = nil, nil, {}
    local adapter = { name = "by name" }
    function adapter.wait(client, waiter)
      if not coroutine.isyieldable() then return blocking.wait(client, waiter) end
      waiter.thread = coroutine.running()
      waiting[waiter] = true
      coroutine.yield()
    end
    local due = {}
    function adapter.wake(waiter)
      if waiting[waiter] then due[#due + 1] = waiter.thread end
      waiting[waiter] = nil
    end
    function adapter.watch(client, take)
      local notifier = assert(client:notifier())
      link, ready = connect_to(notifier), take
      assert(notifier:answer())
      return function() notifier:drop() end
    end
    local client, other = here:connect { loop = adapter }, here:second_process()
    assert(other:acquire(here.path, here.patience))
    local token
    local thread = coroutine.create(function() token = client:mutex(here.path):acquire(here.patience) end)
    assert(coroutine.resume(thread))
    here:becomes(2)
    assert(other:release(here.path))
    wait.eventually(function()
      if socket.select({ link }, nil, 0.01)[1] then
        assert(link:receive(1))
        ready()
      end
      for i = 1, #due do assert(coroutine.resume(due[i])) end
      due = {}
      return token
    end)
    client:close()
    assert.same({ nil, "closed" }, { client:notifier() })
    link:close()
  end)
end)
