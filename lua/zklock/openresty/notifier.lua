--- notifier: the light threads that read from the engine's Unix socket, and then wake everybody who waits.
local Timer = require "zklock.openresty.timer"
local semaphore = require "ngx.semaphore"

local Notifier = {}
Notifier.__index = Notifier

--- Milliseconds that nginx's timers can count; it only reads again then. No less: nginx logs each time-out as an error.
local LONGEST = 2147483647
--- Seconds without news until it looks whether the worker is to leave; and while something goes on of which nobody
--- tells.
local NAP, SHORT = 10, 0.1
--- Seconds until it tries again to make a connection that failed.
local PATIENCE = 0.1

---@param native userdata the engine's client
---@param host table with `take()`: takes what has arrived; `is_needed()`: is somebody here who may hold or wait?;
---  `must_look()`: does something go on of which nobody tells?; `runner`: where callbacks run
function Notifier.new(native, visits, host)
  local self = setmetatable({ native = native, host = host, kept = false, removed = false, socket = false,
    why = false }, Notifier)
  self.timer = Timer.new(visits, function() self:run() end)
  return self
end

function Notifier:is_wanted()
  return self.kept and not ngx.worker.exiting() or self.host:is_needed()
end

local function connect(self)
  local socket, err = self.native:notifier()
  if not socket then return nil, nil, err end
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

--- Takes what has arrived. If an error (no memory) is raised into that, it tries again: no other byte tells the rest.
local function take(self)
  while not self.host:take() do ngx.sleep(PATIENCE) end
  self.host.runner:borrow()
end

--- A light thread: tells of each byte that arrives, until the connection ends.
local function read(link, line)
  local data, err
  repeat
    data, err = link:receiveany(1024)
    line.news:post(1)
  until not data and err ~= "timeout"
  line.is_open = false
end

--- Takes what arrives, until nobody wants it any more, or the connection ends.
local function listen(self, line)
  take(self)
  while line.is_open and self:is_wanted() do
    line.news:wait(self.host:must_look() and SHORT or NAP)
    take(self)
  end
end

--- Without a connection: looks from time to time. Requests end, and nothing else tells the host.
local function look(self, why)
  if self.why ~= why then ngx.log(ngx.ERR, "zklock: no notifier, trying again: ", why) end
  self.why = why
  self.host:take()
  ngx.sleep(PATIENCE)
end

--- One connection, from its beginning to its end. The reader ends with it, whatever happens: nginx would wait for it.
local function serve(self)
  local link, socket, why = connect(self)
  if not link then return look(self, why) end
  self.socket, self.why = socket, false
  local line = { is_open = true, news = assert(semaphore.new(0)) }
  local reader = ngx.thread.spawn(read, link, line)
  local ok, err = xpcall(listen, debug.traceback, self, line)
  self.socket = false
  socket:drop() -- the reader reads the end
  ngx.thread.wait(reader)
  link:close()
  if not ok then error(err, 0) end
end

--- The function of its timer. It runs also while nginx is leaving, for somebody may wait.
function Notifier:run()
  self.host.runner:forget_guests()
  while self:is_wanted() do serve(self) end
end

--- Is it listened to? Otherwise whoever waits must look himself.
function Notifier:is_heard()
  return self.socket and self.timer:is_running()
end

--- Begins to listen, unless it does.
function Notifier:listen()
  self.timer:ensure()
end

--- Stops, if nobody wants it.
function Notifier:rest()
  if self.socket and not self:is_wanted() then
    self.socket:drop() -- the reader reads the end
    self.socket = false
  end
end

--- Listens from now on, also when nobody needs it just now; or only for those who do.
function Notifier:keep(kept)
  self.kept = kept
  if kept then self:listen() else self:rest() end
end

return Notifier
