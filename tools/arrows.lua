-- SPDX-License-Identifier: MIT
-- Checks that the C sources depend on each other in one direction only. An arrow is an include, or a call to a function
-- that another file defines.
--
--   * A folder uses only those that are named below.
--   * There is no circle of arrows between rooms. A room is a .c and its .h.
--   * A room that calls a function of another one includes the header that declares it, itself or in its own header.
--
-- usage: lua5.4 tools/arrows.lua [FOLDER]     such as csrc

local root = arg[1] or "csrc"

-- Folders and single headers that each folder may use besides itself. zklock.h and zklock_host.h are the public ones.
local uses = {
  ["zklock.h"] = {},
  ["zklock_host.h"] = { "zklock.h" },
  base = { "zklock.h" },
  recipe = { "base", "zklock.h", "zklock_host.h" },
  port = { "base", "recipe", "zklock.h" },
  zookeeper = { "base", "recipe", "zklock.h", "zklock_host.h", "port" },
  paths = { "base", "recipe", "zklock.h", "port" },
  line = { "base", "recipe", "zklock.h", "zklock_host.h", "port", "paths" },
  shared = { "base", "recipe", "zklock.h", "port", "paths", "line" },
  compound = { "base", "recipe", "zklock.h", "port", "paths", "line" },
  ask = { "base", "zklock.h", "port" },
  query = { "base", "recipe", "zklock.h", "port", "paths", "line", "ask" },
  nodes = { "base", "recipe", "zklock.h", "port", "paths", "line", "ask" },
  once = { "base", "recipe", "zklock.h", "port", "paths", "line", "ask", "nodes" },
  client = {
    "base", "recipe", "zklock.h", "zklock_host.h", "port", "zookeeper", "paths", "line", "shared", "compound", "ask",
    "query", "nodes", "once",
  },
  host = { "base", "zklock.h", "zklock_host.h", "client" },
  lua = { "zklock.h", "zklock_host.h", "base/text.h" },
  cli = { "zklock.h", "zklock_host.h", "base/text.h", "recipe/circle.h" },
}
-- The public functions are declared in these and defined in several rooms: a call of one is no arrow to that room.
local PUBLIC = { ["zklock.h"] = true, ["zklock_host.h"] = true }
-- One header declares all that the binding's rooms share.
local SHARED = { lua = "lua/binding.h" }

local wrong = {}
local function complain(...)
  wrong[#wrong + 1] = string.format(...)
end

local function read(path)
  local file = assert(io.open(path))
  local text = file:read("a")
  file:close()
  return text
end

local function each_line(command)
  local pipe = assert(io.popen(command))
  local lines = {}
  for line in pipe:lines() do
    lines[#lines + 1] = line
  end
  assert(pipe:close())
  return ipairs(lines)
end

local function folder_of(file)
  return file:match("^([^/]+)/") or file
end

local function room_of(file)
  return PUBLIC[file] and file or (file:gsub("%.[ch]$", ""))
end

-- ---- what each file includes, declares, defines and calls ----

local files = {} -- name below the root: { includes, declares, defines, calls }

local function without_comments(text)
  return (text:gsub("/%*.-%*/", " "):gsub('"[^"\n]*"', '""'))
end

for _, path in each_line(("find %s -name '*.[ch]' | sort"):format(root)) do
  local name = path:sub(#root + 2)
  local text = read(path)
  local file = { includes = {}, declares = {}, defines = {}, calls = {} }
  for included in text:gmatch('#include "([^"]+)"') do
    local beside = folder_of(name) .. "/" .. included
    file.includes[#file.includes + 1] = included:find("/") and included or
      (PUBLIC[included] and included or beside)
  end
  local code = without_comments(text)
  for head, called, after in ("\n" .. code):gmatch("\n([%a_][^\n;{}()=]-)([%a_][%w_]*)(%b()[^;{=]*[;{])") do
    local ours = called:find("^zkl_") or called:find("^cli_")
    if head:find("%S") and ours and not head:find("^typedef") and not head:find("^#") then
      file[after:sub(-1) == "{" and "defines" or "declares"][called] = not head:find("^static") or nil
    end
  end
  for _, prefix in ipairs { "zkl_", "cli_" } do
    for called in code:gmatch("%f[%w_](" .. prefix .. "[%w_]+)") do
      file.calls[called] = true
    end
  end
  files[name] = file
end

-- ---- where each function is declared and defined ----

local header, room = {}, {}
for name, file in pairs(files) do
  for called in pairs(file.declares) do
    if name:find("%.h$") then
      if header[called] and header[called] ~= name then
        complain("%s is declared in %s and in %s", called, header[called], name)
      end
      header[called] = name
    end
  end
end
for name, file in pairs(files) do
  for called in pairs(file.defines) do
    if header[called] then
      room[called] = room_of(name)
    elseif name:find("%.h$") then -- static inline has no declaration besides
      header[called], room[called] = name, room_of(name)
    end
  end
end

-- ---- the arrows ----

local arrows = {} -- room: { room: why }

local function arrow(from, to, why)
  if from == to then
    return
  end
  arrows[from] = arrows[from] or {}
  arrows[from][to] = arrows[from][to] or why
end

local function may_use(from, included)
  local to = folder_of(included)
  if from == to then
    return true
  end
  for _, name in ipairs(uses[from] or {}) do
    if name == to or name == included then
      return true
    end
  end
  return false
end

-- The headers in reach of a file: its own includes, those of its own header, and what the public headers bring along.
local function in_reach(name)
  local reach, more = {}, { name, (name:gsub("%.c$", ".h")), SHARED[folder_of(name)] }
  for _, included in ipairs(more) do
    reach[included] = true
    for _, other in ipairs(files[included] and files[included].includes or {}) do
      reach[other] = true
    end
  end
  for public in pairs(PUBLIC) do
    for _, other in ipairs(reach[public] and files[public].includes or {}) do
      reach[other] = true
    end
  end
  return reach
end

for name, file in pairs(files) do
  local folder = folder_of(name)
  if not uses[folder] then
    complain("%s: tools/arrows.lua does not know the folder %s", name, folder)
  end
  for _, included in ipairs(file.includes) do
    if not files[included] then
      complain("%s includes %s, which is not there", name, included)
    elseif not may_use(folder, included) then
      complain("%s includes %s: %s may not use %s", name, included, folder, folder_of(included))
    end
    if included ~= SHARED[folder] then
      arrow(room_of(name), room_of(included), ("%s includes %s"):format(name, included))
    end
  end
  local reach = in_reach(name)
  for called in pairs(file.calls) do
    local declared = header[called]
    if declared and declared ~= name and not reach[declared] then
      complain("%s uses %s, but does not include %s", name, called, declared)
    end
    if room[called] and not PUBLIC[declared] and name:find("%.c$") then
      arrow(room_of(name), room[called], ("%s calls %s"):format(name, called))
    end
  end
end

-- ---- circles ----

local state, path = {}, {}

local function follow(from)
  state[from] = "open"
  path[#path + 1] = from
  local targets = {}
  for to in pairs(arrows[from] or {}) do
    targets[#targets + 1] = to
  end
  table.sort(targets)
  for _, to in ipairs(targets) do
    if state[to] == "open" then
      local circle = {}
      for i = #path, 1, -1 do
        table.insert(circle, 1, arrows[path[i]][path[i + 1] or to])
        if path[i] == to then
          break
        end
      end
      complain("a circle: %s", table.concat(circle, "; "))
    elseif not state[to] then
      follow(to)
    end
  end
  path[#path] = nil
  state[from] = "done"
end

local rooms = {}
for from in pairs(arrows) do
  rooms[#rooms + 1] = from
end
table.sort(rooms)
for _, from in ipairs(rooms) do
  if not state[from] then
    follow(from)
  end
end

table.sort(wrong)
for _, line in ipairs(wrong) do
  print(line)
end
os.exit(#wrong == 0)
