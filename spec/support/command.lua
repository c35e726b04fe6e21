-- SPDX-License-Identifier: MIT
--- The command line, run as a user runs it.

local process = require "spec.support.process"
local uv = require "luv"

local command = {}

--- A build that is instrumented, or below valgrind: ZKLOCK_COMMAND="valgrind -q build/zklock".
local WORDS = {}
for word in (os.getenv("ZKLOCK_COMMAND") or "build/zklock"):gmatch("%S+") do WORDS[#WORDS + 1] = word end

--- The program itself, for a spec whose shell or whose `zklock run` starts it; from any directory.
command.PROGRAM = WORDS[#WORDS]:find("^/") and WORDS[#WORDS] or uv.cwd() .. "/" .. WORDS[#WORDS]

--- The settings of a user's environment are left out; no configuration is the machine's own.
local PLAIN = { LD_PRELOAD = false, ZKLOCK_SERVERS = false, ZOOKEEPER = false, ZKLOCK_CONFIG = "/dev/null",
  ZKLOCK_RUN = false, ZKLOCK_NODE = false, ZKLOCK_ABOVE = false }

---@class command.options
---@field [integer] string arguments
---@field env table<string, string|false>?
---@field input string? of stdin, which is closed then; nil: closed at once
---@field patience number? seconds, loop.PATIENCE
---@field cwd string?
---@field wrap string[]? words in front of it: of a program that executes it

--- Starts `zklock` with arguments.
---@param options command.options
---@return table process of spec.support.process
function command.start(options)
  local env, all = {}, { cwd = options.cwd }
  for name, value in pairs(PLAIN) do env[name] = value end
  for name, value in pairs(options.env or {}) do env[name] = value end
  all.env = env
  for _, word in ipairs(options.wrap or {}) do all[#all + 1] = word end
  for _, word in ipairs(WORDS) do all[#all + 1] = word end
  for _, word in ipairs(options) do all[#all + 1] = word end
  return process.spawn(all)
end

--- Runs it to its end.
---@param options command.options
---@return { code: integer, out: string, err: string } ended
function command.run(options)
  local one = command.start(options)
  if options.input then
    one.input:write(options.input)
    one.input:shutdown()
  else
    one:close_input()
  end
  local code = one:wait(options.patience)
  if not code then one:kill() end
  one:close_input()
  return { code = code, out = one:stdout(), err = one:stderr() }
end

--- `zklock run` at the server of a fixture. Its words, as arguments or in a table, may hold options of `command.start`.
---@param here table of spec.support.fixture
function command.at(here)
  local at = {}

  --- The words, with an environment in which the server is known.
  function at.options(words)
    words.env = words.env or {}
    if words.env.ZKLOCK_SERVERS == nil then words.env.ZKLOCK_SERVERS = here.zk.hosts end
    return words
  end

  local function words_of(first, ...)
    local words = type(first) == "table" and first or { first, ... }
    table.insert(words, 1, "run")
    return at.options(words)
  end

  function at.run(...) return command.run(words_of(...)) end

  --- Closed after the spec.
  function at.start(...)
    local one = command.start(words_of(...))
    return here:closes(one, one.kill)
  end

  --- A run that holds the fixture's path, and the first line of its command, a script of the shell.
  ---@param script string
  ---@param ... string options of `run`
  function at.holder(script, ...)
    local words = { ... }
    for _, word in ipairs { here.path, "sh", "-c", script } do words[#words + 1] = word end
    local one = at.start(words)
    return one, one:read_line(here.patience)
  end

  return at
end

return command
