-- SPDX-License-Identifier: MIT
--- The messages of `zklock run` while it waits, and their cost to the servers.

local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local process = require "spec.support.process"
local running = require "spec.support.running"
local wait = require "spec.support.wait"

local unpack = unpack or table.unpack -- luacheck: ignore 143

describe("zklock run #once", function()
  local here = fixture.new("/run-waiting")

  local function start(...)
    local one = command.start { "run", "-z", here.zk.hosts, ... }
    return here:closes(one, one.kill)
  end

  local function holder(...)
    local words = { ... }
    for _, word in ipairs { here.path, "sh", "-c", "echo began; cat" } do words[#words + 1] = word end
    local one = start("--identifier", "db7:4242", unpack(words))
    assert.equal("began", one:read_line(here.patience))
    return one
  end

  local function says(one, text)
    wait.eventually(function() return one:stderr():find(text, 1, true), one:stderr() end, here.patience, text)
  end

  it("says nothing without a terminal and without --verbose", function()
    local one = holder()
    local waiter = start(here.path, "true")
    here:becomes(2)
    local loud = start("--verbose", here.path, "true")
    says(loud, "3rd of 3")
    one:close_input()
    assert.equal(0, (waiter:wait(here.patience)))
    assert.equal("", waiter:stderr())
  end)

  it("with --verbose says each change of its place in a line", function()
    local one = holder()
    local first = start(here.path, "true")
    here:becomes(2)
    local second = start("--verbose", here.path, "echo", "ran")
    says(second, "zklock: waiting for " .. here.path .. ": 3rd of 3, held by db7:4242\n")
    first:signal("term")
    says(second, "zklock: waiting for " .. here.path .. ": 2nd of 2, held by db7:4242\n")
    one:close_input()
    assert.equal(0, (second:wait(here.patience)))
    assert.equal("ran\n", second:stdout())
    assert.matches("^zklock: waiting [^\n]*\nzklock: waiting [^\n]*\nzklock: the lock was granted after %d+%.%d s\n$",
      second:stderr())
  end)

  it("counts no lease that has strayed into the line", function()
    local semaphore = here:connect():semaphore(here.path, 1)
    assert(semaphore:acquire(here.patience))
    local line = here.path .. "/leases"
    local one = here:connect { identifier = "db7:4242" }
    assert(one:mutex(line):acquire(here.patience))
    local waiter = start("--verbose", line, "true")
    says(waiter, "zklock: waiting for " .. line .. ": 2nd of 2, held by db7:4242\n")
  end)

  it("counts what keeps a reader waiting, and names the holder of a read lock", function()
    holder("-s")
    start("-x", here.path, "true")
    here:becomes(2)
    start("-s", here.path, "true")
    here:becomes(3)
    local waiter = start("--verbose", "-s", here.path, "true")
    says(waiter, "zklock: waiting for " .. here.path .. ": 2nd of 4, held by db7:4242\n")
  end)

  it("names the path of several that is held, by whom, and that it was busy", function()
    local also = here.path .. "/also"
    local one = here:connect { identifier = "db8:1" }
    assert(one:mutex(also):acquire(here.patience))
    local path = here.path .. "/path"
    for option, reason in pairs { ["-n"] = "", ["--wait=3"] = " was not free within 3 s" } do
      local try = start(option, "--also", also, path, "true")
      assert.equal(1, (try:wait(here.patience)))
      assert.equal("zklock: busy: " .. also .. reason .. "\n", try:stderr())
    end
    local waiter = start("--verbose", "--also", also, path, "true")
    says(waiter, "zklock: waiting for " .. also .. ": 2nd of 2, held by db8:1\n")
  end)

  it("names no path as busy at which it has not looked", function()
    local proxy = here:proxy()
    proxy:delay(0.5) -- of a wait of 0.1 s nothing is answered in time
    local ended = command.run { "run", "-z", proxy.hosts, "-w", "0.1", "--also", here.path .. "/also",
      here.path .. "/path", "true" }
    assert.same({ code = 1, out = "", err = "zklock: busy: " .. here.path
      .. "/path, or another of the paths, was not free within 0.1 s\n" }, ended)
  end)

  it("begins a single try anew when its connection breaks #carried", function()
    local other, held, proxy = here.path .. "-free", here.path, here:proxy()
    holder()
    for _, option in ipairs { "-n", "--wait=0" } do
      for _, verb in ipairs { "cut_before", "lose_reply" } do
        for _, op in ipairs { "create2", "getChildren2" } do
          for path, code in pairs { [other] = 0, [held] = 1 } do
            proxy[verb](proxy, op)
            local ended = command.run { "run", "-z", proxy.hosts, option, path, "true" }
            assert.equal(code, ended.code, ("%s %s %s: %s"):format(option, verb, op, ended.err))
          end
        end
      end
    end
  end)

  it("with --verbose says how many permits are taken, and that there is no server", function()
    local one, proxy = holder("--permits", "1"), here:proxy()
    local waiter = here:closes(command.start { "run", "-z", proxy.hosts, "--verbose", "--permits", "1", here.path,
      "true" }, function(command_process) command_process:kill() end)
    says(waiter, "zklock: waiting for " .. here.path .. ": all 1 permits are taken\n")
    proxy:refuse()
    proxy:cut()
    says(waiter, "zklock: waiting for " .. here.path .. ": no server: connection refused")
    proxy:heal()
    one:close_input()
    assert.equal(0, (waiter:wait(here.patience)))
  end)

  it("spells the holder's identifier, so that it cannot write on the terminal", function()
    local client = here:connect { identifier = "\27[31m\255\226\128\174" }
    assert(client:mutex(here.path):acquire(here.patience))
    local waiter = start("--verbose", here.path, "true")
    says(waiter, "held by \\x1b[31m\\xff\\xe2\\x80\\xae\n")
  end)

  it("on a terminal shows a line in place, which is gone when the command starts", function()
    local one = holder()
    local log = folder.file("terminal", "")
    local line = ("exec %s run -z %s %s echo ran"):format(command.PROGRAM, here.zk.hosts, here.path)
    local terminal = process.spawn { "script", "-qefc", line, log,
      env = { LD_PRELOAD = false, TERM = "xterm", ZKLOCK_CONFIG = "/dev/null" } }
    here:closes(terminal, terminal.kill)
    wait.eventually(function() return running.read(log):find(", 1 s", 1, true) end, here.patience, "a second")
    one:close_input()
    assert.equal(0, (terminal:wait(here.patience)))
    local shown = running.read(log)
    assert.truthy(shown:find("\r\27[Kwaiting for " .. here.path .. ": 2nd of 2, held by db7:4242, 1 s", 1, true), shown)
    assert.truthy(shown:find("\r\27[Kran\r\n", 1, true), shown)
  end)

  it("asks for one list and one node for each look, however many wait", function()
    local one, proxy, waiters = holder(), here:proxy(), {}
    for i = 1, 20 do
      waiters[i] = here:closes(command.start { "run", "-z", proxy.hosts, "--verbose", here.path, "true" },
        function(command_process) command_process:kill() end)
    end
    here:becomes(21)
    for _, waiter in ipairs(waiters) do says(waiter, " of 21, held by db7:4242") end
    local counts = proxy:counts()
    -- Besides a node for each look, a waiter reads its own node and that before it. Heartbeats do not count.
    local most = counts.getChildren2 + 3 * 20
    assert.is_true(counts.getData <= most, ("%d nodes read, %d at most"):format(counts.getData, most))
    for _, waiter in ipairs(waiters) do waiter:kill() end
    one:close_input()
  end)
end)
