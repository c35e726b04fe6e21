-- SPDX-License-Identifier: MIT
--- The checks that the soaks share.

local process = require "spec.support.process"

describe("a soak's checks #once", function()
  --- The script's output, and its exit status.
  local function run(script)
    local one = process.spawn { "lua5.4", "-e", 'local checks = require "soak.checks" ' .. script,
      env = { LUA_PATH_5_4 = "./?.lua", LD_PRELOAD = false } }
    local code = one:wait()
    return one:stdout() .. one:stderr(), code
  end

  it("are counted in the last line, and those that fail are printed", function()
    local said, code = run [[
      checks.check(true, "not %s", "this")
      checks.check(nil, "a worker is left: %d", 7)
      checks.check(1 == 1, "nor this")
      checks.finish()
    ]]
    assert.equal("a worker is left: 7\n2 passed, 1 failed\n", said)
    assert.equal(1, code)
  end)

  it("that all pass end the program with status 0", function()
    local said, code = run "checks.check(true, 'no') checks.finish() print('not reached')"
    assert.equal("1 passed, 0 failed\n", said)
    assert.equal(0, code)
  end)

  it("fail when there was none", function()
    assert.same({ "0 passed, 0 failed\n", 1 }, { run("checks.finish()") })
  end)
end)
