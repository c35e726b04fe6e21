-- SPDX-License-Identifier: MIT
--- Many different locks of one client, each asked for again and again: acquisitions a second, what they cost the
--- servers, and how long they wait, beside other libraries, with one and three servers. Prints; asserts nothing.
--
--   many.lua [ROUNDS [FOLDER...]]   FOLDER has another build of zklock, as build/5.4 has this one: it takes part
--
-- The contest's programs and servers do it (bench/contest); peers take turns, forth and back.

local cost = require "bench.contest.cost"
local peers = require "bench.contest.peers"
local servers = require "bench.contest.servers"
local text = require "bench.contest.text"

local ROUNDS = tonumber(arg and arg[1]) or 2

local function contestants()
  local list = {}
  for _, peer in ipairs(peers.list) do
    if peer.lots then list[#list + 1] = peer end
  end
  for i, folder in ipairs { table.unpack(arg or {}, 2) } do
    local other = setmetatable({ id = "zklock-" .. i, cpath = folder .. "/?.so;;" }, { __index = peers.get "zklock" })
    other.title = "zklock of " .. folder
    list[#list + 1] = other
  end
  return list
end

local function middle_of(rounds, name)
  local list = {}
  for _, one in ipairs(rounds) do list[#list + 1] = one[name] end
  return (cost.middle(list))
end

local function row_of(peer, rounds, ours)
  local function number(name, scale)
    local value = middle_of(rounds, name)
    return value and ("%.4g"):format(value / (scale or 1)) or ""
  end
  return { peer.title, number "rate", number("rate", ours), number "requests", number "transactions", number "server",
    number "client", number("p50", 1000), number("p99", 1000) }
end

local HEADER = { "", "a second", "of Curator's", "requests", "transactions", "servers, us", "client, us", "p50, ms",
  "p99, ms" }

local function measure_all(list, case)
  local backends, results = {}, {}
  for round = 1, ROUNDS do
    for i = 1, #list do
      local peer = list[round % 2 == 1 and i or #list + 1 - i]
      backends[peer.family] = backends[peer.family] or servers.start(peer.family, { three = case.three })
      results[peer] = results[peer] or {}
      local ok, result = pcall(cost.many, peer, backends[peer.family], case.locks, case.ms)
      if ok then table.insert(results[peer], result) else print(("%s: %s"):format(peer.title, result)) end
    end
  end
  for _, one in pairs(backends) do one:stop() end
  local rows, base = {}, middle_of(results[list[1]], "rate")
  for i, peer in ipairs(list) do rows[i] = row_of(peer, results[peer], base) end
  print(("\n%s:\n"):format(case.name))
  print(text.plain(HEADER, rows))
end

local list = contestants()
for _, case in ipairs(cost.LOTS) do measure_all(list, case) end
