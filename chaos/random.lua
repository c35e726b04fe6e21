-- SPDX-License-Identifier: MIT
--- Random numbers that are the same under every Lua, on every machine: what a seed gave once it gives again.

local random = {}
random.__index = random

local MODULUS, FACTOR = 2147483647, 16807 -- Lehmer's; the products stay below 2^53

---@param seed integer
function random.new(seed)
  local self = setmetatable({ state = seed % (MODULUS - 1) + 1 }, random)
  for _ = 1, 10 do self:number() end -- neighbouring seeds begin alike
  return self
end

--- In [0, 1), or in [low, high).
---@return number
function random:number(low, high)
  self.state = self.state * FACTOR % MODULUS
  local fraction = self.state / MODULUS
  return low and low + (high - low) * fraction or fraction
end

--- In low .. high, both included.
---@return integer
function random:integer(low, high) return low + math.floor(self:number() * (high - low + 1)) end

---@param probability number
---@return boolean
function random:chance(probability) return self:number() < probability end

--- One entry of a list.
function random:pick(list) return list[self:integer(1, #list)] end

return random
