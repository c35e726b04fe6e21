-- SPDX-License-Identifier: MIT
-- Keeps the rockspecs in step with the tree. rockspec/zklock-scm-1.rockspec is written by hand, but for its list of Lua
-- modules. The rockspec of a release differs from it in the version, and in the tag that its sources have.
--   * scm-1 lists each Lua module of the tree under its name, and no other.
--   * Next to it lies the rockspec of the version in lua/zklock/version.lua, and no other.
-- usage: lua5.4 tools/rockspec.lua [--write]     in the root of the tree; with --write it corrects the rockspecs

local SCM = "rockspec/zklock-scm-1.rockspec"

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read("a")
end

local function list(command)
  local pipe <close> = assert(io.popen(command))
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  return lines
end

--- The modules as the rockspec lists them: those of a folder together, its init.lua first.
local function modules()
  local files, keys = list "find lua -name '*.lua'", {}
  for _, file in ipairs(files) do
    local folder, name = file:match "^(.*)/([^/]*)%.lua$"
    keys[file] = folder .. "\0" .. (name == "init" and "" or name)
  end
  table.sort(files, function(a, b) return keys[a] < keys[b] end)
  for i, file in ipairs(files) do
    local name = file:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
    files[i] = ('      ["%s"] = "%s",\n'):format(name, file)
  end
  return table.concat(files)
end

--- The text with its one match of `pattern` replaced.
local function replaced(text, pattern, replacement)
  local result, count = text:gsub(pattern, replacement)
  assert(count == 1, ("%s must match %s once, it does %d times"):format(SCM, pattern, count))
  return result
end

local version = dofile "lua/zklock/version.lua"
local before, after = read(SCM):match "^(.-\n    lua = {[^\n]*\n).-(    },\n.*)$"
assert(before, SCM .. " must have a list of Lua modules in build.install.lua")
local scm = before .. modules() .. after
local release = replaced(scm, 'version = "scm%-1"', ('version = "%s-1"'):format(version))
release = replaced(release, '  url = "git[^\n]*\n', ('%%0  tag = "v%s",\n'):format(version))
local wanted = { [SCM] = scm, [("rockspec/zklock-%s-1.rockspec"):format(version)] = release }

local wrong = {}
local function complain(...)
  wrong[#wrong + 1] = string.format(...)
end

local found = {}
for _, path in ipairs(list "find rockspec -name '*.rockspec'") do found[path] = true end

if arg[1] == "--write" then
  for path in pairs(found) do
    if not wanted[path] then assert(os.remove(path)) end
  end
  for path, text in pairs(wanted) do
    local file <close> = assert(io.open(path, "w"))
    file:write(text)
  end
else
  for path in pairs(found) do
    if not wanted[path] then complain("%s is not a rockspec of version %s: run `make rockspec`", path, version) end
  end
  for path, text in pairs(wanted) do
    if not found[path] then
      complain("%s is missing: run `make rockspec`", path)
    elseif read(path) ~= text then
      complain("%s differs from the tree: run `make rockspec`", path)
    end
  end
end

table.sort(wrong)
for _, line in ipairs(wrong) do print(line) end
os.exit(#wrong == 0)
