--- bell: the light thread that waits on the engine's Unix socket and wakes everybody else.
local Bell = {}
Bell.__index = Bell

--- Milliseconds that nginx's timers can count; it only reads again then.
local LONGEST = 2147483647
local FAR = 365 * 86400
--- Seconds until it tries again to make a connection that failed.
local PATIENCE = 0.1

---@param native userdata the engine's client
---@param ready fun() takes what has arrived
---@param is_needed fun(): boolean is somebody here who may hold or wait?
function Bell.new(native, ready, is_needed)
  return setmetatable({ native = native, ready = ready, is_needed = is_needed }, Bell)
end

function Bell:is_wanted()
  return self.kept or self.is_needed()
end

local function connect(self)
  local rope, err = self.native:bell()
  if not rope then return nil, nil, err end
  local link = ngx.socket.tcp()
  link:settimeouts(5000, 5000, LONGEST)
  local ok
  ok, err = link:connect("unix:" .. rope:path())
  if ok then
    ok, err = rope:answer()
    if ok then return link, rope end
    link:close()
  end
  rope:drop()
  return nil, nil, err
end

--- What an error (no memory) was raised into is not over, and no byte will come for it: it is tried again.
local function take(self)
  local ok, err = xpcall(self.ready, debug.traceback)
  while not ok do
    ngx.log(ngx.ERR, "zklock: ", err)
    ngx.sleep(PATIENCE)
    ok, err = xpcall(self.ready, debug.traceback)
  end
end

--- Until nobody wants it any more, or the connection ends.
local function serve(self)
  local link, rope, why = connect(self)
  if not link then
    ngx.log(ngx.ERR, "zklock: no bell: ", why)
    ngx.sleep(PATIENCE)
    return
  end
  self.rope = rope
  take(self)
  while self:is_wanted() do
    local data, err = link:receiveany(1024)
    if not data and err ~= "timeout" then break end
    take(self)
  end
  self.rope = nil
  rope:drop()
  link:close()
end

--- A timer's function: also when nginx is leaving, for somebody may wait.
local function run(_, self)
  while self:is_wanted() do serve(self) end
  self.listening = false
end

--- Begins to listen, unless it does.
function Bell:listen()
  if self.listening then return end
  self.listening = true
  local ok, err = ngx.timer.at(0, run, self)
  if ok then return end
  self.listening = false
  error("zklock: cannot listen for grants: " .. err, 0)
end

--- Stops, if nobody wants it.
function Bell:rest()
  if self.rope and not self:is_wanted() then
    self.rope:drop() -- the light thread reads the end
    self.rope = nil
  end
end

local function leave(premature, back)
  local self = back[1]
  if not self or self.removed then return end
  if not premature then return self:keep() end
  self.kept = false
  self:rest()
end

--- Listens from now on until the worker is told to leave. nginx then runs all timers early, and stays for as long as
--- somebody reads: so nobody does who has nothing to wait for.
function Bell:keep()
  if self.removed or ngx.worker.exiting() then return end
  self.kept = ngx.timer.at(FAR, leave, setmetatable({ self }, { __mode = "v" })) and true
  self:listen()
end

--- From now on it listens only for those who are here still.
function Bell:remove()
  self.removed, self.kept = true, false
  self:rest()
end

return Bell
