-- SPDX-License-Identifier: MIT
--- The peculiarities of the adapter for Copas: its coroutines belong to sockets, and its first version has no timers.

local loop = require("spec.support.real_loops").of_copas()

local copas = require "copas"
local fixture = require "spec.support.fixture"
local port = require "spec.support.port"
local raising_hook = require "spec.support.raising_hook"
local socket = require "socket"
local wait = require "spec.support.wait"

local PATIENCE = wait.PATIENCE
local yields_across_pcall = _VERSION ~= "Lua 5.1" or rawget(_G, "jit") ~= nil

describe("with Copas", function()
  local here = fixture.new("/copas")
  local other, path, client

  setup(function() other = here:second_process() end)

  before_each(function()
    path = here.path
    client = here:connect { loop = "copas" }
  end)

  it("handlers of a server's connections take turns", function()
    local inside, together, served = 0, 0, 0
    local listener = assert(socket.bind("127.0.0.1", port.free()))
    local host, number = listener:getsockname()
    copas.addserver(listener, function(link)
      local name = copas.receive(link, "*l")
      local token = assert(client:mutex(path):acquire(PATIENCE))
      inside = inside + 1
      together = math.max(together, inside)
      loop.rest()
      inside = inside - 1
      assert(client:mutex(path):release())
      copas.send(link, ("%s %d\n"):format(name, token))
      link:close()
      served = served + 1
    end)
    local links = {}
    for i = 1, 10 do
      links[i] = assert(socket.connect(host, number))
      assert(links[i]:send("client " .. i .. "\n"))
    end
    loop.run(function() return served == 10 end)
    assert.equal(1, together)
    for i = 1, 10 do
      links[i]:settimeout(PATIENCE)
      assert.matches("^client " .. i .. " %d+$", links[i]:receive("*l"))
      assert.equal("closed", (select(2, links[i]:receive("*l"))))
      links[i]:close()
    end
    if copas.removeserver then copas.removeserver(listener) else listener:close() end
  end)

  it("a wait with a deadline of its own ends while nothing else happens, if the loop turns", function()
    assert(other:acquire(path, PATIENCE))
    local answer, token
    loop.spawn(function() token = client:mutex(path):acquire(PATIENCE, "me") end)
    loop.spawn(function() answer = { client:mutex(path):acquire(0.1, "me") } end)
    wait.eventually(function()
      copas.step(0.01)
      return answer
    end)
    assert.same({ nil, "timeout" }, answer)
    assert(other:release(path))
    loop.run(function() return token end)
    assert(client:mutex(path):release("me"))
  end)

  it("of a wait into which a hook has raised nothing is left", function()
    if not yields_across_pcall then return pending("in plain Lua 5.1 the coroutine ends with the error") end
    assert(other:acquire(path, PATIENCE))
    local lock, raised = client:mutex(path), {}
    repeat
      local n = #raised + 1
      loop.spawn(function() raised[n] = raising_hook.call("zklock/loop/copas.lua", n, lock.acquire, lock, 0.01) end)
      loop.run(function() return raised[n] ~= nil end)
      assert.is_nil(next(client.host.waiting))
    until not raised[n]
    assert.is_true(#raised > 10)
  end)

  it("an error in a coroutine that has waited is for Copas' error handler", function()
    loop.errors = {}
    loop.spawn(function()
      assert(client:mutex(path):acquire(PATIENCE))
      error("in a coroutine of mine")
    end)
    loop.run(function() return loop.errors[1] end)
    assert.matches("in a coroutine of mine", loop.errors[1])
    loop.errors = {}
  end)

  it("an error while events are taken is for Copas to tell, and events are taken on", function()
    local result = wait.run_lua(([[
      package.path = %q
      local copas, socket = require "copas", require "socket"
      local sender, receiver = socket.udp(), socket.udp()
      assert(receiver:setsockname("127.0.0.1", 0))
      assert(sender:setpeername(receiver:getsockname()))
      receiver:settimeout(0)
      local taken = 0
      local client = { getfd = function() return receiver:getfd() end }
      local function ready()
        receiver:receive()
        taken = taken + 1
        if taken == 1 then error("no memory") end
      end
      local unwatch = require "zklock.loop.copas".watch(client, ready)
      for i = 1, 2 do
        sender:send("!")
        for _ = 1, 1000 do
          if taken < i then copas.step(0.02) end
        end
      end
      unwatch()
      for _ = 1, 10 do copas.step(0.02) end
      print("taken", taken, client.host.is_served)
    ]]):format(package.path))
    assert.equal(0, result.code)
    assert.matches("no memory", result.stdout .. result.stderr)
    assert.matches("taken\t2\tfalse\n$", result.stdout)
  end)
end)
