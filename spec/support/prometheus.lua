-- SPDX-License-Identifier: MIT
--- prometheus: reads a scrape in Prometheus' text format, and raises on whatever is wrong with it. promtool alone
--- accepts a bucket +Inf that differs from _count.

---@class scrape
---@field families table<string, { type: string, help: string }>
---@field series { name: string, labels: table<string, string>, value: number }[]
local scrape = {}
scrape.__index = scrape

local prometheus = {}

local function fail(number, ...)
  error(("line %d of the scrape: "):format(number) .. (...):format(select(2, ...)), 0)
end

local UNESCAPED = { ["\\\\"] = "\\", ['\\"'] = '"', ["\\n"] = "\n" }

--- The labels between braces, as a table and in a fixed order as a text.
local function labels_of(text, number)
  local labels, at, order = {}, 1, {}
  while at <= #text do
    local name, from = text:match('^([%a_][%w_]*)="()', at)
    if not name then fail(number, "no label at %q", text:sub(at)) end
    local to = from
    while text:sub(to, to) ~= '"' do
      if to > #text then fail(number, "a value without an end: %q", text) end
      to = to + (text:sub(to, to) == "\\" and 2 or 1)
    end
    if labels[name] then fail(number, "label %s twice", name) end
    labels[name] = text:sub(from, to - 1):gsub("\\.", function(escape)
      return UNESCAPED[escape] or fail(number, "escape %s", escape)
    end)
    order[#order + 1] = ("%s=%q"):format(name, labels[name])
    at = to + 1
    if at <= #text then
      if text:sub(at, at) ~= "," then fail(number, "no comma at %q", text:sub(at)) end
      at = at + 1
    end
  end
  table.sort(order)
  return labels, table.concat(order, ",")
end

local function value_of(text, number)
  if text == "+Inf" then return math.huge end
  if not text:find("^%-?[%d.]+[eE]?[-+]?%d*$") then fail(number, "value %q", text) end
  return tonumber(text) or fail(number, "value %q", text)
end

--- The family that a sample belongs to.
local function family_of(families, name, number)
  if families[name] and families[name].type ~= "histogram" then return name end
  local base = name:gsub("_bucket$", ""):gsub("_sum$", ""):gsub("_count$", "")
  if base ~= name and families[base] and families[base].type == "histogram" then return base end
  fail(number, "%s has no TYPE above it", name)
end

local function without(labels, but)
  local order = {}
  for name, value in pairs(labels) do
    if name ~= but then order[#order + 1] = ("%s=%q"):format(name, value) end
  end
  table.sort(order)
  return table.concat(order, ",")
end

--- The samples of one histogram: its buckets in order, _sum and _count.
local function note_histogram(histograms, base, sample, number)
  local key = base .. "{" .. without(sample.labels, "le") .. "}"
  local of = histograms[key] or { buckets = {} }
  histograms[key] = of
  if sample.name == base .. "_sum" then
    of.sum = sample.value
  elseif sample.name == base .. "_count" then
    of.count = sample.value
  else
    local le = sample.labels.le or fail(number, "a bucket without le")
    of.buckets[#of.buckets + 1] = { le = le == "+Inf" and math.huge or value_of(le, number), count = sample.value }
  end
end

local function check_histogram(key, of)
  local before = { le = -math.huge, count = 0 }
  for _, bucket in ipairs(of.buckets) do
    assert(bucket.le > before.le, key .. ": buckets are not in order")
    assert(bucket.count >= before.count, key .. ": buckets are not cumulative")
    before = bucket
  end
  assert(before.le == math.huge, key .. ": no bucket +Inf")
  assert(of.sum and of.sum >= 0, key .. ": no _sum")
  assert(of.count == before.count, key .. ": the bucket +Inf differs from _count")
end

local TYPES = { counter = true, gauge = true, histogram = true }

local function read_comment(self, line, number)
  local kind, name, rest = line:match("^# (%u+) ([%a_:][%w_:]*) (.+)$")
  if kind == "HELP" then
    if self.families[name] then fail(number, "HELP of %s twice, or after its TYPE", name) end
    self.families[name] = { help = rest }
  elseif kind == "TYPE" then
    local family = self.families[name]
    if not family then fail(number, "TYPE of %s without HELP before it", name) end
    if family.type then fail(number, "TYPE of %s twice", name) end
    if not TYPES[rest] then fail(number, "type %q", rest) end
    family.type = rest
    self.last = name
  else
    fail(number, "%q", line)
  end
end

local function read_sample(self, line, number, seen, histograms)
  local name, labels, value = line:match("^([%a_:][%w_:]*){(.*)} (%S+)$")
  if not name then
    name, value = line:match("^([%a_:][%w_:]*) (%S+)$")
    labels = ""
  end
  if not name then fail(number, "%q", line) end
  local by_name, spelled = labels_of(labels, number)
  local sample = { name = name, labels = by_name, value = value_of(value, number) }
  local key = name .. "{" .. spelled .. "}"
  if seen[key] then fail(number, "%s twice", key) end
  seen[key] = true
  local base = family_of(self.families, name, number)
  if base ~= self.last then fail(number, "%s is not below its TYPE", name) end
  local kind = self.families[base].type
  if kind == "counter" and not name:find("_total$") then fail(number, "a counter without _total: %s", name) end
  if kind ~= "gauge" and sample.value < 0 then fail(number, "%s below 0", key) end
  if kind == "histogram" then note_histogram(histograms, base, sample, number) end
  self.series[#self.series + 1] = sample
end

--- Reads a whole scrape.
---@param text string
---@return scrape
function prometheus.parse(text)
  local self = setmetatable({ families = {}, series = {}, last = false }, scrape)
  local number, seen, histograms = 0, {}, {}
  assert(text:sub(-1) == "\n", "the last line of the scrape has no end")
  for line in text:gmatch("([^\n]*)\n") do
    number = number + 1
    if line:sub(1, 1) == "#" then
      read_comment(self, line, number)
    else
      read_sample(self, line, number, seen, histograms)
    end
  end
  for key, of in pairs(histograms) do check_histogram(key, of) end
  for name, family in pairs(self.families) do assert(family.type, name .. " has no TYPE") end
  return self
end

local function has(labels, wanted)
  for name, value in pairs(wanted) do
    if labels[name] ~= value then return false end
  end
  return true
end

--- The value of the series with exactly these labels.
---@param labels table<string, string>? none
---@return number?
function scrape:value(name, labels)
  labels = labels or {}
  for _, sample in ipairs(self.series) do
    if sample.name == name and has(sample.labels, labels) and has(labels, sample.labels) then return sample.value end
  end
  return nil
end

--- The sum of all series that have at least these labels.
---@param labels table<string, string>? any
---@return number
function scrape:sum(name, labels)
  local sum = 0
  for _, sample in ipairs(self.series) do
    if sample.name == name and has(sample.labels, labels or {}) then sum = sum + sample.value end
  end
  return sum
end

return prometheus
