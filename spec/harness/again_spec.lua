-- SPDX-License-Identifier: MIT
--- spec/support/again.lua: which tests run a second time, with a machine that stands still because the whole process
--- group of the tests is stopped.

local folder = require "spec.support.folder"
local process = require "spec.support.process"

local HEAD = [[
  local uv = require "luv"
  local runs = 0
  local function stand_still()
    os.execute(("setsid sh -c 'kill -STOP -%d; sleep 2; kill -CONT -%d'"):format(uv.os_getpid(), uv.os_getpid()))
  end
]]

describe("spec/support/again.lua #once", function()
  --- Busted's output for these tests, and its exit status.
  local function run(tests)
    local file = folder.file("planted_spec.lua", HEAD .. tests)
    local which = process.spawn { "sh", "-c", "command -v busted" }
    assert.equal(0, (which:wait()))
    local one = process.spawn { env = { CLAIMS = false, LD_PRELOAD = false }, detached = true, "lua5.4",
      which:stdout():match("%S+"), "-o", "gtest", "--helper=spec/support/again.lua", file }
    local code = one:wait()
    return one:stdout() .. one:stderr(), code
  end

  --- The lines that the tests have printed.
  local function printed(said)
    local lines = {}
    for line in said:gmatch("\n> ([^\n]+)") do lines[#lines + 1] = line end
    return lines
  end

  it("repeats a test that failed while the machine stood still, with all that belongs to it", function()
    local said, code = run [[
      describe("a test", function()
        before_each(function() print "> before" end)
        after_each(function() print "> after" end)
        it("loses its session", function()
          runs = runs + 1
          finally(function() print "> finally" end)
          print("> run " .. runs)
          if runs > 1 then return end
          stand_still()
          error("lost")
        end)
      end)
    ]]
    assert.equal(0, code, said)
    assert.same({ "before", "run 1", "finally", "after", "before", "run 2", "finally", "after" }, printed(said))
    local place, seconds, why = said:match(
      "\nrepeated: (%S+ @ %d+): loses its session: the machine stood still for ([%d.]+) s\n([^\n]+)")
    assert.matches("planted_spec.lua @ 9$", place)
    assert.is_true(tonumber(seconds) >= 1.9, seconds)
    assert.matches("planted_spec.lua:15: lost$", why)
    assert.matches("\n%[  PASSED  %] 1 test%.\n", said)
  end)

  it("repeats a test whose before_each or after_each failed then", function()
    local said, code = run [[
      for _, kind in ipairs { "before_each", "after_each" } do
        describe("one", function()
          local function fails_once()
            runs = runs + 1
            if runs % 2 == 0 then return end
            stand_still()
            error("lost")
          end
          if kind == "before_each" then before_each(fails_once) else after_each(fails_once) end
          it("runs", function() print("> " .. kind) end)
        end)
      end
    ]]
    assert.equal(0, code, said)
    assert.same({ "before_each", "after_each", "after_each" }, printed(said))
  end)

  it("lets a test fail that fails again, or that a standstill does not explain", function()
    local said, code = run [[
      it("fails twice", function()
        runs = runs + 1
        print("> run " .. runs)
        stand_still()
        error("lost again")
      end)
      it("takes its time", function()
        print "> slow"
        uv.sleep(2000) -- no standstill
        error("by itself")
      end)
      it("has a long session", function()
        require "busted".publish({ "session" }, 600)
        print "> long"
        stand_still()
        error("short of a sixth")
      end)
    ]]
    assert.equal(1, code, said)
    assert.matches("\n%[  ERROR   %] 3 errors, listed below:\n", said)
    assert.same({ "run 1", "run 2", "slow", "long" }, printed(said))
    for _, why in ipairs { "lost again", "by itself", "short of a sixth" } do
      assert.truthy(said:find(why, 1, true), why)
    end
    assert.equal(1, select(2, said:gsub("\nrepeated: ", "")))
  end)

  it("lets the fixture of a failed test show its clients and nodes, before they are gone", function()
    local said, code = run [[
      local fixture = require "spec.support.fixture"
      describe("a lock", function()
        local here = fixture.new("/evidence")
        for _, fails in ipairs { false, true } do
          it("is held", function()
            local lock = here:connect():mutex(here.path)
            assert(lock:acquire(here.patience))
            assert.is_false(fails)
            assert(lock:release())
          end)
        end
      end)
    ]]
    assert.equal(1, code, said)
    local evidence = {}
    for line in said:gmatch("\nevidence: ([^\n]+)") do evidence[#evidence + 1] = line end
    assert.equal(2, #evidence, said)
    assert.equal("a client is connected; sessions 1, held 1, waiting 0, lost 0", evidence[1])
    assert.matches("^/evidence/2: %S+%-lock%-%d+$", evidence[2])
  end)

  it("tells a skipped test, and a failure after the first one", function()
    local said, code = run [[
      after_each(function() if runs > 0 then error("the second") end end)
      it("skips", function() pending("no food") end)
      it("fails", function()
        runs = 1
        assert.equal(1, 2)
      end)
    ]]
    assert.equal(1, code, said)
    assert.matches("\n%[ SKIPPED  %] 1 test, listed below:\n", said)
    assert.matches("\n%[  FAILED  %] 1 test, listed below:\n", said)
    assert.matches("\nafter that: [^\n]+planted_spec.lua:%d+: the second\n", said)
    assert.matches("planted_spec.lua:%d+: Expected objects to be equal", said)
  end)
end)
