-- SPDX-License-Identifier: MIT
--- tools/abi.lua and tools/manual.lua, on a copy of the headers: what breaks programs in C does not pass `make lint`.

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local HEADER, HOST = "csrc/zklock.h", "csrc/zklock_host.h"

-- How ZKL_TERMS_DEFAULTS ends.
local LAST_DEFAULT = "            NULL" .. (" "):rep(83) .. "\\\n    }\n"

describe("the ABI #once", function()
  local tree

  local function run(...)
    local one = process.spawn { cwd = tree, env = { LD_PRELOAD = false, GIT_CONFIG_GLOBAL = "/dev/null" }, ... }
    one:close_input()
    local code = one:wait()
    return code, one:stdout() .. one:stderr()
  end

  local function git(...)
    local code, said = run("git", "-c", "user.name=a", "-c", "user.email=a@localhost", ...)
    assert.equal(0, code, said)
  end

  local function check() return run("lua5.4", "tools/abi.lua") end
  local function write() return run("lua5.4", "tools/abi.lua", "--write") end

  local function edit(old, new, header)
    local path = tree .. "/" .. (header or HEADER)
    file.write(path, file.replace(file.read(path), old, new))
  end

  local function refuses(said_by, ...)
    local code, said = said_by()
    assert.equal(1, code, said)
    for _, expected in ipairs { ... } do assert.truthy(said:find(expected, 1, true), said) end
  end

  local ADDITION = { "ZKL_API const char *zkl_version(void);",
    "/* New. */\nZKL_API int zkl_new(void);\nZKL_API const char *zkl_version(void);" }
  local BREAKS = {
    { "a field that is longer", "    int64_t mzxid, pzxid;", "    int64_t mzxid, pzxid, qzxid;",
      "struct zkl_stat 72" },
    { "fields that swap their places", "const char *scheme, *credential;", "const char *credential, *scheme;",
      "field zkl_auth.scheme 0 8" },
    { "a field that fits into a gap", "    bool exposed;", "    bool exposed, other;",
      "(new, and not at the end of a struct with a size)" },
    { "a field before others", "    zkl_stat stat;", "    size_t other;\n    zkl_stat stat;",
      "(new, and not at the end of a struct with a size)" },
    { "a field of a struct without a size", "    const char *scheme, *credential;",
      "    const char *scheme, *credential, *other;", "(new, and not at the end of a struct with a size)" },
    { "a field of another type and the same size", "    double sum;", "    int64_t sum;",
      "field zkl_histogram.sum 128 8 double" },
    { "another parameter", "ZKL_API void zkl_close(zkl_client *client);",
      "ZKL_API void zkl_close(zkl_client *client, int how);",
      "function 1.0 void zkl_close(zkl_client *client);" },
    { "a function that is gone", "ZKL_API void zkl_free(zkl_client *client);", "",
      "function 1.0 void zkl_free(zkl_client *client);" },
    { "a constant with another number", "ZKL_ACL_OPEN, ZKL_ACL_CREATOR", "ZKL_ACL_CREATOR, ZKL_ACL_OPEN",
      "constant ZKL_ACL_CREATOR 1 zkl_acl" },
    { "a constant that comes before others", "    ZKL_UNKNOWN, ", "    ZKL_NEW, ZKL_UNKNOWN, ",
      "constant ZKL_UNKNOWN 21 zkl_code" },
    { "a constant of another type", "#define ZKL_SECOND INT64_C(1000000000)", "#define ZKL_SECOND 1000000000",
      "constant ZKL_SECOND 1000000000 long" },
    { "a constant without a sign", "#define ZKL_BUCKETS 16", "#define ZKL_BUCKETS 16U", "constant ZKL_BUCKETS 16 int" },
    { "a constant of another enum", "ZKL_ACL_OPEN, ZKL_ACL_CREATOR, ZKL_ACL_READ } zkl_acl;",
      "ZKL_ACL_OPEN, ZKL_ACL_CREATOR } zkl_acl;\ntypedef enum zkl_more { ZKL_MORE, ZKL_ANY, ZKL_ACL_READ } zkl_more;",
      "constant ZKL_ACL_READ 2 zkl_acl" },
    { "a text with other letters", '"__REVOKE__"', '"__revoke__"', 'constant ZKL_REVOKE "__REVOKE__" text' },
    { "an enum with a sign", "ZKL_ACL_READ } zkl_acl;", "ZKL_ACL_READ, ZKL_ACL_NONE = -1 } zkl_acl;",
      "enum zkl_acl 4 unsigned" },
    { "a number of kinds that is smaller", "(ZKL_KIND_LEASE + 1)", "(ZKL_KIND_LEASE + 0)", "constant ZKL_KINDS 5 int" },
    { "a number of kinds that is long", "(ZKL_KIND_LEASE + 1)", "(ZKL_KIND_LEASE + 1L)", "constant ZKL_KINDS 5 int" },
    { "a number of kinds that is gone", "#define ZKL_KINDS (ZKL_KIND_LEASE + 1)", "", "constant ZKL_KINDS 5 int" },
    { "a struct that begins elsewhere", "typedef struct zkl_auth {\n    const char *",
      "typedef struct zkl_auth {\n    _Alignas(16) const char *", "struct zkl_auth 16 8" },
  }

  before_each(function()
    tree = folder.new("abi")
    run("mkdir", "-p", "tools", "csrc", "share")
    for _, name in ipairs { "tools/abi.lua", "tools/header.lua", "tools/manual.lua", "share/zklock.in.3",
      "share/zklock.abi", HEADER, HOST } do
      file.write(tree .. "/" .. name, file.read(name))
    end
    edit('ZKL_VERSION "' .. dofile "lua/zklock/version.lua" .. '"', 'ZKL_VERSION "1.0.0"')
    assert.same({ 0, "" }, { write() })
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "all: begin")
    git("tag", "v1.0.0")
  end)

  after_each(function() folder.remove(tree) end)

  it("is accepted as it was written", function() assert.same({ 0, "" }, { check() }) end)

  for _, case in ipairs(BREAKS) do
    it("is broken by " .. case[1], function()
      local former = file.read(tree .. "/" .. HEADER)
      edit(case[2], case[3])
      assert.is_not.equal(former, file.read(tree .. "/" .. HEADER))
      refuses(check, "programs that were built with v1.0.0 would break", case[4])
      refuses(write, "programs that were built with v1.0.0 would break", case[4])
    end)
  end

  it("is broken by a function that only hosts have from now on", function()
    local moved = "ZKL_API void zkl_free(zkl_client *client);"
    edit(moved, "")
    edit("ZKL_API void zkl_wake(", moved .. "\n/* New. */\nZKL_API void zkl_wake(", HOST)
    refuses(check, "programs that were built with v1.0.0 would break",
      "function 1.0 void zkl_free(zkl_client *client);")
  end)

  it("promises nothing to hosts of event loops, and shows what changes for them", function()
    local LIST, HANDLER = tree .. "/share/zklock.abi", "field zkl_visit_handler.call 0 8 intptr_t (*)(%s result)"
    edit("ZKL_API void zkl_wake(zkl_client *client);", "ZKL_API int zkl_wake(zkl_client *client);", HOST)
    edit("void *data, intptr_t result);", "int result);", HOST)
    refuses(check, "`make abi` writes it", "Nothing is lost")
    assert.same({ 0, "" }, { write() })
    assert.same({ 0, "" }, { check() })
    for _, line in ipairs { "function int zkl_wake(zkl_client *client);", HANDLER:format("void *of, int") } do
      assert.truthy(file.read(LIST):find("\nhost " .. line .. "\n", 1, true), line)
    end
  end)

  it("may change together with the soname", function()
    edit(BREAKS[1][2], BREAKS[1][3])
    edit('#define ZKL_VERSION "1.0.0"', '#define ZKL_VERSION "2.0.0"')
    refuses(check, "`make abi` writes it")
    assert.same({ 0, "" }, { write() })
    assert.same({ 0, "" }, { check() })
  end)

  it("may grow", function()
    edit(ADDITION[1], ADDITION[2])
    edit("    ZKL_STATUS_END ", "    ZKL_NEW_CODE,\n    ZKL_STATUS_END ")
    refuses(check, "`make abi` writes it", "Nothing is lost")
    assert.same({ 0, "" }, { write() })
    assert.same({ 0, "" }, { check() })
  end)

  it("gives a function the minor version that is the first with it, for its symbol", function()
    local LIST = tree .. "/share/zklock.abi"
    local function lists(line) assert.truthy(file.read(LIST):find("\nfunction " .. line .. "\n", 1, true), line) end
    lists "1.0 const char *zkl_version(void);"
    edit(ADDITION[1], ADDITION[2])
    assert.same({ 0, "" }, { write() })
    lists "1.1 int zkl_new(void);"
    lists "1.0 const char *zkl_version(void);"
    file.write(LIST, file.replace(file.read(LIST), "function 1.1 int", "function 1.0 int"))
    refuses(check, "`make abi` writes it")

    edit('ZKL_VERSION "1.0.0"', 'ZKL_VERSION "1.1.0"')
    assert.same({ 0, "" }, { write() })
    git("commit", "-qam", "release: 1.1.0")
    git("tag", "v1.1.0")
    assert.same({ 0, "" }, { check() })
    edit("int zkl_new(void);", "int zkl_new(void);\n/* Newer. */\nZKL_API int zkl_newer(void);")
    assert.same({ 0, "" }, { write() })
    lists "1.1 int zkl_new(void);"
    lists "1.2 int zkl_newer(void);"
  end)

  it("may have more fields at the end of a struct with a size", function()
    edit("    int64_t *at_once;\n} zkl_terms;", "    int64_t *at_once;\n    size_t later;\n} zkl_terms;")
    edit(LAST_DEFAULT, "            NULL, 0 }\n")
    assert.same({ 0, "" }, { write() })
    assert.same({ 0, "" }, { check() })
  end)

  it("has no gap at the end of a struct that programs fill", function()
    edit("    int64_t *at_once;\n} zkl_terms;", "    int64_t *at_once;\n    bool later;\n} zkl_terms;")
    edit(LAST_DEFAULT, "            NULL, false }\n")
    refuses(check, "a gap at the end of zkl_terms")
  end)

  it("has defaults for each struct with a size", function()
    edit("#define ZKL_SHARING_DEFAULTS", "#define ZKL_SHARING_INIT")
    refuses(check, "zkl_sharing has no ZKL_SHARING_DEFAULTS")
  end)

  it("does not change silently before a release has it", function()
    git("tag", "-d", "v1.0.0")
    edit(BREAKS[1][2], BREAKS[1][3])
    refuses(check, "share/zklock.abi is not what the headers have now", BREAKS[1][4])
    assert.same({ 0, "" }, { write() })
    assert.same({ 0, "" }, { check() })
  end)

  it("is that of headers that compile alone", function()
    edit('#include "zklock.h"\n', "", HOST)
    refuses(check, "csrc/zklock_host.h does not compile alone")
    edit("#include <stdint.h>\n", "")
    refuses(check, "csrc/zklock.h does not compile alone")
  end)

  it("has a manual that follows the headers", function()
    local function manual(...) return run("lua5.4", "tools/manual.lua", ...) end
    for _, case in ipairs {
      { HEADER, "zkl_version", "/* The ZKL_VERSION of the library that is loaded; static. */\n" },
      { HOST, "zkl_wake", "/* Makes the descriptor readable: the host has work of its own. */\n" },
    } do
      local path = tree .. "/" .. case[1]
      local text = file.read(path)
      assert.equal(0, (manual("--write")))
      assert.same({ 0, "" }, { manual() })
      edit(case[3], "/* Other words. */\n", case[1])
      refuses(manual, "`make abi` writes it")
      edit("/* Other words. */\n", "", case[1])
      refuses(manual, ("%s has no comment in %s"):format(case[2], case[1]))
      file.write(path, text)
    end
  end)
end)
