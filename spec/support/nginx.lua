-- SPDX-License-Identifier: MIT
--- A real nginx on a free loopback port, in a prefix of its own, with two workers that find this tree's zklock.
--
-- A shell stands between us and nginx's master: when its stdin ends, in whatever way we end, it ends nginx, which ends
-- its workers.

local lfs = require "lfs"
local write_file = require("spec.support.file").write
local folder = require "spec.support.folder"
local loop = require "spec.support.loop"
local port = require "spec.support.port"
local process = require "spec.support.process"
local socket = require "socket"
local survivor = require "spec.support.survivor"
local uv = require "luv"

local nginx = {}
nginx.__index = nginx

local PATIENCE = loop.PATIENCE
local MODULES = { "ndk_http_module", "ngx_http_lua_module" }
local MODULES_DIR = "/usr/lib/nginx/modules"

local GUARD = [[
trap '' HUP INT TERM
"$@" &
echo "$!"
while read -r line; do :; done
kill -TERM "$!"
wait "$!"
]]

--- The same for a master whose parent ends once nginx runs, as a daemon's does: otherwise nginx ignores USR2. The pid
--- files name the masters, of which an upgrade makes a second one.
local GUARD_OF_ORPHAN = [[
trap '' HUP INT TERM
(
  "$@" &
  echo "$!"
  sh -c 'echo "$PPID"'
  until [ -s nginx.pid ]; do kill -0 "$!" && sleep 0.05 || exit; done
)
while read -r line; do :; done
for file in nginx.pid*; do
  read -r pid <"$file" && kill -TERM "$pid"
done
]]

local CONFIG = [[
daemon off;
worker_processes @workers@;
error_log @prefix@/error.log @level@;
pid @prefix@/nginx.pid;
@modules@
@main@
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path @prefix@/body;
  proxy_temp_path @prefix@/proxy;
  fastcgi_temp_path @prefix@/fastcgi;
  uwsgi_temp_path @prefix@/uwsgi;
  scgi_temp_path @prefix@/scgi;
  @package_path@
  @package_cpath@
  @http@
  server {
    listen 127.0.0.1:@port@ backlog=2048;
    @server@
  }
}
]]

--- For http {}: a client of `@hosts@` in each worker, whose session has `@session@` seconds.
nginx.CLIENT = [[
  lua_shared_dict counts 1m;
  init_worker_by_lua_block {
    zklock = require "zklock"
    client = assert(zklock.connect("@hosts@", { session_timeout = @session@ }))
  }
]]

--- May these specs run here? nginx's Lua is LuaJIT, whose build they need.
function nginx.is_testable()
  return rawget(_G, "jit") ~= nil
end

--- Where zklock's Lua is, and its module for nginx; `make asan` has one of its own.
function nginx.tree() return uv.cwd() end
function nginx.build() return os.getenv("NGINX_BUILD") or uv.cwd() .. "/build/luajit" end

--- The library that `make asan` wants nginx alone to load.
local function preload()
  local library = os.getenv("NGINX_PRELOAD")
  return library and "LD_PRELOAD=" .. library or "NGINX_PRELOAD="
end

--- nginx's file: at an upgrade nginx starts the program by the name that it was started by, and looks at no PATH.
local function program()
  for folder_name in os.getenv("PATH"):gmatch("[^:]+") do
    local path = folder_name .. "/nginx"
    if lfs.attributes(path, "mode") == "file" then return path end
  end
  return "nginx"
end

local function read_file(path)
  local file = io.open(path)
  local text = file and file:read("*a") or ""
  if file then file:close() end
  return text
end

local function is_there(pid)
  local state = read_file(("/proc/%d/stat"):format(pid)):match("%) (%a)")
  return state and state ~= "Z" and state ~= "X" or false
end

local function load_modules()
  local lines = {}
  for _, name in ipairs(MODULES) do
    local path = ("%s/%s.so"):format(MODULES_DIR, name)
    if lfs.attributes(path) then lines[#lines + 1] = ("load_module %s;"):format(path) end
  end
  return table.concat(lines, "\n")
end

-- A second master gets only the variables that the configuration names: a sanitizer needs these.
local KEPT = os.getenv("NGINX_PRELOAD") and "env LD_PRELOAD;\nenv ASAN_OPTIONS;\nenv UBSAN_OPTIONS;\n" or ""

local function configure(self)
  local options = self.options
  local user = options.user or uv.getuid() == 0 and "root" -- our folders are ours alone
  local values = {
    workers = options.workers or 2,
    prefix = self.prefix,
    level = options.level or "info",
    modules = load_modules(),
    main = (user and ("user %s;\n"):format(user) or "") .. KEPT .. (options.main or ""),
    tree = options.tree or nginx.tree(),
    build = options.build or nginx.build(),
    package_path = options.package_path or 'lua_package_path "@tree@/lua/?.lua;@tree@/lua/?/init.lua;;";',
    package_cpath = options.package_cpath or 'lua_package_cpath "@build@/?.so;;";',
    http = options.http or "",
    server = options.server or "",
    port = self.port,
    session = 10, -- seconds: of nginx.CLIENT
  }
  for name, value in pairs(options.values or {}) do values[name] = value end
  if options.conf then return write_file(self.prefix .. "/nginx.conf", options.conf) end
  for _ = 1, 2 do -- what is put in may name values, too
    for name, value in pairs(values) do values[name] = tostring(value):gsub("@([%w_]+)@", values) end
  end
  write_file(self.prefix .. "/nginx.conf", (CONFIG:gsub("@([%w_]+)@", values)))
end

---@class nginx.options
---@field http string? for http {}
---@field server string? for server {}
---@field main string? for the top; in all three `@port@`, `@prefix@` and `@tree@` are replaced
---@field workers integer? 2
---@field values table<string, string>? more such names
---@field user string? who the workers are; root, if we are
---@field package_path string? instead of what finds zklock's Lua
---@field package_cpath string? instead of what finds its module
---@field orphan boolean? its master's parent ends: it can be upgraded
---@field conf string? the whole configuration; then `prefix` and `port` belong to it
---@field tree string? where lua/ is
---@field build string? where zklock/core.so is
---@field under string[]? a command that runs nginx: valgrind and its options

--- Starts one; returns when it serves.
---@param options nginx.options
function nginx.start(options)
  local self = setmetatable({ options = options, prefix = options.prefix or folder.new("nginx"),
    port = options.port or port.free() }, nginx)
  self.url = "http://127.0.0.1:" .. self.port
  configure(self)
  local guard = options.orphan and GUARD_OF_ORPHAN or GUARD
  local command = { "sh", "-c", guard, "nginx", "env", preload(), survive = true, detached = true, cwd = self.prefix,
    env = options.env }
  for _, word in ipairs(options.under or {}) do command[#command + 1] = word end
  for _, word in ipairs { program(), "-p", self.prefix, "-c", self.prefix .. "/nginx.conf", "-e",
    self.prefix .. "/error.log", "-g", options.globals or "" } do
    command[#command + 1] = word
  end
  self.guard = process.spawn(command)
  self.pid = tonumber((self.guard:read_line(PATIENCE)))
  if options.orphan then nginx.await_end { tonumber((self.guard:read_line(PATIENCE))) } end
  local serves = loop.poll(function()
    local link = socket.connect("127.0.0.1", self.port)
    if link then link:close() end
    return link or not is_there(self.pid)
  end, PATIENCE)
  if not serves or not is_there(self.pid) then
    self.guard:close_input()
    error(("nginx does not serve:\n%s\n%s"):format(self.guard:stderr(), self:log()), 2)
  end
  loop.poll(function() return #self:workers() == (options.workers or 2) end, PATIENCE)
  return self
end

--- Everything in its error log.
function nginx:log() return read_file(self.prefix .. "/error.log") .. self.guard:stderr() end

--- The lines of its error log that are worse than warnings.
---@return string[]
function nginx:errors()
  local list = {}
  for line in self:log():gmatch("[^\n]+") do
    local bad = line:find("%[error%]") or line:find("%[crit%]") or line:find("%[alert%]") or line:find("%[emerg%]")
      or not line:find("^%d%d%d%d/")
    -- that one nginx says at its start
    if bad and not line:find("lua_code_cache is off", 1, true) then list[#list + 1] = line end
  end
  return list
end

--- The pids of the processes whose parent is the master.
---@return integer[]
function nginx:workers()
  local list = {}
  for pid in read_file(("/proc/%d/task/%d/children"):format(self.pid, self.pid)):gmatch("%d+") do
    list[#list + 1] = tonumber(pid)
  end
  return list
end

local function signal(pid, name) return uv.kill(pid, name) == 0 end

--- SIGHUP; returns when the new workers are there, with the old ones' pids.
---@return integer[] old
function nginx:reload()
  local old, before = self:workers(), {}
  for _, pid in ipairs(old) do before[pid] = true end
  signal(self.pid, "sighup")
  local fresh = loop.poll(function()
    local count = 0
    for _, pid in ipairs(self:workers()) do count = count + (before[pid] and 0 or 1) end
    return count >= (self.options.workers or 2)
  end, PATIENCE)
  assert(fresh, "no new workers")
  return old
end

--- SIGUSR2; returns when a second master has its workers. From now on this is the second one.
---@return integer old the pid of the first master
function nginx:upgrade()
  local old, path = self.pid, self.prefix .. "/nginx.pid"
  signal(old, "sigusr2")
  local fresh = loop.poll(function()
    local pid = tonumber((read_file(path):match("%d+")))
    if pid and pid ~= old then self.pid = pid end
    return self.pid ~= old and #self:workers() >= (self.options.workers or 2)
  end, PATIENCE)
  assert(fresh, "no second master: " .. self:log())
  return old
end

local function those_there(pids)
  local list = {}
  for _, pid in ipairs(pids) do
    if is_there(pid) then list[#list + 1] = pid end
  end
  return list
end

--- Waits until each of these processes has ended; raises what tells why, if one of them stays.
---@return true
function nginx.await_end(pids)
  local left = pids
  loop.poll(function()
    left = those_there(left)
    return #left == 0
  end, PATIENCE)
  local told = {}
  for i, pid in ipairs(left) do told[i] = survivor.describe(pid) end
  if told[1] then error("still there: " .. table.concat(told, "\n"), 2) end
  return true
end

--- Are all of these processes there?
function nginx.are_there(pids)
  return #pids > 0 and #those_there(pids) == #pids
end

--- SIGKILL to one worker; the master starts another.
function nginx.kill_worker(pid)
  signal(pid, "sigkill")
  return nginx.await_end { pid }
end

--- Ends nginx and removes its prefix; `how` is "sigquit" for workers that finish what they do.
function nginx:stop(how)
  if self.stopped then return end
  self.stopped = true
  signal(self.pid, how or "sigterm")
  local ended, why = pcall(nginx.await_end, { self.pid })
  self.guard:close_input()
  self.guard:wait(PATIENCE)
  folder.remove(self.prefix)
  assert(ended, why)
end

-- ---- requests ------------------------------------------------------------------------------------------------------

local call = {}
call.__index = call

--- Sends a request and returns; `finish` waits for the answer.
---@param path string
---@return table call
function nginx:begin(path)
  local link = assert(socket.connect("127.0.0.1", self.port))
  link:settimeout(PATIENCE)
  assert(link:send(("GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n"):format(path)))
  return setmetatable({ link = link }, call)
end

--- The answer.
---@return integer? status nil: the connection ended without one
---@return string body
function call:finish(timeout)
  self.link:settimeout(timeout or PATIENCE)
  local answer, err, part = self.link:receive("*a")
  if not answer and err == "timeout" then error("no answer from nginx", 2) end
  self.link:close()
  answer = answer or part
  return tonumber(answer:match("^HTTP/%d%.%d (%d+)")), answer:match("\r\n\r\n(.*)$") or ""
end

--- Has an answer begun to arrive?
function call:is_answered()
  return #socket.select({ self.link }, nil, 0) > 0
end

--- Goes away without waiting for the answer.
function call:hang_up() self.link:close() end

--- Sends a request and waits for its answer.
function nginx:get(path, timeout) return self:begin(path):finish(timeout) end

return nginx
