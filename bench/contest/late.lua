-- SPDX-License-Identifier: MIT
--- late: the late writes of former holders, at four resources. One process takes many locks and is stopped; its session
--- ends, and another process takes them and writes; the first one goes on, and writes without a look at its validity.
--- docs/internals/contest.md has the figures.
--
-- usage: lua5.4 bench/contest/late.lua [LOCKS]

local server = require "spec.support.server"
local worker = require "spec.support.worker"
local zklock = require "zklock"

local LOCKS = tonumber(arg[1]) or 100
local SESSION = 4 -- seconds

local function path(i) return ("/late/%03d"):format(i) end

--- How each resource decides about a write; `asked`: the answer that it got while the former holder still had the lock.
local resources = {
  { name = "does not look", accepts = function() return true end },
  { name = "asks before it acts", accepts = function(service, i, token) return service:check(path(i), token, 10) end },
  { name = "asks, and is stopped before it acts", accepts = function(_, _, _, asked) return asked end },
  { name = "compares tokens", accepts = function(_, _, token, _, largest) return token >= largest end },
}

local TAKE = [[
  local paths, tokens = ..., {}
  for i, path in ipairs(paths) do tokens[i] = assert(worker.lock(path):acquire(60)) end
  return tokens]]

local zk = server.start()
local paths = {}
for i = 1, LOCKS do paths[i] = path(i) end
local service = assert(zklock.connect(zk.hosts))
local former, other = worker.start(), worker.start()
for _, one in ipairs { former, other } do assert(one:connect(zk.hosts, { session_timeout = SESSION })) end

local late, asked = former:eval(TAKE, paths), {}
for i, token in ipairs(late) do asked[i] = assert(service:check(path(i), token, 10)) end
former:stop()
local largest = other:eval(TAKE, paths)
former:continue()
assert(former:eval("return worker.client:state() ~= 'closed'"), "it has gone on")

for _, resource in ipairs(resources) do
  local taken, refused = 0, 0
  for i, token in ipairs(late) do
    if resource.accepts(service, i, token, asked[i], largest[i]) then taken = taken + 1 end
    -- what the present holder writes has to be taken
    if not resource.accepts(service, i, largest[i], true, largest[i]) then refused = refused + 1 end
  end
  print(("| %s | %d of %d | %d of %d |"):format(resource.name, taken, LOCKS, refused, LOCKS))
end

former:kill()
other:kill()
service:close()
zk:stop()
