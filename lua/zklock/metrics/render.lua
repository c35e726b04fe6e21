-- SPDX-License-Identifier: MIT
--- render: writes a snapshot in Prometheus' text format, version 0.0.4.
local each = require "zklock.base.each"
local families = require "zklock.metrics.families"

local FIELDS = { counter = "counters", gauge = "gauges", histogram = "histograms" }

--- A number as the format wants it. A count has up to 2^53.
local function number(value)
  if value == math.huge then return "+Inf" end
  if value == math.floor(value) and math.abs(value) < 2 ^ 53 then return ("%d"):format(value) end
  return (("%.15g"):format(value):gsub(",", ".")) -- some locales write a comma
end

local function sorted_keys(of)
  local keys = {}
  for key in each(of) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

local function write_value(lines, name, labels, value)
  lines[#lines + 1] = name .. (labels == "" and "" or "{" .. labels .. "}") .. " " .. number(value)
end

local function write_histogram(lines, name, labels, histogram)
  local count, before = 0, labels == "" and "" or labels .. ","
  for i, bound in ipairs(families.bounds) do
    count = count + histogram[i]
    write_value(lines, name .. "_bucket", before .. 'le="' .. number(bound) .. '"', count)
  end
  write_value(lines, name .. "_sum", labels, histogram.sum)
  write_value(lines, name .. "_count", labels, count)
end

---@param snapshot zklock.Snapshot
---@return string
return function(snapshot)
  local lines = {}
  for _, family in ipairs(families) do
    local values, name = snapshot[FIELDS[family.type]][family.name] or {}, family.name
    if next(values) then
      lines[#lines + 1] = ("# HELP %s %s"):format(name, family.help)
      lines[#lines + 1] = ("# TYPE %s %s"):format(name, family.type)
    end
    for _, labels in ipairs(sorted_keys(values)) do
      if family.type == "histogram" then
        write_histogram(lines, name, labels, values[labels])
      else
        write_value(lines, name, labels, values[labels])
      end
    end
  end
  lines[#lines + 1] = ""
  return table.concat(lines, "\n")
end
