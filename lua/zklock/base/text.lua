--- text: what others have written (paths, names, lines of a log), where people read it: in messages and terminals. What
--- would move the cursor, begin a line or turn the direction of writing is spelled as its bytes: `\x1b`.
local text = {}

local SHOWN = 100 -- bytes

-- First and last of the characters above ASCII that are not shown as they are: controls, line ends, marks of direction,
-- and what has no look at all.
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

-- By the first byte of a character: how many bytes follow, what it is worth, the least that so many bytes may spell.
local function lead(byte)
  if byte >= 0xc2 and byte <= 0xdf then return 1, byte - 0xc0, 0x80 end
  if byte >= 0xe0 and byte <= 0xef then return 2, byte - 0xe0, 0x800 end
  if byte >= 0xf0 and byte <= 0xf4 then return 3, byte - 0xf0, 0x10000 end
  return nil
end

--- The length of the character at `i`, which is above ASCII, and its code; nil where no UTF-8 begins.
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

local function spell(s)
  return (s:gsub(".", function(c) return ("\\x%02x"):format(c:byte()) end))
end

--- The text shown for the character at `i`, and where the next one begins.
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

--- Safe to be read, as a whole.
---@param s string
---@return string
function text.escape(s) return show(s, math.huge) end

--- Safe to be read as a part of a message: at most so many bytes of it.
---@param value any what is no string is shown as tostring does
---@return string
function text.shown(value) return show(tostring(value), SHOWN) end

return text
