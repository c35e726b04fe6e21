-- SPDX-License-Identifier: MIT
--- A real ZooKeeper server on a free loopback port, in a folder of its own.
--
-- It is tuned to start and answer fast: short ticks, no fsync (a killed server still finds its data in the page
-- cache), small transaction logs. `SUPER` is a credential that passes every ACL, for inspectors that clean up.

local socket = require "socket"
local classpath = require "spec.support.classpath"
local faketime = require "spec.support.faketime"
local write_file = require("spec.support.file").write
local folder = require "spec.support.folder"
local kept = require "spec.support.kept" "server"
local loop = require "spec.support.loop"
local port = require "spec.support.port"
local process = require "spec.support.process"
local session = require "spec.support.session"

local server = {}
server.__index = server

--- `inspector:add_auth("digest", server.SUPER)` may do everything.
server.SUPER = "super:test"
local SUPER_DIGEST = "super:D/InIHSb7yEEbrWz8b9l71RjZJU="

local JAVA = {
  "java", "-Xmx192m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData",
  "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.preAllocSize=512", "-Djava.net.preferIPv4Stack=true",
  "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
  "-Dzookeeper.DigestAuthenticationProvider.superDigest=" .. SUPER_DIGEST,
}
local DAY = 24 * 60 * 60 * 1000 -- ms
local MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

local function read_file(path)
  local file = io.open(path, "r")
  local text = file and file:read("*a") or ""
  if file then file:close() end
  return text
end

local function tls_config(self)
  local tls = self.options.tls
  self.certificate = self.certificate or tls.authority:issue("server", nil, tls.names or "DNS:localhost,IP:127.0.0.1")
  return {
    serverCnxnFactory = "org.apache.zookeeper.server.NettyServerCnxnFactory",
    secureClientPort = self.secure_port, secureClientPortAddress = "127.0.0.1", ["ssl.clientAuth"] = tls.client_auth,
    ["ssl.keyStore.type"] = "PEM", ["ssl.keyStore.location"] = self.certificate.both,
    ["ssl.trustStore.type"] = "PEM", ["ssl.trustStore.location"] = tls.authority.ca,
  }
end

local function write_config(self)
  local options = self.options
  local tick = options.tick_time or 200
  local config = {
    tickTime = tick, initLimit = 25, syncLimit = 10, dataDir = self.folder .. "/data", clientPort = self.port,
    clientPortAddress = "127.0.0.1", maxClientCnxns = 0, minSessionTimeout = options.min_session_timeout or 2 * tick,
    maxSessionTimeout = options.max_session_timeout or 600000, forceSync = "no", syncEnabled = "false",
    ["4lw.commands.whitelist"] = "*", ["admin.enableServer"] = "false", ["autopurge.purgeInterval"] = 0,
  }
  for name, value in pairs(options.tls and tls_config(self) or {}) do config[name] = value end
  for name, value in pairs(options.config or {}) do config[name] = value end
  local lines = {}
  for name, value in pairs(config) do lines[#lines + 1] = ("%s=%s\n"):format(name, tostring(value)) end
  table.sort(lines)
  write_file(self.folder .. "/zoo.cfg", table.concat(lines))
end

local function launch(self)
  write_config(self)
  local command = { output = self.folder .. "/log", cwd = self.folder,
    env = self.options.clock and faketime.env(self.options.clock) or process.PLAIN }
  for _, word in ipairs(JAVA) do command[#command + 1] = word end
  local interval = self.options.container_check_interval or DAY
  table.insert(command, ("-Dznode.container.checkIntervalMs=%d"):format(interval))
  table.insert(command, "-Dznode.container.maxPerMinute=100000")
  for _, flag in ipairs(self.options.jvm or {}) do command[#command + 1] = flag end
  for _, word in ipairs { "-cp", classpath, MAIN, self.folder .. "/zoo.cfg" } do command[#command + 1] = word end
  self.log_start = #read_file(self.folder .. "/log")
  self.process = process.spawn(command)
  self.process:close_input()
  self.pid = self.process.pid
end

--- Its log since it was last started.
function server:log() return read_file(self.folder .. "/log"):sub(self.log_start + 1) end

local function choose_port(self)
  self.port = port.free()
  self.hosts = "127.0.0.1:" .. self.port
  if self.options.tls then
    self.secure_port = port.free()
    self.secure_hosts = "127.0.0.1:" .. self.secure_port
  end
end

-- Seconds for the answer of a server that may be starting, or stopped.
local ONE_LOOK = 2

local function is_serving(self)
  local answer = self:four_letter("srvr", ONE_LOOK)
  -- Somebody else may have been faster on this port: the answer must come from our folder.
  return answer and answer:find("\nMode: ", 1, true)
    and (self:four_letter("conf", ONE_LOOK) or ""):find(self.folder, 1, true)
end

--- Waits until a launched server serves. A server that ends at once has probably lost its port to somebody else: it
--- may move to another so many times.
local function await(self, moves)
  local serving = loop.poll(function()
    if is_serving(self) then return true end
    if self.process:is_running() then return false end
    moves = moves - 1
    if moves < 0 then error(("the server ended at its start:\n%s"):format(self:log():sub(-2000)), 0) end
    choose_port(self)
    launch(self)
  end, 120, 0.02)
  if not serving then error(("the server does not serve:\n%s"):format(self:log():sub(-2000)), 3) end
end

---@class server.options
---@field tick_time integer? ms, 200
---@field min_session_timeout integer? ms, two ticks
---@field max_session_timeout integer? ms, 600000: a node that goes within wait.PATIENCE has been deleted
---@field container_check_interval integer? ms between looks for empty containers, a day: a spec that looks into an
---  empty directory must not meet the look that deletes it (the server's default is a minute)
---@field config table<string, any>? more lines for the configuration
---@field jvm string[]? more flags for java
---@field clock integer? its wall clock is so many seconds ahead of the true time, or behind it if negative
---@field tls { authority: table, client_auth: string?, names: string? }? a port with TLS besides the other,
---  `.secure_hosts`, with a certificate of that authority; clients are asked for one of it, too, unless `client_auth`
---  is "none"; `names`: in the certificate

--- Prepares a server without starting it (the ensemble launches its three together).
---@param options server.options?
function server.new(options)
  local self = setmetatable({ options = options or {}, folder = folder.new("server") }, server)
  choose_port(self)
  return self
end

--- Starts a server; returns when it serves. Also starts one again, on its port and data, after `kill`.
---@param options server.options?
function server.start(options)
  if getmetatable(options) == server then
    options:launch()
    await(options, 0)
    return options
  end
  local self = server.new(options)
  launch(self)
  await(self, 3)
  return self
end

--- Starts the process without waiting until it serves.
function server:launch()
  assert(not (self.process and self.process:is_running()), "the server is running")
  launch(self)
end

--- Waits until a launched server serves.
function server:await() await(self, 0) end

--- SIGKILL; its data stays.
function server:kill() self.process:kill() end

--- Ends it and removes its folder.
function server:stop()
  self:kill()
  folder.remove(self.folder)
end

local function run(...)
  local tool = process.spawn { env = process.PLAIN, ... }
  assert(tool:wait() == 0, tool:stderr())
end

--- Its data, without the file that says which server of an ensemble it is.
function server:data() return self.folder .. "/data/version-2" end

--- Copies the data of a server that is not running.
---@return string copy for `restore`
function server:back_up()
  local copy = folder.new("backup")
  run("cp", "-a", "--", self:data(), copy)
  return copy
end

--- Packs the log and the data of a server that is not running.
---@param path string of the archive
function server:pack(path) run("tar", "-czf", path, "-C", self.folder, "log", "data") end

--- Replaces the data of a server that is not running.
---@param copy string? of `back_up`; nil: it has none any more
function server:restore(copy)
  folder.remove(self:data())
  if copy then run("cp", "-a", "--", copy .. "/version-2", self:data()) end
end

--- SIGSTOP: connections stay open, nothing answers.
function server:pause() self.process:stop() end

--- SIGCONT.
function server:resume() self.process:continue() end

local function limit_files(self, bytes)
  local prlimit = process.spawn { "prlimit", "--pid", ("%d"):format(self.pid), "--fsize=" .. bytes .. ":",
    env = process.PLAIN }
  if prlimit:wait() == 0 then return true end
  return nil, "prlimit cannot limit the server's files: " .. prlimit:stderr()
end

--- Its disk is full: no file of the server's grows beyond a few KB any more (what it logs must find room). Once its
--- transaction log is as long, writing that fails, and `is_full` says so.
---@return true? , or nil and why the system cannot do that
function server:fill_disk() return limit_files(self, #read_file(self.folder .. "/log") + 4096) end

--- There is room again. A server that ended meanwhile has to be started.
function server:free_disk()
  if self.process:is_running() then assert(limit_files(self, "unlimited")) end
end

--- Whether it has failed to write its transaction log since it was started.
function server:is_full()
  local message = "Severe unrecoverable error, from thread : SyncThread:%d+\njava.io.IOException: File too"
  return self:log():find(message) ~= nil
end

--- One of ZooKeeper's four-letter words.
---@return string? answer, or nil and why not
---@param timeout number? seconds: loop.PATIENCE
function server:four_letter(word, timeout)
  local link = socket.tcp()
  link:settimeout(timeout or loop.PATIENCE)
  local ok, err = link:connect("127.0.0.1", self.port)
  local answer
  if ok then
    link:send(word)
    answer, err = link:receive("*a")
  end
  link:close()
  if not answer or answer == "" then return nil, err or "empty" end
  return answer
end

--- Whether the client of a session is connected to it.
---@param session_id string hexadecimal
function server:serves(session_id)
  for id in (self:four_letter("cons", ONE_LOOK) or ""):gmatch("[(,]sid=(0x%x+)") do
    if session.same(id, session_id) then return true end
  end
  return false
end

--- The `mntr` counters, numbers where they are numbers, without their "zk_".
function server:mntr()
  local list = {}
  for name, value in assert(self:four_letter("mntr")):gmatch("zk_(%S+)\t([^\n]*)") do
    list[name] = tonumber(value) or value
  end
  return list
end

--- Its version, as `srvr` tells it: 3, 8, 0.
---@return integer major, integer minor, integer patch
function server:version()
  local text = assert(self:four_letter("srvr")):match("version: (%d+%.%d+%.%d+)")
  local major, minor, patch = assert(text, "no version"):match("(%d+)%.(%d+)%.(%d+)")
  return tonumber(major), tonumber(minor), tonumber(patch)
end

-- From which patch of a minor release on an exists needs READ (ZOOKEEPER-2590). All later ones ask for it.
local STRICT_SINCE = { [8] = 4, [9] = 2 }

--- Whether `exists` answers those alone that may read the node.
function server:exists_needs_read()
  local major, minor, patch = self:version()
  if major == 3 and minor <= 9 then return patch >= (STRICT_SINCE[minor] or math.huge) end
  return true
end

--- One server for all specs of this process, started when first asked for, started again if a spec killed it.
function server.shared()
  if not kept.shared then
    kept.shared = server.start()
  elseif not kept.shared.process:is_running() then
    kept.shared:start()
  end
  return kept.shared
end

return server
