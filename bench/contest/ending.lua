-- SPDX-License-Identifier: MIT
--- ending: what the end of one client does to its server. Each peer takes many locks with long paths and is killed;
--- its session ends; the server is started again. docs/internals/contest.md has the figures.
--
-- usage: lua5.4 bench/contest/ending.lua [LOCKS]       after `make build neighbour_programs LUAS=5.4`

local inspector = require "spec.support.inspector"
local loop = require "spec.support.loop"
local neighbour = require "spec.support.neighbour"
local server = require "spec.support.server"

local LOCKS = tonumber(arg[1]) or 5000
local SESSION = 4 -- seconds
local BELOW = "/ending/" .. ("a"):rep(240) .. "/" .. ("b"):rep(240) .. "/" .. ("c"):rep(180)

--- Takes locks until one is refused. The programs answer `acquire` with a token, or raise.
---@return integer taken
---@return string? refusal
local function take(peer)
  for i = 1, LOCKS do
    peer:begin("acquire", ("%s%05d"):format(BELOW, i), 30)
    local token, err = peer:finish()
    if not token then return i - 1, err end
  end
  return LOCKS
end

--- The line of the server's log that says why it ended.
local function reason(zk)
  return zk:log():match("[^\n]*Unreasonable length[^\n]*") or zk:log():match("[^\n]*Exception[^\n]*") or "?"
end

local function play(kind)
  local zk = server.start()
  local tree = inspector.connect(zk.hosts)
  local peer = neighbour.crew(zk.hosts, SESSION, kind)
  local taken, refusal = take(peer)
  peer:kill()
  local function left() return zk:mntr().ephemerals_count end
  local bytes = taken * (#BELOW + 5 + 56)
  assert(loop.poll(function() return left() == 0 end, 20, 0.1), "its nodes are still there: " .. tostring(left()))
  tree:close()
  zk:kill()
  zk:launch()
  local serves = pcall(zk.await, zk)
  print(("%-8s %5d locks, about %d bytes of paths%s: the server %s"):format(kind, taken, bytes,
    refusal and (", then '%s'"):format(refusal) or "",
    serves and "starts again" or "never starts again: " .. reason(zk)))
  zk:stop()
end

for _, kind in ipairs { "curator", "kazoo", "lua" } do play(kind) end
