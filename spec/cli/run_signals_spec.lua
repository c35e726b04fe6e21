-- SPDX-License-Identifier: MIT
--- `zklock run` and signals, and what the command inherits.

local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local lfs = require "lfs"
local process = require "spec.support.process"
local running = require "spec.support.running"
local uv = require "luv"
local wait = require "spec.support.wait"

local unpack = unpack or table.unpack -- luacheck: ignore 143

local NUMBERS = { TERM = 15, INT = 2, HUP = 1, QUIT = 3, USR1 = 10, USR2 = 12 }
local ENDING = { "TERM", "INT", "HUP", "QUIT" }

describe("zklock run #once", function()
  local here = fixture.new("/run-signals")

  local zklock = command.at(here)
  local run, start = zklock.run, zklock.start

  local function is_free() assert.same({ code = 0, out = "", err = "" }, run { "-n", here.path, "true" }) end

  describe("while it queues", function()
    local holder

    before_each(function()
      holder = start { here.path, "sh", "-c", "echo began; cat" }
      assert.equal("began", holder:read_line(here.patience))
    end)

    for _, name in ipairs(ENDING) do
      it("ends by " .. name .. ", and leaves no node", function()
        local waiter = start { here.path, "echo", "ran" }
        here:becomes(2)
        waiter:signal(name)
        assert.same({ 0, NUMBERS[name] }, { waiter:wait(here.patience) })
        assert.same({ "", "" }, { waiter:stdout(), waiter:stderr() })
        assert.equal(1, #here:nodes())
      end)
    end

    it("goes on waiting after USR1 and USR2", function()
      local waiter = start { here.path, "echo", "ran" }
      here:becomes(2)
      waiter:signal("usr1")
      waiter:signal("usr2")
      holder:close_input()
      assert.same({ 0, 0 }, { waiter:wait(here.patience) })
      assert.equal("ran\n", waiter:stdout())
    end)

    it("goes on waiting after a signal that was ignored or blocked when it began", function()
      for _, how in ipairs { "--ignore-signal=TERM", "--block-signal=TERM" } do
        local waiter = start { here.path .. "-2", "sleep", "0", wrap = { "env", how } }
        assert.same({ 0, 0 }, { waiter:wait(here.patience) })
        waiter = start { here.path, "true", wrap = { "env", how } }
        here:becomes(2)
        waiter:signal("term")
        waiter:signal("hup")
        assert.same({ 0, 1 }, { waiter:wait(here.patience) })
      end
    end)

    --- A waiter that is stopped when the lock is granted to it; and a run that has the lock afterwards.
    local function stopped_waiter(...)
      local waiter = start { ... }
      here:becomes(2)
      waiter:stop()
      holder:close_input()
      assert.equal(0, (holder:wait(here.patience)))
      local other = start { here.path, "sh", "-c", "echo began; cat" }
      assert.equal("began", other:read_line(here.patience))
      return waiter, other
    end

    it("gives the lock back if it is stopped when it is granted, and queues anew when it goes on", function()
      local waiter, other = stopped_waiter(here.path, "echo", "ran")
      here:becomes(1)
      waiter:continue()
      here:becomes(2)
      assert.equal("", waiter:stdout())
      other:close_input()
      assert.same({ 0, 0 }, { waiter:wait(here.patience) })
      assert.equal("ran\n", waiter:stdout())
    end)

    it("counts the time for which it was stopped with -w", function()
      local waiter, other = stopped_waiter("-w", "1", here.path, "echo", "ran")
      other:close_input()
      assert.equal(0, (other:wait(here.patience)))
      waiter:continue()
      assert.same({ 1, 0 }, { waiter:wait(here.patience) })
      assert.equal("", waiter:stdout())
    end)

    it("ends by a signal when it goes on after the lock was given back", function()
      local waiter = stopped_waiter(here.path, "echo", "ran")
      waiter:signal("term")
      waiter:continue()
      assert.same({ 0, 15 }, { waiter:wait(here.patience) })
      assert.equal("", waiter:stdout())
      here:becomes(1)
    end)

    for _, how in ipairs { "black_hole", "refuse" } do
      it("ends by TERM without waiting for servers that are out of reach: " .. how, function()
        local proxy = here:proxy()
        local waiter = start { "--session", "40", here.path, "true", env = { ZKLOCK_SERVERS = proxy.hosts } }
        here:becomes(2)
        proxy[how](proxy)
        if how == "refuse" then proxy:cut() end
        waiter:signal("term")
        assert.same({ 0, 15 }, { waiter:wait(here.patience) })
        assert.matches("^zklock: warning: the end of the wait is not confirmed: %a+: others wait for 40 s at most\n$",
          waiter:stderr())
        proxy:heal()
      end)
    end

    it("ends by a signal although it has not connected yet", function()
      for _, words in ipairs { { "--splay", "1000", here.path, "true" },
        { "--connect", "1000", here.path, "true", env = { ZKLOCK_SERVERS = "127.0.0.1:1" } } } do
        local waiter = start(words)
        wait.eventually(function()
          local session = running.children(waiter.pid)[1]
          return session and running.children(session)[1]
        end)
        waiter:signal("term")
        assert.same({ 0, 15 }, { waiter:wait(here.patience) })
      end
    end)
  end)

  describe("while the command runs", function()
    for name, number in pairs(NUMBERS) do
      it("passes " .. name .. " on to the command's process group", function()
        local one = start { here.path, "sh", "-c", ([[
          trap 'echo parent; exit 5' NAME
          sh -c "trap 'echo child; exit' NAME; echo began; while :; do sleep 0.02; done"
          exit 9]]):gsub("NAME", name) }
        assert.equal("began", one:read_line(here.patience))
        one:signal(name)
        assert.same({ 5, 0 }, { one:wait(here.patience) })
        assert.matches("parent\n", one:stdout())
        assert.matches("child\n", one:stdout())
        is_free()
      end)

      it("ends by " .. name .. " if the command does", function()
        local one = start { here.path, "sh", "-c", "echo began; while :; do sleep 0.02; done" }
        assert.equal("began", one:read_line(here.patience))
        one:signal(name)
        assert.same({ 0, number }, { one:wait(here.patience) })
        is_free()
      end)
    end

    it("passes TERM on to a command that has left its process group", function()
      local one = start { here.path, "python3", "-c", "import os, time\nos.setpgid(0, os.getpgid(os.getppid()))\n"
        .. "print('began', flush=True)\ntime.sleep(1000)" }
      assert.equal("began", one:read_line(here.patience))
      one:signal("term")
      assert.same({ 0, NUMBERS.TERM }, { one:wait(here.patience) })
    end)

    it("passes TERM on to what the command has left behind", function()
      local one = start { here.path, "sh", "-c", "setsid sh -c 'trap \"echo heard; exit\" TERM; echo $$; "
        .. "while :; do sleep 0.02; done' & exit 4" }
      local left = tonumber(one:read_line(here.patience))
      local watcher = running.processes(one).watcher
      wait.eventually(function()
        local children = running.children(watcher)
        return #children == 1 and children[1] == left
      end)
      one:signal("term")
      assert.same({ 4, 0 }, { one:wait(here.patience) })
      assert.equal("heard\n", one:stdout())
    end)

    --- A run whose command has a daemon in a session of its own. Both end by TERM.
    local function with_daemon()
      local one = start { here.path, "sh", "-c", "setsid sh -c 'trap \"echo heard; exit\" TERM; echo began; "
        .. "while :; do sleep 0.02; done' & exec sleep 1000" }
      assert.equal("began", one:read_line(here.patience))
      return one, running.processes(one)
    end

    it("passes TERM on to a daemon of its own session once the command has ended", function()
      local one, processes = with_daemon()
      one:signal("term")
      wait.eventually(function()
        local children = running.children(processes.watcher) -- the daemon, once it is an orphan
        return #children == 1 and children[1] ~= processes.command
      end)
      assert.equal("", one:stdout())
      assert.equal(1, #here:nodes())
      one:signal("term")
      assert.same({ 0, NUMBERS.TERM }, { one:wait(here.patience) })
      assert.equal("heard\n", one:stdout())
      is_free()
    end)

    -- TERM and CONT to each process of the unit: that is KillMode=control-group, systemd's default
    it("ends, and releases, when systemd sends TERM to all processes of its unit", function()
      local one = with_daemon()
      local unit = running.descendants(one.pid, { one.pid })
      for _, name in ipairs { "sigterm", "sigcont" } do running.signal(unit, name) end
      assert.same({ 0, NUMBERS.TERM }, { one:wait(here.patience) })
      assert.equal("heard\n", one:stdout())
      assert.is_true(running.all_dead(unit))
      is_free()
    end)

    it("ends with the command's code if it traps TERM and the lock was kept", function()
      local one = start { here.path, "sh", "-c", "trap 'exit 0' TERM; echo began; while :; do sleep 0.02; done" }
      assert.equal("began", one:read_line(here.patience))
      one:signal("term")
      assert.same({ 0, 0 }, { one:wait(here.patience) })
    end)

    it("never loses a signal around the grant, and leaves no node", function()
      for i = 1, 25 do
        local one = start { here.path, "sleep", "1000" }
        wait.rest((i - 1) * 0.002) -- around the grant
        one:signal("term")
        assert.same({ 0, 15 }, { one:wait(here.patience) })
        assert.same({}, here:nodes())
      end
    end)
  end)

  describe("gives the command", function()
    local function signals(status)
      return { status:match("SigBlk:%s*(%x+)"), status:match("SigIgn:%s*(%x+)") }
    end

    --- The same without zklock.
    local function plain(...)
      local one = process.spawn { env = process.PLAIN, ... }
      one:wait(here.patience)
      return one:stdout()
    end

    it("the ignored signals and the mask that it has inherited #bare", function()
      for _, words in ipairs {
        { "env", "--default-signal", "--ignore-signal=TERM,CHLD,PIPE,USR1,TSTP" },
        { "env", "--default-signal", "--block-signal=TERM,CHLD,INT,USR2,CONT" },
        { "env", "--default-signal" },
        { "env", "--ignore-signal", "--block-signal" },
      } do
        local show = { unpack(words) }
        show[#show + 1] = "cat"
        show[#show + 1] = "/proc/self/status"
        local with = run { here.path, "cat", "/proc/self/status", wrap = words }
        assert.same(signals(plain(unpack(show))), signals(with.out), table.concat(words, " "))
      end
    end)

    it("the caller's descriptors, and no other", function()
      local script = 'exec 7</dev/null 9>&1; exec "$@"'
      local without = plain("sh", "-c", script, "sh", "ls", "/proc/self/fd")
      local with = run { here.path, "ls", "/proc/self/fd", wrap = { "sh", "-c", script, "sh" } }.out
      assert.matches("7\n", with)
      assert.equal(without, with)
    end)

    it("closed standard descriptors as they were, and says nothing into them", function()
      local file = folder.file("out", "")
      local ended = run { here.path, "sh", "-c", "echo kept >" .. file .. "; [ ! -e /proc/$$/fd/0 ] && "
        .. "[ ! -e /proc/$$/fd/1 ] && [ ! -e /proc/$$/fd/2 ]", wrap = { "sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh" } }
      assert.equal(0, ended.code)
      assert.equal("kept\n", running.read(file))
      assert.equal(127, run { here.path, "/nowhere", wrap = { "sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh" } }.code)
    end)

    -- A sanitizer has its options in the environment.
    it("cron's empty environment, and what zklock adds #bare", function()
      local ended = run { "-z", here.zk.hosts, here.path, "-c", "echo $ZKLOCK_PATH $HOME", wrap = { "env", "-i" } }
      assert.same({ code = 0, out = here.path .. "\n", err = "" }, ended)
    end)

    it("a process group of its own when there is no terminal", function()
      local one = start { here.path, "sh", "-c", "ps -o pgid= -p $$; cat", wrap = { "setsid", "-w" } }
      local group = tonumber(one:read_line(here.patience))
      assert.is_true(running.is_alive(group))
      assert.not_equal(one.pid, group)
      one:close_input()
      assert.equal(0, (one:wait(here.patience)))
    end)
  end)

  it("ends although nobody reads its messages", function()
    local pipe = folder.new "pipe" .. "/full"
    local full = ("mkfifo %s && exec 2<>%s && dd if=/dev/zero of=%s bs=4096 oflag=nonblock 2>/dev/null; "
      .. 'exec "$@"'):format(pipe, pipe, pipe)
    local one = start { "/", "true", wrap = { "sh", "-c", full, "sh" } }
    assert.equal(64, (one:wait(here.patience)))
  end)

  it("ends as its command does when it may not write a byte to a file #bare", function()
    local home = folder.new("limited")
    local err, limit = folder.file("err", ""), 'ulimit -f 0; exec "$@" 2>"$ERR"'
    local ended = run { "--verbose", "--report", home .. "/report", here.path, "sh", "-c", "exit 7",
      env = { ERR = err }, wrap = { "sh", "-c", limit, "sh" } }
    assert.same({ code = 7, out = "", err = "" }, ended)
    for name in lfs.dir(home) do assert.matches("^%.+$", name) end
  end)

  --- A shell that replaces its standard error, which is the file $ERR then, and executes the words behind.
  local function without_errors(script)
    return { "sh", "-c", script .. '; exec "$@"', "sh" }
  end

  --- The exit codes of runs, and of another subcommand, that all write to standard error.
  local function codes(wrap, err)
    local exposed = folder.file("exposed.conf", "auth digest somebody:secret\nacl open\n")
    assert(uv.fs_chmod(exposed, tonumber("644", 8)))
    local all = {}
    for i, words in ipairs { { "run", "--config", exposed, here.path, "sh", "-c", "exit 7" },
      { "run", here.path, "no-such-command" }, { "run", "--grace", "x", here.path, "true" },
      { "get", here.path .. "/nowhere" } } do
      words.env, words.wrap = { ERR = err }, wrap
      all[i] = command.run(zklock.options(words)).code
    end
    return all
  end

  it("exits with the code of what has happened although nobody can read standard error any more", function()
    local wrap = without_errors 'exec 3<>"$ERR" 2>"$ERR" 3>&-'
    local pipe = folder.new "pipe" .. "/broken"
    assert.equal(0, (process.spawn({ "mkfifo", pipe, env = process.PLAIN }):wait()))
    assert.same({ 7, 127, 64, 66 }, codes(wrap, pipe))
  end)

  it("exits with the code of what has happened when it may not write a byte to standard error #bare", function()
    assert.same({ 7, 127, 64, 66 }, codes(without_errors 'ulimit -f 0; exec 2>"$ERR"', folder.file("err", "")))
  end)

  local function has_namespaces()
    local ok = os.execute("unshare --pid --fork --mount-proc --kill-child true 2>/dev/null")
    return ok == true or ok == 0
  end

  it("as process 1 ends with 128 and the signal #bare", function()
    local unshare = { "unshare", "--pid", "--fork", "--mount-proc", "--kill-child" }
    if not has_namespaces() then return pending("needs a process namespace") end
    assert.equal(128 + 9, run { here.path, "-c", "kill -9 $$", wrap = unshare }.code)
    assert.equal(7, run { here.path, "-c", "exit 7", wrap = unshare }.code)
  end)

  it("as process 1 reaps what other processes leave behind #bare", function()
    local unshare = { "unshare", "--pid", "--fork", "--mount-proc", "--kill-child" }
    if not has_namespaces() then return pending("needs a process namespace") end
    local one = start { here.path, "sh", "-c", "echo began; cat", wrap = unshare }
    assert.equal("began", one:read_line(here.patience))
    local front = running.children(one.pid)[1]
    assert(os.execute(("nsenter --target %d --pid sh -c 'true & exec true'"):format(front)))
    wait.eventually(function() return #running.children(front) == 1 end, here.patience, "the end of the orphan")
    one:close_input()
    assert.same({ 0, 0 }, { one:wait(here.patience) })
  end)

  it("does not run where /proc is that of another PID namespace #bare", function()
    local unshare = { "unshare", "--pid", "--fork", "--kill-child" }
    if os.execute(table.concat(unshare, " ") .. " true 2>/dev/null") ~= true and
      os.execute(table.concat(unshare, " ") .. " true 2>/dev/null") ~= 0 then
      return pending("needs the right to unshare")
    end
    local ended = run { here.path, "echo", "ran", wrap = unshare }
    assert.same({ 70, "" }, { ended.code, ended.out })
    assert.matches("^zklock: cannot run a command: [^\n]*another PID namespace[^\n]*\n$", ended.err)
  end)

  it("says what is missing when /proc is not mounted #bare", function()
    local unshare = { "unshare", "--mount", "sh", "-c", 'umount -l /proc && exec "$@"', "sh" }
    if os.execute("unshare --mount sh -c 'umount -l /proc' 2>/dev/null") ~= true and
      os.execute("unshare --mount sh -c 'umount -l /proc' 2>/dev/null") ~= 0 then
      return pending("needs a mount namespace")
    end
    local ended = run { here.path, "true", wrap = unshare }
    assert.equal(70, ended.code)
    assert.matches("^zklock: cannot run a command: /proc is not mounted, or [^\n]*\n$", ended.err)
  end)
end)
