-- SPDX-License-Identifier: MIT
--- The password of a session, by its id: what anybody can calculate who reaches a server (SessionTrackerImpl and
--- ZooKeeperServer.generatePasswd: java.util.Random, seeded with the id and a constant out of the sources).

local wire = require "spec.support.wire"

local SECRET, MULTIPLIER = 0xB3415C00, 0x5DEECE66D
local TWO24, TWO48 = 2 ^ 24, 2 ^ 48

local function xor(a, b)
  local result, bit = 0, 1
  while a > 0 or b > 0 do
    if a % 2 ~= b % 2 then result = result + bit end
    a, b, bit = math.floor(a / 2), math.floor(b / 2), bit * 2
  end
  return result
end

--- seed * MULTIPLIER + 11 modulo 2^48, in numbers that are exact below 2^53.
local function step(seed)
  local low, high = seed % TWO24, math.floor(seed / TWO24)
  local m_low, m_high = MULTIPLIER % TWO24, math.floor(MULTIPLIER / TWO24)
  local middle = (high * m_low + low * m_high) % TWO24
  return (low * m_low + middle * TWO24 + 11) % TWO48
end

---@param id string hexadecimal
---@return string 16 bytes
return function(id)
  local digits = ("0"):rep(16) .. wire.normal_hex(id):sub(3)
  local seed = xor(xor(tonumber(digits:sub(-12), 16), SECRET), MULTIPLIER)
  local bytes = {}
  while #bytes < 16 do
    seed = step(seed)
    local word = math.floor(seed / 65536)
    for _ = 1, 4 do
      bytes[#bytes + 1] = string.char(word % 256)
      word = math.floor(word / 256)
    end
  end
  return table.concat(bytes)
end
