-- SPDX-License-Identifier: MIT
--- The number that the resources compare: a hold's token and its turn in one. Of a fair lock the turn is 0.

local fence = {}

--- More turns than any place sees between two faults. With the servers' epochs this still fits into 18 digits.
fence.TURNS = 10000

---@param turn integer below TURNS
function fence.of(token, turn) return token * fence.TURNS + turn end

--- Of many digits: the division alone would be a little off.
function fence.token(number) return math.floor((number - number % fence.TURNS) / fence.TURNS + 0.5) end

return fence
