-- SPDX-License-Identifier: MIT
--- The wall clock of a process that a spec sets while it runs. The clocks that nobody sets go on as they are.

local preload = require "spec.support.preload"

local wall_clock = {}
wall_clock.__index = wall_clock

local DAY = 86400

--- For a process that is started with `.env`. It goes right at first.
function wall_clock.new()
  local library, place = preload.build("wall_clock")
  local self = setmetatable({}, wall_clock)
  self.env = { LD_PRELOAD = library, WALL_CLOCK_OFFSET = place .. "/offset" }
  self:set(0)
  return self
end

--- Puts it so many days ahead of the true time, or behind it.
function wall_clock:set(days) preload.write(self.env.WALL_CLOCK_OFFSET, ("%d\n"):format(days * DAY)) end

return wall_clock
