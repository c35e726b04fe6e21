-- SPDX-License-Identifier: MIT
--- tally: snapshots of numbers as keys of a shared dictionary, and back. Each bucket of a histogram
--- is a number of its own, and the reader sums them up: so a read between two writes still finds
--- `+Inf` equal to the count.
local each = require "zklock.base.each"
local families = require "zklock.metrics.families"
local snapshots = require "zklock.metrics.snapshot"

local tally = {}

--- The gauge that stays when its worker has gone: it says what has happened.
local KEPT = "zklock_last_run_timestamp_seconds"

--- Splits labels into the name of the lock, as it is escaped in them, and the rest.
---@return string? name nil: the labels have no lock
---@return string? rest
local function split(labels)
  if labels:sub(1, 6) ~= 'lock="' then return nil end
  local at = 7
  while labels:sub(at, at) ~= '"' do at = at + (labels:sub(at, at) == "\\" and 2 or 1) end
  return labels:sub(7, at - 1), labels:sub(at)
end

--- The labels as all workers use them.
---@return string? labels nil: the dictionary is full
local function common_labels(store, labels)
  local name, rest = split(labels)
  if not name then return labels end
  local label = store:label_of(name)
  return label and 'lock="' .. label .. rest
end

--- Adds what a number has grown by since it was last written. `written` remembers that only once it
--- is in the dictionary, so a full dictionary loses nothing for as long as the worker lives.
local function add(store, written, family, part, labels, value)
  local own = family .. "|" .. part .. "|" .. labels
  local before = written[own]
  if value == before then return end
  local common = common_labels(store, labels) -- a number that is 0 is written, too: a scrape shows it from the start
  if common and store:add(family .. "|" .. part .. "|" .. common, value - (before or 0)) then written[own] = value end
end

--- Keeps the largest value of a gauge that outlives its worker.
local function keep(store, family, labels, value)
  local common = common_labels(store, labels)
  if common then store:raise(family .. "|latest|" .. common, value) end
end

--- Adds the growth of a client's counters and histograms, and keeps the gauges that outlive it.
---@param store zklock.metrics.Store
---@param written table<string, number> what of this client is in the dictionary
---@param snapshot zklock.Snapshot
function tally.add(store, written, snapshot)
  for family, list in each(snapshot.counters) do
    for labels, value in each(list) do add(store, written, family, "", labels, value) end
  end
  for labels, value in each(snapshot.gauges[KEPT]) do keep(store, KEPT, labels, value) end
  for family, list in each(snapshot.histograms) do
    for labels, histogram in each(list) do
      add(store, written, family, "sum", labels, histogram.sum)
      for i = 1, #families.bounds do add(store, written, family, i, labels, histogram[i]) end
    end
  end
end

--- A worker's gauges as one text, each in a line.
---@param store zklock.metrics.Store
---@param snapshot zklock.Snapshot
---@return string
function tally.write_gauges(store, snapshot)
  local lines = {}
  for family, list in each(snapshot.gauges) do
    local merged = {}
    for labels, value in each(family ~= KEPT and list or {}) do
      local common = common_labels(store, labels) or 'lock="other"'
      snapshots.merge_value(merged, common, value, families.of[family].merge)
    end
    for labels, value in each(merged) do lines[#lines + 1] = ("%.17g %s|%s"):format(value, family, labels) end
  end
  return table.concat(lines, "\n")
end

--- The gauges that such a text says. An age has grown since then.
---@param text string
---@param since number seconds since it was written
---@return table<string, table<string, number>>
local function read_gauges(text, since)
  local gauges = {}
  for said, family, labels in text:gmatch("(%S+) ([%w_]+)|([^\n]*)") do
    local value, known = tonumber(said), families.of[family]
    gauges[family] = gauges[family] or {}
    gauges[family][labels] = known and known.is_age and value > 0 and value + since or value
  end
  return gauges
end

--- Puts one number of the dictionary where it belongs. Other code may have written into it, too.
local function enter(snapshot, key, value)
  local family, part, labels = key:match("^([%w_]+)|(%w*)|(.*)$")
  if not families.of[family] or type(value) ~= "number" then
    return
  elseif part == "" then
    snapshot.counters[family] = snapshot.counters[family] or {}
    snapshot.counters[family][labels] = value
    return
  elseif part == "latest" then
    snapshot.gauges[family] = snapshot.gauges[family] or {}
    snapshot.gauges[family][labels] = value
    return
  end
  local list = snapshot.histograms[family] or {}
  snapshot.histograms[family] = list
  if not list[labels] then
    list[labels] = { sum = 0 }
    for i = 1, #families.bounds do list[labels][i] = 0 end
  end
  list[labels][tonumber(part) or part] = value
end

--- A lock's name that was counted once keeps its gauges, at 0, when the clients that knew it are gone.
--- Those that every name has are there without a name, too.
local function add_zeros(gauges, histograms)
  for _, list in each(gauges) do
    for labels in each(list['lock=""'] and histograms.zklock_wait_seconds or {}) do
      list[labels] = list[labels] or 0
    end
  end
end

--- The numbers of all workers.
---@param found table as `Store:read` returns it
---@param errors integer
---@return zklock.Snapshot
function tally.read(found, errors)
  local whole = snapshots.empty()
  local counted = { counters = { zklock_metrics_errors_total = { [""] = errors } }, histograms = {}, gauges = {},
    locks = {} }
  for key, value in each(found.count) do enter(counted, key, value) end
  add_zeros(whole.gauges, counted.histograms)
  snapshots.merge(whole, counted)
  for worker, text in each(found.gauges) do
    local gauges = read_gauges(text, found.since[worker])
    snapshots.merge(whole, { counters = {}, histograms = {}, gauges = gauges, locks = {} })
  end
  return whole
end

return tally
