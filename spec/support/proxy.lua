-- SPDX-License-Identifier: MIT
--- A fault proxy between a client and its servers, driven by verbs.
--
-- It runs as a process of its own, so that faults happen while the spec waits in a call. Every verb is acknowledged
-- before it returns: what comes next sees its effect. Ops are named as in ZooKeeper's protocol ("create2",
-- "getChildren", "delete"); "*" is any request of the client but pings and the connect handshake ("connect"); "event"
-- is what a server tells a watcher: it can be cut before, cut after and held before, on its way to the client.
-- Counting starts anew with each rule: `cut_before("delete", 2)` means the second delete from now on. A rule works
-- once; several can wait at a time.

local codec = require "spec.support.codec"
local loop = require "spec.support.loop"
local process = require "spec.support.process"
local session = require "spec.support.session"

local proxy = {}
proxy.__index = proxy

local function call(self, verb, ...)
  self.process:write(codec.encode(verb, ...))
  return self:answer(loop.PATIENCE)
end

--- The proxy's next answer; raises when it reports an error or nothing.
function proxy:answer(timeout)
  local line, err = self.process:read_line(timeout)
  if not line then error(("the proxy does not answer (%s): %s"):format(err, self.process:stderr()), 4) end
  local ok, result = codec.decode(line)
  if not ok then error("the proxy: " .. tostring(result), 4) end
  return result
end

--- KEEPER=yes puts ClickHouse Keeper's habits between the clients of all specs and their servers.
proxy.NATURE = os.getenv "KEEPER" and "keeper" or "zookeeper"

local on_keeper = proxy.NATURE == "keeper"
--- The request that makes a lock's node; and the one in a directory that the client knows to be empty.
proxy.CREATE, proxy.TAKE = on_keeper and "create" or "create2", on_keeper and "create" or "multi"
--- The request that deletes the nodes of several locks.
proxy.DROP = on_keeper and "delete" or "multi"

--- Starts a proxy in front of `hosts`. Clients connect to its `.hosts`.
---@param hosts string "127.0.0.1:PORT[,...]": with several, each new link goes to the next that answers
---@param options { raw: boolean?, doors: integer? }? raw: do not look into the bytes (for the servers' links among
---  themselves); doors: ports to listen on, 1. libzookeeper makes a pause when it has been at every host of its list:
---  with more doors it comes back at once
---@return table proxy
function proxy.start(hosts, options)
  local self = setmetatable({ upstream = hosts }, proxy)
  self.process = process.spawn { "lua5.4", "spec/support/proxy_main.lua", hosts,
    options and options.raw and "raw" or "frames", options and options.doors or 1, proxy.NATURE,
    env = process.PLAIN_LUA }
  local ports = self:answer(loop.PATIENCE)
  self.port = ports[1]
  self.hosts = "127.0.0.1:" .. table.concat(ports, ",127.0.0.1:")
  self.pid = self.process.pid
  return self
end

--- Delays every byte by so many seconds, each way.
function proxy:delay(seconds) call(self, "delay", seconds) end

--- Closes the link instead of forwarding the n-th such request. Everything before it is forwarded.
---@param op string
---@param n integer? 1
function proxy:cut_before(op, n) call(self, "rule", "cut_before", op, n or 1) end

--- Forwards the n-th such request, then closes the link at once: the reply finds nobody.
function proxy:cut_after(op, n) call(self, "rule", "cut_after", op, n or 1) end

--- Forwards the n-th such request, waits for its reply (the server has done it), drops that, and closes the link.
function proxy:lose_reply(op, n) call(self, "rule", "lose_reply", op, n or 1) end

--- Forwards the n-th such request, waits for its reply (the server has done it), and gives the client that reply's head
--- with this body in the place of the server's.
---@param op string
---@param body string|table a table: { pattern, replacement }, for a body that is known only then
---@param n integer? 1
function proxy:forge_reply(op, body, n) call(self, "rule", "forge_reply", op, n or 1, body) end

--- Holds up the n-th such request and everything after it, both ways, until `heal`: a black hole that begins there.
function proxy:hold_before(op, n) call(self, "rule", "hold_before", op, n or 1) end

--- Forwards the n-th such request, holds up its reply and everything after it to the client until `heal`.
function proxy:hold_reply(op, n) call(self, "rule", "hold_reply", op, n or 1) end

--- Is anything held up now? A reply is only when the server has sent it.
---@return boolean
function proxy:is_holding() return call(self, "is_holding") end

--- A silent partition: nothing comes through, links stay open, new ones are accepted and get no answer. As with
--- TCP, what was sent meanwhile arrives after `heal`, if it is not cut before.
---@param direction "both"|"to_server"|"to_client"|nil both
function proxy:black_hole(direction) call(self, "black_hole", direction or "both") end

local NONSENSE = "\0\0\0\48" .. ("\170\85nonsense"):rep(5):sub(1, 48)

--- Sends every client nonsense.
---@param bytes string? default: a frame of 48 bytes that answers no request
function proxy:garbage(bytes) call(self, "garbage", bytes or NONSENSE) end

--- Closes all links now: a client that is sending meets a reset, another one the end. New ones are accepted.
---@return integer count of links that were there
function proxy:cut() return call(self, "cut") end

--- Ends all links for the clients without a reset, as a server does that ends. New ones are accepted.
---@return integer count of links that were there
function proxy:hang_up() return call(self, "hang_up") end

--- Resets all links on the clients' side only: the servers' side stays open, and silent, until `heal`. New ones are
--- accepted.
---@return integer count of links that were there
function proxy:desert() return call(self, "desert") end

--- Until `heal` the server does not know that operation, as an older one does not: it gets the number of one that no
--- server has, answers UNIMPLEMENTED, and closes the link.
---@param op string
function proxy:forget_how(op) call(self, "forget_how", op) end

--- From now on the servers are of another kind (docs/compatibility.md). "keeper": as a ClickHouse Keeper before 26.1,
--- they give every client that comes back a new session without saying so, with a password of zeros, and cut the link
--- at operations that they do not know. "stranger": the same, but they show passwords, and know all operations but
--- `setWatches`. "zookeeper": as they are.
---@param nature "zookeeper"|"keeper"|"stranger"
---@param habits table<string, "refuse"|"cut"|false>? by op; "refuse": they answer BADARGUMENTS
function proxy:become(nature, habits) call(self, "become", nature, habits or {}) end

--- Refuses new links until `heal`; those there are stay.
function proxy:refuse() call(self, "refuse") end

--- Ends every fault: rules that did not strike yet, black hole, delay, refusal, links that were deserted.
---@param direction "to_server"|"to_client"|nil only the black hole, and only that way
function proxy:heal(direction) call(self, "heal", direction) end

--- How many rules have not struck yet.
---@return integer
function proxy:pending() return call(self, "pending") end

--- Forgets what was counted and logged.
function proxy:reset() call(self, "reset") end

--- Requests seen since `reset`, by op; `total` is all but pings and connects. An op that was not seen is 0.
---@return table<string, integer>
function proxy:counts()
  return setmetatable(call(self, "counts"), { __index = function() return 0 end })
end

--- How often each rule struck since the proxy began: { cut_before = 2 }. A rule that did not is absent.
---@return table<string, integer>
function proxy:strikes() return call(self, "strikes") end

--- Requests seen since `reset`, in order: { op =, path =, link =, xid =, at = seconds, round = }. The round says how
--- many round trips, one after another, must have gone before: requests sent together share theirs. Rounds start
--- at 1 on each link.
function proxy:log() return call(self, "log") end

--- The number of round trips, one after another, since `reset`.
---@return integer
function proxy:rounds()
  local most = 0
  for _, entry in ipairs(self:log()) do most = math.max(most, entry.round or 0) end
  return most
end

--- Sessions that servers granted through this proxy: { id = hex, passwd =, timeout = seconds }, the latest last.
function proxy:sessions() return call(self, "sessions") end

--- How many links are open.
function proxy:links() return call(self, "links") end

--- Waits until n requests of the op ("*": any) were seen since `reset`.
---@return true ; raises when the time is over
function proxy:await(op, n, timeout)
  timeout = timeout or loop.PATIENCE
  self.process:write(codec.encode("await", op, n or 1, timeout))
  if not self:answer(timeout + loop.PATIENCE) then
    error(("only %d %s in %g s, not %d"):format(self:counts()[op == "*" and "total" or op], op, timeout, n or 1), 2)
  end
  return true
end

--- Makes the servers end a session that was granted through this proxy.
---@param id string? hexadecimal, as `client:session_id()` gives it; nil: the latest
function proxy:expire_session(id)
  local list = self:sessions()
  for i = #list, 1, -1 do
    if not id or session.same(list[i].id, id) then
      -- Its owner comes back at once. He would take the session over again, or be in the middle of that when it ends,
      -- then the server forgets to tell him.
      call(self, "keep_out")
      local ok, err = pcall(session.expire, self.upstream, list[i])
      call(self, "let_in")
      return ok or error(err, 2)
    end
  end
  error("no such session was granted through this proxy: " .. tostring(id), 2)
end

local before = {}

--- Where clients without faults reach these servers: there, or, if all specs have ClickHouse Keeper's habits, behind
--- those.
---@param hosts string
---@return string hosts
function proxy.hosts_of(hosts)
  if proxy.NATURE == "zookeeper" then return hosts end
  before[hosts] = before[hosts] or proxy.start(hosts) -- it ends with this process
  return before[hosts].hosts
end

--- Ends the proxy and with it all links.
function proxy:close() self.process:kill() end

return proxy
