-- SPDX-License-Identifier: MIT
--- Locks with fair = false at the path of the spec that runs, as specs of places need them.
--
--   local place = places.new(here)
--   setup(function() place.client = here:connect() end)

local wait = require "spec.support.wait"

local place = {}
place.__index = place

--- Options of a lock whose place is kept for long unless they say otherwise.
function place.options(options)
  local all = { fair = false, linger = 100 }
  for name, value in pairs(options or {}) do all[name] = value end
  return all
end

function place:shared(options) return self.client:mutex(self.here.path, place.options(options)) end

--- A lock whose place is there, and used by nobody; and its token.
function place:idle(options)
  local lock = self:shared(options)
  local token = assert(lock:acquire(self.here.patience))
  assert(lock:release())
  return lock, token
end

--- The number of requests that fn sends to the servers, heartbeats left out: those of a long session are far apart.
function place:requests_of(fn)
  local before = self.client:stats().requests_sent
  fn()
  return self.client:stats().requests_sent - before
end

--- Until nothing has been sent for a while that somebody waits for: the watch on the place's own node is there.
function place:settles(lock)
  wait.eventually(function()
    local before = self.client:stats().handed
    assert(lock:acquire(self.here.patience))
    assert(lock:release())
    return self.client:stats().handed > before
  end, self.here.patience)
end

local places = {}

--- `here`: the spec's fixture; the field `client` is to be set before a lock is asked for.
function places.new(here) return setmetatable({ here = here }, place) end

return places
