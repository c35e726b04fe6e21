-- SPDX-License-Identifier: MIT
-- The version of zklock. lua/zklock/version.lua has it; the other places that name it have copies:
--   * csrc/zklock.h, which compiles it into the C module, the command line and the C library, and its manual
--     share/zklock.3;
--   * the rockspec of the release (tools/rockspec.lua);
--   * share/zklock.abi, which names the C library's soname: its number is the major version. A new one is the first
--     with each function of the list;
--   * debian/control, whose package of the C library has the number of the soname in its name, and debian/changelog;
--   * CHANGELOG.md, whose newest release it is. Before the first release, its text says how the tree calls itself.
-- make reads it from lua/zklock/version.lua itself: tools/make/version.mk.
-- usage: lua5.4 tools/version.lua             in the root of the tree: compares the copies
--        lua5.4 tools/version.lua VERSION     writes VERSION everywhere; `make release` runs this

local TRUTH, HEADER, CHANGELOG = "lua/zklock/version.lua", "csrc/zklock.h", "CHANGELOG.md"
local ABI, MANUAL = "share/zklock.abi", "share/zklock.3"
local CONTROL, DEBIAN = "debian/control", "debian/changelog"
local NUMBERS = "^(%d+)%.(%d+)%.(%d+)$"

local function read(path)
  local file <close> = assert(io.open(path))
  return file:read("a")
end

local function write(path, text)
  local file <close> = assert(io.open(path, "w"))
  assert(file:write(text))
end

local function fail(...)
  io.stderr:write("tools/version.lua: ", string.format(...), "\n")
  os.exit(false)
end

--- Replaces the one match of `pattern` in a file.
local function replace(path, pattern, replacement)
  local text, count = read(path):gsub(pattern, replacement)
  if count ~= 1 then fail("%s must match %s once, it does %d times", path, pattern, count) end
  write(path, text)
end

--- The three numbers of a version without leading zeros, or nil.
local function numbers(version)
  local major, minor, patch = version:match(NUMBERS)
  if major and ("." .. version):find "%.0%d" then return nil end
  return math.tointeger(tonumber(major)), math.tointeger(tonumber(minor)), math.tointeger(tonumber(patch))
end

local function is_older(version, other)
  local a, b = { numbers(version) }, { numbers(other) }
  for i = 1, 3 do
    if a[i] ~= b[i] then return a[i] < b[i] end
  end
  return false
end

local version = dofile(TRUTH)

--- The version that the changelog names.
local function in_changelog()
  local text = read(CHANGELOG)
  return text:match "\n## %[(%d[^%]\n]*)%]" or text:match "the tree calls itself (%d+%.%d+%.%d+)%."
end

local function check()
  local wrong = {}
  local function compare(path, found)
    if found ~= version then
      wrong[#wrong + 1] = ("%s has version %s, %s has %s: run lua5.4 tools/version.lua VERSION")
        :format(path, found or "?", TRUTH, version)
    end
  end
  if not numbers(version) then wrong[1] = ("%s: MAJOR.MINOR.PATCH expected, got %s"):format(TRUTH, version) end
  for _, path in ipairs { HEADER, MANUAL } do compare(path, read(path):match '#define ZKL_VERSION "([^"]*)"') end
  compare(CHANGELOG, in_changelog())
  compare(DEBIAN, read(DEBIAN):match "^zklock %(([^)]*)%)")
  local soname = read(ABI):match "\nsoname ([^\n]*)\n"
  if soname ~= "libzklock.so." .. version:match "^%d*" then
    wrong[#wrong + 1] = ("%s has the soname %s, %s the version %s: run lua5.4 tools/version.lua VERSION")
      :format(ABI, soname or "?", TRUTH, version)
  end
  for number in read(CONTROL):gmatch "libzklock(%d+)" do
    if number ~= version:match "^%d*" then
      wrong[#wrong + 1] = ("%s names libzklock%s, %s has the version %s: run lua5.4 tools/version.lua VERSION")
        :format(CONTROL, number, TRUTH, version)
    end
  end
  for _, line in ipairs(wrong) do print(line) end
  os.exit(#wrong == 0)
end

--- Debian's changelog leads to ours.
local function write_debian(new)
  local text = read(DEBIAN)
  local heading = ("zklock (%s) "):format(new)
  if text:sub(1, #heading) == heading then return end
  local entry = text:match "^zklock.-\n %-%- [^\n]*\n"
  if not entry then fail("%s must begin with an entry", DEBIAN) end
  entry = entry:gsub("^zklock %([^)]*%) ", heading):gsub(">  [^\n]*\n$", os.date "!>  %a, %d %b %Y %H:%M:%S +0000\n")
  write(DEBIAN, entry .. "\n" .. text)
end

--- Gives what is unreleased the heading of the release, below an empty section for what comes next.
local function write_changelog(new)
  local text = read(CHANGELOG)
  if text:find("\n## [" .. new .. "]", 1, true) then return end
  text = text:gsub("\nThe first release will be [^\n]*the tree calls itself [^\n]*\n", "", 1)
  local heading = ("## [Unreleased]\n\n## [%s] - %s\n"):format(new, os.date "!%Y-%m-%d")
  local count
  text, count = text:gsub("## %[Unreleased%]\n", heading)
  if count ~= 1 then fail("%s must have one heading [Unreleased]", CHANGELOG) end
  write(CHANGELOG, text)
end

--- The first version that may have all functions in the ABI.
local function first_with_all()
  local latest = version
  for minor in read(ABI):gmatch "\nfunction (%d+%.%d+) " do
    if is_older(latest, minor .. ".0") then latest = minor .. ".0" end
  end
  return latest
end

local function write_abi(new)
  local text, major = read(ABI), new:match "^%d+"
  local former = text:match "\nsoname libzklock%.so%.(%d+)\n"
  if not former then fail("%s must name a soname", ABI) end
  if former == major then return end
  text = text:gsub("\nsoname [^\n]*\n", "\nsoname libzklock.so." .. major .. "\n")
    :gsub("\nfunction %d+%.%d+ ", "\nfunction " .. new:match "^%d+%.%d+" .. " ")
  write(ABI, text)
end

local new = arg[1]
if not new then check() end
if not numbers(new) then fail("bad argument VERSION: MAJOR.MINOR.PATCH expected, got %s", new) end
if is_older(new, version) then fail("bad argument VERSION: %s is older than %s", new, version) end
local latest = first_with_all()
if is_older(new, latest) then
  fail("bad argument VERSION: %s is older than %s, the first with all functions in %s", new, latest, ABI)
end
replace(TRUTH, '\nreturn "[^"]*"\n', ('\nreturn "%s"\n'):format(new))
for _, path in ipairs { HEADER, MANUAL } do
  replace(path, '#define ZKL_VERSION "[^"]*"', ('#define ZKL_VERSION "%s"'):format(new))
end
write_abi(new)
write(CONTROL, (read(CONTROL):gsub("libzklock%d+", "libzklock" .. numbers(new))))
write_debian(new)
write_changelog(new)
os.exit(os.execute "lua5.4 tools/rockspec.lua --write")
