-- SPDX-License-Identifier: MIT
--- Every wire operation of `zklock run --every`, cut off in every way: the command runs once, not twice and not never.

local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local stage = require "spec.support.stage"

describe("a fault at every wire operation of zklock run --every #once #flood:", function()
  local here = fixture.new("/every-sweep", { session_timeout = 12 })
  local faulty, played

  setup(function()
    faulty, played = here:proxy { doors = 5 }, 0
  end)

  local function run(hosts, path, mark)
    return command.run { "run", "--every", "3600", "--mark", mark, path, "echo", "ran",
      env = { ZKLOCK_SERVERS = hosts } }
  end

  --- Gives how many requests went by, and whether the fault struck.
  local function play(mark, arm)
    played = played + 1
    local path = ("%s/%d"):format(here.path, played)
    faulty:reset()
    arm()
    local armed = faulty:pending()
    assert.same({ code = 0, out = "ran\n", err = "" }, run(faulty.hosts, path, mark))
    local struck, total = faulty:pending() < armed, faulty:counts().total
    faulty:heal()
    assert.same({ code = 0, out = "", err = "" }, run(here.zk.hosts, path, mark))
    assert.same({ "once-2147483647" }, here.tree:children(path))
    return total, struck
  end

  for _, mark in ipairs { "before", "after" } do
    for verb, fault in pairs(stage.FAULTS) do
      it(("mark %s: %s"):format(mark, fault), function()
        local total = play(mark, function() end)
        local n, strikes, struck = 0, 0, nil
        repeat
          n = n + 1
          local ok, err = pcall(function()
            struck = select(2, play(mark, function() faulty[verb](faulty, "*", n) end))
          end)
          if not ok then error(("at operation %d: %s"):format(n, type(err) == "table" and err.message or err), 0) end
          if struck then strikes = strikes + 1 end
        until n > total and not struck
        assert.is_true(strikes >= 8, strikes)
      end)
    end
  end
end)
