-- SPDX-License-Identifier: MIT
--- text: makes text of foreign origin (paths, names, lines of a log) safe for messages and
--- terminals. Characters that would move the cursor, begin a line or change the direction of
--- writing are shown as their bytes: `\x1b`.
local text = {}

local SHOWN = 100 -- bytes

-- Ranges of characters above ASCII that are shown as bytes: controls, line ends, direction marks,
-- and characters without a glyph.
local HIDDEN = {
  { 0x80, 0x9f }, { 0x61c, 0x61c }, { 0x200e, 0x200f }, { 0x2028, 0x202e }, { 0x2066, 0x206f }, { 0xfeff, 0xfeff },
  { 0xe0000, 0xe007f },
}

local function is_hidden(code)
  for _, range in ipairs(HIDDEN) do
    if code >= range[1] and code <= range[2] then return true end
  end
  return false
end

-- For the first byte of a character: how many bytes follow, its value, and the smallest code that
-- so many bytes may encode.
local function lead(byte)
  if byte >= 0xc2 and byte <= 0xdf then return 1, byte - 0xc0, 0x80 end
  if byte >= 0xe0 and byte <= 0xef then return 2, byte - 0xe0, 0x800 end
  if byte >= 0xf0 and byte <= 0xf4 then return 3, byte - 0xf0, 0x10000 end
  return nil
end

--- The length and the code of the character at `i`, which is above ASCII; nil if it is not UTF-8.
local function character(s, i)
  local more, code, least = lead(s:byte(i))
  if not more then return nil end
  for at = i + 1, i + more do
    local byte = s:byte(at)
    if not byte or byte < 0x80 or byte > 0xbf then return nil end
    code = code * 64 + byte - 0x80
  end
  if code < least or code > 0x10ffff or (code >= 0xd800 and code <= 0xdfff) then return nil end
  return more + 1, code
end

--- True if all of a text is UTF-8.
---@param s string
---@return boolean
function text.is_utf8(s)
  local i = 1
  while i <= #s do
    local length = s:byte(i) < 128 and 1 or character(s, i)
    if not length then return false end
    i = i + length
  end
  return true
end

local function spell(s)
  return (s:gsub(".", function(c) return ("\\x%02x"):format(c:byte()) end))
end

--- The text that is shown for the character at `i`, and the index of the next one.
local function piece(s, i)
  local byte = s:byte(i)
  if byte >= 32 and byte < 127 then return s:sub(i, i), i + 1 end
  if byte < 128 then return ("\\x%02x"):format(byte), i + 1 end
  local length, code = character(s, i)
  if not length then return ("\\x%02x"):format(byte), i + 1 end
  local bytes = s:sub(i, i + length - 1)
  return is_hidden(code) and spell(bytes) or bytes, i + length
end

local function show(s, most)
  if #s <= most and not s:find("[^\32-\126]") then return s end
  local parts, size, i = {}, 0, 1
  while i <= #s do
    local part, after = piece(s, i)
    size = size + #part
    if size > most then
      parts[#parts + 1] = "..."
      break
    end
    parts[#parts + 1], i = part, after
  end
  return table.concat(parts)
end

--- Makes all of a text safe to show.
---@param s string
---@return string
function text.escape(s) return show(s, math.huge) end

--- Makes a value safe to show inside a message, truncated.
---@param value any passed through tostring
---@param most integer? bytes; default SHOWN
---@return string
function text.shown(value, most) return show(tostring(value), most or SHOWN) end

return text
