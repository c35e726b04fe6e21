-- SPDX-License-Identifier: MIT
--- Child processes with pipes, which never outlive the spec that started them.
--
-- Each child is started through setpriv's parent-death signal: the kernel kills it when this process ends, however
-- it ends (a failed spec, Ctrl-C, kill -9). Nothing has to be cleaned up for that to work. The signal only counts from
-- the moment it is asked for, so the child then looks whether its parent is still there.

local uv = require "luv"
local kept = require "spec.support.kept" "children"
local loop = require "spec.support.loop"

local process = {}
process.__index = process

local LEASH = { "setpriv", "--pdeathsig", "KILL", "--",
  "sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"', ("%d"):format(uv.os_getpid()) }

--- For `env`: children that have nothing to do with zklock go without what a sanitizer preloads into this process.
process.PLAIN = { LD_PRELOAD = false }

--- The same for our own helpers, which run under lua5.4 whatever Lua the spec runs under.
process.PLAIN_LUA = { LD_PRELOAD = false, LUA_PATH_5_4 = "./?.lua;;", LUA_CPATH_5_4 = ";;", LUA_INIT = false,
  LUA_INIT_5_4 = false }

local children = kept -- pid -> process, those that were not seen to end

--- The environment as uv wants it, and what a sanitizer preloads: that is for the command alone, because it crashes
--- the shell of the leash.
local function environment(additions)
  local all, list = uv.os_environ(), {}
  for name, value in pairs(additions or {}) do all[name] = value end
  for name, value in pairs(all) do
    if value and name ~= "LD_PRELOAD" then list[#list + 1] = name .. "=" .. value end
  end
  return list, all.LD_PRELOAD or nil
end

local function collect(self, stream)
  local pipe = uv.new_pipe(false)
  self[stream] = { pipe = pipe, text = "", eof = false }
  return pipe
end

local function listen(self, stream)
  local buffer = self[stream]
  if not buffer then return end
  buffer.pipe:read_start(function(err, chunk)
    if chunk and not err then
      buffer.text = buffer.text .. chunk
    else
      buffer.eof = true
      if not buffer.pipe:is_closing() then buffer.pipe:close() end
    end
  end)
  buffer.pipe:unref()
end

---@class process.options
---@field [integer] string the command and its arguments
---@field env table<string, string|false>? additions to the environment; false takes a name out
---@field cwd string?
---@field output string? a file that gets stdout and stderr, for children nobody reads from
---@field detached boolean? a session of its own, out of reach of the terminal's Ctrl-C
---@field survive boolean? live on when this process dies

--- Starts a child.
---@param options process.options
---@return table process with `.pid`; raises when it cannot be started
function process.spawn(options)
  local self = setmetatable({}, process)
  local args, env, preload = {}, environment(options.env)
  for _, word in ipairs(options.survive and {} or LEASH) do args[#args + 1] = word end
  if preload then
    args[#args + 1] = "env"
    args[#args + 1] = "LD_PRELOAD=" .. preload
  end
  for _, word in ipairs(options) do args[#args + 1] = tostring(word) end
  local command = table.remove(args, 1)
  local stdio, fd
  self.input = uv.new_pipe(false)
  if options.output then
    fd = assert(uv.fs_open(options.output, "a", 384))
    stdio = { self.input, fd, fd }
  else
    stdio = { self.input, collect(self, "out"), collect(self, "err") }
  end
  local handle, pid = uv.spawn(command, {
    args = args, stdio = stdio, env = env, cwd = options.cwd, detached = options.detached,
  }, function(code, signal)
    self.code, self.term_signal = code, signal
    children[self.pid] = nil
    self.handle:close()
  end)
  if fd then uv.fs_close(fd) end
  if not handle then error(("cannot start %s: %s"):format(command, pid), 2) end
  self.handle, self.pid = handle, pid
  handle:unref()
  self.input:unref()
  children[pid] = self
  listen(self, "out")
  listen(self, "err")
  return self
end

--- Sends a line to its stdin. A child that is gone is noticed by the read that follows.
function process:write(line)
  if not self.input:is_closing() then self.input:write(line .. "\n") end
end

--- Closes its stdin.
function process:close_input()
  if self.input:is_closing() then return end
  self.input:close()
  loop.settle()
end

--- The next line of its stdout.
---@param timeout number? seconds, loop.PATIENCE
---@return string? line
---@return string? err "timeout" or "eof"
function process:read_line(timeout)
  local buffer = self.out
  loop.turn_until(function() return buffer.eof or buffer.text:find("\n", 1, true) end, timeout or loop.PATIENCE)
  local line, rest = buffer.text:match("^([^\n]*)\n(.*)$")
  if line then
    buffer.text = rest
    return line
  end
  return nil, buffer.eof and "eof" or "timeout"
end

local function drain(buffer)
  uv.run("nowait")
  return buffer and buffer.text or ""
end

--- Its output on stderr so far.
---@return string
function process:stderr() return drain(self.err) end

--- Its output on stdout that nobody read yet.
---@return string
function process:stdout() return drain(self.out) end

--- Waits for its end; its output is complete then.
---@param timeout number? seconds, loop.PATIENCE
---@return integer? code
---@return integer|string signal that ended it (0: none), or "timeout"
function process:wait(timeout)
  local ended = loop.turn_until(function()
    return self.code and (not self.out or self.out.eof and self.err.eof)
  end, timeout or loop.PATIENCE)
  -- A grandchild may hold the pipes open: the child itself is over all the same.
  if not ended and not self.code then return nil, "timeout" end
  return self.code, self.term_signal
end

---@return boolean
function process:is_running()
  uv.run("nowait")
  return self.code == nil
end

--- Sends a signal by name ("sigterm", "TERM").
function process:signal(name)
  if self.code then return false end
  name = name:lower()
  return uv.process_kill(self.handle, name:match("^sig") and name or "sig" .. name) == 0
end

--- To the end, without which the scan's memory is not given back.
local function entries(directory)
  local scan, names = uv.fs_scandir(directory), {}
  if scan then
    for name in function() return uv.fs_scandir_next(scan) end do names[#names + 1] = name end
  end
  return names
end

local function threads_stopped(pid)
  for _, task in ipairs(entries(("/proc/%d/task"):format(pid))) do
    local file = io.open(("/proc/%d/task/%s/stat"):format(pid, task))
    local state = file and file:read("*a"):match("%) (%a)")
    if file then file:close() end
    if state and not state:match("[TtZX]") then return false end
  end
  return true
end

--- Waits until every thread stands still.
function process:await_stop()
  return loop.poll(function() return threads_stopped(self.pid) end, loop.PATIENCE, 0.001)
end

--- SIGSTOP; returns when every thread stands still.
function process:stop()
  self:signal("sigstop")
  self:await_stop()
end

--- SIGCONT.
function process:continue() self:signal("sigcont") end

--- SIGKILL; returns when it is gone.
function process:kill()
  self:signal("sigkill")
  if self.out then
    loop.turn_until(function() return self.code end, loop.PATIENCE)
  else
    self:wait()
  end
  self:close_input()
end

--- Ends every child that is still there.
function process.kill_all()
  local list = {}
  for _, child in pairs(children) do list[#list + 1] = child end
  for _, child in ipairs(list) do child:signal("sigkill") end
  for _, child in ipairs(list) do child:kill() end
end

return process
