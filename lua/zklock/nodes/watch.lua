-- SPDX-License-Identifier: MIT
--- watch: calls a function with the latest state of a node, one call at a time. It goes on until it
--- is stopped, even if the script has dropped it.
local Callbacks = require "zklock.run.callbacks"
local check = require "zklock.base.check"
local core = require "zklock.core"
local errors = require "zklock.base.errors"
local owner = require "zklock.owners.owner"
local yields = require "zklock.base.yields"

local quietly = core.quietly

---@class zklock.Watch
---@field private view userdata the engine's part
---@field private running any[]|boolean a weak reference to the coroutine in which fn runs
---@field private called boolean fn has been called with the latest state, and has not returned
---@field private record zklock.Call of fn
local Watch = {}
Watch.__index = Watch
Watch.__name = "zklock.Watch"

---@param client zklock.Client
---@param children boolean true: watches the children; false: the data
---@return zklock.Watch? watch
---@return string? err "too many watches", "closed", "forked"
function Watch.new(client, path, children, fn)
  local self = setmetatable({ client = client, fn = fn, path = path, view = false, stopped = false, running = false,
    called = false, record = false }, Watch)
  self.record = Callbacks.new_record(function() self:fail() end)
  local view, err = client.native:look_at(path, children, client.dispatcher:enter(self))
  if not view then return nil, err end
  self.view = view
  client.dispatcher:keep(self)
  local attend = client.loop.attend
  if attend then attend(client) end
  return self
end

local function is_over(self)
  return self.stopped or self.client.native:unusable() ~= nil
end

--- False also if fn's coroutine was closed or collected, if nginx has ended it, or if an error was
--- raised into it where nothing could catch the error.
local function is_running(self)
  local running = self.running
  if not running or running == true then return running end
  local thread = running[1]
  return thread ~= nil and coroutine.status(thread) ~= "dead"
end

--- If the former call did not return normally, the state it was called with still counts as
--- delivered. Another callback may have begun just before this one: a hook has polled, or HAProxy has
--- suspended this one. That one delivers everything.
local function begin(self)
  local former, thread = self.running, coroutine.running()
  if is_over(self) or is_running(self) then return false end
  if not core.replace(self, "running", former, thread and owner.reference(thread) or true) then return false end
  if self.called then self.view:told() end
  self.called = false
  return true
end

local call

--- The dispatcher calls this, perhaps twice, when there is news.
---@private
function Watch:event()
  if is_running(self) or is_over(self) then return end
  self.running = false -- nginx may use the coroutine of a former call again
  self.client.callbacks:tell_again(self.record, call, self)
end

--- The dispatcher calls this when fn's coroutine may have ended without notice.
---@param is_unsure boolean? true: perhaps before fn began
---@private
function Watch:remind(is_unsure)
  if (is_unsure or self.running) and not is_running(self) then self:event() end
end

--- True if another coroutine runs fn than the one that asks.
local function runs_elsewhere(self)
  local running, thread = self.running, coroutine.running()
  if running == true then return thread ~= nil end
  return is_running(self) and running[1] ~= thread
end

--- An error that was not fn's (no memory, a hook) has ended the callback: another call delivers the
--- rest, perhaps one that a hook has begun meanwhile.
---@private
function Watch:fail()
  if runs_elsewhere(self) then return end
  self.running, self.called = false, false
  self:event()
end

local function end_unless(self, is_new, ...)
  if not is_new then self.running, self.called = false, false end
  return is_new, ...
end

--- The latest state, if fn does not have it. In one section: a state that comes after the last look begins another
--- callback.
local function take(self)
  return end_unless(self, self.view:take())
end

local function tell(self, is_new, ...)
  if not is_new then return false end
  self.called = true
  local ok, err = yields.xpcall(self.fn, errors.handler, ...)
  self.view:told()
  if not ok then self.client.waits.reporter:tell(err) end
  return true
end

local function tell_all(self)
  repeat
    local told = tell(self, quietly(take, self))
  until not told or is_over(self)
end

--- The callback: delivers the latest state, and any state that arrives meanwhile.
function call(self)
  if not begin(self) then return end
  local ok, err = pcall(tell_all, self)
  if ok then return end
  quietly(self.fail, self) -- nobody may begin before this one counts as ended
  error(err, 0)
end

--- After this, nothing calls fn. A second call does nothing.
function Watch:stop()
  check.self(self, Watch, "watch:stop")
  if self.stopped then return end
  self.stopped = true
  self.client.dispatcher:unkeep(self)
  self.view:drop()
end

return Watch
