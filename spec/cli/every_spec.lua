-- SPDX-License-Identifier: MIT
--- `zklock run --every`: a command that runs once in some seconds, on whichever machine.

local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local file = require "spec.support.file"
local folder = require "spec.support.folder"
local preload = require "spec.support.preload"
local process = require "spec.support.process"
local running = require "spec.support.running"
local uv = require "luv"
local wait = require "spec.support.wait"

local unpack = unpack or table.unpack -- luacheck: ignore 143

local BUSY, USAGE, DATA, LOST, UNKNOWN, DENIED = 1, 64, 65, 75, 76, 77
local SKIPPED = { code = 0, out = "", err = "" }
local RAN = { code = 0, out = "ran\n", err = "" }

describe("zklock run --every #once", function()
  local here = fixture.new("/every", { super = true })

  local at = command.at(here)
  local run, start = at.run, at.start

  local function complains(code, reason, ...)
    local ended = run(...)
    assert.same({ code, "" }, { ended.code, ended.out })
    assert.matches("^zklock: [^\n]+\n$", ended.err)
    assert.truthy(ended.err:find(reason, 1, true), ended.err)
  end

  local function mark() return here.path .. "/once-2147483647" end

  local function holder(...)
    local one, line = at.holder("echo running; cat", ...)
    assert.equal("running", line)
    return one
  end

  it("runs the command once, and says nothing when it is not due", function()
    assert.same(RAN, run("--every", "3600", here.path, "echo", "ran"))
    assert.matches("^%d+$", (here.tree:get(mark())))
    assert.same(SKIPPED, run("--every", "3600", here.path, "echo", "ran"))
    assert.same(SKIPPED, run("-n", "--every", "3600", here.path, "echo", "ran"))
    assert.same({ "once-2147483647" }, here.tree:children(here.path))
  end)

  it("runs a command with --once when there is no mark, and never again", function()
    assert.same(RAN, run("--once", here.path, "echo", "ran"))
    assert.same(SKIPPED, run("--once", here.path, "echo", "ran"))
    assert.matches("not due: it has run once", run("--verbose", "--once", here.path, "true").err)
    wait.eventually(function() return run("--every", "1ms", here.path, "echo", "ran").out == "ran\n" end)
    here.tree:delete(mark())
    assert.equal(7, run("--once", "--mark", "after", here.path, "sh", "-c", "exit 7").code)
    assert.same(RAN, run("--once", "--mark", "after", here.path, "echo", "ran"))
    assert.same(SKIPPED, run("--once", "--mark", "after", here.path, "echo", "ran"))
  end)

  it("says with --verbose for how long it is not due", function()
    run("--every", "3600", here.path, "true")
    assert.matches("not due: 3%d%d%d", run("--verbose", "--every", "3600", here.path, "true").err)
  end)

  it("runs it again when the seconds have passed", function()
    assert.same(RAN, run("--every", "0.3", here.path, "echo", "ran"))
    wait.eventually(function() return run("--every", "0.3", here.path, "echo", "ran").out == "ran\n" end)
  end)

  it("runs it on one of many machines", function()
    local all, ran = {}, 0
    for i = 1, 5 do
      all[i] = start("--every", "3600", here.path, "echo", "ran")
    end
    for _, one in ipairs(all) do
      assert.equal(0, (one:wait()))
      if one:stdout() == "ran\n" then ran = ran + 1 end
    end
    assert.equal(1, ran)
  end)

  it("has the token of the run as the mark", function()
    local ended = run("--every", "3600", here.path, "sh", "-c", "echo $ZKLOCK_TOKEN")
    assert.equal(ended.out, (here.tree:get(mark())) .. "\n")
  end)

  it("has the mark before the command, by default", function()
    assert.equal(7, run("--every", "3600", here.path, "sh", "-c", "exit 7").code)
    assert.same(SKIPPED, run("--every", "3600", here.path, "echo", "ran"))
    local seen = run("--every", "0.001", here.path, command.PROGRAM, "get", mark())
    assert.same({ 0, (here.tree:get(mark())) }, { seen.code, seen.out })
  end)

  it("has no mark when the command cannot be executed: the next machine is due", function()
    local home = folder.new("commands")
    file.write(home .. "/plain", "echo ran\n")
    for _, case in ipairs { { 127, "/nowhere/report", "No such file" }, { 127, "no-such-command", "No such file" },
      { 126, home, "Permission denied" }, { 126, home .. "/plain", "Permission denied" },
      { 126, "plain", "Permission denied" } } do
      local ended = run { "--every", "3600", here.path, case[2],
        wrap = { "env", "PATH=/nowhere:" .. home .. ":/nowhere/else" } }
      assert.same({ case[1], "" }, { ended.code, ended.out })
      assert.equal(1, (ended.err:find("zklock: " .. case[2] .. ": " .. case[3], 1, true)), ended.err)
      assert.falsy(here.tree:exists(mark()))
    end
    assert.same(RAN, run("--every", "3600", here.path, "echo", "ran"))
  end)

  it("has the mark after the command with --mark after, and only if it went well", function()
    assert.equal(7, run("--every", "3600", "--mark", "after", here.path, "sh", "-c", "exit 7").code)
    assert.falsy(here.tree:exists(mark()))
    assert.same(RAN, run("--every", "3600", "--mark", "after", here.path, "echo", "ran"))
    assert.truthy(here.tree:exists(mark()))
    assert.same(SKIPPED, run("--every", "3600", "--mark", "after", here.path, "echo", "ran"))
  end)

  it("is busy with -n while the lock is held, due or not", function()
    run("--every", "3600", here.path, "true")
    local one = holder()
    complains(BUSY, "busy: " .. here.path, "-n", "--every", "3600", here.path, "true")
    complains(9, "busy: ", "-n", "-E", "9", "--every", "3600", here.path, "true")
    one:close_input()
    assert.equal(0, (one:wait()))
  end)

  it("waits for a run that holds the lock, and then need not run", function()
    local one = holder("--every", "3600")
    local other = start("--every", "3600", here.path, "echo", "ran")
    here:becomes(2)
    one:close_input()
    assert.equal(0, (one:wait()))
    assert.equal(0, (other:wait()))
    assert.equal("", other:stdout())
  end)

  it("does not take data that is no token for a mark", function()
    assert(here.tree:create(mark(), "yesterday", { parents = true }))
    complains(DATA, "wrong kind: the mark of " .. here.path, "--every", "60", here.path, "true")
    assert.equal("yesterday", (here.tree:get(mark())))
    assert.same({ "once-2147483647" }, here.tree:children(here.path))
  end)

  it("does not take the path of a semaphore", function()
    assert(here.tree:create(here.path .. "/leases", "", { parents = true }))
    complains(DATA, "wrong kind", "--every", "60", here.path, "true")
    assert.falsy(here.tree:exists(mark()))
  end)

  it("is denied a mark of another identity", function()
    assert(here.tree:create(mark(), "5", { parents = true }))
    here.tree:set_acl(mark(), { { perms = 31, scheme = "digest", id = "one:x" } })
    complains(DENIED, "access denied: the mark of " .. here.path, "--every", "0.01", here.path, "true")
    here.tree:set_acl(mark(), { { perms = 1, scheme = "world", id = "anyone" } }) -- it may read
    assert.same(SKIPPED, run("--every", "3600", here.path, "echo", "ran"))
    complains(DENIED, "access denied: the mark of " .. here.path, "--every", "0.01", here.path, "true")
  end)

  it("cannot be given with another kind of lock", function()
    for _, words in ipairs { { "-s" }, { "-x" }, { "--permits", "2" }, { "--also", "/other" } } do
      words[#words + 1] = "--every"
      for _, word in ipairs { "60", here.path, "true" } do words[#words + 1] = word end
      complains(USAGE, "'--every': cannot be given with " .. words[1], unpack(words))
    end
    complains(USAGE, "'--mark': expected with --every", "--mark", "after", here.path, "true")
    complains(USAGE, "'--mark': before or after expected, got 'x'", "--mark", "x", here.path, "true")
    complains(USAGE, "'--every': seconds above 0 expected, got '0'", "--every", "0", here.path, "true")
  end)

  describe("when the link breaks while the mark is written", function()
    --- A run behind a proxy, which is about to send its n-th transaction: the first asks for the time.
    local function behind(proxy, ...) return start { env = { ZKLOCK_SERVERS = proxy.hosts }, ... } end

    local function has_passed_on_term(one)
      one:signal("term")
      wait.eventually(function()
        local status = running.read(("/proc/%d/status"):format(one.pid))
        return status:find "\nShdPnd:\t0+\n" and status:find "\nState:\tS"
      end)
    end

    it("runs the command once, whether the servers have written the mark or not", function()
      for _, verb in ipairs { "lose_reply", "cut_before" } do
        for n = 1, 2 do
          local proxy = here:proxy()
          proxy[verb](proxy, "multi", n)
          local one = behind(proxy, "--every", "3600", here.path, "echo", "ran")
          assert.equal(0, (one:wait()))
          assert.equal("ran\n", one:stdout())
          assert.same({ "once-2147483647" }, here.tree:children(here.path))
          here.tree:delete(mark())
        end
      end
    end)

    it("ends with 76 and without the command when nobody can say whether the mark is written", function()
      local proxy = here:proxy()
      proxy:hold_reply("multi", 2)
      local one = behind(proxy, "--session", "4", "--connect", "8", "--every", "3600", here.path, "echo", "ran")
      wait.eventually(function() return proxy:is_holding() end)
      proxy:refuse()
      assert.equal(UNKNOWN, (one:wait()))
      assert.equal("", one:stdout())
      assert.truthy(one:stderr():find("zklock: unknown: the mark of " .. here.path, 1, true))
    end)

    it("takes the mark back when TERM comes while it writes it before the command", function()
      local proxy = here:proxy()
      proxy:hold_reply("multi", 2)
      local one = behind(proxy, "--once", here.path, "echo", "ran")
      wait.eventually(function() return proxy:is_holding() end)
      assert.truthy(here.tree:exists(mark()))
      local session = running.children(one.pid)
      running.signal(session, "sigstop")
      has_passed_on_term(one)
      proxy:heal()
      wait.eventually(function() return not proxy:is_holding() end)
      running.signal(session, "sigcont")
      assert.same({ 0, 15 }, { one:wait() })
      assert.same({ "", "" }, { one:stdout(), one:stderr() })
      assert.falsy(here.tree:exists(mark()))
    end)

    it("warns of a mark when TERM comes and no server answers, and waits for them once", function()
      local proxy = here:proxy()
      proxy:hold_before("multi", 2)
      local one = behind(proxy, "--once", here.path, "echo", "ran")
      wait.eventually(function() return proxy:is_holding() end)
      one:signal("term")
      assert.same({ 0, 15 }, { one:wait() })
      assert.equal("", one:stdout())
      assert.matches("^zklock: warning: nothing has run, and [^\n]+ may have a mark all the same\n"
        .. "zklock: warning: the release is not confirmed: disconnected: [^\n]+\n$", one:stderr())
      proxy:heal()
    end)

    it("ends by TERM, and not by USR1, while it writes the mark after the command", function()
      local proxy = here:proxy()
      local one = behind(proxy, "--connect", "60", "--every", "3600", "--mark", "after", here.path, "cat")
      here:becomes(1)
      proxy:hold_before("multi")
      one:close_input()
      wait.eventually(function() return proxy:is_holding() end)
      one:signal("usr1")
      one:signal("term")
      assert.same({ 0, 15 }, { one:wait() })
      proxy:heal()
    end)

    --- A run with --mark after whose command has begun: the next transaction is its mark.
    local function before_mark(proxy, ...)
      local words = { "--once", "--mark", "after", ... }
      for _, word in ipairs { here.path, "sh", "-c", "echo began; cat" } do words[#words + 1] = word end
      local one = behind(proxy, unpack(words))
      assert.equal("began", one:read_line(here.patience))
      return one
    end

    -- It gave the mark up, and the next machine ran the command again.
    it("waits a moment for the mark after the command when TERM comes, and ends as the command did", function()
      local proxy = here:proxy()
      local ended, soon
      repeat
        local one = before_mark(proxy)
        proxy:hold_reply("multi")
        one:close_input()
        wait.eventually(function() return proxy:is_holding() end)
        local late = wait.now() + 0.25
        has_passed_on_term(one)
        proxy:heal()
        ended = { one:wait() }
        soon = wait.now() < late
        local marked = here.tree:exists(mark())
        if marked then here.tree:delete(mark()) end
      until ended[2] == 0 or soon -- otherwise the moment may have been over
      assert.same({ 0, 0 }, ended)
    end)

    it("needs no watcher while it writes the mark after the command", function()
      local proxy = here:proxy()
      local one = before_mark(proxy)
      local session = running.children(one.pid)[1]
      proxy:hold_before("multi")
      one:close_input()
      wait.eventually(function() return proxy:is_holding() end)
      running.signal(running.children(session), "sigkill")
      wait.eventually(function() return not running.children(session)[1] end)
      wait.rest(1) -- the servers' fault, for longer than a run that a signal ends waits for them
      proxy:heal()
      assert.same({ 0, 0 }, { one:wait() })
      assert.truthy(here.tree:exists(mark()))
    end)

    it("ends with 76 when its session process is killed while it writes the mark before the command", function()
      local proxy = here:proxy()
      proxy:hold_reply("multi", 2)
      local one = behind(proxy, "--session", "4", "--once", here.path, "echo", "ran")
      wait.eventually(function() return proxy:is_holding() end)
      running.signal(running.children(one.pid), "sigkill")
      assert.equal(UNKNOWN, (one:wait()))
      assert.same({ "", "zklock: unknown: the mark of " .. here.path .. "\n" }, { one:stdout(), one:stderr() })
      proxy:heal()
    end)

    -- It ended with 0, as the command had, and the next machine ran it again.
    it("ends with 76 when its session process is killed while it writes the mark after the command", function()
      local proxy, report = here:proxy(), folder.file("killed.prom", "")
      local one = before_mark(proxy, "--session", "4", "--report", report)
      proxy:hold_before("multi")
      one:close_input()
      wait.eventually(function() return proxy:is_holding() end)
      running.signal(running.children(one.pid), "sigkill")
      assert.equal(UNKNOWN, (one:wait()))
      assert.truthy(one:stderr():find("zklock: unknown: the mark of " .. here.path .. "\n", 1, true), one:stderr())
      assert.truthy(file.read(report):find('outcome="error"} 1\n', 1, true))
      proxy:heal()
    end)

    it("ends with 75 when the lock is lost before the mark after the command", function()
      local one = behind(here.zk, "--on-loss", "ignore", "--every", "3600", "--mark", "after", here.path,
        "sh", "-c", "echo runs; exec cat")
      assert.equal("runs", one:read_line(here.patience))
      here.tree:delete(here.path .. "/" .. here:nodes()[1])
      wait.eventually(function() return here:nodes()[1] == nil end)
      one:close_input()
      assert.equal(LOST, (one:wait()))
      assert.falsy(here.tree:exists(mark()))
    end)
  end)

  -- --on-loss ignore: nobody would end the command if it began
  for _, when in ipairs { "before", "after" } do
    it("does not run the command when the hold has ended since it asked for the mark, --mark " .. when, function()
      local library, made = preload.build("stopper")
      local stopped = made .. "/stopped"
      local one = here:closes(command.start { "run", "--session", "4", "--on-loss", "ignore", "--every", "3600",
        "--mark", when, here.path, "echo", "ran",
        env = { ZKLOCK_SERVERS = here.zk.hosts, LD_PRELOAD = library, STOPPER_MARK = stopped, STOPPER_AT = "start" } },
        function(it) it:kill() end)
      -- its session process, just before it has the command started
      wait.eventually(function() return running.read(stopped) end, nil, "the stop")
      here:becomes(when == "before" and 1 or 0) -- the mark stays
      running.signal(running.children(one.pid), "sigcont")
      assert.equal(LOST, (one:wait()))
      assert.equal("", one:stdout())
      assert.equal("zklock: lost: " .. here.path .. "\n", one:stderr())
      assert.equal(when == "before", here.tree:exists(mark()) ~= nil)
    end)
  end

  it("waits a random time with --splay before it connects", function()
    local one = here:closes(command.start { "run", "-z", "127.0.0.1:1", "--splay", "1000000", "--connect", "0.01",
      here.path, "true" }, function(it) it:kill() end)
    one:signal("term")
    assert.same({ 0, 15 }, { one:wait() }) -- without the pause: 69
    assert.equal("", one:stderr())
    assert.same(RAN, run("--splay", "0.01", here.path, "echo", "ran"))
  end)

  it("keeps in the report when it went well for the last time", function()
    local path = folder.file("job.prom", "")
    run("--report", path, "--every", "3600", here.path, "true")
    local first = file.read(path):match('\nzklock_run_last_success_timestamp_seconds{path="[^"]+"} (%S+)')
    assert.truthy(tonumber(first) > 1e9)
    run("--report", path, "--every", "3600", here.path, "true")
    local text = file.read(path)
    assert.truthy(text:find('outcome="skipped"} 1\n', 1, true))
    assert.equal(first, text:match('\nzklock_run_last_success_timestamp_seconds{path="[^"]+"} (%S+)'))
  end)

  -- With the rights of root the report took the name of /dev/null.
  it("leaves what is no file, and goes on", function()
    local place = folder.new "special"
    assert.equal(0, (process.spawn({ "mkfifo", place .. "/pipe", env = process.PLAIN }):wait()))
    assert(uv.fs_symlink("/dev/null", place .. "/link"))
    for _, name in ipairs { "pipe", "link" } do
      local path = place .. "/" .. name
      local one = here:closes(command.start { "run", "--report", path, "/", "true" }, function(it) it:kill() end)
      assert.equal(USAGE, (one:wait()))
      assert.truthy(one:stderr():find("cannot write the report " .. path .. ": File exists", 1, true), one:stderr())
    end
  end)
end)
