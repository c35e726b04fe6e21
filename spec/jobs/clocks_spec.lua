-- SPDX-License-Identifier: MIT
--- Ten machines with a quick job that has `every`: how often it starts while the servers' leaders change, with right
--- clocks and with one that is an hour ahead.

local ensemble = require "spec.support.ensemble"
local script = require "spec.support.script"
local socket = require "socket"
local wait = require "spec.support.wait"

local MACHINES = 10
local EVERY = 5 -- seconds
local HOUR = 3600
local WRONG = 3 -- the server whose clock is wrong. It becomes the leader whenever it can: its number is the largest
--- The error of libfaketime, at most.
local NEARLY = 0.1
local PATIENCE = wait.PATIENCE

--- A line for each start: its token, the moment, and when the mark was written, by the leader's clock and by ours.
local MACHINE = [[
  local socket = require "socket"
  local zklock = require "zklock"
  local hosts, path, every = arg[1], arg[2], tonumber(arg[3])
  local client = assert(zklock.connect(hosts, { connect_timeout = 60 }))
  io.stdout:setvbuf "no"
  client:job(path, function(token)
    local at = socket.gettime()
    client:sync(10)
    local data, stat = client:get(path .. "/once-2147483647", 10)
    io.stdout:write(("%d %.3f %.3f\n"):format(token, at, data == ("%d"):format(token) and stat.modified or 0))
  end, { every = every })
  client:sleep(math.huge)
]]

describe("ten machines with a job every 5 seconds #long", function()
  local cluster, machines
  local played = 0

  local function start(clocks)
    played = played + 1
    cluster = ensemble.start { clocks = clocks }
    for n = 1, MACHINES do
      machines[n] = script.spawn(MACHINE, { cluster.hosts, "/every/" .. played, ("%d"):format(EVERY) })
    end
  end

  before_each(function() machines = {} end)

  after_each(function()
    for _, one in ipairs(machines) do one:kill() end
    if cluster then cluster:close() end
    cluster = nil
  end)

  --- All starts so far, in order. The leader's clock is ours, or an hour ahead of it: so is the time of a mark.
  ---@return { token: integer, at: number, marked: number? }[] in seconds; without `marked`: the mark could not be read
  local function starts()
    local list = {}
    for n, one in ipairs(machines) do
      assert(one:is_running(), ("machine %d has ended: %s"):format(n, one:stderr()))
      for token, at, marked in one:stdout():gmatch "(%d+) (%S+) (%S+)\n" do
        at, marked = tonumber(at), tonumber(marked)
        if marked > at + HOUR / 2 then marked = marked - HOUR end
        list[#list + 1] = { token = tonumber(token), at = at, marked = marked > 0 and marked or nil }
      end
    end
    table.sort(list, function(a, b) return a.token < b.token end)
    return list
  end

  --- Calls fn with each start after the first, and the seconds since the former one, if that is known to the
  --- millisecond.
  local function each_gap(list, fn)
    local compared = 0
    for i = 2, #list do
      local former, start_ = list[i - 1], list[i]
      if former.marked and start_.marked then
        compared = compared + 1
        fn(start_, start_.marked - former.marked, ("start %d of %d came %.3f s after the former one"):format(i, #list,
          start_.marked - former.marked))
      end
    end
    assert.is_true(compared >= #list / 2, compared)
  end

  --- Waits for so many starts more.
  local function await_starts(more)
    local before = #starts()
    wait.eventually(function() return #starts() >= before + more end, PATIENCE, ("%d starts"):format(more))
  end

  --- Another server leads; that one is started again.
  local function change_leader()
    local former = cluster:kill_leader()
    cluster:leader()
    cluster:start(former)
  end

  it("start it once in 5 seconds, also over changes among leaders with right clocks", function()
    start()
    await_starts(2)
    for _ = 1, 3 do
      change_leader()
      await_starts(2)
    end
    each_gap(starts(), function(_, gap, text) assert(gap >= EVERY, text) end) -- all have the clock of this machine
  end)

  it("start it early once, or 5 seconds late, when a leader with a wrong clock comes or goes", function()
    start { [WRONG] = HOUR }
    await_starts(2)
    local changes, was_wrong = {}, cluster:leader() == WRONG
    for _ = 1, 4 do
      local at = socket.gettime()
      change_leader()
      local is_wrong = cluster:leader() == WRONG
      if is_wrong ~= was_wrong then changes[#changes + 1] = { at = at, early = 0 } end
      was_wrong = is_wrong
      await_starts(2)
    end
    assert.is_true(#changes >= 3, #changes) -- to it, from it, to it
    each_gap(starts(), function(one, gap, text)
      local latest
      for _, change in ipairs(changes) do
        if change.at < one.at then latest = change end
      end
      if gap < EVERY - NEARLY then
        assert(latest, text .. ", and no leader had changed")
        latest.early = latest.early + 1
      end
      assert(gap < HOUR / 2, text) -- the delay, an election, a busy machine: not an hour
    end)
    for i, change in ipairs(changes) do
      assert.is_true(change.early <= 1, ("%d early starts after change %d"):format(change.early, i))
    end
  end)
end)
