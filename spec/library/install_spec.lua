-- SPDX-License-Identifier: MIT
--- The C library as a program gets it: what `make install-lib` installs, and a program that is built with pkg-config
--- alone, against nothing but that; also with the library of another version, which has a function more, and whose
--- structs have grown.

local file = require "spec.support.file"
local fixture = require "spec.support.fixture"
local folder = require "spec.support.folder"
local markdown = require "spec.support.markdown"
local process = require "spec.support.process"
local public = require "tools.header"

local EXAMPLE = "examples/c/epoll.c"
local STRICT = "-Wall -Wextra -pedantic -Werror"

local prefix

--- Runs a command of the shell to its end. PKG_CONFIG_PATH leads to the prefix, and LD_LIBRARY_PATH.
local function sh(command, ...)
  local one = process.spawn { env = { LD_PRELOAD = false, PKG_CONFIG_PATH = prefix .. "/lib/pkgconfig",
    LD_LIBRARY_PATH = prefix .. "/lib" }, "sh", "-c", command, "sh", ... }
  one:close_input()
  local code = one:wait(600) -- some compile the engine
  return code, one:stdout(), one:stderr()
end

--- The output of a command that must succeed.
local function ok(...)
  local code, out, err = sh(...)
  assert.equal(0, code, out .. err)
  return out
end

local function lines(text)
  local found = {}
  for line in text:gmatch("[^\n]+") do found[#found + 1] = line end
  table.sort(found)
  return found
end

local function contents(of) return lines(ok("cd " .. of .. " && find . ! -type d -printf '%m %P %l\\n'")) end

local VERSION = dofile "lua/zklock/version.lua"
local MAJOR = VERSION:match "^%d+"
local SONAME = "libzklock.so." .. MAJOR

local HEADERS = { public.PROMISED, public.HOST }

--- The functions of a header, each as `shown` returns it.
local function functions(header, shown)
  local names = {}
  for _, item in ipairs(public.read(header)) do
    if item.what == "function" then names[#names + 1] = shown(item) end
  end
  return table.concat(names, "\n") .. "\n"
end

--- The functions of the headers, each with `@@` and its symbol version: the minor version that the list of the ABI has.
local function declared()
  local abi = file.read "share/zklock.abi"
  local function promised(item)
    local minor = abi:match("\nfunction (%d+%.%d+) " .. public.declaration(item):gsub("%p", "%%%0") .. "\n")
    return item.name .. "@@ZKLOCK_" .. minor
  end
  local function of_host(item) return item.name .. "@@ZKLOCK_HOST_" .. VERSION end
  return lines(functions(public.PROMISED, promised) .. functions(public.HOST, of_host))
end

describe("the C library #once #bare", function()
  local here = fixture.new("/library")

  setup(function()
    prefix = folder.new("library")
    ok("make -s install-lib DEPS= PREFIX=" .. prefix)
  end)

  it("consists of two headers, two libraries, pkg-config's file and a manual", function()
    assert.same({ "644 include/zklock.h ", "644 include/zklock_host.h ", "644 lib/libzklock.a ",
      "644 lib/" .. SONAME .. " ", "644 lib/pkgconfig/zklock.pc ", "644 share/man/man3/zklock.3 ",
      "777 lib/libzklock.so " .. SONAME }, contents(prefix))
  end)

  it("goes where DESTDIR, PREFIX and LIBDIR say, and make uninstall leaves nothing of it", function()
    local stage = folder.new("stage")
    local where = ("DEPS= DESTDIR=%s PREFIX=/usr LIBDIR=lib/x86_64-linux-gnu"):format(stage)
    ok("make -s install-lib " .. where)
    assert.equal(7, #contents(stage .. "/usr"))
    local described = file.read(stage .. "/usr/lib/x86_64-linux-gnu/pkgconfig/zklock.pc")
    assert.truthy(described:find("\nlibdir=${prefix}/lib/x86_64-linux-gnu\n", 1, true), described)
    ok("make -s uninstall " .. where)
    assert.equal("", ok("find " .. stage .. " -mindepth 1"))
  end)

  it("exports the functions of its headers and nothing else", function()
    local names = declared()
    assert.is_true(#names > 50)
    local exported = ok("nm -D --defined-only " .. prefix .. "/lib/libzklock.so")
    assert.same(names, lines((exported:gsub("%x+ A [^\n]*\n", ""):gsub("%x+ %a ", ""))))
    for i, name in ipairs(names) do names[i] = name:match "^[^@]*" end
    assert.same(names, lines(ok("nm -g --defined-only " .. prefix .. "/lib/libzklock.a | awk 'NF == 3 { print $3 }'")))
  end)

  it("does not come along with the Lua module, whose engine is its own", function()
    assert.same({ "luaopen_zklock_core" },
      lines(ok("nm -D --defined-only build/5.4/zklock/core.so | awk '{ print $3 }'")))
  end)

  it("has the version of its soname and of zklock", function()
    assert.truthy(ok("objdump -p " .. prefix .. "/lib/libzklock.so"):find("SONAME +" .. SONAME:gsub("%.", "%%.")))
    assert.equal(VERSION .. "\n", ok("pkg-config --modversion zklock"))
  end)

  it("has headers that compile alone, without a warning, as C and as C++", function()
    for _, how in ipairs { "cc -std=c99", "cc -std=c11", "clang -std=c11", "clang -x c++ -std=c++11",
      "clang -x c++ -std=c++17" } do
      for _, header in ipairs(HEADERS) do
        ok(how .. " " .. STRICT .. " -fsyntax-only -include " .. header .. " $(pkg-config --cflags zklock) -x "
          .. (how:find("c++", 1, true) and "c++" or "c") .. " /dev/null")
      end
    end
  end)

  --- Two of these programs want the same lock: the second gets it when the first has given it back.
  local function takes_turns(program)
    local first = here:closes(process.spawn { env = { LD_PRELOAD = false, LD_LIBRARY_PATH = prefix .. "/lib" },
      program, here.zk.hosts, here.path, "0.3" }, process.kill)
    local token = tonumber(first:read_line(here.patience):match("^granted (%d+)$"))
    local code, out, err = sh('exec "$@"', program, here.zk.hosts, here.path, "0")
    assert.equal(0, code, out .. err)
    local later = tonumber(out:match("^granted (%d+)\nreleased\n$"))
    assert.is_true(later > token, out)
    assert.equal(0, first:wait(here.patience))
    assert.equal("released\n", first:stdout())
    here:nothing_is_left()
  end

  for name, build in pairs {
    ["with the shared library"] = "cc " .. STRICT .. " -o %s " .. EXAMPLE .. " $(pkg-config --cflags --libs zklock)",
    ["statically"] = "cc -static -o %s " .. EXAMPLE .. " $(pkg-config --static --cflags --libs zklock)",
    ["as C++"] = "clang -x c++ " .. STRICT .. " -o %s " .. EXAMPLE ..
      " -x none $(pkg-config --cflags --libs zklock)",
  } do
    it("gives the example of an epoll loop a lock, built " .. name, function()
      local program = prefix .. "/epoll"
      ok(build:format(program))
      takes_turns(program)
    end)
  end

  it("gives the program of docs/c.md a lock, built as the page says", function()
    local page = markdown.read "docs/c.md"
    local build = page:below("Install and compile")[1].text:match("\n(cc [^\n]*)\n")
    local program = page:below("A program that waits")[1]
    assert.equal("c", program.language)
    assert.equal(file.read("examples/c/blocking.c"):match("^.-%*/\n.-%*/\n(.*)$"), program.text)
    local dir = folder.new("page")
    file.write(dir .. "/lock.c", program.text)
    ok("cd " .. dir .. " && " .. build:gsub("^cc ", "cc " .. STRICT .. " "))
    local before = 0
    for _ = 1, 2 do
      local out = ok('exec "$@"', dir .. "/lock", here.zk.hosts, here.path)
      local token = out:match("^token (%d+), valid for %d+%.%d s\nok\n$")
      assert.is_true(tonumber(token) > before)
      before = tonumber(token)
    end
    here:nothing_is_left()
    local code, out = sh('exec "$@"', dir .. "/lock", "127.0.0.1:99999", here.path)
    assert.same({ 1, "bad argument\n" }, { code, out })
  end)

  it("tells the example why it gets no lock", function()
    ok("cc -o " .. prefix .. "/epoll " .. EXAMPLE .. " $(pkg-config --cflags --libs zklock)")
    for _, arguments in ipairs { "127.0.0.1:99999 /x 0", "127.0.0.1:1 /zookeeper/x 0", "127.0.0.1:1 /x/ 0" } do
      local code, _, err = sh(prefix .. "/epoll " .. arguments)
      assert.same({ 1, "epoll: bad argument\n" }, { code, err })
    end
  end)

  describe("beside another version", function()
    local NEXT = MAJOR .. ".999.0"
    local other, old, new

    --- The header of a version that has one function more, and whose structs have grown at their ends.
    local function grown()
      local text = file.replace(public.text(public.PROMISED), '"' .. VERSION .. '"', '"' .. NEXT .. '"')
      local version = "ZKL_API const char *zkl_version(void);"
      text = file.replace(text, version, version .. "\nZKL_API int zkl_newer(void);")
      for _, item in ipairs(public.read(public.PROMISED)) do
        if item.what == "struct" and item.members[1] == "size" then
          text = file.replace(text, "\n} " .. item.name .. ";", "\n    uint64_t later[8];\n} " .. item.name .. ";")
        elseif item.what == "defaults" then
          text = file.replace(text, item.text, (item.text:gsub("}%s*$", ", {0}}\n")))
        end
      end
      return text
    end

    local function build(name, from, flags)
      local program = folder.new("program") .. "/" .. name
      ok(("PKG_CONFIG_PATH=%s/lib/pkgconfig; cc %s %s -I%s -o %s spec/library/%s.c " ..
        "$(pkg-config --cflags --libs zklock)"):format(from, STRICT, flags, other, program, name))
      return program
    end

    --- Runs a program with the library below a prefix.
    local function with(library, ...) return sh('LD_LIBRARY_PATH=$1/lib; shift; exec "$@"', library, ...) end

    setup(function()
      other = folder.new("other")
      ok("cp -a --parents Makefile csrc lua share tools/*.lua tools/make bench/contest/contest.mk " .. other)
      file.write(other .. "/csrc/" .. public.PROMISED, grown())
      local source = other .. "/csrc/client/client.c"
      file.write(source, file.read(source) .. "\nint zkl_newer(void) {\n    return 1;\n}\n")
      file.write(other .. "/lua/zklock/version.lua", ('\nreturn "%s"\n'):format(NEXT))
      ok(("cd %s && GIT_DIR=none lua5.4 tools/abi.lua --write"):format(other))
      ok(("cd %s && env -u MAKEFLAGS -u MAKELEVEL make -s -j2 CFLAGS=-O0 DEPS= PREFIX=%s install-lib")
        :format(other, other))
      file.write(other .. "/functions.h", functions(public.PROMISED, function(item)
        return "FUNCTION(" .. item.name .. ")"
      end))
      old, new = build("whole", prefix, ""), build("whole", other, "-DGROWN")
    end)

    teardown(function() folder.remove(other) end)

    for name, case in pairs {
      ["its own programs"] = function() return prefix, old, "accepts", VERSION end,
      ["programs of an earlier one, whose structs are shorter"] = function() return other, old, "accepts", NEXT end,
      ["programs of a later one, without the later fields"] = function() return prefix, new, "refuses", VERSION end,
      ["new programs with new fields"] = function() return other, new, "accepts", NEXT end,
    } do
      it("serves " .. name, function()
        local library, program, fields, version = case()
        local code, out, err = with(library, program, here.zk.hosts, here.path, fields)
        assert.same({ 0, version .. "\n", "" }, { code, out, err })
        here:nothing_is_left()
      end)
    end

    it("is wanted by a program that calls a function of it", function()
      local program = build("newer", other, "")
      assert.equal(0, (with(other, program)))
      local code, _, err = with(prefix, program)
      assert.equal(1, code)
      assert.truthy(err:find(("version `ZKLOCK_%s.999' not found"):format(MAJOR), 1, true), err)
    end)

    it("is refused to a host of event loops that was linked with the other", function()
      local host = build("host", prefix, "")
      assert.equal(0, (with(prefix, host)))
      local code, _, err = with(other, host)
      assert.equal(1, code)
      assert.truthy(err:find(("version `ZKLOCK_HOST_%s' not found"):format(VERSION), 1, true), err)
    end)
  end)
end)
