-- SPDX-License-Identifier: MIT
--- The contestants' servers: real ones, on free loopback ports, in temporary folders; they end with this process.
--
-- `servers.start(family)` gives one with `.hosts`, "HOST:PORT,..." as workers are told it (a folder's path, where there
-- is no server), and these methods, as far as it has what they need:
--
--   pids()        the processes, for what they use of the processor
--   counts()      { requests =, wakeups = } so far, wakeups nil where the server does not count them
--   transactions() so far: what the servers agree on and write to their logs
--   kill()        SIGKILL, its data stays          restart()      returns when it serves again
--   kill_leader() of three                         fail_over()    to the replica, which had heard of nothing
--   stop()        ends it all

local http = require "socket.http"
local socket = require "socket"
local ensemble = require "spec.support.ensemble"
local folder = require "spec.support.folder"
local loop = require "spec.support.loop"
local port = require "spec.support.port"
local process = require "spec.support.process"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local uv = require "luv"

local servers, families = {}, {}

local function host(number) return "127.0.0.1:" .. number end

local function await(what, condition, child, log)
  local ready = loop.poll(function()
    return condition() or child and not child:is_running() and "dead"
  end, 60, 0.02)
  if ready and ready ~= "dead" then return end
  local file = io.open(log or "/dev/null")
  local text = file and file:read("a"):sub(-1500) or ""
  if file then file:close() end
  error(what .. " does not serve\n" .. text, 0)
end

local function answers(number)
  local link = socket.connect("127.0.0.1", number)
  if link then link:close() end
  return link ~= nil
end

local function run(words)
  words.env = process.PLAIN
  local tool = process.spawn(words)
  local code = tool:wait(120)
  assert(code == 0, words[1] .. ": " .. tool:stderr() .. tool:stdout())
  return tool:stdout()
end

-- ---- no server ------------------------------------------------------------------------------------------------------

local none = {}
none.__index = none

function families.folder() return setmetatable({ hosts = folder.new("contest-locks"), is_folder = true }, none) end

function none.pids() return {} end
function none.counts() return { requests = 0 } end
function none:stop() folder.remove(self.hosts) end

-- ---- MariaDB --------------------------------------------------------------------------------------------------------

local mariadb = {}
mariadb.__index = mariadb

local SCHEMA = [[
CREATE DATABASE IF NOT EXISTS contest;
CREATE TABLE IF NOT EXISTS contest.rows_to_lock (name VARCHAR(128) PRIMARY KEY) ENGINE=InnoDB;
]]
  .. "CREATE TABLE IF NOT EXISTS contest.locks (id BIGINT AUTO_INCREMENT PRIMARY KEY, " -- one line, for --init-file
  .. "name VARCHAR(128) NOT NULL UNIQUE, owner VARCHAR(64) NOT NULL, expires DATETIME(3) NOT NULL) ENGINE=InnoDB;\n"

--- A MariaDB that starts deletes all `#sql*` files of its temporary folder, also those of another MariaDB that runs: so
--- each has a folder of its own.
local function temporary(self) return "--tmpdir=" .. self.folder .. "/tmp" end

--- Durable against its own death, as the others are here; none waits for the disk.
local function launch_mariadb(self)
  self.process = process.spawn { "mariadbd", "--no-defaults", "--datadir=" .. self.folder .. "/data",
    temporary(self), "--port=" .. self.port, "--bind-address=127.0.0.1",
    "--socket=" .. self.folder .. "/socket", "--user=root",
    "--pid-file=" .. self.folder .. "/pid", "--skip-grant-tables", "--init-file=" .. self.folder .. "/schema.sql",
    "--max-connections=2000", "--innodb-buffer-pool-size=64M", "--innodb-log-file-size=32M",
    "--innodb-flush-log-at-trx-commit=2", "--skip-name-resolve", "--skip-log-bin", "--performance-schema=off",
    "--wait-timeout=28800", output = self.folder .. "/log", env = process.PLAIN }
  self.process:close_input()
  await("MariaDB", function() return self:query "SELECT name FROM contest.locks LIMIT 1" end, self.process,
    self.folder .. "/log")
end

function families.mariadb()
  local self = setmetatable({ folder = folder.new("mariadb"), port = port.free() }, mariadb)
  self.hosts = host(self.port)
  assert(uv.fs_mkdir(self.folder .. "/tmp", 448))
  run { "mariadb-install-db", "--no-defaults", "--datadir=" .. self.folder .. "/data", temporary(self),
    "--skip-test-db", "--auth-root-authentication-method=normal", "--user=root" }
  local file = assert(io.open(self.folder .. "/schema.sql", "w"))
  file:write(SCHEMA)
  file:close()
  launch_mariadb(self)
  return self
end

--- A query's result as text; nil if it fails.
function mariadb:query(text)
  local tool = process.spawn { "mariadb", "--no-defaults", "-h127.0.0.1", "-P" .. self.port, "-N", "-e", text,
    env = process.PLAIN }
  return tool:wait(20) == 0 and tool:stdout() or nil
end

function mariadb:pids() return { self.process.pid } end
function mariadb:counts()
  return { requests = tonumber(assert(self:query "SHOW GLOBAL STATUS LIKE 'Questions'"):match("%d+")) }
end
function mariadb:kill() self.process:kill() end
function mariadb:restart() launch_mariadb(self) end
function mariadb:stop()
  self:kill()
  folder.remove(self.folder)
end

-- ---- Redis ----------------------------------------------------------------------------------------------------------

local redis = {}
redis.__index = redis

local function launch_redis(one)
  local words = { "redis-server", "--port", one.port, "--bind", "127.0.0.1", "--dir", one.folder, "--appendonly", "yes",
    "--appendfsync", "everysec", "--save", "", "--maxclients", "2000", "--repl-diskless-sync-delay", "0",
    output = one.folder .. "/log", env = process.PLAIN }
  for _, word in ipairs(one.words or {}) do words[#words + 1] = word end
  one.process = process.spawn(words)
  one.process:close_input()
  await("Redis", function() return servers.redis(one.port, "PING") == "+PONG" end, one.process, one.folder .. "/log")
end

local function new_redis(words)
  local one = { folder = folder.new("redis"), port = port.free(), words = words }
  launch_redis(one)
  return one
end

--- A Redis server's answer to one line: the first line, or the whole bulk; nil if it is not there.
function servers.redis(number, line)
  local link = socket.tcp()
  link:settimeout(2)
  local answer
  if link:connect("127.0.0.1", number) and link:send(line .. "\r\n") then
    answer = link:receive("*l")
    local length = answer and answer:match("^%$(%d+)$")
    if length then answer = link:receive(tonumber(length)) end
  end
  link:close()
  return answer
end

local function start_redis(count)
  local self = setmetatable({ all = {} }, redis)
  local hosts = {}
  for i = 1, count do
    self.all[i] = new_redis()
    hosts[i] = host(self.all[i].port)
  end
  self.hosts = table.concat(hosts, ",")
  return self
end

function families.redis(options)
  local self = start_redis(1)
  if options and options.replica then
    self.link = proxy.start(self.hosts, { raw = true })
    self.replica = new_redis { "--replicaof", "127.0.0.1", self.link.port }
    await("the replica", function()
      return servers.redis(self.replica.port, "INFO replication"):find("master_link_status:up", 1, true)
    end)
    self.hosts = self.hosts .. "," .. host(self.replica.port)
  end
  return self
end

function families.redlock() return start_redis(5) end

function redis:pids()
  local pids = {}
  for i, one in ipairs(self.all) do pids[i] = one.process.pid end
  return pids
end

--- Redis counts the calls of a script as commands, too, but not as reads from clients.
function redis:counts()
  local sum = 0
  for _, one in ipairs(self.all) do
    sum = sum + tonumber(servers.redis(one.port, "INFO stats"):match("total_reads_processed:(%d+)"))
  end
  return { requests = sum }
end

--- Of five: one.
function redis:kill() self.all[1].process:kill() end
function redis:restart() launch_redis(self.all[1]) end

--- The replica hears nothing from now on.
function redis:deafen_replica() self.link:black_hole("both") end

function redis:fail_over()
  self.all[1].process:kill()
  assert(servers.redis(self.replica.port, "REPLICAOF NO ONE") == "+OK", "the replica does not take over")
end

function redis:stop()
  for _, one in ipairs { self.replica, table.unpack(self.all) } do
    one.process:kill()
    folder.remove(one.folder)
  end
  if not self.replica then
    for _, one in ipairs(self.all) do one.process:kill() end
  end
  if self.link then self.link:close() end
end

-- ---- ZooKeeper ------------------------------------------------------------------------------------------------------

local zookeeper = {}
zookeeper.__index = zookeeper

function families.zookeeper(options)
  local self = setmetatable({}, zookeeper)
  if options and options.three then
    self.three = ensemble.start {}
    self.hosts = self.three.hosts
  else
    self.one = server.start { jvm = { "-Xmx512m" } }
    self.hosts = self.one.hosts
  end
  return self
end

local function all_of(self) return self.three and self.three.servers or { self.one } end

function zookeeper:pids()
  local pids = {}
  for i, one in ipairs(all_of(self)) do pids[i] = one.pid end
  return pids
end

--- Packets that the servers send without a request are events.
function zookeeper:counts()
  local received, sent = 0, 0
  for _, one in ipairs(all_of(self)) do
    local mntr = one:mntr()
    received, sent = received + mntr.packets_received, sent + mntr.packets_sent
  end
  return { requests = received, wakeups = sent - received }
end

function zookeeper:transactions()
  local last = 0
  for _, one in ipairs(all_of(self)) do
    last = math.max(last, tonumber((one:four_letter("srvr"):match("\nZxid: (0x%x+)"))))
  end
  return last
end
function zookeeper:kill() self.one:kill() end
function zookeeper:restart() server.start(self.one) end
function zookeeper:kill_leader() self.three:kill_leader() end
function zookeeper:stop()
  if self.one then self.one:stop() else self.three:close() end
end

-- ---- etcd -----------------------------------------------------------------------------------------------------------

local etcd = {}
etcd.__index = etcd

local function launch_etcd(self, one)
  one.process = process.spawn { "etcd", "--name", one.name, "--data-dir", one.folder .. "/data",
    "--listen-client-urls", "http://" .. host(one.port), "--advertise-client-urls", "http://" .. host(one.port),
    "--listen-peer-urls", "http://" .. host(one.peer), "--initial-advertise-peer-urls", "http://" .. host(one.peer),
    "--initial-cluster", self.cluster, "--initial-cluster-token", self.token, "--log-level", "error",
    "--enable-v2=false", output = one.folder .. "/log", env = process.PLAIN }
  one.process:close_input()
end

local function status(one)
  local answer = http.request("http://" .. host(one.port) .. "/health")
  return answer and answer:find('"true"', 1, true)
end

local function await_etcd(self)
  for _, one in ipairs(self.all) do
    if one.process:is_running() then
      await("etcd", function() return answers(one.port) and status(one) end, one.process, one.folder .. "/log")
    end
  end
end

function families.etcd(options)
  local self = setmetatable({ all = {} }, etcd)
  local hosts, cluster = {}, {}
  for i = 1, options and options.three and 3 or 1 do
    local one = { name = "n" .. i, folder = folder.new("etcd"), port = port.free(), peer = port.free() }
    self.all[i], hosts[i] = one, host(one.port)
    cluster[i] = one.name .. "=http://" .. host(one.peer)
  end
  self.hosts, self.cluster = table.concat(hosts, ","), table.concat(cluster, ",")
  self.token = self.all[1].folder:gsub("%W", "-")
  for _, one in ipairs(self.all) do launch_etcd(self, one) end
  await_etcd(self)
  return self
end

local function sum_of(text, name)
  local sum = 0
  for labels, value in text:gmatch("\n" .. name .. "(%b{}) ([%d.e+]+)") do
    if not labels:find("Health", 1, true) then sum = sum + tonumber(value) end
  end
  return sum
end

function etcd:pids()
  local pids = {}
  for i, one in ipairs(self.all) do pids[i] = one.process.pid end
  return pids
end

function etcd:counts()
  local requests, watches = 0, 0
  for _, one in ipairs(self.all) do
    local text = "\n" .. assert(http.request("http://" .. host(one.port) .. "/metrics"))
    for labels, value in text:gmatch("\ngrpc_server_msg_sent_total(%b{}) ([%d.e+]+)") do
      if labels:find('"Watch"', 1, true) then watches = watches + tonumber(value) end
    end
    requests = requests + sum_of(text, "grpc_server_msg_received_total")
  end
  return { requests = requests, wakeups = watches }
end

function etcd:transactions()
  local text = "\n" .. assert(http.request("http://" .. host(self.all[1].port) .. "/metrics"))
  return tonumber(text:match("\netcd_server_proposals_committed_total ([%d.e+]+)"))
end

function etcd:kill() self.all[1].process:kill() end
function etcd:restart()
  launch_etcd(self, self.all[1])
  await_etcd(self)
end

function etcd:kill_leader()
  for _, one in ipairs(self.all) do
    local text = "\n" .. assert(http.request("http://" .. host(one.port) .. "/metrics"))
    if text:match("\netcd_server_is_leader (%d)") == "1" then return one.process:kill() end
  end
  error("no leader", 2)
end

function etcd:stop()
  for _, one in ipairs(self.all) do
    one.process:kill()
    folder.remove(one.folder)
  end
end

-- ---------------------------------------------------------------------------------------------------------------------

---@param family string
---@param options { three: boolean?, replica: boolean? }?
function servers.start(family, options) return families[family](options) end

--- Which families can have three servers of which the leader dies.
servers.WITH_LEADER = { zookeeper = true, etcd = true }

--- The same hosts behind a proxy each.
---@return table line with `.hosts`, and the proxies' verbs, for all of them
function servers.behind_proxies(hosts)
  local line, list = { all = {} }, {}
  if hosts:sub(1, 1) == "/" then
    line.hosts = hosts
  else
    for one in hosts:gmatch("[^,]+") do
      local between = proxy.start(one, { raw = true })
      line.all[#line.all + 1] = between
      list[#list + 1] = host(between.port)
    end
    line.hosts = table.concat(list, ",")
  end
  for _, verb in ipairs { "delay", "black_hole", "heal", "close", "cut" } do
    line[verb] = function(self, ...)
      for _, one in ipairs(self.all) do one[verb](one, ...) end
    end
  end
  return line
end

return servers
