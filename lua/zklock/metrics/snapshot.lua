-- SPDX-License-Identifier: MIT
--- snapshot: what clients have counted up to a moment, as plain numbers under the texts of their labels. Each series
--- that can occur is there, also at 0. The buckets of a histogram are not cumulative.
local each = require "zklock.base.each"
local families = require "zklock.metrics.families"
local text = require "zklock.base.text"

---@class zklock.Snapshot
---@field counters table<string, table<string, integer>> by family and by labels: `lock="",result="acquired"`, or ""
---@field histograms table<string, table<string, table>> likewise; each is { sum = seconds, [1] = n, ... [16] = n }
---@field gauges table<string, table<string, number>> likewise
---@field locks string[] the values of the label `lock`, in order of first use; "other" is the last
local snapshot = {}

local FIELDS = { counter = "counters", gauge = "gauges", histogram = "histograms" }
local BUCKETS = #families.bounds

--- The gauges with the label `lock`, by the field of the counts of one name.
local GAUGES = {}
for field, name in each { held = "held", waiting = "waiting", standing_by = "standing_by",
  oldest_wait = "oldest_wait_seconds", oldest_hold = "oldest_hold_seconds", last_run = "last_run_timestamp_seconds" } do
  GAUGES[field] = families.of["zklock_" .. name]
end

local ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" }

--- The text of one label. Newlines have a spelling of Prometheus's own.
local function label(name, value)
  return name .. '="' .. text.escape_lines(value):gsub('[\\"\n]', ESCAPES) .. '"'
end

--- Adds a histogram to the one at `labels`, or puts a copy there.
local function add_histogram(into, labels, from)
  local sums = into[labels] or {}
  into[labels] = sums
  for i = 1, BUCKETS do sums[i] = (sums[i] or 0) + (from[i] or 0) end
  sums.sum = (sums.sum or 0) + (from.sum or 0)
end

local MERGE = {
  sum = function(a, b) return a + b end,
  max = math.max,
  min = math.min,
}

--- Puts a value where there may be one already.
---@param how "sum"|"max"|"min"
local function merge_value(into, labels, value, how)
  local former = into[labels]
  into[labels] = former and MERGE[how](former, value) or value
end

snapshot.merge_value = merge_value

local function add_lock(into, name)
  for _, known in ipairs(into.locks) do
    if known == name then return end
  end
  local last = #into.locks
  local place = into.locks[last] == families.OTHER and last or last + 1
  table.insert(into.locks, place, name)
end

--- Adds the counts of the locks with one name to the label `name`.
local function add_counts(into, name, counts)
  local lock, counters, histograms, gauges = label("lock", name), into.counters, into.histograms, into.gauges
  add_lock(into, name)
  for _, result in ipairs(families.results) do
    merge_value(counters.zklock_acquisitions_total, lock .. "," .. label("result", result), counts.ended[result], "sum")
  end
  for _, reason in ipairs(families.reasons) do
    merge_value(counters.zklock_losses_total, lock .. "," .. label("reason", reason), counts.lost[reason], "sum")
  end
  add_histogram(histograms.zklock_wait_seconds, lock, counts.wait)
  add_histogram(histograms.zklock_hold_seconds, lock, counts.hold)
  for _, result in ipairs(families.runs) do
    merge_value(counters.zklock_runs_total, lock .. "," .. label("result", result), counts.runs[result], "sum")
  end
  for field, family in each(GAUGES) do
    if counts[field] then merge_value(gauges[family.name], lock, counts[field], family.merge) end
  end
end

local ZEROS = setmetatable({}, { __index = function() return 0 end })
local NO_COUNTS = { ended = ZEROS, lost = ZEROS, runs = ZEROS, wait = {}, hold = {}, held = 0, waiting = 0,
  standing_by = 0, oldest_wait = 0, oldest_hold = 0 }

--- The snapshot of a program without any client.
---@return zklock.Snapshot
function snapshot.empty()
  local made = { counters = {}, histograms = {}, gauges = {}, locks = {} }
  for _, family in ipairs(families) do made[FIELDS[family.type]][family.name] = {} end
  local counters, gauges = made.counters, made.gauges
  counters.zklock_sessions_total[""], counters.zklock_requests_total[""] = 0, 0
  counters.zklock_abandoned_total[""] = 0
  gauges.zklock_node_bytes[""] = 0
  add_histogram(made.histograms.zklock_heartbeat_seconds, "", {})
  for _, state in ipairs(families.states) do gauges.zklock_clients[label("state", state)] = 0 end
  add_counts(made, "", NO_COUNTS)
  return made
end

--- The snapshot of one client, also after `close`.
---@param client zklock.Client
---@param label_of (fun(name: string): string)? the label of a lock's name; default the name
---@return zklock.Snapshot?
---@return string? err "forked"
function snapshot.of(client, label_of)
  local measures = client.native:measure()
  if not measures then return nil, "forked" end
  local made = snapshot.empty()
  local counters, gauges = made.counters, made.gauges
  for _, counts in ipairs(measures.counts) do
    add_counts(made, label_of and label_of(counts.name) or counts.name, counts)
  end
  counters.zklock_sessions_total[""] = measures.sessions
  counters.zklock_requests_total[""] = measures.requests_sent
  counters.zklock_abandoned_total[""] = measures.abandoned
  add_histogram(made.histograms.zklock_heartbeat_seconds, "", measures.heartbeat)
  gauges.zklock_node_bytes[""] = measures.node_bytes
  local state = label("state", client.native:state())
  if gauges.zklock_clients[state] then gauges.zklock_clients[state] = 1 end
  if measures.held > 0 then gauges.zklock_validity_seconds[""] = measures.validity end
  return made
end

---@param into zklock.Snapshot
---@param from zklock.Snapshot
function snapshot.merge(into, from)
  for _, family in ipairs(families) do
    local field = FIELDS[family.type]
    local target = into[field][family.name]
    for labels, value in each(from[field][family.name] or {}) do
      if family.type == "histogram" then
        add_histogram(target, labels, value)
      else
        merge_value(target, labels, value, family.merge)
      end
    end
  end
  for _, name in ipairs(from.locks) do add_lock(into, name) end
end

--- For several clients: which names stay labels of their own. The names that came first do, so a name never changes its
--- label while the clients are the same.
---@param clients zklock.Client[]
---@return (fun(name: string): string)? label_of nil: one of them belongs to the parent process
function snapshot.labels(clients)
  local first, names = {}, {}
  for _, client in ipairs(clients) do
    local measures = client.native:measure()
    if not measures then return nil end
    for _, counts in ipairs(measures.counts) do
      local name, serial = counts.name, counts.serial
      if name ~= "" and name ~= families.OTHER then
        if not first[name] then names[#names + 1] = name end
        first[name] = math.min(first[name] or serial, serial)
      end
    end
  end
  table.sort(names, function(a, b) return first[a] < first[b] end)
  local stays = { [""] = true }
  for i = 1, math.min(#names, families.NAMES_MOST) do stays[names[i]] = true end
  return function(name) return stays[name] and name or families.OTHER end
end

return snapshot
