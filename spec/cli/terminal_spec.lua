-- SPDX-License-Identifier: MIT
--- `zklock run` on a terminal: what Ctrl-C, Ctrl-Z, fg and a background job do, and how the terminal is left.

local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local running = require "spec.support.running"
local terminal = require "spec.support.terminal"
local wait = require "spec.support.wait"

local LOST = 75

describe("on a terminal zklock run #once", function()
  local here = fixture.new("/terminal")
  local zklock = os.getenv("ZKLOCK_COMMAND") or "build/zklock"

  local function open(shell)
    local tty = terminal.start(shell, { ZKLOCK_SERVERS = here.zk.hosts, ZKLOCK_CONFIG = "/dev/null",
      ZKLOCK_RUN = false })
    return here:closes(tty, tty.close)
  end

  --- The line that runs a command under the lock.
  local function run(words) return ("%s run %s"):format(zklock, words) end

  --- Writes a script, and returns its path.
  local function script(...) return folder.file("script.sh", table.concat({ ... }, "\n") .. "\n") end

  --- Nothing of ours is left, and the terminal is as it was.
  local function leaves(tty, settings)
    assert.equal(settings, tty:settings())
    assert.equal("", tty:run("jobs"))
    here:becomes(0)
  end

  for _, shell in ipairs { "bash", "dash" } do
    describe("in " .. shell, function()
      local tty, settings

      before_each(function()
        tty = open(shell)
        settings = tty:settings()
      end)

      it("ends with the command and the calling script for Ctrl-C", function()
        local path = script(run(here.path .. " -- sh -c 'echo up; exec sleep 60'"), "echo the script went on: $?")
        tty:enter(shell .. " " .. path)
        tty:await("\r\nup\r\n")
        tty:control("c")
        assert.falsy(tty:await_prompt():find("went on", 1, true))
        assert.equal(130, tty:code())
        leaves(tty, settings)
      end)

      it("passes a hangup on when it leads the terminal's session", function()
        tty:enter("exec " .. run(here.path .. " -- sh -c 'sleep 0.5; echo up; exec sleep 60'"))
        tty:await("\r\nup\r\n")
        here:becomes(1)
        tty:close()
        here:becomes(0)
      end)

      it("passes Ctrl-C on to a command that has left its process group", function()
        for _, words in ipairs { "setsid sh -c 'sleep 0.5; echo up; exec sleep 60'",
          "timeout 60 sh -c 'sleep 0.5; echo up; exec sleep 60'" } do
          tty:enter(run(here.path .. " -- " .. words))
          tty:await("\r\nup\r\n")
          tty:control("c")
          tty:await_prompt()
          leaves(tty, settings)
        end
      end)

      it("ends with the calling script for Ctrl-C while it waits", function()
        assert(here:connect():mutex(here.path):acquire(here.patience))
        local path = script(run(here.path .. " -- echo ran"), "echo the script went on: $?")
        tty:enter(shell .. " " .. path)
        here:becomes(2)
        tty:control("c")
        local shown = tty:await_prompt()
        assert.falsy(shown:find("went on", 1, true), shown)
        assert.equal(130, tty:code())
        here:becomes(1)
        assert.equal(settings, tty:settings())
      end)

      for _, verbose in ipairs { "", "--verbose " } do
        it("starts the command " .. verbose .. "when it is granted while Ctrl-S holds up the terminal", function()
          local lock, ran = here:connect():mutex(here.path), folder.new("ran") .. "/ran"
          assert(lock:acquire(here.patience))
          tty:enter(run(verbose .. here.path .. " -- touch " .. ran))
          tty:await("2nd of 2")
          tty:control("s")
          wait.rest(1.5) -- for one write to the terminal
          assert(lock:release())
          wait.eventually(function() return running.read(ran) end)
          here:becomes(0)
          tty:control("q")
          tty:await_prompt()
          leaves(tty, settings)
        end)
      end

      it("goes on with the calling script when the command handles Ctrl-C", function()
        local path = script(run(here.path .. [[ -- sh -c 'trap "exit 3" INT; echo up; while :; do sleep 1; done']]),
          "echo the script went on: $?")
        tty:enter(shell .. " " .. path)
        tty:await("\r\nup\r\n")
        tty:control("c")
        local shown = tty:await_prompt()
        if shell == "bash" then assert.truthy(shown:find("the script went on: 3", 1, true), shown) end
        leaves(tty, settings)
      end)

      -- The shells differ in what fg does: one of them is enough to wait for a session's end.
      local length = shell == "bash" and " for longer than a session" or ""

      it("keeps the lock while Ctrl-Z stops the command" .. length .. ", and goes on with fg", function()
        -- The shell's prompt may come before the signal has reached all of the command: then a `read` there would
        -- get the first letter of what is typed here.
        local go = folder.file("go", "")
        tty:enter(run(("--session 10 %s -- sh -c 'echo up; until [ -s %s ]; do sleep 0.05; done; read line; "
          .. "echo got $line; exit 4'"):format(here.path, go)))
        tty:await("\r\nup\r\n")
        tty:control("z")
        tty:await_prompt()
        assert.matches("Stopped", tty:run("jobs"))
        local node = here:nodes()[1]
        if length ~= "" then
          local acquired, why = here:connect():mutex(here.path):acquire(12)
          assert.same({ nil, "timeout" }, { acquired, why })
        end
        assert.equal(node, here:nodes()[1])
        tty:enter("fg")
        tty:await("zklock run")
        local file = assert(io.open(go, "w"))
        file:write("now")
        file:close()
        tty:enter("hello")
        tty:await("got hello\r\n")
        tty:await_prompt()
        assert.equal(4, tty:code())
        leaves(tty, settings)
      end)

      it("kills a stopped command when the lock is lost", function()
        tty:enter(run(here.path .. " -- sh -c 'echo up; exec sleep 60'"))
        tty:await("\r\nup\r\n")
        tty:control("z")
        tty:await_prompt()
        here.tree:delete(here.path .. "/" .. here:nodes()[1])
        wait.eventually(function() return not tty:run("pgrep -s 0 -x sleep"):match("%d") end)
        tty:enter("fg")
        tty:await("zklock: lost: " .. here.path:gsub("%p", "%%%0"))
        tty:await_prompt()
        assert.equal(LOST, tty:code())
        leaves(tty, settings)
      end)

      it("runs as a background job", function()
        tty:enter(run(here.path .. " -- sh -c 'sleep 0.2; echo from the background'") .. " &")
        tty:await("from the background\r\n")
        tty:run("wait")
        tty:run("true") -- the shell reports the job
        leaves(tty, settings)
      end)

      it("stops as a background job when the command writes with stty tostop, and goes on with fg", function()
        tty:run("stty tostop")
        local tostop = tty:settings()
        tty:enter(run(here.path .. " -- sh -c 'echo from the background; exit 5'") .. " &")
        wait.eventually(function()
          local jobs = tty:run("jobs")
          return jobs:find("Stopped", 1, true) and jobs
        end)
        here:becomes(1)
        tty:enter("fg")
        tty:await("from the background\r\n")
        tty:await_prompt()
        assert.equal(5, tty:code())
        leaves(tty, tostop)
      end)

      it("is not stopped by its own messages in the background with stty tostop", function()
        tty:run("stty tostop")
        local lock, ran = here:connect():mutex(here.path), folder.new("ran") .. "/ran"
        assert(lock:acquire(here.patience))
        tty:enter(run("--verbose " .. here.path .. " -- touch " .. ran) .. " &")
        tty:await("2nd of 2")
        assert(lock:release())
        wait.eventually(function() return running.read(ran) end)
        tty:await("granted after")
        tty:run("wait")
        tty:enter(run(here.path .. " -- /nowhere") .. " &")
        tty:await("zklock: /nowhere: No such file")
        tty:run("wait")
        tty:run("true")
        here:becomes(0)
      end)

      it("reads from the terminal in the foreground", function()
        tty:enter(run(here.path .. " -- sh -c 'echo name?; read name; echo hello $name'"))
        tty:await("name%?\r\n")
        tty:enter("you")
        tty:await("hello you\r\n")
        tty:await_prompt()
        leaves(tty, settings)
      end)

      it("ends with the terminal", function()
        tty:enter(run(here.path .. " -- sh -c 'echo up; exec sleep 60'"))
        tty:await("\r\nup\r\n")
        tty:close()
        here:becomes(0)
      end)
    end)
  end
end)
