-- Checks that the folders of lua/zklock know each other one way only: a module requires modules of its own folder and
-- of those above it in this list, and no two modules require each other, however indirectly.
-- usage: lua5.4 tools/requires.lua [FOLDER]

local ROOT = (arg[1] or "lua") .. "/zklock/"

--- From the ground up; "" is the public interface. What a folder may know is named; its own modules go without saying.
local KNOWS = {
  base = {},
  owners = { "base" },
  openresty = { "base", "owners" },
  loop = { "base", "openresty" },
  holds = { "base", "owners" },
  [""] = { "base", "owners", "loop", "holds" },
}

local wrong, requires = {}, {}

local function complain(...) wrong[#wrong + 1] = string.format(...) end

--- The folder of a file below ROOT, and the module's name.
local function place_of(file)
  local inside = file:sub(#ROOT + 1)
  return inside:match("^(.*)/") or "", "zklock." .. inside:gsub("%.lua$", ""):gsub("/?init$", ""):gsub("/", ".")
end

local function read(file)
  local folder, name = place_of(file)
  if not KNOWS[folder] then return complain("%s: tools/requires.lua does not know this folder", file) end
  requires[name] = { file = file, folder = folder }
  for line in io.lines(file) do
    for module in line:gmatch("require%s*%(?%s*\"(zklock[%w_.]*)\"") do
      if not line:find("^%s*%-%-") then table.insert(requires[name], module) end
    end
  end
end

local function may_know(folder, other)
  if folder == other then return true end
  for _, known in ipairs(KNOWS[folder]) do
    if known == other then return true end
  end
  return false
end

local function check(name)
  local module = requires[name]
  for _, other in ipairs(module) do
    local target = requires[other]
    if target and not may_know(module.folder, target.folder) then
      complain("%s: a module of '%s' may not know %s", module.file, module.folder, other)
    elseif not target and other ~= "zklock.core" then
      complain("%s: there is no %s", module.file, other)
    end
  end
end

--- Follows what a module requires; `way` is how it was come to.
local function follow(name, way)
  if way[name] then return complain("%s requires itself, by way of %s", name, way[name]) end
  local module = requires[name]
  if not module or module.done then return end
  way[name] = true
  for _, other in ipairs(module) do
    way[name] = other
    follow(other, way)
  end
  way[name], module.done = nil, true
end

local find = assert(io.popen(("find '%s' -name '*.lua' | sort"):format(ROOT)))
for file in find:lines() do read(file) end
find:close()
for name in pairs(requires) do
  check(name)
  follow(name, {})
end

table.sort(wrong)
for _, line in ipairs(wrong) do print(line) end
os.exit(#wrong == 0 and next(requires) ~= nil)
