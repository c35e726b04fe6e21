-- SPDX-License-Identifier: MIT
--- One line that says how far the contest is: kept up to date on a terminal, a line for each step elsewhere.

local uv = require "luv"
local wait = require "spec.support.wait"

local progress = {}

local terminal = uv.guess_handle(1) == "tty"
local began, done, all = wait.now(), 0, 1

--- How many steps there are.
function progress.expect(steps) all = steps end

--- Forgets the line, for what is to stay.
function progress.clear()
  if terminal then io.write("\r\27[K") end
end

---@param text string what is going on now
function progress.say(text)
  local seconds = math.floor(wait.now() - began)
  progress.clear()
  io.write(("%3d %%  %2d:%02d  %s"):format(done * 100 // all, seconds // 60, seconds % 60, text),
    terminal and "" or "\n")
  io.flush()
end

--- A step is over.
function progress.step() done = math.min(all, done + 1) end

function progress.seconds() return wait.now() - began end

return progress
