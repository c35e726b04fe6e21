-- SPDX-License-Identifier: MIT
--- The testbed of a run: three servers, fault proxies before them and between them, a resource for each path, the
--- operator.

local codec = require "spec.support.codec"
local ensemble = require "spec.support.ensemble"
local fence = require "chaos.fence"
local history = require "chaos.history"
local inspector = require "spec.support.inspector"
local loop = require "spec.support.loop"
local nodes = require "chaos.nodes"
local process = require "spec.support.process"
local proxy = require "spec.support.proxy"
local resource = require "spec.support.resource"
local transactions = require "chaos.transactions"

local testbed = { told = history.open() } -- nowhere
testbed.__index = testbed

local CONTAINER_CHECK = 2000 -- ms; the paths are containers, and vanish when nobody is there
-- For so many ticks (of 200 ms) a leader that was deposed may not know: longer than a new one takes to end a session of
-- the workers, which is what could go wrong meanwhile.
local UNKNOWING = 20

-- The servers' logs, which `keep` keeps, say who led when, and from where each of the others was brought up to date.
local ELECTIONS = { "-Dorg.slf4j.simpleLogger.showDateTime=true",
  "-Dorg.slf4j.simpleLogger.log.org.apache.zookeeper.server.quorum=info" }

-- Seconds for servers that are whole again to take a session, on a machine that has many times the work it can do.
local PATIENCE = 60

local function start_operator(self)
  local command = { "lua5.4", "chaos/operator.lua", self.cluster.hosts, env = process.PLAIN_LUA }
  for _, place in ipairs(self.places) do
    if place ~= self.post then
      command[#command + 1] = place.path
      command[#command + 1] = place.store.address
    end
  end
  self.operator = process.spawn(command)
  assert(self.operator:read_line(60) == "ready", "the operator does not start")
  self.orders = {}
  if self.history then self:order(function() end, "tell", self.history) end
end

--- Starts everything.
---@param cast table as `chaos.schedule.CAST`
---@param folder string? for what all processes write of their history
function testbed.start(cast, folder)
  local self = setmetatable({ places = {}, proxies = {}, gates = {}, session_timeout = cast.session_timeout,
    history = folder, told = history.open(folder, "servers") }, testbed)
  self.cluster = ensemble.start { container_check_interval = CONTAINER_CHECK, links = true, jvm = ELECTIONS,
    config = { syncLimit = UNKNOWING } }
  for n, kind in ipairs(cast.paths) do
    self.places[n] = { path = ("/chaos/%d-%s"):format(n, kind), kind = kind, store = resource.start() }
  end
  -- Where the sentries are: neither workers nor the operator come there.
  self.post = { path = "/chaos/post", kind = "post", store = resource.start() }
  table.insert(self.places, self.post)
  for n = 1, cast.proxies do self.proxies[n] = proxy.start(self.cluster.hosts) end
  for n = 1, cast.sentries do self.gates[n] = proxy.start(self.cluster.servers[n].hosts) end
  start_operator(self)
  return self
end

--- Gives the operator something to do; `done(count)` is called from `step` when it has done it.
function testbed:order(done, ...)
  table.insert(self.orders, done)
  self.operator:write(codec.encode(...))
end

--- Hears what the operator has done.
function testbed:step()
  while #self.orders > 0 and self.operator:stdout():find("\n", 1, true) do
    table.remove(self.orders, 1)(codec.decode(self.operator:read_line()))
  end
  if not self.operator:is_running() then
    local code, signal = self.operator:wait(5) -- it has been heard to its end then
    error(("the operator has ended, code %s, signal %s: %s"):format(tostring(code), tostring(signal),
      self.operator:stderr()))
  end
end

--- Ends every fault, and waits until the servers serve and the operator has nothing to do.
function testbed:heal()
  for _, one in ipairs(self.proxies) do one:heal() end
  for _, one in ipairs(self.gates) do one:heal() end
  for n, one in ipairs(self.cluster.servers) do
    self.cluster:rejoin(n)
    self.cluster:resume(n)
    if not one.process:is_running() then one:launch() end
  end
  for _, one in ipairs(self.cluster.servers) do one:await() end
  return loop.poll(function()
    self:step()
    return #self.orders == 0
  end, 60) or error("the operator does not come to an end")
end

--- A write that fails, to which a quorum agrees: the server then shows all that was before. A deposed leader answers a
--- sync, too.
local function catch_up(tree)
  return loop.poll(function()
    local _, err = tree:delete("/chaos-testbed/nothing")
    return err == "NONODE"
  end, PATIENCE, 0.1) or error("a server takes no write although nothing is broken")
end

local ABSENT = { czxid = 0, mzxid = 0 }

--- For each server the stats of these nodes by path, `ABSENT` where there is no such node.
local function stats(self, paths)
  local all = {}
  for n, one in ipairs(self.cluster.servers) do
    local tree = inspector.connect(one.hosts, { timeout = PATIENCE })
    catch_up(tree)
    all[n] = {}
    for _, path in ipairs(paths) do
      local stat, err = tree:exists(path)
      all[n][path] = stat or err == "NONODE" and ABSENT or error(err)
    end
    tree:close()
  end
  return all
end

local function worker_of(owner) return owner:match("^[^/]+") end

local function overtaken(self, tree)
  local list = {}
  for _, place in ipairs(self.places) do
    local number, by = place.store:written() -- asked first: who is there now may be gone, and overtaken, a moment later
    local later = fence.token(number)
    tree:sync("/")
    for _, node in ipairs(nodes.list(tree, place.path) or {}) do
      local who, stat = tree:get(node.path)
      if who and stat.czxid < later and worker_of(who) ~= worker_of(by) then
        list[#list + 1] = { path = node.path, who = who, token = stat.czxid, later = later }
      end
    end
  end
  return list
end

--- All nodes, by path.
local function standing(self, tree)
  local list = {}
  for _, place in ipairs(self.places) do
    for _, node in ipairs(nodes.list(tree, place.path) or {}) do
      local who, stat = tree:get(node.path)
      if who then list[node.path] = { path = node.path, who = who, token = stat.czxid } end
    end
  end
  return list
end

local function epoch_of(zxid) return math.floor(zxid / 4294967296) end

--- The largest token of each epoch with which anybody was inside. A leader commits in order, and answers after that: it
--- has committed whatever has a smaller zxid of its epoch.
local function committed(self)
  local list = {}
  for _, place in ipairs(self.places) do
    place.store.own:sync()
    for line in io.lines(place.store.path) do
      local token = fence.token(tonumber(line:match("^(%d+) %S+ enter accepted")) or 0)
      list[epoch_of(token)] = math.max(token, list[epoch_of(token)] or 0)
    end
  end
  return list
end

local function is_anywhere(all, node)
  for _, at in ipairs(all) do
    if at[node.path].czxid == node.token then return true end
  end
  return false
end

--- Nodes that a server shows behind a write which came after their deletion had been committed. The logs are read
--- before that write, so what they have of its own epoch is committed with it.
local function undone(self, tree)
  local there, deleted, paths, list = standing(self, tree), {}, {}, {}
  for _, one in ipairs(self.cluster.servers) do transactions.deletions(one:data(), there, deleted) end
  for path in pairs(deleted) do paths[#paths + 1] = path end
  local all, upto = #paths > 0 and stats(self, paths) or {}, nil
  for _, path in ipairs(paths) do
    local node = there[path]
    if is_anywhere(all, node) then
      upto = upto or committed(self)
      node.zxid, node.upto = deleted[path], upto[epoch_of(deleted[path])] or 0
      if node.upto >= node.zxid then list[#list + 1] = node end
    end
  end
  return list
end

--- Lays ghosts: nodes that are there, and stay, although another worker with a larger token was inside alone since.
--- (Within one worker a lock is handed on before the node is gone: one that stays is left behind.) And nodes whose
--- deletion was committed.
--- They are the servers' doing: it was seen that after their leader was killed nodes were there again whose deletion
--- others had seen while a server was down. Nobody can know such a node for what it is; all would wait behind it.
--- Those of a release that is still on its way go by themselves.
---@param seconds number how long they are given for that
---@return string[] ghosts
function testbed:lay_ghosts(seconds)
  local tree, list = inspector.connect(self.cluster.hosts, { timeout = PATIENCE }), nil
  loop.poll(function()
    list = overtaken(self, tree)
    return #list == 0
  end, seconds, 0.2)
  for i, ghost in ipairs(list) do
    for _, place in ipairs(self.places) do place.store.own:void(ghost.token, ghost.who) end
    self.told:taken(ghost.who, history.now(), "token", ghost.token)
    tree:delete(ghost.path)
    list[i] = ("%s of %s, token %d, but %d has been inside"):format(ghost.path, ghost.who, ghost.token, ghost.later)
  end
  for _, ghost in ipairs(undone(self, tree)) do
    tree:delete(ghost.path) -- nobody holds with it: its owner's release, or the end of the session, has deleted it
    list[#list + 1] = ("%s of %s, token %d, but zxid %d has deleted it, and %d has been inside"):format(ghost.path,
      ghost.who, ghost.token, ghost.zxid, ghost.upto)
  end
  tree:close()
  return list
end

-- A follower complains of an older and a newer state (chaos.follower).
local BACK = "a watch of (%S+) was told of (%d+) after (%d+)$"
local STILL = "a watch of (%S+) was not told of (%d+), but of (%d+)$"

local function states(complaint)
  local path, older, newer = complaint:match(BACK)
  if not path then path, newer, older = complaint:match(STILL) end
  return path, tonumber(older), tonumber(newer)
end

--- Whether one server has this older state of a node for good, while another has the newer one, or a later one.
local function is_split(list, older, newer)
  local has_older, has_newer = false, false
  for _, zxid in ipairs(list) do
    has_older, has_newer = has_older or zxid == older, has_newer or zxid >= newer
  end
  return has_older and has_newer
end

--- Complaints that the servers explain: a watch was told of the state that one server has, when it knew the later one
--- of another. No client can make them disagree, and none can know which of them is right.
---@param complaints string[]
---@return string[] rest those that are ours
---@return string[] splits the others, with what each server has
function testbed:sort_out(complaints)
  local rest, splits = {}, {}
  for _, text in ipairs(complaints) do
    local path, older, newer = states(text)
    local list = {}
    for n, at in ipairs(path and stats(self, { path }) or {}) do list[n] = at[path].mzxid end
    if is_split(list, older, newer) then
      splits[#splits + 1] = ("%s; the servers have %s"):format(text, table.concat(list, ", "))
    else
      rest[#rest + 1] = text
    end
  end
  return rest, splits
end

local function list_nodes(tree, path, list)
  local found, err = nodes.list(tree, path)
  if not found then list[#list + 1] = ("%s: %s"):format(path, err) end
  for _, node in ipairs(found or {}) do
    local who, stat = tree:get(node.path)
    if who then
      list[#list + 1] = ("%s of %s, token %d, session %s"):format(node.path, who, stat.czxid, stat.ephemeralOwner)
    end
  end
end

--- Waits until there is no node below any path, and lists those that stay.
---@param seconds number
---@return string[] orphans
function testbed:orphans(seconds)
  local tree, left = inspector.connect(self.cluster.hosts, { timeout = PATIENCE }), {}
  loop.poll(function()
    left = {}
    for _, place in ipairs(self.places) do list_nodes(tree, place.path, left) end
    return #left == 0
  end, seconds, 0.1)
  tree:close()
  return left
end

--- Ends the servers, and keeps their logs and data: the transactions that each of them had on its disk.
---@param folder string
function testbed:keep(folder)
  for n, one in ipairs(self.cluster.servers) do
    one:kill()
    one:pack(("%s/server-%d.tar.gz"):format(folder, n))
  end
end

--- Ends everything.
function testbed:close()
  self.operator:kill()
  for _, place in ipairs(self.places) do place.store:close() end
  for _, one in ipairs(self.proxies) do one:close() end
  for _, one in ipairs(self.gates) do one:close() end
  self.cluster:close()
end

return testbed
