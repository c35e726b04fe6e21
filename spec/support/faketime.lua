-- SPDX-License-Identifier: MIT
--- A wall clock that is wrong from a process' start on, by Debian's libfaketime. The clock by which timeouts are kept
--- stays right. (`spec.support.wall_clock` is for one that a spec sets while the process runs.)

local uv = require "luv"

local faketime = {}

local PLACES, NAME = "/usr/lib", "faketime/libfaketime.so.1"

--- Debian has it in a folder that is named after the architecture.
local function library()
  local scan = uv.fs_scandir(PLACES)
  for place in function() return uv.fs_scandir_next(scan) end do
    local path = ("%s/%s/%s"):format(PLACES, place, NAME)
    if uv.fs_stat(path) then return path end
  end
  error("no libfaketime.so.1 below /usr/lib: Debian's package is libfaketime", 0)
end

--- For a process that is started with it. Without the last of these, Java's waits end at once: the library takes the
--- offset from their deadlines, which are of the clock that is right.
---@param seconds integer ahead of the true time, or behind it if negative
---@return table<string, string> env
function faketime.env(seconds)
  return { LD_PRELOAD = library(), FAKETIME = ("%+d"):format(seconds), FAKETIME_DONT_FAKE_MONOTONIC = "1",
    FAKETIME_FORCE_MONOTONIC_FIX = "0" }
end

return faketime
