-- SPDX-License-Identifier: MIT
--- `zklock run`: its options, its exit codes, and what the command gets.

local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local port = require "spec.support.port"
local running = require "spec.support.running"
local wait = require "spec.support.wait"

local unpack = unpack or table.unpack -- luacheck: ignore 143

local BUSY, USAGE, DATA, UNAVAILABLE, LOST, DENIED = 1, 64, 65, 69, 75, 77

describe("zklock run #once", function()
  local here = fixture.new("/run", { super = true })

  local at = command.at(here)
  local run, start = at.run, at.start

  local function complains(code, reason, ...)
    local ended = run(...)
    assert.same({ code, "" }, { ended.code, ended.out })
    assert.matches("^zklock: [^\n]+\n$", ended.err)
    assert.truthy(ended.err:find(reason, 1, true), ended.err)
  end

  --- A `run` that holds the lock until its stdin is closed.
  local function holder(...)
    local words = { ... }
    for _, word in ipairs { "sh", "-c", "echo running; cat" } do words[#words + 1] = word end
    local one = start(unpack(words))
    assert.equal("running", one:read_line())
    return one
  end

  it("names the configuration so that the command finds it in another directory", function()
    local file = folder.file("zklock.conf", "session 10\n")
    local place, name = file:match("^(.*)/([^/]+)$")
    local ended = run { "--config", name, here.path, "sh", "-c",
      'echo "$ZKLOCK_CONFIG"; cd / && ' .. command.PROGRAM .. " set " .. here.path .. " x", wrap = { "sh", "-c",
      "shift; cd " .. place .. " && exec " .. command.PROGRAM .. ' "$@"', "sh" } }
    assert.same({ code = 0, out = file .. "\n", err = "" }, ended)
  end)

  it("ends with 65 and says why if its nodes would have more bytes than node-bytes allows", function()
    local file = folder.file("zklock.conf", "node-bytes 1000\n")
    local words = { "--config", file }
    for i = 1, 20 do words[2 * i + 1], words[2 * i + 2] = "--also", here.path .. "/" .. i end
    words[#words + 1], words[#words + 2] = here.path .. "/0", "true"
    complains(65, "1000 (node_bytes): use several clients, or shorter paths", unpack(words))
    assert.equal(0, run("--config", file, here.path, "true").code)
  end)

  describe("ends with", function()
    it("the code of the command", function()
      for _, code in ipairs { 0, 1, 7, 64, 75, 255 } do
        assert.same({ code = code, out = "", err = "" }, run(here.path, "sh", "-c", "exit " .. code))
      end
      assert.same({}, here:nodes())
    end)

    it("the signal that the command has died of", function()
      for name, number in pairs { TERM = 15, KILL = 9, SEGV = 11, USR1 = 10 } do
        local one = start(here.path, "sh", "-c", "kill -" .. name .. " $$")
        assert.same({ 0, number }, { one:wait() })
      end
    end)

    it("126 and 127 as env(1)", function()
      complains(127, "/nowhere/x: No such file", here.path, "/nowhere/x")
      complains(127, "nosuch-command: No such file", here.path, "nosuch-command")
      complains(126, "/etc/passwd: Permission denied", here.path, "/etc/passwd")
    end)

    it("1 or another code when the lock is held", function()
      local one = holder(here.path)
      complains(BUSY, "busy: " .. here.path, "-n", here.path, "true")
      complains(9, "busy: ", "--nonblock", "-E", "9", here.path, "true")
      complains(0, "busy: ", "--nb", "--conflict-exit-code", "0", here.path, "true")
      complains(BUSY, "not free within 0.2 s", "-w", "0.2", here.path, "true")
      complains(BUSY, "busy: ", "--timeout", "0", here.path, "true")
      one:close_input()
      assert.equal(0, one:wait())
    end)

    it("69 when there is no server", function()
      local nobody = "127.0.0.1:" .. port.free()
      for _, words in ipairs { { "-n" }, { "-w", "0.1" }, {} } do
        words[#words + 1] = "--connect"
        words[#words + 1] = "0.3"
        words[#words + 1] = here.path
        words[#words + 1] = "true"
        local ended = command.run { "run", "-z", nobody, unpack(words) }
        assert.equal(UNAVAILABLE, ended.code)
        assert.truthy(ended.err:find("no session within 0.3 s with " .. nobody .. ": connection refused", 1, true),
          ended.err)
      end
    end)

    it("69 when a wait runs out while the servers do not answer", function()
      local one, proxy = holder(here.path), here:proxy()
      local waiter = command.start { "run", "-z", proxy.hosts, "-w", "8", here.path, "true" }
      here:closes(waiter, waiter.kill)
      here:becomes(2)
      proxy:black_hole()
      assert.equal(UNAVAILABLE, (waiter:wait()))
      one:close_input()
      assert.matches("\nzklock: disconnected: the wait ended without contact with [^\n]+\n$", waiter:stderr())
    end)

    it("69 when a wait is without servers for too long, whether it has a limit or not", function()
      local one, proxy = holder(here.path), here:proxy()
      local waiters = {}
      for n, words in ipairs { {}, { "-w", "60" }, { "-w", "8", "--connect", "60" } } do
        words.env = { ZKLOCK_SERVERS = proxy.hosts }
        for i, word in ipairs { "run", "--connect", "8", "--session", "4" } do table.insert(words, i, word) end
        for _, word in ipairs { here.path, "true" } do words[#words + 1] = word end
        waiters[n] = command.start(words)
        here:closes(waiters[n], waiters[n].kill)
      end
      here:becomes(4)
      proxy:refuse()
      proxy:cut()
      for _, waiter in ipairs(waiters) do
        assert.equal(UNAVAILABLE, (waiter:wait()))
        assert.matches("^zklock: disconnected: the wait ended without a connection with [^\n]+\n$", waiter:stderr())
      end
      proxy:heal()
      one:close_input()
    end)

    it("65 when the path is another kind of lock", function()
      local one = holder("-x", here.path)
      complains(DATA, "wrong kind: " .. here.path, here.path, "true")
      one:close_input()
    end)

    it("77 when the servers deny it", function()
      assert(here.tree:create(here.path, "", { parents = true }))
      here.tree:set_acl(here.path, { { perms = 1, scheme = "world", id = "anyone" } })
      complains(DENIED, "access denied: " .. here.path, here.path, "true")
    end)
  end)

  it("ends with 64, and names the argument that is wrong", function()
    for _, case in ipairs {
      { "'PATH': one expected, got none" },
      { "'COMMAND': one expected after PATH", "/x" },
      { "'COMMAND': one expected after PATH", "/x", "--" },
      { "'-c': one SHELL LINE expected, got 0", "/x", "-c" },
      { "'-c': one SHELL LINE expected, got 2", "/x", "-c", "a", "b" },
      { "'-c': expected after PATH", "-c", "true", "/x" },
      { "'-u': a lock is released when", "-u", "/x" },
      { "'--no-fork': zklock has to stay", "--no-fork", "/x", "true" },
      { "'-F': zklock has to stay", "-F", "/x", "true" },
      { "'-E': integer from 0 to 255 expected, got '256'", "-E", "256", "/x", "true" },
      { "'-w': seconds >= 0 expected, got '-1'", "-w", "-1", "/x", "true" },
      { "'--permits': integer from 1", "--permits", "0", "/x", "true" },
      { "'--session': seconds above 0 expected", "--session", "0", "/x", "true" },
      { "'--session': seconds above 0 and up to 3600 expected", "--session", "3601", "/x", "true" },
      { "'--on-loss': kill, term or ignore expected, got 'stop'", "--on-loss", "stop", "/x", "true" },
      { "'--mark': before or after expected, got 'x'", "--mark", "x", "/x", "true" },
      { "'--mark': expected with --every or --once only", "--mark", "after", "/x", "true" },
      { "'--every': seconds above 0 expected", "--every", "0", "/x", "true" },
      { "'--every': seconds above 0 expected, got '-1'", "--every", "-1", "/x", "true" },
      { "'--once': cannot be given with --every", "--once", "--every", "5", "/x", "true" },
      { "'--once': cannot be given with --every", "--every", "5", "--once", "/x", "true" },
      { "'--once': cannot be given with -x", "-x", "--once", "/x", "true" },
      { "'--every': cannot be given with -s", "--every", "1", "-s", "/x", "true" },
      { "'--every': cannot be given with -x", "-x", "--every", "1", "/x", "true" },
      { "'--every': cannot be given with --permits", "--permits", "2", "--every", "1", "/x", "true" },
      { "'--every': cannot be given with --also", "--also", "/y", "--every", "1", "/x", "true" },
      { "'--permits': cannot be given with -s or -x", "-x", "--permits", "2", "/x", "true" },
      { "'--also': cannot be given with -s or -x", "-s", "--also", "/y", "/x", "true" },
      { "'--also': a path that is no other's", "--also", "/x/y", "/x", "true" },
      { "'--also': path 'y'", "--also", "y", "/x", "true" },
      { "'-s': cannot be given with -x", "-s", "-x", "/x", "true" },
      { "'--identifier': '__REVOKE__'", "--identifier", "__REVOKE__", "/x", "true" },
      { "'--identifier': at most 1024 bytes expected, got 1025", "--identifier", ("i"):rep(1025), "/x", "true" },
      { "'--report': a file's name expected, got ''", "--report", "", "/x", "true" },
      { "'--colour': unknown option", "--colour", "/x", "true" },
      { "'PATH': path 'x'", "x", "true" },
    } do
      complains(USAGE, "bad argument " .. case[1], unpack(case, 2))
    end
  end)

  it("compares the grace with the session that the servers have granted", function()
    complains(USAGE, "'--grace': from 0.5 s to a quarter of the session expected, got 0.4 s with a session of 8 s",
      "--session", "8", "--grace", "0.4", here.path, "true")
    complains(USAGE, "got 2.1 s with a session of 8 s", "--session", "8", "--grace", "2.1", here.path, "true")
    complains(USAGE, "'--session': 2 s or more expected for a grace of 0.5 s, the servers have granted 1 s",
      "--session", "1", here.path, "true")
    assert.equal(0, run("--session", "8", "--grace", "2", here.path, "true").code)
    assert.equal(0, run("--session", "2", "--grace", "0.5", here.path, "true").code)
  end)

  it("shows its help and its version, also by flock's letters", function()
    for _, word in ipairs { "-h", "--help" } do
      local ended = run("-n", word)
      assert.same({ 0, "" }, { ended.code, ended.err })
      assert.matches("^usage: zklock run ", ended.out)
    end
    for _, word in ipairs { "-V", "--version" } do assert.matches("^zklock %d", run(word).out) end
  end)

  it("takes options up to PATH, and no further", function()
    assert.equal("-n --help\n", run(here.path, "echo", "-n --help").out)
    assert.equal("-n x\n", run(here.path, "--", "printf", "%s %s\\n", "-n", "x").out)
    assert.equal("--\n", run("--", here.path, "--", "echo", "--").out)
  end)

  it("gives -c to the shell of the user, else to /bin/sh", function()
    local shell = folder.file("shell", '#!/bin/sh\necho "mine: $*"\n')
    assert(require("luv").fs_chmod(shell, 448))
    local function line(...)
      return run({ here.path, "-c", "echo $((1 + 1))", env = { SHELL = ... } }).out
    end
    assert.equal("mine: -c echo $((1 + 1))\n", line(shell))
    assert.equal("2\n", line(""))
    assert.equal("2\n", line(false))
    assert.equal("hi\n", run(here.path, "--command", "echo hi").out)
  end)

  it("tells the command about its lock, and never the session", function()
    local ended = run("--also", here.path .. "-2", here.path, "-c", "env; sleep 1")
    local seen = {}
    local text = ended.out:gsub("ZKLOCK_NODE=(.-\n.-)\n", function(nodes) seen.ZKLOCK_NODE = nodes return "" end)
    for name, value in text:gmatch("(ZKLOCK_[A-Z]+)=([^\n]*)\n") do seen[name] = value end
    assert.matches("^%d+$", seen.ZKLOCK_TOKEN)
    assert.equal(here.path, seen.ZKLOCK_PATH)
    assert.equal("mutex", seen.ZKLOCK_KIND)
    assert.equal(here.zk.hosts, seen.ZKLOCK_SERVERS)
    assert.matches("^" .. here.path .. "/[^\n]+%-lock%-%d+\n" .. here.path .. "%-2/[^\n]+%-lock%-%d+$",
      (seen.ZKLOCK_NODE:gsub("%-2/", "-2/")))
    assert.is_nil(ended.out:lower():find("session", 1, true))
  end)

  it("names the kind of its lock", function()
    for word, words in pairs {
      mutex = {}, read = { "-s" }, write = { "--exclusive" }, semaphore = { "--permits", "3" },
    } do
      words[#words + 1] = here.path .. "/" .. word
      words[#words + 1] = "-c"
      words[#words + 1] = "echo $ZKLOCK_KIND"
      assert.equal(word .. "\n", run(unpack(words)).out)
    end
  end)

  it("takes the same locks as the library", function()
    local client = here:connect()
    local rwlock = client:rwlock(here.path .. "/rw")
    for _, case in ipairs {
      { client:mutex(here.path .. "/m"), here.path .. "/m" },
      { client:semaphore(here.path .. "/s", 1), "--permits", "1", here.path .. "/s" },
      { rwlock.read, "-x", here.path .. "/rw" },
      { rwlock.write, "-s", here.path .. "/rw" },
      { client:multilock { here.path .. "/a", here.path .. "/b" }, "--also", here.path .. "/b", here.path .. "/c" },
    } do
      local lease = assert(case[1]:acquire(here.patience))
      local words = { unpack(case, 2) }
      words[#words + 1] = "true"
      complains(BUSY, "busy", "-n", unpack(words))
      local held = type(lease) == "table" and lease or case[1]
      assert(held:release())
      assert(client:flush(here.patience))
      assert.equal(0, run("-n", unpack(words)).code)
    end
    assert(rwlock.read:acquire(here.patience))
    assert.equal(0, run("-n", "-s", here.path .. "/rw", "true").code)
  end)

  it("is never busy with its own node of a moment ago", function()
    for _ = 1, 20 do assert.same({ code = 0, out = "", err = "" }, run("-n", here.path, "true")) end
    assert.same({}, here:nodes())
  end)

  it("ends with 75 when its command deletes a node of the lock, every time", function()
    for i, words in ipairs { {}, { "-s" }, { "-x" }, { "--permits", "2" }, { "--also", here.path .. "-also" } } do
      local path = here.path .. "-" .. i
      for _, word in ipairs { path, "sh", "-c", command.PROGRAM .. ' delete "$(echo "$ZKLOCK_NODE" | tail -n 1)"' } do
        words[#words + 1] = word
      end
      for _ = 1, 10 do
        assert.same({ code = LOST, out = "", err = "zklock: lost: " .. path .. "\n" }, run(unpack(words)))
      end
    end
  end)

  it("ends with 75 when its node was deleted while the servers were out of reach", function()
    local proxy = here:proxy()
    local one = here:closes(command.start { "run", "--session", "30", here.path, "sh", "-c", "echo running; cat",
      env = { ZKLOCK_SERVERS = proxy.hosts } }, function(it) it:kill() end)
    assert.equal("running", one:read_line())
    local below = running.processes(one).command
    proxy:refuse()
    proxy:cut()
    here.tree:delete(here.path .. "/" .. here:nodes()[1])
    one:close_input()
    wait.eventually(function() return not running.is_alive(below) end, here.patience, "the end of the command")
    proxy:heal()
    assert.same({ LOST, 0 }, { one:wait(here.patience) })
  end)

  --- A process that outlives its parent, in a session of its own, until `finish` is called.
  local function leftover()
    local file = folder.new("left") .. "/end"
    local function finish() assert(io.open(file, "w")):close() end
    here:afterwards(finish)
    return ("setsid sh -c 'while [ ! -e %s ]; do sleep 0.02; done; echo over >%s.seen' <&- >&- 2>&- &"):format(
      file, file), finish, file .. ".seen"
  end

  it("keeps the lock until the last descendant is gone", function()
    local left, finish, seen = leftover()
    local one = start(here.path, "sh", "-c", left .. " echo left; exit 3")
    assert.equal("left", one:read_line())
    complains(BUSY, "busy", "-w", "0.3", here.path, "true")
    assert.is_true(one:is_running())
    finish()
    assert.equal(3, (one:wait()))
    assert(io.open(seen)):close()
    assert.equal(0, run("-n", here.path, "true").code)
  end)

  it("with -o releases when the command ends, and lets go what it has left behind", function()
    local left, finish, seen = leftover()
    assert.equal(3, run("-o", here.path, "sh", "-c", left .. " exit 3").code)
    assert.equal(0, run("-n", here.path, "true").code)
    finish()
    wait.eventually(function()
      local file = io.open(seen)
      return file and file:close()
    end, here.patience)
  end)
end)
