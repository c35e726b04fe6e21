-- SPDX-License-Identifier: MIT
--- The five examples of docs/cli.md, each run as somebody would who pastes it, with stubs for the reader's programs.

local command = require "spec.support.command"
local file = require "spec.support.file"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local markdown = require "spec.support.markdown"
local process = require "spec.support.process"
local terminal = require "spec.support.terminal"
local uv = require "luv"
local wait = require "spec.support.wait"

local page = markdown.read "docs/cli.md"
local EXECUTABLE = tonumber("755", 8)

local function block(title) return page:below(title)[1].text end

describe("on the page of the command line #once", function()
  local here = fixture.new("/cli-page")
  local bin, log

  --- A program of the reader's: a line in the log, then what it does.
  local function stub(name, text)
    local path = bin .. "/" .. name
    file.write(path, ("#!/bin/sh\necho %s \"$@\" >>%s\n%s\n"):format(name, log, text or ""))
    assert(uv.fs_chmod(path, EXECUTABLE))
  end

  before_each(function()
    for _, path in ipairs { "/jobs", "/services", "/deploy", "/shop", "/cfg" } do here.tree:delete_tree(path) end
    bin, log = folder.new("bin"), folder.file("log", "")
    assert(uv.fs_symlink(command.PROGRAM, bin .. "/zklock"))
  end)

  --- The programs that ran, in order.
  local function ran() return file.read(log) end

  --- A block with our programs in the place of the installed ones.
  local function installed(text) return (text:gsub("/usr/local/bin/", bin .. "/")) end

  local function start(env, ...)
    local words = { env = { ZKLOCK_CONFIG = "/dev/null", ZKLOCK_RUN = false, ZKLOCK_PATH = false, LD_PRELOAD = false,
      ZKLOCK_SERVERS = here.zk.hosts, PATH = bin .. ":/usr/bin:/bin" }, ... }
    for name, value in pairs(env) do words.env[name] = value end
    return here:closes(process.spawn(words), function(one) one:kill() end)
  end

  --- Writes a script and starts it.
  local function script(env, text, ...)
    local path = bin .. "/script"
    if not uv.fs_stat(path) then
      file.write(path, text)
      assert(uv.fs_chmod(path, EXECUTABLE))
    end
    return start(env, path, ...)
  end

  local function ends(one, code)
    local ended = one:wait(here.patience)
    assert.same({ code, "" }, { ended, code == 0 and one:stderr() or "" })
  end

  it("a cron job runs on one of many machines", function()
    local text = installed(block "Run a cron job on one of many machines")
    local servers, line = text:match("\nZKLOCK_SERVERS=(%S+)\n(.-)\n")
    assert.matches("^zk1:2181,", servers)
    local words = line:match("^17 3 %* %* %* app (.*)$"):gsub("%-%-splay 30 ", "--splay 0.3 ")
    stub "report"
    local all = {}
    for i = 1, 3 do
      all[i] = start({ PATH = "/usr/bin:/bin", SHELL = "/bin/sh", HOME = "/" }, "/bin/sh", "-c", words)
    end
    for _, one in ipairs(all) do
      ends(one, 0)
      assert.equal("", one:stdout())
    end
    assert.equal("report\n", ran())
  end)

  it("the README's terminal shows what a terminal shows", function()
    stub("report", "echo writing the report")
    local tty = here:closes(terminal.start("bash", { ZKLOCK_SERVERS = here.zk.hosts, ZKLOCK_CONFIG = "/dev/null",
      ZKLOCK_RUN = false, PATH = bin .. ":/usr/bin:/bin" }))
    tty:run("cd " .. bin)
    local holder = start({}, "zklock", "run", "--identifier", "db7:4242", "/jobs/report", "cat")
    here:becomes(1, "/jobs/report")
    local text = markdown.read("README.md"):below("From the shell")[1].text
    for line, shown in (text:gsub("%$\n$", ""):gsub("%$ ", "\0")):gmatch("%z([^\n]+)\n(%Z*)") do
      local waiting, rest = shown:match("^(waiting [^\n]*), %d+ s\n(.*)$")
      tty:enter(line)
      tty:await("\r\n")
      if waiting then
        tty:await("\27%[K" .. waiting:gsub("%p", "%%%0") .. ", [0-7] s")
        holder:close_input()
        tty:await("\r\27%[K%f[w]") -- it is taken back
      end
      assert.equal((rest or shown):gsub("\n", "\r\n"), tty:await_prompt())
    end
  end)

  describe("the unit of systemd", function()
    local unit = {}
    for name, value in block("Keep a service active on one of three machines"):gmatch("\n(%w+)=([^\n]*)") do
      unit[name] = value
    end

    it("gives the service more time to stop than the grace", function()
      assert.equal("mixed", unit.KillMode)
      assert.equal("64 77", unit.RestartPreventExitStatus)
      assert.truthy(tonumber(unit.TimeoutStopSec) > tonumber(unit.ExecStart:match("%-%-grace (%S+)")))
    end)

    it("keeps the service active on one machine, and on another one when that is stopped", function()
      stub("dispatcher", [[trap 'echo stopped >>]] .. log .. [[; exit 0' TERM; while :; do sleep 0.05; done]])
      local all = {}
      for i = 1, 3 do
        all[i] = start({}, "/bin/sh", "-c", "exec " .. installed(unit.ExecStart))
        here:becomes(i, "/services/dispatcher")
      end
      wait.eventually(function() return ran() == "dispatcher\n" end)
      all[1]:signal("term") -- KillMode=mixed: to the main process alone
      assert.equal(0, (all[1]:wait(here.patience)))
      wait.eventually(function() return ran() == "dispatcher\nstopped\ndispatcher\n" end)
      all[2]:signal("kill")
      wait.eventually(function() return select(2, ran():gsub("dispatcher", "")) == 3 end)
    end)
  end)

  it("a deployment waits for another one, and is seen", function()
    stub("install-release", "while [ -e " .. bin .. "/hold ]; do sleep 0.02; done")
    stub "switch-traffic"
    file.write(bin .. "/hold", "")
    local text = block "Deploy one at a time"
    local first = script({}, text, "1.0")
    wait.eventually(function() return ran():find("install-release 1.0", 1, true) end)
    local second = script({}, text, "1.1")
    here:becomes(2, "/deploy/shop")
    local who = start({}, "zklock", "who", "/deploy/shop")
    ends(who, 0)
    assert.truthy(who:stdout():find("@", 1, true))
    os.remove(bin .. "/hold")
    ends(first, 0)
    ends(second, 0)
    assert.equal("install-release 1.0\nswitch-traffic 1.0\ninstall-release 1.1\nswitch-traffic 1.1\n", ran())
    assert.matches("^deploying 1%.0 with token %d+\n$", first:stdout())
  end)

  describe("the migration", function()
    local text = block "Migrate a database before the server starts"

    it("is made once for each release, before any server starts", function()
      stub("migrate-database", "sleep 0.2; echo migrated >>" .. log)
      stub "shop-server"
      local all = {}
      for i = 1, 3 do all[i] = script({ RELEASE = "7" }, text) end
      for _, one in ipairs(all) do ends(one, 0) end
      assert.equal("migrate-database\nmigrated\n" .. ("shop-server\n"):rep(3), ran())
      ends(script({ RELEASE = "8" }, text), 0)
      assert.equal(2, select(2, ran():gsub("migrated", "")))
    end)

    it("is tried again by the next machine when it fails", function()
      stub("migrate-database", "exit 3")
      stub "shop-server"
      ends(script({ RELEASE = "7" }, text), 3)
      assert.equal("migrate-database\n", ran())
      stub "migrate-database"
      ends(script({ RELEASE = "7" }, text), 0)
      assert.equal("migrate-database\nmigrate-database\nshop-server\n", ran())
    end)
  end)

  describe("the write with a fence", function()
    local text = block "Write from a shell, with a fence"

    before_each(function() assert(here.tree:create("/cfg/routes/current", "old", { parents = true })) end)

    it("is done while the lock is held, whatever the value looks like", function()
      for _, value in ipairs { "new", "--stdin", "-v", "--", "" } do
        stub("make-routes", ("printf %%s '%s'"):format(value))
        ends(start({}, "/bin/sh", "-c", text), 0)
        assert.equal(value, (here.tree:get("/cfg/routes/current")))
      end
    end)

    it("is refused when another machine has the lock", function()
      stub("make-routes", "echo new")
      local late = text:gsub("zklock run", "zklock run --on-loss ignore")
        :gsub("zklock set", "zklock delete $(echo \"$ZKLOCK_NODE\"); zklock set")
      local one = start({}, "/bin/sh", "-c", late)
      ends(one, 75)
      assert.equal("old", (here.tree:get("/cfg/routes/current")))
    end)
  end)
end)
