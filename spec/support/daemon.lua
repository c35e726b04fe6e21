-- SPDX-License-Identifier: MIT
--- A server program of another project, on a free port and in a folder of its own, which ends with us.
--
-- A shell stands between us and it: when its stdin ends, in whatever way we end, it ends the program.

local folder = require "spec.support.folder"
local loop = require "spec.support.loop"
local process = require "spec.support.process"
local read = require("spec.support.file").read
local socket = require "socket"
local uv = require "luv"
local lfs = require "lfs"

local daemon = {}
daemon.__index = daemon

local PATIENCE = loop.PATIENCE

local GUARD = [[
trap '' HUP INT TERM
(trap - HUP INT TERM; exec "$@") >log 2>&1 &
echo "$!"
while read -r line; do :; done
kill -TERM "$!"
wait "$!"
]]

--- Where a program is, or nil.
---@param name string
---@return string?
function daemon.find(name)
  for folder_name in (os.getenv("PATH") .. ":/usr/sbin"):gmatch("[^:]+") do
    local path = folder_name .. "/" .. name
    if lfs.attributes(path, "mode") == "file" then return path end
  end
  return nil
end

--- For busted: a suite that needs the program, or one line that says that it is not here.
---@param name string the program
---@param package string Debian's
---@param title string of the describe
---@param body fun(path: string)
function daemon.describe(name, package, title, body)
  local busted = require "busted"
  local path = daemon.find(name)
  busted.describe(title, function()
    if path then return body(path) end
    busted.pending(("skipped: no %s here (Debian's package is %s)"):format(name, package))
  end)
end

---@class daemon.options
---@field command string[]
---@field folder string? its working directory; a new one
---@field port integer? it serves when this port of the loopback accepts
---@field udp boolean? it serves at once
---@field env table<string, string|false>?

--- Starts one; returns when it serves.
---@param options daemon.options
function daemon.start(options)
  local self = setmetatable({ options = options, folder = options.folder or folder.new("daemon"), port = options.port },
    daemon)
  local words = { "sh", "-c", GUARD, "guard", survive = true, detached = true, cwd = self.folder, env = options.env }
  for _, word in ipairs(options.command) do words[#words + 1] = word end
  self.guard = process.spawn(words)
  self.pid = tonumber((self.guard:read_line(PATIENCE)))
  local serves = loop.poll(function() return self:serves() or not daemon.is_there(self.pid) end, PATIENCE)
  if not serves or not daemon.is_there(self.pid) then
    local log = self:log()
    self:stop("sigkill")
    error(("%s does not serve:\n%s"):format(options.command[1], log), 2)
  end
  return self
end

function daemon:serves()
  if not self.port then return true end
  local link = socket.connect("127.0.0.1", self.port)
  if link then link:close() end
  return link ~= nil
end

--- Its output so far.
function daemon:log()
  local file = io.open(self.folder .. "/log")
  local text = file and file:read("*a") or ""
  if file then file:close() end
  return text
end

function daemon.is_there(pid)
  local ok, stat = pcall(read, ("/proc/%d/stat"):format(pid))
  local state = ok and stat and stat:match("%) (%a)")
  return state and state ~= "Z" and state ~= "X" or false
end

--- The pids of the processes whose parent it is.
---@return integer[]
function daemon:children()
  local ok, text = pcall(read, ("/proc/%d/task/%d/children"):format(self.pid, self.pid))
  local list = {}
  for pid in (ok and text or ""):gmatch("%d+") do list[#list + 1] = tonumber(pid) end
  return list
end

function daemon:signal(name) uv.kill(self.pid, name) end

--- Ends it, and removes its folder.
---@param how string? "sigterm"
function daemon:stop(how)
  if self.stopped then return end
  self.stopped = true
  self:signal(how or "sigterm")
  loop.poll(function() return not daemon.is_there(self.pid) end, PATIENCE)
  if daemon.is_there(self.pid) then self:signal("sigkill") end
  self.guard:close_input()
  self.guard:wait(PATIENCE)
  folder.remove(self.folder)
end

-- ---- requests of HTTP

local call = {}
call.__index = call

--- Sends a request and returns; `finish` waits for the answer.
function daemon:begin(path)
  local link = assert(socket.connect("127.0.0.1", self.port))
  link:settimeout(PATIENCE)
  assert(link:send(("GET %s HTTP/1.0\r\nHost: localhost\r\n\r\n"):format(path)))
  return setmetatable({ link = link }, call)
end

--- The answer.
---@return integer? status nil: the connection ended without one
---@return string body
function call:finish()
  local answer, err, part = self.link:receive("*a")
  if not answer and err == "timeout" then error("no answer", 2) end
  self.link:close()
  answer = answer or part
  return tonumber(answer:match("^HTTP/%d%.%d (%d+)")), answer:match("\r\n\r\n(.*)$") or ""
end

--- Goes away without waiting for the answer.
function call:hang_up() self.link:close() end

function daemon:get(path) return self:begin(path):finish() end

return daemon
