-- SPDX-License-Identifier: MIT
--- Processes in other languages that take the same locks, driven like `spec.support.worker`'s.
--
--   curator   Java: Apache Curator's recipes            golang   Go: zk.NewLock
--   kazoo     Python: Lock with extra_lock_patterns={"-lock-"}, which makes it see us
--   kazoo-plain   Python: Lock as it comes               lua      a worker: zklock
--
-- A request is a line of words, `VERB WORD... NAME=VALUE...`, "-" for nil; an answer is one as a worker gives it. The
-- verbs are those of workers; not every library has all of them. Beside a mutex, which is named by its path,
-- Curator has "read:PATH", "write:PATH" and "semaphore/PERMITS:PATH" (whose leases go out with `acquire` and come
-- back, the oldest first, with `release`). Tokens are the creation zxid of the lock's node, as ours are. The options of
-- `connect` are `session_timeout` and `digest`, a "user:password".

local uv = require "luv"
local kept = require "spec.support.kept" "neighbours"
local process = require "spec.support.process"
local worker = require "spec.support.worker"

local neighbour = setmetatable({}, { __index = worker })
neighbour.__index = neighbour

local unpack = unpack or table.unpack -- luacheck: ignore 113 143

local REGULAR = 10 -- seconds: the session timeout of those who live long

local BUILT = uv.cwd() .. "/build/neighbour" -- by `make neighbours`

local function jars(...)
  local list = {}
  for i, name in ipairs { ... } do list[i] = ("/usr/share/java/%s.jar"):format(name) end
  return table.concat(list, ":")
end

local COMMANDS = {
  curator = { "java", "-Xmx96m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", BUILT .. ":" .. jars("curator-recipes",
      "curator-framework", "curator-client", "zookeeper", "guava", "slf4j-simple"), "Curator" },
  golang = { BUILT .. "/golang" },
  kazoo = { "/usr/bin/python3", "spec/support/neighbour/kazoo_lock.py", "-lock-" },
  ["kazoo-plain"] = { "/usr/bin/python3", "spec/support/neighbour/kazoo_lock.py" },
}

--- Starts one and returns at once; the first `finish` waits until it is there.
---@param kind string
---@return table neighbour with the methods of a worker
function neighbour.spawn(kind)
  local command = { env = process.PLAIN }
  for i, word in ipairs(COMMANDS[kind]) do command[i] = word end
  local self = setmetatable({ kind = kind }, neighbour)
  self.process = process.spawn(command)
  self.pid = self.process.pid
  return self
end

--- Starts one for each kind, all connected.
---@param hosts string
---@param session_timeout number seconds
---@param ... string kinds, "lua" too
---@return table ... one each
function neighbour.crew(hosts, session_timeout, ...)
  local crew, options = {}, { session_timeout = session_timeout }
  for i, kind in ipairs { ... } do crew[i] = kind ~= "lua" and neighbour.spawn(kind) end
  for i = 1, select("#", ...) do
    if crew[i] then crew[i]:finish() else crew[i] = worker.start() end
    crew[i]:begin("connect", hosts, options)
  end
  for _, one in ipairs(crew) do assert(one:finish()) end
  return unpack(crew)
end

--- The same, but the processes are those that an earlier spec had, as far as they are alive and have answered: to
--- start a Java program takes a second.
---@return table ... one each; two of a kind are two processes
function neighbour.regulars(hosts, ...)
  local crew, fresh, wanted, numbers = {}, {}, {}, {}
  for i, kind in ipairs { ... } do
    numbers[kind] = (numbers[kind] or 0) + 1
    wanted[i] = kind .. "-" .. numbers[kind]
    local known = kept[wanted[i]]
    if not known or known.pending or not known.process:is_running() then
      if known then known:kill() end
      fresh[#fresh + 1], kept[wanted[i]] = kind, nil
    end
  end
  local started = { neighbour.crew(hosts, REGULAR, unpack(fresh)) }
  for i, name in ipairs(wanted) do
    kept[name] = kept[name] or table.remove(started, 1)
    crew[i] = kept[name]
  end
  return unpack(crew)
end

local function word(value)
  local text = type(value) == "number" and ("%.17g"):format(value) or value == nil and "-" or tostring(value)
  assert(text:match("^[^%s]+$"), "a word without blanks expected")
  return text
end

--- As `worker:begin`; a table goes over as NAME=VALUE words.
function neighbour:begin(verb, ...)
  assert(not self.pending, "the neighbour has not answered yet")
  self.pending = verb
  local words = { verb }
  for i = 1, select("#", ...) do
    local value = select(i, ...)
    if type(value) == "table" then
      for name, one in pairs(value) do words[#words + 1] = name .. "=" .. word(one) end
    else
      words[#words + 1] = word(value)
    end
  end
  self.process:write(table.concat(words, " "))
end

return neighbour
