-- SPDX-License-Identifier: MIT
--- The binding's joins read the options of a lock by their names.

local fixture = require "spec.support.fixture"

describe("the settings of a join", function()
  local here = fixture.new("/join")

  --- The error of a join with those settings.
  local function refusal(settings)
    local native = here:connect().native
    local joined, err = pcall(native.join, native, native:contender(), here.path, 1, math.huge, false, settings, 0, 0,
      "lock")
    assert.is_false(joined)
    return err
  end

  it("are a table, or false for none #once", function()
    assert.matches("table expected, got nil", refusal(nil))
    assert.matches("table expected, got boolean", refusal(true))
    local native = here:connect().native
    assert.is_true(native:join(native:contender(), here.path, 1, math.huge, false, false, 0, 0, "lock"))
  end)

  it("name the field whose value has a wrong type, and the value's type #once", function()
    for _, name in ipairs { "max_hold", "max_waiting", "stint" } do
      assert.matches("bad field '" .. name .. "' of settings: number expected, got table", refusal { [name] = {} })
    end
  end)

  it("name the field that others need #once", function()
    assert.matches("bad field 'linger' of settings: number expected, got nil", refusal { stint = 1 })
  end)

  it("have no max_hold of 0, which is none in the engine #once", function()
    assert.matches("bad field 'max_hold' of settings: seconds > 0 expected, got 0", refusal { max_hold = 0 })
  end)
end)
