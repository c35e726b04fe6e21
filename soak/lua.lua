-- SPDX-License-Identifier: MIT
--- Misuses zklock under several Luas at once, each in a process of its own against one real server, and looks whether
--- anything is left: a lock, a node, an entry of a table, memory.
---
---   lua5.4 soak/lua.lua SECONDS SEED BUILD NAME=INTERPRETER...     whose module is in BUILD/NAME
---
--- A line for each now and then; status 1 when one of them was not well. The last line is as of tests.

local checks = require "soak.checks"
local inspector = require "spec.support.inspector"
local places = require "spec.memory.places"
local process = require "spec.support.process"
local server = require "spec.support.server"
local wait = require "spec.support.wait"

local seconds, seed, build = tonumber(arg[1]), tonumber(arg[2]), arg[3]
local PATIENCE = 120 -- seconds, for what comes after the work
local PROGRESS = 10

local say = checks.say

local zk = server.start()
local tree = inspector.connect(zk.hosts)
local all = {}
for i = 4, #arg do
  local name, interpreter = arg[i]:match("^([^=]+)=(.+)$")
  local root = "/soak-" .. name
  all[#all + 1] = { name = name, root = root, process = process.spawn { interpreter, "soak/abuse/main.lua", zk.hosts,
    root, tostring(seconds), tostring(seed + i), env = { LUA_CPATH = ("%s/%s/?.so;;"):format(build, name) } } }
end

local function last_line(one)
  local said = one.process:stdout()
  return said:match("not well:[^\n]*") or said:match("([^\n]*)\n?$")
end

local function are_running()
  for _, one in ipairs(all) do
    if one.process:is_running() then return true end
  end
  return false
end

local function await_moment(moment)
  wait.eventually(function() return wait.now() >= moment or not are_running() end, PROGRESS + PATIENCE)
end

local function show()
  for _, one in ipairs(all) do say("%-7s %s", one.name, last_line(one)) end
end

--- Its failure, in a sentence; nil: none.
local function verdict(one)
  local said = one.process:stdout() .. one.process:stderr()
  if one.process:is_running() then return "it did not end: " .. said end
  local last = last_line(one)
  if not last:find("^well: ") then return said end
  local ok = pcall(wait.eventually, function() return places.count(tree, one.root) == 0 end, PATIENCE)
  if not ok then return ("%d nodes are left on the server"):format(places.count(tree, one.root)) end
  return nil
end

local deadline = wait.now() + seconds + PATIENCE
say("seed %d", seed)
while are_running() and wait.now() < deadline do
  await_moment(math.min(deadline, wait.now() + PROGRESS))
  if are_running() then show() end
end
for _, one in ipairs(all) do
  local wrong = verdict(one)
  checks.check(not wrong, "%-7s %s", one.name, wrong)
  if not wrong then say("%-7s %s", one.name, last_line(one)) end
  one.process:kill()
end
tree:close()
zk:stop()
checks.finish()
