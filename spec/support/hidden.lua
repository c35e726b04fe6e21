-- SPDX-License-Identifier: MIT
--- Characters above ASCII that nobody sees, or that turn the direction of writing: the first and the last of each range
--- that is spelled as bytes, and the characters beside it, which are shown.

local RANGES = {
  { 0x80, 0x9f }, { 0xad, 0xad }, { 0x34f, 0x34f }, { 0x61c, 0x61c }, { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
  { 0x180b, 0x180f }, { 0x200b, 0x200f }, { 0x2028, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
  { 0xfe00, 0xfe0f }, { 0xfeff, 0xfeff }, { 0xffa0, 0xffa0 }, { 0xfff0, 0xfffb }, { 0xe0000, 0xe0fff },
}

--- The UTF-8 of a character above ASCII.
local function encode(code)
  local size = code < 0x800 and 2 or code < 0x10000 and 3 or 4
  local rest = ""
  for _ = 2, size do
    rest = string.char(0x80 + code % 64) .. rest
    code = math.floor(code / 64)
  end
  return string.char(({ [2] = 0xc0, [3] = 0xe0, [4] = 0xf0 })[size] + code) .. rest
end

local function spell(bytes)
  return (bytes:gsub(".", function(c) return ("\\x%02x"):format(c:byte()) end))
end

---@type { raw: string, spelled: string } all of them, one behind the other
local hidden = { raw = "", spelled = "" }

for _, range in ipairs(RANGES) do
  local before = range[1] > 0x80 and encode(range[1] - 1) or ""
  local first, last, after = encode(range[1]), encode(range[2]), encode(range[2] + 1)
  hidden.raw = hidden.raw .. before .. first .. last .. after
  hidden.spelled = hidden.spelled .. before .. spell(first) .. spell(last) .. after
end

return hidden
