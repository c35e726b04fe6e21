-- SPDX-License-Identifier: MIT
--- spec/support/daemon.lua, with a program that is not here.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

describe("a suite that needs a program #once", function()
  it("is skipped with one line where the program is missing, and never passes", function()
    local path = folder.new("daemon") .. "/missing_spec.lua"
    file.write(path, [[
require("spec.support.daemon").describe("no-such-host", "no-package", "a host", function() error "runs" end)
]])
    local one = process.spawn { "busted", "-o", "gtest", path }
    assert.equal(0, (one:wait()))
    local said = one:stdout()
    assert.is_truthy(said:find("[  PASSED  ] 0 tests.", 1, true), said)
    assert.is_truthy(said:find("skipped: no no-such-host here (Debian's package is no-package)", 1, true), said)
  end)
end)
