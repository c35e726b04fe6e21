-- SPDX-License-Identifier: MIT
--- census: how many entries each table has that the module and its clients can reach, also the weak ones and those that
--- functions refer to.
local census = {}

--- By how many entries one table may have grown, and all of them together.
local SLACK, SLACK_OF_ALL = 32, 128
--- Those that have a bound of their own, and come to it.
local BOUNDED = { lock_paths = 1000, names = 1000 } -- of zklock.holds.losses

local function is_ours(name)
  return type(name) == "string" and name:find("^zklock") ~= nil
end

--- The program's and Lua's own.
local function strangers()
  local seen = { [_G] = true, [package.loaded] = true }
  for name, module in pairs(package.loaded) do
    if not is_ours(name) then seen[module] = true end
  end
  return seen
end

local function look_into_function(fn, name, visit)
  for i = 1, math.huge do
    local upvalue, value = debug.getupvalue(fn, i)
    if not upvalue then return end
    visit(value, ("%s of %s"):format(upvalue, name))
  end
end

local function look_into_table(t, name, visit)
  local n = 0
  for key, value in next, t do
    n = n + 1
    local shown = type(key) == "string" and key or type(key)
    visit(key, ("a key of %s"):format(name))
    visit(value, ("%s.%s"):format(name, shown))
  end
  return n
end

--- Entries, as far as they count.
local function counted(name, entries)
  local most = BOUNDED[name:match("losses%.([%a_]+)$")]
  return most and math.max(0, entries - most) or entries
end

---@param roots table<string, table> besides the modules
---@return table<table, { name: string, entries: integer }> weak
function census.take(roots)
  local counts = setmetatable({}, { __mode = "k" })
  local seen = strangers()
  seen[counts], seen[roots] = true, true
  local queue, names, last = {}, {}, 0
  local function visit(value, name)
    local kind = type(value)
    if kind ~= "table" and kind ~= "function" and kind ~= "userdata" or seen[value] then return end
    seen[value] = true
    last = last + 1
    queue[last], names[last] = value, name
  end
  for name, module in pairs(package.loaded) do
    if is_ours(name) then visit(module, name) end
  end
  for name, root in pairs(roots) do visit(root, name) end
  local at = 0
  while at < last do
    at = at + 1
    local value, name = queue[at], names[at]
    if type(value) == "function" then look_into_function(value, name, visit) end
    if type(value) == "table" then
      counts[value] = { name = name, entries = counted(name, look_into_table(value, name, visit)) }
    end
    visit(debug.getmetatable(value), "the metatable of " .. name)
  end
  return counts
end

local function sum(counts)
  local entries = 0
  for _, one in pairs(counts) do entries = entries + one.entries end
  return entries
end

--- The growth, in words; nil: none.
function census.grown(before, after)
  for t, now in pairs(after) do
    local was = before[t]
    if was and now.entries > was.entries + SLACK then
      return ("%s has %d entries, after %d"):format(now.name, now.entries, was.entries)
    end
  end
  local was, is = sum(before), sum(after)
  if is <= was + SLACK_OF_ALL then return nil end
  local largest = { entries = 0 }
  for t, one in pairs(after) do
    if not before[t] and one.entries > largest.entries then largest = one end
  end
  return ("what the module can reach has %d entries, after %d; the largest new table is %s with %d"):format(is, was,
    tostring(largest.name), largest.entries)
end

return census
