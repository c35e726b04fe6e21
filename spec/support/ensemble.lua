-- SPDX-License-Identifier: MIT
--- Three real servers with a quorum among themselves, all on loopback.

local uv = require "luv"
local inspector = require "spec.support.inspector"
local loop = require "spec.support.loop"
local port = require "spec.support.port"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"

local ensemble = {}
ensemble.__index = ensemble

local SIZE = 3

local function write_myid(folder, n)
  local file = assert(io.open(folder .. "/myid", "w"))
  file:write(n, "\n")
  file:close()
end

--- Where server n reaches server m: past a proxy of its own if the links are to be cut, else straight.
local function quorum_port(self, n, m)
  if n == m or not self.links then return self.quorum[m] end
  self.links[n] = self.links[n] or {}
  self.links[n][m] = proxy.start("127.0.0.1:" .. self.quorum[m], { raw = true })
  return self.links[n][m].port
end

local function prepare(self, n)
  local config = {}
  for name, value in pairs(self.options.config or {}) do config[name] = value end
  for m = 1, n <= SIZE and SIZE or 0 do
    config["server." .. m] = ("127.0.0.1:%d:%d"):format(quorum_port(self, n, m), self.election[m])
  end
  local options = { config = config, jvm = { "-Dzookeeper.fastleader.maxNotificationInterval=400" } }
  for name, value in pairs(self.options) do
    if options[name] == nil then options[name] = value end
  end
  for _, flag in ipairs(self.options.jvm or {}) do table.insert(options.jvm, flag) end
  options.clock = (self.options.clocks or {})[n]
  local one = server.new(options)
  assert(uv.fs_mkdir(one.folder .. "/data", 448))
  write_myid(one.folder .. "/data", n)
  return one
end

local function try_start(options)
  local self = setmetatable({ options = options, servers = {}, paused = {}, quorum = {}, election = {} }, ensemble)
  if options.links then self.links = {} end
  local all = SIZE + (options.spare or 0)
  for n = 1, all do self.quorum[n], self.election[n] = port.free(), port.free() end
  local hosts = {}
  for n = 1, all do
    self.servers[n] = prepare(self, n)
    hosts[n] = self.servers[n].hosts
  end
  self.hosts = table.concat(hosts, ",")
  for n = 1, SIZE do self.servers[n]:launch() end
  local ok, err = pcall(function()
    for n = 1, SIZE do self.servers[n]:await() end
  end)
  if ok then return self end
  self:close()
  return nil, err
end

local function restart(self, n, wait)
  self.servers[n]:launch()
  if wait ~= false then self.servers[n]:await() end
end

--- `ensemble.start(options)` starts three servers and returns when all serve; `cluster:start(n)` starts server n again,
--- on its port and data, after it was killed.
---@param options server.options? as for `server.start`; `links = true` for `isolate` and `depose`; and
---  `clocks = { [3] = 3600 }`: the wall clock of server 3 is so many seconds ahead; `spare = 3`: there are so many more
---  servers, among `hosts`, too, which do not run before they `join`
---@param n integer? the server to start again
---@param wait boolean? false: return before it serves, as when there is no quorum yet
function ensemble.start(options, n, wait)
  if getmetatable(options) == ensemble then return restart(options, n, wait) end
  local self, err
  for _ = 1, 3 do -- a port may have been lost to somebody else
    self, err = try_start(options or {})
    if self then return self end
  end
  error(err, 2)
end

--- The role of server n now: "leader", "follower", or nil while it does not serve.
function ensemble:role(n)
  local one = self.servers[n]
  if self.paused[n] or not one.process:is_running() then return nil end
  return (one:four_letter("srvr") or ""):match("\nMode: (%a+)")
end

--- The index of the leader; waits until there is one.
---@return integer
function ensemble:leader()
  return loop.poll(function()
    for n = 1, SIZE do
      if self:role(n) == "leader" then return n end
    end
  end, loop.PATIENCE, 0.02) or error(("no leader within %d s"):format(loop.PATIENCE), 2)
end

--- The index of a server that is not the leader and serves.
function ensemble:follower()
  local leader = self:leader()
  for n = SIZE, 1, -1 do
    if n ~= leader and self:role(n) == "follower" then return n end
  end
  error("no follower serves", 2)
end

--- The index of the server that a session's client is connected to.
---@param session_id string hexadecimal, as `client:session_id()` gives it
---@return integer?
function ensemble:server_of(session_id)
  for n = 1, SIZE do
    if self:role(n) and self.servers[n]:serves(session_id) then return n end
  end
end

--- How a member is written down in a configuration that may change.
local function member(self, n)
  return ("127.0.0.1:%d:%d:participant;127.0.0.1:%d"):format(self.quorum[n], self.election[n], self.servers[n].port)
end

local function reconfigure(self, joining, leaving)
  local operator = inspector.connect(self.hosts, { timeout = loop.PATIENCE })
  operator:add_auth("digest", server.SUPER)
  local err
  local done = loop.poll(function()
    local ok
    ok, err = operator:reconfig(joining, leaving) -- it may have to wait for an election, or for who is new to catch up
    return ok
  end, loop.PATIENCE, 0.1)
  operator:close()
  if not done then error("the members do not change: " .. tostring(err), 3) end
end

--- Starts a spare server, and makes it a member; only with `config = { reconfigEnabled = true }`.
---@param members integer[] those that there are
function ensemble:join(n, members)
  local config = self.servers[n].options.config
  for _, m in ipairs(members) do config["server." .. m] = member(self, m) end
  config["server." .. n] = member(self, n)
  restart(self, n)
  reconfigure(self, ("server.%d=%s"):format(n, member(self, n)))
end

--- Server n is a member no more, and is killed.
function ensemble:leave(n)
  reconfigure(self, nil, tostring(n))
  self:kill(n)
end

--- SIGKILL.
function ensemble:kill(n) self.servers[n]:kill() end

--- Kills the leader.
---@return integer n its index
function ensemble:kill_leader()
  local n = self:leader()
  self:kill(n)
  return n
end

--- SIGSTOP: its connections stay open, it answers nobody.
function ensemble:stop(n)
  self.servers[n]:pause()
  self.paused[n] = true
end

--- SIGCONT.
function ensemble:resume(n)
  self.servers[n]:resume()
  self.paused[n] = nil
end

local function each_link_of(self, n, fn)
  assert(self.links, "only with ensemble.start { links = true }")
  for from, targets in pairs(self.links) do
    for to, one in pairs(targets) do
      if from == n or to == n then fn(one) end
    end
  end
end

--- Cuts server n off from the others silently: its clients still reach it, and it goes on answering reads until it
--- notices (two seconds, ten ticks).
function ensemble:isolate(n) each_link_of(self, n, function(one) one:black_hole("both") end) end

--- Cuts server n, the leader, off one-sidedly, as a firewall does: the others' links to it are reset on their side and
--- refused from then on, on its own side they stay open and silent. The others elect a new leader; it goes on answering
--- its clients as if nothing had happened, until it misses the others (`syncLimit`). `rejoin` ends it.
function ensemble:cut_off_leader(n)
  assert(self.links, "only with ensemble.start { links = true }")
  for from, targets in pairs(self.links) do
    if from ~= n then targets[n]:refuse() end
  end
  for from, targets in pairs(self.links) do
    if from ~= n then targets[n]:desert() end
  end
end

--- The same; returns when there is a new leader. Until then the old one stands still: it would tell the others that it
--- leads (their elections have links of their own), and they might believe it for long.
---@return integer leader the new one
function ensemble:depose(n)
  self:stop(n)
  self:cut_off_leader(n)
  local leader = self:leader()
  self:resume(n)
  return leader
end

--- Ends the isolation.
function ensemble:rejoin(n) each_link_of(self, n, function(one) one:heal() end) end

--- Ends all servers and removes their folders.
function ensemble:close()
  for _, one in pairs(self.servers) do one:stop() end
  for _, targets in pairs(self.links or {}) do
    for _, one in pairs(targets) do one:close() end
  end
end

return ensemble
