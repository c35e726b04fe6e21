-- SPDX-License-Identifier: MIT
--- The resource that locks protect, and its log, by which exclusion is judged.
--
-- One process owns the resource and writes the log; whoever uses it sends its token with every step. It refuses a
-- token smaller than the largest it has seen, as a real resource would. One line a step:
--
--     TOKEN OWNER VERB accepted|refused
--
--   ask    OWNER begins to wait for the lock (token 0)      quit  it got an answer, but not the lock (token 0)
--   enter  it was granted the lock and goes in              write a step inside
--   leave  it goes out, still holding                       lost  it says that it was told of its loss
--   join, read, part: the same as enter, write, leave for one who lets others in beside it: a reader, a lease
--   freed  a release that began at UNTIL answered `true`: it was still held at that moment
--   live   it was refused although it still was sure to hold (validity above 0): always a violation
--   gone   its process ended (written by the resource itself)
--
-- A step with a token may say until when its owner is sure to hold; then the line has two more fields, the moment at
-- which the resource took the step, and that one, both in microseconds of the monotonic clock:
--
--     TOKEN OWNER VERB accepted|refused NOW UNTIL
--
-- A holder whose token is not its node's (a read under a write) says by which node it holds:
--
--     TOKEN OWNER under accepted NOW NODE'S
--
-- Operators say beforehand what takes a lock from one who may be sure of it; OWNER is a process, whose owners are
-- OWNER/...:
--
--   void    the node that made this token is about to be deleted
--   ending  the session is about to be ended (token 0)       ended  it is; tokens up to this one may be of it
--
-- An owner's name is used by one process only, and holds no blanks.

local socket = require "socket"

local resource = {}
resource.__index = resource

local writer = {}
writer.__index = writer

---------------------------------------------------------------------------------------------------------------
-- For those who use it: any process, with no more than luasocket

--- Opens a link to the resource.
---@param address string `resource.address`
function resource.open(address)
  local host, port = address:match("^(.*):(%d+)$")
  local link = assert(socket.connect(host, tonumber(port)))
  link:setoption("tcp-nodelay", true)
  link:settimeout(30)
  return setmetatable({ link = link }, writer)
end

local function step(self, verb, token, owner, sure)
  local claim = sure and (" %d"):format(sure) or ""
  assert(self.link:send(("%s %d %s%s\n"):format(verb, token, owner, claim)))
  return assert(self.link:receive("*l")) == "accepted"
end

--- Any step, by its name.
writer.step = step

--- Those with a token give whether the resource accepted it.
---@param sure integer? until when the owner is sure to hold: microseconds of `uv.hrtime`'s clock. 0 only has the
---  moment noted
---@return boolean
function writer:ask(owner, sure) return step(self, "ask", 0, owner, sure) end
function writer:quit(owner, sure) return step(self, "quit", 0, owner, sure) end

for _, verb in ipairs { "enter", "write", "leave", "join", "read", "part", "lost", "live", "freed" } do
  writer[verb] = function(self, token, owner, sure) return step(self, verb, token, owner, sure) end
end

--- The hold with this token is there by the node that was made with that one.
function writer:under(token, owner, node) return step(self, "under", token, owner, node) end

--- Steps of operators. Each returns when it is written: what comes of the deed stands behind it.
function writer:void(token, owner) return step(self, "void", token, owner) end
function writer:ending(owner) return step(self, "ending", 0, owner) end
function writer:ended(token, owner) return step(self, "ended", token, owner) end

--- Waits until every step so far is in the log file.
function writer:sync() return step(self, "sync", 0, "-") end

--- Closes the link. Owners that were inside or waiting through it count as gone.
function writer:close() self.link:close() end

---------------------------------------------------------------------------------------------------------------
-- For the spec

--- Starts the resource.
---@return table resource with `.address` and `.path` of its log
function resource.start()
  -- Not at the top: workers use this module too, and need none of it.
  local folder = require "spec.support.folder"
  local process = require "spec.support.process"
  local former = require "spec.support.kept" "resources" -- by address: workers that live long keep their links to them
  local self = setmetatable({ path = folder.new("resource") .. "/log" }, resource)
  repeat
    if self.process then self.process:kill() end
    self.process = process.spawn { "lua5.4", "spec/support/resource_main.lua", self.path, env = process.PLAIN_LUA }
    local port, err = self.process:read_line()
    if not port then error(("the resource does not start (%s): %s"):format(err, self.process:stderr()), 2) end
    self.address = "127.0.0.1:" .. port
  until not former[self.address]
  former[self.address] = true
  self.own = resource.open(self.address)
  return self
end

local function question(self, verb)
  local sent, err = self.own.link:send(verb .. " 0 -\n")
  local answer
  if sent then answer, err = self.own.link:receive("*l") end
  return answer or error(("the resource is gone (%s): %s"):format(err, self.process:stderr()), 0)
end

--- The owner that entered last and is still inside, if anybody is.
---@return string? owner
function resource:inside()
  local owner = question(self, "inside")
  return owner ~= "-" and owner or nil
end

--- The largest token of those who were inside alone, and whose it is; 0 if nobody was.
---@return integer token
---@return string owner
function resource:written()
  local token, owner = question(self, "written"):match("^(%d+) (%S+)$")
  return tonumber(token), owner
end

--- Judges what was logged so far.
---@param options judge.options?
---@return table report of `judge.read`
function resource:judge(options)
  self.own:sync()
  return require("spec.support.judge").read(self.path, options)
end

--- Ends the resource.
function resource:close()
  self.own:close()
  self.process:kill()
end

return resource
