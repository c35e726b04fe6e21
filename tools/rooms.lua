-- SPDX-License-Identifier: MIT
-- Checks the rooms of lua/zklock:
--
--   * A folder knows only those that are named below, and no two modules require each other, however indirectly.
--   * Nobody writes fields of another module's objects. The kind of an object shows by the name that it has everywhere.
--
-- usage: lua5.4 tools/rooms.lua [FOLDER]     such as lua

local ROOT = (arg[1] or "lua") .. "/zklock/"

--- From the ground up; "" is the public interface. A folder may know those named; its own modules go without saying.
local KNOWS = {
  base = {},
  owners = { "base" },
  openresty = { "base", "owners" },
  loop = { "base", "openresty" },
  run = { "base", "owners", "loop" },
  holds = { "base", "owners", "run" },
  nodes = { "base", "owners", "loop", "run" },
  metrics = { "", "base" },
  [""] = { "base", "owners", "loop", "run", "holds", "nodes" },
}

--- The file that may write into an object of that name.
local WRITERS = {
  call = "run/callbacks.lua", callbacks = "run/callbacks.lua", claim = "guard.lua", client = "client.lua",
  crew = "openresty/runner.lua", dispatcher = "run/dispatcher.lua", guard = "guard.lua",
  handed = "holds/lock_path.lua", relays = "holds/relays.lua", hold = "holds/hold.lua", holder = "holds/hold.lua",
  holds = "holds/client_holds.lua", lease = "lease.lua",
  lifetimes = "owners/owner_lifetimes.lua", lock = "lock.lua", lock_path = "holds/lock_path.lua",
  losses = "holds/losses.lua", multilock = "holds/lock_path.lua", notifier = "openresty/notifier.lua",
  part = "holds/lock_path.lua", paths = "holds/paths.lua", read = "holds/lock_path.lua",
  reporter = "run/reporter.lua", request = "request.lua", semaphore = "semaphore.lua", runner = "openresty/runner.lua",
  visit = "openresty/visits.lua", visits = "openresty/visits.lua", waits = "run/waits.lua",
  write = "holds/lock_path.lua",
}
--- The adapter's own; docs/internals/adapters.md says so. Of a waiter, too, which an adapter keeps things in.
local OPEN = { ["client.host"] = true }
--- Fields that are set where a call could raise: after an error there may be no memory for a call.
for field in ("claim.hold claim.token claim.open"):gmatch("%S+") do
  OPEN[field] = true
end

local wrong, requires = {}, {}

local function complain(...) wrong[#wrong + 1] = string.format(...) end

--- The folder of a file below ROOT, and the module's name.
local function place_of(file)
  local inside = file:sub(#ROOT + 1)
  return inside:match("^(.*)/") or "", "zklock." .. inside:gsub("%.lua$", ""):gsub("/?init$", ""):gsub("/", ".")
end

--- An assignment's targets, each checked.
local function check_targets(file, number, targets)
  local inside = file:sub(#ROOT + 1)
  for target in (targets .. ","):gmatch("([^,]*),") do
    local object, field = target:gsub("%b[]", ""):match("([%a_][%w_]*)%.([%a_][%w_]*)%s*$")
    local writer = object and not OPEN[object .. "." .. field] and WRITERS[object]
    if writer and writer ~= inside then
      complain("%s:%d: writes %s.%s, which is %s's", file, number, object, field, writer)
    end
  end
end

local function check_writes(file)
  local number = 0
  for line in io.lines(file) do
    number = number + 1
    local code = line:gsub("%-%-.*", ""):gsub('"[^"]*"', '""')
    for statement in (code:gsub("%f[%w]then%f[%W]", ";"):gsub("%f[%w]else%f[%W]", ";") .. ";"):gmatch("([^;]*);") do
      local targets = statement:match("^([%w_.,%s%[%]]-)=[^=]")
      if targets and not targets:find("^%s*local%s") then check_targets(file, number, targets) end
    end
  end
end

local function read(file)
  local folder, name = place_of(file)
  if not KNOWS[folder] then return complain("%s: tools/rooms.lua does not know this folder", file) end
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
for file in find:lines() do
  read(file)
  check_writes(file)
end
find:close()
for name in pairs(requires) do
  check(name)
  follow(name, {})
end

table.sort(wrong)
for _, line in ipairs(wrong) do print(line) end
os.exit(#wrong == 0 and next(requires) ~= nil)
