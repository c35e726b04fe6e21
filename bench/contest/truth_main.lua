-- SPDX-License-Identifier: MIT
--- One peer's flash sales, each so many times, in a process of its own: `truth_main.lua PEER TIMES`. Prints a line for
--- each, as codec has it.

local codec = require "spec.support.codec"
local conditions = require "bench.contest.conditions"
local peers = require "bench.contest.peers"
local truth = require "bench.contest.truth"

local peer, times = peers.get(arg[1]), tonumber(arg[2])

local function tell(id, result)
  print(codec.encode(id, result))
  io.flush()
end

--- A result, or what went wrong.
local function try(fn, ...)
  local ok, result = pcall(fn, ...)
  return ok and result or { failed = tostring(result):gsub("\n.*", "") }
end

for _ = 1, times do
  tell("calm", try(truth.play_calm, peer))
  for _, scenario in ipairs(truth.scenarios) do
    local fits = not scenario.only or scenario.only(peer)
    if peer.family == "folder" then fits = scenario.id == "killed" or scenario.id == "stopped" end
    if fits then tell(scenario.id, try(truth.play, peer, scenario)) end
  end
end
tell("conditions", try(conditions.try, peer))
