-- SPDX-License-Identifier: MIT
--- Lua values on one line, for talking to our own processes over pipes. Works between all Lua versions.
--
-- `encode(...)` writes the values as a Lua expression list, nils included; `decode(line)` gives them back. Only
-- nil, booleans, numbers, strings and tables of them; anything else goes over as its tostring.

local codec = {}

local math_type = math.type or function(n) return n % 1 == 0 and math.abs(n) < 2 ^ 53 and "integer" or "float" end

local function number(n)
  if n ~= n then return "(0/0)" end
  if n == math.huge then return "(1/0)" end
  if n == -math.huge then return "(-1/0)" end
  if math_type(n) == "integer" then return ("%d"):format(n) end
  local text = ("%.17g"):format(n)
  return text:find("[%.e]") and text or text .. ".0"
end

local function quote(s)
  return '"' .. s:gsub('[%c"\\\128-\255]', function(c) return ("\\%03d"):format(c:byte()) end) .. '"'
end

local value

local function key(k) return type(k) == "number" and "[" .. number(k) .. "]" or "[" .. quote(tostring(k)) .. "]" end

local function tabular(t)
  local parts = {}
  for k, v in pairs(t) do parts[#parts + 1] = key(k) .. "=" .. value(v) end
  table.sort(parts)
  return "{" .. table.concat(parts, ",") .. "}"
end

function value(v)
  local kind = type(v)
  if kind == "nil" or kind == "boolean" then return tostring(v) end
  if kind == "number" then return number(v) end
  if kind == "table" then return tabular(v) end
  return quote(tostring(v))
end

---@return string line
function codec.encode(...)
  local parts = {}
  for i = 1, select("#", ...) do parts[i] = value((select(i, ...))) end
  return table.concat(parts, ",")
end

---@param line string
---@return any ... what was encoded; raises when the line is something else
function codec.decode(line)
  local chunk, err
  if setfenv then
    chunk, err = loadstring("return " .. line, "=line")
    if chunk then setfenv(chunk, {}) end
  else
    chunk, err = load("return " .. line, "=line", "t", {})
  end
  if not chunk then error(("cannot read %q: %s"):format(line, err), 2) end
  return chunk()
end

return codec
