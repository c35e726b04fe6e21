-- SPDX-License-Identifier: MIT
-- For wrk: which request comes next.
local PATHS = { "/mutex", "/place", "/mutex", "/place", "/request", "/timer", "/thread", "/semaphore", "/rwlock",
  "/part", "/busy", "/lost", "/client" }
local at = 0

function request() -- luacheck: ignore 111
  at = at + 1
  -- /client makes a session of its own: not often.
  local path = at % 500 == 0 and "/client" or PATHS[at % (#PATHS - 1) + 1]
  return wrk.format("GET", ("%s?%d"):format(path, at % 7)) -- luacheck: ignore 113
end
