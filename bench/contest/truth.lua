-- SPDX-License-Identifier: MIT
--- The flash sale while something breaks: what the lock of a peer is worth then.
--
-- Eight buyers. The first one's second payment is held back by the bank, so it holds the lock; the others queue up
-- behind it; then something breaks, and once the next ones have sold a few items (or long enough has passed) the
-- holder goes on: it asks its lock whether it still holds, and writes unless that says no.

local loop = require "spec.support.loop"
local wait = require "spec.support.wait"
local crew = require "bench.contest.crew"
local servers = require "bench.contest.servers"
local shop = require "bench.contest.shop"

local truth = {}

--- Milliseconds: how long a silent client keeps its locks, with all peers.
truth.TTL = 3000

local BUYERS, STOCK, MORE = 8, 100, 3
local PATIENCE = 10 -- seconds for the next one to go on
local GRACE = 0.3 -- for waiters to be in line, who do not say when they are
local HOLDER = "1"

local function sleep(seconds) loop.poll(function() return false end, seconds) end

local function until_true(condition, timeout) return loop.poll(condition, timeout, 0.005) end

-- ---- what breaks: `strike` does it, `mend` ends it; `wait` is how long the holder is kept back if nobody goes on ----

local function no_more_than(seconds) return function() return seconds end end

truth.scenarios = {
  { id = "killed", title = "the holder is killed", gone = true,
    strike = function(play) play.holder.process:kill() end },
  { id = "stopped", title = "the holder is stopped past the expiry, and goes on",
    strike = function(play) play.holder.process:stop() end,
    mend = function(play) play.holder.process:continue() end },
  { id = "restarted", title = "the server is killed and started again", wait = no_more_than(1),
    strike = function(play)
      play.server:kill()
      play.server:restart()
    end },
  { id = "leader", title = "the leader of three servers is killed", options = { three = true }, wait = no_more_than(6),
    only = function(peer) return servers.WITH_LEADER[peer.family] end,
    strike = function(play) play.server:kill_leader() end },
  { id = "cut", title = "the holder's link is cut in the middle", late_mend = true,
    strike = function(play) play.line:black_hole("both") end,
    mend = function(play) play.line:heal() end },
  { id = "failover", title = "Redis fails over to a replica that had not heard of it", options = { replica = true },
    only = function(peer) return peer.family == "redis" end, wait = no_more_than(1.5),
    before = function(play) play.server:deafen_replica() end,
    strike = function(play) play.server:fail_over() end },
}

-- ---------------------------------------------------------------------------------------------------------------------

local function open(peer, server)
  local line = servers.behind_proxies(server.hosts)
  local workers = {}
  for i = 1, BUYERS do workers[i] = crew.start(peer) end
  for i = 1, BUYERS do
    assert(workers[i]:finish())
    workers[i]:begin("open", i == 1 and line.hosts or server.hosts, truth.TTL, 1, peer.way)
  end
  for i = 1, BUYERS do workers[i]:demand() end
  return workers, line
end

local function begin(play, from, to)
  for i = from, to do play.workers[i]:begin("sell", play.shop.address, play.lock, tostring(i)) end
end

--- A buyer's program that has crashed says nothing of its lock.
local function check_alive(play, but)
  for i, one in ipairs(play.workers) do
    if one ~= but and not one.process:is_running() then error(("buyer %d's program has ended"):format(i), 0) end
  end
end

--- Everybody stops; whoever cannot is ended.
local function finish(play)
  local stuck = 0
  play.shop:close_doors()
  for _, one in ipairs(play.workers) do
    if one.process:is_running() and not one:settle(8) then
      stuck = stuck + 1
      one:kill()
    end
  end
  play.shop:close()
  return stuck
end

local number = 0
local function new_play(workers, server, line, stock)
  number = number + 1
  return { workers = workers, server = server, line = line, holder = workers[1], shop = shop.open(stock),
    lock = ("sale-%d"):format(number) }
end

--- Nothing breaks. { sold =, oversold =, seconds = }
function truth.calm(workers, server, line)
  local play = new_play(workers, server, line, STOCK)
  local began = wait.now()
  begin(play, 1, BUYERS)
  until_true(function() return play.shop.stock <= 0 end, 30)
  local result = { sold = play.shop.sold, oversold = play.shop:oversold(), seconds = wait.now() - began }
  result.stuck = finish(play)
  return result
end

local function stage(play, scenario)
  if scenario.before then scenario.before(play) end
  play.shop:hold(HOLDER, 2)
  begin(play, 1, 1)
  assert(until_true(function() return play.shop.gated end, 20), "the holder does not come to hold it")
  begin(play, 2, BUYERS)
  assert(until_true(function() return play.shop:count_asked() == BUYERS end, 20), "not all ask for it")
  sleep(GRACE)
end

--- The holder goes on, and says what it knows.
local function go_on(play, scenario)
  if scenario.mend and not scenario.late_mend then scenario.mend(play) end
  if scenario.gone then return end
  play.shop:let_go()
  until_true(function() return play.shop.late end, 15)
  if scenario.late_mend then scenario.mend(play) end
  until_true(function() return play.shop.late and play.shop.late.released end, 3)
end

--- oversold: items; next: seconds until another one went on, nil if none did before the holder; afterwards: whether
--- one did then; early: whether one was beside the holder before anything broke; sure: what the holder's lock said
--- when it went on; verdict: on its write, whether or not it made it; released: what its release said; alive: others
--- went on selling; stuck: buyers that did not stop when the shop closed
local function perform(play, scenario)
  local market = play.shop
  stage(play, scenario)
  local before = market:sales_but(HOLDER)
  local struck = wait.now()
  local early = market:next_entry(HOLDER, 0) -- somebody was beside it before anything broke
  scenario.strike(play)
  local patience = scenario.wait and scenario.wait() or PATIENCE
  local next_at = until_true(function() return market:next_entry(HOLDER, struck) end, patience)
  if next_at then until_true(function() return market:sales_but(HOLDER) >= before + MORE end, 3) end
  local result = { next = next_at and next_at - struck, early = early ~= nil }
  go_on(play, scenario)
  if not next_at then
    local went_on = wait.now()
    next_at = until_true(function() return market:next_entry(HOLDER, went_on) end, PATIENCE)
    result.afterwards = next_at ~= nil and next_at ~= false
  end
  local then_sold = market:sales_but(HOLDER)
  until_true(function() return market:sales_but(HOLDER) >= then_sold + MORE end, 5)
  result.alive = market:sales_but(HOLDER) >= then_sold + MORE
  result.oversold = market:oversold()
  local late = market.late or {}
  result.sure, result.verdict, result.released = late.sure, late.verdict, late.released
  return result
end

--- One scenario, with servers and programs of its own.
function truth.play(peer, scenario)
  local server = servers.start(peer.family, scenario.options)
  local workers, line = open(peer, server)
  local play = new_play(workers, server, line, 1000000)
  local ok, result = pcall(function()
    local result = perform(play, scenario)
    check_alive(play, scenario.gone and play.holder)
    return result
  end)
  if ok then result.stuck = finish(play) end
  crew.close(workers)
  line:close()
  server:stop()
  return ok and result or { failed = tostring(result):gsub("\n.*", "") }
end

--- Nothing breaks, with servers and programs of its own.
function truth.play_calm(peer)
  local server = servers.start(peer.family)
  local workers, line = open(peer, server)
  local result = truth.calm(workers, server, line)
  crew.close(workers)
  line:close()
  server:stop()
  return result
end

return truth
