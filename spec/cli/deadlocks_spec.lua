-- SPDX-License-Identifier: MIT
--- zklock who --deadlocks, and its row in zklock doctor: owners of several clients that wait for each other.

local cqueues = require "cqueues"
local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local inspector = require "spec.support.inspector"
local wait = require "spec.support.wait"

local USAGE, FOUND, SOFTWARE, FAILURE = 64, 1, 70, 2
local TOO_DEEP = "zklock: warning: cut short at a depth of 8: there is more below\n"

describe("zklock who --deadlocks #once", function()
  local here = fixture.new("/cli-deadlocks", { super = true })
  local controller

  before_each(function() controller = cqueues.new() end)

  local function zklock(...)
    return command.run { env = { ZKLOCK_SERVERS = here.zk.hosts }, ... }
  end

  --- Its exit code, and its lines.
  local function deadlocks(...)
    local ended = zklock("who", "-r", "--deadlocks", ...)
    local lines = {}
    for line in ended.out:gmatch("[^\n]+") do lines[#lines + 1] = line end
    return ended.code, lines, ended.err
  end

  local function run_until(condition, what)
    return wait.eventually(function()
      assert(controller:step(0.002))
      return condition()
    end, wait.PATIENCE, what)
  end

  --- A client that runs functions, each in a coroutine of its own.
  local function actor(identifier)
    local client = here:connect { loop = "cqueues", identifier = identifier }
    return client, function(fn)
      local done = false
      controller:wrap(function()
        fn(client)
        done = true
        while true do cqueues.sleep(60) end -- the owner lives on
      end)
      return function() return done end
    end
  end

  local function becomes(n, path)
    run_until(function() return #here:nodes(path) == n end, n .. " nodes at " .. path)
  end

  --- Client i holds lock i and waits for the next one; the last one waits for the first.
  local function plant(n, path)
    local clients, held = {}, 0
    for i = 1, n do
      local client, run = actor("client-" .. i)
      clients[i] = client
      run(function()
        assert(client:mutex(path .. "/" .. i):acquire())
        held = held + 1
        while held < n do cqueues.sleep(0.001) end
        client:mutex(path .. "/" .. i % n + 1):acquire()
      end)
    end
    for i = 1, n do becomes(2, path .. "/" .. i) end
    return clients
  end

  it("names the clients of a circle, what each holds, and what it waits for", function()
    for n = 2, 5 do
      local path = here.path .. "/of-" .. n
      local clients = plant(n, path)
      local code, lines, err = deadlocks(path)
      assert.same({ FOUND, 1, "" }, { code, #lines, err })
      assert.matches("^certain: ", lines[1])
      assert.equal(n, select(2, lines[1]:gsub(" holds ", "")))
      for i, client in ipairs(clients) do
        local what = ("client-%d (session %s) holds %s/%d and waits for %s/%d since 2"):format(i, client:session_id(),
          path, i, path, i % n + 1)
        assert.truthy(lines[1]:find(what, 1, true), what .. " expected in " .. lines[1])
      end
    end
    local code, lines = deadlocks(here.path)
    assert.same({ FOUND, 4 }, { code, #lines })
  end)

  it("prints an object a line for programs", function()
    plant(2, here.path)
    local ended = zklock("who", "-r", "--json", "--deadlocks", here.path)
    assert.equal(FOUND, ended.code)
    local member = '{"session": "0x%x+", "identifier": "client%-[12]", "holds": "[^"]+", "waits": "[^"]+", '
      .. '"since": %d+%.%d%d%d}'
    assert.matches('^{"deadlock": "certain", "circle": %[' .. member .. ", " .. member .. "%]}\n$", ended.out)
  end)

  it("exits 0 and prints nothing if there is none", function()
    local client, run = actor("one")
    run(function()
      assert(client:mutex(here.path .. "/1"):acquire())
      client:mutex(here.path .. "/2"):acquire()
    end)
    becomes(1, here.path .. "/2")
    local _, run_other = actor("two")
    run_other(function(other) other:mutex(here.path .. "/2"):acquire() end)
    becomes(2, here.path .. "/2")
    assert.same({ 0, {}, "" }, { deadlocks(here.path) })
    assert.same({ 0, {}, "" }, { deadlocks(here.path .. "/none") })
    assert.equal(0, zklock("who", "--deadlocks", here.path).code)
  end)

  it("tells the owners of one client apart", function()
    local client, run = actor("many")
    local _, run_other = actor("other")
    run(function() assert(client:mutex(here.path .. "/1"):acquire()) end)
    becomes(1, here.path .. "/1")
    run_other(function(other)
      assert(other:mutex(here.path .. "/2"):acquire())
      other:mutex(here.path .. "/1"):acquire()
    end)
    becomes(2, here.path .. "/1")
    run(function() client:mutex(here.path .. "/2"):acquire() end)
    becomes(2, here.path .. "/2")
    assert.same({ 0, {}, "" }, { deadlocks(here.path) })
  end)

  it("finds a circle of a multilock, which holds a path while it waits for another", function()
    local client, run = actor("multi")
    local _, run_other = actor("single")
    local goes_on = false
    run_other(function(other)
      assert(other:mutex(here.path .. "/2"):acquire())
      while not goes_on do cqueues.sleep(0.001) end
      other:mutex(here.path .. "/1"):acquire()
    end)
    becomes(1, here.path .. "/2")
    local _, run_idle = actor "idle"
    run_idle(function(idle) assert(idle:mutex(here.path .. "/3"):acquire()) end) -- the multilock waits there, too
    becomes(1, here.path .. "/3")
    run(function() client:multilock({ here.path .. "/1", here.path .. "/2", here.path .. "/3" }):acquire() end)
    becomes(2, here.path .. "/2")
    assert.same({ 0, {}, "" }, { deadlocks(here.path) })
    goes_on = true
    becomes(2, here.path .. "/1")
    local code, lines = deadlocks(here.path)
    assert.same({ FOUND, 1 }, { code, #lines })
    assert.matches("^certain: ", lines[1])
  end)

  it("says possible of leases, which belong to nobody in particular", function()
    local client, run = actor("leases")
    local _, run_other = actor("mutex")
    run(function()
      assert(client:semaphore(here.path .. "/s", 1):acquire())
      client:mutex(here.path .. "/m"):acquire()
    end)
    run_other(function(other)
      assert(other:mutex(here.path .. "/m"):acquire())
      other:semaphore(here.path .. "/s", 1):acquire()
    end)
    becomes(2, here.path .. "/m")
    becomes(1, here.path .. "/s/locks")
    local code, lines = deadlocks(here.path)
    assert.same({ FOUND, 1 }, { code, #lines })
    assert.matches("^possible: ", lines[1])
  end)

  it("says possible of places, which many owners share", function()
    local client, run = actor("place")
    local _, run_other = actor("other")
    run(function()
      assert(client:mutex(here.path .. "/1", { fair = false }):acquire())
      client:mutex(here.path .. "/2", { fair = false }):acquire()
    end)
    becomes(1, here.path .. "/1")
    run_other(function(other)
      assert(other:mutex(here.path .. "/2"):acquire())
      other:mutex(here.path .. "/1"):acquire()
    end)
    becomes(2, here.path .. "/1")
    becomes(2, here.path .. "/2")
    local code, lines = deadlocks(here.path)
    assert.same({ FOUND, 1 }, { code, #lines })
    assert.matches("^possible: ", lines[1])
  end)

  --- kazoo and Curator draw a name anew for each node; some of Curator's look like ours.
  local NAMES = {
    kazoo = function(n) return ("%032x__lock__"):format(n) end,
    Curator = function(n) return ("_c_%08x-1234-4567-89ab-123456789abc-lock-"):format(n) end,
  }

  for library, name in pairs(NAMES) do
    it("says possible of nodes like those of " .. library, function()
      local count = 0
      local function raw()
        local session = inspector.connect(here.zk.hosts)
        here:closes(session)
        return session
      end
      local function node(path, of)
        count = count + 1
        if not of:exists(path) then assert(of:create(path, "", { parents = true })) end
        assert(of:create(path .. "/" .. name(count), library, { ephemeral = true, sequence = true }))
      end
      local one, two = raw(), raw()
      node(here.path .. "/1", one)
      node(here.path .. "/2", two)
      node(here.path .. "/2", one)
      node(here.path .. "/1", two)
      local code, lines = deadlocks(here.path)
      assert.same({ FOUND, 1 }, { code, #lines })
      assert.truthy(lines[1]:find("^possible: " .. library .. " "), lines[1])
    end)
  end

  describe("reads through a proxy", function()
    local way

    before_each(function() way = here:proxy() end)

    --- Begins to look; the first line of what comes back.
    local function search()
      return command.start { "who", "-r", "--deadlocks", here.path, env = { ZKLOCK_SERVERS = way.hosts } }
    end

    local function reads()
      local counts, sum = way:counts(), 0
      for op, n in pairs(counts) do
        if op:find("^get") then sum = sum + n end
      end
      return sum
    end

    it("once if there is no circle, and once more if there is one", function()
      local clients = plant(3, here.path)
      assert.equal(FOUND, search():wait(here.patience))
      local twice = reads()
      assert.equal(2 * (1 + 3 + 3 + 6), twice) -- the path; each line as a directory and as a line; the nodes
      clients[1]:close()
      becomes(1, here.path .. "/1")
      becomes(1, here.path .. "/2")
      assert.equal(0, search():wait(here.patience))
      assert.equal(1 + 3 + 3 + 4, reads() - twice)
    end)

    it("and prints no circle that has changed meanwhile", function()
      plant(2, here.path)
      way:hold_before("getChildren2", 2 * 2 + 2) -- the first of the second reading
      local ended = search()
      wait.eventually(function() return way:is_holding() end, here.patience)
      assert(here.tree:delete(here.path .. "/1/" .. here:nodes(here.path .. "/1")[2]))
      way:heal()
      assert.same({ 0, "" }, { ended:wait(here.patience), ended:stdout() })
    end)
  end)

  it("warns that it was cut off, and exits 70 if it found none", function()
    local deep = here.path .. "/1/2/3/4/5/6/7/8/9"
    assert(here.tree:create(deep, "", { parents = true }))
    assert.same({ SOFTWARE, {}, TOO_DEEP }, { deadlocks(here.path) })
    plant(2, here.path .. "/locks-of-two")
    local code, lines, err = deadlocks(here.path)
    assert.same({ FOUND, 1, TOO_DEEP }, { code, #lines, err })
  end)

  it("refuses what makes no sense", function()
    assert.equal(USAGE, zklock("who", "-f", "--deadlocks", "/").code)
    assert.equal(USAGE, zklock("who", "--deadlocks", "/a", "/b").code)
    assert.equal(USAGE, zklock("who", "-r").code)
  end)

  it("is a row of the doctor", function()
    local ok = zklock("doctor", here.path .. "/1").out
    assert.truthy(("\n" .. ok):find("\nok       deadlocks: none among ", 1, true), ok)
    plant(2, here.path)
    assert(here.tree:create(here.path .. "/3", "", { parents = true }))
    local ended = zklock("doctor", here.path .. "/3")
    assert.equal(FAILURE, ended.code)
    assert.truthy(("\n" .. ended.out):find("\nfailure  deadlock: certain: client-", 1, true), ended.out)
  end)
end)
