-- SPDX-License-Identifier: MIT
-- Compares the programs that specs start with the packages that tools/deps.sh installs for the tests.
--
--   lua5.4 tools/programs.lua
--
-- A bare Debian has the packages that dpkg calls essential or required. A program of any other package must come with a
-- package that tools/deps.sh names, or with one that it depends on: else the specs fail on a bare machine. The check
-- reads the first word of each command, also of a shell's pipelines. It needs the programs and Debian's dpkg here.

local function output(command)
  local pipe <close> = assert(io.popen(command))
  return pipe:read("a")
end

if output("command -v dpkg-query") == "" then
  print("skipped: dpkg-query is not here")
  os.exit(true)
end

-- ---- what specs start -----------------------------------------------------------------------------------------------

local started = {} -- program -> a file

local function note(word, place)
  if word and word:find("^[a-z][%w+.-]*$") then started[word] = started[word] or place end
end

-- The first word of each command of a shell's text.
local function note_shell(text, place)
  for command in (text:gsub("%$%(", "\n"):gsub("[|;&]+", "\n") .. "\n"):gmatch("%s*(.-)\n") do
    note(command:match("^(%S+)"), place)
  end
end

for file in output("find spec -name '*.lua'"):gmatch("%S+") do
  local handle <close> = assert(io.open(file))
  local text = handle:read("a")
  for call in text:gmatch("%f[%w]spawn%s*%(?(%b{})") do
    note(call:gsub("%b{}", "", 1):match('^{?[^"]-"([^"]+)"') or call:match('^{%s*"([^"]+)"'), file)
    note(call:match('^{%s*"([^"]+)"'), file)
  end
  for word in text:gmatch('%f[%w]run%(%s*"([^"]+)"') do note(word, file) end
  for command in text:gmatch('"sh", "%-e?c", "([^"\n]*)"') do note_shell(command, file) end
  for command in text:gmatch('"sh", "%-e?c", %[%[(.-)%]%]') do note_shell(command, file) end
  for command in text:gmatch('popen%(?%s*"([^"\n]*)"') do note_shell(command, file) end
end

-- ---- what is installed for them -------------------------------------------------------------------------------------

local needs, given = {}, {} -- package -> the packages that it depends on; packages that a bare machine gets
local FIELDS = "'${Package}\\t${Essential} ${Priority}\\t${Pre-Depends},${Depends}\\n'"
for line in output("dpkg-query -W -f " .. FIELDS):gmatch("[^\n]+") do
  local package, kind, depends = line:match("^(.-)\t(.-)\t(.*)$")
  needs[package] = {}
  for name in depends:gmatch("%f[%w][%l%d][%l%d+.-]+%f[^%l%d+.-]") do table.insert(needs[package], name) end
  if kind:find("yes") or kind:find("required") then table.insert(given, package) end
end

local wanted = output("tools/deps.sh --list test test-all neighbours tls slow")
for item in wanted:gmatch("%S+") do table.insert(given, (item:gsub("|.*", ""))) end
for _, name in ipairs { "git", "make" } do table.insert(given, name) end -- that README asks for

local has = {}
local function add(package)
  if has[package] then return end
  has[package] = true
  for _, name in ipairs(needs[package] or {}) do add(name) end
end
for _, package in ipairs(given) do add(package) end

local failed, checked = false, 0
for program, place in pairs(started) do
  local path = output("PATH=/usr/sbin:/usr/bin:/sbin:/bin command -v " .. program):match("^(/%S+)")
  local real = path and output("realpath " .. path):match("%S+")
  local package = path and output(("dpkg -S %s /usr%s %s 2>/dev/null"):format(path, path, real)):match("^([^:,]+)")
  if package then
    checked = checked + 1
    if not has[package] then
      print(("%s: starts %s, which package %s has: name it in tools/deps.sh"):format(place, program, package))
      failed = true
    end
  end
end
if checked < 20 then
  print(("%d programs found: this check no longer reads how specs start them"):format(checked))
  failed = true
end
os.exit(not failed)
