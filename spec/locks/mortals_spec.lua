--- Who has what, and what becomes of it when a finalizer interferes.

local mortals = require "zklock.owners.mortals"

local function subject()
  return { drop = function() end, abandon = function(self) self.abandoned = true end }
end

describe("those who may come to their end", function()
  local all

  before_each(function()
    all = mortals.new()
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
end)
