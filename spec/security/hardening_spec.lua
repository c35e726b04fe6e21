-- SPDX-License-Identifier: MIT
--- The compiler's and the linker's protections against writes past a buffer: our module has those of Debian's packages.
--- tools/rock.sh looks at the rock's module in the same way, and tls_spec at the libzookeeper with TLS.

local process = require "spec.support.process"

local TOOL = "tools/hardened.sh"

local function run(command)
  command.env = process.PLAIN
  local child = process.spawn(command)
  local code = child:wait()
  return code, child:stdout() .. child:stderr()
end

local function module_of(version) return ("build/%s/zklock/core.so"):format(version) end

local function is_there(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

describe("hardening #once #bare", function()
  for _, version in ipairs { "5.1", "5.2", "5.3", "5.4", "5.5", "luajit" } do
    it("is in the module for " .. version .. ", which exports one function", function()
      if not is_there(module_of(version)) then return pending("not built") end
      assert.same({ 0, "" }, { run { TOOL, module_of(version), "luaopen_zklock_core" } })
    end)
  end

  it("is in the command line", function()
    if not is_there("build/zklock") then return pending("not built") end
    assert.same({ 0, "" }, { run { TOOL, "build/zklock" } })
  end)

  describe("is missed by the tool", function()
    local folder = require "spec.support.folder"
    local source = folder.file("soft.c", [[
      #include <stdio.h>
      #include <string.h>
      __attribute__((visibility("default"))) int entry(const char *text, int n);
      int helper(const char *text);
      int helper(const char *text) { return (int)strlen(text); }
      int entry(const char *text, int n) {
        char copy[64];
        sprintf(copy, "%s %d", text, n);
        return helper(copy);
      }
    ]])
    local ALL = { ["-O2"] = "", ["-fvisibility=hidden"] = "exports 2 symbols",
      ["-fstack-protector-strong"] = "lacks -fstack-protector-strong",
      ["-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"] = "lacks -D_FORTIFY_SOURCE=2", ["-Wl,-z,relro"] = "lacks -Wl,-z,relro",
      ["-Wl,-z,now"] = "lacks -Wl,-z,now" }
    local WITHOUT = { ["-Wl,-z,relro"] = "-Wl,-z,norelro", ["-Wl,-z,now"] = "-Wl,-z,lazy",
      ["-fstack-protector-strong"] = "-fno-stack-protector",
      ["-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2"] = "-U_FORTIFY_SOURCE" }

    local function build(but)
      local library, command = folder.new("soft") .. "/soft.so", { "cc", "-shared", "-fPIC", "-w" }
      for flag in pairs(ALL) do
        for word in (flag == but and WITHOUT[flag] or flag ~= but and flag or ""):gmatch("%S+") do
          command[#command + 1] = word
        end
      end
      for _, word in ipairs { "-o", library, source } do command[#command + 1] = word end
      assert.same({ 0, "" }, { run(command) })
      return library
    end

    it("in nothing that has all of it", function()
      assert.same({ 0, "" }, { run { TOOL, build(), "entry" } })
    end)

    for flag, complaint in pairs(ALL) do
      if complaint ~= "" then
        it("where it lacks " .. flag, function()
          local code, said = run { TOOL, build(flag), "entry" }
          assert.equal(1, code)
          assert.truthy(said:find(complaint, 1, true), said)
          assert.equal(1, select(2, said:gsub("\n", "")), said)
        end)
      end
    end
  end)
end)
