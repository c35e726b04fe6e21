-- SPDX-License-Identifier: MIT
--- The contest's pictures, by gnuplot.

local cost = require "bench.contest.cost"
local folder = require "spec.support.folder"
local peers = require "bench.contest.peers"
local plays = require "bench.contest.plays"
local process = require "spec.support.process"

local plot = {}

local HEAD = [[
set terminal svg size 900,%d font "sans-serif,13" background "white"
set output "%s"
set border 3
set tics nomirror out
set grid ytics lc rgb "#dddddd"
]]

local function plain(title) return (title:gsub("[`*]", "")) end

local function quote(title) return '"' .. plain(title) .. '"' end

local function run(commands, data)
  local files = {}
  for name, lines in pairs(data) do
    files[name] = folder.file(name, table.concat(lines, "\n") .. "\n")
  end
  local tool = process.spawn { "gnuplot", folder.file("plot", (commands:gsub("@(%w+)", files))), env = process.PLAIN }
  if tool:wait(60) ~= 0 then error("gnuplot: " .. tool:stderr(), 0) end
end

local function values(list, pick)
  local found = {}
  for _, one in ipairs(list or {}) do
    local value = pick(one)
    if value then found[#found + 1] = value end
  end
  return (cost.middle(found))
end

--- Requests that an acquisition costs the servers, against how many want it: a line for each peer, ours thick.
local function draw_contenders(results, path)
  local lines, data, n = {}, {}, 0
  for _, peer in ipairs(peers.list) do
    if results.crowd[peer.id] and peer.family ~= "folder" then
      n = n + 1
      local points = {}
      for _, contenders in ipairs(results.plan.contenders) do
        local value = values(results.crowd[peer.id], function(one)
          return one.contenders == contenders and one.requests or nil
        end)
        if value then points[#points + 1] = ("%d %.3f"):format(contenders, value) end
      end
      data["p" .. n] = points
      local width = peer.program == "zklock" and 4 or 1
      lines[n] = ('"@p%d" with linespoints lw %d pt %d ps 0.6 dt %d title %s'):format(n, width, n, n % 3 + 1,
        quote(peer.title))
    end
  end
  if n == 0 then return end
  run(HEAD:format(560, path) .. [[
set title "Requests to the servers for each acquisition"
set logscale xy 2
set xlabel "contenders for one lock"
set key outside right
plot ]] .. table.concat(lines, ", "), data)
end

--- Bars side by side: a group for each peer, a bar for each column.
local function draw_bars(path, title, rows, columns, label)
  if #rows == 0 then return end
  local bars, data = {}, {}
  for i, row in ipairs(rows) do
    local cells = { quote(row.title) }
    for c = 1, #columns do cells[c + 1] = ("%.3f"):format(row[c] or 0) end
    data[i] = table.concat(cells, " ")
  end
  for c, name in ipairs(columns) do
    bars[c] = ('"@bars" using %d%s title "%s"'):format(c + 1, c == 1 and ":xtic(1)" or "", name)
  end
  run(HEAD:format(480, path) .. ([[
set title "%s"
set style data histograms
set style histogram %s
set style fill solid 0.8 noborder
set boxwidth 0.85 relative
set xtics rotate by -35 scale 0
set ylabel "%s"
set yrange [0:*]
set ytics %s
set key outside right
plot ]]):format(title, label.stacked and "rowstacked" or "clustered gap 1", label.y, label.step or "autofreq")
    .. table.concat(bars, ", "), { bars = data })
end

local function draw_hand_over(results, path)
  local rows, columns = {}, {}
  for i, count in ipairs(results.counts) do columns[i] = ("%d processes"):format(count) end
  for _, peer in ipairs(peers.list) do
    local list = results.hand_over[peer.id]
    if list and peer.family ~= "folder" then
      local row = { title = peer.title }
      for i, count in ipairs(results.counts) do row[i] = values(list, function(one) return one[count] end) end
      rows[#rows + 1] = row
    end
  end
  draw_bars(path, "From a release to the next holder", rows, columns, { y = "round trips" })
end

local SALES = { { "stopped", "holder stopped" }, { "restarted", "server restarted" }, { "leader", "leader killed" },
  { "cut", "link cut" }, { "failover", "fail-over" } }

local function draw_oversold(results, path)
  local rows, columns = {}, {}
  for i, one in ipairs(SALES) do columns[i] = one[2] end
  for _, peer in ipairs(peers.list) do
    local sales = results.truth[peer.id]
    if sales then
      local row = { title = peer.title }
      for i, one in ipairs(SALES) do row[i] = plays.oversold(sales[one[1]]) end
      rows[#rows + 1] = row
    end
  end
  draw_bars(path, "Items sold although they were sold already", rows, columns,
    { y = "items", step = "1", stacked = true })
end

--- Draws all of them.
---@param to string a folder
function plot.draw(results, to)
  process.spawn({ "mkdir", "-p", to, env = process.PLAIN }):wait(10)
  draw_contenders(results, to .. "/contenders.svg")
  draw_hand_over(results, to .. "/hand-over.svg")
  draw_oversold(results, to .. "/oversold.svg")
end

return plot
