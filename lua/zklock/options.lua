--- options: of a lock, as `client:mutex` and its sisters take them. They belong to the path.
local check = require "zklock.check"

local options = {}

--- Only what is strict arrival order so far.
---@return { fair: boolean, max_hold: number? }
function options.check(given, level)
  given = check.options(given, "options", { fair = true, max_hold = true }, level)
  local fair = given.fair == nil or check.bool(given.fair, "options.fair", level)
  if not fair then error("bad argument 'options.fair' (only true is known so far)", level - 1) end
  local max_hold = given.max_hold
  if max_hold ~= nil then check.seconds(max_hold, "options.max_hold", level) end
  return { fair = fair, max_hold = max_hold }
end

function options.same(a, b)
  return a.fair == b.fair and a.max_hold == b.max_hold and a.permits == b.permits
end

return options
