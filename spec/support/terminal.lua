-- SPDX-License-Identifier: MIT
--- A shell on a terminal of its own, at which somebody types.

local loop = require "spec.support.loop"
local process = require "spec.support.process"

local terminal = {}
terminal.__index = terminal

local unpack = unpack or table.unpack -- luacheck: ignore 143

local PROMPT = "next> "

--- The shell has no configuration of its own, and no editor that would draw on the line.
local SHELLS = {
  bash = { "bash", "--norc", "--noprofile", "--noediting", "-i" },
  dash = { "dash", "-i" },
}

--- Starts a shell, and waits for its prompt.
---@param shell "bash"|"dash"
---@param env table<string, string|false>? additions to the environment
---@return table terminal
function terminal.start(shell, env)
  local all = { LD_PRELOAD = false, TERM = "xterm", LC_ALL = "C.UTF-8", ENV = false }
  for name, value in pairs(env or {}) do all[name] = value end
  local words = { env = all, "python3", "spec/support/terminal.py", PROMPT }
  for _, word in ipairs(SHELLS[shell]) do words[#words + 1] = word end
  local self = setmetatable({ process = process.spawn(words), seen = "" }, terminal)
  self:await_prompt()
  return self
end

--- Types text, as it is.
function terminal:type(text)
  self.process.input:write(text)
  loop.settle()
end

--- Types a line.
function terminal:enter(line) self:type(line .. "\r") end

--- Types a key with Control.
function terminal:control(key) self:type(string.char(key:upper():byte() - 64)) end

--- The output that was shown and not waited for yet.
function terminal:shown()
  self.seen = self.seen .. self.process:stdout()
  if self.process.out then self.process.out.text = "" end
  return self.seen
end

--- Waits until the terminal shows it, and takes all that was shown up to there.
---@param pattern string
---@param timeout number? seconds, loop.PATIENCE
---@return string before ... what was shown before it; then the captures
function terminal:await(pattern, timeout)
  local found
  loop.turn_until(function()
    found = { self:shown():find(pattern) }
    return found[1] or not self.process:is_running()
  end, timeout or loop.PATIENCE)
  if not found[1] then error(("the terminal does not show %q, but %q"):format(pattern, self.seen), 2) end
  local before = self.seen:sub(1, found[1] - 1)
  self.seen = self.seen:sub(found[2] + 1)
  return before, select(3, unpack(found))
end

--- Waits for the prompt; what was shown before it.
function terminal:await_prompt(timeout) return (self:await(PROMPT, timeout)) end

--- Runs a line to its end; what it shows.
function terminal:run(line, timeout)
  self:enter(line)
  self:await("\r\n") -- the echo of the line
  return self:await_prompt(timeout)
end

--- The exit code of the latest line.
function terminal:code() return tonumber(self:run("echo $?"):match("%d+")) end

--- How the terminal is set, in stty's own words.
function terminal:settings() return (self:run("stty -g")) end

function terminal:close() self.process:kill() end

return terminal
