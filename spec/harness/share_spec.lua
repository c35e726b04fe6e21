-- SPDX-License-Identifier: MIT
--- spec/support/share.lua: busted processes that share spec files.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local PATIENCE = require("spec.support.wait").PATIENCE
local FILES, PROCESSES = 12, 3
-- A process waits in its first file until each of them has begun one: so none runs all of them.
local SPEC = [=[it("is file %d", function()
  os.execute [[
    mkdir -p "$CLAIMS.begun/$PPID"
    n=0
    while [ "$(ls "$CLAIMS.begun" | wc -l)" -lt %d ] && [ $n -lt 1200 ]; do n=$((n + 1)); sleep 0.05; done
  ]]
end)]=]

describe("spec/support/share.lua #once", function()
  local function busted()
    local which = process.spawn { "sh", "-c", "command -v busted" }
    assert.equal(0, (which:wait(PATIENCE)))
    return which:stdout():match("%S+")
  end

  local function start(specs, names)
    local words = { env = { CLAIMS = specs .. "/claims", LD_PRELOAD = false }, "lua5.4", busted(), "-o", "gtest",
      "--helper=spec/support/share.lua" }
    for _, name in ipairs(names) do words[#words + 1] = name end
    return process.spawn(words)
  end

  it("says why a test is skipped", function()
    local specs = folder.new "specs"
    local name = specs .. "/hungry_spec.lua"
    file.write(name, 'it("eats", function() pending "no food" end)')
    local one = start(specs, { name })
    assert.equal(0, (one:wait(PATIENCE)))
    assert.matches("\nskipped: " .. name .. " @ 1: eats: no food\n", one:stdout(), 1, true)
  end)

  it("has each file run once, by one of the processes", function()
    local specs, names = folder.new "specs", {}
    for i = 1, FILES do
      names[i] = ("%s/%d_spec.lua"):format(specs, i)
      file.write(names[i], SPEC:format(i, PROCESSES))
    end
    names[#names + 1] = specs -- names all of them a second time

    local processes = {}
    for i = 1, PROCESSES do processes[i] = start(specs, names) end

    local ran, most = {}, 0
    for _, one in ipairs(processes) do
      assert.equal(0, (one:wait(PATIENCE)), one:stdout())
      local count = 0
      for number in one:stdout():gmatch("%[       OK %][^\n]*is file (%d+)") do
        ran[tonumber(number)] = (ran[tonumber(number)] or 0) + 1
        count = count + 1
      end
      most = math.max(most, count)
    end
    for i = 1, FILES do assert.equal(1, ran[i], "file " .. i) end
    assert.is_true(most < FILES, "one process ran them all")
  end)
end)
