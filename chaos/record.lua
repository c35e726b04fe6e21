-- SPDX-License-Identifier: MIT
--- A timeline: the faults of a run, and what the resources wrote down beside them. All moments are microseconds
--- of one clock.

local uv = require "luv"

local record = {}
record.__index = record

local BEFORE = 25 -- lines of a resource's log before the one that is wrong
local LATEST = 40 -- lines about one worker

function record.new() return setmetatable({ faults = {} }, record) end

local function micros() return math.floor(uv.hrtime() / 1000) end

--- Notes a fault.
function record:fault(text, ...) table.insert(self.faults, { at = micros(), text = text:format(...) }) end

local function read_log(place)
  local list, at = {}, 0
  for text in io.lines(place.store.path) do
    at = tonumber(text:match(" (%d+) %d+$")) or at -- only the resource's own lines lack it
    list[#list + 1] = { at = at, text = text }
  end
  return list
end

local function in_order(list)
  for i, entry in ipairs(list) do entry.turn = i end
  table.sort(list, function(a, b) return a.at < b.at or a.at == b.at and a.turn < b.turn end)
  return list
end

local function written(list, from)
  local lines = {}
  for i = from or 1, #list do lines[#lines + 1] = ("%12.6f  %s"):format(list[i].at / 1e6, list[i].text) end
  return lines
end

--- A line of a resource's log with what was before it, and the faults meanwhile.
---@param place table of `chaos.testbed`
---@param number integer of the line
---@return string[]
function record:around(place, number)
  local log, list = read_log(place), {}
  local from = math.max(1, number - BEFORE)
  for i = from, math.min(number, #log) do list[#list + 1] = log[i] end
  if #list == 0 then return {} end
  local first, last = list[1].at, list[#list].at
  for _, fault in ipairs(self.faults) do
    if fault.at >= first and fault.at <= last then
      list[#list + 1] = { at = fault.at, text = "fault: " .. fault.text }
    end
  end
  return written(in_order(list))
end

--- The last steps of a worker, wherever they were, and the faults that it may have met.
---@param places table[]
---@param worker string its name
---@return string[]
function record:about(places, worker)
  local list, number = {}, worker:match("^w(%d+)")
  for _, place in ipairs(places) do
    for _, entry in ipairs(read_log(place)) do
      if entry.text:match("^%d+ ([^/ ]+)") == worker then
        list[#list + 1] = { at = entry.at, text = entry.text .. "   " .. place.path }
      end
    end
  end
  for _, fault in ipairs(self.faults) do
    local proxy, struck = fault.text:match("proxy (%d+)"), fault.text:match("worker (%S+)")
    if proxy == number or struck == worker or fault.text:find("server", 1, true) then
      list[#list + 1] = { at = fault.at, text = "fault: " .. fault.text }
    end
  end
  in_order(list)
  return written(list, math.max(1, #list - LATEST + 1))
end

local function write(path, lines)
  local file = assert(io.open(path, "wb"))
  for _, line in ipairs(lines) do file:write(line, "\n") end
  file:close()
end

--- Writes everything down for good.
---@param places table[]
---@param folder string is made, with its parents
function record:keep(places, folder)
  for parent in (folder .. "/"):gmatch("()/") do
    if parent > 1 then uv.fs_mkdir(folder:sub(1, parent - 1), 493) end -- or it is there
  end
  write(folder .. "/faults.log", written(self.faults))
  for _, place in ipairs(places) do
    write(("%s/%s.log"):format(folder, place.path:match("[^/]*$")), written(read_log(place)))
  end
end

return record
