-- SPDX-License-Identifier: MIT
--- `zklock run` when its own processes are killed or stopped: the command and all that it has forked are dead before
--- another can have the lock.

local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local lfs = require "lfs"
local preload = require "spec.support.preload"
local running = require "spec.support.running"
local terminal = require "spec.support.terminal"
local uv = require "luv"
local wait = require "spec.support.wait"

local unpack = unpack or table.unpack -- luacheck: ignore 143

-- Only a run whose session has to expire has a short one: a busy machine loses those now and then.
local LOST, SESSION, LONG = 75, 4, "30"
local ROLES = { "front", "session", "watcher" }

describe("zklock run #once", function()
  local here = fixture.new("/killed-run")
  local place, temporary

  before_each(function() place, temporary = running.place(), folder.new("temporary") end)

  local function start(...)
    local env = { ZKLOCK_SERVERS = here.zk.hosts, XDG_RUNTIME_DIR = false, TMPDIR = temporary }
    local one = command.start { "run", "--session", SESSION, env = env, ... }
    return here:closes(one, one.kill)
  end

  local function writer(...)
    local words = { ... }
    words[#words + 1] = here.path
    for _, word in ipairs(place.words) do words[#words + 1] = word end
    return start(unpack(words))
  end

  --- A run whose writer and its daemon are at work, and all its processes.
  local function at_work(...)
    local one = writer(...)
    assert.equal("began", one:read_line(here.patience))
    local processes = running.processes(one)
    wait.eventually(function() return #running.descendants(processes.watcher) >= 4 end, here.patience)
    return one, processes, running.descendants(processes.watcher)
  end

  --- The next one gets the lock, and finds nobody at work.
  local function is_followed_by(next_one)
    assert.equal("began", next_one:read_line(here.patience))
    assert.equal(0, place.overlaps())
    next_one:signal("term")
    next_one:signal("kill")
  end

  local function is_empty(directory)
    for name in lfs.dir(directory) do
      if not name:find("^%.+$") then return false end
    end
    return true
  end

  local function kills(...)
    local roles = { ... }
    local name = table.concat(roles, " and ")
    it("leaves no writer when its " .. name .. " is killed", function()
      local one, processes, below = at_work("--session", name:find("session") and SESSION or LONG)
      local next_one = writer("--session", LONG)
      here:becomes(2)
      local pids = {}
      for i, role in ipairs(roles) do pids[i] = processes[role] end
      running.signal(pids, "sigkill")
      wait.eventually(function() return running.all_dead(below) end, here.patience, "the end of all writers")
      if roles[1] ~= "front" then
        assert.equal(LOST, (one:wait(here.patience)))
        -- The writer's shell may say before that its child was killed.
        assert.matches("\nzklock: [^\n]+\n", "\n" .. one:stderr())
      end
      is_followed_by(next_one)
      wait.eventually(function() return is_empty(temporary) end, here.patience, "the end of all directories")
    end)
  end

  for i, role in ipairs(ROLES) do
    kills(role)
    for j = i + 1, 3 do kills(role, ROLES[j]) end
  end

  it("goes on while its front is stopped for longer than a session", function()
    local session = 10 -- this one must not end
    local one, processes, below = at_work("--session", session)
    local next_one = writer("--session", LONG)
    here:becomes(2)
    running.signal({ processes.front }, "sigstop")
    wait.rest(session + 1) -- the front's fault
    assert.is_false(running.all_dead(below)) -- the lock is held
    running.signal({ processes.front }, "sigcont")
    running.signal(below, "sigkill")
    one:wait(here.patience)
    is_followed_by(next_one)
  end)

  for _, role in ipairs { "session", "watcher" } do
    it("leaves no writer when its " .. role .. " is stopped until another has had the lock", function()
      local one, processes, below = at_work()
      local next_one = writer("--session", LONG)
      here:becomes(2)
      running.signal({ processes[role] }, "sigstop")
      wait.eventually(function() return running.all_dead(below) end, here.patience, "the end of all writers")
      is_followed_by(next_one)
      running.signal({ processes[role] }, "sigcont")
      assert.equal(LOST, (one:wait(here.patience)))
    end)
  end

  it("ends although its session stays stopped", function()
    local one, processes, below = at_work()
    running.signal({ processes.session }, "sigstop")
    assert.equal(LOST, (one:wait(here.patience)))
    assert.is_true(running.all_dead(below))
    assert.is_false(running.is_alive(processes.session))
  end)

  -- Otherwise the session, or the front, would do it for the watcher.
  it("leaves no writer when its front and its session are stopped", function()
    local one, processes, below = at_work()
    local next_one = writer("--session", LONG)
    here:becomes(2)
    running.signal({ processes.front, processes.session }, "sigstop")
    wait.eventually(function() return running.all_dead(below) end, here.patience, "the end of all writers")
    is_followed_by(next_one)
    running.signal({ processes.front, processes.session }, "sigcont")
    assert.equal(LOST, (one:wait(here.patience)))
  end)

  it("leaves no folder when its session is killed, and then its front before that can remove it", function()
    local _, processes = at_work("--session", SESSION)
    running.signal({ processes.front }, "sigstop")
    running.signal({ processes.session }, "sigkill")
    wait.eventually(function() return running.all_dead { processes.watcher } end, here.patience, "the watcher's end")
    running.signal({ processes.front }, "sigkill")
    assert.is_true(is_empty(temporary))
  end)

  it("leaves no writer when its session and its watcher are stopped", function()
    local one, processes, below = at_work()
    running.signal({ processes.session, processes.watcher }, "sigstop")
    local next_one = writer("--session", LONG)
    assert.equal(LOST, (one:wait(here.patience)))
    assert.is_true(running.all_dead(below))
    is_followed_by(next_one)
  end)

  --- A run of which one process stops another. Returns also the name of the file that says so.
  local function stopping(...)
    local library, made = preload.build("stopper")
    local mark = made .. "/stopped"
    local words = { "run", "--session", LONG, ... }
    words.env = { ZKLOCK_SERVERS = here.zk.hosts, LD_PRELOAD = library, STOPPER_MARK = mark, TMPDIR = temporary }
    return here:closes(command.start(words), function(process) process:kill() end), mark
  end

  it("ends although its watcher is stopped while it kills the command", function()
    -- The library is for our processes: a sanitizer's before it would end the shell.
    local one, mark = stopping(here.path, "env", "--unset=LD_PRELOAD", unpack(place.words))
    assert.equal("began", one:read_line(here.patience))
    local processes = running.processes(one)
    wait.eventually(function() return #running.descendants(processes.watcher) >= 4 end, here.patience)
    local below = running.descendants(processes.watcher)
    for _, name in ipairs(here:nodes()) do here.tree:delete(here.path .. "/" .. name) end
    assert.equal(LOST, (one:wait(here.patience)))
    assert.is_truthy(running.read(mark))
    assert.is_true(running.all_dead(below))
    assert.is_false(running.is_alive(processes.watcher))
  end)

  it("ends although its watcher is stopped while the session process closes its session", function()
    local one = at_work("--session", LONG)
    local other, mark = stopping("-n", here.path, "true")
    assert.equal(1, (other:wait(here.patience)))
    assert.is_truthy(running.read(mark))
    one:kill()
  end)

  --- A run of which the n-th fork fails.
  local function cannot_fork(n, ...)
    local library, made = preload.build("forker")
    local mark = made .. "/signalled"
    local env = { ZKLOCK_SERVERS = here.zk.hosts, LD_PRELOAD = library, FORKER_MARK = mark, FORKER_AT = tostring(n),
      TMPDIR = temporary }
    local one = here:closes(command.start { "run", env = env, ... }, function(process) process:kill() end)
    assert.equal(70, (one:wait(here.patience)))
    assert.is_nil(running.read(mark))
    return one:stderr()
  end

  it("signals no foreign process when it cannot start its own ones", function()
    assert.equal("zklock: cannot start its processes: Resource temporarily unavailable\n",
      cannot_fork(2, here.path, "true"))
  end)

  it("ends with 70, and writes no mark after the command, when it cannot fork the command", function()
    assert.equal("zklock: cannot fork: Resource temporarily unavailable\n",
      cannot_fork(3, "--once", "--mark", "after", here.path, "true"))
    assert.same({}, here.tree:children(here.path) or {})
  end)

  it("starts the command although the kernel had no memory for the message", function()
    local library, made = preload.build("stopper")
    local refused = made .. "/refused"
    local env = { ZKLOCK_SERVERS = here.zk.hosts, LD_PRELOAD = library, STOPPER_MARK = refused, STOPPER_AT = "refuse",
      TMPDIR = temporary }
    local one = here:closes(command.start { "run", here.path, "echo", "ran", env = env },
      function(process) process:kill() end)
    assert.equal(0, (one:wait(here.patience)))
    assert.equal("ran\n", one:stdout())
    assert.is_truthy(running.read(refused))
  end)

  it("leaves nothing of itself when one of its processes is killed while it queues", function()
    local one = at_work("--session", LONG)
    for _, role in ipairs(ROLES) do
      local waiter = start(here.path, "true")
      here:becomes(2)
      local session = running.children(waiter.pid)[1]
      local pids = { front = waiter.pid, session = session, watcher = running.children(session)[1] }
      running.signal({ pids[role] }, "sigkill")
      local code = waiter:wait(here.patience)
      if role ~= "front" then
        assert.equal(70, code)
        assert.matches("^zklock: [^\n]*process of zklock was killed[^\n]*\n$", waiter:stderr())
      end
      wait.eventually(function() return running.all_dead { pids.front, pids.session, pids.watcher } end)
      here:becomes(1)
    end
    one:kill()
  end)

  it("kills the command before another has the lock when the servers are out of reach", function()
    local proxy = here:proxy()
    local words = { "run", "--session", SESSION, here.path, env = { ZKLOCK_SERVERS = proxy.hosts },
      unpack(place.words) }
    local one = here:closes(command.start(words), function(process) process:kill() end)
    assert.equal("began", one:read_line(here.patience))
    local next_one = writer("--session", LONG)
    here:becomes(2)
    proxy:black_hole()
    is_followed_by(next_one)
    assert.equal(LOST, (one:wait(here.patience)))
    assert.equal("zklock: lost: " .. here.path .. "\n", one:stderr())
  end)

  it("asks the command to end before it kills it, and ends with 75 although the command exits with 0", function()
    local proxy = here:proxy() -- a busy shell needs some of the 2.4 seconds between TERM and KILL
    local one = here:closes(command.start { "run", "--session", "12", "--grace", "3",
      env = { ZKLOCK_SERVERS = proxy.hosts },
      here.path, "sh", "-c", "trap 'echo asked; exit 0' TERM; echo began; while :; do sleep 0.02; done" },
      function(process) process:kill() end)
    assert.equal("began", one:read_line(here.patience))
    proxy:black_hole()
    assert.equal("asked", one:read_line(here.patience))
    assert.equal(LOST, (one:wait(here.patience)))
  end)

  it("kills the command at once when somebody deletes its node", function()
    local one, _, below = at_work("--session", LONG)
    for _, name in ipairs(here:nodes()) do here.tree:delete(here.path .. "/" .. name) end
    assert.equal(LOST, (one:wait(here.patience)))
    assert.is_true(running.all_dead(below))
  end)

  --- A run of a script that starts itself anew, below it.
  local function script(text)
    local file = folder.file("again", "trap '' TERM\n" .. text)
    return start("--session", LONG, here.path, "sh", file, "200"), file
  end

  it("leaves nothing of two hundred processes below each other, each in a session of its own", function()
    local one, file = script('[ "$1" -eq 0 ] && echo began && exec sleep 1000\nsetsid sh "$0" $(($1 - 1)) & wait\n')
    assert.equal("began", one:read_line(here.patience), one:stderr())
    running.signal({ running.processes(one).watcher }, "sigkill")
    assert.equal(LOST, (one:wait(here.patience)))
    assert.equal(0, running.count(file))
  end)

  it("leaves nothing of a process that forks and ends, again and again", function()
    local one, file = script('[ "$1" -eq 0 ] && echo began\nsh "$0" $(($1 - 1)) &\n')
    assert.equal("began", one:read_line(here.patience))
    running.signal({ running.processes(one).session }, "sigkill")
    assert.equal(LOST, (one:wait(here.patience)))
    assert.equal(0, running.count(file))
  end)

  --- A run whose command says on its stdout what it hears, until its stdin is closed.
  local function listener(...)
    local words = { "--session", LONG, ... }
    for _, word in ipairs { here.path, "sh", "-c", [[
      trap 'echo asked' TERM
      echo began
      exec 3<&0
      sh -c 'trap "" TERM; exec cat' <&3 >/dev/null & one=$!
      while kill -0 $one 2>/dev/null; do wait $one; done
      echo over]] } do words[#words + 1] = word end
    local one = start(unpack(words))
    assert.equal("began", one:read_line(here.patience))
    return one
  end

  local function loses_its_node()
    for _, name in ipairs(here:nodes()) do here.tree:delete(here.path .. "/" .. name) end
  end

  it("with --on-loss term asks the command to end, and no more", function()
    local one = listener("--on-loss", "term")
    loses_its_node()
    assert.equal("asked", one:read_line(here.patience))
    assert.equal(0, command.run { "run", "-z", here.zk.hosts, here.path, "true" }.code)
    one:close_input()
    assert.equal("over", one:read_line(here.patience))
    assert.equal(LOST, (one:wait(here.patience)))
  end)

  it("with --on-loss ignore leaves the command alone, and ends with 75", function()
    local one = listener("--on-loss", "ignore", "--verbose")
    loses_its_node()
    wait.eventually(function() return one:stderr():find("zklock: the lock is lost\n", 1, true) end, here.patience)
    assert.equal(0, command.run { "run", "-z", here.zk.hosts, here.path, "true" }.code)
    one:close_input()
    assert.equal("over", one:read_line(here.patience))
    assert.equal(LOST, (one:wait(here.patience)))
    assert.truthy(one:stderr():find("\nzklock: lost: " .. here.path .. "\n", 1, true), one:stderr())
  end)

  it("ends the command for a revocation with --revocable only", function()
    local one = listener()
    local client = here:connect()
    assert.is_true(client:mutex(here.path):revoke(here.patience))
    one:close_input()
    assert.equal("over", one:read_line(here.patience))
    assert.equal(0, (one:wait(here.patience)))

    one = listener("--revocable", "--grace", "1")
    assert.is_true(client:mutex(here.path):revoke(here.patience))
    assert.equal("asked", one:read_line(here.patience))
    assert.equal(LOST, (one:wait(here.patience))) -- it was killed, because its stdin is still open
    assert.equal("zklock: revoked: " .. here.path .. "\n", one:stderr())
  end)

  it("with --revocable ends with 75 after a revocation, also if --on-loss leaves the command alone", function()
    for _, mode in ipairs { "ignore", "term" } do
      local one = listener("--revocable", "--on-loss", mode, "--verbose")
      assert.is_true(here:connect():mutex(here.path):revoke(here.patience))
      local heard = ""
      wait.eventually(function()
        heard = heard .. one:stderr()
        return heard:find("zklock: somebody has revoked the lock\n", 1, true)
      end, here.patience)
      if mode == "term" then assert.equal("asked", one:read_line(here.patience)) end
      one:close_input()
      assert.equal("over", one:read_line(here.patience))
      assert.equal(LOST, (one:wait(here.patience)))
      assert.truthy((heard .. one:stderr()):find("\nzklock: revoked: " .. here.path .. "\n", 1, true))
    end
  end)

  it("ends with 75 after a revocation, also if its session process is killed when the command has ended", function()
    local one = listener("--revocable", "--on-loss", "ignore", "--verbose")
    local processes = running.processes(one)
    assert.is_true(here:connect():mutex(here.path):revoke(here.patience))
    wait.eventually(function() return one:stderr():find("zklock: somebody has revoked the lock\n", 1, true) end)
    running.signal({ processes.session }, "sigstop")
    one:close_input()
    wait.eventually(function() return not running.children(processes.watcher)[1] end, here.patience, "the end")
    running.signal({ processes.session }, "sigkill")
    assert.equal(LOST, (one:wait(here.patience)))
    assert.truthy(one:stderr():find("zklock: revoked: " .. here.path .. "\n", 1, true), one:stderr())
  end)

  -- It said nothing, and the lock stayed held until the session had expired.
  it("warns that others wait when its session process is killed while it releases", function()
    local proxy = here:proxy()
    local one = here:closes(command.start { "run", "--session", SESSION, env = { ZKLOCK_SERVERS = proxy.hosts },
      here.path, "sh", "-c", "echo began; cat" }, function(process) process:kill() end)
    assert.equal("began", one:read_line(here.patience))
    proxy:hold_before("delete")
    one:close_input()
    wait.eventually(function() return proxy:is_holding() end)
    running.signal(running.children(one.pid), "sigkill")
    assert.same({ 0, 0 }, { one:wait(here.patience) })
    assert.equal("zklock: warning: the session process of zklock was killed: others wait until its session has "
      .. "expired\n", one:stderr())
    proxy:heal()
  end)

  it("puts the terminal back as it was when it has killed a command that has changed it", function()
    local shell = terminal.start("dash", { ZKLOCK_SERVERS = here.zk.hosts, ZKLOCK_CONFIG = "/dev/null" })
    here:closes(shell)
    local before = shell:settings()
    -- with a process group of its own in the foreground, as a shell
    shell:enter(command.PROGRAM .. " run " .. here.path .. " bash --norc --noprofile -i -c "
      .. "'stty raw -echo; echo changed; sleep 1000; :'")
    shell:await("changed\r?\n")
    loses_its_node()
    shell:await_prompt()
    assert.equal(before, shell:settings())
  end)

  --- A program that any user runs as root, or nil.
  local function as_root()
    if uv.getuid() ~= 0 then return end
    local home = folder.new("root")
    local setpriv = home .. "/setpriv"
    assert(uv.fs_copyfile("/usr/bin/setpriv", setpriv))
    for path, mode in pairs { [folder.root()] = "755", [home] = "755", [setpriv] = "4755" } do
      assert(uv.fs_chmod(path, tonumber(mode, 8)))
    end
    return setpriv
  end

  --- A run whose command, of another user, says its process id and waits.
  local function unkillable(setpriv, seconds)
    return here:closes(command.start { "run", "--session", seconds, here.path, setpriv, "--reuid=0", "--",
      "sh", "-c", "trap '' TERM; echo $$; exec cat", wrap = { "setpriv", "--reuid=65534" },
      env = { ZKLOCK_SERVERS = here.zk.hosts } }, function(process) process:kill() end)
  end

  it("keeps the lock while a descendant lives that it may not kill, says so once, and ends with 75", function()
    local setpriv = as_root()
    if not setpriv then return pending("needs root") end
    local one = unkillable(setpriv, LONG)
    local pid = assert(tonumber(one:read_line(here.patience)))
    local session = running.children(one.pid)[1]
    running.signal(running.children(session), "sigkill")
    local said = "zklock: process %d cannot be killed by this user: zklock keeps the lock until it ends\n"
    wait.eventually(function() return one:stderr() == said:format(pid) end, here.patience, "a word about it")
    assert.equal(1, #here:nodes())
    assert.equal(1, command.run { "run", "-n", "-z", here.zk.hosts, here.path, "true" }.code)
    running.signal({ pid }, "sigkill")
    assert.equal(LOST, (one:wait(here.patience)))
    here:becomes(0)
  end)

  for _, case in ipairs {
    { "the lock is lost", "the lock is lost, and others can have it", function() loses_its_node() end },
    { "the session process is dead", "others can have the lock when the session of zklock has expired",
      function(one) running.signal({ running.children(one.pid)[1] }, "sigkill") end },
  } do
    it("does not say that it keeps the lock while such a descendant lives if " .. case[1], function()
      local setpriv = as_root()
      if not setpriv then return pending("needs root") end
      local one = unkillable(setpriv, LONG)
      local pid = assert(tonumber(one:read_line(here.patience)))
      case[3](one)
      local said = ("zklock: process %d cannot be killed by this user: %s\n"):format(pid, case[2])
      wait.eventually(function() return one:stderr():find(said, 1, true), one:stderr() end, here.patience, said)
      assert.is_nil(one:stderr():find("keeps the lock", 1, true))
      running.signal({ pid }, "sigkill")
      assert.equal(LOST, (one:wait(here.patience)))
    end)
  end
end)
