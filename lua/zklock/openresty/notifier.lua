-- SPDX-License-Identifier: MIT
--- notifier: the light threads that read from the engine's Unix socket and then wake the waiters.
local Timer = require "zklock.openresty.timer"
local flat = require "zklock.base.flat"
local semaphore = require "ngx.semaphore"

local Notifier = {}
Notifier.__index = Notifier

--- The longest time of an nginx timer, in milliseconds. After it, the reader only reads again; a
--- shorter one would fill the log, because nginx logs each time-out as an error.
local LONGEST = 2147483647
--- Seconds without news after which it checks whether the worker is exiting. SHORT while something
--- goes on whose end nginx does not report.
local NAP, SHORT = 10, 0.1
--- Seconds until it tries a failed connection again.
local PATIENCE = 0.1

---@param native userdata the engine's client
---@param host table with `take()`, which takes the events; `is_needed()`, true while an owner that
---  may hold or wait is left; `must_look()`, true while something goes on whose end nginx does not
---  report; `runner`, which runs the callbacks
function Notifier.new(native, visits, host)
  local self = flat(Notifier, { native = native, host = host, kept = false, removed = false, socket = false,
    why = false })
  self.timer = Timer.new(visits, function() self:run() end)
  return self
end

function Notifier:is_wanted()
  return self.kept and not ngx.worker.exiting() or self.host:is_needed()
end

local function connect(self)
  local socket, err = self.native:notifier()
  if not socket then return nil, nil, err end
  if socket:path():find("^@") then return nil, nil, "no directory for its socket: TMPDIR, /tmp, /var/tmp, /dev/shm" end
  local link = ngx.socket.tcp()
  link:settimeouts(5000, 5000, LONGEST)
  local ok
  ok, err = link:connect("unix:" .. socket:path())
  if ok then
    ok, err = socket:answer()
    if ok then return link, socket end
    link:close()
  end
  socket:drop()
  return nil, nil, err
end

--- Takes the events. If that raises (no memory), it tries again: no other byte announces the rest.
local function take(self)
  while not self.host:take() do ngx.sleep(PATIENCE) end
  self.host.runner:borrow()
end

--- The reader, a light thread: announces each byte, until the connection ends.
local function read(link, news)
  local data, err
  repeat
    data, err = link:receiveany(1024)
    news:post(1)
  until not data and err ~= "timeout"
end

--- Takes events until no owner needs the host, or the reader has ended: with the connection, or by an error (no memory,
--- a hook).
local function listen(self, reader, news)
  take(self)
  while Timer.has_thread(reader) and self:is_wanted() do
    news:wait(self.host:must_look() and SHORT or NAP)
    take(self)
  end
end

--- Without a connection it polls: requests end, and nothing else reports that to the host.
local function look(self, why)
  if self.why ~= why then ngx.log(ngx.ERR, "zklock: no notifier, trying again: ", why) end
  self.why = why
  self.host:take()
  ngx.sleep(PATIENCE)
end

--- One connection from start to end. The reader must end with it: nginx would wait for the reader.
local function serve(self)
  local link, socket, why = connect(self)
  if not link then return look(self, why) end
  self.socket, self.why = socket, false
  local news = assert(semaphore.new(0))
  local reader = ngx.thread.spawn(read, link, news)
  local ok, err = xpcall(listen, debug.traceback, self, reader, news)
  self.socket = false
  socket:drop() -- the reader gets the end of the stream
  ngx.thread.wait(reader)
  link:close()
  if not ok then error(err, 0) end
end

--- The body of its timer. It also runs while the worker exits, because a caller may still wait.
function Notifier:run()
  self.host.runner:forget_guests()
  while self:is_wanted() do serve(self) end
end

--- True if a reader runs. Otherwise each waiter has to check for itself.
function Notifier:is_heard()
  return self.socket and self.timer:is_running()
end

--- Starts a reader, unless one runs.
function Notifier:listen()
  self.timer:ensure()
end

--- Stops the reader if no owner needs it.
function Notifier:rest()
  if self.socket and not self:is_wanted() then
    self.socket:drop() -- the reader gets the end of the stream
    self.socket = false
  end
end

--- true: reads from now on, also while no owner needs it; false: only while one does.
function Notifier:keep(kept)
  self.kept = kept
  if kept then self:listen() else self:rest() end
end

return Notifier
