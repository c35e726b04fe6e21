-- SPDX-License-Identifier: MIT
-- Checks that no module of lua/zklock compares an owner with `==` or `~=`: they call the owner's `__eq`, which may
-- lie or raise. `rawequal` compares by identity.
--
-- It goes by the names that owners have everywhere: a variable `who` or `caller`, the field `whose[1]`, `owner.main`.
-- `not who and who == nil` is legal: it compares only what is false or nil.
--
-- usage: lua5.4 tools/owners.lua [FOLDER]     such as lua

local ROOT = (arg[1] or "lua") .. "/zklock/"

local OWNERS = { "^who$", "^caller$", "whose%[1%]$", "^owner%.main$" }
local OPERAND = "[%w_%.%[%]]+"

local wrong, files = {}, 0

local function is_owner(operand)
  for _, pattern in ipairs(OWNERS) do
    if operand:find(pattern) then return true end
  end
  return false
end

--- A line without its strings, its comment, and the comparison that is legal.
local function code_of(line)
  local code = line:gsub('"[^"]*"', '""'):gsub("%-%-.*", "")
  return (code:gsub("not (" .. OPERAND .. ") and (" .. OPERAND .. ") == nil", function(a, b)
    return a == b and "false" or nil
  end))
end

local function check(file)
  local number = 0
  files = files + 1
  for line in io.lines(file) do
    number = number + 1
    for left, operator, right in code_of(line):gmatch("(" .. OPERAND .. ")%s*([=~]=)%s*%(*(" .. OPERAND .. ")") do
      for _, operand in ipairs { left, right } do
        if is_owner(operand) then
          wrong[#wrong + 1] = ("%s:%d: an owner is compared with %s, which calls its __eq: rawequal(%s, %s)")
            :format(file, number, operator, left, right)
          break
        end
      end
    end
  end
end

local find = assert(io.popen(("find '%s' -name '*.lua' | sort"):format(ROOT)))
for file in find:lines() do check(file) end
find:close()

for _, line in ipairs(wrong) do print(line) end
os.exit(#wrong == 0 and files > 0)
