-- SPDX-License-Identifier: MIT
--- spec/support/survivor.lua: what a failure says of a process that has not ended.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"
local survivor = require "spec.support.survivor"
local uv = require "luv"
local wait = require "spec.support.wait"

describe("a process that has not ended #once", function()
  it("is told with its threads, its log and its child", function()
    local log = folder.new("survivor") .. "/error.log"
    local shell = process.spawn { "sh", "-c", 'echo "the last words" >&2; sleep 600 & echo "$!"; wait', "the-shell",
      output = log }
    local child = wait.eventually(function()
      local pid = file.read(log):match("the last words\n(%d+)\n")
      return pid and file.read(("/proc/%s/cmdline"):format(pid)):find("^sleep") and pid
    end)
    local text = survivor.describe(shell.pid)
    shell:kill()
    uv.kill(tonumber(child), "sigkill")
    for _, told in ipairs { ("process %d, sh -c "):format(shell.pid), ("thread %d sh: "):format(shell.pid), "2 " .. log,
      "log: the last words", ("process %s, sleep 600, beside a load of "):format(child) } do
      assert.is_truthy(text:find(told, 1, true), told .. " is not in:\n" .. text)
    end
  end)
end)
