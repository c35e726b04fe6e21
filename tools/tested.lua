-- SPDX-License-Identifier: MIT
-- Prints the server and the library that a run of tests uses: their versions, and where they are.
--
--   lua5.4 tools/tested.lua PROGRAM
--
-- PROGRAM is linked with libzookeeper_mt. ZOOKEEPER_CLASSPATH names another server, LD_LIBRARY_PATH another library.

local classpath = require "spec.support.classpath"

local function output_of(command)
  local pipe <close> = assert(io.popen(command))
  return pipe:read("a")
end

local function quoted(text)
  return "'" .. text:gsub("'", [['\'']]) .. "'"
end

local function library_version(path)
  local file <close> = assert(io.open(path, "rb"))
  return file:read("a"):match("zookeeper C client (%d[%w.-]*)")
end

local said = output_of("java -cp " .. quoted(classpath) .. " org.apache.zookeeper.version.VersionInfoMain 2>&1")
print(("server   %s: %s"):format(said:match("version ([%w.-]+)") or "unknown version: " .. said, classpath))

local path = output_of("ldd " .. quoted(arg[1])):match("libzookeeper_mt%S* => (/%S+)")
print(("library  %s: %s"):format(path and library_version(path) or "unknown version", path or "not found"))
