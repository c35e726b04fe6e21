-- SPDX-License-Identifier: MIT
--- The common parts of all subcommands: options, the configuration file, and complaints.

local command = require "spec.support.command"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local port = require "spec.support.port"
local process = require "spec.support.process"
local uv = require "luv"
local wait = require "spec.support.wait"

local unpack = unpack or table.unpack -- luacheck: ignore 143

local USAGE, NO_NODE, UNAVAILABLE, DENIED = 64, 66, 69, 77

--- A configuration file that its owner alone can read, unless `mode` says otherwise.
local function config(text, mode)
  local path = folder.file("zklock.conf", text)
  assert(uv.fs_chmod(path, tonumber(mode or "600", 8)))
  return path
end

describe("zklock #once", function()
  local here = fixture.new("/cli", { super = true })

  --- Runs it against the server; one line is complained of unless it went well.
  local function zklock(...)
    local ended = command.run { env = { ZKLOCK_SERVERS = here.zk.hosts }, ... }
    if ended.code ~= 0 then assert.matches("^zklock: [^\n]+\n$", ended.err) end
    return ended
  end

  local function complains(code, pattern, ...)
    local ended = zklock(...)
    assert.same({ code, "" }, { ended.code, ended.out })
    assert.matches(pattern, ended.err)
  end

  before_each(function() assert(here.tree:create(here.path, "data", { parents = true })) end)

  it("shows its help and its version", function()
    for _, words in ipairs { { "--help" }, { "-h" }, { "help" }, { "help", "help" }, { "get", "--help" },
      { "help", "get" } } do
      local ended = zklock(unpack(words))
      assert.same({ 0, "" }, { ended.code, ended.err })
      assert.matches("^usage: zklock ", ended.out)
    end
    for _, words in ipairs { { "--version" }, { "-V" }, { "get", "--version" } } do
      assert.same({ code = 0, out = require("zklock")._VERSION .. "\n", err = "" }, zklock(unpack(words)))
    end
  end)

  it("shows help in lines without a blank at their end", function()
    local shown = zklock("--help").out
    local words = { { "--help" } }
    for name in shown:gmatch("\n  zklock (%l+)") do words[#words + 1] = { name, "--help" } end
    assert.is_true(#words > 10, shown)
    for _, call in ipairs(words) do
      for line in zklock(unpack(call)).out:gmatch("([^\n]*)\n") do
        assert.equal(line:gsub("%s+$", ""), line, table.concat(call, " "))
      end
    end
  end)

  it("shows with `help` what a subcommand shows with --help", function()
    for name in zklock("--help").out:gmatch("\n  zklock (%l+)") do
      assert.same(zklock(name, "--help"), zklock("help", name), name)
    end
    complains(USAGE, "'SUBCOMMAND': no subcommand 'gte'", "help", "gte")
    complains(USAGE, "'help': at most one SUBCOMMAND expected, got 2 arguments", "help", "get", "set")
  end)

  it("takes a duration with a unit, in options and in the configuration", function()
    local nobody = "127.0.0.1:" .. port.free()
    for text, seconds in pairs { ["0.2"] = "0.2", ["200ms"] = "0.2", ["0.2s"] = "0.2", ["0.001m"] = "0.06",
      [".0001h"] = "0.36", ["0.000001d"] = "0.0864" } do
      complains(UNAVAILABLE, "no session within " .. seconds .. " s[:\n]", "get", "/x", "-z", nobody, "--connect", text)
    end
    assert.equal(0, zklock("get", here.path, "--config", config("session 6000ms\n")).code)
    for _, value in ipairs { "5x", "-1s", "1e400", "1e3s", "5 s", "s", "5S", "5ms5", "1m30s", "0x10s" } do
      complains(USAGE, "'%-%-connect': seconds >= 0 expected, got '" .. value:gsub("%-", "%%-")
        .. "'; the units are ms, s, m, h and d\n$", "get", "/x", "--connect", value)
    end
    for _, value in ipairs { "99999999999999", "99999999999d", ("9"):rep(400) } do
      complains(USAGE, "'%-%-connect': seconds from 0 to 1000000000000 expected, got '9", "get", "/x", "--connect",
        value)
    end
  end)

  it("ends with 64 and names the argument that is wrong", function()
    complains(USAGE, "'SUBCOMMAND': one expected, got none")
    complains(USAGE, "'SUBCOMMAND': no subcommand 'gte'", "gte")
    complains(USAGE, "'%-%-colour': unknown option", "get", "--colour", "/x")
    complains(USAGE, "'%-y': unknown option", "get", "-sy", "/x")
    complains(USAGE, "'%-q': unknown option", "run", "--nb", "-qn", "/x", "true")
    complains(USAGE, "'%-q': unknown option", "run", "--nb", "-nq", "/x", "true")
    complains(USAGE, "'%-%-nb=1': unknown option", "run", "--nb=1", "-n", "/x", "true")
    complains(USAGE, "'%-%-wait': a value expected", "run", "--nb", "--wait")
    complains(USAGE, "'%-%-connect': a value expected", "get", "/x", "--connect")
    complains(USAGE, "'%-z': a value expected", "get", "/x", "-z")
    complains(USAGE, "'%-z': unknown option", "held", "-z", "127.0.0.1:1")
    complains(USAGE, "'get': PATH expected, got 0 arguments", "get")
    complains(USAGE, "'get': PATH expected, got 2 arguments", "get", "/x", "/y")
    for _, value in ipairs { "", "x", "-1", "1e3", "0x10", "nan", "inf", "1,5", " 1" } do
      complains(USAGE, "'%-%-connect': seconds >= 0 expected, got '", "get", "/x", "--connect", value)
    end
  end)

  it("ends with 64 and names the path that is wrong", function()
    for path, problem in pairs {
      ["x"] = "must begin with '/'", ["/x/"] = "must not end with '/'", ["//x"] = "empty component",
      ["/./x"] = "component '.'", ["/x\1"] = "path '/x\\x01': it must not contain control characters",
      ["/\240\159\152\128"] = "a character that ZooKeeper rejects", ["/" .. ("x"):rep(256)] = "more than 255 bytes",
      ["/x" .. ("/y"):rep(128)] = "more than 128 components",
    } do
      local ended = zklock("get", path)
      assert.equal(USAGE, ended.code)
      assert.truthy(ended.err:find("bad argument 'PATH': path '", 1, true), ended.err)
      assert.truthy(ended.err:find(problem, 1, true), ended.err)
    end
  end)

  it("spells what it repeats of an argument", function()
    local ended = zklock("get", "x\27[31m\226\128\174\255\n" .. ("y"):rep(1000))
    assert.truthy(ended.err:find("path 'x\\x1b[31m\\xe2\\x80\\xae\\xff\\x0ayyy", 1, true), ended.err)
    assert.is_true(#ended.err < 250)
  end)

  it("finds the servers by -z, ZKLOCK_SERVERS, ZOOKEEPER and the configuration, in this order", function()
    local nobody = "127.0.0.1:" .. port.free()
    local right, wrong = here.zk.hosts, nobody
    local with, without = config("hosts " .. right .. "\n"), config("hosts " .. wrong .. "\n")
    for _, case in ipairs {
      { "-z", right, "--config", without, env = { ZKLOCK_SERVERS = wrong, ZOOKEEPER = wrong } },
      { "--config", without, env = { ZKLOCK_SERVERS = right, ZOOKEEPER = wrong } },
      { "--config", without, env = { ZOOKEEPER = right } },
      { "--config", with, env = { ZKLOCK_SERVERS = "", ZOOKEEPER = "", ZKLOCK_CONFIG = without } },
      { env = { ZKLOCK_CONFIG = with } },
    } do
      assert.equal("data", command.run { "get", here.path, env = case.env, unpack(case) }.out)
    end
    complains(UNAVAILABLE, "no session within 0.2 s: connection refused: " .. nobody:gsub("%.", "%%."),
      "get", here.path, "-z", nobody, "--connect", "0.2")
  end)

  it("names the place of a connect string that is wrong", function()
    complains(USAGE, "bad argument '%-z': ", "get", "/x", "-z", "host:x")
    local ended = command.run { "get", "/x", env = { ZOOKEEPER = "host:x" } }
    assert.equal(USAGE, ended.code)
    assert.truthy(ended.err:find("zklock: bad argument '$ZOOKEEPER': ", 1, true), ended.err)
    local path = config("# servers\n\n hosts\thost:x \n")
    ended = command.run { "get", "/x", "--config", path }
    assert.equal(USAGE, ended.code)
    assert.truthy(ended.err:find(("zklock: bad argument '%s:3': "):format(path), 1, true), ended.err)
  end)

  it("ends with 64 and names the line of the configuration that is wrong", function()
    for text, problem in pairs {
      ["user:password\n"] = "unknown key", ["auth digest\n"] = "auth: SCHEME CREDENTIAL expected",
      ["hosts\n"] = "hosts: a value expected", ["session 0\n"] = "session: seconds > 0",
      ["session 2h\n"] = "got '2h'", ["session 5x\n"] = "got '5x'", ["session 1e400\n"] = "got '1e400'",
      ["acl shut\n"] = "got 'shut'", ["tls-ca a,b\n"] = "without commas",
      ["node-bytes 999\n"] = "node-bytes: integer from 1000 to 100000000 expected, got '999'",
      ["node-bytes 1k\n"] = "got '1k'",
      ["auth a\0b c\n"] = "text without NUL",
    } do
      local path = config("# one\n" .. text)
      local ended = zklock("get", "/x", "--config", path)
      assert.equal(USAGE, ended.code)
      assert.truthy(ended.err:find(("bad argument '%s:2': "):format(path), 1, true), ended.err)
      assert.truthy(ended.err:find(problem, 1, true), ended.err)
      assert.falsy(ended.err:find("password", 1, true) and not problem:find "key")
    end
    complains(USAGE, "'creator' and 'read' need auth", "get", "/x", "--config", config("acl creator\n"))
    complains(USAGE, "tls%-ca, tls%-cert and tls%-key expected together", "get", "/x", "--config",
      config("tls-ca /x\n"))
  end)

  it("does not repeat a credential that stands where a key should", function()
    local ended = zklock("get", "/x", "--config", config("digest user:secret\nuser:secret\n"))
    assert.equal(USAGE, ended.code)
    assert.falsy(ended.err:find("secret", 1, true))
  end)

  it("ends with 64 if the configuration that it is given cannot be read", function()
    local missing = folder.new("config") .. "/none"
    complains(USAGE, "none': cannot read the configuration: No such file", "get", "/x", "--config", missing)
    local ended = command.run { "get", "/x", env = { ZKLOCK_CONFIG = missing } }
    assert.equal(USAGE, ended.code)
    complains(USAGE, "cannot read the configuration: Is a directory", "get", "/x", "--config", "/")
    for _, device in ipairs { "/dev/zero", "/dev/full" } do
      complains(USAGE, "'" .. device .. "': a configuration of less than 1048576 bytes expected", "get", "/x",
        "--config", device)
    end
    complains(USAGE, "bad argument '%-%-config': a file's name expected, got ''", "get", "/x", "--config", "")
  end)

  local function in_shell(line)
    return process.spawn { "sh", "-c", line:format(here.path),
      env = { LD_PRELOAD = false, ZKLOCK_SERVERS = here.zk.hosts } }
  end

  it("ends with 70 if standard output takes nothing", function()
    for redirection, reason in pairs { [">/dev/full"] = "No space left on device", [">&-"] = "Bad file descriptor" } do
      local shell = in_shell(command.PROGRAM .. " get %s " .. redirection)
      assert.equal(70, shell:wait())
      assert.equal("zklock: cannot write to standard output: " .. reason .. "\n", shell:stderr())
    end
  end)

  it("gives the numbers of closed standard descriptors to no socket", function()
    local shell = in_shell("exec " .. command.PROGRAM .. " who -f %s <&- >&- 2>&-")
    here:closes(shell, shell.kill)
    local function target(fd) return uv.fs_readlink(("/proc/%d/fd/%d"):format(shell.pid, fd)) or "" end
    wait.eventually(function()
      for fd = 0, 30 do
        if target(fd):find("eventfd", 1, true) then return true end -- its client has begun
      end
    end)
    assert.same({ "/dev/null", "/dev/null", "/dev/null" }, { target(0), target(1), target(2) })
  end)

  describe("with credentials", function()
    local READER = "auth digest reader:secret\n"

    before_each(function()
      local client = here:connect { auth = { scheme = "digest", credential = "reader:secret" } }
      assert(client:create(here.path .. "/mine", "for the reader", { acl = "creator" }, here.patience))
      client:close()
    end)

    it("reads what they allow, and without them ends with 77", function()
      local mine = here.path .. "/mine"
      assert.same({ code = 0, out = "for the reader", err = "" }, zklock("get", mine, "--config", config(READER)))
      complains(DENIED, "access denied: " .. mine, "get", mine)
      complains(DENIED, "access denied", "get", mine, "--config", config("auth digest reader:other\n"))
    end)

    it("ends with 77 if the servers refuse them", function()
      complains(DENIED, "^zklock: auth failed\n$", "get", here.path, "--config",
        config("auth no-such-scheme me\n"))
    end)

    it("warns of a file that others can read, and goes on", function()
      local path = config(READER, "644")
      local ended = zklock("get", here.path, "--config", path)
      assert.same({ 0, "data" }, { ended.code, ended.out })
      assert.truthy(ended.err:find("zklock: warning: " .. path .. " has credentials, and others can read it", 1, true))
      for _, quiet in ipairs { config(READER, "640"), config("hosts " .. here.zk.hosts, "644") } do
        assert.equal("", zklock("get", here.path, "--config", quiet).err)
      end
    end)
  end)
end)

describe("zklock get #once", function()
  local here = fixture.new("/cli-get")

  local function get(...)
    return command.run { "get", env = { ZKLOCK_SERVERS = here.zk.hosts }, ... }
  end

  it("writes a node's data as it is", function()
    local data = "\0\27[31m\255 a\nb\226\128\174"
    assert(here.tree:create(here.path, data, { parents = true }))
    assert.same({ code = 0, out = data, err = "" }, get(here.path))
    assert(here.tree:set(here.path, ""))
    assert.same({ code = 0, out = "", err = "" }, get(here.path))
  end)

  local SHOWN = { ["C.UTF-8"] = "\\x1b[31m\\xff\tä\r\nb\\xe2\\x80\\xae\r\n",
    C = "\\x1b[31m\\xff\t\\xc3\\xa4\r\nb\\xe2\\x80\\xae\r\n" }
  for locale, expected in pairs(SHOWN) do
    it("spells it on a terminal, and keeps its lines, in the locale " .. locale, function()
      assert(here.tree:create(here.path, "\27[31m\255\tä\nb\226\128\174", { parents = true }))
      local script = folder.file("typescript", "")
      local shown = require("spec.support.process").spawn { "script", "-qec",
        ("%s get -z %s %s"):format(command.PROGRAM, here.zk.hosts, here.path), script,
        env = { LD_PRELOAD = false, ZKLOCK_CONFIG = "/dev/null", LC_ALL = locale } }
      shown:close_input()
      assert.equal(0, shown:wait())
      assert.equal(expected, shown:stdout())
    end)
  end

  it("writes the metadata with --stat", function()
    assert(here.tree:create(here.path, "abc", { parents = true }))
    local stat = here.tree:exists(here.path)
    local ended = get("--stat", here.path)
    assert.equal(0, ended.code)
    local shown = {}
    for name, value in ended.out:gmatch("(%S+) (%S+)\n") do shown[name] = value end
    assert.same({ "0", "3", "0", ("%d"):format(stat.czxid) },
      { shown.version, shown.length, shown.children, shown.czxid })
    assert.is_nil(shown.owner)
  end)

  it("ends with 66 if there is no node", function()
    assert.same({ code = NO_NODE, out = "", err = "zklock: no node: " .. here.path .. "\n" }, get(here.path))
  end)
end)
