-- SPDX-License-Identifier: MIT
--- The terminal that the specs of the command line type at.

local terminal = require "spec.support.terminal"

for _, shell in ipairs { "bash", "dash" } do
  describe("a terminal with " .. shell .. " #once", function()
    local tty

    before_each(function() tty = terminal.start(shell) end)
    after_each(function() tty:close() end)

    it("runs a line and shows what it writes", function()
      assert.equal("hello\r\n", tty:run("echo hello"))
      tty:run("(exit 7)")
      assert.equal(7, tty:code())
    end)

    it("has the shell as the leader of a session with jobs", function()
      assert.matches("^/dev/pts/%d+\r\n$", tty:run("tty"))
      tty:run("sleep 60 &")
      assert.matches("Running", tty:run("jobs"))
      tty:run("kill %1")
    end)

    it("interrupts and stops what runs", function()
      tty:enter("sh -c 'echo up; exec sleep 60'")
      tty:await("\r\nup\r\n")
      tty:control("c")
      tty:await_prompt()
      assert.equal(130, tty:code())
      tty:enter("sh -c 'echo up; exec sleep 60'")
      tty:await("\r\nup\r\n")
      tty:control("z")
      tty:await_prompt()
      assert.matches("Stopped", tty:run("jobs"))
      tty:run("kill -9 %1")
    end)

    it("ends as the shell ends", function()
      tty:enter("exit 3")
      assert.equal(3, (tty.process:wait()))
    end)
  end)
end
