-- SPDX-License-Identifier: MIT
--- The promises of `zklock run`, tried so often that it takes minutes.

local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local running = require "spec.support.running"
local wait = require "spec.support.wait"

local unpack = unpack or table.unpack -- luacheck: ignore 143

describe("zklock run, many times #flood", function()
  local here = fixture.new("/run-slow")

  local function start(words)
    table.insert(words, 1, "run")
    words.env = { ZKLOCK_SERVERS = here.zk.hosts }
    return command.start(words)
  end

  it("is never busy with its own node of a moment ago", function()
    for i = 1, 200 do
      local one = start { "-n", here.path, "true" }
      assert.same({ 0, 0 }, { one:wait(here.patience) }, i .. ": " .. one:stderr())
    end
    assert.same({}, here:nodes())
  end)

  it("with -n finds a server although another one of the list, which half of the clients try first, is mute", function()
    local mute, all = here:proxy(), {}
    mute:black_hole()
    for i = 1, 8 do
      all[i] = command.start { "run", "-n", "-z", mute.hosts .. "," .. here.zk.hosts, here.path .. "/" .. i, "true" }
      here:closes(all[i], all[i].kill)
    end
    for _, one in ipairs(all) do assert.same({ 0, 0 }, { one:wait(here.patience) }, one:stderr()) end
  end)

  it("ends by a TERM within 50 ms around the grant, and leaves no node", function()
    for i = 1, 500 do
      local one = start { here.path, "sleep", "1000" }
      wait.rest(i % 100 * 0.0005) -- around the grant
      one:signal("term")
      assert.same({ 0, 15 }, { one:wait(here.patience) })
      assert.same({}, here:nodes())
    end
  end)

  it("ends by a TERM that comes together with a free lock", function()
    for i = 1, 100 do
      local holder = start { here.path, "sh", "-c", "echo began; cat" }
      assert.equal("began", holder:read_line(here.patience))
      local waiter = start { here.path, "sleep", "1000" }
      here:becomes(2)
      holder:close_input()
      wait.rest(i % 20 * 0.001) -- around the grant
      waiter:signal("term")
      assert.same({ 0, 15 }, { waiter:wait(here.patience) })
      assert.equal(0, (holder:wait(here.patience)))
      assert.same({}, here:nodes())
    end
  end)

  --- The processes of a run that are there now, from the front on.
  local function chain(pid)
    local pids = { pid }
    for i = 2, 3 do pids[i] = pids[i - 1] and running.children(pids[i - 1])[1] end
    return pids
  end

  --- One of them, or two.
  local function victims(pids)
    local first = math.random(#pids)
    local second = math.random(#pids)
    return first == second and { pids[first] } or { pids[first], pids[second] }
  end

  --- Kills or stops one or two processes of a run, once: three at a time are not covered.
  local function hit(slot)
    if slot.hit then return 0 end
    slot.hit, slot.at = victims(chain(slot.process.pid)), wait.now()
    running.signal(slot.hit, math.random(4) == 1 and "sigstop" or "sigkill")
    return 1
  end

  --- A process that was stopped goes on after a session and a half.
  local function wake(slot)
    if slot.hit and wait.now() > slot.at + 4.5 then running.signal(slot.hit, "sigcont") end
  end

  it("never lets two write at once when its processes are killed or stopped at random moments", function()
    local seed = os.time()
    math.randomseed(seed)
    local place, slots, hits = running.place(3), {}, 0
    local function new_slot()
      return { process = start { "--session", "3", "--grace", "0.5", here.path, unpack(place.words) } }
    end
    for i = 1, 4 do slots[i] = new_slot() end
    while hits < 100 do
      wait.rest(math.random() * 0.6) -- the next fault
      hits = hits + hit(slots[math.random(#slots)])
      for i, slot in ipairs(slots) do
        wake(slot)
        if not slot.process:is_running() then slots[i] = new_slot() end
      end
      assert.equal(0, place.overlaps(), "seed " .. seed)
    end
    assert.is_true(place.began() > 10)
    for _, slot in ipairs(slots) do
      running.signal(slot.hit or {}, "sigcont")
      slot.process:kill()
    end
    here:becomes(0)
    assert.equal(0, place.overlaps(), "seed " .. seed)
  end)

  it("asks the servers little when 50 wait with --verbose", function()
    local proxy = here:proxy()
    local holder = start { here.path, "sh", "-c", "echo began; cat" }
    assert.equal("began", holder:read_line(here.patience))
    local waiters, began = {}, wait.now()
    for i = 1, 50 do
      waiters[i] = command.start { "run", "--verbose", "-z", proxy.hosts, here.path, "true" }
    end
    here:becomes(51)
    for _, waiter in ipairs(waiters) do
      wait.eventually(function() return waiter:stderr():find(" of 51", 1, true) end, here.patience)
    end
    local counts = proxy:counts()
    -- Looks and heartbeats go by the time: a waiter looks once, then once in 4 s at most. The engine of each has read
    -- the list once before, to know for whom it waits.
    local looks, most = counts.getChildren2 - counts.connect, 50 * (1 + (wait.now() - began) / 4)
    assert.is_true(looks <= most, ("%d looks, %.1f at most"):format(looks, most))
    -- For a look a waiter reads a list and a node. Each connection costs some requests more; a herd: 25 on average
    local others = counts.total - 2 * looks - counts.sync - counts.delete
    assert.is_true(others <= 8 * counts.connect, ("%d requests of %d connections"):format(others, counts.connect))
    for _, waiter in ipairs(waiters) do waiter:kill() end
    holder:close_input()
    holder:wait(here.patience)
  end)
end)
