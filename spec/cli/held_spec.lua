-- SPDX-License-Identifier: MIT
--- `zklock held` and --report: what a run tells of itself on its machine.

local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local file = require "spec.support.file"
local process = require "spec.support.process"
local uv = require "luv"
local wait = require "spec.support.wait"

local unpack = unpack or table.unpack -- luacheck: ignore 143

local BUSY, DATA, LOST = 1, 65, 75
local PROGRAM = command.PROGRAM

describe("below zklock run #once", function()
  local here = fixture.new("/held")

  local at = command.at(here)
  local run = at.run

  --- A `run` whose command obeys: it runs each line of its stdin in a shell.
  local function start(...)
    local one, line = at.holder("echo up; while read -r line; do eval \"$line\"; done", ...)
    assert.equal("up", line)
    return one
  end

  local function says(one, line)
    one:write(line)
    return one:read_line()
  end

  local function node() return here.path .. "/" .. here.tree:children(here.path)[1] end

  local function missing(path) return not uv.fs_stat(path) end

  describe("zklock held", function()
    it("says for how many seconds the lock is certainly held", function()
      local one = start("--session", "10")
      local left = tonumber(says(one, PROGRAM .. " held"))
      assert.truthy(left > 0 and left <= 10, tostring(left))
      assert.equal("0", says(one, PROGRAM .. " held >/dev/null; echo $?"))
    end)

    it("ends with 75 when the lock is lost", function()
      local one = start("--on-loss", "ignore")
      here.tree:delete(node())
      wait.eventually(function() return says(one, PROGRAM .. " held >/dev/null 2>&1; echo $?") == "75" end)
      assert.equal("zklock: lost", says(one, PROGRAM .. " held 2>&1"))
    end)

    it("asks the servers when the session process is stopped", function()
      local one = start("--on-loss", "ignore")
      local session = says(one, "ps -o ppid= -p $PPID | tr -d ' '") -- the parent of the watcher
      assert(uv.kill(tonumber(session), "sigstop"))
      assert.equal("0:", says(one, "s=$(" .. PROGRAM .. " held 2>&1); echo $?:$s"))
      uv.kill(tonumber(session), "sigcont")
    end)

    it("ends with 75 where there is no run", function()
      local directory = says(start(), "echo $ZKLOCK_RUN")
      assert.same({ code = LOST, out = "", err = "zklock: not held: no zklock run above this process (ZKLOCK_RUN is "
        .. "not set)\n" }, command.run({ "held" }))
      for _, path in ipairs { "/nowhere", "relative", "", ":", ("/x"):rep(1000), directory .. "x" } do
        assert.same({ code = LOST, out = "", err = "zklock: not held: the zklock run above this process does not "
          .. "answer, and ZKLOCK_NODE is not set\n" }, command.run({ "held", env = { ZKLOCK_RUN = path } }))
      end
    end)

    describe("where no run answers", function()
      local nodes

      --- Of a command that has the nodes alone.
      local function held(words)
        words.env = { ZKLOCK_NODE = words.nodes or nodes, ZKLOCK_SERVERS = words.hosts or here.zk.hosts,
          ZKLOCK_CONFIG = words.config }
        table.insert(words, "held")
        return command.run(words)
      end

      before_each(function()
        local paths = {}
        for _, name in ipairs { "a", "b" } do
          paths[#paths + 1] = ("%s-%s/_c_%s-lock-0000000001"):format(here.path, name, ("1"):rep(36))
          assert(here.tree:create(paths[#paths], "", { parents = true }))
        end
        nodes = table.concat(paths, "\n")
      end)

      it("finds all nodes of the lock, and writes nothing", function()
        assert.same({ code = 0, out = "", err = "" }, held {})
      end)

      it("ends with 75 when one of them is gone, and names it", function()
        local gone = nodes:match("\n(.*)")
        here.tree:delete(gone)
        assert.same({ code = LOST, out = "", err = "zklock: lost: " .. gone .. "\n" }, held {})
      end)

      it("ends with 69 when no server answers within a second", function()
        local silent = here:proxy()
        silent:black_hole()
        for _, hosts in ipairs { "127.0.0.1:1", silent.hosts } do
          local ended = held { hosts = hosts }
          assert.same({ 69, "" }, { ended.code, ended.out })
          assert.matches("^zklock: disconnected: no session within 1 s", ended.err)
        end
      end)

      -- It said "unknown", and not of what.
      it("ends with 69, and names a node, when the servers answer no more", function()
        local silent = here:proxy()
        silent:hold_before("multi")
        assert.same({ code = 69, out = "", err = "zklock: timeout: " .. nodes:match("[^\n]+") .. "\n" },
          held { hosts = silent.hosts })
      end)

      it("asks again when the connection breaks before the answer", function()
        wait.eventually(function() -- a busy machine needs more than a second to reconnect
          local way = here:proxy()
          way:lose_reply("multi")
          local ended = held { hosts = way.hosts }
          return ended.code == 0, ended.err
        end)
      end)

      it("ends with 77 when it may not read them", function()
        nodes = here.path .. "-shut/_c_" .. ("1"):rep(36) .. "-lock-0000000001"
        assert(here.tree:create(nodes, "", { parents = true, acl = { { perms = 31, scheme = "digest", id = "x:y" } } }))
        local ended = held {}
        assert.same({ 77, "" }, { ended.code, ended.out })
        assert.matches("^zklock: access denied", ended.err)
      end)

      it("ends with 64 when ZKLOCK_NODE names no nodes of a lock", function()
        for _, list in ipairs { "", "/x", "relative", "/\27[2J" } do
          local ended = held { nodes = list }
          assert.same({ 64, "" }, { ended.code, ended.out })
          assert.truthy(ended.err:find("zklock: bad argument '$ZKLOCK_NODE': ", 1, true), ended.err)
        end
      end)
    end)

    describe("of another user", function()
      local NOBODY = 65534

      --- A shell's words for a program that nobody runs.
      local function as_nobody(words) return "setpriv --reuid=" .. NOBODY .. " --clear-groups " .. words end

      before_each(function()
        if uv.getuid() ~= 0 then pending("needs root") end
      end)

      it("asks the servers, and is not wrong", function()
        local one = start("--on-loss", "ignore")
        assert.equal("0:", says(one, "s=$(" .. as_nobody(PROGRAM) .. " held 2>&1); echo $?:$s"))
        here.tree:delete(node())
        assert.truthy(says(one, "s=$(" .. as_nobody(PROGRAM) .. " held 2>&1); echo $?:$s")
          :find("75:zklock: lost: " .. here.path .. "/", 1, true))
      end)

      it("ends with 77 when that user may not read the configuration", function()
        local config = folder.file("zklock.conf", "hosts " .. here.zk.hosts .. "\n")
        assert(uv.fs_chmod(config, tonumber("600", 8)))
        local ended = run("--config", config, here.path, "sh", "-c", as_nobody(PROGRAM) .. " held")
        assert.same({ 77, "" }, { ended.code, ended.out })
        assert.matches("cannot read the configuration: Permission denied\n$", ended.err)
      end)

      it("of the same path is a deadlock for a run, too", function()
        local ended = run(here.path, "sh", "-c", as_nobody(PROGRAM) .. " run " .. here.path .. " true")
        assert.same({ code = DATA, out = "", err = "zklock: deadlock: a zklock run above this one holds " .. here.path
          .. "\n" }, ended)
      end)

      --- A program that says as NOBODY, on the socket of `directory`, that the lock is held for an hour.
      local LIAR = [[
import os, socket, struct, sys
listener = socket.socket(socket.AF_UNIX)
if sys.argv[2] == "own": os.chown(sys.argv[1], 65534, -1)
os.setuid(65534)
listener.bind(sys.argv[1] + "/held")
listener.listen()
print("ready", flush=True)
while True:
    link = listener.accept()[0]
    link.sendall(struct.pack("=IIIIq", 1, 0, 0, 0, 3600 * 10 ** 9))
    link.close()
]]

      it("does not believe another user's socket or folder", function()
        for _, whose in ipairs { "own", "ours" } do
          local directory = assert(uv.fs_mkdtemp("/tmp/zklock-liar-XXXXXX"))
          assert(uv.fs_chmod(directory, tonumber("777", 8)))
          local liar = here:closes(process.spawn { "python3", "-c", LIAR, directory, whose, env = process.PLAIN },
            process.kill)
          assert.equal("ready", liar:read_line())
          local ended = command.run { "held", env = { ZKLOCK_RUN = directory } }
          assert.same({ LOST, "" }, { ended.code, ended.out }, whose)
          os.remove(directory .. "/held")
          os.remove(directory)
        end
      end)
    end)

    it("answers many at once", function()
      local one = start()
      assert.equal("30", says(one, "for i in $(seq 30); do { " .. PROGRAM
        .. " held >/dev/null && echo held; } & done | wc -l"))
    end)
  end)

  it("has a directory that only its user may enter, and removes it", function()
    for _, how in ipairs { "exit", "kill" } do
      local one = start()
      local directory = says(one, "echo $ZKLOCK_RUN")
      assert.equal("40700", ("%o"):format(uv.fs_stat(directory).mode))
      if how == "kill" then one:signal("kill") else one:close_input() end
      one:wait()
      wait.eventually(function() return missing(directory) end)
    end
  end)

  it("uses another directory when TMPDIR is of no use", function()
    for _, tmp in ipairs { "/nowhere", "relative", "/tmp/a:b", "/" .. ("x"):rep(300) } do
      local ended = run { here.path, "sh", "-c", PROGRAM .. " held >/dev/null; echo $ZKLOCK_RUN",
        env = { TMPDIR = tmp, XDG_RUNTIME_DIR = false } }
      assert.same({ 0, "" }, { ended.code, ended.err })
      assert.matches("^/tmp/zklock%-", ended.out)
    end
  end)

  it("does not ask the run above a run that cannot be asked #bare", function()
    local unshare = { "unshare", "--mount", "sh", "-c", "mount --bind /tmp /tmp && mount -o remount,bind,ro /tmp && "
      .. 'exec "$@"', "sh" }
    if command.run { "--version", wrap = unshare }.code ~= 0 then return pending("needs a mount namespace") end
    local words = { here.path, wrap = {}, env = { TMPDIR = false, XDG_RUNTIME_DIR = false } }
    for _, word in ipairs(unshare) do words[#words + 1] = word end
    for _, word in ipairs { PROGRAM, "run", here.path .. "-b", PROGRAM, "held" } do
      words[#words + 1] = word
    end
    local ended = run(words)
    assert.same({ 0, "", "zklock: warning: zklock held cannot ask this run: no directory in $XDG_RUNTIME_DIR, $TMPDIR "
      .. "or /tmp: Read-only file system\n" }, { ended.code, ended.out, ended.err })
  end)

  describe("another run", function()
    it("of the same path is a deadlock, at any level", function()
      for _, words in ipairs { { PROGRAM, "run", here.path, "true" },
        { PROGRAM, "run", here.path .. "-b", PROGRAM, "run", "-n", here.path, "true" },
        { PROGRAM, "run", "-z", "elsewhere:1," .. here.zk.hosts, here.path, "true" } } do
        local ended = run(here.path, unpack(words))
        assert.same({ code = DATA, out = "", err = "zklock: deadlock: a zklock run above this one holds " .. here.path
          .. "\n" }, ended)
      end
    end)

    it("of one of several paths is a deadlock", function()
      local a, b, c = here.path .. "-a", here.path .. "-b", here.path .. "-c"
      assert.equal(DATA, run("--also", b, a, PROGRAM, "run", b, "true").code)
      assert.same({ code = DATA, out = "", err = "zklock: deadlock: a zklock run above this one holds " .. b .. "\n" },
        run(b, PROGRAM, "run", "--also", b, c, "true"))
    end)

    it("of the same path below a chroot is a deadlock", function()
      local chroot = here.root:sub(2)
      local name = here.path:sub(#here.root + 1)
      local inside = here.zk.hosts .. "/" .. chroot
      assert.equal(DATA, run(here.path, PROGRAM, "run", "-z", inside, name, "true").code)
      assert.equal(DATA, run("-z", inside, name, PROGRAM, "run", "-z", here.zk.hosts, here.path, "true").code)
    end)

    it("of another path, of other servers or of a semaphore is none", function()
      local other = here.path .. "-other"
      assert.equal(0, run(here.path, PROGRAM, "run", other, "true").code)
      assert.equal(0, run("--permits", "2", other, PROGRAM, "run", "--permits", "2", other, "true").code)
      local nobody = "127.0.0.1:1"
      assert.equal(69, run(here.path, PROGRAM, "run", "-z", nobody, "--connect", "0.1", here.path, "true").code)
    end)

    it("of a path with a node whose name others may have, too, is none", function()
      local other = here.path .. "/lock-0000000000" -- of a client that puts no identifier of its own into names
      assert(here.tree:create(other, "", { parents = true }))
      assert.equal(BUSY, run({ "-n", here.path, "true", env = { ZKLOCK_NODE = other } }).code)
    end)

    it("of a run above that has lost the lock is none", function()
      local one = start("--on-loss", "ignore")
      here.tree:delete(node())
      assert.equal("ran", says(one, PROGRAM .. " run " .. here.path .. " echo ran 2>&1"))
    end)
  end)

  describe("--report", function()
    local path

    --- The series of the report, by name and outcome.
    local function report()
      local all = {}
      for line in file.read(path):gmatch("[^\n]+") do
        local name, labels, value = line:match("^(zklock_[%w_]+){(.*)} (%S+)$")
        if name then all[name .. (labels:match(',outcome="(%w+)"') or "")] = tonumber(value) end
      end
      return all
    end

    before_each(function() path = folder.file("job.prom", "") end)

    local function run_with(limit, ...) return run { wrap = limit, ... } end

    it("tells how the run has ended", function()
      for code, outcome in pairs { [0] = "ok", [7] = "failed" } do
        run("--report", path, here.path, "sh", "-c", "exit " .. code)
        local all = report()
        assert.equal(1, all["zklock_run_outcome" .. outcome])
        assert.equal(code, all.zklock_run_exit_code)
        local sum = 0
        for name, value in pairs(all) do if name:match("outcome") then sum = sum + value end end
        assert.equal(1, sum)
      end
      assert.truthy(report().zklock_run_hold_seconds >= 0)
      assert.equal("100644", ("%o"):format(uv.fs_stat(path).mode))
    end)

    it("tells of a signal, a busy lock and a loss", function()
      run("--report", path, here.path, "sh", "-c", "kill -9 $$")
      assert.same({ 137, 1 }, { report().zklock_run_exit_code, report().zklock_run_outcomefailed })
      local one = start()
      run("-n", "--report", path, here.path, "true")
      assert.same({ 1, 1 }, { report().zklock_run_exit_code, report().zklock_run_outcomebusy })
      one:close_input()
      one:wait()
      one = start("--report", path)
      here.tree:delete(node())
      assert.equal(LOST, (one:wait()))
      assert.same({ LOST, 1 }, { report().zklock_run_exit_code, report().zklock_run_outcomelost })
    end)

    it("tells how long the run waited and held", function()
      local one = start()
      local other = at.start("--report", path, here.path, "sleep", "0.2")
      here:becomes(2)
      one:close_input()
      other:wait()
      assert.truthy(report().zklock_run_wait_seconds > 0)
      assert.truthy(report().zklock_run_hold_seconds >= 0.2)
    end)

    it("tells of a deadlock", function()
      run(here.path, PROGRAM, "run", "--report", path, here.path, "true")
      assert.same({ DATA, 1 }, { report().zklock_run_exit_code, report().zklock_run_outcomeerror })
    end)

    it("tells of wrong arguments, and of a front that cannot start", function()
      local function tells(code, ...)
        run("--report", path, here.path, "true")
        assert.equal(1, report().zklock_run_outcomeok)
        assert.equal(code, run_with(code == 70 and { "prlimit", "--nofile=6" } or {}, ...).code)
        assert.same({ code, 1, 0 }, { report().zklock_run_exit_code, report().zklock_run_outcomeerror,
          report().zklock_run_outcomeok })
        assert.truthy(report().zklock_run_last_success_timestamp_seconds > 0)
      end
      tells(64, "--report", path, "--colour", here.path, "true")
      tells(64, "--grace", "x", "--report", path, here.path, "true")
      tells(64, "--report", path, here.path)
      tells(64, "--report", path, "--config", "/nowhere", here.path, "true")
      tells(64, "--report", path, "--also", here.path, here.path, "true")
      tells(70, "--report", path, here.path, "true")
      run("--report", path, here.path, "true")
      assert.equal(64, run("--report", path, "--colour", "red", here.path, "true").code)
      assert.equal(1, report().zklock_run_outcomeok) -- PATH is not known
    end)

    it("keeps the time of the latest success over failures", function()
      local before = os.time()
      run("--report", path, here.path, "true")
      local moment = report().zklock_run_last_success_timestamp_seconds
      assert.truthy(moment >= before - 1 and moment <= os.time() + 1)
      run("--report", path, here.path, "false")
      assert.equal(moment, report().zklock_run_last_success_timestamp_seconds)
    end)

    it("has the same label in each locale, and keeps the time of the latest success", function()
      local named = here.path .. "/caf\195\169"
      run { "--report", path, named, "true", env = { LC_ALL = "C.UTF-8" } }
      local moment = report().zklock_run_last_success_timestamp_seconds
      assert.equal(1, run { "--report", path, named, "false", env = { LC_ALL = "C" } }.code)
      assert.equal(moment, report().zklock_run_last_success_timestamp_seconds)
      assert.truthy(file.read(path):find('{path="' .. named .. '"}', 1, true))
    end)

    it("warns when it cannot be written, and ends as the command", function()
      local ended = run("--report", "/nowhere/x", here.path, "sh", "-c", "exit 3")
      assert.equal(3, ended.code)
      assert.matches("warning: cannot write the report /nowhere/x: No such file", ended.err)
    end)
  end)
end)
