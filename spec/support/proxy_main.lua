-- SPDX-License-Identifier: MIT
--- The fault proxy's process: listens, links clients to servers, and does what the lines on its stdin say.
--
-- Started by `spec.support.proxy` with the servers' hosts, "frames" or "raw", how many ports to listen on, and the
-- servers' nature. Each
-- line is an encoded list: a verb and its arguments; each gets one line back: true and results, or false and what went
-- wrong. It ends with its stdin.

local uv = require "luv"
local codec = require "spec.support.codec"
local link = require "spec.support.proxy_link"
local port = require "spec.support.port"
local wire = require "spec.support.wire"

local HOLES = { both = true, to_server = true, to_client = true }

--- How servers of some kind are.
local NATURES = {
  zookeeper = {},
  stranger = { forgets_sessions = true, setWatches = "cut" },
  keeper = { forgets_sessions = true, hides_passwords = true, setWatches = "cut", create2 = "cut",
    createContainer = "cut", removeWatches = "cut" },
}

local proxy = { links = {}, deserted = {}, unknown = {}, delay = 0, accepted = 0, targets = {}, doors = {},
  raw = arg[2] == "raw", nature = NATURES[arg[4]] }
local verbs = {}

for host, number in arg[1]:gmatch("([%w%.%-]+):(%d+)") do
  proxy.targets[#proxy.targets + 1] = { host = host, port = tonumber(number) }
end

local function reply(...) io.stdout:write(codec.encode(...), "\n") io.stdout:flush() end

---------------------------------------------------------------------------------------------------------------
-- The questions and reports of links

local counts, log, rules, strikes, sessions, awaited = { total = 0 }, {}, {}, {}, {}, nil
local started = uv.hrtime()

local NO_REQUESTS = { ping = true, connect = true, event = true }

local function is_request(op) return not NO_REQUESTS[op] end

local function answer_await(in_time)
  local await = awaited
  awaited = nil
  await.timer:close()
  reply(true, in_time)
end

--- Every rule counts every request; of two that are due at the same, the younger strikes at the next. Its action, and
--- the bytes that go with it.
local function next_action(op)
  local due
  for i, rule in ipairs(rules) do
    if rule.op == op or rule.op == "*" and is_request(op) then
      rule.left = rule.left - 1
      if rule.left <= 0 then due = due or i end
    end
  end
  if not due then return nil end
  local rule = table.remove(rules, due)
  strikes[rule.action] = (strikes[rule.action] or 0) + 1
  return rule.action, rule.bytes
end

--- A request or an event arrived. Counts it and says what is to happen to it: an action's name, or nil for nothing
--- special.
function proxy:saw(entry) -- luacheck: ignore self
  local op = entry.op
  counts[op] = (counts[op] or 0) + 1
  if is_request(op) then counts.total = counts.total + 1 end
  if op ~= "ping" then
    log[#log + 1] = { op = op, path = entry.path, link = entry.link, round = entry.round, xid = entry.xid,
      at = (uv.hrtime() - started) / 1e9 }
  end
  local action, bytes = next_action(op)
  entry.forged = bytes
  if awaited and (counts[awaited.op] or 0) >= awaited.n then answer_await(true) end
  return action
end

--- A server answered a connect request.
function proxy:saw_session(session) -- luacheck: ignore self
  if session.id == wire.NO_SESSION then return end
  for i, known in ipairs(sessions) do
    if known.id == session.id then table.remove(sessions, i) break end
  end
  sessions[#sessions + 1] = session
end

function proxy:holds(direction) return self.hole == "both" or self.hole == direction end

function proxy:black_hole(direction)
  if self.hole and self.hole ~= direction then direction = "both" end
  self.hole = direction
  for _, each in pairs(self.links) do each:apply_hole() end
end

function proxy:open(direction)
  assert(HOLES[direction], "no such direction")
  local other = direction == "to_client" and "to_server" or "to_client"
  self.hole = direction ~= "both" and self:holds(other) and other or nil
  for _, each in pairs(self.links) do each:apply_hole() end
end

function proxy:forget(one) self.links[one.number] = nil end

--- A link that only the server still has.
function proxy:remember(one) table.insert(self.deserted, one) end

---------------------------------------------------------------------------------------------------------------
-- Listening

local function let_in(client)
  proxy.accepted = proxy.accepted + 1
  proxy.links[proxy.accepted] = link.new(proxy, client, proxy.accepted)
end

local function accept(listener)
  local client = uv.new_tcp()
  if not listener:accept(client) then return client:close() end
  if proxy.doorstep then return table.insert(proxy.doorstep, client) end
  let_in(client)
end

local function listen_on(number)
  local listener = uv.new_tcp()
  local ok = listener:bind("127.0.0.1", number) and listener:listen(128, function() accept(listener) end)
  if not ok then
    listener:close()
    return nil
  end
  return listener
end

--- Opens another port for clients.
local function open_door()
  local number, listener
  repeat
    number = port.free()
    listener = listen_on(number)
  until listener
  proxy.doors[#proxy.doors + 1] = { port = number, listener = listener }
end

local function each_link(fn)
  local all = {}
  for _, one in pairs(proxy.links) do all[#all + 1] = one end
  for _, one in ipairs(all) do fn(one) end
  return #all
end

---------------------------------------------------------------------------------------------------------------
-- Verbs

function verbs.delay(seconds) proxy.delay = seconds end

function verbs.rule(action, op, n, bytes)
  table.insert(rules, { action = action, op = op, left = n, bytes = bytes })
end

function verbs.black_hole(direction)
  assert(HOLES[direction], "no such direction")
  proxy:black_hole(direction)
end

function verbs.garbage(bytes) each_link(function(one) one:inject(bytes) end) end

function verbs.cut() return each_link(link.cut) end

function verbs.hang_up() return each_link(link.hang_up) end

function verbs.desert() return each_link(link.desert) end

function verbs.forget_how(op)
  assert(wire.ops[op], "no such operation")
  proxy.unknown[op] = true
end

function verbs.become(nature, habits)
  proxy.nature = {}
  for _, source in ipairs { assert(NATURES[nature], "no such nature"), habits } do
    for name, value in pairs(source) do proxy.nature[name] = value end
  end
end

function verbs.refuse()
  for _, door in ipairs(proxy.doors) do
    if door.listener then door.listener:close() end
    door.listener = nil
  end
end

function verbs.heal(direction)
  if direction then return proxy:open(direction) end
  rules, proxy.delay, proxy.hole, proxy.unknown = {}, 0, nil, {}
  each_link(link.heal)
  for _, one in ipairs(proxy.deserted) do one:bury() end
  proxy.deserted = {}
  for _, door in ipairs(proxy.doors) do
    if not door.listener then door.listener = assert(listen_on(door.port), "the port is taken") end
  end
end

function verbs.keep_out() proxy.doorstep = proxy.doorstep or {} end

function verbs.let_in()
  local waiting = proxy.doorstep or {}
  proxy.doorstep = nil
  for _, client in ipairs(waiting) do let_in(client) end
end

function verbs.counts() return counts end
function verbs.log() return log end
function verbs.strikes() return strikes end
function verbs.pending() return #rules end
function verbs.is_holding() return proxy.hole ~= nil end
function verbs.sessions() return sessions end

function verbs.links() return each_link(function() end) end

function verbs.reset()
  counts, log, started = { total = 0 }, {}, uv.hrtime()
  each_link(link.reset)
end

--- Answers later: when the n-th request of the kind was seen, or when the time is over.
function verbs.await(op, n, timeout)
  awaited = { op = op == "*" and "total" or op, n = n, timer = uv.new_timer() }
  awaited.timer:start(math.ceil(timeout * 1000), 0, function() answer_await(false) end)
  if (counts[awaited.op] or 0) >= n then answer_await(true) end
end

local function perform(verb, ...)
  local results = { pcall(verbs[verb], ...) }
  if verb ~= "await" or not results[1] then reply(results[1], results[2]) end
end

---------------------------------------------------------------------------------------------------------------

local stdin, text = uv.new_pipe(false), ""
stdin:open(0)
stdin:read_start(function(_, chunk)
  if not chunk then os.exit(0) end
  text = text .. chunk
  for line in text:gmatch("([^\n]*)\n") do perform(codec.decode(line)) end
  text = text:match("[^\n]*$")
end)

for _ = 1, tonumber(arg[3]) do open_door() end
local ports = {}
for i, door in ipairs(proxy.doors) do ports[i] = door.port end
reply(true, ports)
uv.run()
