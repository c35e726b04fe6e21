-- SPDX-License-Identifier: MIT
--- A summary of the plays of one flash sale: a race is won in one of them and lost in another.

local cost = require "bench.contest.cost"

local plays = {}

--- Those that came to an end. There are none if the sale was not played, or never succeeded.
local function ended(list)
  local good = {}
  for _, one in ipairs(list or {}) do
    if not one.failed then good[#good + 1] = one end
  end
  return good
end

--- Of so many plays: true in how many.
local function count(list, is)
  local n = 0
  for _, one in ipairs(list) do n = n + (is(one) and 1 or 0) end
  return n, #list
end

---@param list table[]? results of truth.play
---@return boolean? whether it is so in each of them; nil if there is none
function plays.always(list, is)
  local n, all = count(ended(list), is)
  if all == 0 then return nil end
  return n == all
end

--- The middle of a figure of those that have it.
---@return number?
function plays.middle(list, field)
  local values = {}
  for _, one in ipairs(ended(list)) do values[#values + 1] = one[field] or nil end
  return (cost.middle(values))
end

--- The worst.
---@return number? items
function plays.oversold(list)
  local most
  for _, one in ipairs(ended(list)) do most = math.max(most or 0, one.oversold) end
  return most
end

--- A word when it is true of all plays or of none, else of how many.
local function say(list, is, word, otherwise)
  local n, all = count(list, is)
  if n == all then return word end
  if n == 0 then return otherwise end
  return ("%s in %d of %d"):format(word, n, all)
end

local function sold(list)
  local most = plays.oversold(list)
  if most == 0 then return "0" end
  return "**" .. say(list, function(one) return one.oversold > 0 end, ("sold %d too many"):format(most)) .. "**"
end

local function told(one) return one.sure == "no" end

--- Whether the old holder was told before it wrote, and its write refused, where another one was there by then.
local function told_and_taken(list, parts)
  local late = {}
  for _, one in ipairs(list) do
    if one.next then late[#late + 1] = one end
  end
  if #late == 0 then
    if count(list, told) > 0 then parts[#parts + 1] = say(list, told, "but the holder was not sure") end
    return
  end
  local cannot = plays.always(late, function(one) return one.sure == "-" end)
  parts[#parts + 1] = cannot and "cannot tell" or say(late, told, "told", "not told")
  parts[#parts + 1] = say(late, function(one) return one.verdict == "refused" end, "write refused", "write taken")
end

--- One flash sale in one cell of the table.
---@param id string of the scenario, or "calm"
---@param list table[]? results of truth.play
---@return string
function plays.cell(id, list)
  if not list then return "" end
  local good = ended(list)
  if #good == 0 then return "failed: " .. list[1].failed:gsub("^%S+:%d+: ", ""):sub(1, 60) end
  local parts = { sold(good) }
  if id == "calm" then return parts[1] end
  local early = say(good, function(one) return one.early end, "two from the start")
  local next_in = plays.middle(good, "next")
  if early then
    parts[2] = early
  elseif next_in then
    parts[2] = ("%.1f s"):format(next_in)
  else
    parts[2] = id == "stopped" and "waits for the holder" or "kept"
  end
  if id ~= "killed" then told_and_taken(good, parts) end
  parts[#parts + 1] = say(good, function(one) return one.alive == false end, "**and then nobody**")
  return table.concat(parts, ", ")
end

return plays
