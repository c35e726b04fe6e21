-- SPDX-License-Identifier: MIT
--- The needs of most specs: a server, a look at it, a fresh path for each spec, and clients, processes and proxies that
--- are gone after it.
--
--   describe("a mutex", function()
--     local here = fixture.new("/mutex")
--
--     it("is held by one", function()
--       local client = here:connect()
--       assert(client:mutex(here.path):acquire(here.patience))
--       here:becomes(1)
--     end)
--   end)
--
-- Anything opened in a spec or a before_each is closed after that spec, in reverse, and proxies are healed before; what
-- is opened in a setup is closed at the end of the describe, when all that is below the root is deleted.

local busted = require "busted"
local inspector = require "spec.support.inspector"
local proxy = require "spec.support.proxy"
local server = require "spec.support.server"
local wait = require "spec.support.wait"
local worker = require "spec.support.worker"
local zklock = require "zklock"

---@class fixture
---@field zk table the server
---@field tree table an inspector of it
---@field path string of the spec that runs: "/ROOT/1", "/ROOT/2", ...
---@field patience number seconds: what takes milliseconds may take so long on a busy machine
local fixture = {}
fixture.__index = fixture

--- Closes what was opened last first, all of it; raises what the first of them raised.
local function close_all(opened)
  local problem
  while #opened > 0 do
    local one = table.remove(opened)
    local ok, err = pcall(one.close, one.what)
    if not ok then problem = problem or err end
  end
  if problem then error(problem, 0) end
end

local function each_open(self, kind, fn)
  for _, opened in ipairs(self.scopes) do
    for _, one in ipairs(opened) do
      if one.kind == kind then fn(one.what) end
    end
  end
end

local function enter_spec(self)
  busted.publish({ "session" }, self.options.session_timeout or 10) -- spec/support/again.lua hears it
  self.count = self.count + 1
  self.path = ("%s/%d"):format(self.root, self.count)
  self.scopes[2] = {}
end

local function leave_spec(self)
  each_open(self, "proxy", function(one) one:heal() end)
  close_all(table.remove(self.scopes, 2))
end

local function enter_all(self)
  self.zk = self.options.server and self.options.server() or server.shared()
  self.tree = inspector.connect(self.zk.hosts)
  if self.options.super then self.tree:add_auth("digest", server.SUPER) end
  self.tree:delete_tree(self.root)
end

local function leave_all(self)
  close_all(self.scopes[1])
  self.tree:delete_tree(self.root)
  self.tree:close()
end

--- Prints the clients and nodes as a spec fails. Evidence must not hide the failure: a server that does not answer only
--- shortens it.
local function show(self)
  if not self.scopes[2] then return end
  each_open(self, "client", function(client)
    local stats = client:stats()
    print(("evidence: a client is %s; sessions %d, held %d, waiting %d, lost %d"):format(client:state(), stats.sessions,
      stats.held, stats.waiting, stats.lost))
  end)
  local ok, names = pcall(self.nodes, self)
  print(("evidence: %s: %s"):format(self.path, ok and table.concat(names, " ") or names))
end

---@class fixture.options
---@field session_timeout number? seconds, of clients and processes: less than the 10 s of `zklock.connect` only where a
---  session's end is the subject, because a busy machine loses short sessions
---@field patience number? seconds, wait.PATIENCE
---@field super boolean? the tree's inspector passes every ACL
---@field server (fun(): table)? where the server comes from, instead of the shared one

--- For the describe that this is called in.
---@param root string path below which all its locks are
---@param options fixture.options?
---@return fixture
function fixture.new(root, options)
  options = options or {}
  local self = setmetatable({ root = root, options = options, patience = options.patience or wait.PATIENCE, count = 0,
    scopes = { {} } }, fixture)
  busted.setup(function() enter_all(self) end)
  busted.before_each(function() enter_spec(self) end)
  busted.after_each(function() leave_spec(self) end)
  busted.teardown(function() leave_all(self) end)
  busted.subscribe({ "failed" }, function() show(self) end) -- spec/support/again.lua says it
  return self
end

-- ---- what is closed again -------------------------------------------------------------------------------------------

--- Has it closed: after the spec, or in a setup at the end.
---@param what any
---@param close (fun(what: any))? its method `close`
---@param kind string?
---@return any what
function fixture:closes(what, close, kind)
  local opened = self.scopes[#self.scopes]
  opened[#opened + 1] = { what = what, close = close or what.close, kind = kind }
  return what
end

--- Calls fn before what was opened until now is closed.
function fixture:afterwards(fn) self:closes(true, fn) end

--- A client of these servers.
---@param hosts string
---@param options table? of `zklock.connect`
---@return zklock.Client
function fixture:connect_to(hosts, options)
  local all = { session_timeout = self.options.session_timeout }
  for name, value in pairs(options or {}) do all[name] = value end
  return self:closes(assert(zklock.connect(hosts, all)), nil, "client")
end

--- Where clients reach the server.
function fixture:hosts() return proxy.hosts_of(self.zk.hosts) end

--- A client of the server.
---@param options table? of `zklock.connect`
---@return zklock.Client
function fixture:connect(options) return self:connect_to(self:hosts(), options) end

--- zklock.connect as it is, with whatever a spec gives it.
---@return zklock.Client? client closed after the spec
---@return string? err
function fixture:try_to_connect(...)
  local client, err = zklock.connect(...)
  if client then self:closes(client, nil, "client") end
  return client, err
end

--- A way to the server on which things go wrong.
---@param options table? of `proxy.start`
function fixture:proxy(options) return self:closes(proxy.start(self.zk.hosts, options), nil, "proxy") end

--- A process that does what it is told: `spec.support.worker`.
---@param options table? of `worker.start`
function fixture:worker(options)
  local one = worker.start(options)
  return self:closes(one, one.kill)
end

--- Another process with a client of the server, which it closes at the end.
---@param options table? of its `connect`
function fixture:second_process(options)
  local all = { session_timeout = self.options.session_timeout }
  for name, value in pairs(options or {}) do all[name] = value end
  local one = self:worker()
  assert(one:connect(self:hosts(), all))
  self:afterwards(function() one:close() end)
  return one
end

--- An nginx that knows "@hosts@", "@path@" and "@session@", with a client unless `http` says otherwise.
---@param options table of `nginx.start`
function fixture:nginx(options)
  local nginx = require "spec.support.nginx"
  local values = { hosts = self.zk.hosts, path = self.path, session = self.options.session_timeout or 10 }
  for name, value in pairs(options.values or {}) do values[name] = value end
  options.http, options.values = options.http or nginx.CLIENT, values
  local web = nginx.start(options)
  return self:closes(web, web.stop)
end

-- ---- what the server has --------------------------------------------------------------------------------------------

--- The names in a lock's directory, in the order in which they came.
---@param at string? the spec's path
---@return string[]
function fixture:nodes(at)
  local names = self.tree:children(at or self.path) or {}
  table.sort(names, function(a, b) return (a:match("%d+$") or a) < (b:match("%d+$") or b) end)
  return names
end

--- Waits until there are so many.
function fixture:becomes(n, at)
  return wait.eventually(function()
    local names = self:nodes(at)
    return #names == n, ("%d: %s"):format(#names, table.concat(names, " "))
  end, self.patience, ("%d nodes at %s"):format(n, at or self.path))
end

--- The one node there is: its path, and its Stat.
function fixture:only_node(at)
  at = at or self.path
  local names = self:nodes(at)
  assert(#names == 1, ("%d nodes at %s"):format(#names, at))
  return at .. "/" .. names[1], self.tree:exists(at .. "/" .. names[1])
end

--- The name of the one node there is in the tree, and what is in it.
function fixture:only_data(at)
  local name = self:only_node(at)
  return name, self.tree:get(name)
end

--- All that the clients have given back is away, and no node is there.
function fixture:nothing_is_left(at)
  each_open(self, "client", function(client)
    assert(client:state() == "closed" or client:flush(self.patience))
  end)
  local names = self:nodes(at)
  assert(#names == 0, "left: " .. table.concat(names, " "))
end

-- ---- what the clients hear ------------------------------------------------------------------------------------------

--- Lets all clients' callbacks run until the condition holds.
---@return any ... what the condition gave
function fixture:eventually(condition, what)
  return wait.eventually(function()
    each_open(self, "client", function(client) client:poll(0.002) end)
    return condition()
  end, self.patience, what)
end

--- A list, and a callback that notes what it is called with.
---@return any[][] heard, fun(...)
function fixture.notes()
  local heard = {}
  return heard, function(...) heard[#heard + 1] = { ... } end
end

--- A list, and a callback for a request that notes the answer: `{ got, err }`.
---@return any[][] heard, fun(got: any, err: string?)
function fixture.answers()
  local heard = {}
  return heard, function(got, err) heard[#heard + 1] = { got, err } end
end

--- Asks for a lock.
---@param lock table
---@param timeout number?
---@param n integer? leases
---@return table request, any[][] heard the answers of its callback
function fixture:ask(lock, timeout, n)
  local heard, answer = self.answers()
  return lock:request(timeout or self.patience, answer, n), heard
end

--- Requests of free locks, PATH/1, PATH/2, ..., whose grants have arrived but whose callbacks have not run.
---@param client zklock.Client
---@param n integer
---@param callback function
---@return zklock.Request[]
function fixture:granted_requests(client, n, callback)
  local requests = {}
  local before = client:stats().acquired
  for i = 1, n do requests[i] = client:mutex(self.path .. "/" .. i):request(self.patience, callback) end
  wait.eventually(function() return client:stats().acquired == before + n end, self.patience)
  return requests
end

--- Waits until so many were heard; gives the last of them.
---@param heard any[][]
---@param n integer? 1
function fixture:hear(heard, n)
  return self:eventually(function() return heard[n or 1] end, "what is to be heard")
end

return fixture
