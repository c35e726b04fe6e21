-- SPDX-License-Identifier: MIT
--- The files of `make install`: the binary, the manuals, the completions; spec/library looks at the C library.

local command = require "spec.support.command"
local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local SUBCOMMANDS = { "run", "who", "check", "revoke", "held", "doctor", "get", "set", "create", "delete", "ls" }

local function run(...)
  local one = process.spawn { env = process.PLAIN, ... }
  one:close_input()
  local code = one:wait(120)
  return code, one:stdout(), one:stderr()
end

local function files_below(path)
  local _, out = run("find", path, "-type", "f", "-printf", "%m %P\\n")
  local list = {}
  for line in out:gmatch("[^\n]+") do list[#list + 1] = line end
  table.sort(list)
  return list
end

--- The options that the help of a subcommand names, sorted.
local function options_of(subcommand)
  local list = {}
  for line in command.run({ subcommand, "--help" }).out:gmatch("[^\n]+") do
    local rest = line:match("^%s+(%-%-?%w.*)$") or line:match("%(also (%-%-%a+)%)")
    while rest do
      local option, more = rest:match("^(%-%-?%w[%w-]*)(.*)$")
      list[#list + 1] = option
      rest = more:match("^, (%-.*)$") or more:match("%(also (%-%-%a+)%)")
    end
  end
  assert(#list >= 2, subcommand)
  table.sort(list)
  return list
end

--- The words that bash would offer for the last of these words.
local function completed(...)
  local script = [[source share/zklock.bash; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _zklock
    printf '%s\n' "${COMPREPLY[@]}"]]
  local code, out, err = run("bash", "-c", script, "bash", "zklock", ...)
  assert.same({ 0, "" }, { code, err })
  local list = {}
  for line in out:gmatch("[^\n]+") do list[#list + 1] = line end
  table.sort(list)
  return list
end

--- The words that fish would offer for the last word of this line.
local function in_fish(line)
  local code, out, err = run("fish", "--no-config", "-c", "source share/zklock.fish; complete -C $argv[1]", line)
  assert.same({ 0, "" }, { code, err })
  local list = {}
  for offered in out:gmatch("([^\t\n]+)[^\n]*\n") do list[#list + 1] = offered end
  table.sort(list)
  return list
end

describe("make install #once #bare", function()
  local MAJOR = dofile("lua/zklock/version.lua"):match("^%d+")
  local INSTALLED = { "644 include/zklock.h", "644 include/zklock_host.h", "644 lib/libzklock.a",
    "644 lib/libzklock.so." .. MAJOR, "644 lib/pkgconfig/zklock.pc", "644 share/bash-completion/completions/zklock",
    "644 share/fish/vendor_completions.d/zklock.fish", "644 share/man/man1/zklock.1",
    "644 share/man/man3/zklock.3", "644 share/zsh/site-functions/_zklock", "755 bin/zklock" }

  local function make(goal, ...) return run("make", "-s", goal, "DEPS=", ...) end

  it("puts everything below a prefix, and make uninstall takes it away", function()
    local prefix = folder.new("prefix")
    assert.equal(0, (make("install", "PREFIX=" .. prefix)))
    assert.same(INSTALLED, files_below(prefix))
    local _, out = run(prefix .. "/bin/zklock", "--version")
    assert.equal(require("zklock")._VERSION .. "\n", out)
    assert.equal(0, (make("uninstall", "PREFIX=" .. prefix)))
    local _, left = run("find", prefix, "!", "-type", "d")
    assert.equal("", left)
  end)

  it("leaves nothing in a staging folder", function()
    local stage = folder.new("stage")
    assert.equal(0, (make("install", "DESTDIR=" .. stage, "PREFIX=/usr")))
    assert.same(INSTALLED, files_below(stage .. "/usr"))
    assert.equal(0, (make("uninstall", "DESTDIR=" .. stage, "PREFIX=/usr")))
    local _, out = run("find", stage, "-mindepth", "1")
    assert.equal("", out)
  end)

  it("leaves what others have put there", function()
    local stage = folder.new("stage")
    assert.equal(0, (make("install", "DESTDIR=" .. stage)))
    file.write(stage .. "/usr/local/bin/other", "")
    assert.equal(0, (make("uninstall", "DESTDIR=" .. stage)))
    assert.same({ "644 bin/other" }, files_below(stage .. "/usr/local"))
    assert.equal(0, (make("uninstall", "DESTDIR=" .. stage))) -- twice is fine
  end)
end)

describe("the manual #once #bare", function()
  it("is clean", function()
    for _, page in ipairs { "share/zklock.1", "share/zklock.3" } do
      local code, out, err = run("mandoc", "-T", "lint", page)
      assert.same({ 0, "", "" }, { code, out, err })
    end
  end)

  it("names every subcommand and every option", function()
    local _, text = run("sh", "-c", "mandoc -T utf8 share/zklock.1 | col -b")
    local _, source = run("cat", "share/zklock.1")
    for _, name in ipairs(SUBCOMMANDS) do
      assert.truthy(text:find("\n     zklock " .. name .. "[ \n]"), name)
      for _, option in ipairs(options_of(name)) do
        local spelled = "Fl " .. option:sub(2)
        assert.truthy(source:find(spelled .. "[ \n]") or source:find(spelled, 1, true), name .. " " .. option)
      end
    end
  end)

  it("begins what it tells users of flock with the kinds of locks", function()
    local _, text = run("sh", "-c", "mandoc -T utf8 share/zklock.1 | col -bx")
    local first = text:match("for users of flock%(1%)\n%s+([^\n]+\n[^\n]+\n[^\n]+)"):gsub("%s+", " ")
    assert.equal("-x and -s are the write and the read side of a read-write lock; without them path is a mutex, "
      .. "which is another kind of lock: use one or the other at one path.", (first:gsub("%s+$", "")))
  end)

  it("names every exit code that the subcommands have", function()
    local source = file.read("share/zklock.1")
    for _, code in ipairs { 0, 1, 2, 64, 65, 66, 69, 70, 73, 75, 76, 77, 126, 127 } do
      assert.truthy(source:find(("\n.It %d\n"):format(code), 1, true), code)
    end
  end)
end)

describe("completion #once #bare", function()
  it("is spelled as bash, zsh and fish read it", function()
    assert.same({ 0, 0, 0 }, { (run("bash", "-n", "share/zklock.bash")), (run("zsh", "-n", "share/_zklock")),
      (run("fish", "-n", "share/zklock.fish")) })
  end)

  it("offers the subcommands", function()
    local all = { "help", (table.unpack or unpack)(SUBCOMMANDS) } -- luacheck: ignore 143
    table.sort(all)
    assert.same(all, in_fish "zklock ")
    for _, option in ipairs { "-h", "--help", "-V", "--version" } do all[#all + 1] = option end
    table.sort(all)
    assert.same(all, completed(""))
    local options = { "-V", "-h", "--help", "--version" }
    table.sort(options)
    assert.same(options, in_fish "zklock -")
    for _, offered in ipairs { completed, function(...) return in_fish("zklock " .. table.concat({ ... }, " ")) end } do
      assert.same({ "delete", "doctor" }, offered("d"))
      assert.same({ "delete", "doctor" }, offered("help", "d"))
    end
  end)

  it("offers the options that the help names", function()
    for _, name in ipairs(SUBCOMMANDS) do
      assert.same(options_of(name), completed(name, "-"), name)
      assert.same(options_of(name), in_fish("zklock " .. name .. " -"), name)
    end
  end)

  it("names in zsh the options that the help names", function()
    local source = file.read("share/_zklock")
    for _, name in ipairs(SUBCOMMANDS) do
      for _, option in ipairs(options_of(name)) do
        assert.truthy(source:find(option .. "[", 1, true) or source:find("[{,]" .. option:gsub("%-", "%%-") .. "[,}]"),
          name .. " " .. option)
      end
    end
  end)

  it("offers words, files and commands where they belong", function()
    assert.same({ "ignore", "kill", "term" }, completed("run", "--on-loss", ""))
    assert.same({ "after" }, completed("run", "-n", "--mark", "a"))
    assert.same({ "Makefile" }, completed("who", "--config", "Makef"))
    assert.same({}, completed("who", "-z", "-"))
    assert.same({ "--" }, completed("run", "-w", "5", "/jobs/x", "--"))
    assert.same({ "mktemp" }, completed("run", "/jobs/x", "mktem"))
    assert.same({ "mktemp" }, completed("run", "/jobs/x", "--", "mktem"))
    assert.same({ "Makefile" }, completed("run", "/jobs/x", "--", "cat", "Makef"))
  end)

  it("offers them in fish, too", function()
    assert.same({ "ignore", "kill", "term" }, in_fish "zklock run --on-loss ")
    assert.same({ "after" }, in_fish "zklock run -n --mark a")
    assert.same({ "Makefile" }, in_fish "zklock who --config Makef")
    for _, line in ipairs { "/jobs/x mktem", "-w 5s /jobs/x -- mktem" } do
      assert.same({ "mktemp" }, in_fish("zklock run " .. line), line)
    end
    assert.same({ "Makefile" }, in_fish "zklock run /jobs/x -- cat Makef")
  end)
end)
