-- SPDX-License-Identifier: MIT
--- Clients of the latest release beside present ones at the same locks: a fleet is upgraded machine by machine. Before
--- the first release an early commit stands for it (tools/former.sh). Without the history all of it is skipped.

local neighbourhood = require "spec.support.neighbourhood"
local process = require "spec.support.process"
local server = require "spec.support.server"
local uv = require "luv"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"

local ROUNDS = 40 * neighbourhood.FACTOR
local PATIENCE = neighbourhood.PATIENCE
local NO_HISTORY = 3

describe("the former version beside the present one #once #bare", function()
  local crew, old, new, there, env, reason

  local function start(former, session_timeout)
    local one = worker.start(former and { env = env } or nil)
    one.kind = former and "former" or "present"
    assert(one:connect(server.shared().hosts, { session_timeout = session_timeout }))
    return one
  end

  setup(function()
    local build = process.spawn { "tools/former.sh", "build/former", env = process.PLAIN }
    local code = build:wait(300)
    if code == NO_HISTORY then reason = build:stderr():gsub("\n", "") return end
    assert(code == 0, build:stderr())
    local tree = build:stdout():gsub("\n", "")
    env = { LUA_PATH = ("%s/lua/?.lua;%s/lua/?/init.lua;%s/?.lua;;"):format(tree, tree, uv.cwd()),
      LUA_CPATH = tree .. "/build/5.4/?.so;;" }
    crew = { start(true), start(true), start(false), start(false) }
  end)

  teardown(function()
    for _, one in ipairs(crew or {}) do
      if not one.pending then one:close() end
      one:kill()
    end
  end)

  before_each(function()
    if reason then return end
    there = neighbourhood.new()
    for i, one in ipairs(crew) do
      if one.pending then -- a spec has failed
        one:kill()
        crew[i] = start(one.kind == "former")
      end
    end
    old, new = { crew[1], crew[2] }, { crew[3], crew[4] }
  end)
  after_each(function() if there then there:close() end end)

  local function test(name, run)
    it(name, function()
      if reason then return pending(reason) end
      run()
    end)
  end

  --- All take turns by these names: one for each process. None fails, none overlaps, no node stays.
  local function contend(names, options)
    local reports = there:contend(crew, function(i) return { path = names[i], rounds = ROUNDS, writes = 5 } end)
    for _, report in ipairs(reports) do assert.same({ granted = ROUNDS, failed = {} }, report) end
    assert.equal(#crew * ROUNDS, there:judge(options).grants)
  end

  local function empty(where)
    for _, one in ipairs(crew) do assert.is_true(one:flush(PATIENCE)) end
    there:becomes(0, where)
  end

  test("is another client than the present one", function()
    local code = [[return package.searchpath("zklock", package.path), package.searchpath("zklock.core", package.cpath)]]
    local lua, core = old[1]:eval(code)
    assert.matches("/build/former/%x+/lua/zklock/init%.lua$", lua)
    assert.matches("/build/former/%x+/build/5%.4/zklock/core%.so$", core)
    assert.same({ load(code)() }, { new[1]:eval(code) })
  end)

  test("shares a mutex", function()
    local path = there.path
    contend { path, path, path, path }
    empty()
  end)

  test("shares a read-write lock", function()
    local reads, writes = "read:" .. there.path, "write:" .. there.path
    contend { reads .. "," .. writes, reads, writes .. "," .. reads, reads }
    empty()
  end)

  test("shares a semaphore", function()
    local name = "semaphore/2:" .. there.path
    contend({ name, name, name, name }, { permits = 2 })
    empty "/locks"
    assert.same({}, there:nodes "/leases")
  end)

  test("shares multilocks, and a path of theirs with a mutex", function()
    local shared, a, b = there.path .. "/shared", there.path .. "/a", there.path .. "/b"
    local one, other = ("multilock:%s+%s"):format(a, shared), ("multilock:%s+%s"):format(shared, b)
    contend { one, other .. "," .. shared, other, one .. "," .. shared }
    for _, path in ipairs { "/shared", "/a", "/b" } do empty(path) end
  end)

  local function place(name, ...)
    for _, one in ipairs { ... } do one:lock(name, { fair = false, linger = 0.05 }) end
    return name
  end

  test("shares a mutex in which clients of both versions keep places (fair = false)", function()
    local path = place(there.path, old[1], new[1])
    contend({ path, path, path, path }, { shared_tokens = true })
    empty()
  end)

  test("shares a read-write lock in which clients of both versions keep places", function()
    local write = place("write:" .. there.path, old[1], new[1])
    local read = place("read:" .. there.path, old[2], new[2])
    contend({ write, read, write, read }, { shared_tokens = true })
    empty()
  end)

  --- For a process of the one version, and one of the other.
  local function both_ways(name, run)
    test(name .. ", the former one first", function() run(old[1], new[1], old[2]) end)
    test(name .. ", the present one first", function() run(new[1], old[1], new[2]) end)
  end

  both_ways("grants in order of arrival, with tokens that grow", function(first, second, third)
    local token = there:goes_in(first, "first")
    for i, one in ipairs { second, third } do
      one:begin("contend", { path = there.path, rounds = 1, owner = "next-" .. i, resource = there.store.address })
      there:becomes(i + 1)
    end
    there:goes_out(first, "first", token)
    for _, one in ipairs { second, third } do assert.equal(1, one:finish(PATIENCE).granted) end
    assert.same({ "first", "next-1", "next-2" }, there:visitors())
    there:judge { grants = 3 }
    empty()
  end)

  both_ways("sees a lock that is taken in a loop of many", function(holder, other)
    local COUNT = 20
    local taken = holder:eval([[
      local path, count = ...
      local requests, taken = {}, 0
      for i = 1, count do requests[i] = worker.client:mutex(path .. "/" .. i):request(60, function() end, "many") end
      for _, request in ipairs(requests) do
        while request:state() == "waiting" do worker.client:poll(1) end
        if request:is_held() then taken = taken + 1 end
      end
      many = requests
      return taken]], there.path, COUNT)
    assert.equal(COUNT, taken)
    for i = 1, COUNT do
      assert.same({ nil, "timeout" }, { other:acquire(("%s/%d"):format(there.path, i), 0) })
    end
    holder:eval("for _, request in ipairs(many) do assert(request:release()) end many = nil")
    for i = 1, COUNT do
      local path = ("%s/%d"):format(there.path, i)
      assert(other:acquire(path, PATIENCE))
      assert.is_true(other:release(path))
    end
  end)

  both_ways("gives a lock back that the other one asks for", function(holder, asker)
    for _, form in ipairs { "%s", "write:%s", "semaphore/1:%s", "multilock:%s+%s-too" } do
      local path = there.path .. "/" .. (form:match("^%a+") or "mutex")
      local name = form:format(path, path)
      assert.is_true(holder:on_revoke(name))
      assert(holder:acquire(name, PATIENCE))
      assert.is_true(asker:revoke(name, PATIENCE))
      wait.eventually(function()
        for _, event in ipairs(holder:events()) do
          if event[1] == "revoke" and event[2] == name then return true end
        end
      end, PATIENCE, "the question for " .. name)
      assert.is_true(holder:release(name))
      assert(asker:acquire(name, PATIENCE))
      assert.is_true(asker:release(name))
    end
  end)

  both_ways("frees the locks of one that is killed", function(_, heir, like)
    local victim = start(like.kind == "former", 2)
    assert(victim:acquire(there.path, PATIENCE))
    heir:begin("acquire", there.path, PATIENCE)
    there:becomes(2)
    victim:kill()
    assert.is_number(heir:finish(PATIENCE))
    assert.is_true(heir:release(there.path))
    empty()
  end)
end)
