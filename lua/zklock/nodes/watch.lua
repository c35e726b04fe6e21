--- watch: somebody looks at a node, and is called with its latest state: one call at a time. It is a client's until
--- it is stopped, whoever has it.
local Callbacks = require "zklock.run.callbacks"
local check = require "zklock.base.check"
local core = require "zklock.core"
local errors = require "zklock.base.errors"
local owner = require "zklock.owners.owner"

local quietly = core.quietly

---@class zklock.Watch
---@field private view userdata the engine's
---@field private running any[]|boolean a reference to the coroutine that fn runs in, which does not keep that alive
---@field private called boolean fn has been called with what was taken last, and has not come to its end
---@field private record zklock.Call of fn: again and again, so that to queue it allocates nothing
local Watch = {}
Watch.__index = Watch
Watch.__name = "zklock.Watch"

--- Begins to look.
---@param client zklock.Client
---@param children boolean at the children, not at the data
---@return zklock.Watch? watch
---@return string? err "too many watches", "closed", "forked"
function Watch.new(client, path, children, fn)
  local record = Callbacks.new_call(false, false, false)
  local self = setmetatable({ client = client, fn = fn, path = path, view = false, stopped = false, running = false,
    called = false, record = record }, Watch)
  Callbacks.revoke(record) -- until there is something to tell
  Callbacks.on_failure(record, function() self:fail() end)
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

--- A coroutine that was closed or collected, that nginx has ended, or into which an error was raised where none can be
--- caught, runs fn no more.
local function is_running(self)
  local running = self.running
  if not running or running == true then return running end
  local thread = running[1]
  return thread ~= nil and coroutine.status(thread) ~= "dead"
end

--- One that has not come to its end properly has been told what it was called with.
local function begin(self)
  if is_over(self) then return false end
  local thread = coroutine.running()
  if self.called then self.view:told() end
  self.running, self.called = thread and owner.reference(thread) or true, false
  return true
end

local call

--- For the dispatcher: there is something new. May be told again.
---@private
function Watch:event()
  if is_running(self) or is_over(self) then return end
  self.client.callbacks:tell_again(self.record, call, self)
end

--- For the dispatcher: fn's coroutine may have come to its end without a word.
---@param is_unsure boolean? also before it has begun
---@private
function Watch:remind(is_unsure)
  if (is_unsure or self.running) and not is_running(self) then self:event() end
end

--- The callback has ended by an error that was not fn's (no memory, a hook): another one tells what it had to tell.
---@private
function Watch:fail()
  self.running, self.called = false, false
  self:event()
end

local function finish(self, ok)
  if ok then self.running, self.called = false, false else self:fail() end
end

local function tell(self, is_new, ...)
  if not is_new then return false end
  self.called = true
  local ok, err = xpcall(self.fn, errors.handler, ...)
  self.view:told()
  if not ok then self.client.waits.reporter:tell(err) end
  return true
end

if _VERSION == "Lua 5.1" and not rawget(_G, "jit") then
  local unpack = table.unpack or unpack -- luacheck: ignore 113
  --- xpcall passes no arguments on there.
  tell = function(self, is_new, ...)
    if not is_new then return false end
    local arguments = { ... }
    self.called = true
    local ok, err = xpcall(function() return self.fn(unpack(arguments, 1, 2)) end, errors.handler)
    self.view:told()
    if not ok then self.client.waits.reporter:tell(err) end
    return true
  end
end

local function tell_all(self)
  repeat
    local told = tell(self, self.view:take())
  until not told or is_over(self)
end

--- The callback: tells the latest state, and what has come meanwhile.
function call(self)
  if not quietly(begin, self) then return end
  local ok, err = pcall(tell_all, self)
  quietly(finish, self, ok)
  if not ok then error(err, 0) end
end

--- Nobody is called any more. Twice is fine.
function Watch:stop()
  check.self(self, Watch, "watch:stop")
  if self.stopped then return end
  self.stopped = true
  self.client.dispatcher:unkeep(self)
  self.view:drop()
end

return Watch
