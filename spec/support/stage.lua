-- SPDX-License-Identifier: MIT
--- Where sweeps over the wire play: a fresh path, one of ours whose link can fail, and strangers on links that do not.
--
-- A scenario is played without a fault first, and what goes over the wire is counted; then again for every operation,
-- with a fault at it. Afterwards, each time: the resource saw nobody beside one who is to be alone, and growing tokens;
-- the stranger behind ours was served; and no node is left, although every session lives.

local inspector = require "spec.support.inspector"
local judge = require "spec.support.judge"
local kinds = require "spec.support.kinds"
local proxy = require "spec.support.proxy"
local queue = require "spec.support.queue"
local resource = require "spec.support.resource"
local server = require "spec.support.server"
local session = require "spec.support.session"
local visitor = require "spec.support.visitor"
local wait = require "spec.support.wait"
local zklock = require "zklock"

local stage = {}
stage.__index = stage

stage.PATIENCE = wait.PATIENCE
local SESSION = 40 -- seconds: twice the patience, so that nothing here is served by a session's end

-- ---- what scenarios use -----------------------------------------------------------------------------------------

function stage:new_visitor(role, client, name)
  local kind = self.kind
  return visitor.new(kind.open[role](client, self.path), self.house.writer, name .. self.suffix,
    { beside = kind.beside and kind.beside[role], leases = kind.leases })
end

--- Another one of ours.
function stage:another(name) return self:new_visitor("ours", self.client, name) end

--- Lets everybody's callbacks run until the condition holds.
function stage:await(condition, what)
  wait.eventually(function()
    self.client:poll()
    self.house.direct:poll()
    return condition()
  end, self.PATIENCE, what)
end

function stage:await_inside(who)
  self:await(function() return who.inside end, who.name .. " to be granted the lock")
end

--- The nodes in all of the lock's directories.
---@return string[] names
function stage:nodes()
  local names = {}
  for _, one in ipairs(self.queues) do
    for _, name in ipairs(one:names()) do names[#names + 1] = name end
  end
  return names
end

--- Waits until there are so many.
function stage:becomes(n)
  wait.eventually(function()
    local names = self:nodes()
    return #names == n, ("%d: %s"):format(#names, table.concat(names, " "))
  end, self.PATIENCE, ("%d nodes at %s"):format(n, self.path))
end

--- Ours is first wherever it has to be, by nodes of its own, and that is where its token comes from.
function stage:ours_holds()
  local tree, directories = self.house.tree, self.kind.holding(self.path)
  for _, path in ipairs(directories) do
    local names, is_token = queue.at(tree, path):names(), false
    for i = 1, self.counts.holding / #directories do
      local stat = assert(names[i] and tree:exists(path .. "/" .. names[i]), "ours has too few nodes")
      assert(session.same(stat.ephemeralOwner, self.client:session_id()), "a stranger's node is among the first")
      is_token = is_token or stat.czxid == self.ours.token
    end
    assert(is_token, "the token is not its node's")
  end
  assert(self.ours.inside, "ours does not know that it holds")
end

--- While `first` holds: once ours has its link again it must not believe that it does.
function stage:nobody_else_holds()
  self:await(function() return self.client:state() == "connected" end, "the link")
  self.client:poll(0.01)
  assert(self.client:stats().held == 0, "two hold it")
end

-- ---- the house ------------------------------------------------------------------------------------------------------

--- The state that all plays of a spec share.
local house = {}
house.__index = house

---@param root string path below which it all is
function stage.house(root)
  local self = setmetatable({ root = root, played = 0, zk = server.shared() }, house)
  self.complain = function(message) self.complaints[#self.complaints + 1] = message end
  self.tree = inspector.connect(self.zk.hosts)
  self.tree:delete_tree(root)
  self.direct = assert(zklock.connect(self.zk.hosts, { session_timeout = SESSION, on_error = self.complain }))
  self.faulty = proxy.start(self.zk.hosts, { doors = 5 })
  return self
end

--- Before each spec.
function house:open()
  self.complaints = {}
  self.store = resource.start()
  self.writer = resource.open(self.store.address)
end

--- After each spec.
function house:shut()
  self.faulty:heal()
  self.writer:close()
  self.store:close()
  assert(#self.complaints == 0, table.concat(self.complaints, "\n"))
end

function house:close()
  self.faulty:close()
  self.direct:close()
  self.tree:delete_tree(self.root)
  self.tree:close()
end

--- A fresh path for a kind, with everybody outside.
---@param kind string one of spec.support.kinds
function house:stage(kind)
  kind = assert(kinds[kind])
  self.played = self.played + 1
  local path = ("%s/%d/a"):format(self.root, self.played)
  local new = setmetatable({ house = self, kind = kind, counts = kind.counts, path = path, queues = {},
    suffix = "-" .. self.played }, stage)
  for i, directory in ipairs(kind.directories(path)) do new.queues[i] = queue.at(self.tree, directory) end
  new.client = assert(zklock.connect(self.faulty.hosts, {
    session_timeout = SESSION, connect_timeout = stage.PATIENCE, on_error = self.complain,
  }))
  new.ours = new:another("ours")
  new.first = new:new_visitor("first", self.direct, "first")
  new.last = new:new_visitor("last", self.direct, "last")
  return new
end

--- Plays a scenario once, with the faults that `arm` makes. Gives what was counted, and whether the first struck.
local function play(self, kind, scenario, arm)
  local here, faulty = self:stage(kind), self.faulty
  faulty:reset()
  arm()
  local armed = faulty:pending()
  scenario(here)
  if not here.last.request then here.last:ask(stage.PATIENCE) end
  here:await_inside(here.last)
  here.last:leave()
  here:becomes(0)
  local struck, counts, stats = faulty:pending() < armed, faulty:counts(), here.client:stats()
  faulty:heal()
  assert(stats.sessions == 1 and stats.lost == 0 and stats.held == 0 and stats.waiting == 0,
    "a session or a hold is lost")
  here.client:close()
  return counts, struck
end

local function without_fault() end

--- Plays a scenario with faults at the first such operation, the second, ... until there is none any more.
---@param kind string one of spec.support.kinds
---@param scenario fun(stage: table)
---@param op string an operation's name, "event", or "*" for any request
---@param arm fun(faulty: table, n: integer) makes the fault at the n-th
function house:sweep(kind, scenario, op, arm)
  local counted = play(self, kind, scenario, without_fault)[op == "*" and "total" or op]
  local n, strikes, struck = 0, 0, nil
  repeat
    n = n + 1
    local ok, err = pcall(function()
      struck = select(2, play(self, kind, scenario, function() arm(self.faulty, n) end))
    end)
    if not ok then error(("at %s %d: %s"):format(op, n, type(err) == "table" and err.message or err), 0) end
    if struck then strikes = strikes + 1 end
  until n > counted and not struck
  assert(strikes > counted / 4, "the faults hardly struck") -- how much a close leaves unsaid is chance
  judge.demand(self.store:judge())
end

--- The faults at a request, by the proxy's verbs.
stage.FAULTS = {
  cut_before = "the link cut before it", cut_after = "the link cut behind it", lose_reply = "its reply lost",
}

return stage
