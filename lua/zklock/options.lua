--- options: of a lock, as `client:mutex` and its sisters take them. They belong to the path, but for `owner`, which is
--- the handle's.
local check = require "zklock.check"

local options = {}

--- What each kind of lock takes besides.
local KNOWN = {
  mutex = { fair = true, max_hold = true, max_waiting = true, owner = true },
  rwlock = { fair = true, max_hold = true, max_waiting = true, owner = true },
  multilock = { fair = true, max_hold = true, owner = true },
  semaphore = { fair = true, max_hold = true },
}

--- Only what is strict arrival order so far.
---@param kind string
---@return { fair: boolean, max_hold: number?, max_waiting: integer? }
---@return boolean by_thread whether a call that names no owner is its light thread's, inside nginx
function options.check(given, kind, level)
  given = check.options(given, "options", KNOWN[kind], level)
  local fair = given.fair == nil or check.bool(given.fair, "options.fair", level)
  if not fair then error("bad argument 'options.fair' (only true is known so far)", level - 1) end
  local max_hold = given.max_hold
  if max_hold ~= nil then check.seconds(max_hold, "options.max_hold", level) end
  local max_waiting = given.max_waiting
  if max_waiting ~= nil then check.integer(max_waiting, "options.max_waiting", 0, nil, level) end
  local by_thread = given.owner ~= nil and check.word(given.owner, "options.owner", { thread = true }, level)
  return { fair = fair, max_hold = max_hold, max_waiting = max_waiting }, by_thread
end

function options.same(a, b)
  return a.fair == b.fair and a.max_hold == b.max_hold and a.max_waiting == b.max_waiting and a.permits == b.permits
end

return options
