-- SPDX-License-Identifier: MIT
--- The operator's process: takes locks away behind everybody's back, and says so at the resources beforehand; and plays
--- the strangers.
--
-- It is a process of its own because it has to wait for servers that are down. Each line on its stdin is an encoded
-- list: a verb and its arguments; each gets one line back: how many nodes or sessions it has ended. Its arguments are
-- the servers' hosts, then a path and the address of its resource, and so on. It ends with its stdin.

local codec = require "spec.support.codec"
local history = require "chaos.history"
local inspector = require "spec.support.inspector"
local nodes = require "chaos.nodes"
local resource = require "spec.support.resource"
local session = require "spec.support.session"

local hosts = arg[1]
local told = history.open() -- nowhere, until `verbs.tell` says where
local paths, writers = {}, {} -- a writer by path
for i = 2, #arg, 2 do
  paths[#paths + 1] = arg[i]
  writers[arg[i]] = resource.open(arg[i + 1])
end

--- Does something until it does not fail: without servers there is nothing to do but wait.
local function insist(fn, ...)
  while true do
    local ok, result = pcall(fn, ...)
    if ok and result ~= nil then return result end
  end
end

local tree = insist(inspector.connect, hosts)
local verbs = {}

--- Writes down what it takes away, in that folder.
function verbs.tell(folder)
  told = history.open(folder, "operator")
  return 0
end

--- A node's maker is told of by its data: our workers give their names as identifiers. Whoever loses one of several
--- nodes loses the whole: a multilock has the same token at all its paths, and a lease that counts for several has
--- that of the first of its nodes.
local function void(node, who, token)
  for _, writer in pairs(writers) do writer:void(token, who) end
  told:taken(who, history.now(), "token", token)
  if not node.directory:find("/leases$") then return end
  for _, name in ipairs(tree:children(node.directory) or {}) do
    local maker, stat = tree:get(node.directory .. "/" .. name)
    if maker == who then
      told:taken(who, history.now(), "token", stat.czxid)
      for _, writer in pairs(writers) do writer:void(stat.czxid, who) end
    end
  end
end

local function delete_node(node)
  local who, stat = tree:get(node.path)
  if not who or who == "" then return 0 end
  void(node, who, stat.czxid)
  return tree:delete(node.path) and 1 or 0
end

--- One node below the path, or below the next one that has any; `pick` in [0, 1) says which.
function verbs.delete(path, pick)
  local first = 1
  while paths[first] ~= path do first = first + 1 end
  for i = 0, #paths - 1 do
    local list = nodes.list(tree, paths[(first + i - 1) % #paths + 1]) or {}
    if #list > 0 then return delete_node(list[1 + math.floor(pick * #list)]) end
  end
  return 0
end

--- All nodes below the path, and the path.
function verbs.delete_tree(path)
  local count = 0
  for _ = 1, 3 do -- somebody may come while we delete
    for _, node in ipairs(nodes.list(tree, path) or {}) do count = count + delete_node(node) end
    for _, directory in ipairs(nodes.directories(path)) do count = count + (tree:delete(directory) and 1 or 0) end
    if not tree:exists(path) then break end
  end
  return count
end

--- The latest zxid that there is: that of a write that fails, to which a quorum has agreed. A deposed leader answers a
--- sync, too, with a zxid of its own past.
local function latest()
  local _, err = tree:delete("/chaos-operator/nothing")
  return err == "NONODE" and tree.zxid or nil
end

--- Ends a worker's session: until it is known how far that reaches, nothing counts of which the worker is sure.
function verbs.expire(worker, victim)
  local began = history.now()
  for _, writer in pairs(writers) do writer:ending(worker) end
  local ok = pcall(session.expire, hosts, victim)
  local upto = insist(latest)
  for _, writer in pairs(writers) do writer:ended(upto, worker) end
  told:taken(worker, began, "upto", upto)
  return ok and 1 or 0
end

---------------------------------------------------------------------------------------------------------------
-- Strangers. They have credentials: what they make unreadable is so for everybody else.

assert(tree:add_auth("digest", "stranger:secret"))

--- Leaves a node, if there is a directory. One that is there may be what a lost answer told of.
---@return integer count
---@return string path
function verbs.appear(path, unreadable)
  return insist(function()
    local made, err = tree:create(path, "", { acl = unreadable and "creator" or "open" })
    if made or err == "NODEEXISTS" then return 1 end
    return err == "NONODE" and 0 or nil
  end), path
end

--- Leaves a node with the name of one that is there, but for the sequence: that client may take it for its own.
function verbs.mimic(directory, sequence)
  local names = insist(function()
    local list, err = tree:children(directory)
    return list or (err == "NONODE" and {} or nil)
  end)
  for _, name in ipairs(names) do
    local whose = name:match("^(_c_.*%D)%d+$")
    if whose then return verbs.appear(("%s/%s%s"):format(directory, whose, sequence)) end
  end
  return 0, directory
end

function verbs.vanish(path)
  return insist(function()
    local gone, err = tree:delete(path)
    return (gone or err == "NONODE") and 1 or nil
  end)
end

io.stdout:write("ready\n")
io.stdout:flush()
for line in io.stdin:lines() do
  local order = { codec.decode(line) }
  io.stdout:write(codec.encode(verbs[order[1]](order[2], order[3])), "\n")
  io.stdout:flush()
end
