-- SPDX-License-Identifier: MIT
--- A process that loads zklock and is driven by lines over its pipe.
--
-- Every verb waits for its answer; `begin` and `finish` are for what should go on meanwhile. Values go over as in
-- `spec.support.codec`. The client's news (states, losses, errors, log lines) is kept for `events()`.

local codec = require "spec.support.codec"
local script = require "spec.support.script"

local worker = {}
worker.__index = worker

local PATIENCE = require("spec.support.loop").PATIENCE

local function result(ok, ...)
  if not ok then error("the worker: " .. tostring((...)), 0) end
  return ...
end

--- Starts a worker with the interpreter that runs the spec.
---@param options process.options? env, cwd
---@return table worker with `.pid`
function worker.start(options)
  local self = worker.spawn(options)
  self:finish()
  return self
end

--- The same, but returns at once: the first `finish` waits until it is there.
function worker.spawn(options)
  local self = setmetatable({}, worker)
  self.process = script.spawn("spec/support/worker_main.lua", {}, options)
  self.pid = self.process.pid
  return self
end

--- Sends a verb and returns; `finish` waits for the answer.
function worker:begin(verb, ...)
  assert(not self.pending, "the worker has not answered yet")
  self.pending = verb
  self.process:write(codec.encode(verb, ...))
end

--- Waits for the answer to what `begin` sent.
---@param timeout number? seconds, 60
---@return any ... the verb's results; raises what it raised, and when no answer comes
function worker:finish(timeout)
  local line, err = self.process:read_line(timeout or PATIENCE)
  if not line then
    error(("the worker does not answer %s (%s): %s"):format(self.pending or "at its start", err,
      self.process:stderr()), 0)
  end
  self.pending = nil
  return result(codec.decode(line))
end

--- Whether the answer is there already.
function worker:has_answered() return self.process:stdout():find("\n", 1, true) ~= nil end

--- Sends a verb and waits for its answer.
function worker:call(verb, ...)
  self:begin(verb, ...)
  return self:finish()
end

--- The verbs, with the arguments and results of zklock's API. A mutex is named by its path, the sides of a read-write
--- lock are "read:PATH" and "write:PATH", a multilock is "multilock:PATH+PATH". A semaphore is
--- "semaphore/PERMITS:PATH", has a `count` where others have an owner, answers with a lease's token and gives the
--- oldest lease back:
--- connect(hosts, options) -> true | false, err; lock(path, options); acquire(path, timeout, owner);
--- release(path, owner); is_held, validity, token(path, owner); participants(path, timeout); state();
--- session_id(); session_timeout(); poll(timeout); flush(timeout); stats(); close();
--- on_revoke(path) -> true; revoke(path, timeout);
--- events() -> list of { "state", s }, { "lost", path, err, token }, { "revoke", path }, { "error", message },
--- { "log", level, message };
--- eval(code, ...) -> what the chunk returns (`worker.client`, `worker.lock(path)` are there for it);
--- step(resource's address, verb, token, owner) -> whether it was accepted;
--- contend { path =, rounds =, owner =, resource = address, timeout =, writes =, count = }
---   -> { granted =, failed = { [err] = n } }; with more than one name, "write:/a,read:/a", they take turns
for _, verb in ipairs { "connect", "lock", "acquire", "release", "is_held", "validity", "token",
  "participants", "on_revoke", "revoke", "state", "session_id", "session_timeout", "poll", "flush", "stats",
  "close", "events", "eval", "step", "contend" } do
  worker[verb] = function(self, ...) return self:call(verb, ...) end
end

--- Ends it through os.exit, finalizers run.
---@return integer? code, or nil and "timeout"
function worker:exit(code)
  self:call("exit", code)
  return self.process:wait(PATIENCE)
end

--- SIGKILL.
function worker:kill() self.process:kill() end

--- SIGSTOP; returns when all its threads stand still.
function worker:stop() self.process:stop() end

--- SIGCONT.
function worker:continue() self.process:continue() end

--- Its output on stderr.
function worker:stderr() return self.process:stderr() end

return worker
