-- SPDX-License-Identifier: MIT
--- The contestants' programs, driven by lines over their pipes. Each line gets one back:
--
--   open SERVERS TTL COUNT WAY     opens so many clients, closing those before; a silent one keeps its locks for TTL ms
--   acquire NAME MS                by the first client; -1 waits for ever, 0 tries once: ok TOKEN US | late | no WHY
--   release NAME                   ok US, when it began | no WHY
--   held NAME                      yes | no | -, what its user can find out
--   both A B MS, both-release A B  two locks in one step: as acquire and release | no such verb
--   run LOCKS NAME MS ROUNDS HOLD FILE
--                                  takes and gives for so long or so often. LOCKS 0: each client contends for that
--                                  lock; else the first client has so many, at a time if it can: ok COUNT FAILURES
--                                  WAKEUPS. FILE has a line for each: CONTENDER ASKED GRANTED RELEASING RELEASED TOKEN
--   sell SHOP NAME BUYER           a buyer of the flash sale (shop.lua), until the shop closes: ok
--
-- US: microseconds of CLOCK_MONOTONIC, the same for all.

local uv = require "luv"
local folder = require "spec.support.folder"
local loop = require "spec.support.loop"
local process = require "spec.support.process"
local script = require "spec.support.script"

local crew = {}

local worker = {}
worker.__index = worker

local BUILT = uv.cwd() .. "/build/contest"
local PATIENCE = 120

local function jars(...)
  local list = { BUILT }
  for _, name in ipairs { ... } do list[#list + 1] = ("/usr/share/java/%s.jar"):format(name) end
  return table.concat(list, ":")
end

local COMMANDS = {
  curator = { "java", "-Xmx192m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=off", "-cp", jars("curator-recipes", "curator-framework",
      "curator-client", "zookeeper", "guava", "slf4j-simple"), "Contest" },
  kazoo = { "/usr/bin/python3", "-B", "bench/contest/worker/kazoo_worker.py" },
  zklock = { script.interpreter(), "bench/contest/worker/zklock_worker.lua" },
}

--- Starts a peer's program; returns at once.
---@param peer table of peers.lua
function crew.start(peer)
  local command = { env = peer.program == "zklock" and script.environment { LUA_CPATH = peer.cpath } or process.PLAIN }
  for i, word in ipairs(COMMANDS[peer.program] or { BUILT .. "/" .. peer.program }) do command[i] = word end
  local self = setmetatable({ peer = peer, process = process.spawn(command), pending = "start" }, worker)
  self.pid = self.process.pid
  return self
end

--- Starts several, all with so many clients open.
---@return table[] workers
function crew.open(peer, count, hosts, ttl, clients)
  local list = {}
  for i = 1, count do list[i] = crew.start(peer) end
  for i = 1, count do list[i]:finish() end
  for i = 1, count do list[i]:begin("open", hosts, ttl, clients or 1, peer.way) end
  for i = 1, count do list[i]:demand() end
  return list
end

--- Ends them; their clients are closed before, if they can be.
function crew.close(list)
  for _, one in ipairs(list) do
    if not one.pending and one.process:is_running() then one:begin "close" end
  end
  for _, one in ipairs(list) do
    if one.pending == "close" then one:finish(5) end
    one:kill()
  end
end

--- Sends a line and returns.
function worker:begin(...)
  assert(not self.pending, "the worker has not answered yet")
  self.pending = (...)
  local words = { ... }
  for i, word in ipairs(words) do words[i] = tostring(word) end
  self.process:write(table.concat(words, " "))
end

--- The answer to what `begin` sent: words, nil when there is none.
---@param timeout number? seconds
function worker:finish(timeout)
  local line, err = self.process:read_line(timeout or PATIENCE)
  if not line then return nil, err end
  self.pending = nil
  local words = {}
  for word in line:gmatch("%S+") do words[#words + 1] = tonumber(word) or word end
  words.line = line
  return words
end

--- The same; anything but "ok" is an error.
function worker:demand(timeout)
  local verb = self.pending
  local words, err = self:finish(timeout)
  if words and words[1] == "ok" then return words end
  error(("%s, %s: %s %s"):format(self.peer.id, verb, words and words.line or err, self.process:stderr():sub(-500)), 0)
end

--- Sends a line and waits for the answer.
function worker:ask(...)
  self:begin(...)
  return assert(self:finish())
end

function worker:has_answered() return self.process:stdout():find("\n", 1, true) ~= nil end

--- Waits at most so long for the end of what it is at.
function worker:settle(timeout)
  if self.pending then self:finish(timeout) end
  return not self.pending
end

function worker:kill() self.process:kill() end

--- Has them all run; gives all rounds, in the order of their grants, with contenders of different workers told apart.
---@param list table[] workers
---@return table[] rounds { contender =, asked =, granted =, releasing =, released =, token = }
---@return { failures: integer, wakeups: integer }
function crew.run(list, locks, name, ms, rounds, hold)
  local files, all, sums = {}, {}, { failures = 0, wakeups = 0 }
  for i, one in ipairs(list) do
    files[i] = folder.new("rounds") .. "/log"
    one:begin("run", locks, name, ms, rounds, hold, files[i])
  end
  for i, one in ipairs(list) do
    local words = one:demand(ms / 1000 + PATIENCE)
    sums.failures, sums.wakeups = sums.failures + words[3], sums.wakeups + words[4]
    for line in io.lines(files[i]) do
      local contender, asked, granted, releasing, released, token =
        line:match("^(%d+) (%d+) (%d+) (%d+) (%d+) (-?%d+)$")
      all[#all + 1] = { contender = i .. "." .. contender, asked = tonumber(asked), granted = tonumber(granted),
        releasing = tonumber(releasing), released = tonumber(released), token = tonumber(token) }
    end
    folder.remove(files[i]:match("^(.*)/log$"))
  end
  table.sort(all, function(a, b) return a.granted < b.granted end)
  return all, sums
end

--- How many of them were granted while another one held: of a lock that locks none.
function crew.overlaps(rounds)
  local count, out = 0, 0
  for _, one in ipairs(rounds) do
    if one.granted < out then count = count + 1 end
    out = math.max(out, one.releasing)
  end
  return count
end


crew.now = loop.now

return crew
