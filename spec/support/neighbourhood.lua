-- SPDX-License-Identifier: MIT
--- A path that processes in several languages share, the resource that it protects, and what is done there.

local inspector = require "spec.support.inspector"
local judge = require "spec.support.judge"
local kept = require "spec.support.kept" "neighbourhood"
local resource = require "spec.support.resource"
local server = require "spec.support.server"
local wait = require "spec.support.wait"

local neighbourhood = {}
neighbourhood.__index = neighbourhood

--- How much longer than usual processes contend: ROUNDS=20 is for minutes.
neighbourhood.FACTOR = tonumber(os.getenv("ROUNDS")) or 1

neighbourhood.PATIENCE = wait.PATIENCE * math.max(1, neighbourhood.FACTOR)

--- A fresh path and a fresh resource.
function neighbourhood.new()
  kept.count = (kept.count or 0) + 1
  local self = setmetatable({ zk = server.shared(), path = ("/neighbours/%d"):format(kept.count) }, neighbourhood)
  self.tree = inspector.connect(self.zk.hosts)
  self.store = resource.start()
  return self
end

function neighbourhood:close()
  self.store:close()
  self.tree:close()
end

---@param where string? below the path
---@return string[] nodes in the lock's directory, in order of their sequences
function neighbourhood:nodes(where)
  local names = self.tree:children(self.path .. (where or "")) or {}
  table.sort(names, function(a, b) return a:match("%d*$") < b:match("%d*$") end)
  return names
end

--- Waits until so many hold or wait.
function neighbourhood:becomes(n, where)
  wait.eventually(function() return #self:nodes(where) == n end, self.PATIENCE, ("%d nodes"):format(n))
end

--- Lets all contend, each by its own order, and waits for the end of it.
---@param crew table[] workers and neighbours
---@param order fun(i: integer): table what `contend` gets, beside `resource` and `owner`
---@return table[] reports
---@return string[] owners
function neighbourhood:contend(crew, order)
  local reports, owners = {}, {}
  for i, one in ipairs(crew) do
    local words = order(i)
    words.resource, words.path = self.store.address, words.path or self.path
    owners[i] = ("%s-%d"):format(one.kind or "lua", i)
    words.owner = owners[i] .. (words.count and ("*%d"):format(words.count) or "")
    one:begin("contend", words)
  end
  for i, one in ipairs(crew) do reports[i] = one:finish(self.PATIENCE) end
  return reports, owners
end

--- One goes in and stays there.
---@return integer token
function neighbourhood:goes_in(one, owner, name, verb)
  one:step(self.store.address, "ask", 0, owner)
  local token = assert(one:acquire(name or self.path))
  assert(one:step(self.store.address, verb or "enter", token, owner), owner .. " is refused")
  return token
end

--- It goes out again.
function neighbourhood:goes_out(one, owner, token, name, verb)
  assert(one:step(self.store.address, verb or "leave", token, owner), owner .. " is refused")
  assert(one:release(name or self.path))
end

--- The owners that came in, in order.
---@return string[] owners
function neighbourhood:visitors()
  self.store:judge { open_end = true } -- what was logged is in the file then
  local list = {}
  for line in io.lines(self.store.path) do
    list[#list + 1] = line:match("^%d+ (%S+) enter accepted$") or line:match("^%d+ (%S+) join accepted$")
  end
  return list
end

--- The report of the judge, who must find nothing.
function neighbourhood:judge(options) return judge.demand(self.store:judge(options)) end

return neighbourhood
