-- SPDX-License-Identifier: MIT
-- Holds the simulation's servers to the real ones: the same random operations of three sessions go to a ZooKeeper
-- server and to the model (spec/recorder), and what each was told must be the same, in order. A sixth as many go to
-- three servers, of which one is held back at times, and sessions move and are closed by somebody else.
-- usage: tools/recorder.lua BUILD COUNT [FIRST]

local ensemble = require "spec.support.ensemble"
local process = require "spec.support.process"
local server = require "spec.support.server"
local uv = require "luv"

local build, count, first = arg[1], tonumber(arg[2]), tonumber(arg[3] or 1)

local PATIENCE = 60 -- seconds for a line
-- Seconds for a line while the machine goes on. A library that hears nothing for 13 s gives its connection up.
local PAUSE = 3

--- A program's lines for each seed, and the longest time in seconds that it took for one of them. `heed` hears what it
--- wants of the servers meanwhile: "@hold".
local function record(program, hosts, from, to, heed)
  local path = ("%s/recorder/%s"):format(build, program)
  local one = process.spawn { path, hosts, tostring(from), tostring(to) }
  local seeds, lines, longest, began = {}, {}, {}, uv.hrtime()
  local current = from
  for line in function() return one:read_line(PATIENCE) end do
    local seed = line:match("^seed (%d+)$")
    if seed then
      current, lines = tonumber(seed), {}
      seeds[current] = lines
    end
    longest[current] = math.max(longest[current] or 0, (uv.hrtime() - began) / 1e9)
    began = uv.hrtime()
    if line:find("^@") then
      heed(line)
      one:write("done")
    else
      lines[#lines + 1] = line
    end
  end
  local status = one:wait(PATIENCE)
  if status ~= 0 then
    one:kill()
    lines[#lines + 1] = ("%s ended with %s: %s"):format(program, tostring(status), one:stderr())
  end
  return seeds, longest
end

--- Transactions' numbers become their places in the order of all that the seed has seen.
local function by_order(lines)
  local seen, numbers = {}, {}
  for _, line in ipairs(lines) do
    for number in line:gmatch("%f[%w]z(%x+)") do
      if not seen[number] then
        seen[number] = true
        numbers[#numbers + 1] = number
      end
    end
  end
  table.sort(numbers, function(a, b) return tonumber(a, 16) < tonumber(b, 16) end)
  for place, number in ipairs(numbers) do
    seen[number] = place
  end
  local out = {}
  for i, line in ipairs(lines) do
    out[i] = line:gsub("%f[%w]z(%x+)", function(number) return "#" .. seen[number] end)
  end
  return out
end

--- The first line that differs, or nil.
local function difference(a, b)
  for i = 1, math.max(#a, #b) do
    if a[i] ~= b[i] then
      return i
    end
  end
end

local function tell(what, seed, real, model, at)
  print(("FAILED  %s, seed %d: the model is wrong"):format(what, seed))
  for i = math.max(1, at - 4), at - 1 do
    print("          " .. real[i])
  end
  print("  real:   " .. (real[at] or "nothing"))
  print("  model:  " .. (model[at] or "nothing"))
end

local passed, failed, compared = 0, 0, 0

--- `course(from, to)`: the lines of these seeds of the real servers, the longest time for one of each, and the model's
--- lines.
local function compare(what, course, last)
  local real, longest, model = course(first, last)
  for seed = first, last do
    local a, b = by_order(real[seed] or {}), by_order(model[seed] or {})
    local at = difference(a, b)
    if at and (longest[seed] or 0) > PAUSE then
      print(("repeated: %s, seed %d: the machine stood still for %.1f s"):format(what, seed, longest[seed]))
      local again, _, expected = course(seed, seed)
      a, b = by_order(again[seed] or {}), by_order(expected[seed] or {})
      at = difference(a, b)
    end
    compared = compared + #a
    if at or #a == 0 then
      failed = failed + 1
      if failed <= 20 then
        tell(what, seed, a, b, at or 1)
      end
    else
      passed = passed + 1
    end
  end
end

local CONTAINERS_STAY = 3600 * 1000

--- The model hears of its servers: how many they are, and which of the rules is theirs that differ by version.
local function modelled(number, zookeeper)
  return (zookeeper:exists_needs_read() and "strict" or "lenient") .. (",-"):rep(number - 1)
end

--- One server, and one of the model's three.
local function one_server(from, to)
  local zookeeper = server.start { container_check_interval = CONTAINERS_STAY }
  local real, longest = record("recorder_real", ("127.0.0.1:%d"):format(zookeeper.port), from, to)
  local model = modelled(1, zookeeper)
  zookeeper:stop()
  return real, longest, (record("recorder_model", model, from, to))
end

--- Three of them: a session at the leader, one at a follower, and one at a follower that is held back at times: what it
--- is told by the leader stays in a proxy. Its patience is longer than anybody holds it back.
local function three_servers(from, to)
  local cluster = ensemble.start { links = true, tick_time = 2000, container_check_interval = CONTAINERS_STAY }
  local leader = cluster:leader()
  local follower, kept = leader % 3 + 1, (leader + 1) % 3 + 1
  local link = cluster.links[kept][leader]
  local hosts = {}
  for _, n in ipairs { leader, follower, kept } do
    hosts[#hosts + 1] = cluster.servers[n].hosts
  end
  local real, longest = record("recorder_real", table.concat(hosts, ","), from, to, function(wish)
    if wish == "@hold" then
      link:black_hole("to_client")
    else
      link:heal("to_client")
    end
  end)
  local model = modelled(3, cluster.servers[1])
  cluster:close()
  return real, longest, (record("recorder_model", model, from, to))
end

compare("one server", one_server, first + count - 1)
compare("three servers", three_servers, first + (count + 5) // 6 - 1)
print(("%d lines compared"):format(compared))
print(("%d passed, %d failed"):format(passed, failed))
os.exit(failed == 0)
