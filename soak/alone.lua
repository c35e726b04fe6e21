-- SPDX-License-Identifier: MIT
--- For nginx.conf: works under a lock, and counts if another caller of this nginx has come to hold it meanwhile.
local ngx = rawget(_G, "ngx")
local counts = ngx.shared.counts

--- A grant is later than one with a smaller token, or with the same token and a smaller turn. One that comes late with
--- a smaller one does not count: its session has ended, and a resource would refuse it.
local function is_later(token, turn, than_token, than_turn)
  return token > than_token or token == than_token and turn > than_turn
end

---@param lock zklock.Lock held by the caller
---@param key string of its path
return function(lock, key)
  local token, turn = lock:token(), lock:turn()
  if not token or not turn then return end -- lost already
  counts:set(key .. " token", token)
  counts:set(key .. " turn", turn)
  ngx.sleep(0.001)
  local later = is_later(counts:get(key .. " token"), counts:get(key .. " turn"), token, turn)
  if later and lock:validity() > 0 then counts:incr("oversold", 1, 0) end
  counts:incr("locks", 1, 0)
end
