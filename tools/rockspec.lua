-- Checks that a rockspec lists every Lua module of this tree, each under its name, and none besides; and that the C
-- module has the version of the Lua files, and so does a release's rockspec.
-- usage: lua5.4 tools/rockspec.lua ROCKSPEC
local rockspec = {}
assert(loadfile(arg[1], "t", rockspec))()

local listed, wrong = {}, {}
for name, module in pairs(rockspec.build.install.lua) do
  listed[module] = true
  if name ~= module:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".") then
    wrong[#wrong + 1] = name .. " is not the name of " .. module
  end
end

local released, version = rockspec.version:match("^(.*)%-%d+$"), dofile("lua/zklock/version.lua")
if released ~= "scm" and released ~= version then
  wrong[#wrong + 1] = ("the version is %s, lua/zklock/version.lua has %s"):format(rockspec.version, version)
end

local header = assert(io.open("csrc/zklock.h"))
local compiled = header:read("a"):match('#define ZKL_VERSION "([^"]*)"')
header:close()
if compiled ~= version then
  wrong[#wrong + 1] = ("csrc/zklock.h has version %s, lua/zklock/version.lua has %s"):format(compiled, version)
end

local find = assert(io.popen("find lua -name '*.lua'"))
for file in find:lines() do
  if not listed[file] then
    wrong[#wrong + 1] = "not listed: " .. file
  end
  listed[file] = nil
end
find:close()
for file in pairs(listed) do
  wrong[#wrong + 1] = "listed, but not there: " .. file
end

table.sort(wrong)
for _, line in ipairs(wrong) do
  print(arg[1] .. ": " .. line)
end
os.exit(#wrong == 0)
