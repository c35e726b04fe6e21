-- SPDX-License-Identifier: MIT
--- log: hands the lines of the engine's log, and losses, to the script's function, and the client's
--- own warnings to the host's log.
local Callbacks = require "zklock.run.callbacks"
local core = require "zklock.core"
local owner = require "zklock.owners.owner"
local text = require "zklock.base.text"

local quietly = core.quietly

--- Lines of a trace that one turn hands over. A function that itself causes changes of states must
--- not keep the turn busy for ever.
local MOST = 256

---@class zklock.Log
---@field private dispatcher zklock.Dispatcher
---@field private fn function|false
---@field private level "error"|"warn"|"debug"
---@field private running any[]|boolean a weak reference to the coroutine that hands a trace over
---@field private record zklock.Call|false of a trace
local Log = {}
Log.__index = Log

local take_some

--- Hands a trace over, or goes on with it after an error in the function.
local function go_on(self)
  self.running = false
  self.dispatcher.callbacks:tell_again(self.record, take_some, self)
end

---@param dispatcher zklock.Dispatcher
---@param fn function|false
---@param level "error"|"warn"|"debug" the lowest level that fn gets
function Log.new(dispatcher, fn, level)
  local self = setmetatable({ dispatcher = dispatcher, fn = fn, level = level, running = false, record = false }, Log)
  if level == "debug" then self.record = Callbacks.new_record(function() go_on(self) end) end
  return self
end

--- Takes the oldest line. It goes to the host's log if it is a warning or an error of our own.
---@return string? level nil: there is no line
---@return string? line safe to show
---@return "zklock"|"zookeeper"|nil source
local function take(self)
  local level, line, own = self.dispatcher.native:take_log()
  if not level then return nil end
  line = text.escape(line)
  if own and level ~= "debug" then self.dispatcher:note_warning(line) end
  return level, line, own and "zklock" or "zookeeper"
end

--- The coroutine may have ended without notice, as nginx ends light threads.
local function is_running(self)
  local thread = self.running and self.running[1]
  return thread and coroutine.status(thread) ~= "dead"
end

--- The next line for the running coroutine. One that finds another one at work gets none. In one
--- section: a line that comes after the last look begins another callback.
local function next_line(self, is_first)
  if is_first and is_running(self) then return nil end
  if is_first then self.running = owner.reference(coroutine.running()) end
  local level, line, source = take(self)
  if not level then self.running = false end
  return level, line, source
end

--- A callback that hands over the lines of a trace, in order, one after the other. While the
--- function waits, the engine keeps the latest lines and counts the others.
function take_some(self)
  for n = 1, MOST do
    local level, line, source = quietly(next_line, self, n == 1)
    if not level then return end
    self.fn(level, line, source)
  end
  go_on(self)
end

--- Tells a line of our own in the next turn.
---@param level "error"|"warn"
function Log:tell(level, line)
  if self.fn and (self.level ~= "error" or level == "error") then
    self.dispatcher.callbacks:later(self.fn, level, line, "zklock")
  end
end

--- Takes all lines. A line is lost if there is no memory for it.
local function take_all(self)
  local level, line = take(self)
  while level do
    self:tell(level, line)
    level, line = take(self)
  end
end

local function begin(self)
  if not is_running(self) then go_on(self) end
end

--- The dispatcher calls this, perhaps twice, when there are lines.
function Log:event()
  if not self.record then return take_all(self) end
  quietly(begin, self) -- nobody may begin to hand over between the look and the reset
end

return Log
