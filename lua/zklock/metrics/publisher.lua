-- SPDX-License-Identifier: MIT
--- publisher: writes what the clients of one nginx worker count into a shared dictionary, once a
--- second and when the worker leaves. Each worker has one publisher for each dictionary.
local Store = require "zklock.metrics.store"
local core = require "zklock.core"
local finalizer = require "zklock.base.finalizer"
local part = require "zklock.metrics.part"
local snapshots = require "zklock.metrics.snapshot"
local tally = require "zklock.metrics.tally"

---@class zklock.metrics.Publisher
---@field store zklock.metrics.Store
---@field private shared { client: zklock.Client, written: table<string, number> }[] the clients, each
---  with what of it is in the dictionary
---@field private known table<zklock.Client, boolean> those and the closed ones; weak
---@field private events string[] what has happened since the latest write
---@field private latest number when that was
---@field private is_timed boolean nginx has accepted the timer
---@field private is_leaving boolean a timer runs that writes while the worker exits
---@field private last any a finalizer: Lua ends with the worker
---@field private at_end { publisher: zklock.metrics.Publisher|false }|false what it finishes
local Publisher = {}
Publisher.__index = Publisher

--- Seconds between two writes; and in a worker that exits, between two checks whether a request still
--- uses a client.
local PERIOD, LOOK = 1, 0.1
--- So many events are kept until the next write; the oldest ones go.
local EVENTS_MOST = 50

---@type table<table, zklock.metrics.Publisher> by dictionary
local publishers = {}

---@param dict table
---@return zklock.metrics.Publisher?
function Publisher.of(dict)
  return publishers[dict]
end

local function new(dict)
  local store = Store.new(dict)
  store:begin()
  return setmetatable({ store = store, shared = {}, known = setmetatable({}, { __mode = "k" }), events = {}, latest = 0,
    is_timed = false, is_leaving = false, last = false, at_end = false }, Publisher)
end

--- The worker's keys have this in their names: during a reload two workers have the same number.
local function worker_name()
  return ("%s|%d"):format(ngx.worker.id() or "-", ngx.worker.pid())
end

--- The client's part of this worker; nil: the script has chosen another loop for it.
local function host_of(client)
  return client.loop.name == "openresty" and client.host or nil
end

-- ---- writing --------------------------------------------------------------------------------------------------------

--- The snapshots of the clients, in their order; false for one that a fork has left behind.
---@return (zklock.Snapshot|false)[]
local function take(self)
  local taken = {}
  for i, one in ipairs(self.shared) do taken[i] = snapshots.of(one.client) or false end
  return taken
end

--- Writes what the clients have now. This comes before the counts: these never leave a dictionary that
--- they have filled.
local function write_now(self, taken)
  local now = snapshots.empty()
  for i, one in ipairs(self.shared) do
    if taken[i] and not one.client.native:unusable() then snapshots.merge(now, taken[i]) end
  end
  self.store:put("gauges", worker_name(), tally.write_gauges(self.store, now))
end

--- Adds what the clients have counted. Those that are closed have said everything then.
local function write_counts(self, taken)
  for i = #taken, 1, -1 do
    local one = self.shared[i]
    if taken[i] then tally.add(self.store, one.written, taken[i]) end
    if one.client.native:unusable() then table.remove(self.shared, i) end
  end
end

local function write_events(self)
  local events = self.events
  self.events = {}
  for _, event in ipairs(events) do self.store:tell(event) end
end

local function clients_of(self)
  local clients = {}
  for i, one in ipairs(self.shared) do clients[i] = one.client end
  return clients
end

local function write_part(self)
  local clients, store = clients_of(self), self.store
  store:put("part", worker_name(), part.write(clients, store:room()), part.write(clients, 0))
end

--- This worker's part of the page, whole.
---@return string name of the worker's keys
---@return string written
function Publisher:part()
  return worker_name(), part.write(clients_of(self), math.huge)
end

--- Calls a method of the publisher, which must not end what calls it.
local function safely(method, self)
  local ok, err = pcall(method, self)
  if not ok then ngx.log(ngx.ERR, "zklock: metrics: ", err) end
end

--- Writes everything. The page shows values of the script, and the numbers never wait for it.
function Publisher:write()
  self.latest = core.now()
  local taken = take(self)
  write_now(self, taken)
  write_counts(self, taken)
  if self.events[1] then write_events(self) end
  if self.store:is_page_wanted() then safely(write_part, self) end
end

--- Writes what was counted, and removes this worker's gauges and its part of the page.
function Publisher:finish()
  write_counts(self, take(self))
  write_events(self)
  self.store:remove("gauges", worker_name())
  self.store:remove("part", worker_name())
end

-- ---- when it writes -------------------------------------------------------------------------------------------------

--- True while a request or a callback of this worker may use one of the clients.
local function is_needed(self)
  for _, one in ipairs(self.shared) do
    local host = host_of(one.client)
    if host and host:is_needed() then return true end
  end
  return false
end

--- The last timer of a worker. nginx waits for it, and a worker may serve its last request for long.
local function leave(self)
  if self.is_leaving then return end
  self.is_leaving = true
  while is_needed(self) do
    if core.now() - self.latest >= PERIOD then safely(self.write, self) end
    ngx.sleep(LOOK)
  end
  self.is_leaving = false
  self:finish()
end

local function run(premature, self)
  if premature or ngx.worker.exiting() then return leave(self) end
  if self.shared[1] or self.events[1] then self:write() end
end

local function ensure_timer(self)
  if self.is_timed or ngx.worker.exiting() then return end
  local ok, err = ngx.timer.every(PERIOD, run, self)
  if not ok then ngx.log(ngx.WARN, "zklock: no timer for metrics, trying again: ", err) end
  self.is_timed = ok and true or false
end

--- The client's host calls this whenever it takes events. nginx drops a run of a timer while too many
--- run, also the run that says that the worker exits.
local function look(self)
  ensure_timer(self)
  if not ngx.worker.exiting() then
    if core.now() - self.latest > 2 * PERIOD then self:write() end
  elseif not self.is_leaving and is_needed(self) then
    assert(ngx.timer.at(0, function() leave(self) end))
  end
end

-- ---- clients --------------------------------------------------------------------------------------------------------

local function note(self, kind, said)
  local events = self.events
  if #events == EVENTS_MOST then table.remove(events, 1) end
  events[#events + 1] = part.write_event(kind, said)
end

--- Notes a client's losses, slow waits, and the states between one session's trouble and its end.
local function observe(self, client)
  local was_well = true
  client.dispatcher:observe(function(kind, said)
    if kind == "state" then
      local is_well = said == "connected" or said == "connecting" or said == "closed"
      if not (is_well and was_well) then note(self, kind, said) end
      was_well = is_well
    elseif kind == "lost" or said:find("^waiting for ") then
      note(self, kind == "lost" and kind or "slow", said)
    end
  end)
end

--- Writes everything one more time when Lua ends: nginx ends it with the worker. The engine's clients
--- are older than this finalizer, so they end later. A new client needs a new finalizer.
local function finish_at_end(self)
  if self.at_end then self.at_end.publisher = false end
  self.at_end = { publisher = self }
  self.last = finalizer(self.at_end, function(at_end)
    if at_end.publisher then at_end.publisher:finish() end
  end)
end

--- Writes what this client counts, from now on until it is closed.
---@param dict table
---@param client zklock.Client
function Publisher.share(dict, client)
  local self = publishers[dict] or new(dict)
  publishers[dict] = self
  if self.known[client] then return end -- a closed client has said everything
  self.known[client] = true
  self.shared[#self.shared + 1] = { client = client, written = {} }
  local host = host_of(client)
  observe(self, client)
  if host then host:observe(function() safely(look, self) end) end
  ensure_timer(self)
  finish_at_end(self)
  self:write() -- a scrape shows the worker from now on
end

return Publisher
