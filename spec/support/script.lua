-- SPDX-License-Identifier: MIT
--- Running Lua scripts with the interpreter that runs the spec.
--
-- A script finds `zklock` as the spec does: through LUA_PATH and LUA_CPATH where the Makefile set them, else below
-- lua/ and build/VERSION/.

local uv = require "luv"
local folder = require "spec.support.folder"
local process = require "spec.support.process"

local script = {}

---@return string "5.1" to "5.5" or "luajit": the name of the folder below build/
function script.version() return rawget(_G, "jit") and "luajit" or _VERSION:match("%d%.%d") end

--- Whether this Lua has to-be-closed variables.
function script.has_close() return (loadstring or load) "local it <close> = nil" ~= nil end

---@return string path of the running interpreter
function script.interpreter() return uv.exepath() end

--- Where a process finds what the spec finds.
---@param additions table<string, string|false>? to the environment
---@return table<string, string|false>
function script.environment(additions)
  local env = {}
  for name, value in pairs(additions or {}) do env[name] = value end
  local suffix = _VERSION:gsub("Lua (%d)%.(%d)", "_%1_%2")
  if not (os.getenv("LUA_PATH") or os.getenv("LUA_PATH" .. suffix) or env.LUA_PATH) then
    env.LUA_PATH = ("@/lua/?.lua;@/lua/?/init.lua;@/?.lua;;"):gsub("@", (uv.cwd():gsub("%%", "%%%%")))
  end
  if not (os.getenv("LUA_CPATH") or os.getenv("LUA_CPATH" .. suffix) or env.LUA_CPATH) then
    env.LUA_CPATH = ("%s/build/%s/?.so;;"):format(uv.cwd(), script.version())
  end
  return env
end

--- Starts a script and returns at once.
---@param source string path of a script, or Lua code (what is no readable file is code)
---@param args string[]?
---@param options process.options?
---@return table process
function script.spawn(source, args, options)
  local command = { script.interpreter() }
  for name, value in pairs(options or {}) do
    if type(name) == "string" then command[name] = value end
  end
  command.env = script.environment(command.env)
  local file = not source:find("\n") and #source < 1024 and io.open(source, "r")
  if file then file:close() end
  command[2] = file and source or folder.file("script.lua", source)
  for _, word in ipairs(args or {}) do command[#command + 1] = word end
  return process.spawn(command)
end

--- Waits for a child's end (60 s at most, then it is killed).
---@return table result { code =, signal =, stdout =, stderr = }; code nil and signal "timeout" if it had to be killed
function script.finish(child)
  child:close_input()
  local code, signal = child:wait(60)
  if not code then child:kill() end
  return { code = code, signal = signal, stdout = child:stdout(), stderr = child:stderr() }
end

--- Runs a script to its end.
---@param source string path or code
---@return table result of `script.finish`
function script.run(source, ...) return script.finish(script.spawn(source, { ... })) end

return script
