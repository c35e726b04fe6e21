-- SPDX-License-Identifier: MIT
--- Our mutex and those of other languages at one path, judged at the resource that they share.

local neighbour = require "spec.support.neighbour"
local neighbourhood = require "spec.support.neighbourhood"
local server = require "spec.support.server"
local wait = require "spec.support.wait"

local ROUNDS = 60 * neighbourhood.FACTOR
local SHORT = 2 -- seconds: the session timeout of those who die
local PATIENCE = neighbourhood.PATIENCE

local LIBRARIES = {
  { "curator", "Curator's InterProcessMutex" },
  { "golang", "Go's zk Lock" },
  { "kazoo", "kazoo's Lock" },
}

describe("beside our mutex #neighbours", function()
  local zk, there, crew, theirs, ours

  setup(function() zk = server.shared() end)
  before_each(function() there = neighbourhood.new() end)
  after_each(function() there:close() end)

  --- All have gone out and left nothing.
  local function empty()
    for _, one in ipairs(crew) do
      if not one.kind then assert.is_true(one:flush(PATIENCE)) end
    end
    assert.same({}, there:nodes())
  end

  local function all_are_served(rounds)
    local reports = there:contend(crew, function() return { rounds = rounds, writes = 2 } end)
    for _, report in ipairs(reports) do assert.same({ granted = rounds, failed = {} }, report) end
    assert.equal(#crew * rounds, there:judge().grants)
    empty()
  end

  for _, library in ipairs(LIBRARIES) do
    local kind = library[1]

    describe(library[2], function()
      before_each(function()
        crew = { neighbour.regulars(zk.hosts, kind, kind, "lua", "lua") }
        theirs, ours = { crew[1], crew[2] }, { crew[3], crew[4] }
      end)

      it("takes turns with us: one inside at a time, and no turn is lost", function() all_are_served(ROUNDS) end)

      it("keeps the order of arrival with us", function()
        local token = there:goes_in(theirs[1], "theirs-1")
        local line = { ours[1], theirs[2], ours[2] }
        for i, one in ipairs(line) do
          one:begin("contend", { path = there.path, rounds = 1, owner = "next-" .. i, resource = there.store.address })
          there:becomes(1 + i)
        end
        there:goes_out(theirs[1], "theirs-1", token)
        for _, one in ipairs(line) do assert.equal(1, one:finish(PATIENCE).granted) end
        assert.same({ "theirs-1", "next-1", "next-2", "next-3" }, there:visitors())
        there:judge { grants = 4 }
        empty()
      end)

      it("and we answer each who is impatient, and serve who is not", function()
        local can_give_up = kind ~= "golang" -- Go's Lock waits for ever
        local reports = there:contend(crew, function(i)
          local impatient = i == 4 or i == 2 and can_give_up
          return { rounds = ROUNDS, timeout = impatient and 0.004 or nil }
        end)
        local granted = 0
        for i, report in ipairs(reports) do
          granted = granted + report.granted
          assert.equal(ROUNDS, report.granted + (report.failed.timeout or 0))
          if i % 2 == 1 then assert.equal(ROUNDS, report.granted) end
        end
        assert.equal(granted, there:judge().grants)
        empty()
      end)

      it("is served when one of ours before it gives up, and the reverse", function()
        local token = there:goes_in(ours[1], "holder")
        ours[2]:eval("waiting = worker.lock(...):request(nil, function() end)", there.path)
        there:becomes(2)
        theirs[1]:begin("contend", { path = there.path, rounds = 1, owner = "a", resource = there.store.address })
        there:becomes(3)
        if kind ~= "golang" then theirs[2]:begin("acquire", there.path, 2) end
        assert.is_true(ours[2]:eval("return waiting:cancel()"))
        ours[2]:begin("contend", { path = there.path, rounds = 1, owner = "b", resource = there.store.address })
        if kind ~= "golang" then assert.same({ nil, "timeout" }, { theirs[2]:finish(PATIENCE) }) end
        there:becomes(3)
        there:goes_out(ours[1], "holder", token)
        assert.equal(1, theirs[1]:finish(PATIENCE).granted)
        assert.equal(1, ours[2]:finish(PATIENCE).granted)
        assert.same({ "holder", "a", "b" }, there:visitors())
        there:judge { grants = 3 }
        empty()
      end)

      it("is succeeded by us when it is killed inside or in the line, and we by it", function()
        local another = neighbourhood.new()
        local them, us = neighbour.crew(zk.hosts, SHORT, kind, "lua")
        there:goes_in(them, "holder")
        another:goes_in(us, "holder")
        local function waits(one, owner, where, n)
          one:begin("contend", { path = where.path, rounds = 1, owner = owner, resource = where.store.address })
          where:becomes(n)
        end
        waits(us, "waiter", there, 2)
        waits(them, "waiter", another, 2)
        waits(ours[1], "heir", there, 3)
        waits(theirs[1], "heir", another, 3)
        them:kill()
        us:kill()
        for one, where in pairs { [ours[1]] = there, [theirs[1]] = another } do
          assert.equal(1, one:finish(PATIENCE).granted)
          assert.same({ "holder", "heir" }, where:visitors())
          where:judge { grants = 2 }
          where:becomes(0)
        end
        another:close()
      end)

      it("takes turns with our multilock at each of its paths", function()
        local another = neighbourhood.new()
        local both = ("multilock:%s+%s"):format(there.path, another.path)
        local function begin(one, where, name)
          one:begin("contend", { path = name, rounds = ROUNDS, owner = one.kind or "lua", writes = 2,
            resource = where.store.address })
        end
        begin(theirs[1], there, there.path)
        begin(theirs[2], another, another.path)
        begin(ours[1], there, both)
        begin(ours[2], another, both)
        for _, one in ipairs(crew) do assert.same({ granted = ROUNDS, failed = {} }, one:finish(PATIENCE)) end
        there:judge { grants = 2 * ROUNDS }
        another:judge { grants = 2 * ROUNDS }
        empty()
        assert.same({}, another:nodes())
        another:close()
      end)

      -- It cannot know better: its token is what the resource can tell it by.
      it("is refused by the resource when it wakes up after its session, because ours has a larger token", function()
        local sleeper = neighbour.crew(zk.hosts, SHORT, kind)
        local token = there:goes_in(sleeper, "sleeper")
        sleeper:stop()
        local later = there:goes_in(ours[1], "heir")
        assert.is_true(later > token)
        sleeper:continue()
        assert.is_false(sleeper:step(there.store.address, "write", token, "sleeper"))
        there:goes_out(ours[1], "heir", later)
        assert.equal(1, there:judge({ grants = 2, faults = true }).refusals)
        wait.eventually(function() return #there:nodes() == 0 end, PATIENCE)
        sleeper:kill()
      end)
    end)
  end

  describe("Curator and Go together", function()
    before_each(function() crew = { neighbour.regulars(zk.hosts, "curator", "golang", "lua", "lua") } end)

    it("take turns with two of ours: one inside at a time, and no turn is lost", function() all_are_served(ROUNDS) end)

    it("keep one order of arrival with us", function()
      local holder, line = crew[3], { crew[1], crew[2], crew[4] }
      local token = there:goes_in(holder, "lua")
      for _, one in ipairs(line) do
        local order = { path = there.path, rounds = 1, owner = one.kind or "lua-too", resource = there.store.address }
        one:begin("contend", order)
        there:becomes(1 + (order.owner == "curator" and 1 or order.owner == "golang" and 2 or 3))
      end
      there:goes_out(holder, "lua", token)
      for _, one in ipairs(line) do assert.equal(1, one:finish(PATIENCE).granted) end
      assert.same({ "lua", "curator", "golang", "lua-too" }, there:visitors())
      there:judge { grants = 4 }
      empty()
    end)
  end)
end)
