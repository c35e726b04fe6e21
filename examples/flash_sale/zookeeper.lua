-- SPDX-License-Identifier: MIT
-- A ZooKeeper server to throw away: on a free port of this machine only, its data in a folder of the caller's.

local uv = require "luv"

local zookeeper = {}

-- Debian's libzookeeper-java; elsewhere, say where the jars are.
local CLASSPATH = os.getenv("ZOOKEEPER_CLASSPATH") or "/usr/share/java/zookeeper.jar"

local CONFIG = [[
tickTime=500
dataDir=%s
clientPort=%d
clientPortAddress=127.0.0.1
admin.enableServer=false
]]

local function free_port()
  local socket = uv.new_tcp()
  assert(socket:bind("127.0.0.1", 0))
  local port = socket:getsockname().port
  socket:close()
  return port
end

-- The command that runs the server, and where it is reached.
function zookeeper.prepare(folder)
  local port = free_port()
  local path = folder .. "/zookeeper.cfg"
  local file = assert(io.open(path, "w"))
  file:write(CONFIG:format(folder .. "/zookeeper", port))
  file:close()
  return {
    "java", "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
    "-Dzookeeper.forceSync=no", -- it need not survive a power cut
    "-cp", CLASSPATH, "org.apache.zookeeper.server.quorum.QuorumPeerMain", path,
  }, port
end

local PATIENCE = 500 -- ms; a server that is just starting may take a question and never answer it

-- Asks a server how it is, unless a question is still open. `reply.ok` becomes true once it answers that it serves.
function zookeeper.ask(port, reply)
  if reply.socket then
    if uv.now() - reply.asked < PATIENCE then
      return
    end
    reply.socket:close()
  end
  local socket, text = uv.new_tcp(), ""
  reply.socket, reply.asked = socket, uv.now()
  local function finish()
    if reply.socket == socket then
      reply.socket = nil
      socket:close()
    end
  end
  socket:connect("127.0.0.1", port, function(refused)
    if refused then
      finish()
      return
    end
    socket:write("srvr")
    socket:read_start(function(_, chunk)
      text = text .. (chunk or "")
      if not chunk then
        reply.ok = reply.ok or text:find("Mode: ", 1, true) ~= nil
        finish()
      end
    end)
  end)
end

return zookeeper
