-- SPDX-License-Identifier: MIT
--- Running scripts in a program that has the spec's Lua in it (spec/support/host.c).
--
-- Each script runs in a Lua state of its own, which is closed before the next script begins; the process lives on.
-- The scripts have the global `host`:
--
--   fork([how]) -> 0 in the child, else its id; or nil, message. `how` is "fork", "_Fork" or "clone"
--   wait(child) -> exit code; or nil, signal
--   exec(program, ...)                         exit(code): at once, without any cleaning up
--   stop(), die(): SIGSTOP, SIGKILL to itself
--   other_state(code) -> true; or nil, message: runs it in a state beside this one, which is closed then
--
-- A script may leave `handlers`, a list of { NAME, FUNCTION }, as a program with an event loop in C has them: they are
-- called after it, one after the other, each on the thread of that name ("main", or another), idle in between.

-- With HOST_THREAD in `options.env` they run in another thread than the main one, which has no Lua; with "blocked" that
-- thread blocks all signals.

local uv = require "luv"
local folder = require "spec.support.folder"
local process = require "spec.support.process"
local script = require "spec.support.script"

local host = {}

--- The program lies beside the module that the spec loads: `make hosts`.
local function program()
  local build = (os.getenv("LUA_CPATH") or ""):match("^([^;?]+)/%?%.so")
  return (build or uv.cwd() .. "/build/" .. script.version()) .. "/host"
end

--- Starts it and returns at once.
---@param scripts string[] Lua code, one chunk for each state
---@param args string[]?
---@param options process.options?
---@return table process
function host.spawn(scripts, args, options)
  local command = { program() }
  for name, value in pairs(options or {}) do
    if type(name) == "string" then command[name] = value end
  end
  command.env = script.environment(command.env)
  for i, code in ipairs(scripts) do
    command[#command + 1] = folder.file("state-" .. i .. ".lua", code)
  end
  command[#command + 1] = "--"
  for _, word in ipairs(args or {}) do command[#command + 1] = word end
  return process.spawn(command)
end

--- Runs it to its end (60 s at most, then it is killed).
---@return table result as `script.run`
function host.run(scripts, args, options)
  return script.finish(host.spawn(scripts, args, options))
end

return host
