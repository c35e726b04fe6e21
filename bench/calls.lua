-- SPDX-License-Identifier: MIT
--- How many instructions a call takes, in plain Lua and in nginx, with Lua's share (bench/instructions.lua has the
--- engine's), by callgrind. In plain Lua each case runs in two lengths, and the difference is divided by that of the
--- lengths. In nginx LuaJIT compiles differently from run to run: a row has the median of several runs, and behind it
--- the least and the most. Prints; asserts nothing. Needs valgrind.
--
--   calls.lua [NAME]                 only the cases whose name contains NAME
--   calls.lua cycle KIND TIMES HOSTS what it runs itself, below valgrind
local KIND, TIMES, HOSTS = select(2, ...)

-- ---- the process that is counted ------------------------------------------------------------------------------------

local cycles = {}

function cycles.reentrant(client)
  local lock = client:mutex("/instructions/reentrant")
  assert(lock:acquire(60))
  return function() lock:acquire(5) lock:release() end
end

--- Each cycle in a coroutine of its own, as each request of a server has one.
function cycles.place(client)
  local lock = client:mutex("/instructions/place", { fair = false })
  local function cycle() assert(lock:acquire(60)) assert(lock:release()) end
  return function() coroutine.wrap(cycle)() end
end

function cycles.servers(client)
  local lock = client:mutex("/instructions/servers")
  return function() assert(lock:acquire(60)) assert(lock:release()) end
end

if (...) == "cycle" then
  local client = assert(require("zklock").connect(HOSTS, { session_timeout = 600 }))
  local cycle = cycles[KIND](client)
  for _ = 1, tonumber(TIMES) do cycle() end
  os.exit(0) -- without a close, whose threads would be counted as well
end

-- ---- callgrind ------------------------------------------------------------------------------------------------------

local file = require "spec.support.file"
local folder = require "spec.support.folder"
local lfs = require "lfs"
local nginx = require "spec.support.nginx"
local process = require "spec.support.process"
local server = require "spec.support.server"
local socket = require "socket"
local uv = require "luv"

local ONLY = (...) or ""
local PATIENCE = 600

local zk = server.start()
local scratch = folder.new("instructions")

--- A file for each thread: NAME-01 has the first one's instructions. Compiled code of LuaJIT changes.
local function valgrind(name)
  return { "valgrind", "--tool=callgrind", "--separate-threads=yes", "--smc-check=all",
    "--callgrind-out-file=" .. scratch .. "/" .. name }
end

--- The instructions of the first thread and of all.
local function count(name)
  local first, all = nil, 0
  for entry in lfs.dir(scratch) do
    if entry:sub(1, #name + 1) == name .. "-" then
      local sum = tonumber(file.read(scratch .. "/" .. entry):match("\ntotals: (%d+)"))
      if entry:sub(#name + 1) == "-01" then first = sum end
      all = all + sum
    end
  end
  return assert(first, "callgrind has written nothing: " .. name), all
end

local function row(name, value, more) print(("%-62s %9.0f  %s"):format(name, value, more or "")) end

-- ---- plain Lua ------------------------------------------------------------------------------------------------------

local LUAS = { { "Lua 5.4", "lua5.4", "5.4" }, { "LuaJIT", "luajit", "luajit" } }

local function counted(lua, kind, times)
  local name = ("%s-%s-%d"):format(lua[3], kind, times)
  local command = valgrind(name)
  for _, word in ipairs { lua[2], "bench/calls.lua", "cycle", kind, times, zk.hosts } do
    command[#command + 1] = word
  end
  command.env = { LUA_CPATH = ("%s/build/%s/?.so;;"):format(uv.cwd(), lua[3]) }
  local child = process.spawn(command)
  assert(child:wait(PATIENCE) == 0, child:stderr())
  return count(name)
end

---@return number first instructions of the first thread for each cycle
---@return number all of all threads
local function plain(lua, kind, times)
  local first, all = counted(lua, kind, times)
  local first_of_twice, all_of_twice = counted(lua, kind, 2 * times)
  return (first_of_twice - first) / times, (all_of_twice - all) / times
end

local PLAIN = {
  { "reentrant acquire + release", "reentrant", 20000 },
  { "fair = false: acquire + release, each by a new owner", "place", 3000 },
  { "acquire + release by way of the servers", "servers", 1000 },
}

-- ---- nginx ----------------------------------------------------------------------------------------------------------

-- The operations of lua-resty-lock (Debian has no package of it), without its pauses: nobody else is there.
local SERVER = [[
  keepalive_requests 10000000;
  location /none { content_by_lua_block { ngx.say "ok" } }
  location /visit { content_by_lua_block { client.host.visits:here() ngx.say "ok" } }
  location /hot { content_by_lua_block { hot:acquire(60) hot:release() ngx.say "ok" } }
  location /made { content_by_lua_block {
    local lock = client:mutex("/instructions/nginx", { fair = false })
    lock:acquire(60) lock:release() ngx.say "ok"
  } }
  location /queue { content_by_lua_block { hot:acquire(60) ngx.sleep(0.001) hot:release() ngx.say "ok" } }
  location /shared { content_by_lua_block {
    local counts = ngx.shared.counts
    counts:add("lock", true, 20) counts:delete "lock" ngx.say "ok"
  } }
  location /shared_queue { content_by_lua_block {
    local counts, step = ngx.shared.counts, 0.001
    while not counts:add("lock", true, 20) do
      ngx.sleep(step)
      step = math.min(step * 2, 0.5)
    end
    ngx.sleep(0.001) counts:delete "lock" ngx.say "ok"
  } }
]]

local HTTP = [[
  lua_shared_dict counts 1m;
  init_worker_by_lua_block {
    client = assert(require("zklock").connect("@hosts@", { session_timeout = 600 }))
    hot = client:mutex("/instructions/nginx", { fair = false })
  }
]]

local function read_answer(link)
  local line
  repeat line = assert(link:receive "*l") until line == "0" -- the last chunk
  assert(link:receive "*l")
end

--- So many requests, of which each connection has one at a time.
local function request(port, path, connections, requests)
  local text, links, begun = ("GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"):format(path), {}, 0
  local function begin(link)
    if begun == requests then return end
    begun = begun + 1
    assert(link:send(text))
  end
  for i = 1, connections do
    links[i] = assert(socket.connect("127.0.0.1", port))
    links[i]:settimeout(PATIENCE)
    begin(links[i])
  end
  local answered = 0
  while answered < requests do
    for _, link in ipairs((socket.select(links, nil, PATIENCE))) do
      read_answer(link)
      answered = answered + 1
      begin(link)
    end
  end
  for _, link in ipairs(links) do link:close() end
end

--- callgrind writes what it has counted since the last time into files of its own.
---@return integer first instructions of the first thread
local function taken(web, name, part)
  local child = process.spawn { "vgdb", "--pid=" .. web.pid, "dump" }
  assert(child:wait(PATIENCE) == 0, child:stderr())
  return (count(("%s.%d"):format(name, part)))
end

local WARM, MEASURED, RUNS = 2000, 4000, 5

--- One process is master and worker, because callgrind follows no fork here. The first requests, which do not count,
--- have LuaJIT compile.
---@return integer[] the instructions of a request in each run, sorted
local function in_nginx(path, connections)
  local costs = {}
  for run = 1, RUNS do
    local name = path:sub(2) .. run
    local web = nginx.start { http = HTTP, server = SERVER, values = { hosts = zk.hosts }, workers = 0,
      under = valgrind(name), main = "master_process off;" }
    request(web.port, path, connections, WARM)
    taken(web, name, 1)
    request(web.port, path, connections, MEASURED)
    costs[run] = taken(web, name, 2) / MEASURED
    web:stop "sigquit"
  end
  table.sort(costs)
  return costs
end

local function middle(sorted) return sorted[(#sorted + 1) / 2] end

local IN_NGINX = {
  -- name, path, the path that it is compared with, connections
  { "nginx: a request without a lock", "/none" },
  { "nginx: visit alone, above that", "/visit", "/none" },
  { "nginx: acquire + release on a hot lock, above that", "/hot", "/none" },
  { "nginx: client:mutex(path, ...) in the request besides", "/made", "/hot" },
  { "nginx: lua-resty-lock's operations, above a request without a lock", "/shared", "/none" },
  { "nginx: a contended request (40 connections, 1 ms)", "/queue", nil, 40 },
  { "nginx: the same with lua-resty-lock's operations", "/shared_queue", nil, 40 },
}

local known = {}
local function once_in_nginx(path, connections)
  known[path] = known[path] or in_nginx(path, connections or 1)
  return known[path]
end

for _, lua in ipairs(LUAS) do
  for _, case in ipairs(PLAIN) do
    local name = ("%s: %s"):format(lua[1], case[1])
    if name:find(ONLY, 1, true) then
      local first, all = plain(lua, case[2], case[3])
      row(name, all)
      if case[2] == "servers" then row("  of these on the script's thread", first) end
    end
  end
end

for _, case in ipairs(IN_NGINX) do
  if case[1]:find(ONLY, 1, true) then
    local costs = once_in_nginx(case[2], case[4])
    local below = case[3] and middle(once_in_nginx(case[3])) or 0
    row(case[1], middle(costs) - below, ("%9.0f %9.0f"):format(costs[1] - below, costs[RUNS] - below))
  end
end
