-- SPDX-License-Identifier: MIT
--- The owners' lists of holds, when a finalizer interferes.

local lifetimes = require "zklock.owners.owner_lifetimes"
local owner = require "zklock.owners.owner"

--- Owners whose ends are reported, and others that have their number themselves.
local Reported, Numbered = { set_busy = function() end }, {}
Reported.__index = Reported
owner.declare_kept_class(Reported)
owner.declare_weak_class(Numbered)

local function new(class)
  return setmetatable({ _lifetimes = false, _number = false, _finalizer = false }, class)
end

local function subject()
  return { drop = function() end, abandon = function(self) self.abandoned = true end }
end

describe("owners that can end", function()
  local all

  before_each(function()
    all = lifetimes.new()
  end)

  --- Runs fn once, when the next of them enters: as a collection would that begins with one of the allocations there.
  local function collect_at_the_next(table_name, fn)
    local real = all[table_name]
    all[table_name] = setmetatable({}, {
      __index = real,
      __newindex = function(_, key, value)
        all[table_name] = real
        real[key] = value
        fn()
      end,
    })
  end

  for _, name in ipairs { "finalizers", "shares", "whos", "numbers" } do
    it("may leave by a finalizer while another one enters: " .. name, function()
      local whos, subjects = {}, {}
      for i = 1, 5 do
        whos[i], subjects[i] = {}, subject()
      end
      for i = 1, 4 do all:note(whos[i], subjects[i]) end
      collect_at_the_next(name, function() all:unnote(whos[2], subjects[2]) end)
      all:note(whos[5], subjects[5])
      for _ = 1, 10 do all:reap(3) end
      assert.is_nil(subjects[2].abandoned)
      assert.equal(4, all.count)
      for i = 1, 5 do
        assert.equal(i ~= 2, all:has(whos[i]))
        if i ~= 2 then all:unnote(whos[i], subjects[i]) end
      end
      assert.equal(0, all.count)
      assert.same({}, all.shares)
    end)
  end

  it("are all found at once, wherever the last check has ended", function()
    local threads, subjects = {}, {}
    for i = 1, 5 do
      threads[i], subjects[i] = coroutine.create(function() coroutine.yield() end), subject()
      coroutine.resume(threads[i])
      all:note(threads[i], subjects[i])
    end
    all:reap(2) -- 5 and 4; it is known from now on that resume runs these two
    for i = 1, 5 do assert.is_false(owner.is_dead(threads[i])) end
    coroutine.resume(threads[2])
    coroutine.resume(threads[5])
    all:reap(math.huge)
    for i = 1, 5 do
      local found = subjects[i].abandoned ~= nil
      assert.equal(i == 2 or i == 5, found)
    end
  end)

  for _, name in ipairs { "another one", "he himself" } do
    it("enter once each when a finalizer has somebody enter meanwhile: " .. name, function()
      local one, another, its, others = {}, {}, subject(), subject()
      local is_kept = owner.is_kept
      function owner.is_kept(who)
        owner.is_kept = is_kept
        all:note(name == "he himself" and one or another, others)
        return is_kept(who)
      end
      all:note(one, its)
      owner.is_kept = is_kept
      assert.equal(name == "he himself" and 1 or 2, all.count)
      all:unnote(one, its)
      assert.is_true(all:has(name == "he himself" and one or another))
      all:unnote(name == "he himself" and one or another, others)
      assert.equal(0, all.count)
      assert.same({}, all.shares)
    end)
  end

  for _, name in ipairs { "the last one", "the one who is looked at" } do
    it("may leave by a finalizer while they are looked at: " .. name, function()
      local first = coroutine.create(function() end) -- a coroutine that may have ended is looked at
      coroutine.resume(first)
      local last, its, others = setmetatable({}, {}), subject(), subject()
      all:note(first, its)
      all:note(last, others)
      local is_dead, number = owner.is_dead, all.numbers[first]
      assert.equal(1, number)
      function owner.is_dead(who)
        owner.is_dead = is_dead
        all:unnote(last, others)
        if name ~= "the last one" then
          all:unnote(first, its)
          all:abandon(first)
        end
        return is_dead(who)
      end
      for _ = 1, 4 do all:reap() end
      owner.is_dead = is_dead
      all:abandon(first)
      assert.equal(0, all.count)
      assert.same({}, all.shares)
      assert.is_nil(others.abandoned)
    end)
  end

  it("are looked at only if there is one whose end nobody reports", function()
    local reported, its, looks = new(Reported), subject(), 0
    local first_to_look_at = owner.first_to_look_at
    function owner.first_to_look_at(...)
      looks = looks + 1
      return first_to_look_at(...)
    end
    local function looks_of(fn)
      looks = 0
      fn(all)
      return looks > 0
    end
    all:note(reported, its)
    assert.same({ false, false }, { looks_of(all.glance), looks_of(all.reap) })
    for _, other in ipairs { coroutine.create(function() end), new(Numbered), "a name" } do
      all:note(other, subject())
      assert.same({ true, true }, { looks_of(all.glance), looks_of(all.reap) })
      all:abandon(reported)
      assert.is_true(looks_of(all.glance))
      all:abandon(other)
      all:note(reported, its)
      assert.same({ false, false }, { looks_of(all.glance), looks_of(all.reap) })
    end
    owner.first_to_look_at = first_to_look_at
    all:unnote(reported, its, true)
    assert.same({ 0, 0 }, { all.count, all.unreported })
  end)

  it("leave at the next reap if a finalizer has ended their last hold while another one entered", function()
    local reported, its, another, others = new(Reported), subject(), new(Reported), subject()
    all:note(reported, its)
    collect_at_the_next("shares", function() all:unnote(reported, its, true) end)
    all:note(another, others)
    assert.equal(2, all.count)
    all:reap()
    assert.same({ 1, false, true }, { all.count, all:has(reported), all:has(another) })
  end)

  it("are reported to the first client only, so a second one looks at them", function()
    local reported, second = new(Reported), lifetimes.new()
    local its, others = subject(), subject()
    all:note(reported, its)
    second:note(reported, others)
    assert.same({ 0, 1 }, { all.unreported, second.unreported })
    second:unnote(reported, others, true)
    assert.is_true(all:has(reported))
    assert.same({ 0, 0 }, { second.count, second.unreported })
  end)

  it("have a number that no later one gets as long as they are there", function()
    local one, again = {}, 0
    local number = owner.number(one)
    for i = 1, 2 ^ 20 do -- more than there are numbers
      if owner.number({}) == number then again = again + 1 end
      if i % 1e5 == 0 then collectgarbage() end
    end
    assert.equal(0, again)
    assert.equal(number, owner.number(one))
  end)
end)
